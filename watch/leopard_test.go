package watch

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"isovet/check/mechanism"
	"isovet/datasets"
	"isovet/history"
	"isovet/history/format"
	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
)

// mechanisms is a run of the store with a part broken, as lines in an order of arrival, and what Verify finds in it.
type mechanisms struct {
	name  string
	lines [][]byte // with their ends
	want  []string
	apart int64 // the lateness at which nothing is late
	skew  int64
}

var brokenRuns sync.Map // those that were made: tests share them, and change none

func brokenRun(t *testing.T, workload, iso, part string, seed uint64, txns int) *mechanisms {
	t.Helper()
	m := &mechanisms{name: fmt.Sprintf("%s, %s, %s, seed %d", workload, iso, part, seed), skew: int64(seed%2) * 10_000}
	if was, there := brokenRuns.Load(fmt.Sprint(m.name, txns)); there {
		return was.(*mechanisms)
	}
	h := must.Get(datasets.Generate(t.Context(), datasets.Spec{Workload: workload, Isolation: iso, Break: part,
		Seed: seed, Txns: txns, Keys: 30, AbortRate: .1, UnknownRate: .02, Skew: m.skew}))(t)
	path := filepath.Join(t.TempDir(), "h.jsonl")
	must.OK(t, format.Write(path, h, "", false))
	h = must.Get(format.Read(t.Context(), path, format.Options{}))(t)
	b := must.Get(os.ReadFile(path))(t)
	p := must.Get(mechanism.ProfileOf(h.Meta.DB, h.Meta.Isolation))(t)
	r := must.Get(mechanism.Verify(t.Context(), h, mechanism.Options{Profile: *p, Skew: m.skew}))(t)
	for i := range r.Violations {
		v := &r.Violations[i]
		line := MechanismViolation{}
		line.Mechanism, line.Kind, line.Key = v.Mechanism.String(), v.Kind, json.RawMessage(h.KeyString(v.Key))
		for _, x := range v.Txns {
			line.Txns = append(line.Txns, h.Txns.ID[x])
		}
		m.want = append(m.want, mechanismKey(&line))
	}
	slices.Sort(m.want)
	m.lines = slices.Collect(bytes.Lines(b))
	rng := rand.New(rand.NewPCG(seed, 3))
	jitter := int64(1 + rng.IntN(2_000_000))
	end := func(x uint32) int64 { return max(h.End(x), h.Commit(x), h.Start(x)) }
	at := make([]int64, len(m.lines))
	of := make([]uint32, len(m.lines))
	for i := range at {
		at[i], of[i] = int64(i)-1<<60, history.None
	}
	for x := range uint32(h.NumTxns()) {
		if i := h.Txns.Line[x] - 1; x != h.Init {
			of[i], at[i] = x, end(x)+rng.Int64N(jitter)
		}
	}
	order := make([]int, len(at))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(at[a], at[b]) })
	latest := int64(-1 << 60)
	lines := make([][]byte, len(order))
	for i, n := range order {
		lines[i] = m.lines[n]
		if x := of[n]; x != history.None {
			m.apart = max(m.apart, latest-h.Start(x))
			latest = max(latest, end(x))
		}
	}
	m.lines = lines
	brokenRuns.Store(fmt.Sprint(m.name, txns), m)
	return m
}

// mechanismKey says what a violation is, without the order of two whose order means nothing.
func mechanismKey(v *MechanismViolation) string {
	txns := slices.Clone(v.Txns)
	if v.Mechanism != "consistent-read" {
		slices.Sort(txns)
	}
	return fmt.Sprint(v.Mechanism, " ", v.Kind, " ", txns, " ", string(v.Key))
}

// foundBy reads a folder's violations.
func foundBy(t *testing.T, dir string) (vs []string, late, proved int) {
	t.Helper()
	b := violationsOf(t, dir)
	n := int64(0)
	for line := range bytes.Lines(b) {
		n++
		var v struct {
			MechanismViolation
			Axiom string `json:"axiom"`
		}
		if err := json.Unmarshal(line, &v); err != nil || v.N != n {
			t.Fatalf("line %d: %q: %v", n, line, err)
		}
		switch {
		case v.Axiom == "LATE":
			late++
			continue
		case v.Axiom != "" || v.Text == "" || v.Assumes == "" || strings.Contains(v.Text, "%!"):
			t.Fatalf("%q", line)
		}
		if v.Proved {
			if proved++; v.Anomaly == "" {
				t.Fatalf("%q", line)
			}
		}
		vs = append(vs, mechanismKey(&v.MechanismViolation))
	}
	slices.Sort(vs)
	return vs, late, proved
}

