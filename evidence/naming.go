package evidence

import (
	"slices"

	"isovet/history"
	"isovet/level"
)

// Complete fills what follows from an anomaly's operations and cycles, found at level l with clocks off by skew ns at
// most: Kind (of cycles only), Txns and Text, each where it is not yet set.
func (a *Anomaly) Complete(h *history.History, l level.Level, skew int64) {
	as := []Anomaly{*a}
	CompleteAll(as, h, l, skew)
	*a = as[0]
}

// CompleteAll is Complete for all anomalies of an answer.
// Cost: that of the evidence; with lost updates one pass over the history.
func CompleteAll(as []Anomaly, h *history.History, l level.Level, skew int64) {
	n := namer{h: h, l: l, skew: skew}
	for i := range as {
		if a := &as[i]; a.Kind == "" {
			a.Kind = n.name(a)
		}
	}
	n.diverge(as)
	for i := range as {
		a := &as[i]
		if a.Txns == nil {
			a.Txns = a.involved(h, true)
		}
		if a.Text == "" {
			a.Text = Describe(a, h)
		}
	}
}

// involved returns the transactions that the anomaly speaks of, each once, in the order in which it speaks of them;
// last, if asked for, those that only wrote what an rw edge's reader saw.
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
	cycles := append([][]Edge{a.Cycle}, a.Cycles...)
	for _, c := range cycles {
		for _, e := range c {
			add(e.From)
		}
	}
	for _, c := range cycles {
		for _, e := range c {
			if writers && (e.Dep == RW || e.Dep == PRW) && e.Writer != h.Init {
				add(e.Writer)
			}
		}
	}
	return out
}

// strength is the weakest of these that a proof refutes.
type strength uint8

const (
	refutesRC  strength = iota // read-committed, and all below
	refutesRA                  // read-atomic
	refutesCC                  // causal
	refutesSI                  // snapshot isolation
	refutesSER                 // serializability alone
)

// rung is the order of transactions that a proof needs beside what they read and wrote.
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
	wrote []uint8  // version → by how many it is written, two for several; likewise
}

// name names a proof by cycles, by what the whole proof refutes. A name may be given only if the proof refutes every
// level that forbids this anomaly; of these names the most telling one is taken. So a history in which a kind is
// reported violates every level that forbids the kind, whichever level was checked.
//
// A proof refutes the weakest level that each of its cycles refutes. A cycle with adjacent anti-dependencies on two
// keys refutes serializability only; a cycle with other anti-dependencies refutes snapshot isolation too; a cycle with
// one anti-dependency beside reads and sessions alone also breaks the axiom of causal, read-atomic or read-committed; a
// cycle without any refutes every level. The suffix says that session order, or real time, is in one of the proof's
// cycles, or settles a version order that one of them assumes.
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
	assumed := make(map[[2]uint32]int) // first before second → the cycle that assumes it, or several
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
	s, r := refutesRC, byReads
	kind := level.G0
	for i, c := range cycles {
		s = max(s, n.strength(c))
		r = max(r, n.rung(c, i, assumed))
		if k := classOf(c); classRank(k) > classRank(kind) {
			kind = k
		}
	}
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

// shape returns the telling name of a proof, "" if its class says as much.
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
		return count(c,
			PRW) > 0
	}) {
		return level.ReadOnlyAnomaly
	}
	return shape
}

// readOnly reports whether a transaction that writes nothing closes a cycle of three with two anti-dependencies in a
// row (Fekete et al. 2004).
func (n *namer) readOnly(cycle []Edge) bool {
	for i, e := range cycle {
		if before, next := cycle[(i+len(cycle)-1)%len(cycle)], cycle[(i+1)%len(cycle)]; e.Dep == RW &&
			before.Dep == WR && next.Dep == RW && !writes(n.h, e.From) {
			return len(cycle) == 3
		}
	}
	return false
}

