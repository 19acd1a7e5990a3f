// Package random makes small random histories, for tests to compare checkers on: [Tiny] for brute force, [Medium] for
// checkers with one another, [Odd] with what few histories have, [Stamped] and [Lagging] with database timestamps. Only
// tests import it. Package histtest makes them as text, of every kind that the format knows.
package random

import (
	"math/rand/v2"

	"isovet/history"
)

// Tiny makes a random history small enough for brute force. Three quarters come from a real run, most with snapshots,
// the others serial; then, most often, a read is changed, or two transactions swap their sessions or their times. The
// rest is arbitrary, each read returning some value of its key. Clocks are at times so coarse that transactions touch,
// tie or have no length. So both valid and violating histories are common at every level (TestTinyMix has the shares).
func Tiny(seed uint64, o Options) *history.History {
	g := newRandomRun(seed, o.or(5, 2, 3, 4))
	switch g.rng.IntN(4) {
	case 0:
		g.arbitrary()
	case 1:
		g.serial()
	default:
		g.snapshots()
	}
	if g.rng.IntN(3) > 0 {
		for range 1 + g.rng.IntN(3) {
			g.perturb()
		}
	}
	return g.build()
}

// Medium makes a random history of up to 200 transactions (or o.Txns) in up to 8 sessions on up to 20 keys from a real
// run, serial or with snapshots; in half of them one record is changed as in Tiny.
func Medium(seed uint64, o Options) *history.History {
	g := newRandomRun(seed, o.or(200, 20, 8, 6))
	if g.rng.IntN(2) == 0 {
		g.serial()
	} else {
		g.snapshots()
	}
	if g.rng.IntN(2) == 0 {
		g.perturb()
	}
	return g.build()
}

type randomOp struct {
	key   int
	write bool
	val   history.Value
	pred  *randomPred // a predicate read or write; the key and the value mean nothing then
}

type randomTxn struct {
	session    int
	status     history.Status
	start, end int64
	ops        []randomOp
}

// randomRun builds a random history.
type randomRun struct {
	rng      *rand.Rand
	o        Options
	keys     int
	sessions int
	txns     []randomTxn // in session order
	initial  []history.Value
	loaded   bool // by an initial transaction
	seen     [][]history.Value
	next     int64
	rows     *randomRows // nil: values are integers
	// lists are the states of lists, the empty one first; nil where there are none. A state's value, in initial, seen
	// and reads, is its index, that of a write the element.
	lists [][]history.Value
}

func newRandomRun(seed uint64, o Options) *randomRun {
	if o.Lists { // a list holds no nulls, and no predicate sees it
		o.Deletes, o.Predicates = false, false
	}
	g := &randomRun{rng: rand.New(rand.NewPCG(seed, 0x7173)), o: o, next: 1}
	g.keys = 1 + g.rng.IntN(o.Keys)
	g.sessions = 1 + max(g.rng.IntN(o.Sessions), g.rng.IntN(o.Sessions))
	g.txns = make([]randomTxn, 1+max(g.rng.IntN(o.Txns), g.rng.IntN(o.Txns)))
	g.initial = make([]history.Value, g.keys)
	start := g.rng.IntN(3) // nothing, a header's value, an initial transaction
	g.loaded = start == 2
	if o.Predicates && g.rng.IntN(2) == 0 {
		g.rows = &randomRows{}
	}
	if o.Lists {
		g.lists = append(g.lists, nil)
	}
	for k := range g.initial {
		switch {
		case o.Lists:
			if g.initial[k] = history.IntValue(0); g.loaded {
				g.initial[k] = g.push(g.initial[k], history.IntValue(g.next))
				g.next++
			}
		case start > 0:
			g.initial[k] = g.first(k)
		}
		g.seen = append(g.seen, []history.Value{g.initial[k]})
	}
	// The operations, without the values of reads; statuses. In half of the histories every transaction reads first and
	// writes one key at its end, another one than it has read: what write skew is made of.
	skew := g.rng.IntN(2) == 0 && g.keys > 1 && o.Ops > 1
	for i := range g.txns {
		t := &g.txns[i]
		if skew {
			t.ops = make([]randomOp, 2+g.rng.IntN(o.Ops-1))
		} else {
			t.ops = make([]randomOp, 1+g.rng.IntN(o.Ops))
		}
		if o.Mini || o.Single {
			g.small(t)
		}
		last := len(t.ops) - 1
		for j := range t.ops {
			op := &t.ops[j]
			if o.Mini || o.Single {
				if op.write {
					g.draw(op)
				}
				continue
			}
			op.key = g.rng.IntN(g.keys)
			op.write = g.rng.IntN(2) == 0
			if skew {
				op.write = j == last
				for op.write && op.key == t.ops[0].key {
					op.key = g.rng.IntN(g.keys)
				}
			}
			switch {
			case o.Predicates && g.rng.IntN(2) == 0:
				op.pred = g.predicate(op.write)
			case op.write:
				g.draw(op)
			}
		}
		switch {
		case o.Aborted && g.rng.IntN(6) == 0:
			t.status = history.Aborted
		case o.Unknown && g.rng.IntN(5) == 0:
			t.status = history.Unknown
		}
	}
	return g
}