func eachBroken(t *testing.T, seeds uint64, f func(m *mechanisms)) {
	for seed := range seeds { // lost updates that only reads show
		f(brokenRun(t, "smallbank", "snapshot", "first-updater", seed+3, 300))
	}
	for _, c := range [][2]string{{"serializable", "version"}, {"serializable", "lock"}, {"snapshot", "version"},
		{"snapshot", "first-updater"}, {"snapshot", "lock"},
		{"serializable-snapshot", "certifier"}, {"repeatable-read", "lock"}, {"read-committed", "version"}} {
		for seed := range seeds {
			f(brokenRun(t, []string{"blindw", "rmw", "list-append"}[seed%3], c[0], c[1], seed, 300))
		}
	}
}

// TestLeopardIsVerify: when nothing is late, the violations are those of mechanism.Verify, however the lines come in
// batches, and lines that are not understood make no difference.
func TestLeopardIsVerify(t *testing.T) {
	total, proved := 0, 0
	eachBroken(t, histtest.Long[uint64](1, 40), func(m *mechanisms) {
		dir := t.TempDir()
		lines := slices.Insert(slices.Clone(m.lines), 3, []byte("{\"id\":1}\n"), []byte("!advance 99\n"))
		var metrics Metrics
		err := Run(t.Context(), Config{Dir: dir, Judge: leopardOf(t, LeopardOptions{Skew: m.skew, Lateness: m.apart}),
			Metrics: &metrics,
			Open:    pipeOf(bytes.NewReader(join(lines)))})
		must.OK(t, err)
		vs, late, p := foundBy(t, dir)
		if s := metrics.Get(); late > 0 || s.Bad != 2 || s.Proved != int64(p) {
			t.Fatalf("%s: %d late, %d bad, %d and %d proved", m.name, late, s.Bad, s.Proved, p)
		}
		if !slices.Equal(vs, m.want) {
			t.Fatalf("%s:\nwatched  %s\nverified %s", m.name, strings.Join(vs, "\n         "), strings.Join(m.want,
				"\n         "))
		}
		total += len(vs)
		proved += p
	})
	must.Equal(t, total < 20 || proved < 8, false, "%d violations, %d proved: too few to be a test", total, proved)
	t.Logf("%d violations, %d proved", total, proved)
}

// dying stops after some lines, as if killed: what has been returned last has not been acknowledged, or only logged.
type dying struct {
	Source
	left *int
	size int
	at   string
}

var errKilled = errors.New("killed")

func (d dying) Next(ctx context.Context, _ int) ([]Line, error) {
	if *d.left <= 0 {
		return nil, errKilled
	}
	lines, err := d.Source.Next(ctx, d.size)
	*d.left -= len(lines)
	return lines, err
}

func (d dying) Done() error {
	if *d.left <= 0 && d.at == "done" {
		return errKilled // logged, not judged
	}
	return d.Source.Done()
}

// TestLeopardRestarts: stopped at random places and started again, with some late, the file of violations is byte for
// byte that of one run.
func TestLeopardRestarts(t *testing.T) {
	stops, lates := 0, 0
	eachBroken(t, histtest.Long[uint64](1, 30), func(m *mechanisms) {
		rng := rand.New(rand.NewPCG(uint64(m.apart), 1))
		in := filepath.Join(t.TempDir(), "in.jsonl")
		must.OK(t, os.WriteFile(in, join(m.lines), 0o666))
		o := LeopardOptions{Skew: m.skew, Lateness: m.apart / int64(1+2*rng.IntN(3))}
		once, again := t.TempDir(), t.TempDir()
		run := func(dir string, wrap func(Source) Source) error {
			return Run(t.Context(), Config{Dir: dir, Judge: leopardOf(t, o), Open: func(_ context.Context,
				after Places) (Source, error) {
				s, err := Files(FileOptions{Path: in, Once: true}, after)
				return wrap(s), err
			}})
		}
		must.OK(t, run(once, func(s Source) Source { return s }))
		for err := errKilled; err != nil; {
			left := 1 + rng.IntN(len(m.lines)/2)
			err = run(again, func(s Source) Source {
				return dying{s, &left, 1 + rng.IntN(60), []string{"next", "done"}[rng.IntN(2)]}
			})
			must.Hold(t, err == nil || errors.Is(err, errKilled), "%v", err)
			stops++
			// A crash may also lose the end of the file of violations.
			path := filepath.Join(again, "violations.jsonl")
			if b, e := os.ReadFile(path); err != nil && e == nil && len(b) > 0 && rng.IntN(2) == 0 {
				must.OK(t, os.Truncate(path, int64(rng.IntN(len(b)))))
			}
		}
		a := violationsOf(t, once)
		b := violationsOf(t, again)
		must.Hold(t, bytes.Equal(a, b), "%s:\nonce:\n%s\nrestarted:\n%s", m.name, a, b)
		_, late, _ := foundBy(t, once)
		lates += late
	})
	must.Equal(t, stops < 20 || lates < 20, false, "%d stops, %d late: too few to be a test", stops, lates)
	t.Logf("%d stops, %d late", stops, lates)
}

