package polygraph

import (
	"cmp"
	"math"
	"slices"

	"isovet/closure"
	"isovet/evidence"
	"isovet/graph"
	"isovet/history"
	"isovet/level"
	"isovet/predicates"
	"isovet/prepass"
)

// Based is a predicate constraint: node's predicate operation Op missed Key (or, where Missed is false, overwrote it
// blindly), so that it was based on one of the writes of Options[Lo:Hi], of which its predicate is not true (not
// false). Based on f, node comes after f's transaction, and before that of each of Targets[TLo:THi] whose version is
// after f's.
//
// Source: [Vbox] Eq. 5, Theorem 4.1; the initial, absent and deleted versions, all later versions rather than the next
// one, and without the transaction's own, by errata V5, V12, V13; blind writes by V16.
//
// A read with several possible writers is one more such constraint (errata V6): it was based on a version of the value
// that it saw. Read is then one more than its number in the view; else 0.
type Based struct {
	Node     int32
	Op, Key  uint32
	Lo, Hi   uint32
	TLo, THi uint32
	Read     uint32
	Missed   bool
	Done     bool // satisfied whatever the rest, or settled
}

// Option is one write that a predicate operation may have been based on; W of an initial version is its key. Edges of
// kinds PWR and PRW name theirs in Edge.W, by its index in Options.
type Option struct {
	Of  int32 // in Based
	W   uint32
	Out bool  // pruning found it impossible
	At  int32 // if Out: how many choices were settled by then; its reason rests on no later one
}

// Predicates makes the constraints of the view's predicates and of its reads with several possible writers, and reports
// whether they have no more than limit options and targets in all (0: no limit). With times it looks only at versions
// that can be visible: of w before g before the operation's transaction in real time, w is not what it was based on,
// and g does for w. So a constraint is made only where a version that the predicate excludes overlaps the transaction,
// or follows nothing that does; all others are settled without being listed.
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
		if u := p.Node[v.H.TxnOf(m.Op)]; u >= 0 { // else its outcome is open
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

// baser makes predicate constraints.
type baser struct {
	p     *Polygraph
	limit int
	full  bool
	mark  []uint32 // key → one more than the operation that has been looked at for it last
	mine  []uint32 // key → one more than the node that reads it, or wrote it before the operation at hand
}

// only makes those that the view lists.
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
	slices.SortFunc(list, func(x, y prepass.Miss) int {
		return cmp.Or(cmp.Compare(x.Op, y.Op), cmp.Compare(x.Key,
			y.Key))
	})
	for _, m := range list {
		if p.V.Missed(m) {
			b.constrain(p.Node[p.V.H.TxnOf(m.Op)], m, true)
		}
	}
}

// operations makes those of a node's predicate operations; each lists the versions in question of which a predicate is
// true.
func (b *baser) operations(u int32, each func(q uint32, t predicates.Truth, f func(key, ver uint32))) {
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
			b.mark[prepass.RowKey(h, r)] = op + 1
		}
		each(q, predicates.True, func(key, _ uint32) {
			if b.mark[key] == op+1 || b.mine[key] == uint32(u)+1 {
				return
			}
			b.mark[key] = op + 1
			b.constrain(u, prepass.Miss{Op: op, Key: key}, true)
		})
	}
}

// constrain makes the constraint of one key of an operation, unless nothing follows from it.
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
	op := v.ROp[r]
	u := p.Node[v.H.TxnOf(op)]
	if b.full || u < 0 {
		return
	}
	for _, w := range v.Cand[v.CandOff[i]:v.CandOff[i+1]] {
		if p.Relaxed && !v.Initial(w) && p.WriteNode(w) < 0 {
			return // it may have seen what a transaction of open outcome wrote
		}
	}
	b.base(u, prepass.Miss{Op: op, Key: v.RKey[r]}, false, r+1, func(ver uint32) bool { return ver == v.RVer[r] })
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

// LastBefore returns the transaction that began last of those that wrote a key and had ended in real time before an
// operation's transaction began; false if there is none. What had ended before it began is hidden from the operation.
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

// maybeLeftOut reports whether a transaction that was left out may have made the version that an operation was based
// on.
func (p *Polygraph) maybeLeftOut(m prepass.Miss, missed bool) bool {
	for _, ver := range p.V.LeftOutVersions(m.Key) {
		if p.V.Fits(m, ver, missed) {
			return true
		}
	}
	return false
}

