package bench

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"isovet/datasets"
	"isovet/evidence"
	"isovet/internal/test/must"
)

// TestResume: a figure that was stopped is taken up where it was, and is then what it is in one go; a torn line is
// measured again, and another seed's parts are no part of it.
func TestResume(t *testing.T) {
	const sizes = 4
	figure := Figure{ID: "vbox/table2", Metrics: []Metric{{"constraints", "item constraints", "pairs"}}, Axis: "size",
		Numeric: true,
		Measure: func(ctx context.Context, lab *Lab, r *Report) error {
			for i := range sizes {
				src, err := lab.Source(ctx, datasets.Spec{Workload: "blindw", Keys: 20, Txns: 30 + i})
				if err != nil {
					return err
				}
				m, err := lab.Run(ctx, src, vboxLevel, Run{Checker: "vbox"})
				if err != nil {
					return err
				}
				r.Add(point("constraints", strconv.Itoa(i), "vbox", &m, fixed(float64(m.Stats.Constraints))))
			}
			return nil
		}}
	out := t.TempDir()
	left := filepath.Join(out, "vbox", "table2.kept")
	measure := func(seed uint64, resume bool, stopAfter int) (*Report, int) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		runs := 0
		reports, err := Reproduce(ctx, []Figure{figure}, ReproduceOptions{Timeout: time.Hour,
			Scale: QuickScale, Seed: seed, Out: out,
			Resume: resume, NoServers: true, Progress: func(what string, _, _ int) {
				if strings.Contains(what, " on ") {
					if runs++; runs == stopAfter {
						cancel()
					}
				}
			}})
		if stopped := stopAfter > 0; errors.Is(err, context.Canceled) != stopped || len(reports) != 1 {
			t.Fatalf("%v, %d reports", err, len(reports))
		}
		return reports[0], runs
	}
	whole, all := measure(1, false, 0)
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("parts of a complete figure are kept: %v", err)
	}
	measure(1, false, 4)
	b, err := os.ReadFile(left)
	if err != nil || strings.Count(string(b), "\n") != 4 { // the head, and three runs
		t.Fatalf("%v:\n%s", err, b)
	}
	must.OK(t, os.WriteFile(left, b[:len(b)-3], 0o644))
	again, runs := measure(1, true, 0)
	if runs != all-2 || again.Seconds <= 0 || !again.Complete {
		t.Errorf("%d runs after three of %d, one of which was torn", runs, all)
	}
	counts := func(r *Report) (out []Point) {
		for _, p := range r.Points {
			p.CPUMS = 0
			out = append(out, p)
		}
		return out
	}
	if !reflect.DeepEqual(counts(whole), counts(again)) || !slices.Equal(whole.Workloads, again.Workloads) {
		t.Errorf("in two goes:\n%+v\nin one:\n%+v", counts(again), counts(whole))
	}
	if !slices.ContainsFunc(again.Notes, func(n string) bool { return strings.Contains(n, "several runs: 2 parts") }) {
		t.Errorf("notes: %v", again.Notes)
	}
	if _, runs := measure(1, true, 0); runs != 0 {
		t.Errorf("%d runs of a figure that is complete", runs)
	}
	must.OK(t, os.WriteFile(left, b, 0o644))
	if _, runs := measure(2, true, all-2); runs != all-2 { // with the kept ones, one is left
		t.Errorf("%d runs of another seed", runs)
	}
}

