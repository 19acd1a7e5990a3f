package spill

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"isovet/check/spill/plan"
	"isovet/history"
	"isovet/history/split"
)

// Input is a history in pieces that can be read repeatedly.
type Input struct {
	Name    string
	Meta    history.Meta
	Pieces  []Piece
	Initial plan.Value
	Txns    int64
	Bytes   int64 // of its files; 0: unknown
	Keys    int64 // an upper bound of its keys; 0: unknown
	// Key identifies the input and its state. A check does not use files of a check with another key.
	Key string
}

// Of returns the input of a history that is divided into pieces.
func Of(s *split.Set) (*Input, error) {
	i := s.Header.Initial
	in := &Input{Name: s.Name, Meta: s.Header.Meta, Txns: s.Txns, Bytes: s.Bytes, Keys: s.Keys,
		Initial: plan.Value{Kind: i.Kind, N: i.N, Text: string(i.Text)}}
	if i.Kind == history.String || i.Kind == history.Row {
		in.Initial.N = 0
	}
	key, err := json.Marshal(struct {
		Version string
		*split.Set
	}{"1", s})
	if err != nil {
		return nil, err
	}
	in.Key = fmt.Sprintf("%x", sha256.Sum256(key))
	for i := range s.Pieces {
		in.Pieces = append(in.Pieces, pieceOf(&s.Pieces[i]))
	}
	return in, nil
}

func pieceOf(p *split.Piece) Piece {
	x := Piece{First: p.First, Txns: p.Txns,
		Each: func(ctx context.Context, f func(*history.History, uint64) error) error {
			return p.Each(ctx, func(b *split.Batch) error { return f(b.H, uint64(b.First)) })
		},
		View: func(ctx context.Context, f func(h *history.History, lo, hi uint32, base uint64) error) (bool, error) {
			return p.View(ctx, func(h *history.History, lo, hi uint32, first int64) error {
				return f(h, lo, hi, uint64(first)-uint64(lo))
			})
		}}
	if p.By == split.ByRows {
		x.Part = func(first, txns int64) Piece {
			q := *p
			q.From += first - p.First
			q.To, q.First, q.Txns = q.From+txns, first, txns
			return pieceOf(&q)
		}
	}
	return x
}

// Piece is a run of transactions.
type Piece struct {
	First, Txns int64
	// Each calls f with the transactions as separate histories; first is the place of a history's first transaction.
	Each func(ctx context.Context, f func(h *history.History, first uint64) error) error
	// View, if set, calls f with transactions lo to hi of a larger history, whose places are base plus their numbers.
	// It returns not ok if it cannot. f must not keep the history.
	View func(ctx context.Context, f func(h *history.History, lo, hi uint32, base uint64) error) (ok bool, err error)
	// Part, if set, returns the piece of txns transactions from first on.
	Part func(first, txns int64) Piece
}

// runs reads the piece with View if it can, else with Each.
func (p *Piece) runs(ctx context.Context, f func(h *history.History, lo, hi uint32, base uint64) error) error {
	if p.View != nil {
		if ok, err := p.View(ctx, f); ok || err != nil {
			return err
		}
	}
	return p.Each(ctx, func(h *history.History, first uint64) error { return f(h, 0, uint32(h.NumTxns()), first) })
}
