package bench

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"time"

	"isovet/check/timestamp"
	"isovet/datasets"
	"isovet/history"
	"isovet/internal/slice"
	"isovet/level"
)

// paperRate is the rate at which the paper's database commits in the figures about delays, in transactions per second:
// 100,000 in 310 s (§VI-D).
const paperRate = 322

// online is a stream: transactions with their arrival times, and the least start that is still to come.
type online struct {
	h     *history.History
	order []uint32
	least []int64
}

// arrive makes a stream of Table I's workload: perSecond transactions commit per second, and each arrives after a
// delay drawn from N(mu, sigma²), in ms.
func (l *Lab) arrive(ctx context.Context, spec datasets.Spec, perSecond, mu, sigma float64) (*online, error) {
	h, err := l.generated(ctx, spec)
	if err != nil {
		return nil, err
	}
	s := &online{h: h}
	rng := rand.New(rand.NewPCG(l.Seed, 0xa10))
	at := make([]float64, h.NumTxns())
	for t := range uint32(h.NumTxns()) {
		if t != h.Init && h.CommitTS(t) != history.NoTime {
			s.order = append(s.order, t)
		}
	}
	slices.SortFunc(s.order, func(a, b uint32) int { return int(h.CommitTS(a) - h.CommitTS(b)) })
	for i, t := range s.order {
		at[t] = float64(i)/perSecond*1000 + max(0, mu+sigma*rng.NormFloat64())
	}
	slices.SortStableFunc(s.order, func(a, b uint32) int { return cmp.Compare(at[a], at[b]) })
	s.least = make([]int64, len(s.order)+1)
	s.least[len(s.order)] = 1 << 62
	for i := len(s.order) - 1; i >= 0; i-- {
		s.least[i] = min(s.least[i+1], h.StartTS(s.order[i]))
	}
	return s, nil
}

// run feeds the stream to Aion. It advances the watermark after every so many transactions (0 means never), and calls
// tick at each percent of the stream.
func (s *online) run(ctx context.Context, at level.Level, every int, tick func(percent int, a *timestamp.Aion)) (
	*timestamp.Aion, int, error) {
	a, err := timestamp.NewAion(timestamp.Options{Level: at})
	if err != nil {
		return nil, 0, err
	}
	f, err := timestamp.NewFeed(s.h, a)
	if err != nil {
		return nil, 0, err
	}
	violations, percent := 0, 0
	for i, t := range s.order {
		a.Add(f.Arrival(t))
		if every > 0 && i%every == every-1 && i+1 < len(s.order) {
			a.Advance(s.least[i+1])
		}
		violations += len(a.Take())
		for 100*(i+1) >= (percent+1)*len(s.order) && percent < 100 {
			percent++
			if tick != nil {
				tick(percent, a)
			}
			if ctx.Err() != nil {
				return a, violations, ctx.Err()
			}
		}
	}
	a.Close()
	return a, violations + len(a.Take()), nil
}

func aionFig12(ctx context.Context, lab *Lab, r *Report) error {
	snapshot := tableI(lab.Pick(1000, 50_000, 500_000))
	snapshot.Sessions, snapshot.Ops = 24, 8
	serial := snapshot
	serial.Isolation, serial.Variant = "serializable", "read-heavy"
	for _, c := range []struct {
		name  string
		spec  datasets.Spec
		at    level.Level
		every int
	}{{"SI, no garbage collection", snapshot, chronosLevel, 0},
		{"SI, watermark every 256", snapshot, chronosLevel, 256},
		{"SI, watermark every 1", snapshot, chronosLevel, 1},
		{aionSER, serial, level.SessionSerializable, 256},
		{aionFenced, cobraDefault.fenced(serial), level.SessionSerializable, 256}} {
		err := lab.step(r, c.name, func() error {
			s, err := lab.arrive(ctx, c.spec, 25_000, 100, 10)
			if err != nil {
				return err
			}
			lab.tell(c.name)
			last := time.Now()
			tenth := float64(len(s.order)) / 10
			_, _, err = s.run(ctx, c.at, c.every, func(percent int, _ *timestamp.Aion) {
				if percent%10 == 0 {
					now := time.Now()
					rate := tenth / now.Sub(last).Seconds()
					last = now
					r.Add(decided("rate", strconv.Itoa(percent), c.name, rate))
				}
			})
			return err
		})
		if err != nil {
			return err
		}
	}
	for _, c := range append([]cobraWay{cobraDefault, cobraPurdom, cobraDense}, cobraRound...) {
		f, err := lab.follow(ctx, serial, c)
		if err != nil {
			return err
		}
		f.addRates(r, c.String(), 10)
		f.addRounds(r, c.String())
	}
	inOrder(r, "rounds", "window", "choices", "left")
	r.Note(cobraNote)
	return nil
}

