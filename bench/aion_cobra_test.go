package bench

import (
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"isovet/datasets"
	"isovet/evidence"
	"isovet/history"
	"isovet/history/format"
	"isovet/internal/test/must"
	"isovet/level"
)

// TestFollowed: throughput over time follows from when rounds end; what was not reached has no value.
func TestFollowed(t *testing.T) {
	rounds := []Round{{Txns: 20, MS: 100}, {Txns: 60, MS: 300}}
	for _, c := range []struct {
		name  string
		m     Measured
		txns  int
		rates []float64 // NaN: none
	}{
		{"to the end", Measured{Verdict: evidence.Holds, Rounds: rounds, Stats: evidence.Stats{CheckMS: 700}}, 100,
			[]float64{200, 200, 200, 100, 100}},
		{"stopped", Measured{Reason: "timeout after 1s", Rounds: rounds}, 60,
			[]float64{200, 200, 200, math.NaN(), math.NaN()}},
		{"a violation", Measured{Verdict: evidence.Violated, Rounds: rounds[:1],
			Stats: evidence.Stats{CheckMS: 900}}, 20, []float64{200, math.NaN(), math.NaN(), math.NaN(), math.NaN()}},
		{"one round", Measured{Verdict: evidence.Holds, Stats: evidence.Stats{CheckMS: 500}}, 100,
			[]float64{200, 200, 200, 200, 200}},
		{"nothing", Measured{Reason: "timeout after 1s"}, 0, []float64{math.NaN()}},
	} {
		c.m.WallMS = 1000
		f := followed{m: c.m, txns: 100}
		r := &Report{}
		f.addRates(r, "Cobra", len(c.rates))
		for i, g := range r.Groups("rate") {
			p := r.Find("rate", g, "Cobra")
			if want := c.rates[i]; p == nil != math.IsNaN(want) || p != nil && math.Abs(p.Value-want) > 1e-6 {
				t.Errorf("%s, at %s: %+v, not %v", c.name, g, p, want)
			}
		}
		if n := f.verified(); n != c.txns || len(r.Points) != len(c.rates) {
			t.Errorf("%s: %d verified, %d points", c.name, n, len(r.Points))
		}
		f.addWhole(r, "Cobra")
		p := r.Find("whole", "100", "Cobra")
		if none := c.name == "nothing"; p == nil != none || p != nil && p.Value != float64(c.txns) {
			t.Errorf("%s: whole %+v", c.name, p)
		}
		must.Equal(t, len(r.Notes) > 0, c.m.Verdict == evidence.Unknown, "%s: %q", c.name, r.Notes)
	}
}

// TestRoundsOfCobra: the throughput of each round, in the order of the stream whatever the line, and of all together;
// many rounds are taken together; where no round came to its end there is a bound.
func TestRoundsOfCobra(t *testing.T) {
	r := &Report{fig: Figure{Metrics: []Metric{{"mean", "", tpsUnit}}}, Bounds: true}
	many := make([]Round, 40)
	for i := range many {
		many[i] = Round{Txns: 2 * (i + 1), MS: float64(100 * (i + 1)), Window: i, Choices: 10 * i, Left: 1}
	}
	few := followed{m: Measured{Verdict: evidence.Holds, Rounds: []Round{{20, 100, 20, 7, 3}, {60, 300, 50, 9, 4}},
		Stats: evidence.Stats{CheckMS: 700}}, txns: 100}
	few.addRounds(r, "few")
	(&followed{m: Measured{Reason: timeoutReason(time.Second), Rounds: many}, txns: 1000}).addRounds(r, "many")
	(&followed{m: Measured{Reason: timeoutReason(time.Second), Stats: evidence.Stats{CheckMS: 500}},
		txns: 1000, round: 100}).addRounds(r, "none")
	inOrder(r, "rounds", "window", "choices", "left")
	for _, c := range []struct {
		metric, group, series string
		want                  float64
	}{{"rounds", "20.00", "few", 200}, {"rounds", "60.00", "few", 200}, {"rounds", "100.00", "few", 100},
		{"window", "60.00", "few", 50}, {"choices", "60.00", "few", 9}, {"left", "60.00", "few", 4},
		{"rounds", "0.60", "many", 20}, {"rounds", "7.80", "many", 20}, {"choices", "0.60", "many", 20},
		{"mean", "100", "few", 1e5 / 700}, {"mean", "100", "many", 20}} {
		p := r.Find(c.metric, c.group, c.series)
		if p == nil || math.Abs(p.Value-c.want) > 1e-6 {
			t.Errorf("%s at %s of %s: %+v, not %v", c.metric, c.group, c.series, p, c.want)
		}
	}
	last := 0.0
	for _, g := range r.Groups("rounds") {
		if n, ok := numberIn(g, "*"); !ok || n < last {
			t.Errorf("%q", r.Groups("rounds"))
		} else {
			last = n
		}
	}
	must.Equal(t, len(r.Groups("rounds")), 3+13, "places")
	if v, below, ok := r.stopped("mean", "100", "none"); !ok || !below || v != 200 {
		t.Errorf("a round that did not end: %v, %v, %v", v, below, ok)
	}
}

// TestRoundsOfRun: a run tells the rounds that it was asked for; other checkers have none.
func TestRoundsOfRun(t *testing.T) {
	spec := datasets.Spec{Workload: "blindw", Variant: "RW", Txns: 500, Sessions: 4, Keys: 100, FenceEvery: 5, Seed: 1,
		Isolation: "serializable"}
	h := must.Get(datasets.Generate(t.Context(), spec))(t)
	n := 0
	for i := range uint32(h.NumTxns()) {
		if i != h.Init && h.Txns.Status[i] == history.Committed {
			n++
		}
	}
	path := filepath.Join(t.TempDir(), "h.jsonl")
	must.OK(t, format.Write(path, h, "", false))
	run := Run{Checker: "cobra-rounds", Level: level.SessionSerializable, History: path, Round: 200}
	m, _ := measure(t.Context(), run, nil)
	if m.Verdict != evidence.Holds || len(m.Rounds) != m.Stats.Rounds-1 || len(m.Rounds) < 1 ||
		m.Rounds[0].Txns != 200 || m.Stats.Closure != "warshall" && m.Stats.Closure != "warshall, then purdom" {
		t.Fatalf("%d committed: %+v", n, m)
	}
	for i, r := range m.Rounds {
		must.Be(t, r.Window >= 200 && r.Left <= r.Choices, "round %d: %+v", i, r)
		if r.Txns >= n || r.MS > m.Stats.CheckMS+1 || i > 0 && (r.Txns < m.Rounds[i-1].Txns+200 ||
			r.MS < m.Rounds[i-1].MS) {
			t.Errorf("round %d of %+v", i, m.Rounds)
		}
	}
	run.Pipeline.Closure = "purdom"
	if m, _ = measure(t.Context(), run, nil); m.Verdict != evidence.Holds || m.Stats.Closure != "purdom" {
		t.Errorf("%+v", m)
	}
	run.Pipeline.Closure, run.Checker = "", "cobra"
	if m, _ = measure(t.Context(), run, nil); !strings.Contains(m.Fault, "no rounds") {
		t.Errorf("%+v", m)
	}
}
