package timestamp

import (
	"slices"

	"isovet/history"
	"isovet/internal/saved"
	"isovet/predicates"
)

// ArrivalPred is a predicate operation. Pred is a number like those of values. Aion keeps Rows.
type ArrivalPred struct {
	Pred uint64
	Rows []ArrivalRow
}

// ArrivalRow is a row that a predicate operation matched in the version Old, or Missed if the client does not know it.
// New is what a predicate write installed.
type ArrivalRow struct {
	Old, New uint64
	Key      uint32
}

// Writes calls f with each write, or append to a list.
func (t *Arrival) Writes(f func(key uint32, val uint64, list bool)) {
	for i := range t.Ops {
		switch op := &t.Ops[i]; op.Kind {
		case history.Write, history.Append:
			f(op.Key, op.Val, op.Kind == history.Append)
		case history.PredWrite:
			for _, r := range t.Preds[op.Val].Rows {
				f(r.Key, r.New, false)
			}
		}
	}
}

// Missed is the version of a row that a predicate operation did not return.
const Missed = uint64(history.None)

// Truth tells the truth of a predicate for a key's value, Unknown if it does not know the value.
type Truth func(pred uint64, key uint32, val uint64) predicates.Truth

// rowed has the predicate operations that are not final.
type rowed struct {
	truth         Truth      `freeze:"-"`
	keeps, judged bool       // see KeepRows; a predicate operation is final
	preds         []predRead // by upTo
	predHead      int        // those before are final
	predBytes     int64
	rowKeys       int // keys with onlineKey.row
}

// predRead is a predicate operation of the window. own are the writes of its transaction before it.
type predRead struct {
	upTo, id, n int64
	op          uint32
	own         []pendingWrite
	ArrivalPred
}

func (p *predRead) bytes() int64 { return 96 + 16*int64(len(p.own)) + 24*int64(len(p.Rows)) }

// KeepRows makes predicate operations be judged by the rows that they missed, too. It must be called before all
// arrivals; nil ends it. Each key that an arrival names stays in memory. AionStats.Unjudged counts operations that are
// judged without it, and keys that get a row from the header only after an operation is final. An operation looks at
// each key when the watermark has passed it: all versions that it may see have arrived then, and dropVersions keeps the
// newest up to the watermark. Cost: a step for each key and operation.
func (a *Aion) KeepRows(truth Truth) {
	if a.truth, a.keeps = truth, truth != nil; a.keeps {
		return
	}
	a.stats.Unjudged += int64(len(a.preds) - a.predHead)
	a.preds, a.predHead, a.predBytes, a.rowKeys = nil, 0, 0, 0
	for i := range a.keys {
		a.keys[i].row = false
	}
}

// RowKeys returns the number of keys that predicate operations look at. It depends only on the arrivals.
func (a *Aion) RowKeys() int { return a.rowKeys }

// Known calls f with each value and predicate that Truth may be asked for again.
func (a *Aion) Known(f func(val uint64)) {
	for i := range a.keys {
		if k := &a.keys[i]; k.row {
			f(k.initial)
			f(k.base.val)
			for j := range k.versions {
				f(k.versions[j].val)
			}
		}
	}
	for i := range a.preds[a.predHead:] {
		f(a.preds[a.predHead+i].Pred)
	}
}

// Name makes predicate operations look at a key.
func (a *Aion) Name(key uint32) {
	k := a.key(key)
	if !a.keeps || k.row {
		return
	}
	k.row = true
	a.rowKeys++
	if a.judged && k.base.by == NoID && k.base.val != 0 && !k.list {
		a.stats.Unjudged++
	}
}

// nameRows does so for the keys of a predicate operation's rows. It returns whether it writes.
func (a *Aion) nameRows(p *ArrivalPred, write bool) bool {
	for _, r := range p.Rows {
		k := a.key(r.Key)
		if write {
			a.asRegister(k)
		}
		a.Name(r.Key)
	}
	return write && len(p.Rows) > 0
}

