package timestamp

import (
	"slices"

	"isovet/history"
	"isovet/predicates"
)

// ArrivalPred is a predicate operation. Pred is a number like those of values, equal if and only if the predicates are.
type ArrivalPred struct {
	Pred uint64
	Rows []ArrivalRow
}

// ArrivalRow is a row that a predicate operation matched. Known says that the client knows the version that it matched,
// Old. New is what a predicate write installed.
type ArrivalRow struct {
	Old, New uint64
	Key      uint32
	Known    bool
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

// Missed is what a predicate operation saw of a row that it did not return (Final.Got).
const Missed = uint64(history.None)

// Truth tells the truth of a predicate for a key's value, Unknown if it no longer knows the value.
type Truth func(pred uint64, key uint32, val uint64) predicates.Truth

// rowed has the predicate operations that are not final.
type rowed struct {
	truth     Truth      `freeze:"-"`
	keeps     bool       // see KeepRows
	partly    bool       // some keys may be unknown to it
	preds     []predRead // by upTo
	predHead  int        // those before are final
	predBytes int64
	rowKeys   int  // keys with onlineKey.row
	judged    bool // a predicate operation is final
}

// predRead is a predicate operation of the window. rows are those that it returned, and the keys that its transaction
// had written before.
type predRead struct {
	upTo, id, n int64
	pred        uint64
	op          uint32
	rows        []predRow
}

type predRow struct {
	val   uint64
	key   uint32
	known bool
	own   bool
}

func (p *predRead) bytes() int64 { return 64 + 16*int64(cap(p.rows)) }

// SetTruth sets what tells the truth of predicates. It must be called before all arrivals.
func (a *Aion) SetTruth(f Truth) { a.truth = f }

// KeepRows says whether predicate operations are judged by the rows that they did not return, too. Then each key that
// an arrival names stays in memory, and a key's version must be known to Truth. Otherwise the rows that they returned
// count as reads, and AionStats.Unjudged counts them. partly says that earlier arrivals may have named other keys,
// which are not looked at.
//
// A predicate operation looks at each key once, when the watermark has passed it: all versions that it may see have
// arrived then, and none that it sees is dropped, since dropVersions keeps the newest up to the watermark. Cost: a step
// a key and operation. A key that only the header's initial value gives a row, and that no arrival had named by then,
// is not looked at; Unjudged counts such keys.
func (a *Aion) KeepRows(on, partly bool) {
	a.keeps, a.partly = on, partly
	if on {
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
		p := &a.preds[a.predHead+i]
		f(p.pred)
		for _, r := range p.rows {
			f(r.val)
		}
	}
}

// name makes predicate operations look at a key.
func (a *Aion) name(key uint32) {
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
		a.name(r.Key)
	}
	return write && len(p.Rows) > 0
}

// lookPredicate is look for a predicate operation. A returned row is a read of its key. A key that the transaction has
// written before is judged here (INT), the others once the operation is final.
func (a *Aion) lookPredicate(t *Arrival, at uint32, n, upTo int64, late bool) {
	op := &t.Ops[at]
	p := &t.Preds[op.Val]
	x := predRead{upTo: upTo, id: t.ID, n: n, pred: p.Pred, op: at}
	wrong := func(key uint32, got, want uint64) {
		a.final(Final{Axiom: INT, Txn: t.ID, Other: NoID, Key: key, Op: at, Got: got, Want: want})
	}
	for _, w := range a.wrote {
		x.rows = append(x.rows, predRow{key: w.key, val: w.val, own: true})
	}
	own := x.rows
	for i := range p.Rows {
		r := &p.Rows[i]
		k := &a.keys[r.Key]
		switch mine := slices.IndexFunc(own, func(o predRow) bool { return o.key == r.Key }); {
		case mine < 0:
			if r.Known && !late {
				a.read(k, r.Key, onlineReader{upTo: upTo, val: r.Old, n: n, op: at})
			}
			x.rows = append(x.rows, predRow{key: r.Key, val: r.Old, known: r.Known})
		default:
			want := own[mine].val
			own[mine].known = true // returned
			if r.Known && r.Old != want {
				wrong(r.Key, r.Old, want)
			} else if a.is(p.Pred, r.Key, want) == predicates.False {
				wrong(r.Key, want, want)
			}
		}
	}
	for _, o := range own {
		if !o.known && a.is(p.Pred, o.key, o.val) == predicates.True {
			wrong(o.key, Missed, o.val)
		}
	}
	for _, r := range p.Rows {
		k := &a.keys[r.Key]
		k.wrote = k.wrote && k.mine == a.stamp
		if op.Kind == history.PredWrite {
			a.write(r.Key, r.New)
		} else if r.Known {
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

// is returns the truth of a predicate for a key's value.
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
		p.rows = nil
	}
	if a.predHead > 64 && a.predHead > len(a.preds)/2 {
		a.preds = a.preds[:copy(a.preds, a.preds[a.predHead:])]
		a.predHead = 0
	}
}

// judgePredicate judges EXT of a predicate operation, except that the versions of returned rows are current: of each
// row that it returned, the predicate must not be false; of each other row, not true.
func (a *Aion) judgePredicate(p *predRead) {
	if a.partly {
		a.stats.Unjudged++
	}
	judge := func(key uint32, got uint64, wrong predicates.Truth) {
		k := &a.keys[key]
		v := k.at(p.upTo)
		if (got == Missed || v.val == got) && a.certain(k, v, p.upTo) && a.is(p.pred, key, v.val) == wrong {
			if wrong == predicates.False {
				got = v.val
			}
			a.final(Final{Axiom: EXT, Kind: Phantom, Txn: p.id, Other: v.by, Key: key, Op: p.op, Got: got, Want: v.val,
				Arrival: p.n})
		}
	}
	for _, r := range p.rows {
		a.keys[r.key].row = false // not to be looked at below
		switch {
		case r.own:
		case r.known:
			judge(r.key, r.val, predicates.False)
		default:
			judge(r.key, Missed, predicates.False)
		}
	}
	for i := range a.keys {
		if a.keys[i].row {
			judge(uint32(i), Missed, predicates.True)
		}
	}
	for _, r := range p.rows {
		a.keys[r.key].row = true
	}
}

// certain reports whether a version is surely the one that a read up to a timestamp sees. With Attach, it may be that a
// transaction from before the stream wrote a later one.
func (a *Aion) certain(k *onlineKey, v *onlineVersion, upTo int64) bool {
	return v.pos <= upTo && (k.sure && upTo > k.horizon || a.attach && v.by != NoID && v.pos >= a.horizon())
}
