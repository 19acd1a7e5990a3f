package bench

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"isovet/check"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/level"
)

// speedFigures are our own: every shape of history that a checker here, or a peer, once found hard, with the bound that
// is set for it, and growth from 10,000 to 1,000,000 transactions. docs/performance.md shows them.
func speedFigures() []Figure {
	return []Figure{
		{ID: "speed/shapes", Title: "hard shapes of histories, and the bounds set for them",
			Where: "docs/performance.md",
			Metrics: []Metric{{"cpu", "CPU time of the whole process, loading and certifying included", "s"},
				{"parts", "elapsed time of a part", "s"}, {"memory", "peak memory of the process", "MB"}},
			Axis: "history, level", Own: true, Bounds: speedBounds, Measure: speedShapes},
		{ID: "speed/growth", Title: "growth with the history", Where: "docs/performance.md",
			Metrics: []Metric{{"time", "check time", "ms"}, {"step", "times the time of a history a tenth as long",
				"times"}},
			Axis: "checker", Own: true, Bounds: growthBounds, Measure: speedGrowth},
		readersFigure(),
		standardFigure(),
	}
}

// speedCase is a history, a question about it, and what is to be reached. Times are in seconds; 0: no bound, not known.
type speedCase struct {
	name     string
	spec     datasets.Spec
	text     bool // read as JSON lines; else from the native file
	levels   []level.Level
	checker  string
	cpu      float64
	memory   float64            // MB
	parts    map[string]float64 // "loading", "checking", "certifying"
	before   string             // CPU time at the beginning of 2026-11, as it was measured on this kind of machine
	peer     string             // the fastest peer's CPU time on the history that this one is like
	violated bool
}

var (
	untimedSession = []level.Level{level.SessionSerializable}
	untimedSSI     = []level.Level{level.SessionSnapshotIsolation}
	bothSessions   = []level.Level{level.SessionSerializable, level.SessionSnapshotIsolation}
)

