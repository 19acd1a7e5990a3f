package evidence

import (
	"slices"

	"isovet/history"
	"isovet/level"
)

// Complete sets what follows from an anomaly's operations and cycles, found at level l with clocks off by at most skew
// ns: Kind (for cycles only), Txns and Text, each if it is not yet set.
func (a *Anomaly) Complete(h *history.History, l level.Level, skew int64) {
	as := []Anomaly{*a}
	CompleteAll(as, h, l, skew)
	*a = as[0]
}

// CompleteAll is Complete for all anomalies of an answer. Cost: that of the evidence; with lost updates one pass over
// the history.
func CompleteAll(as []Anomaly, h *history.History, l level.Level, skew int64) {
	NameAll(as, h, l, skew)
	for i := range as {
		if a := &as[i]; a.Text == "" {
			a.Text = Describe(a, h)
		}
	}
}

// NameAll is CompleteAll without texts, for many anomalies of which most are only counted.
func NameAll(as []Anomaly, h *history.History, l level.Level, skew int64) {
	n := namer{h: h, l: l, skew: skew}
	for i := range as {
		if a := &as[i]; a.Kind == "" {
			n.l = a.Above(l)
			a.Kind = n.name(a)
		}
	}
	if !l.IsMixed() {
		n.diverge(as)
	}
	for i := range as {
		if a := &as[i]; a.Txns == nil {
			a.Txns = a.involved(h, true)
		}
	}
}

// involved returns the transactions that the anomaly is about, each once, in the order in which it names them; at the
// end, if asked for, those that only wrote what the reader of an rw edge saw.
func (a *Anomaly) involved(h *history.History, writers bool) []uint32 {
	seen := make(map[uint32]struct{})
	var out []uint32
	add := func(t uint32) {
		if _, ok := seen[t]; t != history.None && !ok {
			seen[t] = struct{}{}
			out = append(out, t)
		}
	}
	for _, op := range a.Ops {
		add(h.TxnOf(op))
	}
	for _, ops := range a.Dead {
		add(h.TxnOf(ops[0]))
	}
	for _, e := range a.Edges() {
		add(e.From)
	}
	for _, e := range a.Edges() {
		if writers && (e.Dep == RW || e.Dep == PRW) && e.Writer != h.Init {
			add(e.Writer)
		}
	}
	return out
}

// strength is the weakest of these levels that a proof refutes.
type strength uint8

const (
	refutesRC  strength = iota // read-committed, and all below
	refutesRA                  // read-atomic
	refutesCC                  // causal
	refutesSI                  // snapshot isolation
	refutesSER                 // serializability alone
)

// refutedBy returns the weakest level that every proof at a level refutes. A cycle by itself may seem to refute only
// stronger ones: it may depend on a list read of a transaction of unknown outcome, which did commit in that case of the
// proof.
func refutedBy(l level.Level) strength {
	switch {
	case l == level.ReadCommitted:
		return refutesRC
	case l == level.ReadAtomic:
		return refutesRA
	case l == level.Causal:
		return refutesCC
	case l.Snapshot():
		return refutesSI
	}
	return refutesSER
}

// rung is the order that a proof needs in addition to what transactions read and wrote.
type rung uint8

const (
	byReads rung = iota
	bySessions
	byTime
)

func (r rung) suffix() level.Anomaly { return [...]level.Anomaly{"", "-session", "-realtime"}[r] }

// namer names the anomalies of one answer.
type namer struct {
	h     *history.History
	l     level.Level
	skew  int64
	place []uint32 // transaction → its place in its session, made when first asked for
	wrote []uint8  // version → number of its writes, at most 2; made likewise
	first []sight  // key → what its last reader read first; made likewise
}

// sight is a version that a transaction read; by is 1 + the transaction.
type sight struct{ by, ver uint32 }

// name names a proof by cycles according to what the whole proof refutes. A name is possible only if the proof refutes
// every level that forbids this anomaly; the most specific possible name is taken. So a history in which a kind is
// reported violates every level that forbids the kind, whichever level was checked.
//
// A proof refutes a level if each of its cycles does. A cycle with adjacent anti-dependencies on two keys refutes only
// serializability; one with other anti-dependencies also snapshot isolation; one whose only edges besides an
// anti-dependency are reads and sessions may also break the axiom of causal, read-atomic or read-committed; one without
// any anti-dependency refutes every level. The suffix says that one of the cycles needs session order, or real time, as
// an edge or for a version order that it assumes.
func (n *namer) name(a *Anomaly) level.Anomaly {
	cycles := a.Cycles
	var main []Edge
	switch {
	case len(a.Cycle) > 0:
		main = a.Cycle
		cycles = append(cycles[:len(cycles):len(cycles)], main)
	case len(cycles) == 1:
		main = cycles[0]
	}
	if len(cycles) == 0 {
		return ""
	}
	var assumed map[[2]uint32]int
	if n.l.Sessions() || n.l.RealTime() {
		assumed = n.assumptions(cycles)
	}
	s, r := refutesRC, byReads
	kind := level.G0
	for i, c := range cycles {
		s = max(s, n.strength(c))
		r = max(r, n.rung(c, i, assumed))
		if k := classOf(c); classRank(k) > classRank(kind) {
			kind = k
		}
	}
	s = min(s, refutedBy(n.l))
	if shape := n.shape(main, cycles, s); shape != "" {
		kind = shape
	}
	switch kind {
	case level.StaleRead, level.CausalReverse:
		return kind
	case level.SessionGuarantee:
		if r == bySessions {
			return kind
		}
	}
	return kind + r.suffix()
}

