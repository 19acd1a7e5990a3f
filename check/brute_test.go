package check

import (
	"context"
	"slices"

	_ "isovet/check/papers" // are among All
	"isovet/check/run"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/oracle"
)

// bruteForce is the oracle as a checker: every order, by definition. The naive twin of all others.
type bruteForce struct{}

func (bruteForce) Info() Info {
	return Info{Name: "oracle", Levels: slices.Concat(run.SerialLevels, run.SnapshotLevels),
		Takes: Takes{Items: true, Predicates: run.OrderLevels, Lists: run.ListsBeside, Unknown: run.OutcomesDecided,
			Duplicates: true}}
}

func (bruteForce) Check(_ context.Context, h *history.History, o Options) (*evidence.Result, error) {
	return oracle.Check(h, oracle.Options{Level: o.Level, ClockSkew: o.ClockSkew})
}

// called is the checker of a name.
func called(name string) Checker {
	c, err := ByName(name)
	if err != nil {
		panic(err)
	}
	return c
}