// run lets a transaction read a state and, if install, write its last values to another.
func (g *randomRun) run(t *randomTxn, from []history.Value, to []history.Value, install bool) {
	own := append([]history.Value(nil), from...)
	wrote := make([]bool, len(from))
	for j := range t.ops {
		op := &t.ops[j]
		switch {
		case op.pred != nil:
			g.match(op.pred, own)
			for _, r := range op.pred.rows {
				if op.pred.write {
					own[r.key], wrote[r.key] = r.after, true
				}
			}
		case op.write && g.lists != nil:
			own[op.key], wrote[op.key] = g.push(own[op.key], op.val), true
			g.note(op.key, own[op.key])
		case op.write:
			own[op.key], wrote[op.key] = op.val, true
		default:
			op.val = own[op.key]
		}
	}
	for k, w := range wrote {
		if w && install {
			to[k] = own[k]
		}
	}
}

// serial runs one transaction after the other. Client intervals hold the point of the run and reach as far as the
// session allows.
func (g *randomRun) serial() {
	state := append([]history.Value(nil), g.initial...)
	for i := range g.txns {
		t := &g.txns[i]
		t.session = g.rng.IntN(g.sessions)
		g.run(t, state, state, g.took(t))
		t.start, t.end = int64(i+1)*40, int64(i+1)*40
	}
	g.widen()
}

// snapshots runs transactions with snapshot reads, first committer wins: of two that would conflict the later waits
// with its beginning until the earlier has committed.
func (g *randomRun) snapshots() {
	state := append([]history.Value(nil), g.initial...)
	now := int64(40)
	open := make([]int, g.sessions) // session → its transaction under way, -1: none
	for s := range open {
		open[s] = -1
	}
	var snaps [][]history.Value
	next, left := 0, 0
	conflict := func(i int) bool {
		g.run(&g.txns[i], state, nil, false) // which keys its predicate writes write depends on the snapshot
		mine := g.txns[i].writes(g.keys)
		for _, j := range open {
			if j < 0 {
				continue
			}
			for k, w := range g.txns[j].writes(g.keys) {
				if w && mine[k] {
					return true
				}
			}
		}
		return false
	}
	for next < len(g.txns) || left > 0 {
		s := g.rng.IntN(g.sessions)
		now += 40
		if i := open[s]; i >= 0 {
			if next < len(g.txns) && g.rng.IntN(2) == 0 {
				continue // let others begin first
			}
			t := &g.txns[i]
			g.run(t, snaps[i], state, g.took(t))
			t.end = now
			open[s] = -1
			left--
			continue
		}
		if next == len(g.txns) || conflict(next) {
			continue
		}
		t := &g.txns[next]
		t.session, t.start = s, now
		snaps = append(snaps, append([]history.Value(nil), state...))
		open[s] = next
		left++
		next++
	}
	g.widen()
}

// widen moves starts back and ends forward, up to the neighbours in the session, and perhaps coarsens the clock.
func (g *randomRun) widen() {
	reach := []int64{1, 30, 200}[g.rng.IntN(3)]
	grain := []int64{1, 1, 40, 100}[g.rng.IntN(4)]
	last := make([]int64, g.sessions)
	prev := make([]int, g.sessions)
	for s := range prev {
		prev[s] = -1
	}
	for i := range g.txns {
		t := &g.txns[i]
		s := t.session
		t.start = max(t.start-g.rng.Int64N(reach), (last[s]+t.start)/2)
		if p := prev[s]; p >= 0 {
			g.txns[p].end = min(g.txns[p].end+g.rng.Int64N(reach), max(t.start-g.rng.Int64N(2), g.txns[p].end))
		}
		last[s], prev[s] = t.end, i
	}
	for _, p := range prev {
		if p >= 0 {
			g.txns[p].end += g.rng.Int64N(reach)
		}
	}
	for i := range g.txns {
		t := &g.txns[i]
		t.start, t.end = t.start/grain, t.end/grain
	}
}

