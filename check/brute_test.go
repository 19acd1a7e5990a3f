package check

import (
	"context"
	"slices"

	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/oracle"
)

// bruteForce is the oracle as a checker: every order, by definition. The naive twin of all others.
type bruteForce struct{}

func (bruteForce) Info() Info {
	return Info{Name: "oracle", Levels: slices.Concat(serialLevels, snapshotLevels),
		Takes: Takes{Items: true, Predicates: orderLevels, Lists: ListsBeside, Unknown: OutcomesDecided,
			Duplicates: true}}
}

func (bruteForce) Check(_ context.Context, h *history.History, o Options) (*evidence.Result, error) {
	return oracle.Check(h, oracle.Options{Level: o.Level, ClockSkew: o.ClockSkew})
}
