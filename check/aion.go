package check

import (
	"context"

	"isovet/check/timestamp"
	"isovet/evidence"
	"isovet/history"
)

// aion is AION: the transactions one after the other in the order of their commits, tentative verdicts that the watermark makes final.
type aion struct{}

func (aion) Info() Info {
	return Info{Name: "aion", Paper: "CHRONOS", Levels: timestamp.Levels(), Timestamps: true, Lists: true,
		About: "online: transactions in any order of arrival, verdicts final at the watermark; as isovet watch"}
}

func (aion) Check(ctx context.Context, h *history.History, o Options) (*evidence.Result, error) {
	return byTimestamps(ctx, "aion", h, o, timestamp.AionOver)
}
