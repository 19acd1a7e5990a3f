package kernel

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// parser reads a file line by line.
type parser struct {
	in    *bufio.Reader
	line  int
	text  []byte // the line
	rest  []byte // the unread part of it, without the comment
	bad   error
	file  *File
	cut   bool // the line ends without a newline
	begun bool
	rests bool // there is more than the first statement
	head  *Txn
	preds map[uint32]*Pred
	known map[uint32]bool // transactions

	// Lines, 0 if there are none: the first uses of predicates, the first line that claims something, the first of some
	// statements, and of stamps whose commit is before their start.
	used                                  map[uint32]int
	claim, ordered, sawn, stamped, turned int
}

func newParser(r io.Reader) *parser {
	return &parser{in: bufio.NewReaderSize(r, 1<<14), preds: map[uint32]*Pred{}, used: map[uint32]int{},
		known: map[uint32]bool{},
		file: &File{History: &History{Init: map[uint32]Cell{}}, Saw: map[uint32][]uint32{},
			Stamps: map[uint32][2]uint64{}}}
}

// next moves to the next line with a statement; false at the end.
func (p *parser) next() (more bool, err error) {
	for {
		p.text = p.text[:0]
		for err = bufio.ErrBufferFull; errors.Is(err, bufio.ErrBufferFull); {
			var part []byte
			part, err = p.in.ReadSlice('\n')
			p.text = append(p.text, part...)
		}
		if err != nil && (err != io.EOF || len(p.text) == 0) {
			if err == io.EOF {
				err = nil
			}
			return false, err
		}
		p.rest, p.cut = p.text, err == io.EOF
		p.line++
		p.ascii()
		if p.bad != nil {
			return false, p.bad
		}
		if i := slices.Index(p.rest, '#'); i >= 0 {
			p.rest = p.rest[:i]
		}
		if p.more() {
			return true, nil
		}
	}
}

// ascii rejects text that is not ASCII, even in comments: nothing in a file may be hidden from its reader.
func (p *parser) ascii() {
	for i, c := range p.text {
		if c < ' ' && c != '\t' && c != '\n' && (c != '\r' || !bytes.HasPrefix(p.text[i+1:], []byte("\n"))) || c > '~' {
			p.fail("the byte 0x%02x; expected ASCII text", c)
			return
		}
	}
}