// sweep goes through the nodes by their ends with the set of versions that one of those to come can see: a version
// comes with its transaction's start, and goes when all nodes that began before the first that certainly hides it has
// ended are done.
func (b *baser) sweep() {
	p := b.p
	v := p.V
	live := v.Index.NewLive()
	for k := range uint32(v.H.NumKeys()) {
		live.Add(k, v.WVer[k])
	}
	// hides[off[g]:off[g+1]]: the writes that node g hides from all that begin after its end, and no node that ends
	// earlier does.
	hider := make([]int32, len(v.WKey))
	for w := range hider {
		hider[w] = -1 // those of transactions that do not count never come
	}
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
	each := func(q uint32, _ predicates.Truth, f func(key, ver uint32)) { live.Each(q, f) }
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
		b.operations(u, each)
	}
	for _, u := range byEnd[endless:] {
		b.operations(u, v.Index.Each)
	}
}

// Relation is what is known of two versions of a key.
type Relation int8

const (
	Open Relation = iota
	Before
	After
)

// relate says in which order reach has two writes of a key.
func (p *Polygraph) relate(reach closure.Index, f, w uint32) Relation {
	u, v := p.WriteNode(f), p.WriteNode(w)
	switch {
	case u < 0 || reach.Reaches(p.BeginNode(u), v):
		return Before
	case reach.Reaches(p.BeginNode(v), u):
		return After
	}
	return Open
}

// OptionEdges calls f for each edge that option o brings: of its write's transaction to the operation's, and of the
// latter to each target of which relate does not say that its version is earlier; is Open says that the edge is there
// only if it is later.
func (p *Polygraph) OptionEdges(o uint32, relate func(f, w uint32) Relation, f func(e Edge, is Relation,
	target uint32)) {
	c := &p.Based[p.Options[o].Of]
	base := p.Options[o].W
	if u := p.WriteNode(base); u >= 0 {
		f(Edge{From: u, To: c.Node, W: o, Dep: evidence.PWR}, Before, none)
	}
	for _, w := range p.Targets[c.TLo:c.THi] {
		if is := relate(base, w); is != After {
			f(Edge{From: c.Node, To: p.WriteNode(w), W: o, Dep: evidence.PRW}, is, w)
		}
	}
}

// pruneBased drops the options of predicate constraints that would close a cycle with the known graph, and adds the
// edges of the constraints that have one left; those that an option satisfies whatever the rest need nothing. It
// returns how many it settled, and whether anything changed. Source: [Vbox] §4.3 "Predicate Constraint Pruning" with
// errata V14 and V18.
func (p *Polygraph) pruneBased(reach closure.Index, add func(by int32, e Edge)) (changed bool, conflict *Conflict) {
	relate := func(f, w uint32) Relation { return p.relate(reach, f, w) }
	for i := range p.Based {
		c := &p.Based[i]
		if c.Done {
			continue
		}
		last, left := uint32(0), 0
		for o := c.Lo; o < c.Hi && !c.Done; o++ {
			if p.Options[o].Out {
				continue
			}
			switch possible, free := p.option(reach, c, p.Options[o].W); {
			case !possible:
				p.Options[o].Out, p.Options[o].At = true, int32(len(p.Settled))
				changed = true
			case free:
				c.Done = true
			default:
				last, left = o, left+1
			}
		}
		if c.Done || left > 1 {
			continue
		}
		if left == 0 {
			return changed, &Conflict{Based: c}
		}
		c.Done = true
		by := int32(-1)
		p.OptionEdges(last, relate, func(e Edge, is Relation, _ uint32) {
			if reach.Reaches(e.From, e.To) {
				return
			}
			if is == Open {
				c.Done = false
				return
			}
			if by < 0 {
				by = int32(len(p.Settled))
				p.Settled = append(p.Settled, Settled{Based: int32(i) + 1, Option: last})
				changed = true
			}
			add(by, e)
		})
	}
	return changed, nil
}

// option reports whether an operation may have been based on write f, as far as reach knows, and whether that needs no
// further edge.
func (p *Polygraph) option(reach closure.Index, c *Based, f uint32) (possible, free bool) {
	t, u := c.Node, p.WriteNode(f)
	if u >= 0 && reach.Reaches(t, u) {
		return false, false
	}
	free = u < 0 || reach.Reaches(u, t)
	for _, w := range p.Targets[c.TLo:c.THi] {
		v := p.WriteNode(w)
		if reach.Reaches(t, v) {
			continue
		}
		switch p.relate(reach, f, w) {
		case Before:
			if reach.Reaches(v, t) {
				return false, false
			}
			free = false
		case Open:
			free = false
		}
	}
	return true, free
}

// OpenBased counts the predicate constraints that are left.
func (p *Polygraph) OpenBased() int {
	n := 0
	for i := range p.Based {
		if !p.Based[i].Done {
			n++
		}
	}
	return n
}

