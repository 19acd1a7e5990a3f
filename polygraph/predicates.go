package polygraph

import (
	"cmp"
	"math"
	"slices"

	"isovet/check/prepass"
	"isovet/history"
	"isovet/internal/graph"
	"isovet/internal/sorts"
)

// Based is a predicate constraint. Node's predicate operation Op missed Key (or, if Missed is false, overwrote it
// blindly). So it was based on one of the writes Options[Lo:Hi], for which its predicate is not true (or not false). If
// it was based on f, node comes after f's transaction, and before the transaction of each of Targets[TLo:THi] whose
// version is after f's.
//
// Source: [Vbox] Eq. 5, Theorem 4.1; the initial, absent and deleted versions, all later versions rather than the next
// one, and without the transaction's own, by errata V5, V12, V13; blind writes by V16.
//
// A read with several possible writers is such a constraint too (errata V6): it was based on a version with the value
// that it saw. Read is then one more than its number in the view; else 0.
type Based struct {
	Node     int32
	Op, Key  uint32
	Lo, Hi   uint32
	TLo, THi uint32
	Read     uint32
	Missed   bool
	Done     bool // satisfied by an option without further edges, or settled
}

// Option is a write that a predicate operation may have been based on; W of an initial version is its key. Edges of
// kinds PWR and PRW have the option's index in Options as Edge.W.
type Option struct {
	Of  int32 // in Based
	W   uint32
	Out bool  // pruning found it impossible
	At  int32 // if Out: the number of choices settled by then; its reason uses no later one
}

// Predicates makes the constraints of the view's predicates and of its reads with several possible writers. It reports
// whether they have at most limit options and targets in all (0: no limit). With times it considers only versions that
// can be visible: if w, g and the operation's transaction follow one another in real time, the operation was not based
// on w. So a constraint is made only if a version that the predicate excludes overlaps the transaction, or is the last
// before it; all others are settled without being listed.
//
// Source:  [Vbox] §4.1, and §4.3 "Predicate Constraint Avoidance" as errata V14 corrects it: what time satisfies is not
// made, what it makes impossible is no option, and a constraint without options is a violation. Cost:    with times,
// linear in operations, versions and constraints, times log n for sorting; a transaction without end looks at all
// versions of which its predicates are true. Without times every transaction does.
func (p *Polygraph) Predicates(limit int) bool {
	v := p.V
	if v.Index == nil && len(v.Amb) == 0 {
		return true
	}
	b := &baser{p: p, limit: limit, mark: make([]uint32, v.H.NumKeys()), mine: make([]uint32, v.H.NumKeys())}
	for _, m := range v.Blind {
		if u := p.Node[v.H.TxnOf(m.Op)]; u >= 0 { // otherwise its outcome is open
			b.constrain(u, m, false)
		}
	}
	for i := range v.Amb {
		b.read(i)
	}
	switch {
	case v.Index == nil:
	case v.Only != nil:
		b.only()
	case p.Start != nil:
		b.sweep()
	default:
		for u := 0; u < p.N; u += p.step() {
			b.operations(int32(u), v.Index.Each)
		}
	}
	return !b.full
}

// baser is the state while predicate constraints are made.
type baser struct {
	p     *Polygraph
	limit int
	full  bool
	mark  []uint32 // key → one more than the operation last examined for it
	mine  []uint32 // key → one more than the node that reads it, or wrote it before the current operation
}

// only makes the constraints of only those operations that the view lists.
func (b *baser) only() {
	p := b.p
	var list []prepass.Miss
	blind := make(map[prepass.Miss]bool)
	for _, m := range p.V.Blind {
		blind[m] = true
	}
	for m := range p.V.Only {
		if p.Node[p.V.H.TxnOf(m.Op)] >= 0 && !blind[m] {
			list = append(list, m)
		}
	}
	sorts.Func(list, func(x, y prepass.Miss) int {
		return cmp.Or(cmp.Compare(x.Op, y.Op), cmp.Compare(x.Key, y.Key))
	})
	for _, m := range list {
		if p.V.Missed(m) {
			b.constrain(p.Node[p.V.H.TxnOf(m.Op)], m, true)
		}
	}
}

