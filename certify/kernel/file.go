package kernel

import (
	"fmt"
	"io"
	"strings"
)

// File is the content of a file for isovet-kernel (docs/kernel-format.md): a history, and an order or steps.
type File struct {
	Level   string
	History *History
	Order   []uint32
	Saw     map[uint32][]uint32 // at a weak level: transaction → the writers of its reads
	Steps   []Step
	Stamps  map[uint32][2]uint64 // transaction → its start and commit, at a level by timestamps
	Wrong   *Wrong               // the fault, of a violation at such a level
}

// byStamps begins the name of a level by timestamps.
const byStamps = "ts:"

// SyntaxError is the error for a line that cannot be read.
type SyntaxError struct {
	Line int // from 1
	What string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.What) }

// TooMuch is the error for a file that exceeds a bound, so that it is not judged.
type TooMuch struct{ Why string }

func (e *TooMuch) Error() string { return e.Why }

var levels = map[string]Level{
	"serializable":               {Serial: true},
	"session-serializable":       {Serial: true, Sessions: true},
	"strict-serializable":        {Serial: true, Sessions: true, RealTime: true},
	"snapshot-isolation":         {},
	"session-snapshot-isolation": {Sessions: true},
	"strict-snapshot-isolation":  {Sessions: true, RealTime: true},
}

var weakLevels = map[string]Weak{"read-committed": ReadCommitted, "read-atomic": ReadAtomic, "causal": Causal}

func isWeak(level string) bool {
	_, weak := weakLevels[level]
	return weak
}

// Verdict returns the file's claim: violation if it has steps, else valid.
func (f *File) Verdict() string {
	if len(f.Steps) > 0 || f.Wrong != nil {
		return "violation"
	}
	return "valid"
}

// Judge reports whether the file proves its claim; if not, where is the place at which it fails, in isovet-kernel's
// words. The error is a *TooMuch.
func (f *File) Judge() (proved bool, where string, err error) {
	if l, known := levels[strings.TrimPrefix(f.Level, byStamps)]; known && strings.HasPrefix(f.Level, byStamps) {
		proved, where = f.stamped(l)
		return proved, where, nil
	}
	l, known := levels[f.Level]
	v, weak := weakLevels[f.Level]
	switch {
	case !known && !weak:
		return false, "", &TooMuch{"no level " + f.Level}
	case len(f.Steps) > 0:
		var at int
		at, proved, where = f.refutes(l, v, weak)
		if proved || where != "" {
			return proved, where, nil
		}
		return false, fmt.Sprintf("step %d", at), nil
	case weak:
		return f.weak(v)
	case l.Serial:
		proved, where = said(CheckSerial(l, All(f.History), f.Order))
	default:
		proved, where = said(CheckSnapshot(l, All(f.History), f.events()))
	}
	return proved, where, nil
}

func (f *File) events() []Event {
	events := make([]Event, 0, len(f.Order))
	begun := map[uint32]bool{}
	for _, t := range f.Order {
		events = append(events, Event{Commit: begun[t], Txn: t})
		begun[t] = true
	}
	return events
}

// stamped judges a claim about a level by timestamps.
func (f *File) stamped(l Level) (proved bool, where string) {
	h := All(f.History)
	s := func(t uint32) (start, commit uint64, ok bool) {
		x, ok := f.Stamps[t]
		return x[0], x[1], ok
	}
	a := Answer{Outcome: IllFormed}
	switch {
	case newReplay(l, h).ill:
	case f.Wrong != nil:
		if a = CheckStampsViolation(l, h, s, f.Order, *f.Wrong); a.Outcome == FailsAt {
			return false, fmt.Sprintf("step %d", a.N)
		}
	case l.Serial:
		a = CheckStampedSerial(l, h, s, f.Order)
	default:
		a = CheckStampedSnapshot(l, h, s, f.events())
	}
	if proved, where = said(a); where == illFormed {
		where += ", or one did not commit, or has no timestamps"
	}
	return proved, where
}

const illFormed = "two transactions have the same number"

func (f *File) refutes(l Level, v Weak, weak bool) (at int, proved bool, where string) {
	if weak {
		if r, ok := NewWeakRefuter(v, f.History); ok {
			at, proved = r.Refutes(f.Steps)
			return at, proved, ""
		}
	} else if r, ok := NewRefuter(l, f.History); ok {
		at, proved = r.Refutes(f.Steps)
		return at, proved, ""
	}
	return 0, false, illFormed
}

func said(a Answer) (proved bool, where string) {
	switch a.Outcome {
	case Proved:
		return true, ""
	case FailsAt:
		return false, fmt.Sprintf("place %d", a.N+1)
	case FailsFor:
		return false, fmt.Sprintf("transaction %d is missing or out of order", a.N)
	}
	return false, illFormed
}