// Story calls f with the transactions without which an edge of kind PWR or PRW says nothing: of those that the
// operation may have been based on, and of the one that hides others by time.
func (p *Polygraph) Story(e Edge, f func(t uint32)) { p.StoryOf(&p.Based[p.Options[e.W].Of], f) }

// StoryOf is Story of a constraint, with its own transaction.
func (p *Polygraph) StoryOf(c *Based, f func(t uint32)) {
	v := p.V
	m := prepass.Miss{Op: c.Op, Key: c.Key}
	var bases []uint32
	if c.Read > 0 {
		at, _ := slices.BinarySearch(v.Amb, c.Read-1)
		bases = v.Cand[v.CandOff[at]:v.CandOff[at+1]]
	} else {
		bases, _, _ = v.Bases(m)
	}
	f(p.Txn[c.Node])
	for _, w := range bases {
		if t := v.WTxn[w]; t != none {
			f(t)
		}
	}
	if t, ok := p.LastBefore(m); ok {
		f(t)
	}
}

// OpenEdges counts the edges that the open choices and predicate constraints may bring, an upper bound.
func (p *Polygraph) OpenEdges() int {
	n := 0
	for _, c := range p.Choices {
		n += 2 + len(p.Readers(c.A)) + len(p.Readers(c.B))
	}
	for i := range p.Based {
		if c := &p.Based[i]; !c.Done {
			n += int(c.Hi-c.Lo) * (1 + int(c.THi-c.TLo))
		}
	}
	return n
}

// Later guesses whether option a's version came after option b's.
func (p *Polygraph) Later(a, b uint32) bool {
	w, x := p.Options[a].W, p.Options[b].W
	return p.WriteNode(w) >= 0 && (p.WriteNode(x) < 0 || p.Sooner(x, w))
}

// Relate returns what is known of two writes of a key without reachability: an initial version is before all others,
// real time and pruning have settled some, and which choice has the rest: then is is Open, and either tells whether the
// choice's "A before B" is "f before w".
func (p *Polygraph) Relate() func(f, w uint32) (is Relation, choice int, either bool) {
	keys := make(map[uint32]bool)
	for i := range p.Based {
		if !p.Based[i].Done {
			keys[p.Based[i].Key] = true
		}
	}
	first := p.settledPairs()
	choices := make(map[[2]uint32]int)
	for i, c := range p.Choices {
		if keys[p.V.WKey[c.A]] {
			choices[[2]uint32{c.A, c.B}] = i
		}
	}
	return func(f, w uint32) (Relation, int, bool) {
		u, v := p.WriteNode(f), p.WriteNode(w)
		if u < 0 || p.Before(u, v) {
			return Before, 0, false
		}
		if p.Before(v, u) {
			return After, 0, false
		}
		if _, ok := first[[2]uint32{f, w}]; ok {
			return Before, 0, false
		}
		if _, ok := first[[2]uint32{w, f}]; ok {
			return After, 0, false
		}
		if i, ok := choices[[2]uint32{f, w}]; ok {
			return Open, i, true
		}
		i, ok := choices[[2]uint32{w, f}]
		if !ok {
			panic("polygraph: no choice has two writes of a key that nothing orders")
		}
		return Open, i, false
	}
}

// settledPairs finds the settled choices of keys that predicate constraints are about, by first and second write.
func (p *Polygraph) settledPairs() map[[2]uint32]int32 {
	keys := make(map[uint32]bool)
	for i := range p.Based {
		keys[p.Based[i].Key] = true
	}
	pairs := make(map[[2]uint32]int32)
	for i := range p.Settled {
		if s := &p.Settled[i]; s.Based == 0 && keys[p.V.WKey[s.First]] {
			pairs[[2]uint32{s.First, s.Then}] = int32(i)
		}
	}
	return pairs
}

// Baseless returns a predicate constraint that has no option from the start, as a conflict; nil if there is none.
func (p *Polygraph) Baseless() *Conflict {
	for i := range p.Based {
		if c := &p.Based[i]; c.Lo == c.Hi {
			return &Conflict{Based: c}
		}
	}
	return nil
}

// Mismatch returns a predicate constraint that no version of its key can satisfy, in whatever order, as an anomaly.
func (p *Polygraph) Mismatch() (evidence.Anomaly, bool) {
	for i := range p.Based {
		c := &p.Based[i]
		if c.Lo < c.Hi || c.Read > 0 {
			continue
		}
		if bases, _, free := p.V.Bases(prepass.Miss{Op: c.Op, Key: c.Key}); len(bases) == 0 && !free {
			return evidence.Anomaly{Kind: level.PredicateMismatch, Txns: []uint32{p.Txn[c.Node]}, Ops: []uint32{c.Op},
				Key: c.Key}, true
		}
	}
	return evidence.Anomaly{}, false
}