// TestKeptUntilWritten: the parts of a figure whose results cannot be written are kept.
func TestKeptUntilWritten(t *testing.T) {
	out := t.TempDir()
	figure := Figure{ID: "vbox/table2", Metrics: []Metric{{"constraints", "item constraints", "pairs"}}, Axis: "size",
		Measure: func(_ context.Context, lab *Lab, r *Report) error {
			return lab.step(r, "one", func() error {
				r.Add(decided("constraints", "1", "vbox", 1))
				return nil
			})
		}}
	measure := func() error {
		_, err := Reproduce(t.Context(), []Figure{figure}, ReproduceOptions{Scale: QuickScale, Out: out, Resume: true,
			NoServers: true})
		return err
	}
	page, left := filepath.Join(out, "vbox", "table2.md"), filepath.Join(out, "vbox", "table2.kept")
	must.OK(t, os.MkdirAll(filepath.Join(page, "in the way"), 0o755))
	err := measure()
	if b, e := os.ReadFile(left); err == nil || e != nil || strings.Count(string(b), "\n") != 2 {
		t.Fatalf("%v; kept: %q, %v", err, b, e)
	}
	must.OK(t, os.RemoveAll(page))
	must.OK(t, measure())
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("parts of a complete figure are kept: %v", err)
	}
}

// TestSteps: what a step adds to a report is added again, and neither measured again nor mixed up with another turn.
func TestSteps(t *testing.T) {
	dir := t.TempDir()
	calls := 0
	steps := func(resume bool, until int) *Report {
		r := &Report{Figure: "vbox/fig6", Scale: "full"}
		k := must.Get(newKeeper(dir, r, resume))(t)
		l := &Lab{keep: k}
		for i := range until {
			err := l.step(r, "same", func() error {
				calls++
				r.Add(decided("m", "g", "s", float64(i)))
				r.Note("step %d, 100 %%", i)
				l.made.addNamed("h", evidence.Sizes{Txns: i})
				return nil
			})
			must.OK(t, err)
		}
		must.OK(t, k.file.Close())
		if until == 3 {
			must.OK(t, l.forget())
		}
		r.Workloads = l.made.lines()
		return r
	}
	one := steps(false, 3)
	steps(false, 2)
	calls = 0
	two := steps(true, 3)
	if calls != 1 || !reflect.DeepEqual(one.Points, two.Points) || !slices.Equal(one.Notes, two.Notes) ||
		!slices.Equal(one.Workloads, two.Workloads) {
		t.Errorf("%d calls;\n%+v\n%+v", calls, one, two)
	}
}

// TestKeptByOne: a figure is measured into a folder by one process at a time, and by the next one afterwards; what the
// first has kept is its own.
func TestKeptByOne(t *testing.T) {
	dir, r := t.TempDir(), &Report{Figure: "vbox/fig6", Scale: "full"}
	k, err := newKeeper(dir, r, true)
	must.OK(t, err)
	must.OK(t, k.write(keptLine{Key: "a part #1", Value: []byte("1")}))
	for _, resume := range []bool{true, false} {
		if _, err := newKeeper(dir, r, resume); err == nil || !strings.Contains(err.Error(),
			"another process measures "+
				"vbox/fig6 now; expected") {
			t.Errorf("a second one: %v", err)
		}
	}
	must.OK(t, k.file.Close())
	if k, err = newKeeper(dir, r, true); err != nil || len(k.have) != 1 {
		t.Fatalf("%v; %d parts are left", err, len(k.have))
	}
	must.OK(t, k.file.Close())
}

// TestMemoryBound: a run that takes more than it may ends without a verdict, and says so.
func TestMemoryBound(t *testing.T) {
	if _, err := os.Stat("/proc/self/statm"); err != nil {
		t.Skip("this system does not tell what a process holds")
	}
	src := generate(t, datasets.Spec{Txns: 3000})
	m, err := runChild(t.Context(), self(t), Run{Checker: "cobra", History: src.Path, Memory: 4 << 20})
	if err != nil || m.Verdict != evidence.Unknown || !strings.HasPrefix(m.Reason, "memory bound: 4 MiB") {
		t.Errorf("%v, %+v", err, m)
	}
	if p := point("time", "g", "s", &m, fixed(1)); p.Decided() || p.TimedOut || p.Fault {
		t.Errorf("%+v", p)
	}
}