// speedCases lists the shapes. The mixes are like VeriStrong's histories BL-10k, WH-10k and HD-10k, which PostgreSQL
// answered: 25 sessions of 400 transactions of 8 operations on 5,000 keys, many of the writes blind.
func speedCases() []speedCase {
	mix := func(variant string) datasets.Spec {
		return datasets.Spec{Workload: "mix", Variant: variant, Txns: 10_000, Sessions: 25, Keys: 5000,
			Times: datasets.NoTimes}
	}
	untimed := func(workload string, txns int) datasets.Spec {
		return datasets.Spec{Workload: workload, Txns: txns, Times: datasets.NoTimes}
	}
	tpcc := datasets.Spec{Workload: "tpcc", Txns: 150_000, Sessions: 4, Keys: 50, Seed: 145508, UnknownRate: 0.02}
	skew := datasets.Spec{Workload: "tpcc", Txns: 20_000, Sessions: 100, Keys: 20_000, Seed: 818924,
		Isolation: "snapshot-isolation"}
	booking := datasets.Spec{Workload: "booking", Txns: 50_000, Sessions: 24, Keys: 20_000, Seed: 832996}
	bookingUntimed := booking
	bookingUntimed.Times = datasets.NoTimes
	halfOld := datasets.Spec{Workload: "blindw-pred", Txns: 10_000, UnknownOld: 0.5}
	auto := check.AutoName
	return []speedCase{
		{name: "mix blind 10k", spec: mix("blind"), text: true, levels: untimedSession, checker: auto, cpu: 0.25,
			before: "5.6 s", peer: "VeriStrong 42.6 s"},
		{name: "mix blind-heavy 10k", spec: mix("blind-heavy"), text: true, levels: untimedSession, checker: auto,
			cpu: 0.25, before: "4.1 s"},
		{name: "mix blind 10k", spec: mix("blind"), text: true, levels: untimedSSI, checker: auto, cpu: 0.5,
			before: "5.5 s"},
		{name: "mix blind-heavy 10k", spec: mix("blind-heavy"), text: true, levels: untimedSSI, checker: auto,
			cpu: 0.5, before: "3.6 s"},
		{name: "mix duplicates 10k", spec: mix("duplicates"), text: true, levels: bothSessions, checker: auto, cpu: 1,
			before: "> 120 s", peer: "VeriStrong > 120 s"},
		{name: "blindw 100k", spec: untimed("blindw", 100_000), levels: untimedSession, checker: "vbox", cpu: 1,
			memory: 200, before: "12.9 s"},
		{name: "rmw 100k", spec: untimed("rmw", 100_000), levels: untimedSession, checker: "vbox", memory: 4096,
			before: "out of memory"},
		{name: "longfork 100k", spec: untimed("longfork", 100_000), levels: untimedSession, checker: "vbox",
			memory: 4096, before: "out of memory"},
		{name: "contended 100k", spec: untimed("contended", 100_000), levels: untimedSession, checker: "vbox",
			memory: 4096, before: "out of memory"},
		{name: "blindw 1M", spec: untimed("blindw", 1_000_000), levels: untimedSession, checker: "vbox", memory: 4096,
			before: "out of memory"},
		{name: "blindw 1M", spec: untimed("blindw", 1_000_000), levels: untimedSession, checker: auto, cpu: 2,
			before: "4.1 s"},
		{name: "blindw 1M", spec: untimed("blindw", 1_000_000), levels: untimedSSI, checker: auto, cpu: 3,
			before: "6.1 s"},
		{name: "contended 100k", spec: untimed("contended", 100_000), levels: untimedSSI, checker: auto, cpu: 1.5,
			before: "4.3 s"},
		{name: "blindw-pred 100k", spec: datasets.Spec{Workload: "blindw-pred", Txns: 100_000}, text: true,
			levels: []level.Level{level.Serializable}, checker: auto, memory: 1200, before: "17 s",
			parts: map[string]float64{"loading": 3, "checking": 2, "certifying": 1.5}},
		{name: "blindw-pred 10k, half the old unknown", spec: halfOld, text: true, checker: auto,
			levels: []level.Level{level.Serializable}, cpu: 20, before: "> 76 s"},
		{name: "tpcc 150k, 2 % of outcomes unknown", spec: tpcc, checker: auto, cpu: 2, before: "17 s",
			levels: []level.Level{level.Serializable, level.StrictSerializable}},
		{name: "tpcc 20k run at snapshot isolation", spec: skew, checker: auto, cpu: 2, memory: 1024, violated: true,
			levels: []level.Level{level.Serializable}, before: "out of memory"},
		{name: "booking 50k", spec: booking, checker: auto, cpu: 3, before: "> 25 s",
			levels: []level.Level{level.ReadCommitted, level.SessionSerializable, level.StrictSerializable,
				level.SessionSnapshotIsolation}},
		{name: "booking 50k without times", spec: bookingUntimed, checker: auto, cpu: 3, before: "> 25 s",
			levels: []level.Level{level.ReadCommitted, level.SessionSerializable, level.SessionSnapshotIsolation}},
	}
}

// speedRepeats is of how many runs a figure is the median.
const speedRepeats = 3

// speedShapes measures every case: the median of three runs in processes of their own.
func speedShapes(ctx context.Context, lab *Lab, r *Report) error {
	r.Note("The bounds were set before the work on them began; \"before\" and the peers' figures are from then, on " +
		"the same kind of machine. The peers' histories were collected from PostgreSQL; ours are generated to be " +
		"like them.")
	for _, c := range speedCases() {
		if lab.Scale == QuickScale {
			c.spec.Txns = max(c.spec.Txns/500, 50)
		}
		src, err := lab.written(ctx, c.spec, !c.text)
		if err != nil {
			return err
		}
		for _, at := range c.levels {
			if err := c.measure(ctx, lab, r, src, at); err != nil {
				return err
			}
		}
	}
	return nil
}

