package bench

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"isovet/check"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/internal/test/must"
	"isovet/level"
)

// stoppedReport has series that were stopped, with their bounds: times at least, throughput at most.
func stoppedReport() *Report {
	r := &Report{Timeout: "20s", timeout: 20 * time.Second, Scale: "default", Bounds: true, fig: Figure{
		Axis:    "transactions",
		Metrics: []Metric{{"time", "time", "ms"}, {"rate", "throughput", tpsUnit}, {"growth", "memory", "MB"}}}}
	add := func(metric, group, series string, v float64) { r.Add(decided(metric, group, series, v)) }
	stop := func(metric, group, series string, bound float64) {
		r.Add(Point{Metric: metric, Group: group, Series: series, TimedOut: true, Reason: "timeout after 20s",
			Bound: bound})
	}
	add("time", "1000", "a", 100)
	add("time", "1000", "b", 5000)
	add("time", "2000", "a", 400)
	stop("time", "2000", "b", 16_000)
	add("time", "4000", "a", 1600)
	stop("time", "4000", "b", 0) // it had not begun
	add("rate", "10", "fast", 6000)
	stop("rate", "10", "slow", 250)
	add("rate", "10", "other", 300)
	add("rate", "20", "fast", 5000)
	stop("rate", "20", "slow", 0)
	add("growth", "1000", "full", 1)
	add("growth", "2000", "full", 4)
	add("growth", "4000", "a", 1)
	r.Add(Point{Metric: "growth", Group: "4000", Series: "full", Reason: "memory bound: 1 GiB reached"})
	return r
}

// TestBounds: what a stopped run's value is beyond counts as that, and not as the time-out, of which loading and other
// stages are part.
func TestBounds(t *testing.T) {
	r := stoppedReport()
	for _, c := range []struct {
		name string
		find func(*Report) Found
		want Found
	}{
		{"at", timesAt("time", "2000", "a", "b"), Found{40, true, "at 2000 transactions", ""}},
		{"not begun", timesAt("time", "4000", "a", "b"), Found{None: "b beside a at 4000 transactions is not among " +
			"what was run"}},
		{"most", timesMost("time", "a", "b"), Found{50, true, "at 1000 transactions, the most of 2", ""}},
		{"least", timesLeast("time", "a", "b"), Found{40, true, "at 2000 transactions, the least of 2", ""}},
		{"steady", steady("time", anyGroup, "b"), Found{3.2, true, "over 2, from 5000 to 16000", ""}},
		{"shortest", shortest("time", "sizes", "b", "a"), Found{0, false, "0 of 2 sizes", ""}},
		{"outgrows", outgrows("time", "*", "a", "b"), Found{0.8, true,
			"from 1000 to 2000: 3.2 and 4 times as much", ""}},
		{"squared", squared("growth", "full"), Found{1, false, "from 1000 to 2000: 2 times the size, 4 times as much",
			""}},
		{"throughput", overSlower("rate", "slow", "fast"), Found{24, true, "at 10 transactions", ""}},
		{"a bound of the faster", overSlower("rate", "fast", "slow"), Found{None: "fast beside slow is not among " +
			"what was run"}},
		{"as a time", timesLeast("rate", "slow", "fast"), Found{None: "fast beside slow is not among what was run"}},
		{"highest", highest("rate", "parts", "slow", "other"), Found{0, false, "0 of 1 parts", ""}},
		{"the most of those that are known", valueOver("rate", ofSeries("slow", "other"), most), Found{300, true,
			"(other at 10 transactions)", ""}},
		{"the most with a bound", valueOver("rate", func(p *Point) bool { return p.Group == "10" }, most), Found{6000,
			false, "(fast at 10 transactions)", ""}},
		{"the least with a bound", valueOver("time", func(p *Point) bool { return p.Bound > 0 || p.Decided() }, least),
			Found{100, false, "(a at 1000 transactions)", ""}},
		{"the least of those that are known", valueOver("rate", ofSeries("slow", "other"), least), Found{None: "slow " +
			"at 10 transactions was stopped, and may be less"}},
		{"perhaps", highest("rate", "parts", "slow", "none"), Found{None: "this is not among what was run"}},
	} {
		got := c.find(r)
		got.Value = sixDigits(got.Value)
		must.Equal(t, got, c.want, "%s", c.name)
	}
	for i, want := range map[int]string{3: "> 16000", 5: "-", 7: "< 250", 10: "-"} {
		must.Equal(t, r.cell(&r.Points[i]), want, "point %d", i)
	}
}

