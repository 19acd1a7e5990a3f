package kernel

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

var edgeNames = [...]string{"must", "before", "read", "anti", "elem", "miss", "order", "session", "seen"}

// line is a line of a file; each word follows a blank.
type line []byte

// add appends a word and numbers. Inlined at its many calls it would make the program larger.
//
//go:noinline
func (b *line) add(word string, ns ...uint32) {
	*b = append(append(*b, ' '), word...)
	b.numbers(ns)
}

func (b *line) numbers(ns []uint32) {
	for _, n := range ns {
		*b = strconv.AppendUint(append(*b, ' '), uint64(n), 10)
	}
}

func (b *line) atom(a Atom) {
	switch a.Kind {
	case Counts:
		b.add("counts", a.T)
	case Before:
		b.add("before", a.T, a.W)
	case Reads:
		b.add("reads", a.T, a.K, a.W)
	}
}

func (b *line) links(ls []Link) {
	b.numbers([]uint32{uint32(len(ls))})
	for _, l := range ls {
		if l.Read {
			b.add("read", l.T, l.I, l.W)
		} else {
			b.add("session", l.T, l.W)
		}
	}
}

func (b *line) edge(e *Edge) {
	ns := []uint32{e.T, e.K, e.W, e.U}
	switch e.Kind {
	case JMust, JBefore, JSession:
		ns = []uint32{e.T, e.U}
	case JRead:
		ns = ns[:3]
	case JElem:
		ns = []uint32{e.T, e.K, e.E, e.W}
	case JMiss:
		ns = []uint32{e.T, e.K, e.E, e.U}
	case JOrder:
		ns = []uint32{e.T, e.K, e.E, e.W, e.F, e.U}
	}
	if b.add(edgeNames[e.Kind], ns...); e.Kind == JSeen {
		b.links(e.Links)
	}
}

// end writes the line, and begins the next.
//
//go:noinline
func (b *line) end(out *bufio.Writer) {
	out.Write(append(*b, '\n')[1:])
	*b = (*b)[:0]
}

// Text returns a step as a line of a file (docs/kernel-format.md).
func Text(s *Step) string {
	var b line
	switch s.Kind {
	case Cycle:
		b.add("cycle")
		for i := range s.Edges {
			b.edge(&s.Edges[i])
		}
	case Source:
		b.add("source", s.T, s.K)
		b.numbers(s.Via)
	case Total:
		if b.add("total", s.T, s.U); s.K != 0 {
			b.numbers([]uint32{s.K})
		}
	case Initial:
		b.add("initial", s.T, s.K, s.U)
		b.links(s.Links)
	case Own:
		b.add("own", s.T)
	case Once:
		b.add("once", s.T, s.K, s.W, s.U)
	case Takes:
		b.add("takes", s.T)
		b.atom(s.Atom)
	case RUP:
		b.add("rup")
		for _, l := range s.Clause {
			if l.Not {
				b.add("not")
			}
			b.atom(l.Atom)
		}
		b.add(":")
		for _, h := range s.Hints {
			b.numbers([]uint32{uint32(h)})
		}
	}
	return string(b[1:])
}

// WriteFile writes a file for isovet-kernel (docs/kernel-format.md): a history, and an order or steps. At the snapshot
// levels the order holds each transaction twice. At the weak levels saw returns the writers of a transaction's reads;
// at the others it is nil. Ranks replace the times.
func WriteFile(w io.Writer, level string, h Txns, order []uint32, saw func(t uint32) []uint32, steps []Step) error {
	out := bufio.NewWriterSize(w, 1<<14)
	fmt.Fprintf(out, "isovet-kernel 1\nlevel %s\n", level)
	var b line
	_, most, _ := h.Size()
	for k := uint32(1); k <= most; k++ {
		if x := h.Init(k); len(x) > 0 {
			b.add("init", k)
			b.numbers(x)
			b.end(out)
		}
	}
	rank := ranks(h)
	named := map[*Pred]bool{}
	h.Heads(func(t *Txn) bool {
		t = h.Txn(t.ID)
		for j := range t.Ops {
			m := t.Ops[j].Match
			if t.Ops[j].Kind != Search || named[m.Pred] {
				continue
			}
			named[m.Pred] = true
			for i, cells := range []map[uint32][]Cell{m.Pred.Cells, m.Pred.Maybe} {
				for _, k := range slices.Sorted(maps.Keys(cells)) {
					for _, x := range cells[k] {
						b.add([...]string{"pred", "maybe"}[i], m.Pred.Name, k)
						b.numbers(x)
						b.end(out)
					}
				}
			}
		}
		status := "unknown"
		if t.Committed {
			status = "committed"
		}
		fmt.Fprintf(out, "txn %d %s %d %d", t.ID, status, t.Session, rank(t.Began))
		if !t.NoEnd {
			fmt.Fprintf(out, " %d", rank(t.Ended))
		}
		out.WriteByte('\n')
		for j := range t.Ops {
			switch o := &t.Ops[j]; o.Kind {
			case Read:
				b.add("r", o.Key)
				b.numbers(o.Cell)
			case Write:
				b.add("w", o.Key)
				b.numbers(o.Cell)
			case Append:
				b.add("a", o.Key, o.Elem)
			case Search:
				b.add("m", o.Match.Pred.Name)
				b.numbers(o.Match.Keys)
			}
			b.end(out)
		}
		return true
	})
	if len(order)+len(steps) == 0 && !strings.HasPrefix(level, byStamps) {
		b.add("order") // of nobody
		b.end(out)
	}
	for part := range slices.Chunk(order, 1000) {
		b.add("order", part...)
		b.end(out)
	}
	if saw != nil {
		for _, t := range order {
			if ws := saw(t); len(ws) > 0 {
				b.add("saw", t)
				b.numbers(ws)
				b.end(out)
			}
		}
	}
	for i := range steps {
		out.WriteString(Text(&steps[i]))
		out.WriteByte('\n')
	}
	return out.Flush()
}

// ranks returns the rank of each time of a history, from 0.
func ranks(h Txns) func(at uint64) int {
	var all []uint64
	h.Heads(func(t *Txn) bool {
		if all = append(all, t.Began); !t.NoEnd {
			all = append(all, t.Ended)
		}
		return true
	})
	return ranked(all)
}

// ranked returns the rank of each number, from 0. It sorts them.
func ranked(all []uint64) func(at uint64) int {
	slices.Sort(all)
	all = slices.Compact(all)
	return func(at uint64) int {
		i, _ := slices.BinarySearch(all, at)
		return i
	}
}