// weak judges an order at a weak level. It fails at a transaction for which Saw has more or fewer writers than reads.
func (f *File) weak(v Weak) (proved bool, where string, err error) {
	c, saw, odd, err := f.columns()
	if err != nil {
		return false, "", err
	}
	order := f.Order
	for n, t := range order {
		if odd[t] {
			order = order[:n]
			break
		}
	}
	a := CheckWeak(v, All(f.History), c, order, saw)
	switch {
	case a.Outcome == GaveUp:
		return false, "", &TooMuch{"reads of versions so old at " + f.Level}
	case len(order) < len(f.Order) && a.Outcome != IllFormed && a.Outcome != FailsAt:
		a = Answer{FailsAt, uint32(len(order))}
	}
	proved, where = said(a)
	return proved, where, nil
}

// columns returns the columns of a history of registers, the writer of each read of another transaction's version, and
// the transactions whose reads Saw does not fit.
func (f *File) columns() (c *Columns[uint8], saw []uint32, odd map[uint32]bool, err error) {
	x := All(f.History)
	txns, _, _ := x.Size()
	odd = map[uint32]bool{}
	c = &Columns[uint8]{Off: make([]uint32, 1, txns+1)}
	for k, cell := range f.History.Init {
		if len(cell) > 1 {
			return nil, nil, nil, &TooMuch{fmt.Sprintf("key %d holds several elements at %s", k, f.Level)}
		}
	}
	for i := uint32(1); i <= txns; i++ {
		t := x.Txn(i)
		if t == nil {
			c.Off = append(c.Off, uint32(len(c.Ver)))
			continue
		}
		from := f.Saw[i]
		wrote := map[uint32]bool{}
		for j := range t.Ops {
			o := &t.Ops[j]
			if o.Kind != Read && o.Kind != Write || len(o.Cell) > 1 {
				return nil, nil, nil, &TooMuch{fmt.Sprintf("transaction %d has more than reads and writes of registers",
					i)}
			}
			by, held := uint32(0), uint32(0)
			if len(o.Cell) == 1 {
				held = o.Cell[0]
			}
			switch {
			case o.Kind == Write:
				wrote[o.Key] = true
			case wrote[o.Key]:
			case len(from) == 0:
				odd[i] = true
			default:
				by, from = from[0], from[1:]
			}
			c.Ver, c.Keys, c.Held = append(c.Ver, uint32(len(c.Ver))), append(c.Keys, o.Key-1), append(c.Held, held)
			c.Kind, saw = append(c.Kind, uint8(o.Kind)), append(saw, by)
		}
		if len(from) > 0 {
			odd[i] = true
		}
		c.Off = append(c.Off, uint32(len(c.Ver)))
	}
	return c, saw, odd, nil
}

// ReadFile reads a file for isovet-kernel. The error is a *SyntaxError or the reader's. It takes numbers of
// transactions, sessions, keys and predicates below 2^27, and of elements below 2^32 - 2.
func ReadFile(r io.Reader) (*File, error) {
	p := newParser(r)
	for {
		more, err := p.next()
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
		p.statement()
		if p.bad != nil {
			return nil, p.bad
		}
	}
	p.finish()
	if !p.cut {
		p.line++
	}
	if bad := p.together(); bad != "" {
		return nil, &SyntaxError{p.line, bad}
	}
	return p.file, nil
}

// together returns what is wrong between lines that are right by themselves, and sets the line.
func (p *parser) together() string {
	f := p.file
	stamps, refuted := strings.HasPrefix(f.Level, byStamps), len(f.Steps) > 0
	at := func(line int, what string) string {
		p.line = line
		return what
	}
	switch {
	case !p.begun:
		return "expected 'isovet-kernel 1'"
	case f.Level == "":
		return "the file names no level"
	case p.stamped > 0 && !stamps:
		return at(p.stamped, "the level uses no timestamps, but the file has stamps")
	case p.turned > 0 && (f.Wrong == nil || f.Wrong.Kind != Early):
		return at(p.turned, "a transaction commits before it starts; expected an early line that claims that")
	case p.sawn > 0 && !isWeak(f.Level):
		return at(p.sawn, "the level uses no writers of reads, but the file has saw")
	case refuted && stamps:
		return "steps of a refutation; expected none at a level of timestamps"
	case refuted && p.ordered > 0:
		return "an order and steps of a refutation; expected one of them"
	case refuted && p.sawn > 0:
		return "saw and steps of a refutation; expected one of them"
	case f.Wrong != nil && f.Wrong.Kind != Unexplained && p.ordered > 0:
		return at(p.ordered, "an order and a violation that needs none; expected one of them")
	case !refuted && f.Wrong == nil && p.ordered == 0:
		return "the file has neither an order nor a refutation of the level"
	}
	return ""
}