// target returns the write of a PRW edge's To; false: its order is time's alone.
func (p *Polygraph) target(e Edge) (w uint32, ok bool) {
	c := &p.Based[p.Options[e.W].Of]
	for _, w := range p.Targets[c.TLo:c.THi] {
		if p.WriteNode(w) == e.To {
			return w, true
		}
	}
	return none, false
}

// excluded returns the cycles that show why an operation was not based on option o, over edges for which use is true:
// the first closes if it was, and the second, if there is one, if the target of the first was before the option's
// version.
func (p *Polygraph) excluded(f *Finder, o uint32, use func(*Edge) bool) ([][]Edge, bool) {
	c := &p.Based[p.Options[o].Of]
	base := p.Options[o].W
	u, t := p.WriteNode(base), c.Node
	if u >= 0 {
		if path, ok := f.Path(t, u, use); ok {
			return [][]Edge{append([]Edge{{From: u, To: t, W: o, Dep: evidence.PWR, By: ByHistory}}, path...)}, true
		}
	}
	for _, w := range p.Targets[c.TLo:c.THi] {
		v := p.WriteNode(w)
		path, ok := f.Path(v, t, use)
		if !ok {
			continue
		}
		out := [][]Edge{append([]Edge{{From: t, To: v, W: o, Dep: evidence.PRW, By: ByHistory}}, path...)}
		if u < 0 {
			return out, true
		}
		if path, ok := f.Path(p.BeginNode(u), v, use); ok {
			return append(out, append([]Edge{{From: v, To: p.BeginNode(u), W: base, Dep: evidence.WW, By: ByHistory}},
				path...)), true
		}
	}
	return nil, false
}

// baseReasons returns the cycle behind an edge that pruning took from the one option left of a constraint, beside those
// of dropped: why its target's version is later than the option's.
func (p *Polygraph) baseReasons(f *Finder, e Edge) (out [][]Edge) {
	s := p.Settled[e.By]
	use := func(x *Edge) bool { return x.By < e.By }
	base := p.Options[s.Option].W
	if u := p.WriteNode(base); e.Dep == evidence.PRW && u >= 0 {
		u = p.BeginNode(u)
		path, ok := f.Path(u, e.To, use)
		if !ok {
			panic("polygraph: a target is later for no reason")
		}
		out = append(out, append([]Edge{{From: e.To, To: u, W: base, Dep: evidence.WW, By: ByHistory}}, path...))
	}
	return out
}

// dropped returns the cycles that show why pruning dropped options of a predicate constraint: what another cycle
// assumes of the operation is that it was based on one of the others.
func (p *Polygraph) dropped(f *Finder, c *Based) (out [][]Edge) {
	for o := c.Lo; o < c.Hi; o++ {
		if !p.Options[o].Out {
			continue
		}
		at := p.Options[o].At
		cycles, ok := p.excluded(f, o, func(x *Edge) bool { return x.By < at })
		if !ok {
			panic("polygraph: a dropped option has no reason")
		}
		out = append(out, cycles...)
	}
	return out
}

// baseConflict returns the cycles of a predicate constraint without options: why each was dropped, and where time
// leaves none, for each version that the operation may have been based on how time excludes it.
func (p *Polygraph) baseConflict(f *Finder, c *Based) (out [][]Edge) {
	if c.Lo < c.Hi {
		return p.dropped(f, c)
	}
	if c.Read > 0 {
		return nil // the reader and its possible writers tell all, see Story
	}
	of := int32(slices.IndexFunc(p.Based, func(x Based) bool { return x.Op == c.Op && x.Key == c.Key }))
	bases, others, _ := p.V.Bases(prepass.Miss{Op: c.Op, Key: c.Key})
	for _, b := range bases {
		u := p.WriteNode(b)
		o := uint32(len(p.Options))
		p.Options = append(p.Options, Option{Of: of, W: b, Out: true})
		if u >= 0 && p.Before(c.Node, u) {
			out = append(out, []Edge{{From: u, To: c.Node, W: o, Dep: evidence.PWR, By: ByHistory}, {From: c.Node,
				To: u, W: none, Dep: evidence.RT, By: ByHistory}})
			continue
		}
		for _, w := range others {
			if g := p.WriteNode(w); g >= 0 && (u < 0 || p.Before(u, g)) && p.Before(g, c.Node) {
				out = append(out, []Edge{{From: c.Node, To: g, W: o, Dep: evidence.PRW, By: ByHistory},
					{From: g, To: c.Node, W: none, Dep: evidence.RT, By: ByHistory}})
				break
			}
		}
	}
	return out
}
