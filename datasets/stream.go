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

// Streams says why the history of a spec cannot be streamed; "" means that it can. bounded says that memory does not
// grow with the number of transactions, except for inserted keys. It does for tables with columns, lists and wide
// values, since the store keeps all their versions.
func Streams(spec Spec) (why string, bounded bool, err error) {
	p, err := prepare(spec)
	if err != nil {
		return "", false, err
	}
	switch {
	case spec.Hint != TrueTimes:
		return "reversed or shuffled times need all transactions in memory", false, nil
	case spec.Times == NoTimes:
		return "without times the file is ordered by session, which needs all transactions in memory", false, nil
	}
	return "", !slices.ContainsFunc(p.cfg.Workload.Tables(), func(t workload.Table) bool {
		return t.Columns != nil || t.List || t.WideOf != nil
	}), nil
}

// Stream is RunTold in pieces: it passes the same transactions to add, in the same order. Only the initial transaction
// comes last, since it writes the keys that the others used. A piece has some thousand transactions, all of one shard:
// shard i, from 1 on, ends when i/shards of the transactions have committed; the initial transaction is shard 0. Each
// piece has the header of the whole history, without the ids of planted transactions, which are in the Result. Cost:
// that of Generate. Memory: the store, and a piece.
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
	s := streaming{convert: convert{spec: &p.spec, values: p.params.Values}, p: p, shards: shards, shard: 1, add: add}
	p.cfg.Sink = s.sink
	log, err := store.Run(ctx, p.cfg)
	if err != nil {
		return nil, err
	}
	s.next()
	s.init()
	if err := s.flush(0); err != nil {
		return nil, err
	}
	return &Result{Planted: s.planted, Faults: p.planted(s.scripts), Stats: log.Stats}, nil
}

// streaming passes on a run's transactions in pieces.
type streaming struct {
	convert
	p             *run
	meta          history.Meta
	planted       []int64
	shards, shard int
	committed     int
	add           func(shard int, h *history.History) error
}

// flush passes on the transactions in the builder.
func (s *streaming) flush(shard int) error {
	if s.b.NumTxns() == 0 {
		return nil
	}
	s.b.Meta = s.meta
	h, err := s.b.Build()
	if err != nil {
		return fmt.Errorf("the generated history is refused: %w", err)
	}
	return s.add(shard, h)
}

func (s *streaming) next() {
	s.b = history.NewBuilder()
	s.batch++
	clear(s.names)
}

// sink receives ended transactions from the store.
func (s *streaming) sink(l *store.Log) error {
	if s.log == nil {
		s.log = l
		s.meta = s.p.meta(l.Tables)
		s.meta.Note = s.p.note(nil)
		s.begin()
	}
	s.next()
	for i := range l.Txns {
		t := &l.Txns[i]
		if s.spec.NoAborted && t.Status == store.Aborted && !t.Planted {
			continue
		}
		if s.txn(t, 0) {
			s.planted = append(s.planted, s.id)
		}
		if t.Status == store.Committed {
			s.committed++
		}
		if s.shard < s.shards && s.committed*s.shards >= s.shard*s.p.spec.Txns {
			if err := s.flush(s.shard); err != nil {
				return err
			}
			s.next()
			s.shard++
		}
	}
	return s.flush(s.shard)
}
