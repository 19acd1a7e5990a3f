package papers

import (
	"context"
	"slices"

	"isovet/check/run"
	"isovet/check/timestamp"
	"isovet/evidence"
	"isovet/history"
	"isovet/level"
)

// emme is the baseline of CHRONOS: it takes the version order from the commit timestamps, and looks for cycles in a
// graph of the whole history.
type emme struct {
	name   string
	serial bool
}

func (c emme) Info() run.Info {
	levels := slices.DeleteFunc(timestamp.Levels(), func(l level.Level) bool { return l.Serial() != c.serial })
	return run.Info{Name: c.name, Paper: "CHRONOS", Levels: levels, Timestamps: true,
		Takes: run.Takes{Items: true, Predicates: levels, Lists: run.ListsRefused, Unknown: run.OutcomesDecided,
			Duplicates: true},
		About: "version order from commit timestamps, the start-ordered serialization graph, its cycles"}
}

func (c emme) Check(ctx context.Context, h *history.History, o run.Options) (*evidence.Result, error) {
	return run.ByTimestamps(ctx, c.Info(), h, o, timestamp.Emme)
}