// strength returns what a cycle refutes, the orders that it assumes given. Below snapshot isolation a list shows what
// others had appended, and its reader has read from the last of them alone; what a transaction appends itself says
// nothing of its place.
func (n *namer) strength(c []Edge) strength {
	switch antis := anti(c); {
	case antis == 0:
		for _, e := range c {
			if e.Dep == WW && isList(n.h, e.To, e.Key) && !n.shown(e, false) {
				return refutesSI
			}
		}
		return refutesRC
	case antis > 1:
		if Adjacent(c) && shapeOf(c) != level.LostUpdate {
			return refutesSER
		}
		return refutesSI
	case len(c)-1 != count(c, WR)+count(c, SO) || count(c, PRW) > 0:
		return refutesSI
	}
	for _, e := range c {
		if e.Dep == WR && firstRead(n.h, e.To, e.Key, e.Ver) == history.None {
			return refutesSI // of a list, not its last
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

// shown reports whether a list read of a committed transaction shows the order of two that appended to it, or that the
// first did and the second not yet; own: what the reader itself had appended counts too.
func (n *namer) shown(e Edge, own bool) bool {
	h := n.h
	_, from := (&describer{h: h}).finalWrite(e.From, e.Key)
	for op, k := range h.Ops.Kind {
		if k != history.ReadList || h.OpKey(uint32(op)) != e.Key {
			continue
		}
		t := h.TxnOf(uint32(op))
		if h.Txns.Status[t] != history.Committed {
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

// ofOthers returns the elements of a list read but for those that its transaction, whose operations begin at lo, had
// appended.
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

// rung returns what the cycle at a place of its proof needs: by its edges, and by what settles the orders of versions
// that it assumes where no read does, and no other cycle, one that assumes the opposite order.
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
			if by := n.settled(first, then); by > r && (e.Dep != WW || !isList(n.h, e.To, e.Key) || !n.shown(e, true)) {
				r = by
			}
		}
	}
	return r
}

// assumes returns the order of two writers that an edge assumes: of a list that they append to, if no read shows it.
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

// settled returns what orders two writers directly. Where nothing does other cycles have to, and say themselves what
// they need.
func (n *namer) settled(a, b uint32) rung {
	h := n.h
	session := n.l.Sessions() && h.Txns.Sess[a] == h.Txns.Sess[b] && h.Txns.Status[a] == history.Committed &&
		n.placeOf(a) < n.placeOf(b)
	time := n.l.RealTime() && h.Txns.Status[a] == history.Committed && before(h.End(a), h.Start(b), n.skew)
	switch {
	case !session && !time, n.readFrom(b, a):
		return byReads
	case session:
		return bySessions
	}
	return byTime
}

// before reports whether end is before start by more than twice the skew.
func before(end, start, skew int64) bool {
	return end != history.NoTime && start != history.NoTime && end < start && uint64(start)-uint64(end) > 2*uint64(skew)
}

func (n *namer) placeOf(t uint32) uint32 {
	h := n.h
	if n.place == nil {
		n.place = make([]uint32, h.NumTxns())
		for s := range h.NumSessions() {
			for i, t := range h.SessTxn[h.SessOff[s]:h.SessOff[s+1]] {
				n.place[t] = uint32(i)
			}
		}
	}
	return n.place[t]
}

// readFrom reports whether b read what a, and nobody else, wrote.
func (n *namer) readFrom(b, a uint32) bool {
	h := n.h
	lo, hi := h.TxnOps(b)
	for op := lo; op < hi; op++ {
		if k := h.Ops.Kind[op]; k == history.Read {
			if v := h.Ops.Ver[op]; n.writers(v) == 1 && writesVersion(h, a, v) {
				return true
			}
		} else if k == history.ReadList {
			i := h.Ops.Ver[op]
			for _, v := range h.Lists.Elem[h.Lists.Off[i]:h.Lists.Off[i+1]] {
				if n.writers(v) == 1 && writesVersion(h, a, v) {
					return true
				}
			}
		}
	}
	return false
}

// writers returns how many writes of a version there are, initial ones included, two for more.
func (n *namer) writers(v uint32) uint8 {
	h := n.h
	if n.wrote == nil {
		n.wrote = make([]uint8, h.NumVersions())
		for op, k := range h.Ops.Kind {
			if k == history.Write || k == history.Append {
				n.wrote[h.Ops.Ver[op]] = min(2, n.wrote[h.Ops.Ver[op]]+1)
			}
		}
		for _, v := range h.InitVer {
			if v != history.None {
				n.wrote[v] = 2
			}
		}
	}
	return n.wrote[v]
}

func writesVersion(h *history.History, t, ver uint32) bool {
	lo, hi := h.TxnOps(t)
	for op := lo; op < hi; op++ {
		if k := h.Ops.Kind[op]; (k == history.Write || k == history.Append) && h.Ops.Ver[op] == ver {
			return true
		}
	}
	return false
}

// isList reports whether t appends to key.
func isList(h *history.History, t, key uint32) bool {
	lo, hi := h.TxnOps(t)
	for op := lo; op < hi; op++ {
		if h.Ops.Kind[op] == history.Append && h.OpKey(op) == key {
			return true
		}
	}
	return false
}

// saw reports whether an operation of a transaction that begins at lo reads version ver of key: of a list, as the last
// element that others had appended, none if ver is none or an initial one; of a predicate operation, as a row that it
// matched.
func saw(h *history.History, op, lo, key, ver uint32) bool {
	switch h.Ops.Kind[op] {
	case history.Read:
		return h.Ops.Ver[op] == ver
	case history.ReadList:
		if h.OpKey(op) != key {
			return false
		}
		list := ofOthers(h, op, lo)
		if len(list) == 0 {
			return ver == history.None || ver == h.InitVer[key]
		}
		return list[len(list)-1] == ver
	case history.PredRead, history.PredWrite:
		r := history.None
		if ver != history.None {
			r = predRow(h, op, key)
		}
		return r != history.None && h.Preds.Old[r] == ver
	}
	return false
}

// firstRead returns t's first operation that reads version ver of key (saw); None if there is none.
func firstRead(h *history.History, t, key, ver uint32) uint32 {
	lo, hi := h.TxnOps(t)
	for op := lo; op < hi; op++ {
		if saw(h, op, lo, key, ver) {
			return op
		}
	}
	return history.None
}

// lastRead returns t's last operation that reads version ver of key; None if there is none.
func lastRead(h *history.History, t, key, ver uint32) uint32 {
	lo, hi := h.TxnOps(t)
	for op := hi; op > lo; op-- {
		if saw(h, op-1, lo, key, ver) {
			return op - 1
		}
	}
	return history.None
}

// writes reports whether t writes anything.
func writes(h *history.History, t uint32) bool {
	lo, hi := h.TxnOps(t)
	for op := lo; op < hi; op++ {
		switch h.Ops.Kind[op] {
		case history.Write, history.Append, history.PredWrite:
			return true
		}
	}
	return false
}

// sameTwo reports whether all cycles are between the same two transactions.
func sameTwo(cycles [][]Edge) bool {
	for _, c := range cycles {
		for _, e := range c {
			if f := cycles[0][0]; e.From != f.From && e.From != f.To {
				return false
			}
		}
	}
	return true
}

// oneKey reports whether all edges of the cycles are of real time or about one key: then the key by itself has no order
// in real time.
func oneKey(cycles [][]Edge) bool {
	key := history.None
	for _, c := range cycles {
		for _, e := range c {
			if e.Dep == RT {
				continue
			}
			if e.Dep == SO || key != history.None && e.Key != key {
				return false
			}
			key = e.Key
		}
	}
	return true
}

// Classify names a cycle by itself: by its shape where it has a telling one, else by its class, each with the suffix of
// its edges.
//
// Shapes, with the source of the name:
//
//   - lost-update: two transactions that both wrote a key, one of which read a version older than the other's
//     (rw and ww, or rw and rw, on one key; Berenson et al. 1995, P4)
//   - write-skew: two anti-dependencies on different keys (A5B there)
//   - read-skew: one transaction's write seen and another of its writes missed (wr, rw; A5A there); where the levels
//     below snapshot isolation forbid it, it is a fractured or a non-monotonic read (MTC, Figure 5 i and j)
//   - long-fork: wr, rw, wr, rw (Cerone et al. 2015; Adya's non-monotonic snapshots)
//   - stale-read: a read misses what had ended before it began (rt, rw)
//   - session-guarantee-violation: a read misses an earlier write of its own session (so, rw; Terry et al. 1994, read
//     your writes)
//   - causality-violation: what a transaction saw, through reads and sessions only, is missed by its read (so and wr,
//     one rw; with a session edge monotonic reads, monotonic writes and writes follow reads of Terry et al.)
//   - causal-reverse: the later of two transactions is seen and the earlier is not (rt, wr, rw)
//
// Classes, by Adya's thesis (1999) and Elle (Kingsbury and Alvaro 2020): only ww is G0; no anti-dependency G1c;
// one G-single; several, no two in a row, G-nonadjacent; else G2-item, or G2 where one is on a predicate.
func Classify(cycle []Edge) level.Anomaly {
	kind := shapeOf(cycle)
	switch kind {
	case "":
		kind = classOf(cycle)
	case level.StaleRead, level.CausalReverse, level.SessionGuarantee:
		return kind
	}
	switch {
	case count(cycle, RT) > 0:
		return kind + byTime.suffix()
	case count(cycle, SO) > 0:
		return kind + bySessions.suffix()
	}
	return kind
}

// classes of cycles, the worst first.
var classes = [...]level.Anomaly{level.G0, level.G1c, level.GSingle, level.GNonadjacent, level.G2Item, level.G2}

func classRank(kind level.Anomaly) int { return slices.Index(classes[:], kind) }

func classOf(cycle []Edge) level.Anomaly {
	switch antis := anti(cycle); {
	case antis == 0 && count(cycle, WR)+count(cycle, PWR) == 0:
		return level.G0
	case antis == 0:
		return level.G1c
	case antis == 1, shapeOf(cycle) == level.LostUpdate:
		return level.GSingle
	case !Adjacent(cycle):
		return level.GNonadjacent
	case count(cycle, PRW) > 0:
		return level.G2
	}
	return level.G2Item
}

// Adjacent reports whether two anti-dependencies follow each other in the cycle, the last and the first edge included.
// Such a cycle is allowed under snapshot isolation (errata B2).
func Adjacent(cycle []Edge) bool {
	for i, e := range cycle {
		if next := cycle[(i+1)%len(cycle)]; isAnti(e.Dep) && isAnti(next.Dep) {
			return true
		}
	}
	return false
}

func isAnti(d Dep) bool { return d == RW || d == PRW }

// anti counts a cycle's anti-dependencies.
func anti(cycle []Edge) int { return count(cycle, RW) + count(cycle, PRW) }

func count(cycle []Edge, d Dep) (n int) {
	for i := range cycle {
		if cycle[i].Dep == d {
			n++
		}
	}
	return n
}

// shapeOf returns the shape of a cycle (Classify), "" for most.
func shapeOf(cycle []Edge) level.Anomaly {
	var n [len(depNames)]int
	for _, e := range cycle {
		n[e.Dep]++
	}
	size := len(cycle)
	antis := n[RW] + n[PRW]
	if n[TS] > 0 {
		return ""
	}
	sameKey := size == 2 && cycle[0].Key == cycle[1].Key
	switch {
	case size == 2 && antis == 1 && n[WR] == 1:
		return level.ReadSkew
	case n[PWR]+n[PRW] > 0:
		return ""
	case size == 2 && sameKey && (n[RW] == 2 || n[RW] == 1 && n[WW] == 1):
		return level.LostUpdate
	case size == 2 && n[RW] == 2:
		return level.WriteSkew
	case size == 4 && n[RW] == 2 && n[WR] == 2 && !Adjacent(cycle):
		return level.LongFork
	case n[RT] > 0 && n[SO] == 0 && n[RW] == 1 && n[RT]+1 == size:
		return level.StaleRead
	case size == 2 && n[SO] == 1 && n[RW] == 1:
		return level.SessionGuarantee
	case n[RW] == 1 && n[RT] == 0 && n[WW] == 0 && n[WR]+n[SO] > 1:
		return level.CausalityViolation
	case n[RW] == 1 && n[RT] > 0 && n[WW] == 0 && n[WR] > 0:
		return level.CausalReverse
	}
	return ""
}
