package evidence

import (
	"strings"

	"isovet/history"
	"isovet/level"
)

// settler tells what decides the version orders that the edges of a proof assume, if the proof's name says that it
// needs session order or real time.
type settler struct {
	describer
	n       namer
	assumed map[[2]uint32]int
}

// newSettler returns nil if the proof's name asks for no order.
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

// edge says in words what orders the two writers whose order an edge assumes; "" if committed reads do, if a case
// assumes it, or if other cycles show it.
func (s *settler) edge(e Edge) string {
	if s == nil {
		return ""
	}
	first, then, ok := s.n.assumes(e)
	if _, open := s.assumed[[2]uint32{then, first}]; !ok || open || e.Dep == WW && isList(s.h, e.To,
		e.Key) && s.n.shown(nil, e, true) {
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

// Settled says in words, for a proof whose name ends in -session or -realtime, which session or which times decide the
// version order that an edge of it assumes; "" if the edge assumes none, or something else decides it.
func (a *Anomaly) Settled(h *history.History, e Edge) string { return newSettler(a, h).edge(e) }

// ShownBy returns the list read that shows the order of two elements on which a ww edge of a list rests: the first one
// in the file, by any transaction that did not abort. It is history.None for other edges, and if no read shows the
// order. Cost: a pass over the history's operations, up to that read.
func ShownBy(h *history.History, e Edge) uint32 {
	if e.Dep != WW || e.From == h.Init {
		return history.None
	}
	return (&describer{h: h}).shown(e)
}

// Title returns an anomaly's kind, and its name in words if this says more. A read of a value that was written only
// later, and a phantom, get names that say so.
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

// Later reports whether a read of an aborted or intermediate version saw a write of a transaction that, by the client's
// times, began only after the reader had ended.
func (a *Anomaly) Later(h *history.History) bool {
	if a.Kind != level.G1a && a.Kind != level.G1b || h == nil || len(a.Ops) != 2 {
		return false
	}
	return history.InTime(h.End(h.TxnOf(a.Ops[0])), h.Start(h.TxnOf(a.Ops[1])), 0)
}
