package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"time"

	"isovet/check/timestamp"
	"isovet/datasets"
	"isovet/history"
	"isovet/level"
)

// paperRate is how many transactions a second the paper's database commits where delays are studied: 100,000 in 310 s
// (§VI-D).
const paperRate = 322

// online is a stream: transactions with their arrival, and the least start that is still to come.
type online struct {
	h     *history.History
	order []uint32
	least []int64
}

// arrive makes a stream of Table I's workload: perSecond transactions commit a second, and each arrives after a delay
// of N(mu, sigma²) ms.
func (l *Lab) arrive(ctx context.Context, spec datasets.Spec, perSecond, mu, sigma float64) (*online, error) {
	spec.Seed = l.Seed
	l.tell("generating a stream")
	h, err := datasets.Generate(ctx, spec)
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
	slices.SortStableFunc(s.order, func(a, b uint32) int {
		switch {
		case at[a] < at[b]:
			return -1
		case at[a] > at[b]:
			return 1
		}
		return 0
	})
	s.least = make([]int64, len(s.order)+1)
	s.least[len(s.order)] = 1 << 62
	for i := len(s.order) - 1; i >= 0; i-- {
		s.least[i] = min(s.least[i+1], h.StartTS(s.order[i]))
	}
	return s, nil
}

// run feeds the stream to Aion, the watermark advanced every so many transactions (0: never), and calls tick at each
// percent of it.
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
	s, err := lab.arrive(ctx, tableI(lab.Pick(1000, 50_000, 500_000)), 25_000, 100, 10)
	if err != nil {
		return err
	}
	slowest := 0.0
	for _, c := range []struct {
		name  string
		at    level.Level
		every int
	}{{"SI, no garbage collection", chronosLevel, 0}, {"SI, watermark every 256", chronosLevel, 256},
		{"SI, watermark every 1", chronosLevel, 1},
		{"SER, watermark every 256", level.SessionSerializable, 256}} {
		lab.tell(c.name)
		last := time.Now()
		tenth := float64(len(s.order)) / 10
		_, _, err := s.run(ctx, c.at, c.every, func(percent int, _ *timestamp.Aion) {
			if percent%10 == 0 {
				now := time.Now()
				rate := tenth / now.Sub(last).Seconds()
				last = now
				p := decided("rate", strconv.Itoa(percent), c.name, rate)
				if percent == 100 {
					p.Paper = map[string]string{"SI, no garbage collection": "", "SI, watermark every 256": "12000",
						"SER, watermark every 256": "12000"}[c.name]
				}
				r.Add(p)
				if slowest == 0 || rate < slowest {
					slowest = rate
				}
			}
		})
		if err != nil {
			return err
		}
	}
	r.Claim("about 12 K transactions a second with garbage collection, 18 K without", fmt.Sprintf("never below %.0f K",
		slowest/1000), slowest > 12_000)
	r.Note("15 operations a transaction, arrivals at 25 K a second of the database's time with delays of N(100, " +
		"10²) ms; one goroutine, parsing apart. Cobra is left out.")
	return nil
}

func aionFig13(ctx context.Context, lab *Lab, r *Report) error {
	s, err := lab.arrive(ctx, tableI(lab.Pick(1000, 20_000, 100_000)), paperRate, 100, 10)
	if err != nil {
		return err
	}
	a, violations, err := s.run(ctx, chronosLevel, 256, nil)
	if err != nil {
		return err
	}
	st := a.Stats()
	total, few := int64(0), int64(0)
	for i, n := range st.FlipTxns {
		name := []string{"1", "2", "3", "4 or more"}[i]
		r.Add(decided("flips", name, "transactions", 100*float64(n)/float64(st.Txns)))
		total += n
		if i < 2 {
			few += n
		}
	}
	share := 100 * float64(total) / float64(st.Txns)
	r.Note("%d transactions commit a second, as in the paper's Figure 16; delays of N(100, 10²) ms.", paperRate)
	r.Claim("29.8 % of the transactions flip", fmt.Sprintf("%.1f %% (%d pairs of transaction and key)", share,
		st.FlipReads), share > 10 && share < 60)
	r.Claim("99 % of these once or twice", fmt.Sprintf("%.1f %%", 100*float64(few)/float64(max(total, 1))),
		float64(few) > 0.9*float64(total))
	r.Claim("in the end no false alarm is left", fmt.Sprintf("%d violations", violations), violations == 0)
	return nil
}

func aionFig14(ctx context.Context, lab *Lab, r *Report) error {
	value := map[string]float64{}
	for _, c := range []struct{ mu, sigma float64 }{{50, 10}, {100, 10}, {200, 10}, {100, 1}, {100, 20}, {100, 50}} {
		s, err := lab.arrive(ctx, tableI(lab.Pick(1000, 10_000, 100_000)), paperRate, c.mu, c.sigma)
		if err != nil {
			return err
		}
		a, _, err := s.run(ctx, chronosLevel, 256, nil)
		if err != nil {
			return err
		}
		g := fmt.Sprintf("N(%g, %g²)", c.mu, c.sigma)
		value[g] = float64(a.Stats().FlipReads)
		r.Add(decided("flips", g, "pairs", value[g]))
	}
	a, b := value["N(50, 10²)"], value["N(200, 10²)"]
	r.Claim("the mean of the delays has a negligible impact", fmt.Sprintf("%.0f and %.0f", a, b), a < 1.3*b &&
		b < 1.3*a)
	r.Claim("the deviation increases the flips", fmt.Sprintf("%.0f at 1, %.0f at 50", value["N(100, 1²)"],
		value["N(100, 50²)"]), value["N(100, 1²)"] < value["N(100, 50²)"])
	return nil
}

func aionFig16(ctx context.Context, lab *Lab, r *Report) error {
	s, err := lab.arrive(ctx, tableI(lab.Pick(1000, 100_000, 100_000)), paperRate, 100, 10)
	if err != nil {
		return err
	}
	runtime.GC()
	before := held()
	most := 0.0
	_, _, err = s.run(ctx, chronosLevel, 256, func(percent int, a *timestamp.Aion) {
		if percent%5 == 0 {
			g := strconv.Itoa(percent)
			m := max(held()-before, 0)
			most = max(most, m)
			r.Add(decided("memory", g, "aion", m))
			r.Add(decided("window", g, "aion", float64(a.Stats().Window)))
		}
	})
	if err != nil {
		return err
	}
	r.Claim("between 400 and 700 MB for 100 K transactions, by collecting at a threshold",
		fmt.Sprintf("at most %.0f MB beside the stream itself", most), most < 700)
	return nil
}
