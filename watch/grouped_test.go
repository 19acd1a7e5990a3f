package watch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"isovet/datasets"
	"isovet/history/format"
	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
)

// badLines are those of a stream in which almost every transaction is wrong.
func badLines(t *testing.T, isolation string, txns int) [][]byte {
	t.Helper()
	h := must.Get(datasets.Generate(t.Context(), datasets.Spec{Workload: "gt", Txns: txns, Sessions: 50, Keys: 40,
		Ops: 4, Isolation: isolation, DBTimes: true, Seed: 3}))(t)
	path := filepath.Join(t.TempDir(), "h.jsonl")
	must.OK(t, format.Write(path, h, "", false))
	b := must.Get(os.ReadFile(path))(t)
	return slices.Collect(bytes.Lines(b))
}

// grouped watches lines.
func grouped(t *testing.T, dir string, j Judge, lines [][]byte, change func(*Config)) (said [][]byte, all *Incidents,
	s Snapshot) {
	t.Helper()
	var m Metrics
	all = &Incidents{}
	cfg := Config{Dir: dir, Judge: j, Metrics: &m, Incidents: all, Grouped: true, Checkpoint: time.Hour,
		Violation: func(line []byte) { said = append(said, bytes.Clone(line)) },
		Open: func(_ context.Context, after Places) (Source, error) {
			return Pipe(bytes.NewReader(join(lines[after.Last()+1:])), after.Last()), nil
		}}
	if change != nil {
		change(&cfg)
	}
	must.OK(t, Run(t.Context(), cfg))
	return said, all, m.Get()
}