// operations makes the constraints of a node's predicate operations. each calls its f with the candidate versions for
// which a predicate is true.
func (b *baser) operations(u int32, each func(q uint32, f func(key, ver uint32))) {
	p := b.p
	v, h := p.V, p.V.H
	t := p.Txn[u]
	ops := v.POp[v.POff[t]:v.POff[t+1]]
	if len(ops) == 0 || b.full {
		return
	}
	for _, k := range v.RKey[v.ROff[t]:v.ROff[t+1]] {
		b.mine[k] = uint32(u) + 1
	}
	at, _ := h.TxnOps(t)
	for _, op := range ops {
		for ; at < op; at++ { // own writes before the operation
			switch q := h.Ops.Ver[at]; h.Ops.Kind[at] {
			case history.Write:
				b.mine[h.VerKey[q]] = uint32(u) + 1
			case history.PredWrite:
				for _, ver := range h.Preds.New[h.Preds.Off[q]:h.Preds.Off[q+1]] {
					b.mine[h.VerKey[ver]] = uint32(u) + 1
				}
			}
		}
		q := h.Ops.Ver[op]
		for r := h.Preds.Off[q]; r < h.Preds.Off[q+1]; r++ {
			b.mark[h.RowKey(r)] = op + 1
		}
		each(q, func(key, _ uint32) {
			if b.mark[key] == op+1 || b.mine[key] == uint32(u)+1 {
				return
			}
			b.mark[key] = op + 1
			b.constrain(u, prepass.Miss{Op: op, Key: key}, true)
		})
	}
}

// constrain makes the constraint of one key of an operation, unless it has no consequence.
func (b *baser) constrain(u int32, m prepass.Miss, missed bool) {
	p := b.p
	if b.full || p.Relaxed && p.maybeLeftOut(m, missed) {
		return
	}
	b.base(u, m, missed, 0, func(ver uint32) bool { return p.V.Fits(m, ver, missed) })
}

// read makes the constraint of ambiguous read i of the view.
func (b *baser) read(i int) {
	p := b.p
	v := p.V
	r := v.Amb[i]
	op := v.ROp(r)
	u := p.Node[v.H.TxnOf(op)]
	if b.full || u < 0 {
		return
	}
	for _, w := range v.Cand[v.CandOff[i]:v.CandOff[i+1]] {
		if p.Relaxed && !v.Initial(w) && p.WriteNode(w) < 0 {
			return // it may have seen a write of a transaction of open outcome
		}
	}
	b.base(u, prepass.Miss{Op: op, Key: v.RKey[r]}, false, r+1, func(ver uint32) bool { return ver == v.RVer(r) })
}

// base makes the constraint that an operation was based on a version of a key that fits.
func (b *baser) base(u int32, m prepass.Miss, missed bool, read uint32, fits func(ver uint32) bool) {
	p := b.p
	v := p.V
	c := Based{Read: read, Node: u, Op: m.Op, Key: m.Key, Missed: missed, Lo: uint32(len(p.Options)),
		TLo: uint32(len(p.Targets))}
	of := int32(len(p.Based))
	ws := p.Writers(m.Key)
	initial, latest := true, int64(0)
	if p.Start != nil {
		for _, w := range ws {
			if g := p.WriteNode(w); p.BeginNode(g) != u && p.Before(g, u) && (initial || p.Start[g] > latest) {
				initial, latest = false, p.Start[g]
			}
		}
	}
	excluded := false
	if initial {
		if fits(v.WVer[m.Key]) {
			p.Options = append(p.Options, Option{Of: of, W: m.Key})
		} else {
			excluded = true
		}
	}
	for _, w := range ws {
		x := p.WriteNode(w)
		if p.BeginNode(x) == u || p.Start != nil && (p.Before(u, x) || !initial && p.End[x] < latest) {
			continue
		}
		if fits(v.WVer[w]) {
			p.Options = append(p.Options, Option{Of: of, W: w})
		} else {
			p.Targets = append(p.Targets, w)
		}
	}
	c.Hi, c.THi = uint32(len(p.Options)), uint32(len(p.Targets))
	if !excluded && c.TLo == c.THi {
		p.Options = p.Options[:c.Lo]
		return
	}
	p.Based = append(p.Based, c)
	b.full = b.limit > 0 && len(p.Options)+len(p.Targets) > b.limit
}

