package check

import (
	"context"

	"isovet/check/run"
	"isovet/check/timestamp"
	"isovet/evidence"
	"isovet/history"
)

// stamped is a checker that trusts the database's timestamps.
type stamped struct {
	name, about string
	check       func(context.Context, *history.History, timestamp.Options) (*timestamp.Report, error)
}

var (
	// chronos is CHRONOS: one sweep over the starts and commits in the order of the database's timestamps.
	chronos = stamped{"chronos", "one sweep in the order of database timestamps; all violations of SESSION, INT, " +
		"EXT, NOCONFLICT", timestamp.Chronos}
	// aion is AION: it takes the transactions in the order of their commits. Its verdicts are tentative until the
	// watermark makes them final.
	aion = stamped{"aion", "online: transactions arrive in any order, verdicts are final at the watermark; as in " +
		"isovet watch", timestamp.AionOver}
)

func (c stamped) Info() Info {
	return Info{Name: c.name, Paper: "CHRONOS", Levels: timestamp.Levels(), Timestamps: true,
		Takes: Takes{Items: true, Predicates: timestamp.Levels(), Lists: run.ListsBeside, Unknown: run.OutcomesDecided,
			Duplicates: true},
		About: c.about}
}

func (c stamped) Check(ctx context.Context, h *history.History, o Options) (*evidence.Result, error) {
	return run.ByTimestamps(ctx, c.Info(), h, o, c.check)
}