// TestGroupedBound: 4,000 transactions that are wrong (ISOVET_LONG: 20,000) take 200 kB, on standard output and disk.
func TestGroupedBound(t *testing.T) {
	dir, txns := t.TempDir(), histtest.Long(4000, 20_000)
	said, _, s := grouped(t, dir, aionOf(si, 400), badLines(t, "read-uncommitted", txns), nil)
	for _, name := range []string{violationsFile, incidentsFile} {
		if st, err := os.Stat(filepath.Join(dir, name)); err != nil || st.Size() > 200_000 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if size := len(join(said)); size > 200_000 || s.Violations["EXT"]+s.Violations["NOCONFLICT"] < int64(4*txns) {
		t.Errorf("%v take %d bytes", s.Violations, size)
	}
}

// TestGrouped: transactions that are wrong are few lines, and all are counted; those of the first of each incident are
// those that stand in a file of all of them. (ISOVET_LONG: 20,000 transactions, by leopard too.)
func TestGrouped(t *testing.T) {
	txns := histtest.Long(200, 20_000)
	lines := badLines(t, "read-uncommitted", txns)
	for name, judge := range map[string]func() Judge{"aion": func() Judge { return aionOf(si, 400) },
		"leopard": func() Judge {
			p := profileOf(t, "postgresql:serializable")
			return leopardOf(t, LeopardOptions{Lateness: int64(time.Second), Profile: p})
		}} {
		whole, dir := t.TempDir(), t.TempDir()
		every, _, want := grouped(t, whole, judge(), lines, func(c *Config) { c.Grouped = false })
		said, all, got := grouped(t, dir, judge(), lines, nil)
		text := must.Get(os.ReadFile(filepath.Join(dir, violationsFile)))(t)
		snapshot := must.Get(os.ReadFile(filepath.Join(dir, incidentsFile)))(t)
		if !bytes.Equal(text, append(bytes.Join(said, []byte("\n")), '\n')) {
			t.Errorf("%s: what is said is not what is written", name)
		}
		if len(text) > 200_000 || len(snapshot) > 200_000 {
			t.Errorf("%s: %d bytes of violations, %d of incidents", name, len(text), len(snapshot))
		}
		if fmt.Sprint(got.Violations) != fmt.Sprint(want.Violations) || (got.Proved > 0) != (want.Proved > 0) {
			t.Errorf("%s: %v, %d proved; expected %v, %d", name, got.Violations, got.Proved, want.Violations,
				want.Proved)
		}
		must.Equal(t, len(every) < txns/2, false, "%s: only %d are wrong", name, len(every))
		full, total, doubled := 0, int64(0), 0
		for _, line := range said {
			var x struct{ N, Incident, Count int64 }
			must.OK(t, json.Unmarshal(line, &x))
			if x.Incident > 0 {
				doubled++
				must.Equal(t, x.Count&(x.Count-1), 0, "%s: %s", name, line)
				continue
			}
			if full++; !bytes.Equal(line, every[x.N-1]) && name == "aion" { // of leopard's not all are tried as a proof
				t.Fatalf("%s: %s; expected %s", name, line, every[x.N-1])
			}
		}
		for _, x := range all.List() {
			total += x.Count
			must.Equal(t, len(x.Lines), min(int(x.Count), incidentLines), "%s: %+v", name, x)
		}
		if total != int64(len(every)) || doubled == 0 || full < 20 {
			t.Errorf("%s: %d violations in incidents of %d; %d in full, %d times doubled", name, total, len(every),
				full, doubled)
		}
		t.Logf("%s: %d violations are %d incidents, %d lines, %d bytes of lines, %d of incidents", name, len(every),
			len(all.List()), len(said), len(text), len(snapshot))
	}
}

// TestRotated: the files of violations take what they may, the older ones are compressed, and a restart goes on with
// the numbers, also where a process ended in the midst of all that.
func TestRotated(t *testing.T) {
	lines := badLines(t, "read-uncommitted", histtest.Long(1000, 3000))
	whole := t.TempDir()
	every, _, _ := grouped(t, whole, aionOf(si, 400), lines, func(c *Config) { c.Grouped = false })
	for _, max := range []int64{64 << 10, 1 << 20} {
		dir := t.TempDir()
		var said [][]byte
		for _, end := range []int{len(lines) / 3, len(lines) / 2, len(lines)} {
			more, _, _ := grouped(t, dir, aionOf(si, 400), lines[:end], func(c *Config) {
				c.Grouped, c.ViolationsMax, c.Checkpoint = false, max, 0
			})
			said = append(said, more...)
			old := must.Get(oldFiles(dir))(t)
			if len(old) > 0 && end < len(lines) { // as if killed while it was compressed
				text := []byte(fmt.Sprintf(`{"n":%d,"axiom":"half of it`, old[0].last))
				name := filepath.Join(dir, strings.TrimSuffix(old[0].name, compressed))
				must.OK(t, os.WriteFile(name, text, 0o644))
			}
		}
		// What ends at the end of a source and what does not differ, as both are judged at a pause.
		for i, line := range said {
			must.Equal(t, numberOf(line), int64(i+1), "line %d: %s", i+1, line)
		}
		old := must.Get(oldFiles(dir))(t)
		total, kept := int64(0), 0
		for _, x := range old {
			total += x.size
			must.Equal(t, !x.packed, false, "%s is not compressed", x.name)
			must.OK(t, x.read(dir, func(n int64, line []byte) {
				kept++
				must.Equal(t, !bytes.Equal(line, said[n-1]), false, "%s; expected %s", line, said[n-1])
			}))
		}
		last := must.Get(os.ReadFile(filepath.Join(dir, violationsFile)))(t)
		if total += int64(len(last)); total > max || len(old) == 0 || len(said) < len(every)/2 {
			t.Errorf("%d bytes in %d files; expected %d at most; %d lines", total, len(old)+1, max, len(said))
		}
		if kept += bytes.Count(last, []byte("\n")); max == 1<<20 && kept != len(said) {
			t.Errorf("%d of %d lines are kept", kept, len(said))
		}
		rest, err := fs.Glob(os.DirFS(dir), "*.new")
		must.Equal(t, err != nil || len(rest) > 0, false, "%v, %v are left", err, rest)
	}
}

// groupedMax is so little that files are rotated.
const groupedMax = 12_000

// groupedJudge is one that is told the time.
func groupedJudge(name string, lateness int64) Judge {
	gate := GateOptions{Once: true, Patience: time.Minute}
	j, err := NewAion(AionOptions{Options: si, Lateness: lateness, Gate: gate})
	if name == "leopard" {
		j, err = NewLeopard(LeopardOptions{Lateness: lateness, Gate: gate})
	}
	if err != nil {
		panic(err)
	}
	return j
}

// TestKilledGrouped: who is killed at random moments, twice (200 with ISOVET_LONG), has at last the same
// incidents and lines, to the last byte, as one that judges the whole log without a checkpoint.
func TestKilledGrouped(t *testing.T) {
	kills := histtest.Long(1, 200)
	_, lines := arrivals(t, 2, histtest.Long(600, 3000))
	m := brokenRun(t, "blindw", "snapshot", "version", 0, histtest.Long(500, 2000))
	for judge, s := range map[string]struct {
		lateness int64
		lines    [][]byte
	}{"aion": {400, lines}, "leopard": {m.apart / 3, m.lines}} {
		dir, source := t.TempDir(), filepath.Join(t.TempDir(), "in.jsonl")
		must.OK(t, os.WriteFile(source, join(s.lines), 0o644))
		ends := map[int64]bool{}
		rng := rand.New(rand.NewPCG(3, 9))
		for range kills {
			life{Dir: dir, Judge: judge + "-grouped", Lateness: s.lateness, Most: 1 + len(s.lines)/(8*kills),
				At:   source,
				Dies: 1 + rng.IntN(len(s.lines)/kills), After: rng.IntN(4000)}.run(t)
			ends[last(linesByNumber(t, dir))] = true
		}
		open := func(_ context.Context, after Places) (Source, error) {
			return Files(FileOptions{Path: source, Once: true}, after)
		}
		watch := func(dir string) {
			t.Helper()
			must.OK(t, Run(t.Context(), Config{Dir: dir, Judge: groupedJudge(judge, s.lateness), Grouped: true,
				ViolationsMax: groupedMax, Open: open, Checkpoint: time.Hour}))
		}
		watch(dir)
		again := t.TempDir()
		logs := must.Get(filepath.Glob(filepath.Join(dir, "segment-*")))(t)
		for _, name := range logs {
			text, err := os.ReadFile(name)
			if err == nil {
				err = os.WriteFile(filepath.Join(again, filepath.Base(name)), text, 0o644)
			}
			must.OK(t, err)
		}
		watch(again)
		// How much of the oldest files is deleted depends on when they were rotated.
		got, want := linesByNumber(t, dir), linesByNumber(t, again)
		for n, line := range got {
			if other, there := want[n]; there && other != line {
				t.Errorf("%s: %s\nexpected %s", judge, line, other)
			}
		}
		must.Equal(t, last(got), last(want), "%s: the number of the last line", judge)
		a := must.Get(os.ReadFile(filepath.Join(dir, incidentsFile)))(t)
		b := must.Get(os.ReadFile(filepath.Join(again, incidentsFile)))(t)
		must.Equal(t, !bytes.Equal(a, b) || len(a) < 1000, false, "%s: incidents\n%s\nexpected\n%s", judge, a, b)
		t.Logf("%s: killed at %d places, %d lines, %d bytes of incidents", judge, len(ends), len(got), len(a))
	}
}

// last is the greatest number.
func last(lines map[int64]string) (n int64) {
	for k := range lines {
		n = max(n, k)
	}
	return n
}

// linesByNumber are all lines of a folder's violations.
func linesByNumber(t *testing.T, dir string) map[int64]string {
	t.Helper()
	out := map[int64]string{}
	note := func(n int64, line []byte) {
		if _, there := out[n]; there || n == 0 {
			t.Errorf("two lines of one number, or one without: %s", line)
		}
		out[n] = string(line)
	}
	old := must.Get(oldFiles(dir))(t)
	for i, x := range old {
		if i+1 < len(old) && old[i+1].last == x.last {
			continue // killed before the uncompressed file was deleted; the next start deletes it
		}
		must.OK(t, x.read(dir, note))
	}
	text, err := os.ReadFile(filepath.Join(dir, violationsFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // killed before there was one
		t.Fatal(err)
	}
	must.Get(eachLine(bytes.NewReader(text), note))(t)
	return out
}