func (p *parser) fail(what string, args ...any) {
	if p.bad == nil {
		p.bad = &SyntaxError{p.line, fmt.Sprintf(what, args...)}
	}
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// more reports whether something is left of the line; nothing after an error.
func (p *parser) more() bool {
	for len(p.rest) > 0 && blank(p.rest[0]) {
		p.rest = p.rest[1:]
	}
	return len(p.rest) > 0 && p.bad == nil
}

func (p *parser) word() string {
	p.more()
	n := 0
	for n < len(p.rest) && !blank(p.rest[n]) {
		n++
	}
	w := string(p.rest[:n])
	p.rest = p.rest[n:]
	return w
}

// number reads a number from 0 to most.
func (p *parser) number(most uint64) uint64 {
	p.more()
	n, at := uint64(0), 0
	for ; at < len(p.rest) && p.rest[at] >= '0' && p.rest[at] <= '9'; at++ {
		if n = n*10 + uint64(p.rest[at]-'0'); n > most {
			p.fail("the number is too large; expected at most %d", most)
			return 0
		}
	}
	if at == 0 || at < len(p.rest) && !blank(p.rest[at]) && p.rest[at] != ':' {
		p.fail("expected a number")
		return 0
	}
	p.rest = p.rest[at:]
	return n
}

const (
	mostName = 1<<27 - 1
	mostElem = 1<<32 - 3
	mostTime = 100_000_000_000_000_000 - 1
)

func (p *parser) from1(most uint64) uint32 {
	n := p.number(most)
	if n == 0 {
		p.fail("0; expected a number from 1 on")
	}
	return uint32(n)
}

func (p *parser) name() uint32     { return p.from1(mostName) }
func (p *parser) elem() uint32     { return p.from1(mostElem) }
func (p *parser) optional() uint32 { return uint32(p.number(mostName)) }

func (p *parser) many(one func() uint32) (ns []uint32) {
	for p.more() {
		ns = append(ns, one())
	}
	return ns
}

func (p *parser) cell() Cell { return Cell(p.many(p.elem)) }

func (p *parser) finish() {
	if p.head != nil {
		p.file.History.Txns = append(p.file.History.Txns, *p.head)
		p.head = nil
	}
}

// claims records that the claim begins; the whole history must come before it.
func (p *parser) claims() {
	p.finish()
	first(&p.claim, p.line)
}

func first(of *int, line int) {
	if *of == 0 {
		*of = line
	}
}

// fact rejects a statement of the history that comes after a claim.
func (p *parser) fact() {
	if p.claim > 0 {
		p.fail("line %d claims something of the history; expected the whole history before it", p.claim)
	}
}

func (p *parser) op(o Op) {
	p.fact()
	switch {
	case p.head == nil:
		p.fail("an operation; expected its txn before it")
		return
	case o.Kind != Read && o.Kind != Write && isWeak(p.file.Level):
		p.fail("expected only r and w at this level")
	}
	p.head.Ops = append(p.head.Ops, o)
}

func (p *parser) statement() {
	s := p.word()
	if !p.begun {
		if s != "isovet-kernel" || p.word() != "1" {
			p.bad = &SyntaxError{p.line, "expected 'isovet-kernel 1'"}
		}
		p.begun = true
		p.end()
		return
	}
	switch f := p.file; s {
	case "r":
		p.op(Op{Kind: Read, Key: p.name(), Cell: p.cell()})
	case "w":
		p.op(Op{Kind: Write, Key: p.name(), Cell: p.cell()})
	case "a":
		p.op(Op{Kind: Append, Key: p.name(), Elem: p.elem()})
	case "m":
		m := &Match{Pred: p.pred(p.name())}
		if p.used[m.Pred.Name] == 0 {
			p.used[m.Pred.Name] = p.line
		}
		m.Keys = p.many(p.name)
		p.op(Op{Kind: Search, Match: m})
	case "pred", "maybe":
		p.holds(s == "pred")
	case "init":
		p.fact()
		k := p.name()
		if _, twice := f.History.Init[k]; twice {
			p.fail("a second init of key %d; expected one", k)
		}
		f.History.Init[k] = p.cell()
	case "txn":
		p.txn()
	case "level":
		if f.Level != "" {
			p.fail("a second level; expected one")
			return
		}
		f.Level = p.word()
		_, strong := levels[strings.TrimPrefix(f.Level, byStamps)]
		switch weak := isWeak(f.Level); {
		case !strong && !weak:
			p.fail("level %q; expected one of the nine that the kernel knows", f.Level)
		case weak && p.rests:
			p.fail("expected the level before the rest")
		}
	case "stamps":
		first(&p.stamped, p.line)
		t := p.name()
		_, twice := f.Stamps[t]
		p.about(s, t, twice)
		x := [2]uint64{p.number(mostTime), p.number(mostTime)}
		if f.Stamps[t] = x; x[1] < x[0] {
			first(&p.turned, p.line)
		}
	case "early", "overlaps", "conflicts", "unexplained":
		p.wrong(s)
	case "order":
		p.claims()
		first(&p.ordered, p.line)
		f.Order = append(f.Order, p.many(p.name)...)
	case "saw":
		p.claims()
		first(&p.sawn, p.line)
		t := p.name()
		_, twice := f.Saw[t]
		p.about(s, t, twice)
		f.Saw[t] = p.many(p.optional)
	default:
		p.claims()
		p.step(s)
	}
	p.rests = true
	p.end()
}

// about checks the transaction that a line is about: it must be declared before, and have only one such line.
func (p *parser) about(what string, t uint32, twice bool) {
	switch {
	case !p.known[t]:
		p.fail("%s of transaction %d; expected that transaction before it", what, t)
	case twice:
		p.fail("a second statement %s of transaction %d; expected one", what, t)
	}
}

// wrong reads the fault in the order of the stamps.
func (p *parser) wrong(word string) {
	p.claims()
	f := p.file
	switch {
	case !strings.HasPrefix(f.Level, byStamps):
		p.fail("%q; expected a statement, such as txn, r, w, order or cycle", word)
		return
	case f.Wrong != nil:
		p.fail("a second violation; expected one")
		return
	}
	f.Wrong = &Wrong{T: p.name()}
	switch word {
	case "overlaps":
		f.Wrong.Kind, f.Wrong.U = Overlaps, p.name()
	case "conflicts":
		f.Wrong.Kind, f.Wrong.U, f.Wrong.K = Conflicts, p.name(), p.name()
	case "unexplained":
		f.Wrong.Kind = Unexplained
	}
}

func (p *parser) end() {
	if p.more() {
		p.fail("the line goes on; expected its end")
	}
	if p.cut {
		p.fail("expected the line to end: the file may be cut off")
	}
}

func (p *parser) pred(n uint32) *Pred {
	if p.preds[n] == nil {
		p.preds[n] = &Pred{Name: n, Cells: map[uint32][]Cell{}, Maybe: map[uint32][]Cell{}}
	}
	return p.preds[n]
}

// holds reads the cells for which a predicate is true, or may be.
func (p *parser) holds(certain bool) {
	p.fact()
	x := p.pred(p.name())
	if line := p.used[x.Name]; line > 0 {
		p.fail("expected the rows of which predicate %d is true before line %d, which uses it", x.Name, line)
	}
	to := x.Maybe
	if certain {
		to = x.Cells
	}
	k := p.name()
	to[k] = append(to[k], p.cell())
}

func (p *parser) txn() {
	p.fact()
	p.finish()
	t := &Txn{ID: p.name()}
	p.known[t.ID] = true
	switch s := p.word(); s {
	case "committed":
		t.Committed = true
	case "unknown":
	default:
		p.fail("%s; expected committed or unknown", s)
	}
	t.Session, t.Began, t.NoEnd = p.name(), p.number(mostTime), true
	if p.more() {
		if t.Ended, t.NoEnd = p.number(mostTime), false; t.Ended < t.Began {
			p.fail("the transaction ends before it begins")
		}
	}
	p.head = t
}

func (p *parser) atom(kind string) (a Atom) {
	switch kind {
	case "counts":
		return Atom{Kind: Counts, T: p.name()}
	case "before":
		return Atom{Kind: Before, T: p.name(), W: p.name()}
	case "reads":
		return Atom{Reads, p.name(), p.name(), p.optional()}
	}
	p.fail("%q; expected counts, before or reads", kind)
	return a
}

func (p *parser) step(word string) {
	weak := isWeak(p.file.Level)
	s := Step{}
	switch {
	case word == "cycle":
		s.Kind = Cycle
		for p.more() {
			s.Edges = append(s.Edges, p.edge(p.word(), weak))
		}
	case word == "source":
		if s = (Step{Kind: Source, T: p.name(), K: p.name()}); !weak {
			s.Via = p.many(p.name)
		}
	case word == "total":
		if s = (Step{Kind: Total, T: p.name(), U: p.name()}); !weak {
			s.K = p.name()
		}
	case word == "once":
		s = Step{Kind: Once, T: p.name(), K: p.name(), W: p.optional(), U: p.optional()}
	case word == "takes":
		s = Step{Kind: Takes, T: p.name(), Atom: p.atom(p.word())}
	case word == "rup":
		p.rup(&s)
	case word == "initial" && weak:
		s = Step{Kind: Initial, T: p.name(), K: p.name(), U: p.name(), Links: p.links()}
	case word == "own" && weak:
		s = Step{Kind: Own, T: p.name()}
	default:
		p.fail("%q; expected a statement, such as txn, r, w, order or cycle", word)
	}
	p.file.Steps = append(p.file.Steps, s)
}

func (p *parser) rup(s *Step) {
	s.Kind = RUP
	for p.more() && p.rest[0] != ':' {
		l := Lit{}
		kind := p.word()
		if l.Not = kind == "not"; l.Not {
			kind = p.word()
		}
		l.Atom = p.atom(kind)
		s.Clause = append(s.Clause, l)
	}
	if !p.more() {
		p.fail("expected ':' and the numbers of steps")
		return
	}
	p.rest = p.rest[1:]
	for p.more() {
		s.Hints = append(s.Hints, int(p.elem()))
	}
}

func (p *parser) links() (ls []Link) {
	for range p.name() {
		switch s := p.word(); s {
		case "session":
			ls = append(ls, Link{T: p.name(), W: p.name()})
		case "read":
			ls = append(ls, Link{Read: true, T: p.name(), I: p.name(), W: p.name()})
		default:
			p.fail("%q; expected session or read", s)
		}
		if p.bad != nil {
			return nil
		}
	}
	return ls
}

func (p *parser) edge(kind string, weak bool) (e Edge) {
	switch {
	case kind == "before":
		return Edge{Kind: JBefore, T: p.name(), U: p.name()}
	case kind == "read":
		return Edge{Kind: JRead, T: p.name(), K: p.name(), W: p.name()}
	case kind == "session" && weak:
		return Edge{Kind: JSession, T: p.name(), U: p.name()}
	case kind == "seen" && weak:
		return Edge{Kind: JSeen, T: p.name(), K: p.name(), W: p.name(), U: p.name(), Links: p.links()}
	case kind == "must" && !weak:
		return Edge{Kind: JMust, T: p.name(), U: p.name()}
	case kind == "anti" && !weak:
		return Edge{Kind: JAnti, T: p.name(), K: p.name(), W: p.optional(), U: p.name()}
	case kind == "elem" && !weak:
		return Edge{Kind: JElem, T: p.name(), K: p.name(), E: p.elem(), W: p.name()}
	case kind == "miss" && !weak:
		return Edge{Kind: JMiss, T: p.name(), K: p.name(), E: p.elem(), U: p.name()}
	case kind == "order" && !weak:
		return Edge{Kind: JOrder, T: p.name(), K: p.name(), E: p.elem(), W: p.name(), F: p.elem(), U: p.name()}
	case weak:
		p.fail("%q; expected session, before, read or seen", kind)
	default:
		p.fail("%q; expected must, before, read, anti, elem, miss or order", kind)
	}
	return e
}