// lookPredicate is look for a predicate operation. A returned row is a read of its key. A key that the transaction has
// written before is judged here (INT), the others once the operation is final.
func (a *Aion) lookPredicate(t *Arrival, at uint32, n, upTo int64, late bool) {
	op := &t.Ops[at]
	x := predRead{upTo, t.ID, n, at, slices.Clone(a.wrote), t.Preds[op.Val]}
	for _, o := range x.own {
		is, missed := a.is(x.Pred, o.key, o.val), true
		wrong := func(got uint64) {
			a.final(Final{Axiom: INT, Txn: t.ID, Other: NoID, Key: o.key, Op: at, Got: got, Want: o.val})
		}
		for _, r := range x.Rows {
			switch {
			case r.Key != o.key:
				continue
			case r.Old != Missed && r.Old != o.val:
				wrong(r.Old)
			case is == predicates.False:
				wrong(o.val)
			}
			missed = false
		}
		if missed && is == predicates.True {
			wrong(Missed)
		}
	}
	for _, r := range x.Rows {
		k := &a.keys[r.Key]
		if k.wrote = k.wrote && k.mine == a.stamp; r.Old != Missed && !late && !k.wrote {
			a.read(k, r.Key, onlineReader{upTo: upTo, val: r.Old, n: n, op: at})
		}
		if op.Kind == history.PredWrite {
			a.write(r.Key, r.New)
		} else if r.Old != Missed {
			k.own, k.mine = r.Old, a.stamp
		}
	}
	switch {
	case late:
	case !a.keeps:
		a.stats.Unjudged++
	default:
		a.predBytes += x.bytes()
		i := len(a.preds)
		for i > a.predHead && a.preds[i-1].upTo > upTo {
			i--
		}
		a.preds = slices.Insert(a.preds, i, x)
	}
}

func (a *Aion) is(pred uint64, key uint32, val uint64) predicates.Truth {
	if !a.keeps || a.keys[key].list {
		return predicates.Unknown
	}
	return a.truth(pred, key, val)
}

// settlePredicates judges the predicate operations that the watermark has passed.
func (a *Aion) settlePredicates() {
	for ; a.predHead < len(a.preds) && a.sealed(a.preds[a.predHead].upTo); a.predHead++ {
		p := &a.preds[a.predHead]
		a.judgePredicate(p)
		a.predBytes -= p.bytes()
		a.judged = true
		*p = predRead{}
	}
	saved.Drop(&a.preds, &a.predHead, 64)
}

// judgePredicate judges EXT: of each row that was returned the predicate must not be false, of each other not true.
func (a *Aion) judgePredicate(p *predRead) {
	judge := func(key uint32, got uint64, wrong predicates.Truth) {
		k := &a.keys[key]
		v := k.at(p.upTo)
		if (got == Missed || v.val == got) && a.certain(k, v, p.upTo) && a.is(p.Pred, key, v.val) == wrong {
			if wrong == predicates.False {
				got = v.val
			}
			a.final(Final{Axiom: EXT, Kind: Phantom, Txn: p.id, Other: v.by, Key: key, Op: p.op, Got: got, Want: v.val,
				Arrival: p.n})
		}
	}
	var seen []uint32 // the keys that are not to be looked at
	for _, o := range p.own {
		seen = append(seen, o.key)
		a.keys[o.key].row = false
	}
	for _, r := range p.Rows {
		if seen = append(seen, r.Key); a.keys[r.Key].row {
			judge(r.Key, r.Old, predicates.False)
		}
	}
	for _, key := range seen {
		a.keys[key].row = false
	}
	for i := range a.keys {
		if a.keys[i].row {
			judge(uint32(i), Missed, predicates.True)
		}
	}
	for _, key := range seen {
		a.keys[key].row = true
	}
}

// certain reports whether a version is surely the one that a read up to a timestamp sees. With Attach, it may be that a
// transaction from before the stream wrote a later one.
func (a *Aion) certain(k *onlineKey, v *onlineVersion, upTo int64) bool {
	return v.pos <= upTo && (k.sure && upTo > k.horizon || a.attach && v.by != NoID && v.pos >= a.horizon())
}