// shape returns the name of a proof's shape, "" if only its class has a name.
func (n *namer) shape(main []Edge, cycles [][]Edge, s strength) level.Anomaly {
	if main == nil {
		switch s {
		case refutesRC:
			if slices.ContainsFunc(cycles, func(c []Edge) bool { return anti(c) > 0 }) {
				return level.NonMonotonicRead
			}
		case refutesRA:
			return level.FracturedRead
		case refutesCC:
			return level.CausalityViolation
		case refutesSI:
			if sameTwo(cycles) && !slices.ContainsFunc(cycles,
				func(c []Edge) bool { return shapeOf(c) != level.LostUpdate }) {
				return level.LostUpdate
			}
			return level.NoOrder
		}
		return ""
	}
	shape := shapeOf(main)
	switch shape {
	case level.SessionGuarantee, level.StaleRead, level.CausalReverse, level.CausalityViolation, level.ReadSkew, "":
		switch {
		case anti(main) > 1 || count(main, RT) > 0 && (s > refutesSI || shape == level.StaleRead && !oneKey(cycles)):
			shape = ""
		case count(main, RT) > 0:
		case s == refutesCC:
			return level.CausalityViolation
		case s == refutesRA && shape != level.SessionGuarantee:
			return level.FracturedRead
		case s == refutesRC && anti(main) == 0:
			return classOf(main)
		case s == refutesRC && shape == level.ReadSkew:
			if e := main[slices.IndexFunc(main, func(e Edge) bool { return e.Dep == RW })]; e.Writer != history.None &&
				e.Writer != n.h.Init {
				return level.NonMonotonicRead
			}
			return level.FracturedRead
		case s > refutesRA && shape != level.ReadSkew || s > refutesSI:
			shape = ""
		}
	case level.LostUpdate, level.LongFork:
		if s > refutesSI {
			shape = ""
		}
	}
	if shape == "" && n.readOnly(main) && !slices.ContainsFunc(cycles, func(c []Edge) bool {
		return count(c, PRW) > 0
	}) {
		return level.ReadOnlyAnomaly
	}
	return shape
}

// readOnly reports whether a cycle of three with two adjacent anti-dependencies has a transaction that writes nothing
// (Fekete et al. 2004).
func (n *namer) readOnly(cycle []Edge) bool {
	for i, e := range cycle {
		if before, next := cycle[(i+len(cycle)-1)%len(cycle)], cycle[(i+1)%len(cycle)]; e.Dep == RW &&
			before.Dep == WR && next.Dep == RW && !writes(n.h, e.From) {
			return len(cycle) == 3
		}
	}
	return false
}

// strength returns the weakest level that a cycle refutes, given the orders that it assumes. Below snapshot isolation,
// a list shows only what others had appended, and its reader reads from the last of these appenders alone; a
// transaction's own appends do not show its place in the order.
func (n *namer) strength(c []Edge) strength {
	switch antis := anti(c); {
	case antis == 0:
		for _, e := range c {
			if e.Dep == WW && isList(n.h, e.To, e.Key) && !n.shown(c, e, false) {
				return refutesSI
			}
		}
		if count(c, PWR) > 0 && n.belowSnapshots() {
			return refutesRA
		}
		return refutesRC
	case antis > 1:
		if Adjacent(c) && shapeOf(c) != level.LostUpdate {
			return refutesSER
		}
		return refutesSI
	case len(c)-1 != count(c, WR)+count(c, SO)+count(c, PWR):
		return refutesSI
	case count(c, PWR)+count(c, PRW) > 0 && !n.belowSnapshots():
		return refutesSI // the strong levels have their own names for phantoms
	case count(c, PWR)+count(c, PRW) > 0 && len(c) == 2:
		return refutesRA
	}
	for _, e := range c {
		if e.Dep == WR && firstRead(n.h, e.To, e.Key, e.Ver) == history.None {
			return refutesSI // an element of a list that is not the last
		}
	}
	if len(c) > 2 {
		return refutesCC
	}
	read, seen := c[0], c[1]
	if read.Dep != RW {
		read, seen = seen, read
	}
	if seen.Dep == WR {
		if at := lastRead(n.h, read.From, read.Key, read.Ver); at != history.None && firstRead(n.h, read.From, seen.Key,
			seen.Ver) < at {
			return refutesRC
		}
	}
	return refutesRA
}

