package run

import (
	"context"
	"fmt"
	"math"
	"slices"

	"isovet/certify"
	"isovet/check/lists"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/plural"
)

// maxOutcomes bounds the ways to settle open outcomes that are tried. outcomesDeep bounds how often settling some
// outcomes opens others.
var maxOutcomes = 64

const outcomesDeep = 2

// openOutcomes returns the transactions of unknown outcome that a read of a register may have seen, in a history with
// lists, unless another read says that they committed. They are settled before lists are read, because the orders of
// lists depend on which transactions count.
func openOutcomes(in Info, h *history.History) []uint32 {
	if !h.HasLists() || in.Timestamps || in.Takes.Lists == ListsBeside || !lists.MayBeOpen(h) {
		return nil
	}
	// Timestamps say which transactions committed, and brute force decides that itself.
	if v := lists.Read(h); len(v.Anomalies) == 0 {
		return v.Open
	}
	return nil
}

// byOutcomes calls decide for each way to settle open outcomes: first as if none had committed, then all, then each
// alone, then the other sets. If one way holds, its order explains the history. The refutations of all ways together
// are checked as a proof before they are given. A transaction that commits may have reads that open further outcomes;
// these are settled in turn, at most deep times.
func byOutcomes(ctx context.Context, in Info, h *history.History, o Options, open []uint32, deep int,
	decide func(context.Context, *history.History, Options) (*evidence.Result, error)) (*evidence.Result, error) {
	x, err := New(ctx, in, h, o)
	if err != nil {
		return nil, err
	}
	var proof [][]evidence.Edge
	left := "" // why an outcome is not decided
	ways, whole := outcomes(open)
	for _, committed := range ways {
		way := settledAs(h, open, committed)
		next := openOutcomes(in, way)
		if next != nil && deep == 0 {
			left = fmt.Sprintf("the outcome of transaction %d is unknown too", h.Txns.ID[next[0]])
			continue
		}
		var r *evidence.Result
		if next != nil {
			r, err = byOutcomes(ctx, in, way, o, next, deep-1, decide)
		} else {
			r, err = decide(ctx, way, o)
		}
		switch {
		case err != nil:
			return nil, err
		case r.Verdict == evidence.Holds:
			r.H = h
			return r, nil
		case ctx.Err() != nil:
			x.Stopped()
			return x.Result, nil
		case r.Verdict == evidence.Unknown:
			left = r.Reason
			continue
		}
		a := r.Anomalies[0]
		if x.Violated(a); certify.Check(x.Result, certify.Options{ClockSkew: o.ClockSkew}) == nil {
			return x.Result, nil // the proof does not depend on open outcomes
		}
		x.Result.Verdict, x.Result.Anomalies = evidence.Unknown, nil
		for _, c := range append([][]evidence.Edge{a.Cycle}, a.Cycles...) {
			if len(c) > 0 {
				proof = append(proof, c)
			}
		}
		if len(a.Ops)+len(a.Dead) > 0 {
			whole = false // what reads show with one outcome is no clause of a proof for all
		}
	}
	if whole && left == "" && len(proof) > 0 && x.proveByCases(proof) {
		return x.Result, nil
	}
	why := fmt.Sprintf("%s of unknown outcome, such as %d, may have written what a read of a register beside lists "+
		"saw; isovet tried %d possibilities: none gives an order, but together they prove no violation",
		plural.Of(len(open), "transaction"), h.Txns.ID[open[0]], len(ways))
	if left != "" {
		why += "; in one of them: " + left
	}
	x.Unknown("%s", why)
	return x.Result, nil
}

// outcomes lists sets of transactions, the likely ones first. whole says that these are all.
func outcomes(open []uint32) (ways [][]uint32, whole bool) {
	ways = append(ways, nil, open)
	if len(open) > 1 {
		ways = slices.AppendSeq(ways, slices.Chunk(open, 1))
	}
	for set := uint64(3); len(open) < 64 && set < 1<<len(open)-1 && len(ways) <= maxOutcomes; set++ {
		if set&(set-1) == 0 {
			continue // a single outcome, added above
		}
		var some []uint32
		for i, t := range open {
			if set>>i&1 != 0 {
				some = append(some, t)
			}
		}
		ways = append(ways, some)
	}
	if len(ways) > maxOutcomes {
		return ways[:maxOutcomes], false
	}
	return ways, true
}

// settledAs returns a history in which the transactions in committed committed, at any time after their begin, and the
// other open ones aborted. It demands more than h: later transactions of a session follow those in committed.
func settledAs(h *history.History, open, committed []uint32) *history.History {
	out := *h
	out.Txns.Status = slices.Clone(h.Txns.Status)
	out.Txns.Start, out.Txns.End = timesOf(h, h.Txns.Start), timesOf(h, h.Txns.End)
	for _, t := range open {
		out.Txns.Status[t] = history.Aborted
	}
	for _, t := range committed {
		out.Txns.Status[t] = history.Committed
		out.Txns.Start[t] = max(out.Txns.Start[t], history.NoTime+1)
		out.Txns.End[t] = math.MaxInt64
	}
	return &out
}

// timesOf returns a copy of a column of times.
func timesOf(h *history.History, col []int64) []int64 {
	if col == nil {
		return slices.Repeat([]int64{history.NoTime}, h.NumTxns())
	}
	return slices.Clone(col)
}