// measure measures one case at one level.
func (c *speedCase) measure(ctx context.Context, lab *Lab, r *Report, src Source, at level.Level) error {
	runs, err := lab.repeated(ctx, src, at, Run{Checker: c.checker}, speedRepeats)
	if err != nil {
		return err
	}
	want := evidence.Holds
	if c.violated {
		want = evidence.Violated
	}
	group := c.name + ", " + at.ShortNames()[0]
	if c.checker != check.AutoName {
		group += ", " + c.checker
	}
	add := func(metric, group string, bound float64, of func(*Measured) float64) {
		slices.SortFunc(runs, func(a, b Measured) int { return cmp.Compare(of(&a), of(&b)) })
		m := &runs[len(runs)/2]
		p := point(metric, group, "now", m, of(m))
		if lab.Scale != QuickScale && p.Decided() && p.Verdict != want {
			p.Fault, p.Reason, p.Verdict = true, fmt.Sprintf("the verdict is %v", m.Verdict), evidence.Unknown
		}
		r.Add(p)
		if bound > 0 {
			r.Add(Point{Metric: metric, Group: group, Series: "bound", Value: bound, Verdict: evidence.Holds})
		}
	}
	said := func(series, text string) {
		if text != "" {
			r.Add(Point{Metric: "cpu", Group: group, Series: series, Text: text, Verdict: evidence.Unknown})
		}
	}
	add("cpu", group, c.cpu, func(m *Measured) float64 { return m.CPUMS / 1e3 })
	said("before", c.before)
	said("peer", c.peer)
	add("memory", group, c.memory, func(m *Measured) float64 { return m.Stats.PeakMB })
	stages := []struct {
		name string
		of   func(*Measured) float64
	}{
		{"loading", func(m *Measured) float64 { return m.Stats.LoadMS / 1e3 }},
		{"checking", func(m *Measured) float64 { return m.Stats.CheckMS / 1e3 }},
		{"certifying", func(m *Measured) float64 { return m.Stats.CertifyMS / 1e3 }},
	}
	for _, s := range stages {
		if bound := c.parts[s.name]; bound > 0 {
			add("parts", group+": "+s.name, bound, s.of)
		}
	}
	return nil
}

// speedBounds makes a claim of every bound among the points.
func speedBounds(r *Report) []Saying {
	var out []Saying
	for i := range r.Points {
		bound := &r.Points[i]
		if bound.Series != "bound" {
			continue
		}
		what := map[string]string{"cpu": "CPU time", "parts": "time", "memory": "memory"}[bound.Metric]
		s := Saying{Says: bound.Group + ": " + what, Sense: AtMost, Number: bound.Value,
			Unit: r.fig.unit(bound.Metric), Find: whole(bound.Metric, bound.Group, "now"), Why: runsDiffer,
			shown: missedBy(bound.Metric, bound.Group)}
		if bound.Metric == "memory" {
			s.Why, s.shown = peakOfHeap, nil
		}
		out = append(out, s)
	}
	return out
}

// Why bounds of speed are missed.
const (
	runsDiffer = "it is missed by less than a fifth, and by up to that two runs of a day differ on this machine, " +
		"which is shared (docs/performance.md)"
	peakOfHeap = "the peak depends on when Go's collector runs, which lets the heap grow in between"
	cachesOnly = "the caches hold the smaller history and not the larger"
)

// missedBy is by how much a bound is missed: by no more than a fifth of it.
func missedBy(metric, group string) showing {
	return func(r *Report) (string, bool) {
		now, bound := r.Find(metric, group, "now"), r.Find(metric, group, "bound")
		if now == nil || bound == nil || bound.Value == 0 {
			return "", false
		}
		by := 100 * math.Abs(now.Value/bound.Value-1)
		return "by " + number(sixDigits(by)) + " %", by < 20
	}
}

// whole is valueAt without the place, which the claim names.
func whole(metric, group, series string) func(*Report) Found {
	return func(r *Report) Found {
		f := valueAt(metric, group, series)(r)
		f.At = ""
		return f
	}
}

// repeated runs one checker on one history n times, fewer where a run comes to no verdict.
func (l *Lab) repeated(ctx context.Context, src Source, at level.Level, r Run, n int) ([]Measured, error) {
	r.History, r.Level, r.Timeout = src.Path, at, l.Timeout
	if l.Scale == DefaultScale {
		r.Timeout = max(l.Timeout, speedTimeout)
	}
	var runs []Measured
	for range l.Pick(1, n, n) {
		l.tell(fmt.Sprintf("%s on %s at %s", r.Checker, filepath.Base(src.Path), at))
		m, err := runChild(ctx, l.self, r)
		if err == nil && m.BadInput != "" {
			err = &BadHistory{m.BadInput}
		}
		if err != nil {
			return runs, err
		}
		l.wall, l.cpu = l.wall+m.WallMS, l.cpu+m.CPUMS
		if m.Verdict == evidence.Unknown {
			return []Measured{m}, nil
		}
		runs = append(runs, m)
	}
	return runs, nil
}

