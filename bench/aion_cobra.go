package bench

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"isovet/datasets"
	"isovet/evidence"
	"isovet/level"
)

// Cobra compared with AION-SER ([CHRONOS] §VI-B): the same workloads, with fences.

// cobraWay is a configuration of Cobra: how many transactions of a session are between two fences, and how many
// transactions a round adds. A round's first closure is computed by Warshall's algorithm, as in the paper, which has a
// GPU for it, or by Purdom's.
type cobraWay struct {
	fence, round int
	purdom       bool
}

func (c cobraWay) String() string {
	s := fmt.Sprintf("Cobra, F %d, R %d", c.fence, c.round)
	if c.purdom {
		s += ", Purdom"
	}
	return s
}

var (
	cobraDefault = cobraWay{20, 2400, false}
	cobraPurdom  = cobraWay{20, 2400, true}
	cobraDense   = cobraWay{1, 2400, false} // "a fence between every two transactions"
	cobraRound   = []cobraWay{{20, 600, false}, {20, 9600, false}}
)

// fenced returns a workload in the form that Cobra needs: serializable, with fences.
func (c cobraWay) fenced(spec datasets.Spec) datasets.Spec {
	spec.Isolation, spec.FenceEvery = "serializable", c.fence
	return spec
}

// followed is the progress of Cobra over a stream.
type followed struct {
	m       Measured
	txns    int // of the whole stream
	round   int // transactions of a round at least
	timeout time.Duration
}

// follow makes Cobra verify a workload round by round, in a process of its own.
func (l *Lab) follow(ctx context.Context, spec datasets.Spec, c cobraWay) (followed, error) {
	src, err := l.Source(ctx, c.fenced(spec))
	if err != nil {
		return followed{}, err
	}
	// The figure needs its throughput, so that it need not finish.
	f := followed{txns: src.Sizes.Txns, round: c.round, timeout: min(l.Timeout, time.Minute)}
	run := Run{Checker: "cobra-rounds", Round: c.round, Timeout: f.timeout}
	if c.purdom {
		run.Pipeline.Closure = "purdom"
	}
	f.m, err = l.Run(ctx, src, level.SessionSerializable, run)
	return f, err
}

// verified returns the number of transactions that Cobra has verified.
func (f *followed) verified() int {
	switch n := len(f.m.Rounds); {
	case f.m.Verdict == evidence.Holds:
		return f.txns
	case n > 0:
		return f.m.Rounds[n-1].Txns
	}
	return 0
}

// at returns when so many transactions had been verified, in milliseconds since the check began. It assumes that a
// round's transactions are verified at an even rate. It returns false if they were not verified.
func (f *followed) at(txns float64) (ms float64, ok bool) {
	was := Round{}
	for i := range len(f.m.Rounds) + 1 {
		now := Round{Txns: f.txns, MS: f.m.Stats.CheckMS}
		if i < len(f.m.Rounds) {
			now = f.m.Rounds[i]
		} else if f.m.Verdict != evidence.Holds {
			return 0, false
		}
		if txns <= float64(now.Txns) {
			share := (txns - float64(was.Txns)) / float64(max(now.Txns-was.Txns, 1))
			return was.MS + share*(now.MS-was.MS), true
		}
		was = now
	}
	return 0, false
}

// atLeast returns a lower bound of that time if the run was stopped before. It assumes that the next round had its
// least size, or half the transactions before it if that is more, and counts a share of that round.
func (f *followed) atLeast(txns float64) (ms float64, ok bool) {
	last := Round{}
	if n := len(f.m.Rounds); n > 0 {
		last = f.m.Rounds[n-1]
	}
	stopped := f.m.Stats.CheckMS
	if !strings.HasPrefix(f.m.Reason, "timeout") || txns <= float64(last.Txns) || stopped <= last.MS {
		return 0, false
	}
	left := txns - float64(last.Txns)
	share := left / min(max(left, float64(f.round), float64(last.Txns)/2), float64(f.txns-last.Txns))
	return last.MS + share*(stopped-last.MS), true
}