// TestStagesOfStopped: of a run that was stopped a part that was measured for itself is at least what is sure to be it.
func TestStagesOfStopped(t *testing.T) {
	at := func(check float64, stages map[string]float64) *Measured {
		return &Measured{Stats: evidence.Stats{CheckMS: check, Stages: stages}}
	}
	for _, c := range []struct {
		m    *Measured
		want float64
	}{{at(900, map[string]float64{"prepass": 100, "solving": 300}), 300},
		{at(900, map[string]float64{"prepass": 100}), 800}, {at(900, nil), 0}} {
		must.Equal(t, c.m.searched(), c.want, "searched: %+v", c.m.Stats)
	}
	m := Measured{Mechanisms: &evidence.Mechanisms{}, Reason: "timeout after 1s"}
	if m.refutesNothing() || m.Verdict == evidence.Holds {
		t.Error("mechanisms that were stopped have found nothing")
	}
}

// TestVaries: a rate of nought is the least, what has no value is none, and the level that varies more counts.
func TestVaries(t *testing.T) {
	r := &Report{}
	for _, p := range []struct {
		group, series string
		value         float64
	}{{"2", "GT, SI", 0}, {"5", "GT, SI", 10}, {"20", "GT, SI", 50}, {"2", "MT, SI", 1}, {"20", "MT, SI", 6},
		{"2", "GT, SER", 10}, {"20", "GT, SER", 30}, {"2", "MT, SER", 1}, {"20", "MT, SER", 5}} {
		r.Add(decided("sessions", p.group, p.series+inPostgres, p.value))
	}
	if f := varies("sessions")(r); f.None != "" || f.Value != 0.2 {
		t.Errorf("%+v", f)
	}
	r.Points[0].Verdict, r.Points[1].Verdict = evidence.Unknown, evidence.Unknown
	if f := varies("sessions")(r); f.Value != 0.2 { // at SI general ones do not vary now
		t.Errorf("%+v", f)
	}
	if f := varies("skew")(r); f.None == "" {
		t.Errorf("%+v", f)
	}
}

// TestStoppedThroughput: the part of the stream in which Cobra was stopped has a throughput that it cannot have
// exceeded, whatever share of the round under way is counted later; those after it have none.
func TestStoppedThroughput(t *testing.T) {
	for _, c := range []struct {
		name  string
		f     followed
		parts int
		bound []float64
	}{
		{"none", followed{txns: 100, round: 5, m: Measured{Stats: evidence.Stats{CheckMS: 2000}}}, 10,
			[]float64{5, 0, 0}},
		{"a long round", followed{txns: 100, round: 40, m: Measured{Stats: evidence.Stats{CheckMS: 2000}}}, 10,
			[]float64{20, 0, 0}},
		{"the only round", followed{txns: 100, round: 400, m: Measured{Stats: evidence.Stats{CheckMS: 2000}}}, 10,
			[]float64{50, 0, 0}},
		// 25 verified at 1 s, which puts 20 at 0.8 s; from 1 s to 3 s it was in a round of at most 12.5.
		{"within", followed{txns: 100, round: 5, m: Measured{Rounds: []Round{{Txns: 25, MS: 1000}},
			Stats: evidence.Stats{CheckMS: 3000}}}, 10, []float64{0, 0, 10}},
		{"loading", followed{txns: 100, round: 5}, 10, []float64{0, 0, 0}},
	} {
		c.f.m.Reason = "timeout after 3s"
		r := &Report{}
		c.f.addRates(r, "Cobra", c.parts)
		for i, want := range c.bound {
			if got := r.Points[i].Bound; math.Abs(got-want) > 1e-9 {
				t.Errorf("%s: part %d below %v, not %v", c.name, i, got, want)
			}
		}
	}
	c := followed{txns: 100, round: 5, m: Measured{Reason: "memory bound: 1 GiB reached",
		Stats: evidence.Stats{CheckMS: 2000}}}
	r := &Report{}
	if c.addRates(r, "Cobra", 10); r.Points[0].Bound != 0 {
		t.Errorf("%+v", r.Points[0])
	}
}

