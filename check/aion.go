package check

import (
	"context"

	"isovet/check/timestamp"
	"isovet/evidence"
	"isovet/history"
)

// aion is AION: the transactions one after the other in the order of their commits, tentative verdicts that the
// watermark makes final.
type aion struct{}

func (aion) Info() Info {
	return Info{Name: "aion", Paper: "CHRONOS", Levels: timestamp.Levels(), Timestamps: true,
		Takes: Takes{Items: true, Lists: ListsRead, Unknown: OutcomesDecided, Duplicates: true,
			ItemsOnly: "it looks at a transaction by the keys that it names, and a predicate operation does not " +
				"name those that it missed; chronos takes them"},
		About: "online: transactions in any order of arrival, verdicts final at the watermark; as isovet watch"}
}

func (c aion) Check(ctx context.Context, h *history.History, o Options) (*evidence.Result, error) {
	return byTimestamps(ctx, c.Info(), h, o, timestamp.AionOver)
}
