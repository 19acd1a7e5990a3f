package check

import (
	"context"

	"isovet/check/frontier"
	"isovet/evidence"
	"isovet/history"
	"isovet/level"
)

// biswasEnea is Biswas and Enea's search over session frontiers.
type biswasEnea struct{}

// beLevels: without session order each transaction is a session of its own, and the search is over all subsets.
var beLevels = []level.Level{level.SessionSerializable}

func (biswasEnea) Info() Info {
	return Info{
		Name: "be", Paper: "BiswasEnea", Levels: beLevels,
		Takes: Takes{Items: true, Unknown: OutcomesDecided, Duplicates: true, ItemsOnly: "as published, its search " +
			"appends a transaction where what it read is the last of its keys, and evaluates no predicates"},
		About: "search over session frontiers, polynomial for a fixed number of sessions",
	}
}

// maxFrontiers bounds the memory of visited frontiers.
var maxFrontiers = 1 << 30

// Check is package frontier's search. A "no" is explained in the graph's terms, which knows nothing of the search.
func (c biswasEnea) Check(ctx context.Context, h *history.History, o Options) (*evidence.Result, error) {
	x, done, err := begin(ctx, c.Info(), h, o)
	if done {
		return x.r, err
	}
	a := frontier.Search(ctx, x.v, frontier.Options{MaxBytes: maxFrontiers})
	x.r.Stats.Decisions = int64(a.Frontiers)
	x.stage("solving")
	switch a.Status {
	case frontier.Found:
		x.r.Verdict, x.r.Order = evidence.Holds, a.Order
	case frontier.None:
		return x.r, x.proveByPolygraph()
	case frontier.Exhausted:
		x.unknown("%d frontiers visited, and no memory for more", a.Frontiers)
	case frontier.Stopped:
		x.stopped()
	}
	return x.r, nil
}
