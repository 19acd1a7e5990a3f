package bench

import (
	"cmp"
	"hash/fnv"
	"math/rand/v2"
	"slices"
)

// A measurement consists of several runs. Its result is their median, with an interval by the bootstrap (Efron 1979):
// as many runs are drawn with replacement, and the number is recomputed. The interval has 95 % of the recomputed
// numbers.

// A point of a figure has repeats runs, or only longRepeats if one takes longer than longRun, in milliseconds.
const (
	repeats     = 5
	longRepeats = 3
	longRun     = 60_000
)

// resamples is the number of draws.
const resamples = 400

// reading takes a number from a run.
type reading func(*Measured) float64

func checkMS(m *Measured) float64 { return m.Stats.CheckMS }
func loadMS(m *Measured) float64  { return m.Stats.LoadMS }
func peakMB(m *Measured) float64  { return m.Stats.PeakMB }

// stageMS returns a reading: the time of some stages together.
func stageMS(stages ...string) reading {
	return func(m *Measured) (sum float64) {
		for _, s := range stages {
			sum += m.Stats.Stages[s]
		}
		return sum
	}
}

// fixed returns a reading that is the same in each run.
func fixed(v float64) reading { return func(*Measured) float64 { return v } }

// readings returns a number's values in the runs whose median m is, or nil if they are equal.
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

// median returns the median. It is the mean of the two middle values if their number is even.
func median(x []float64) float64 {
	x = slices.Clone(x)
	slices.Sort(x)
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

// middle returns the middle run by a number, or the lower of two, with all runs.
func middle(runs []Measured, of reading) Measured {
	order := slices.Clone(runs)
	slices.SortStableFunc(order, func(a, b Measured) int { return cmp.Compare(of(&a), of(&b)) })
	m := order[(len(runs)-1)/2]
	if len(runs) > 1 {
		m.Runs = runs
	}
	return m
}

// redrawn returns the median of drawn runs for draw number draw. The same draw selects the same runs for each number
// of a measurement, so that time and memory are those of the same runs.
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

// inner95 returns the bounds of the inner 95 % of the values.
func inner95(values []float64) (low, high float64) {
	slices.Sort(values)
	cut := len(values) / 40
	return values[cut], values[len(values)-1-cut]
}

// Interval returns the interval of the median of the point's runs. ok is false if there are fewer than three.
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

// interval returns the interval of a claim's number, recomputed from drawn runs of all points. ok is false if no point
// has several runs, or a draw gives no number.
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
