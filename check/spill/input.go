package spill

import (
	"context"

	"isovet/check/spill/plan"
	"isovet/history"
)

// Input is a history in pieces that can be read again and again.
type Input struct {
	Name    string
	Pieces  []Piece
	Initial plan.Value
	Txns    int64
	Bytes   int64 // of its files; 0: not known
	// Key names the input and the state that it is in: what was made of one of another key is not used.
	Key string
}

// Piece is some transactions that follow one another.
type Piece struct {
	First, Txns int64
	// Each gives the transactions as histories of their own, first being the place of its first transaction.
	Each func(ctx context.Context, f func(h *history.History, first uint64) error) error
}
