package random

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"isovet/history"
)

// StampedOptions bound a random history with database timestamps. The zero value is up to 6 transactions of up to 4
// operations in up to 3 sessions on up to 3 keys, registers, with different timestamps and unique values, all
// committed.
type StampedOptions struct {
	Txns, Keys, Sessions, Ops int // at most; 0: the default

	Ties       bool // timestamps may be equal, as far as errata C3 allows
	Duplicates bool // the same value may be written twice to a key
	Deletes    bool // writes of null
	Aborted    bool // aborted transactions; their values may be read
	Unknown    bool // transactions of unknown outcome, with and without commit timestamp
	Lists      bool // half of the keys are lists
	Predicates bool // predicate reads and writes by ranges of values
	Serial     bool // what is read is of the commit, as serializability has it, not of the start
}

type stampedTxn struct {
	session       int
	status        history.Status
	start, commit int64 // commit: history.NoTime if it has none
	ops           []stampedOp
}

type stampedOp struct {
	kind   history.OpKind
	key    int
	val    history.Value
	list   []history.Value
	lo, hi int64 // of a predicate
	rows   []history.PredRow
}

// Stamped makes a small random history with database timestamps. Reads are what the timestamps say; then, in two thirds
// of the histories, some are changed, or timestamps or sessions swapped. Half of them avoid what first committer wins
// forbids.
func Stamped(seed uint64, o StampedOptions) *history.History {
	g := &stampedRun{rng: rand.New(rand.NewPCG(seed, 0x7473)), o: o, next: 1}
	or := func(n, or int) int {
		if n <= 0 {
			return or
		}
		return n
	}
	g.keys = 1 + g.rng.IntN(or(o.Keys, 3))
	g.initial = make([]history.Value, g.keys)
	if g.loaded = g.rng.IntN(2) == 0; g.loaded {
		for k := range g.initial {
			g.initial[k] = g.fresh()
		}
	}
	g.seen = make([][]history.Value, g.keys)
	for k := range g.seen {
		g.seen[k] = []history.Value{g.initial[k]}
	}
	n := 1 + max(g.rng.IntN(or(o.Txns, 6)), g.rng.IntN(or(o.Txns, 6)))
	g.txns = make([]stampedTxn, n)
	sessions := 1 + g.rng.IntN(or(o.Sessions, 3))
	g.times()
	for i := range g.txns {
		t := &g.txns[i]
		t.session = g.rng.IntN(sessions)
		for range 1 + g.rng.IntN(or(o.Ops, 4)) {
			t.ops = append(t.ops, g.op())
		}
		switch {
		case o.Aborted && g.rng.IntN(6) == 0:
			t.status = history.Aborted
		case o.Unknown && g.rng.IntN(5) == 0:
			t.status = history.Unknown
			if g.rng.IntN(2) == 0 {
				t.commit = history.NoTime
			}
		}
	}
	g.settle()
	// mostly the sessions' order is that of time
	slices.SortStableFunc(g.txns, func(a, b stampedTxn) int { return int(a.start - b.start) })
	g.run()
	if g.rng.IntN(3) > 0 {
		for range 1 + g.rng.IntN(3) {
			g.perturb()
		}
	}
	g.settle()
	return g.build(seed)
}

type stampedRun struct {
	rng     *rand.Rand
	o       StampedOptions
	keys    int
	loaded  bool
	initial []history.Value
	seen    [][]history.Value
	txns    []stampedTxn
	next    int64
}

func (g *stampedRun) fresh() history.Value {
	g.next++
	return history.IntValue(g.next)
}

func (g *stampedRun) list(k int) bool { return g.o.Lists && k%2 == 0 }

func (g *stampedRun) times() {
	if g.o.Ties {
		span := int64(2 + g.rng.IntN(2*len(g.txns)))
		for i := range g.txns {
			t := &g.txns[i]
			t.start = g.rng.Int64N(span)
			t.commit = t.start + g.rng.Int64N(4)
		}
		return
	}
	at := g.rng.Perm(4 * len(g.txns))
	near := g.rng.IntN(2) == 0 // short transactions
	for i := range g.txns {
		a, b := at[2*i], at[2*i+1]
		g.txns[i].start, g.txns[i].commit = int64(10*min(a, b)), int64(10*max(a, b))
		if near {
			g.txns[i].commit = min(g.txns[i].commit, g.txns[i].start+5+int64(i%4))
		}
	}
}

