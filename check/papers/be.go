package papers

import (
	"context"

	"isovet/check/frontier"
	"isovet/check/run"
	"isovet/evidence"
	"isovet/history"
	"isovet/level"
)

// biswasEnea is Biswas and Enea's search over session frontiers.
type biswasEnea struct{}

// beLevels: only with session order. Without, each transaction is a session, and the search is over all subsets.
var beLevels = []level.Level{level.SessionSerializable}

func (biswasEnea) Info() run.Info {
	return run.Info{
		Name: "be", Paper: "BiswasEnea", Levels: beLevels,
		Takes: run.Takes{Items: true, Unknown: run.OutcomesDecided, Duplicates: true, ItemsOnly: "its published " +
			"search evaluates no predicates; use vbox"},
		About: "search over session frontiers, polynomial for a fixed number of sessions",
	}
}

// maxFrontiers bounds the memory for visited frontiers, in bytes.
var maxFrontiers = 1 << 30

// Check runs package frontier's search. It proves a "no" by a polygraph, independently of the search.
func (c biswasEnea) Check(ctx context.Context, h *history.History, o run.Options) (*evidence.Result, error) {
	x, done, err := run.Begin(ctx, c.Info(), h, o)
	if done {
		return x.Result, err
	}
	a := frontier.Search(ctx, x.View, frontier.Options{MaxBytes: maxFrontiers})
	x.Result.Stats.Decisions = int64(a.Frontiers)
	x.Stage("solving")
	switch a.Status {
	case frontier.Found:
		x.Holds(a.Order)
	case frontier.None:
		return x.Result, x.RefutedByPolygraph()
	case frontier.Exhausted:
		x.Unknown("the search visited %d frontiers, and memory holds no more", a.Frontiers)
	case frontier.Stopped:
		x.Stopped()
	}
	return x.Result, nil
}
