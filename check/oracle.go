package check

import (
	"context"
	"slices"

	"isovet/check/oracle"
	"isovet/evidence"
	"isovet/history"
)

// bruteForce is the oracle: every order, by definition. The naive twin of all others.
type bruteForce struct{}

func (bruteForce) Info() Info {
	return Info{
		Name: "oracle", Paper: "definitions", Hidden: true, Levels: slices.Concat(serialLevels, snapshotLevels),
		Takes: Takes{Items: true, Predicates: orderLevels, Lists: ListsBeside, Unknown: OutcomesDecided,
			Duplicates: true},
		About: "brute force by definition, for up to 8 transactions",
	}
}

func (bruteForce) Check(_ context.Context, h *history.History, o Options) (*evidence.Result, error) {
	return oracle.Check(h, oracle.Options{Level: o.Level, ClockSkew: o.ClockSkew})
}
