package bench

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"isovet/check"
	"isovet/datasets"
	"isovet/encode"
	"isovet/evidence"
	"isovet/internal/room"
	"isovet/internal/test/must"
	"isovet/level"
)

// TestMain makes this test program the one that Compare runs again. BENCH_CHILD says how the child behaves.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == ChildCommand {
		switch os.Getenv("BENCH_CHILD") {
		case "panic":
			panic("boom")
		case "deaf": // looks neither at its time-out nor at its parent
			time.Sleep(time.Minute)
		case "silent":
			os.Exit(0)
		case "exit":
			os.Exit(3)
		}
		var r Run
		if err := json.Unmarshal([]byte(os.Args[2]), &r); err != nil {
			panic(err)
		}
		if err := Child(context.Background(), r, os.Stdin, os.Stdout); err != nil {
			panic(err)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func self(t testing.TB) []string {
	t.Helper()
	s := must.Get(os.Executable())(t)
	return []string{s}
}

func generate(t *testing.T, spec datasets.Spec) Source {
	t.Helper()
	return must.Get(Generate(context.Background(), spec, t.TempDir()))(t)
}

// TestCompare: rows are complete, in processes of their own, and each contender that there is says what is right.
func TestCompare(t *testing.T) {
	sources := []Source{generate(t, datasets.Spec{Workload: "blindw", Variant: "WR", Txns: 100, Seed: 1}),
		generate(t, datasets.Spec{Workload: "rmw", Txns: 50, Seed: 2, Fault: "lost-update"})}
	want := []evidence.Verdict{evidence.Holds, evidence.Violated}
	contenders := must.Get(Contenders("replay,vbox:gini", level.Serializable))(t)
	var calls, last int
	rows, err := Compare(context.Background(), sources, Options{Contenders: contenders, Repeat: 2, Timeout: time.Minute,
		Self: self(t), Progress: func(_ string, done, total int) { calls++; last = done; _ = total }})
	must.OK(t, err)
	if len(rows) != 2*len(contenders) || last != 4*len(contenders) || calls != last+1 {
		t.Fatalf("%d rows, %d runs, %d calls for %d contenders", len(rows), last, calls, len(contenders))
	}
	for i, r := range rows {
		if r.Verdict != want[i/len(contenders)] || r.Fault != "" || r.Repeat != 2 || len(r.Runs) != 2 {
			t.Errorf("row %d: %+v", i, r)
		}
		if r.CheckMin > r.CheckMS || r.CheckMS > r.CheckMax || r.LoadMS <= 0 || r.PeakMB <= 0 {
			t.Errorf("row %d: load %v, check %v in [%v, %v], peak %v", i, r.LoadMS, r.CheckMS, r.CheckMin, r.CheckMax,
				r.PeakMB)
		}
	}
	if d := Disagreements(rows); len(d) > 0 {
		t.Error(d)
	}
	for _, c := range must.Get(Contenders("all", level.Serializable))(t) {
		for i, src := range sources {
			m, _ := measure(t.Context(), Run{Checker: c.Checker, Solver: c.Solver, History: src.Path,
				Pipeline: c.Pipeline()}, nil)
			if m.Verdict != want[i] || m.Fault != "" {
				t.Errorf("%s on %s: %+v", c, src.Name(), m)
			}
		}
	}
}

// TestPeakIsTheChilds: what the parent holds does not count. (ru_maxrss of a child begins with what its parent held.)
func TestPeakIsTheChilds(t *testing.T) {
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("no /proc here; the peak is ru_maxrss, which has this flaw")
	}
	ballast := make([]byte, 100<<20)
	for i := 0; i < len(ballast); i += 4096 {
		ballast[i] = 1
	}
	src := generate(t, datasets.Spec{Txns: 50})
	m := must.Get(runChild(context.Background(), self(t), Run{Checker: "vbox", History: src.Path}))(t)
	if m.Verdict != evidence.Holds || m.Stats.PeakMB <= 0 || m.Stats.PeakMB > 90 {
		t.Errorf("%+v", m)
	}
	if room.PeakMB() < 100 {
		t.Errorf("this process held 100 MiB and says %.0f MB", room.PeakMB())
	}
	must.Equal(t, ballast[4096], 1, "the ballast")
}

