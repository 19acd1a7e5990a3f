package evidence

import (
	"strings"

	"isovet/history"
	"isovet/level"
)

// settler says by what the orders of versions are settled that a proof's edges assume, where its name says that it
// needs session order or real time.
type settler struct {
	describer
	n       namer
	assumed map[[2]uint32]int
}

// newSettler returns nil where a proof's name asks for no order.
func newSettler(a *Anomaly, h *history.History) *settler {
	s := &settler{describer: describer{h: h}, n: namer{h: h}}
	switch name := string(a.Kind); {
	case strings.HasSuffix(name, "-realtime"), a.Kind == level.StaleRead, a.Kind == level.CausalReverse:
		s.n.l = level.StrictSerializable
	case strings.HasSuffix(name, "-session"), a.Kind == level.SessionGuarantee:
		s.n.l = level.SessionSerializable
	default:
		return nil
	}
	s.assumed = s.n.assumptions(append(a.Cycles[:len(a.Cycles):len(a.Cycles)], a.Cycle))
	return s
}

// edge says what orders the two writers whose order an edge takes for granted, "" where reads do, a case assumes it, or
// other cycles show it.
func (s *settler) edge(e Edge) string {
	if s == nil {
		return ""
	}
	first, then, ok := s.n.assumes(e)
	if _, open := s.assumed[[2]uint32{then, first}]; !ok || open || e.Dep == WW && isList(s.h, e.To,
		e.Key) && s.n.shown(e, true) {
		return ""
	}
	wrote := ""
	if e.Dep == RW && e.Ver != history.None {
		wrote = s.txn(first) + " wrote " + s.value(e.Ver) + "; "
	}
	switch s.n.settled(first, then) {
	case bySessions:
		return wrote + s.inSession(first, then)
	case byTime:
		return wrote + s.inTime(first, then)
	}
	return ""
}

// Settled says, for a proof whose name ends in -session or -realtime, by which session or which times the order of
// versions is settled that one of its edges takes for granted; "" where nothing is taken for granted.
func (a *Anomaly) Settled(h *history.History, e Edge) string { return newSettler(a, h).edge(e) }

// ShownBy returns the list read that shows the order of two elements on which a ww edge of a list rests: of whichever
// transaction, the first in the file. It is history.None for other edges, and where no read shows the order.
// Cost: a pass over the history's operations, up to that read.
func ShownBy(h *history.History, e Edge) uint32 {
	if e.Dep != WW || e.From == h.Init {
		return history.None
	}
	return (&describer{h: h}).shown(e)
}

// Title names an anomaly by its kind, and in words where these say more. A read of what was written only after it is
// named so, and a phantom a phantom.
func (a *Anomaly) Title(h *history.History) string {
	switch words := a.Kind.Words(); {
	case a.Later(h):
		return string(a.Kind) + " (read from the future: its writer began after the reader had ended)"
	case a.Kind == level.NonRepeatableRead && h != nil && a.predicate(h) && a.Ops[0] == a.Ops[1]:
		return string(a.Kind) + " (a condition evaluated once finds a row in two versions)"
	case a.Kind == level.NonRepeatableRead && h != nil && a.predicate(h):
		return string(a.Kind) + " (phantom: a condition evaluated twice, with two results)"
	case words != "":
		return string(a.Kind) + " (" + words + ")"
	}
	return string(a.Kind)
}

// Later reports whether the write that a read of aborted or intermediate state saw is of a transaction that began only
// after the reader had ended, as the client's times have it.
func (a *Anomaly) Later(h *history.History) bool {
	if a.Kind != level.G1a && a.Kind != level.G1b || h == nil || len(a.Ops) != 2 {
		return false
	}
	return history.InTime(h.End(h.TxnOf(a.Ops[0])), h.Start(h.TxnOf(a.Ops[1])), 0)
}
