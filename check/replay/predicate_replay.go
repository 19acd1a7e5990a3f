package replay

import (
	"runtime"

	"isovet/internal/safego"
	"isovet/internal/slice"
	"isovet/predicates"
)

// asker replays a stretch of an order, for histories with predicates. Several askers replay the stretches of one order
// in parallel. Each first executes the earlier stretches without checking reads.
type asker struct {
	p   *predReads
	set matcher
	cur []uint32 // key → write
	// At the snapshot levels: node → the place of its begin; key → the place of its last write.
	began, when []int32
	out         []failure
	reads       []keyRead // those of one key in out, in order; they get their numbers after the replay

	stamp []uint32 // key → 1 + the predicate operation that must ignore it
	turn  uint32
}

// keyReadFailed marks a failure whose read of one key has no number yet.
const keyReadFailed = none - 1

// askedTogether is the least number of predicate operations for which one more core is used.
var askedTogether = 1 << 13

// replay does the work of engine.replay for histories with predicates. The number of cores does not change the result.
// Cost: as there, and one count for each predicate operation and one update of the counts for each write.
func (p *predReads) replay(order []int32, counts func(i int32) bool, out []failure) []failure {
	workers := max(1, min(runtime.GOMAXPROCS(0), len(p.op)/askedTogether, len(order)))
	for len(p.askers) < workers {
		a := &asker{p: p, set: p.set, cur: make([]uint32, p.e.h.NumKeys()), stamp: make([]uint32, p.e.h.NumKeys())}
		if len(p.askers) > 0 {
			a.set = p.set.NewState()
		}
		if p.e.si {
			a.began, a.when = make([]int32, len(p.e.txn)), make([]int32, len(a.cur))
		}
		p.askers = append(p.askers, a)
	}
	var g safego.Group
	for w, a := range p.askers[:workers] {
		g.Go(func() { a.replay(order, len(order)*w/workers, len(order)*(w+1)/workers, counts) })
	}
	g.Wait()
	for _, a := range p.askers[:workers] {
		for _, f := range a.out {
			if f.read == keyReadFailed {
				f.read, a.reads = p.read(a.reads[0]), a.reads[1:]
			}
			out = append(out, f)
		}
	}
	return out
}

// replay replays an order from place lo up to hi.
func (a *asker) replay(order []int32, lo, hi int, counts func(i int32) bool) {
	a.out, a.reads = a.out[:0], a.reads[:0]
	for k := range a.cur {
		a.cur[k] = uint32(k)
	}
	clear(a.when)
	a.run(order, 0, lo, counts, false)
	v := a.p.e.v
	a.set.Start(func(key uint32) uint32 { return v.WVer[a.cur[key]] })
	a.run(order, lo, hi, counts, true)
}

// run executes an order from place lo up to hi. If ask is set, it checks each read.
func (a *asker) run(order []int32, lo, hi int, counts func(i int32) bool, ask bool) {
	e, v := a.p.e, a.p.e.v
	n := int32(len(e.txn))
	if e.si {
		n *= 2
	}
	for at := lo; at < hi; at++ {
		x := order[at]
		if x >= n {
			continue
		}
		i := e.nodeOf(x)
		if e.open[i] && !counts(i) {
			continue
		}
		t := e.txn[i]
		if x == e.begin(i) {
			if ask {
				before := len(a.out)
				a.out = e.reads(t, a.cur, a.out)
				a.ask(i, len(a.out) > before)
			}
			if e.si {
				a.began[i] = int32(at)
				continue
			}
		}
		for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
			k := v.WKey[w]
			if e.si {
				if ask && a.when[k] > a.began[i] {
					a.out = append(a.out, failure{none, w, a.cur[k]})
				}
				a.when[k] = int32(at)
			}
			a.cur[k] = w
			if ask {
				a.set.Set(k, v.WVer[w])
			}
		}
	}
}

// truth returns the truth of operation op's predicate for the current version of a key.
func (a *asker) truth(op, key uint32) predicates.Truth { return a.p.truth(op, a.cur[key]) }

func (a *asker) fail(k keyRead) {
	a.out = append(a.out, failure{keyReadFailed, none, a.cur[k.key]})
	a.reads = append(a.reads, k)
}

// ask compares, for each predicate operation of node i, the number of matching rows with the number that it matched.
// wrong says that some row does not have the version that the transaction read.
func (a *asker) ask(i int32, wrong bool) {
	p := a.p
	for q := p.off[i]; q < p.off[i+1]; q++ {
		op := p.op[q]
		vague := p.vague[p.vagueOff[q]:p.vagueOff[q+1]]
		for _, k := range vague {
			if a.truth(op, k) == predicates.False {
				a.fail(keyRead{q, k, i, true})
			}
		}
		there := a.set.Count(p.e.h.Ops.Ver[op])
		for _, k := range p.own[p.ownOff[i]:p.ownEnd[q]] {
			if a.truth(op, k) == predicates.True {
				there--
			}
		}
		matched := int(p.sure[q])
		if wrong || len(vague) > 0 {
			matched = slice.Count(p.rows[p.rowOff[q]:p.rowOff[q+1]], func(k uint32) bool {
				return a.truth(op, k) == predicates.True
			})
		}
		if there != matched {
			a.expand(i, q)
		}
	}
}

// expand adds a failure for each key that operation q should have matched in the current state and did not. Cost: the
// matching keys and the matched rows.
func (a *asker) expand(i int32, q uint32) {
	p := a.p
	a.turn++
	for _, k := range p.rows[p.rowOff[q]:p.rowOff[q+1]] {
		a.stamp[k] = a.turn
	}
	for _, k := range p.own[p.ownOff[i]:p.ownEnd[q]] {
		a.stamp[k] = a.turn
	}
	a.set.Each(p.e.h.Ops.Ver[p.op[q]], func(k uint32) {
		if a.stamp[k] != a.turn {
			a.fail(keyRead{q, k, i, false})
		}
	})
}