// TestDeadChildren: a crash, a silent end and a child that does not listen are each their own, and never a verdict.
func TestDeadChildren(t *testing.T) {
	src := generate(t, datasets.Spec{Txns: 50})
	for _, c := range []struct {
		mode, fault, reason string
		timeout             time.Duration
	}{
		{"panic", "boom", "", time.Minute},
		{"silent", "the process died", "", time.Minute},
		{"exit", "exit status 3", "", time.Minute},
		{"deaf", "", "timeout after 50ms", 50 * time.Millisecond},
	} {
		t.Setenv("BENCH_CHILD", c.mode)
		m, err := runChild(context.Background(), self(t), Run{Checker: "vbox", History: src.Path, Timeout: c.timeout})
		if err != nil || m.Verdict != evidence.Unknown || !strings.Contains(m.Fault, c.fault) ||
			(m.Fault == "") != (c.fault == "") || m.Reason != c.reason {
			t.Errorf("%s: %+v, %v", c.mode, m, err)
		}
	}
}

func TestChildTimeout(t *testing.T) {
	src := generate(t, datasets.Spec{Workload: "contended", Txns: 12_000, Times: datasets.NoTimes})
	m, err := runChild(context.Background(), self(t), Run{Checker: "cobra", History: src.Path,
		Timeout: 100 * time.Millisecond})
	if err != nil || m.Verdict != evidence.Unknown || m.Reason != "timeout after 100ms" || m.Fault != "" {
		t.Errorf("%+v, %v", m, err)
	}
}

// TestInterrupted: what is complete is kept.
func TestInterrupted(t *testing.T) {
	src := generate(t, datasets.Spec{Txns: 50})
	ctx, cancel := context.WithCancel(context.Background())
	rows, err := Compare(ctx, []Source{src}, Options{Contenders: []Contender{{Checker: "vbox", Solver: "cdcl"},
		{Checker: "cobra", Solver: "cdcl"}},
		Self: self(t),
		Progress: func(_ string, done, _ int) {
			if done == 1 {
				cancel()
			}
		}})
	if !errors.Is(err, context.Canceled) || len(rows) != 1 || rows[0].Verdict != evidence.Holds {
		t.Errorf("%+v, %v", rows, err)
	}
}

func TestBadHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.jsonl")
	must.OK(t, os.WriteFile(path, []byte("{\"ops\":7}\n"), 0o644))
	_, err := Compare(context.Background(), []Source{{File: path, Path: path}},
		Options{Contenders: []Contender{{Checker: "vbox", Solver: "cdcl"}}, Self: self(t)})
	if _, ok := errors.AsType[*BadHistory](err); !ok || !strings.Contains(err.Error(), "x.jsonl:1") {
		t.Error(err)
	}
}

func TestContenders(t *testing.T) {
	for list, want := range map[string]string{
		"vbox":                       "[vbox:cdcl]",
		"vbox, cobra":                "[vbox:cdcl cobra:closure=purdom:cdcl]",
		"cobra:gini,vbox":            "[cobra:closure=purdom:gini vbox:cdcl]",
		"vbox,vbox:cdcl":             "[vbox:cdcl]",
		"leopard":                    "[leopard]",
		"leopard,vbox:gini,":         "",
		"vbox:nope":                  "",
		"vbox:order":                 "", // encoding or theory
		"vbox:gini:closure":          "", // no theory of gini's
		"cobra:italiano":             "", // no closure of cobra's
		"replay:vbox":                "",
		"vbox:none":                  "[vbox:pruning=none:cdcl]",
		"vbox:cobra:lazy":            "[vbox:encoding=cobra:cdcl-lazy]",
		"vbox:vbox:negative:gini":    "[vbox:phase=negative:gini]",
		"vbox:encoding=order:purdom": "[vbox:closure=purdom:encoding=order:cdcl]",
		"cobra:warshall,cobra":       "[cobra:closure=warshall:cdcl cobra:closure=purdom:cdcl]",
		"vbox:theory=all":            "[vbox:cdcl-closure vbox:cdcl-pk vbox:cdcl-lazy vbox:cdcl-eager]",
		"vbox:no-restarts":           "[vbox:technique=no-restarts:cdcl]",
		"leopard:cdcl":               "",
		"vbox:cdcl-pk:closure":       "", // two theories
		"vbox:encoding=nope":         "",

		"vbox:encoding=cobra,theory=lazy,cobra": "[vbox:encoding=cobra:cdcl-lazy cobra:closure=purdom:cdcl]",
		"none":                                  "",
		"":                                      "",
	} {
		got, err := Contenders(list, level.Serializable)
		if want == "" {
			if err == nil {
				t.Errorf("%q: %v; want an error", list, got)
			}
			continue
		}
		if err != nil || fmt.Sprint(got) != want {
			t.Errorf("%q: %v, %v; want %s", list, got, err, want)
		}
	}
	all, err := Contenders("all:all", level.Serializable)
	if err != nil || len(all) < 6 {
		t.Errorf("all:all is %v, %v", all, err)
	}
	for _, c := range all {
		if c.Checker == "leopard" {
			t.Error("all has the hidden leopard")
		}
	}
}

