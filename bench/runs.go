package bench

import (
	"hash/fnv"
	"math/rand/v2"
	"slices"
)

// A measurement is several runs. What is shown is their median, with an interval by the bootstrap (Efron 1979): runs
// are drawn again with replacement, as many as there are, and the number is made anew of what was drawn. The interval
// has 95 % of the numbers that come out so.

// A point of a figure has that many runs, and only longRepeats where one takes longer than longRun, in milliseconds.
const (
	repeats     = 5
	longRepeats = 3
	longRun     = 60_000
)

// resamples is how often runs are drawn again.
const resamples = 400

// reading takes a number from a run.
type reading func(*Measured) float64

func checkMS(m *Measured) float64   { return m.Stats.CheckMS }
func loadMS(m *Measured) float64    { return m.Stats.LoadMS }
func certifyMS(m *Measured) float64 { return m.Stats.CertifyMS }
func peakMB(m *Measured) float64    { return m.Stats.PeakMB }

// stageMS is what the stages took together.
func stageMS(stages ...string) reading {
	return func(m *Measured) (sum float64) {
		for _, s := range stages {
			sum += m.Stats.Stages[s]
		}
		return sum
	}
}

// fixed is a number that is the same in each run, or was measured once.
func fixed(v float64) reading { return func(*Measured) float64 { return v } }

// readings are a number's values in the runs that m is the median of; nil: they are all the same.
func (m *Measured) readings(of reading) []float64 {
	out := make([]float64, len(m.Runs))
	for i := range m.Runs {
		out[i] = of(&m.Runs[i])
	}
	if len(out) == 0 || slices.Min(out) == slices.Max(out) {
		return nil
	}
	return out
}

// median is the mean of the two middle values where their number is even.
func median(x []float64) float64 {
	x = slices.Clone(x)
	slices.Sort(x)
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

// middle returns the run that stands in the middle by a number, the lower one of two, with all runs.
func middle(runs []Measured, of reading) Measured {
	order := make([]int, len(runs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch va, vb := of(&runs[a]), of(&runs[b]); {
		case va < vb:
			return -1
		case va > vb:
			return 1
		}
		return 0
	})
	m := runs[order[(len(runs)-1)/2]]
	if len(runs) > 1 {
		m.Runs = runs
	}
	return m
}

// redrawn returns the median of runs drawn again: the draw-th time, for what the name says. The same draw takes the
// same runs for each number of a measurement, so that time and memory are of one run.
func redrawn(runs []float64, name string, draw int) float64 {
	h := fnv.New64a()
	h.Write([]byte(name)) // never fails
	r := rand.New(rand.NewPCG(h.Sum64(), uint64(draw)))
	drawn := make([]float64, len(runs))
	for i := range drawn {
		drawn[i] = runs[r.IntN(len(runs))]
	}
	return median(drawn)
}

// inner95 returns the bounds between which the inner 95 % of the values are.
func inner95(values []float64) (low, high float64) {
	slices.Sort(values)
	cut := len(values) / 40
	return values[cut], values[len(values)-1-cut]
}

// Interval is that of the median of the point's runs; ok: it has at least three.
func (p *Point) Interval() (low, high float64, ok bool) { return interval95(p.Runs) }

func interval95(runs []float64) (low, high float64, ok bool) {
	if len(runs) < longRepeats {
		return 0, 0, false
	}
	drawn := make([]float64, resamples)
	for i := range drawn {
		drawn[i] = redrawn(runs, "", i)
	}
	low, high = inner95(drawn)
	return low, high, true
}

// interval is the interval of a claim's number, made anew of all points whose runs are drawn again; ok: some point has
// runs, and there is a number for each draw.
func (s *Saying) interval(r *Report) (low, high float64, ok bool) {
	if !slices.ContainsFunc(r.Points, func(p Point) bool { return len(p.Runs) > 0 }) {
		return 0, 0, false
	}
	again := *r
	again.Points = slices.Clone(r.Points)
	drawn := make([]float64, resamples)
	for i := range drawn {
		for j := range again.Points {
			if p := &again.Points[j]; len(p.Runs) > 0 {
				p.Value = redrawn(p.Runs, p.Group+"\x00"+p.Series, i)
			}
		}
		f := s.Find(&again)
		if f.None != "" || f.Beyond {
			return 0, 0, false
		}
		drawn[i] = f.Value
	}
	low, high = inner95(drawn)
	return sixDigits(low), sixDigits(high), true
}
