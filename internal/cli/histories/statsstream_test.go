package histories

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"isovet/datasets"
	"isovet/evidence"
	"isovet/history"
	"isovet/history/format"
	"isovet/internal/bounds"
	"isovet/internal/cli/console"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
)

// What is counted batch by batch is what is counted in memory.
func TestStreamedStats(t *testing.T) {
	defer bounds.Set("split.batch-txns", 7)()
	defer bounds.Set("split.batch-bytes", 900)()
	dir := t.TempDir()
	n := 0
	check := func(name string, h *history.History) {
		t.Helper()
		for _, ext := range []string{".jsonl", ".ivh"} {
			n++
			path := filepath.Join(dir, fmt.Sprint(n, ext))
			must.OK(t, format.Write(path, h, "", false))
			h := must.Get(format.Read(t.Context(), path, format.Options{}))(t)
			want := must.Get(json.Marshal(newHistoryStats(path, h)))(t)
			s := must.Get(streamStats(t.Context(), path, []string{path}, console.Loading{}, 0, nil))(t)
			if h.HasLists() && ext == ".ivh" {
				// The null that was read of a list names no version, but the file has one for it.
				if s.Versions > h.NumVersions() || s.Versions < s.Appends {
					t.Errorf("%s: %d versions", name, s.Versions)
				}
				s.Versions = h.NumVersions()
			}
			if got, _ := json.Marshal(s); string(got) != string(want) {
				t.Errorf("%s: batch by batch\n%s\nin memory\n%s", name, got, want)
			}
		}
	}
	for seed := range uint64(60) {
		check(fmt.Sprint("tiny ", seed), random.Tiny(seed, random.Options{Duplicates: seed&1 > 0, Deletes: seed&2 > 0,
			Aborted: seed&4 > 0, Unknown: seed&8 > 0, NoTimes: seed&16 > 0}))
	}
	for i, w := range []string{"blindw", "booking", "list-append", "tpcc", "smallbank", "mix"} {
		h := must.Get(datasets.Generate(t.Context(), datasets.Spec{Workload: w, Txns: 400, Seed: uint64(i),
			AbortRate: 0.1, DBTimes: true}))(t)
		check(w, h)
	}
}

// Where there is no room for all, numbers are estimates within a few per cent, and it is reported.
func TestEstimates(t *testing.T) {
	const n = 300_000
	s := hashes{most: 1 << 14}
	x := streamed{}
	for range 2 {
		for i := range int64(n) {
			s.add(x.value([2]uint64{}, history.IntValue(i)))
		}
	}
	if got := float64(s.count()); s.below == 0 || math.Abs(got/n-1) > 0.05 || len(s.in) > 1<<14 {
		t.Errorf("%.0f of %d, %d in the sample", got, n, len(s.in))
	}
	s = hashes{most: 1 << 20}
	for range 2 {
		for i := range int64(n) {
			s.add(x.value([2]uint64{}, history.IntValue(i)))
		}
	}
	if s.below > 0 || s.count() != n {
		t.Errorf("%d of %d", s.count(), n)
	}
}

// A compare-and-set is one operation of the file, though a history has a read and a write for it.
func TestCompareAndSetsCountOnce(t *testing.T) {
	event := func(form, typ, f, value string) string { return fmt.Sprintf(form, typ, f, value) }
	for ext, form := range map[string]string{
		".log": "INFO  jepsen.util - 1\t:%s\t:%s\t%s\n",
		".edn": "{:process 1, :type :%s, :f :%s, :value %s}\n",
	} {
		var text string
		for _, op := range [][2]string{{"write", "3"}, {"cas", "[3 4]"}, {"read", "4"}, {"cas", "[4 5]"}} {
			text += event(form, "invoke", op[0], op[1]) + event(form, "ok", op[0], op[1])
		}
		path := filepath.Join(t.TempDir(), "cas"+ext)
		must.OK(t, os.WriteFile(path, []byte(text), 0o600))
		h := must.Get(format.Read(t.Context(), path, format.Options{}))(t)
		s, sizes := newHistoryStats(path, h), evidence.SizesOf(h)
		if sizes.Ops != 4 || s.Ops != 4 || s.Both != 2 || s.Reads != 3 || s.Writes != 3 || s.MaxOps != 1 {
			t.Errorf("%s: check counts %+v, stats %+v", ext, sizes, s.opCounts)
		}
	}
}
