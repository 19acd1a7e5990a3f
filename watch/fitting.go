package watch

import (
	"fmt"

	"isovet/check/mechanism"
	"isovet/history"
	"isovet/internal/keyed"
)

// Fitting is a judge that knows of a transaction by itself that it will not understand it. Unfit returns a function of
// the lines of a batch, nil: it is understood as far as one can tell. It may be called by other goroutines than the
// judge's.
type Fitting interface {
	Unfit(b *Batch) func(i int) error
}

// unfit says why a transaction cannot be judged by timestamps.
func unfit(h *history.History, n uint32, t *history.TxnHead, id int64) error {
	if !noPart(t) && !t.Init && (t.StartTS == history.NoTime || t.CommitTS == history.NoTime) {
		return fmt.Errorf("transaction %d has not both start_ts and commit_ts; expected the database's "+
			"timestamps on every committed transaction", id)
	}
	if t.HasSeq && t.Seq < 0 {
		return fmt.Errorf("transaction %d, field %q: %d; expected a place in the session, from 0", id, "seq", t.Seq)
	}
	if h.HasPredicates() {
		for _, k := range h.Ops.Kind[h.Txns.OpOff[n]:h.Txns.OpOff[n+1]] {
			if k == history.PredRead || k == history.PredWrite {
				return fmt.Errorf("transaction %d, field %q: a predicate operation; watch checks registers and lists",
					id, "ops")
			}
		}
	}
	return nil
}

// noPart says that a transaction takes no part in what timestamps decide.
func noPart(t *history.TxnHead) bool {
	return t.Status == history.Aborted || t.Status == history.Unknown && t.CommitTS == history.NoTime
}

// Unfit implements Fitting.
func (j *aion) Unfit(b *Batch) func(i int) error {
	return func(i int) error {
		t := b.Lines[i].Txn
		id := b.Heads[t].ID
		if !b.Heads[t].HasID {
			id = b.Lines[i].N
		}
		return unfit(b.H, t, &b.Heads[t], id)
	}
}

// Unfit implements Fitting.
func (j *leopard) Unfit(b *Batch) func(i int) error {
	stream := mechanism.NewStream(keyed.Draw())
	stream.Piece(b.H)
	var buf []mechanism.Trace
	return func(i int) (err error) {
		t := b.Lines[i].Txn
		if b.Heads[t].Init {
			return nil
		}
		buf, err = stream.Txn(buf[:0], t, 0)
		return err
	}
}
