package check

import (
	"context"

	"isovet/check/run"
	"isovet/check/timestamp"
	"isovet/evidence"
	"isovet/history"
)

// chronos is CHRONOS: one sweep over the starts and commits in the order of the database's timestamps.
type chronos struct{}

func (chronos) Info() Info {
	return Info{Name: "chronos", Paper: "CHRONOS", Levels: timestamp.Levels(), Timestamps: true,
		Takes: Takes{Items: true, Predicates: timestamp.Levels(), Lists: run.ListsBeside, Unknown: run.OutcomesDecided,
			Duplicates: true},
		About: "one sweep in the order of database timestamps; all violations of SESSION, INT, EXT, NOCONFLICT"}
}

func (c chronos) Check(ctx context.Context, h *history.History, o Options) (*evidence.Result, error) {
	return run.ByTimestamps(ctx, c.Info(), h, o, timestamp.Chronos)
}

// aion is AION: it takes the transactions in the order of their commits. Its verdicts are tentative until the watermark
// makes them final.
type aion struct{}

func (aion) Info() Info {
	return Info{Name: "aion", Paper: "CHRONOS", Levels: timestamp.Levels(), Timestamps: true,
		Takes: Takes{Items: true, Predicates: timestamp.Levels(), Lists: run.ListsBeside, Unknown: run.OutcomesDecided,
			Duplicates: true},
		About: "online: transactions arrive in any order, verdicts are final at the watermark; as in isovet watch"}
}

func (c aion) Check(ctx context.Context, h *history.History, o Options) (*evidence.Result, error) {
	return run.ByTimestamps(ctx, c.Info(), h, o, timestamp.AionOver)
}