// TestKilledRun: of a child that has to be killed it is known how far it was, and how long it had checked at least.
func TestKilledRun(t *testing.T) {
	const said = `{"begun":true}` + "\n" + `{"round":{"txns":20,"ms":7}}` + "\n"
	const answer = `{"verdict":"valid","stats":{"load_ms":3}}` + "\n"
	for _, c := range []struct {
		out      string
		rounds   int
		answered bool
	}{{"", 0, false}, {said, 1, false}, {said + answer[:20], 1, false}, {said + answer, 0, true}, {answer, 0, true}} {
		var l childLines
		must.Get(l.Write([]byte(c.out)))(t)
		if m, ok := l.answer(); ok != c.answered || len(m.Rounds) != c.rounds || ok && m.Verdict != evidence.Holds {
			t.Errorf("%q: %v, %+v", c.out, ok, m)
		}
	}
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("this system has no shell")
	}
	for _, c := range []struct {
		script string
		begins time.Duration // the check, after the child
		rounds int
	}{{"printf '" + strings.ReplaceAll(said, "\n", `\n`) + "'; exec sleep 99", 0, 1},
		{"sleep 0.6; printf '" + strings.ReplaceAll(said, "\n", `\n`) + "'; exec sleep 99", 600 * time.Millisecond, 1},
		{"exec sleep 99", time.Hour, 0}} {
		for limit := time.Second; ; limit *= 2 { // a busy machine starts the child late
			m, err := runChild(t.Context(), []string{"/bin/sh", "-c", c.script}, Run{Timeout: limit})
			most := max(0, limit-c.begins)
			checked := time.Duration(m.Stats.CheckMS * float64(time.Millisecond))
			if err == nil && m.Reason == timeoutReason(limit) && len(m.Rounds) == c.rounds && checked >= most/4 &&
				checked <= most+most/4 {
				break
			}
			if limit > 16*time.Second {
				t.Errorf("%s: %v, %+v", c.script, err, m)
				break
			}
		}
	}
}

// TestStageMemory: each stage of the pipeline is measured once, in its order; a full closure is the matrix of bits that
// it has to be, the compact one a fraction of it; who does not ask is told nothing.
func TestStageMemory(t *testing.T) {
	const txns = 3000
	src, err := Generate(t.Context(), datasets.Spec{Workload: "blindw", Variant: "WR", Txns: txns, Seed: 1},
		t.TempDir())
	must.OK(t, err)
	run := func(r Run) Measured {
		r.History, r.Level = src.Path, level.SessionSerializable
		m, err := runChild(t.Context(), self(t), r)
		if err != nil || m.Fault != "" || m.Verdict.String() != "valid" {
			t.Fatalf("%v %+v", err, m)
		}
		return m
	}
	compact := run(Run{Checker: "vbox", StageMemory: true})
	full := run(Run{Checker: "vbox", Pipeline: check.Pipeline{Closure: "purdom", Pruning: "edges"}, StageMemory: true})
	for _, m := range []Measured{compact, full, run(Run{Checker: "cobra", StageMemory: true})} {
		var names []string
		for _, s := range m.StageMemory {
			names = append(names, s.Stage)
			must.Be(t, !(s.LiveMB <= 0) && !(s.AllocatedMB <= 0), "%+v", s)
		}
		if len(names) < 5 || names[0] != theHistory || names[len(names)-1] != "evidence" {
			t.Errorf("stages %s", strings.Join(names, ", "))
		}
		for i, n := range names {
			if !slices.Contains(memoryStages, n) || slices.Contains(names[:i], n) {
				t.Errorf("stage %s among %s", n, strings.Join(names, ", "))
			}
		}
	}
	const matrix = txns * txns / 8 / 1e6
	if a := full.added("construction", "closure"); a < matrix || a > 2*matrix {
		t.Errorf("the full closure adds %.3f MB, the matrix is %.3f MB", a, matrix)
	}
	if a := compact.added("construction", "closure"); a <= 0 || a > matrix/2 {
		t.Errorf("the compact closure adds %.3f MB, the matrix is %.3f MB", a, matrix)
	}
	if m := run(Run{Checker: "vbox"}); m.StageMemory != nil || m.added("construction", "closure") != 0 {
		t.Errorf("%+v", m.StageMemory)
	}
}

// TestSquared: 1 is quadratic, from the first size to the last.
func TestSquared(t *testing.T) {
	r := Report{}
	if f := squared("growth", "x")(&r); f.None == "" {
		t.Errorf("%+v of nothing", f)
	}
	for i, g := range []string{"10", "20", "40"} {
		r.Add(decided("growth", g, "x", float64(int(3)<<(2*i))))
		r.Add(decided("growth", g, "y", float64(int(3)<<i)))
	}
	if f := squared("growth", "x")(&r); f.None != "" || f.Value != 1 {
		t.Errorf("%+v", f)
	}
	if f := squared("growth", "y")(&r); f.Value != 0.25 {
		t.Errorf("%+v", f)
	}
}
