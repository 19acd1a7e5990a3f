package view

import (
	"fmt"
	"slices"

	"isovet/history"
	"isovet/report"
)

// ordered says whether one writer of a key comes before another, and how that is known.
type ordered struct {
	before bool // the first one asked about is
	known  bool // the history shows it, at any level
	by     string
}

// counts reports whether a transaction committed or may have committed.
func (b *book) counts(t uint32) bool {
	h := b.axis.h
	return t != h.Init && h.Txns.Status[t] != history.Aborted
}

// wroteLast returns the last version of a key that a transaction wrote, or None.
func wroteLast(h *history.History, t, k uint32) uint32 {
	last := history.None
	for _, c := range touches(h, t, k) {
		if c.wrote {
			last = c.ver
		}
	}
	return last
}

// readFirst returns the version of a key that a transaction read before it wrote the key, or None.
func readFirst(h *history.History, t, k uint32) uint32 {
	for _, c := range touches(h, t, k) {
		if c.wrote {
			break
		}
		if !c.list {
			return c.ver
		}
	}
	return history.None
}

// soleWriter returns the writer of a version, or None if it has no writer or several, or may be the initial one.
func (b *book) soleWriter(k, v uint32) uint32 {
	w := slices.DeleteFunc(b.writersOf(k, v), func(t uint32) bool { return !b.counts(t) })
	if len(w) != 1 || b.axis.h.InitVer[k] == v {
		return history.None
	}
	return w[0]
}

// overwrote reports whether c read a's version of a key and then wrote the key. In that case a's version precedes c's
// in every order.
func (b *book) overwrote(a, c, k uint32) bool {
	v := readFirst(b.axis.h, c, k)
	return v != history.None && v == wroteLast(b.axis.h, a, k) && b.soleWriter(k, v) == a
}

// inSession reports whether a precedes c in their session.
func (b *book) inSession(a, c uint32) bool {
	h := b.axis.h
	s := h.Txns.Sess[a]
	if s != h.Txns.Sess[c] || h.SessName[s] == history.NoTime {
		return false
	}
	txns := h.SessTxn[h.SessOff[s]:h.SessOff[s+1]]
	return place(txns, a) < place(txns, c)
}

// inTime reports whether a ended before c began, by the clients' clocks.
func (b *book) inTime(a, c uint32) bool {
	h := b.axis.h
	_, end := h.Window(a, 0)
	start, _ := h.Window(c, 0)
	return start != history.NoTime && end < start
}

// first says which of two writers of key k comes first, if one of these shows it: reads by the transactions near, the
// session, real time, or the commit order of an earlier check.
func (b *book) first(a, c, k uint32, near []uint32) (ordered, bool) {
	h := b.axis.h
	name := func(t uint32) string { return report.TxnName(h, t) }
	switch {
	case b.overwrote(a, c, k):
		return ordered{true, true, name(c) + " read what " + name(a) + " wrote, and then overwrote it"}, true
	case b.overwrote(c, a, k):
		return ordered{false, true, name(a) + " read what " + name(c) + " wrote, and then overwrote it"}, true
	}
	if o, ok := b.byReaders(a, c, k, near); ok {
		return o, true
	}
	if o, ok := b.byReaders(c, a, k, near); ok {
		o.before = !o.before
		return o, true
	}
	for _, before := range []bool{true, false} {
		x, y := a, c
		if !before {
			x, y = c, a
		}
		if b.inSession(x, y) {
			return ordered{before, false, name(x) + " is before " + name(y) + " in their session"}, true
		}
		if b.inTime(x, y) {
			return ordered{before, false, name(x) + " had ended before " + name(y) + " began"}, true
		}
	}
	return b.byAnswer(a, c)
}

// byReaders returns that c comes before a if a transaction that follows c read a's version: if c came between a and
// that read, the read would have seen c's version.
func (b *book) byReaders(a, c, k uint32, near []uint32) (ordered, bool) {
	h := b.axis.h
	v := wroteLast(h, a, k)
	if v == history.None || b.soleWriter(k, v) != a {
		return ordered{}, false
	}
	name := func(t uint32) string { return report.TxnName(h, t) }
	for _, r := range near {
		if r == a || r == c || readFirst(h, r, k) != v {
			continue
		}
		how := ""
		switch {
		case b.readFrom(r, c):
			how = "which read from " + name(c)
		case b.inSession(c, r):
			how = "whose session has " + name(c) + " before it"
		case b.inTime(c, r):
			how = "before which " + name(c) + " had ended"
		default:
			continue
		}
		return ordered{false, false, fmt.Sprintf("%s, %s, read %s's version, so %s's version had been overwritten "+
			"by then", name(r), how, name(a), name(c))}, true
	}
	return ordered{}, false
}

// readFrom reports whether r read a version that only w wrote.
func (b *book) readFrom(r, w uint32) bool {
	h := b.axis.h
	for op := range h.EachOp(r) {
		if h.Ops.Kind[op] != history.Read {
			continue
		}
		v := h.Ops.Ver[op]
		if wrote := wroteLast(h, w, h.VerKey[v]); wrote == v && b.soleWriter(h.VerKey[v], v) == w {
			return true
		}
	}
	return false
}

// byAnswer uses the commit order of a check that found the history valid.
func (b *book) byAnswer(a, c uint32) (ordered, bool) {
	b.mu.Lock()
	answers := slices.Clone(b.answers)
	b.mu.Unlock()
	for i := len(answers) - 1; i >= 0; i-- {
		if x, y, ok := answers[i].places(b.axis.h, a, c); ok {
			return ordered{x < y, false, "the check at " + answers[i].Level + " found this order; others may exist"},
				true
		}
	}
	return ordered{}, false
}