// LastBefore returns the last to begin of the transactions that wrote a key and ended, in real time, before an
// operation's transaction began; false if there is none. It hides the writers that ended before it began.
func (p *Polygraph) LastBefore(m prepass.Miss) (t uint32, ok bool) {
	u := p.Node[p.V.H.TxnOf(m.Op)]
	last := int32(-1)
	for _, w := range p.Writers(m.Key) {
		if g := p.WriteNode(w); p.Before(g, u) {
			last = g // writers are in the order of their starts
		}
	}
	if last < 0 {
		return 0, false
	}
	return p.Txn[last], true
}

// maybeLeftOut reports whether a transaction outside the view may have written the version that an operation was based
// on.
func (p *Polygraph) maybeLeftOut(m prepass.Miss, missed bool) bool {
	return slices.ContainsFunc(p.V.LeftOutVersions(m.Key), func(ver uint32) bool { return p.V.Fits(m, ver, missed) })
}

// sweep visits the nodes by their ends. It keeps the set of versions that a remaining node can see. A version enters at
// its transaction's start. It leaves when no remaining node began before the end of the first transaction that
// certainly hides it.
func (b *baser) sweep() {
	p := b.p
	v := p.V
	live := v.Index.NewLive()
	for k := range uint32(v.H.NumKeys()) {
		live.Add(k, v.WVer[k])
	}
	// hides[off[g]:off[g+1]] are the writes that node g, and no node with an earlier end, hides from all nodes that
	// begin after its end.
	hider := slices.Repeat([]int32{-1}, len(v.WKey)) // writes of transactions that do not count never enter
	by := graph.NewGroups[uint32](p.N)
	var soonest []int32
	for k := range uint32(v.H.NumKeys()) {
		ws := p.Writers(k)
		soonest = soonest[:0]
		for _, w := range ws {
			soonest = append(soonest, p.BeginNode(p.WriteNode(w)))
		}
		for i := len(soonest) - 2; i >= 0; i-- {
			if p.End[soonest[i+1]] < p.End[soonest[i]] {
				soonest[i] = soonest[i+1]
			}
		}
		set := func(w uint32, j int) {
			if j < len(ws) {
				hider[w] = soonest[j]
				by.Count(uint32(soonest[j]))
			}
		}
		set(k, 0)
		for _, w := range ws {
			end := p.End[p.WriteNode(w)]
			j, _ := slices.BinarySearchFunc(ws, end, func(x uint32, end int64) int {
				if p.Start[p.WriteNode(x)] > end {
					return 1
				}
				return -1
			})
			set(w, j)
		}
	}
	hides := make([]uint32, by.Sum())
	for w, g := range hider {
		if g >= 0 {
			hides[by.Place(uint32(g))] = uint32(w)
		}
	}
	off := by.Off()
	byEnd := make([]int32, 0, p.N/p.step())
	for u := 0; u < p.N; u += p.step() {
		byEnd = append(byEnd, int32(u))
	}
	slices.SortFunc(byEnd, func(x, y int32) int { return cmp.Or(cmp.Compare(p.End[x], p.End[y]), cmp.Compare(x, y)) })
	endless := len(byEnd) // byEnd[endless:] have no end
	for endless > 0 && p.End[byEnd[endless-1]] == math.MaxInt64 {
		endless--
	}
	first := make([]int64, endless+1) // the earliest start among byEnd[i:endless]
	first[endless] = math.MaxInt64
	for i := endless - 1; i >= 0; i-- {
		first[i] = min(first[i+1], p.Start[byEnd[i]])
	}
	begun, hid := 0, 0
	for i, u := range byEnd[:endless] {
		for ; begun < p.N && p.Start[begun] <= p.End[u]; begun += p.step() {
			t := p.Txn[begun]
			for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
				live.Add(v.WKey[w], v.WVer[w])
			}
		}
		for ; hid < endless && p.End[byEnd[hid]] < first[i]; hid++ {
			g := byEnd[hid]
			for _, w := range hides[off[g]:off[g+1]] {
				live.Remove(v.WKey[w], v.WVer[w])
			}
		}
		b.operations(u, live.Each)
	}
	for _, u := range byEnd[endless:] {
		b.operations(u, v.Index.Each)
	}
}