// inOrder sorts the points of metrics by their groups, which are numbers.
func inOrder(r *Report, metrics ...string) {
	slices.SortStableFunc(r.Points, func(a, b Point) int {
		if a.Metric != b.Metric || !slices.Contains(metrics, a.Metric) {
			return cmp.Compare(slices.Index(metrics, a.Metric), slices.Index(metrics, b.Metric))
		}
		x, _ := numberIn(a.Group, "*")
		y, _ := numberIn(b.Group, "*")
		return cmp.Compare(x, y)
	})
}

// The lines of AION-SER in Figure 12.
const (
	aionSER    = "SER, watermark every 256"
	aionFenced = "SER with fences, watermark every 256"
)

// delay is the distribution of a transaction's delay, in ms: its mean, and its deviation.
type delay struct{ mu, sigma float64 }

func (d delay) String() string { return fmt.Sprintf("N(%g, %g²)", d.mu, d.sigma) }

// delays are the delays that Figures 14 and 17 to 21 compare.
var delays = []delay{{50, 10}, {100, 10}, {200, 10}, {100, 1}, {100, 20}, {100, 50}}

// flips runs a stream of Table I's workload as one step of the figure.
func (l *Lab) flips(ctx context.Context, r *Report, name string, perSecond float64, d delay,
	add func(*timestamp.Aion)) error {
	return l.step(r, name, func() error {
		s, err := l.arrive(ctx, tableI(l.Pick(1000, 10_000, 10_000)), perSecond, d.mu, d.sigma)
		if err != nil {
			return err
		}
		a, _, err := s.run(ctx, chronosLevel, 256, nil)
		if err == nil {
			add(a)
		}
		return err
	})
}

// flipped returns the share of transactions that flip, in percent, and the share of these that flip once or twice.
func flipped(a *timestamp.Aion) (all, few float64) {
	st := a.Stats()
	flip := slice.Sum(slices.Values(st.FlipTxns[:]))
	return 100 * float64(flip) / float64(st.Txns), 100 * float64(st.FlipTxns[0]+st.FlipTxns[1]) / float64(max(flip, 1))
}

func aionFig13(ctx context.Context, lab *Lab, r *Report) error {
	s, err := lab.arrive(ctx, tableI(lab.Pick(1000, 10_000, 10_000)), paperRate, 100, 10)
	if err != nil {
		return err
	}
	a, violations, err := s.run(ctx, chronosLevel, 256, nil)
	if err != nil {
		return err
	}
	st := a.Stats()
	for i, n := range st.FlipTxns {
		name := []string{"1", "2", "3", "4 or more"}[i]
		r.Add(decided("flips", name, "transactions", 100*float64(n)/float64(st.Txns)))
	}
	r.Add(decided("pairs", "all", "pairs of transaction and key", float64(st.FlipReads)))
	r.Add(decided("wrong", "all", "violations", float64(violations)))
	for _, rate := range []float64{100, 250, paperRate} {
		g := strconv.Itoa(int(rate))
		err := lab.flips(ctx, r, g, rate, delay{100, 10}, func(a *timestamp.Aion) {
			flip, few := flipped(a)
			r.Add(decided("byrate", g, "transactions that flip", flip))
			r.Add(decided("byrate", g, "of these once or twice", few))
		})
		if err != nil {
			return err
		}
	}
	r.Note("%d transactions commit a second, as in the paper's Figure 16; delays of N(100, 10²) ms.", paperRate)
	r.Note(oneByOne)
	return nil
}

// oneByOne is the note that says how transactions arrive.
const oneByOne = "Each transaction arrives after a delay of its own; aion/fig20 and aion/online-rectified send " +
	"batches, as the paper does."

func aionFig14(ctx context.Context, lab *Lab, r *Report) error {
	for _, d := range delays {
		err := lab.flips(ctx, r, d.String(), paperRate, d, func(a *timestamp.Aion) {
			r.Add(decided("flips", d.String(), "pairs", float64(a.Stats().FlipReads)))
		})
		if err != nil {
			return err
		}
	}
	r.Note(oneByOne)
	return nil
}

// live returns the heap in use after a garbage collection, in MB.
func live() float64 {
	runtime.GC()
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return float64(s[0].Value.Uint64()) / 1e6
}

func aionFig16(ctx context.Context, lab *Lab, r *Report) error {
	s, err := lab.arrive(ctx, tableI(lab.Pick(1000, 100_000, 100_000)), paperRate, 100, 10)
	if err != nil {
		return err
	}
	before := live()
	_, _, err = s.run(ctx, chronosLevel, 256, func(percent int, a *timestamp.Aion) {
		if percent%5 == 0 {
			g := strconv.Itoa(percent)
			m := max(live()-before, 0)
			r.Add(decided("memory", g, "aion", m))
			r.Add(decided("window", g, "aion", float64(a.Stats().Window)))
		}
	})
	return err
}