func vary(choice string, values []string, more ...any) Variation {
	v := Variation{Values: map[string][]string{choice: values}}
	for i := 0; i < len(more); i += 2 {
		v.Values[more[i].(string)] = more[i+1].([]string)
	}
	return v
}

// TestVariations: flags vary what the list leaves open, and no checker that has no such choice.
func TestVariations(t *testing.T) {
	for _, c := range []struct {
		list string
		v    Variation
		want string
	}{
		{"vbox,replay", vary("encoding", []string{"vbox", "cobra"}), "[vbox:cdcl vbox:encoding=cobra:cdcl replay]"},
		{"vbox:order:closure", vary("theory", []string{"lazy"}), ""}, // two meanings
		{"vbox:encoding=cobra", vary("encoding", []string{"vbox"}), "[vbox:encoding=cobra:cdcl]"},
		{"vbox,cobra", vary("solver", []string{"gini"}), "[vbox:gini cobra:closure=purdom:gini]"},
		{"vbox", vary("solver", []string{"gini", "cdcl"}, "theory", []string{"lazy", "closure"}),
			"[vbox:gini vbox:cdcl-lazy vbox:cdcl-closure]"},
		{"cobra,vbox", vary("closure", []string{"purdom", "italiano"}),
			"[cobra:closure=purdom:cdcl vbox:closure=purdom:cdcl vbox:closure=italiano:cdcl]"},
		{"replay", vary("encoding", []string{"vbox"}), ""},
		{"vbox", vary("encoding", []string{"nope"}), ""},
		{"vbox", vary("pruning", []string{"none", "edges"}), "[vbox:pruning=none:cdcl vbox:pruning=edges:cdcl]"},
		{"vbox:pruning=none", vary("closure", []string{"purdom", "italiano"}, "solver", []string{"gini"}),
			"[vbox:closure=purdom:pruning=none:gini]"}, // no closure is built
		{"cobra", vary("closure", []string{"no-such"}), ""},
		{"cobra,vbox", vary("closure", []string{"italiano"}), "[cobra:closure=purdom:cdcl vbox:closure=italiano:cdcl]"},
		{"vbox", vary("phase", []string{"all"}, "solver", []string{"gini"}), "[vbox:gini]"},
		{"vbox", vary("technique", []string{"default", "no-vsids"}), "[vbox:cdcl vbox:technique=no-vsids:cdcl]"},
	} {
		got, err := ContendersWith(c.list, level.Serializable, c.v)
		if c.want == "" {
			if err == nil {
				t.Errorf("%q %+v: %v; want an error", c.list, c.v, got)
			}
		} else if err != nil || fmt.Sprint(got) != c.want {
			t.Errorf("%q %+v: %v, %v; want %s", c.list, c.v, got, err, c.want)
		}
	}
	all, err := ContendersWith("vbox", level.Serializable, vary("encoding", []string{"all"}))
	if err != nil || len(all) != len(encode.Encodings()) {
		t.Errorf("all encodings: %v, %v", all, err)
	}
	one := vary("encoding", []string{"all"}, "closure", []string{"all"}, "solver", []string{"cdcl", "gini"})
	grid, err := ContendersWith("vbox", level.Serializable, one)
	if want := 2 * len(encode.Encodings()) * len(check.Closures()); err != nil || len(grid) != want {
		t.Errorf("%d of all encodings and closures, %v; want %d", len(grid), err, want)
	}
	one.OneAtATime = true
	few, err := ContendersWith("vbox", level.Serializable, one)
	if want := len(encode.Encodings()) + len(check.Closures()); err != nil || len(few) != want {
		t.Errorf("one at a time: %v, %v; want %d", few, err, want)
	}
	order := vary("encoding", []string{"cobra", "vbox", "vbox", "order"})
	order.OneAtATime = true
	if got, err := ContendersWith("vbox", level.Serializable, order); err != nil || len(got) != 3 {
		t.Errorf("three encodings, one at a time: %v, %v", got, err)
	}
	for _, c := range few {
		must.Be(t, slices.Contains(grid, c), "%v is not in the grid", c)
	}
	want := check.Pipeline{Closure: "purdom", Encoding: "order"}
	if got := (Contender{Settings: "closure=purdom,encoding=order"}).Pipeline(); got.Closure != want.Closure ||
		got.Encoding != want.Encoding {
		t.Errorf("%+v; want %+v", got, want)
	}
}