// arbitrary makes a history out of nothing: any value of the key for each read, any interval.
func (g *randomRun) arbitrary() {
	span := int64(1 + g.rng.IntN(4*len(g.txns)+2))
	clock := make([]int64, g.sessions)
	if g.lists != nil {
		g.someStates()
	}
	for i := range g.txns {
		t := &g.txns[i]
		t.session = g.rng.IntN(g.sessions)
		own := map[int]history.Value{}
		for j := range t.ops {
			op := &t.ops[j]
			v, ok := own[op.key]
			switch {
			case op.pred != nil:
				g.matchAnything(op.pred, own)
			case op.write && g.lists != nil:
				if !ok {
					v = g.seen[op.key][g.rng.IntN(len(g.seen[op.key]))]
				}
				own[op.key] = g.push(v, op.val)
			case op.write:
				own[op.key] = op.val
			case ok && g.rng.IntN(8) > 0:
				op.val = v
			default:
				op.val = g.seen[op.key][g.rng.IntN(len(g.seen[op.key]))]
				own[op.key] = op.val // mostly a transaction reads alike
			}
		}
		t.start = g.rng.Int64N(span)
		if g.rng.IntN(4) > 0 {
			t.start = clock[t.session] + g.rng.Int64N(3)
		}
		t.end = t.start + g.rng.Int64N(4)
		clock[t.session] = max(clock[t.session], t.end)
	}
}

// perturb changes one record.
func (g *randomRun) perturb() {
	i, j := g.rng.IntN(len(g.txns)), g.rng.IntN(len(g.txns))
	a, b := &g.txns[i], &g.txns[j]
	switch g.rng.IntN(6) {
	case 0:
		a.start, b.start, a.end, b.end = b.start, a.start, b.end, a.end
	case 1:
		a.session, b.session = b.session, a.session
	default:
		for range 8 {
			op := &g.txns[g.rng.IntN(len(g.txns))].ops
			x := &(*op)[g.rng.IntN(len(*op))]
			if x.pred != nil {
				if g.perturbRows(x.pred) {
					return
				}
				continue
			}
			if x.write {
				continue
			}
			old := x.val
			if x.val = g.seen[x.key][g.rng.IntN(len(g.seen[x.key]))]; x.val != old {
				return
			}
		}
	}
}

func (g *randomRun) build() *history.History {
	b := history.NewBuilder()
	key := func(k int) uint32 {
		return b.Key(b.StringValue([]byte{'k', byte('0' + k/10), byte('0' + k%10)}))
	}
	value := func(v history.Value) history.Value {
		if v.Kind == history.Row {
			return b.RowValue([]byte(g.rows.text[v.N]))
		}
		return v
	}
	for k := range g.keys {
		if !g.o.Predicates {
			key(k) // with predicates a key that nothing uses would be a row that a file loses
		}
		switch {
		case g.loaded && g.lists != nil:
			for _, e := range g.lists[g.initial[k].N] {
				b.Append(key(k), e)
			}
		case g.loaded && g.initial[k].Kind != history.Null:
			b.Write(key(k), value(g.initial[k]))
		}
	}
	if g.loaded {
		head := history.NewTxnHead()
		head.Init = true
		b.EndTxn(head)
	} else {
		b.Initial = value(g.initial[0])
	}
	for i := range g.txns {
		t := &g.txns[i]
		for _, op := range t.ops {
			switch {
			case op.pred != nil:
				kind := history.PredRead
				if op.pred.write {
					kind = history.PredWrite
				}
				var rows []history.PredRow
				for _, r := range op.pred.rows {
					rows = append(rows, history.PredRow{Key: key(r.key), OldUnknown: r.hidden, Old: value(r.before),
						New: value(r.after)})
				}
				b.Predicate(kind, []byte(op.pred.cond.json()), rows)
			case op.write && g.lists != nil:
				b.Append(key(op.key), op.val)
			case g.lists != nil:
				b.ReadList(key(op.key), g.lists[op.val.N])
			case op.write:
				b.Write(key(op.key), value(op.val))
			default:
				b.Read(key(op.key), value(op.val))
			}
		}
		head := history.NewTxnHead()
		head.Session, head.HasSess = int64(t.session), true
		head.Status = t.status
		if !g.o.NoTimes {
			head.Start = t.start
			if t.status != history.Unknown {
				head.End = t.end
			}
		}
		b.EndTxn(head)
	}
	h, err := b.Build()
	if err != nil {
		panic("random history: " + err.Error())
	}
	return h
}
