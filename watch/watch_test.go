package watch

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"isovet/check/mechanism"
	"isovet/check/timestamp"
	"isovet/datasets"
	"isovet/history"
	"isovet/history/format"
	"isovet/internal/keyed"
	_ "isovet/internal/test/memdir"
	"isovet/internal/test/must"
	"isovet/level"
)

var si = timestamp.Options{Level: level.SessionSnapshotIsolation}

// TestMain: as a child it watches until it is killed or the stream ends.
func TestMain(m *testing.M) {
	if arg := os.Getenv("ISOVET_WATCH_CHILD"); arg != "" {
		var l life
		err := json.Unmarshal([]byte(arg), &l)
		if err == nil {
			err = l.live()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// hashes are the same in all judges of a test, since the order in which equal proofs are tried follows them.
var hashes = keyed.Of([keyed.Size]byte{})

func aionOf(o timestamp.Options, lateness int64) Judge {
	return must.Have(NewAion(AionOptions{Options: o, Lateness: lateness, Gate: GateOptions{Hash: hashes}}))
}

func aionWith(t testing.TB, o AionOptions) *aion {
	t.Helper()
	o.Gate.Hash = cmp.Or(o.Gate.Hash, hashes)
	j := must.Get(NewAion(o))(t)
	return j.(*aion)
}

func leopardOf(t testing.TB, o LeopardOptions) *leopard {
	t.Helper()
	o.Gate.Hash = cmp.Or(o.Gate.Hash, hashes)
	j := must.Get(NewLeopard(o))(t)
	return j.(*leopard)
}

func replayOf(t testing.TB, o ReplayOptions) *replayJudge {
	t.Helper()
	o.Gate.Hash = cmp.Or(o.Gate.Hash, hashes)
	j := must.Get(NewReplay(o))(t)
	return j.(*replayJudge)
}

func profileOf(t testing.TB, name string) *mechanism.Profile {
	t.Helper()
	return must.Get(mechanism.LookupProfile(name))(t)
}

// pipeOf opens a pipe from a reader.
func pipeOf(r io.Reader) func(context.Context, Places) (Source, error) {
	return func(_ context.Context, after Places) (Source, error) { return Pipe(r, after.Last()), nil }
}

// violationsOf is a folder's file of violations.
func violationsOf(t testing.TB, dir string) []byte {
	t.Helper()
	return must.Get(os.ReadFile(filepath.Join(dir, violationsFile)))(t)
}

// arrivals makes the JSON lines of a history with violations, in an order of arrival.
func arrivals(t *testing.T, seed uint64, txns int) (h *history.History, lines [][]byte) {
	t.Helper()
	return arrivalsOf(t, datasets.Spec{Workload: "gt", Txns: txns, Sessions: 8, Keys: 40, Ops: 5,
		Isolation: "read-committed", DBTimes: true, Times: datasets.NoTimes, Seed: seed}, 20, false)
}

// arrivalsOf is arrivals of what a spec says; sigma is the deviation of the order, in timestamps, from that of
// the starts, or, ended, the commits.
func arrivalsOf(t *testing.T, spec datasets.Spec, sigma float64, ended bool) (h *history.History, lines [][]byte) {
	t.Helper()
	h = must.Get(datasets.Generate(t.Context(), spec))(t)
	path := filepath.Join(t.TempDir(), "h.jsonl")
	must.OK(t, format.Write(path, h, "", false))
	h = must.Get(format.Read(t.Context(), path, format.Options{}))(t)
	b := must.Get(os.ReadFile(path))(t)
	type at struct {
		line []byte
		pos  float64
	}
	rng := rand.New(rand.NewPCG(spec.Seed, 5))
	var by []at
	for line := range bytes.Lines(b) {
		var x struct {
			StartTS  *int64 `json:"start_ts"`
			CommitTS *int64 `json:"commit_ts"`
		}
		must.OK(t, json.Unmarshal(line, &x))
		pos := -1e9 - 1/float64(len(by)+1) // the header and the initial transaction first
		if x.StartTS != nil {
			pos = float64(*x.StartTS) + sigma*rng.NormFloat64()
			if ended && x.CommitTS != nil {
				pos += float64(*x.CommitTS - *x.StartTS)
			}
		} else if len(by) > 1 {
			pos = by[len(by)-1].pos
		}
		by = append(by, at{line, pos})
	}
	slices.SortStableFunc(by, func(a, b at) int { return cmp.Compare(a.pos, b.pos) })
	for _, x := range by {
		lines = append(lines, x.line)
	}
	return h, lines
}

// key of a violation, to compare sets.
func keyOf(v Violation) string {
	other := "-"
	if v.Other != nil {
		other = strconv.FormatInt(*v.Other, 10)
	}
	op := "-"
	if v.Op != nil {
		op = strconv.Itoa(int(*v.Op))
	}
	return fmt.Sprintf("%s %d %s %s %s", v.Axiom, v.Txn, other, v.Key, op)
}

func chronos(t *testing.T, h *history.History, o timestamp.Options) []string {
	t.Helper()
	r := must.Get(timestamp.Chronos(t.Context(), h, o))(t)
	return ofReport(h, r)
}

func found(t *testing.T, dir string) []string {
	t.Helper()
	b := violationsOf(t, dir)
	var out []string
	n := int64(0)
	for line := range bytes.Lines(b) {
		var v Violation
		must.OK(t, json.Unmarshal(line, &v), "%q", line)
		n++
		must.Equal(t, v.N, n, "a violation's number")
		out = append(out, keyOf(v))
	}
	slices.Sort(out)
	return out
}

func join(lines [][]byte) []byte { return bytes.Join(lines, nil) }

// TestPipe: out of order within the lateness, the violations are those of Chronos.
func TestPipe(t *testing.T) {
	for _, o := range []timestamp.Options{si, {Level: level.SessionSerializable}, {Level: level.Serializable,
		ReadOnlyAtStart: true}} {
		h, lines := arrivals(t, 1, 1500)
		dir := t.TempDir()
		var m Metrics
		calls := 0
		err := Run(t.Context(), Config{Dir: dir, Judge: aionOf(o, 400), Metrics: &m,
			Violation: func([]byte) { calls++ },
			Open:      pipeOf(bytes.NewReader(join(lines)))})
		must.OK(t, err)
		want := chronos(t, h, o)
		if got := found(t, dir); !slices.Equal(got, want) || len(want) < 50 || calls != len(want) {
			t.Fatalf("%v: %d violations, Chronos has %d; %d calls", o, len(got), len(want), calls)
		}
		if s := m.Get(); s.Lines != int64(len(lines)) || s.Bad != 0 || s.Late != 0 || s.Violations["EXT"] == 0 ||
			!s.Waiting.IsZero() || s.LastArrival.IsZero() || s.Ready {
			t.Errorf("metrics: %+v", s)
		}
	}
}

// TestBad: lines that are not understood are reported, counted, and kept; the stream goes on, also in a second run.
func TestBad(t *testing.T) {
	dir := t.TempDir()
	text := `{"format":"isovet-history","version":1,"initial":0}
{"id":1,"session":0,"start_ts":1,"commit_ts":2,"ops":[["w","x",1],["r","y",0]]}
!advance 99999
{"id":2,"start_ts":1,"ops":[]}
{"id":3,"start_ts":3,"commit_ts":4,"ops":[["pr",{"v":{"~":1}},[]]]}
{"id":4,"start_ts":3,"commit_ts":4,"status":"gone","ops":[]}
{"id":5,"session":0,"start_ts":5,"commit_ts":6,"ops":[["r","x",0]]}
{"id":6,"start_ts":5,"commit_ts":5,"ops":[["r","l",[]],["a","m",7]]}
`
	run := func(text string) (bad []string) {
		must.OK(t, Run(t.Context(), Config{Dir: dir, Judge: aionOf(si, 10), Open: pipeOf(strings.NewReader(text)),
			Bad: func(place int64, err error) { bad = append(bad, fmt.Sprint(place, ": ", err)) }}))
		return bad
	}
	bad := run(text)
	for i, want := range []string{"2: malformed JSON at byte", "3: transaction 2 lacks its start_ts",
		`4: field "ops[0][1].v": unknown comparison`, `5: field "status": unknown status "gone"; expected`} {
		must.Hold(t, i < len(bad) && strings.HasPrefix(bad[i], want), "%q", bad)
	}
	want := []string{`EXT 5 1 "x" 0`, `TIMESTAMPS 6 -  -`}
	if got := found(t, dir); !slices.Equal(got, want) {
		t.Errorf("%q; expected %q", got, want)
	}
	if bad = run(""); len(bad) > 0 {
		t.Error(bad)
	}
	// The source had ended, and goes on.
	more := `{"id":7,"session":1,"start_ts":50,"commit_ts":51,"ops":[["r","x",0]]}` + "\n"
	want = append(want, `EXT 7 1 "x" 0`)
	slices.Sort(want)
	if bad = run(more); len(bad) > 0 {
		t.Error(bad)
	}
	if got := found(t, dir); !slices.Equal(got, want) {
		t.Errorf("%q; expected %q", got, want)
	}
}