// addRates adds the throughput in each of parts equal parts of the stream.
func (f *followed) addRates(r *Report, series string, parts int) {
	was := 0.0
	for i := 1; i <= parts; i++ {
		g := strconv.Itoa(100 * i / parts)
		now, ok := f.at(float64(f.txns*i) / float64(parts))
		if !ok {
			p := point("rate", g, series, &f.m, fixed(0))
			if p.Verdict != evidence.Unknown { // it ends with the violation
				p.Verdict, p.Reason = evidence.Unknown, "Cobra stops at the first violation"
			}
			begin := float64(f.txns*(i-1)) / float64(parts)
			end, ok := f.atLeast(float64(f.txns*i) / float64(parts))
			if ok && begin <= float64(f.verified()) && end > was {
				p.Bound = float64(f.txns) / float64(parts) / (end - was) * 1e3
			}
			r.Add(p)
			continue
		}
		r.Add(decided("rate", g, series, float64(f.txns)/float64(parts)/max(now-was, 1e-3)*1e3))
		was = now
	}
	if n := f.verified(); f.m.Verdict == evidence.Unknown {
		r.Note("%s verified %d of %d transactions before it was stopped after %v, loading included.", series, n,
			f.txns, f.timeout)
	}
}

// roundSpans bounds the points of a line of Cobra's rounds. If there are more rounds, several become one point.
const roundSpans = 16

// addRounds adds, for Cobra's rounds, the throughput and the size of the window, at the part of the stream that is
// verified by their ends. It also adds the throughput of all rounds together, without the loading.
func (f *followed) addRounds(r *Report, series string) {
	rounds := f.m.Rounds
	if f.m.Verdict == evidence.Holds {
		rounds = append(slices.Clone(rounds), Round{Txns: f.txns, MS: f.m.Stats.CheckMS})
	}
	span := max(1, (len(rounds)+roundSpans-1)/roundSpans)
	was := Round{}
	for i := span - 1; i < len(rounds); i += span {
		now := rounds[i]
		g := strconv.FormatFloat(100*float64(now.Txns)/float64(f.txns), 'f', 2, 64)
		r.Add(decided("rounds", g, series, float64(now.Txns-was.Txns)/max(now.MS-was.MS, 1e-3)*1e3))
		if now.Window > 0 { // the last round does not tell
			r.Add(decided("window", g, series, float64(now.Window)))
			r.Add(decided("choices", g, series, float64(now.Choices)))
			r.Add(decided("left", g, series, float64(now.Left)))
		}
		was = now
	}
	if n := len(rounds); n > 0 {
		r.Add(decided("mean", "100", series, float64(rounds[n-1].Txns)/max(rounds[n-1].MS, 1e-3)*1e3))
		return
	}
	p := point("mean", "100", series, &f.m, fixed(0))
	if took, ok := f.atLeast(float64(f.round)); ok && !p.Decided() {
		p.Bound = float64(f.round) / took * 1e3
	}
	r.Add(p)
}

// addWhole adds the cost of the whole process, and Cobra's window.
func (f *followed) addWhole(r *Report, series string) {
	if f.m.Fault != "" || f.verified() == 0 && f.m.Verdict == evidence.Unknown {
		r.Add(point("whole", "100", series, &f.m, fixed(0)))
		return
	}
	r.Add(decided("whole", "100", series, float64(f.verified())/max(f.m.WallMS, 1)*1e3))
	r.Add(decided("memory", "100", series, f.m.Stats.PeakMB))
	wrong := 0.0
	if f.m.Verdict == evidence.Violated {
		wrong = 1
	}
	r.Add(decided("wrong", "100", series, wrong))
}

// cobraNote says how Cobra is run.
const cobraNote = "Cobra is the checker cobra-rounds, with rounds of at least R transactions, in a process of " +
	"its own for a minute at most. It computes a round's first closure by Warshall's algorithm on one core (the " +
	"paper uses a GPU), or by Purdom's where a series says so. It gets the same workload at serializable, with " +
	"a fence in each session after every F transactions; fences count as transactions. It reads the history " +
	"from a file, and takes equally many transactions from each session in turn, so it never sees delays " +
	"reorder a session."