// belowSnapshots reports whether the level is one below snapshot isolation that considers what predicates missed.
func (n *namer) belowSnapshots() bool { return n.l == level.ReadAtomic || n.l == level.Causal }

// shown reports whether a list read shows the order of two that appended to it, or has the first's element and not the
// second's; own: also count what the reader itself had appended. The reader is a committed transaction or one of the
// cycle c, which assumes that it committed.
func (n *namer) shown(c []Edge, e Edge, own bool) bool {
	h := n.h
	_, from := (&describer{h: h}).finalWrite(e.From, e.Key)
	for op, k := range h.Ops.Kind {
		if k != history.ReadList || h.OpKey(uint32(op)) != e.Key {
			continue
		}
		t := h.TxnOf(uint32(op))
		if h.Txns.Status[t] != history.Committed && !slices.ContainsFunc(c, func(e Edge) bool { return e.From == t }) {
			continue
		}
		lo := h.Txns.OpOff[t]
		if own {
			lo = uint32(op)
		}
		list := ofOthers(h, uint32(op), lo)
		first, then := slices.Index(list, from), slices.Index(list, e.Ver)
		if first >= 0 && (then < 0 || then > first) {
			return true
		}
	}
	return false
}

// ofOthers returns the elements of a list read except those appended by its own transaction, whose operations begin at
// lo.
func ofOthers(h *history.History, op, lo uint32) []uint32 {
	i := h.Ops.Ver[op]
	list := h.Lists.Elem[h.Lists.Off[i]:h.Lists.Off[i+1]]
	key := h.Lists.Key[i]
	for q := op; q > lo && len(list) > 0; q-- {
		if h.Ops.Kind[q-1] == history.Append && h.OpKey(q-1) == key {
			list = list[:len(list)-1]
		}
	}
	return list
}

const several = -1

// assumptions returns the orders of two writers that cycles assume, as pairs with the first before the second, each
// with the cycle that assumes it, or a mark if several do.
func (n *namer) assumptions(cycles [][]Edge) map[[2]uint32]int {
	assumed := make(map[[2]uint32]int)
	for i, c := range cycles {
		for _, e := range c {
			if first, then, ok := n.assumes(e); ok {
				pair := [2]uint32{first, then}
				if at, also := assumed[pair]; also && at != i {
					assumed[pair] = several
				} else {
					assumed[pair] = i
				}
			}
		}
	}
	return assumed
}

// rung returns what the cycle at a place of its proof needs: by its edges, and by what decides each version order that
// it assumes, if neither a read shows that order nor another cycle assumes its opposite.
func (n *namer) rung(c []Edge, at int, assumed map[[2]uint32]int) (r rung) {
	for _, e := range c {
		switch e.Dep {
		case SO:
			r = max(r, bySessions)
		case RT:
			return byTime
		}
		if first, then, ok := n.assumes(e); ok {
			if other, is := assumed[[2]uint32{then, first}]; is && other != at {
				continue
			}
			if by := n.settled(first, then); by > r && (e.Dep != WW || !isList(n.h, e.To, e.Key) ||
				!n.shown(c, e, true)) {
				r = by
			}
		}
	}
	return r
}

// assumes returns the order of two writers that an edge assumes; ok is false if it assumes none.
func (n *namer) assumes(e Edge) (first, then uint32, ok bool) {
	switch e.Dep {
	case WW:
		first = e.From
	case RW, PRW:
		if first = e.Writer; e.Dep == RW && isList(n.h, e.To, e.Key) {
			return 0, 0, false
		}
	default:
		return 0, 0, false
	}
	return first, e.To, first != history.None && first != n.h.Init
}

// settled returns what directly decides the order of two writers. If nothing does, other cycles must, and have needs of
// their own.
func (n *namer) settled(a, b uint32) rung {
	h := n.h
	session := n.l.Sessions() && h.Txns.Sess[a] == h.Txns.Sess[b] && h.Txns.Status[a] == history.Committed &&
		n.placeOf(a) < n.placeOf(b)
	time := n.l.RealTime() && h.Txns.Status[a] == history.Committed && history.InTime(h.End(a), h.Start(b), n.skew)
	switch {
	case !session && !time, n.readFrom(b, a):
		return byReads
	case session:
		return bySessions
	}
	return byTime
}