// TestLeopardLines: the header names the profile, a line without id has its number, and a read of a late writer's is
// told and not judged.
func TestLeopardLines(t *testing.T) {
	const header = `{"format":"isovet-history","version":1,"initial":0,"db":"PostgreSQL 15.20","isolation":"repeatable read"}` + "\n"
	run := func(o LeopardOptions, text string) (string, error) {
		dir := t.TempDir()
		err := Run(t.Context(), Config{Dir: dir, Judge: leopardOf(t, o), Open: pipeOf(strings.NewReader(text))})
		b, e := os.ReadFile(filepath.Join(dir, "violations.jsonl"))
		must.OK(t, e)
		return string(b), err
	}
	lost := `{"session":1,"start":1,"commit":20,"end":21,"ops":[["r","x",0,2,3],["w","x",1,4,5]]}
{"session":2,"start":1,"commit":22,"end":23,"ops":[["r","x",0,2,3],["w","x",2,6,7]]}
`
	got, err := run(LeopardOptions{Lateness: 100}, header+lost)
	if err != nil || !strings.Contains(got,
		`"mechanism":"first-updater-wins","kind":"lost-update","txns":[0,1],"key":"\"x\""`) && !strings.Contains(got,
		`"kind":"lost-update","txns":[0,1],"key":"x"`) || !strings.Contains(got, `"proved":true,"anomaly":"`) {
		t.Errorf("%s, %v", got, err)
	}
	if _, err = run(LeopardOptions{Lateness: 100}, lost); err == nil || !strings.Contains(err.Error(), "no header") {
		t.Errorf("error %v; expected that the header is missing", err)
	}
	if _, err = run(LeopardOptions{Lateness: 100}, strings.Replace(header, "PostgreSQL", "Nowhere", 1)+
		lost); err == nil || !strings.Contains(err.Error(), "no profile") {
		t.Errorf("error %v; expected that there is no profile", err)
	}
	// Transaction 2 read what 1 wrote. 1 comes when the watermark, 10 below 4's end, has passed its begin.
	text := `{"id":2,"start":100,"commit":110,"end":111,"ops":[["r","x",7,101,102]]}
{"id":3,"start":200,"commit":210,"end":211,"ops":[["w","y",1,201,202]]}
{"id":4,"start":300,"commit":310,"end":311,"ops":[["w","z",1,301,302]]}
{"id":1,"start":80,"commit":90,"end":91,"ops":[["w","x",7,81,82]]}
{"id":5,"start":320,"commit":330,"end":331,"ops":[["r","x",7,321,322]]}
`
	got, err = run(LeopardOptions{Lateness: 10}, header+text)
	want := `{"n":1,"axiom":"LATE","txn":1}` + "\n" + `{"n":2,"axiom":"LATE","txn":2,"other":1,"key":"x","op":0}` + "\n"
	must.Equal(t, err != nil || got != want, false, "%s, %v; expected %s", got, err, want)
	// The same in time: no violation. And if nobody writes it: one, in the end.
	if got, err = run(LeopardOptions{Lateness: 1000}, header+text); err != nil || got != "" {
		t.Errorf("%s, %v", got, err)
	}
	got, err = run(LeopardOptions{Lateness: 10}, header+strings.Replace(text, `["w","x",7,81,82]`, `["w","x",8,81,82]`,
		1))
	must.Equal(t, err != nil || strings.Count(got, `"kind":"not-visible"`) != 2, false, "%s, %v", got, err)
}

func memory() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Sys
}

func processSeconds() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}