func (g *stampedRun) op() stampedOp {
	k := g.rng.IntN(g.keys)
	op := stampedOp{kind: history.Read, key: k}
	write := g.rng.IntN(2) == 0
	switch {
	case g.list(k) && write:
		op.kind, op.val = history.Append, g.fresh()
		g.seen[k] = append(g.seen[k], op.val)
	case g.list(k):
		op.kind = history.ReadList
	case g.o.Predicates && g.rng.IntN(3) == 0:
		op.kind = history.PredRead
		if write {
			op.kind = history.PredWrite
		}
		op.lo = g.rng.Int64N(g.next + 1)
		op.hi = op.lo + g.rng.Int64N(g.next+2)
	case write:
		op.kind = history.Write
		op.val = g.fresh()
		switch {
		case g.o.Deletes && g.rng.IntN(5) == 0:
			op.val = history.Value{}
		case g.o.Duplicates && g.rng.IntN(2) == 0:
			op.val = g.seen[k][g.rng.IntN(len(g.seen[k]))]
		}
		g.seen[k] = append(g.seen[k], op.val)
	}
	return op
}

func (t *stampedTxn) counts() bool {
	return t.status != history.Aborted && t.commit != history.NoTime
}

func (t *stampedTxn) writer() bool {
	return slices.ContainsFunc(t.ops, func(o stampedOp) bool {
		return o.kind != history.Read && o.kind != history.ReadList && o.kind != history.PredRead
	})
}

// settle mends timestamps that no database gives: writers that tie, or take no time.
func (g *stampedRun) settle() {
	taken := map[int64]bool{}
	for i := range g.txns {
		t := &g.txns[i]
		if t.commit == history.NoTime {
			continue
		}
		t.commit = max(t.commit, t.start)
		if !t.writer() {
			continue
		}
		for t.commit <= t.start || taken[t.commit] {
			t.commit++
		}
		taken[t.commit] = true
	}
}

// run fills in what is read. With first committer wins in half of the histories: a transaction that would lose starts
// later.
func (g *stampedRun) run() {
	avoid := !g.o.Serial && g.rng.IntN(2) == 0
	by := make([]int, len(g.txns))
	for i := range by {
		by[i] = i
	}
	slices.SortStableFunc(by, func(a, b int) int { return int(g.txns[a].commit/2 - g.txns[b].commit/2) })
	if avoid {
		g.avoid(by)
	}
	// In the order of commits, each on the state at its start; what it writes depends on that only for predicate
	// writes.
	slices.SortStableFunc(by, func(a, b int) int {
		x, y := &g.txns[a], &g.txns[b]
		switch {
		case x.commit < y.commit:
			return -1
		case x.commit > y.commit:
			return 1
		}
		return 0
	})
	type install struct {
		at  int64
		key int
		val history.Value
	}
	var log []install
	for _, i := range by {
		t := &g.txns[i]
		at := t.start
		if g.o.Serial && t.commit != history.NoTime {
			at = t.commit
		}
		state := slices.Clone(g.initial)
		lists := make([][]history.Value, g.keys)
		for k, v := range g.initial {
			if g.loaded {
				lists[k] = []history.Value{v}
			}
		}
		for _, w := range log {
			if w.at > at {
				continue
			}
			state[w.key] = w.val
			if g.list(w.key) {
				lists[w.key] = append(slices.Clone(lists[w.key]), w.val)
			}
		}
		for j := range t.ops {
			op := &t.ops[j]
			switch op.kind {
			case history.Read:
				op.val = state[op.key]
			case history.Write:
				state[op.key] = op.val
			case history.Append:
				lists[op.key] = append(slices.Clone(lists[op.key]), op.val)
			case history.ReadList:
				op.list = lists[op.key]
			default:
				g.match(op, state)
			}
			if t.counts() {
				switch op.kind {
				case history.Write, history.Append:
					log = append(log, install{t.commit, op.key, op.val})
				case history.PredWrite:
					for _, r := range op.rows {
						log = append(log, install{t.commit, int(r.Key), r.New})
					}
				}
			}
		}
	}
}

// match fills in what a predicate matches; a predicate write writes.
func (g *stampedRun) match(op *stampedOp, state []history.Value) {
	op.rows = nil
	for k, v := range state {
		if g.list(k) || v.Kind != history.Int || v.N < op.lo || v.N >= op.hi {
			continue
		}
		r := history.PredRow{Key: uint32(k), Old: v}
		if op.kind == history.PredWrite {
			r.OldUnknown = g.rng.IntN(4) == 0
			r.New = g.fresh()
			g.seen[k] = append(g.seen[k], r.New)
			state[k] = r.New
		}
		op.rows = append(op.rows, r)
	}
}