// maxStep is the growth a step of ten times the transactions that a near-linear checker keeps below.
const maxStep = 12

// speedGrowth measures the checkers that claim to be near-linear on histories of three sizes.
func speedGrowth(ctx context.Context, lab *Lab, r *Report) error {
	type series struct {
		name, checker string
		at            level.Level
		spec          datasets.Spec
	}
	timed := datasets.Spec{Workload: "blindw", Times: datasets.TxnTimes}
	untimed := datasets.Spec{Workload: "blindw", Times: datasets.NoTimes}
	stamped := datasets.Spec{Workload: "blindw", Times: datasets.TxnTimes, DBTimes: true}
	mini := datasets.Spec{Workload: "mini", Times: datasets.TxnTimes}
	lists := datasets.Spec{Workload: "list-append", Variant: "short", Times: datasets.TxnTimes}
	lwt := datasets.Spec{Workload: "lwt"}
	all := []series{
		{"replay, no times, session-serializable", "replay", level.SessionSerializable, untimed},
		{"replay, no times, session SI", "replay", level.SessionSnapshotIsolation, untimed},
		{"replay, strict-serializable", "replay", level.StrictSerializable, timed},
		{"replay, strict SI", "replay", level.StrictSnapshotIsolation, timed},
		{"vbox, no times, session-serializable", "vbox", level.SessionSerializable, untimed},
		{"vbox, strict-serializable", "vbox", level.StrictSerializable, timed},
		{"weak, read-committed", "weak", level.ReadCommitted, untimed},
		{"weak, read-atomic", "weak", level.ReadAtomic, untimed},
		{"weak, causal", "weak", level.Causal, untimed},
		{"mtc, strict-serializable", "mtc", level.StrictSerializable, mini},
		{"mtc, strict SI", "mtc", level.StrictSnapshotIsolation, mini},
		{"chronos, ts:session SI", "chronos", level.SessionSnapshotIsolation, stamped},
		{"aion, ts:session SI", "aion", level.SessionSnapshotIsolation, stamped},
		{"bc, strict SI", "bc", level.StrictSnapshotIsolation, lists},
		{"elle, strict-serializable", "elle", level.StrictSerializable, lists},
		{"lwt, linearizable", "lwt", level.Linearizable, lwt},
	}
	for _, s := range all {
		var last *Point
		for _, n := range [...]int{lab.Pick(20, 10_000, 10_000), lab.Pick(40, 100_000, 100_000),
			lab.Pick(80, 1_000_000, 1_000_000)} {
			s.spec.Txns = n
			src, err := lab.written(ctx, s.spec, true)
			if err != nil {
				return err
			}
			runs, err := lab.repeated(ctx, src, s.at, Run{Checker: s.checker}, speedRepeats)
			if err != nil {
				return err
			}
			slices.SortFunc(runs, func(a, b Measured) int { return cmp.Compare(a.Stats.CheckMS, b.Stats.CheckMS) })
			m := &runs[len(runs)/2]
			p := point("time", s.name, strconv.Itoa(n), m, m.Stats.CheckMS)
			r.Add(p)
			if last != nil && last.Decided() && p.Decided() && last.Value > 0 {
				r.Add(point("step", s.name, strconv.Itoa(n), m, p.Value/last.Value))
			}
			last = &p
		}
	}
	return nil
}

// growthBounds makes a claim of every series.
func growthBounds(r *Report) []Saying {
	var out []Saying
	for _, g := range r.Groups("time") {
		out = append(out, Saying{Says: g + ": a step of ten times the transactions", Sense: AtMost, Number: maxStep,
			Unit: "times the time", Why: cachesOnly, Find: func(r *Report) Found {
				f := valueOver("step", func(p *Point) bool { return p.Group == g }, most)(r)
				if steps := len(r.Series("time")) - 1; f.None == "" {
					n := 0
					for _, s := range r.Series("step") {
						if r.Find("step", g, s) != nil {
							n++
						}
					}
					if f.At = fmt.Sprintf("at most in %d steps", n); n < steps {
						f = notMeasured("every size")
					}
				}
				return f
			}})
	}
	return out
}

// speedTimeout stops a run of the speed figures at their default scale.
const speedTimeout = 2 * time.Minute