// TestRowsNameWhatWasUsed: closure, encoding and theory stand in every row, the theory that cdcl chose too.
func TestRowsNameWhatWasUsed(t *testing.T) {
	src := generate(t, datasets.Spec{Workload: "blindw", Variant: "WH", Txns: 600, Keys: 150, Seed: 1,
		Times: datasets.NoTimes})
	contenders := must.Get(Contenders("cobra:purdom,cobra:purdom:closure", level.Serializable))(t)
	rows, err := Compare(context.Background(), []Source{src}, Options{Contenders: contenders, Timeout: time.Minute,
		Self: self(t)})
	must.OK(t, err)
	for i, theory := range []string{"order", "closure"} {
		if r := rows[i]; r.UsedTheory != theory || r.UsedClosure != "purdom" || r.UsedEncoding != "cobra" ||
			r.Verdict != evidence.Holds {
			t.Errorf("%s: %s by %s, %s, %s (%s)", r.Contender(), r.Verdict, r.UsedClosure, r.UsedEncoding,
				r.UsedTheory, r.Reason)
		}
	}
}

// TestRows: medians and extremes over the runs; the verdict is that of the runs that decided; contradicting runs are a
// fault.
func TestRows(t *testing.T) {
	run := func(v evidence.Verdict, ms float64) Measured {
		return Measured{Verdict: v, Stats: evidence.Stats{CheckMS: ms, LoadMS: 2 * ms, PeakMB: ms, Constraints: 5}}
	}
	r := newRow(Source{Workload: "w"}, Contender{Checker: "c", Solver: "s"}, level.Serializable,
		[]Measured{run(evidence.Holds, 3), run(evidence.Holds, 1), run(evidence.Unknown, 9), run(evidence.Holds, 2)})
	if r.Verdict != evidence.Holds || r.CheckMS != 2.5 || r.CheckMin != 1 || r.CheckMax != 9 || r.LoadMS != 5 ||
		r.PeakMB != 9 || r.Before != 5 || r.Fault != "" {
		t.Errorf("%+v", r)
	}
	r = newRow(Source{}, Contender{Checker: "c"}, level.Serializable, []Measured{run(evidence.Holds, 3),
		run(evidence.Violated, 1)})
	must.Be(t, r.Verdict == evidence.Unknown && r.Fault == "one run says valid, another violation", "%+v", r)
}

func TestDisagreements(t *testing.T) {
	row := func(variant, checker string, l level.Level, v evidence.Verdict) Row {
		return Row{Input: Input{Workload: "w", Variant: variant, Level: l}, Checker: checker, Verdict: v}
	}
	rows := []Row{
		// other variants and unknown
		row("a", "x", 0, evidence.Holds), row("a", "y", 0, evidence.Unknown), row("b", "x", 0, evidence.Violated),
		row("b", "x", 1, evidence.Holds), // another level
		row("c", "x", 0, evidence.Holds), row("c", "y", 0, evidence.Violated), row("c", "z", 0, evidence.Holds),
	}
	got := Disagreements(rows)
	if len(got) != 1 ||
		got[0].String() != "checkers disagree on w c at serializable: x, z says valid; y says violation" {
		t.Errorf("%v", got)
	}
}

