package datasets

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"isovet/datasets/store"
	"isovet/datasets/workload"
	"isovet/history"
)

// Streams says why a spec's history cannot be streamed; "": it can. bounded reports whether the memory that takes does
// not grow with the number of transactions, beyond what the store itself holds: keys that are inserted stay, and of
// tables with columns, of lists and of wide values every version does.
func Streams(spec Spec) (why string, bounded bool, err error) {
	p, err := prepare(spec)
	if err != nil {
		return "", false, err
	}
	switch {
	case spec.Hint != TrueTimes:
		return "times that are reversed or shuffled take all transactions at once", false, nil
	case spec.Times == NoTimes:
		return "without times the transactions stand session by session, which takes all of them at once", false, nil
	}
	return "", !slices.ContainsFunc(p.cfg.Workload.Tables(), func(t workload.Table) bool {
		return t.Columns != nil || t.List || t.WideOf != nil
	}), nil
}

// Stream is RunTold that hands the history out piece by piece: the same transactions in the same order, but the initial
// one, which is handed out last, as it writes the keys that the others have used. add is called with pieces of some
// thousand transactions, and never with transactions of two shards at once: shard i, from 1 on, ends with the first
// transaction by which i/shards of them have committed; the initial transaction is shard 0. Each piece has the whole
// history's header, without the ids of planted transactions, which Result has. Cost: that of Generate; memory: the
// store, and a piece.
func Stream(ctx context.Context, spec Spec, shards int, tell func(stage string, done, total int),
	add func(shard int, h *history.History) error) (*Result, error) {
	if shards < 1 {
		return nil, fmt.Errorf("%d shards; expected at least 1", shards)
	}
	if why, _, err := Streams(spec); err != nil {
		return nil, err
	} else if why != "" {
		return nil, errors.New(why + "; expected true times (--hint true, --times txns or all)")
	}
	p, err := prepare(spec)
	if err != nil {
		return nil, err
	}
	if tell != nil {
		p.cfg.Progress = func(committed int) { tell("running", committed, p.spec.Txns) }
	}
	c := convert{spec: &p.spec, values: p.params.Values}
	var planted []int64
	var meta history.Meta
	shard, committed := 1, 0
	// flush hands out what the builder has.
	flush := func(shard int) error {
		if c.b.NumTxns() == 0 {
			return nil
		}
		c.b.Meta = meta
		h, err := c.b.Build()
		if err != nil {
			return fmt.Errorf("the generated history is refused: %w", err)
		}
		return add(shard, h)
	}
	next := func() {
		c.b = history.NewBuilder()
		c.batch++
		clear(c.names)
	}
	p.cfg.Sink = func(l *store.Log) error {
		if c.log == nil {
			c.log = l
			meta = p.meta(l.Tables)
			meta.Note = p.note(nil)
			c.begin()
		}
		next()
		for i := range l.Txns {
			t := &l.Txns[i]
			if spec.NoAborted && t.Status == store.Aborted && !t.Planted {
				continue
			}
			if c.txn(t, 0) {
				planted = append(planted, c.id)
			}
			if t.Status == store.Committed {
				committed++
			}
			if shard < shards && committed*shards >= shard*p.spec.Txns {
				if err := flush(shard); err != nil {
					return err
				}
				next()
				shard++
			}
		}
		return flush(shard)
	}
	log, err := store.Run(ctx, p.cfg)
	if err != nil {
		return nil, err
	}
	next()
	c.init()
	if err := flush(0); err != nil {
		return nil, err
	}
	return &Result{Planted: planted, Faults: p.planted(c.scripts), Stats: log.Stats}, nil
}