// avoid moves the starts of transactions that would lose against an earlier committer, where they can be moved.
func (g *stampedRun) avoid(by []int) {
	last := make([]int64, g.keys)
	for _, i := range by {
		t := &g.txns[i]
		if !t.counts() {
			continue
		}
		for _, op := range t.ops {
			if op.kind == history.Write || op.kind == history.Append {
				t.start = max(t.start, last[op.key])
			}
		}
		t.commit = max(t.commit, t.start+1)
		for _, op := range t.ops {
			if op.kind == history.Write || op.kind == history.Append {
				last[op.key] = max(last[op.key], t.commit)
			}
		}
	}
	g.settle()
}

// perturb changes one record.
func (g *stampedRun) perturb() {
	a, b := &g.txns[g.rng.IntN(len(g.txns))], &g.txns[g.rng.IntN(len(g.txns))]
	switch g.rng.IntN(8) {
	case 0:
		if a.commit != history.NoTime && b.commit != history.NoTime {
			a.start, b.start, a.commit, b.commit = b.start, a.start, b.commit, a.commit
		}
	case 1:
		a.session, b.session = b.session, a.session
	case 2:
		a.start -= g.rng.Int64N(12)
	default:
		op := &a.ops[g.rng.IntN(len(a.ops))]
		switch op.kind {
		case history.Read:
			op.val = g.seen[op.key][g.rng.IntN(len(g.seen[op.key]))]
		case history.ReadList:
			switch op.list = slices.Clone(op.list); {
			case len(op.list) > 0 && g.rng.IntN(2) == 0:
				i := g.rng.IntN(len(op.list))
				op.list = slices.Delete(op.list, i, i+1)
			case len(op.list) > 1 && g.rng.IntN(2) == 0:
				op.list[0], op.list[1] = op.list[1], op.list[0]
			default:
				op.list = append(op.list, g.seen[op.key][g.rng.IntN(len(g.seen[op.key]))])
			}
			op.list = slices.DeleteFunc(op.list, func(v history.Value) bool { return v.Kind == history.Null })
		case history.PredRead, history.PredWrite:
			if len(op.rows) == 0 {
				return
			}
			i := g.rng.IntN(len(op.rows))
			switch k := op.rows[i].Key; g.rng.IntN(3) {
			case 0:
				op.rows = slices.Delete(op.rows, i, i+1)
			case 1:
				op.rows[i].Old = g.seen[k][g.rng.IntN(len(g.seen[k]))]
			default:
				if op.kind == history.PredRead { // the same row in another version
					op.rows = append(op.rows, history.PredRow{Key: k, Old: g.seen[k][g.rng.IntN(len(g.seen[k]))]})
				}
			}
			if op.kind == history.PredRead {
				op.rows = distinct(op.rows)
			}
		}
	}
}

// distinct leaves out rows that stand there in the same version already.
func distinct(rows []history.PredRow) (out []history.PredRow) {
	for _, r := range rows {
		if !slices.ContainsFunc(out, func(o history.PredRow) bool { return o.Key == r.Key && o.Old == r.Old }) {
			out = append(out, r)
		}
	}
	return out
}

func (g *stampedRun) build(seed uint64) *history.History {
	b := history.NewBuilder()
	key := func(k int) uint32 { return b.Key(history.IntValue(int64(k))) }
	if g.loaded {
		for k := range g.initial {
			if !g.list(k) {
				b.Write(key(k), g.initial[k])
			} else {
				b.Append(key(k), g.initial[k])
			}
		}
		head := history.NewTxnHead()
		head.Init = true
		b.EndTxn(head)
	}
	for i := range g.txns {
		t := &g.txns[i]
		for _, op := range t.ops {
			switch op.kind {
			case history.Read:
				b.Read(key(op.key), op.val)
			case history.Write:
				b.Write(key(op.key), op.val)
			case history.Append:
				b.Append(key(op.key), op.val)
			case history.ReadList:
				b.ReadList(key(op.key), op.list)
			default:
				rows := slices.Clone(op.rows)
				for j := range rows {
					rows[j].Key = key(int(rows[j].Key))
				}
				b.Predicate(op.kind, fmt.Appendf(nil, `{"":{">=":%d,"<":%d}}`, op.lo, op.hi), rows)
			}
		}
		head := history.NewTxnHead()
		head.Session, head.HasSess = int64(t.session), true
		head.Status = t.status
		head.StartTS, head.CommitTS = t.start, t.commit
		b.EndTxn(head)
	}
	h, err := b.Build()
	if err != nil {
		panic(fmt.Sprintf("random history with timestamps, seed %d: %v", seed, err))
	}
	return h
}