func TestTables(t *testing.T) {
	rows := []Row{
		{Checker: "vbox", Solver: "cdcl", Input: Input{Workload: "blindw", Variant: "WR", Txns: 10000},
			Verdict: evidence.Holds, Repeat: 3,
			Cost:   Cost{LoadMS: 20.04, CheckMS: 10.94, CheckMin: 9, CheckMax: 123.4, PeakMB: 31.7},
			Effort: Effort{Before: 78924, Left: 193, Variables: 193}},
		{Checker: "plain", Input: Input{Workload: "blindw", Variant: "WR", Txns: 10000}, Verdict: evidence.Unknown,
			Reason: "a | b", Cost: Cost{LoadMS: 1, CheckMS: 2, CheckMin: 2, CheckMax: 2}, Repeat: 3},
	}
	var b bytes.Buffer
	must.OK(t, WriteTable(&b, rows, false))
	want := `+---------+--------+-----------------+---------+----------+-----------+---------+-------------+------+-----------+---------+-----------+
| checker | solver | verdict         | load ms | check ms |   min-max | peak MB | constraints | left | variables | clauses | conflicts |
+---------+--------+-----------------+---------+----------+-----------+---------+-------------+------+-----------+---------+-----------+
| vbox    | cdcl   | valid           |    20.0 |     10.9 |  9.00-123 |      32 |       78924 |  193 |       193 |       0 |         0 |
| plain   |        | unknown (a | b) |    1.00 |     2.00 | 2.00-2.00 |         |             |      |           |         |           |
+---------+--------+-----------------+---------+----------+-----------+---------+-------------+------+-----------+---------+-----------+
`
	must.Equal(t, b.String(), want, "the table")
	b.Reset()
	must.OK(t, WriteTable(&b, rows, true))
	if !strings.Contains(b.String(), `unknown (a \| b)`) || !strings.Contains(b.String(), "---:|") {
		t.Errorf("Markdown:\n%s", b.String())
	}
	b.Reset()
	must.OK(t, WriteJSON(&b, rows))
	var back []Row
	if err := json.Unmarshal(b.Bytes(), &back); err != nil || !reflect.DeepEqual(back, rows) {
		t.Errorf("JSON gives %+v, %v", back, err)
	}
	b.Reset()
	if err := WriteJSON(&b, nil); err != nil || b.String() != "[]\n" {
		t.Errorf("no rows as JSON: %q", b.String())
	}
	b.Reset()
	must.OK(t, WriteCSV(&b, rows))
	lines, err := csv.NewReader(&b).ReadAll() // which demands equally many fields a line
	if err != nil || len(lines) != 3 || lines[2][11] != "a | b" {
		t.Errorf("CSV: %v, %v", lines, err)
	}
}

func TestResults(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "results")
	rows := []Row{{Checker: "vbox", Input: Input{Workload: "blindw", Variant: "WR", Txns: 50},
		Runs: []Measured{{Verdict: evidence.Holds}, {Verdict: evidence.Holds}}}}
	path, err := WriteResults(dir, "isovet bench compare", 7, true, rows)
	if err != nil || filepath.Base(path) != "compare-blindw-wr-50-serializable.json" {
		t.Fatal(path, err)
	}
	b := must.Get(os.ReadFile(path))(t)
	var r Results
	if err := json.Unmarshal(b, &r); err != nil || r.Seed != 7 || r.Machine.Cores < 1 || r.Go == "" ||
		len(r.Parts) != 1 || len(r.Parts[0].Runs) != 2 || !r.Complete {
		t.Errorf("%s\n%v", b, err)
	}
}

// TestTidy: a line for each run, with the choices that were asked for and those that were used; Parquet says the same
// as CSV.
func TestTidy(t *testing.T) {
	run := func(ms float64) Measured {
		return Measured{Verdict: evidence.Holds, WallMS: 3 * ms, Stats: evidence.Stats{CheckMS: ms, Conflicts: 7,
			Theory: "order", Encoding: "cobra", Stages: map[string]float64{"solving": ms / 2}}}
	}
	rows := []Row{newRow(Source{Workload: "w", Variant: "v", Txns: 5}, Contender{"vbox", "cdcl", "encoding=cobra"},
		level.Serializable, []Measured{run(1), run(2)}),
		newRow(Source{File: "a,b.jsonl"}, Contender{Checker: "replay"}, level.Serializable, []Measured{run(4)})}
	runs := Observations(rows)
	if len(runs) != 3 || runs[1].Run != 2 || runs[1].CheckMS != 2 || runs[1].Encoding != "cobra" ||
		runs[1].UsedTheory != "order" || runs[1].SolvingMS != 1 || runs[2].History != "a,b.jsonl" {
		t.Fatalf("%+v", runs)
	}
	var text, binary bytes.Buffer
	must.OK(t, WriteTidy(&text, "x.csv", runs))
	must.OK(t, WriteTidy(&binary, "x.parquet", runs))
	lines, err := csv.NewReader(&text).ReadAll()
	if err != nil || len(lines) != 4 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	at := slices.Index(lines[0], "check_ms")
	back, err := parquet.Read[Observation](bytes.NewReader(binary.Bytes()), int64(binary.Len()))
	if err != nil || !slices.Equal(back, runs) {
		t.Fatalf("%+v, %v; want %+v", back, err, runs)
	}
	for i, o := range back {
		if ms, err := strconv.ParseFloat(lines[i+1][at], 64); err != nil || ms != o.CheckMS {
			t.Errorf("run %d: %v ms, %v; want %v", i, ms, err, o.CheckMS)
		}
	}
}
