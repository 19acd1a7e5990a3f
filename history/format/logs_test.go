package format_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"isovet/history/format/logs"
	"isovet/internal/slice"
	"isovet/internal/test/must"
)

func TestLogsList(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"T10.log": "ab", "T2.log": "", "T02.log": "", "T3.log.gz": "x",
		"T.log": "x", "T-1.log": "x", "J1.log": "x", "Tx.log": "x"} {
		must.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	must.OK(t, os.Mkdir(filepath.Join(dir, "T5.log"), 0o700))
	all := must.Get(logs.List(dir, "T"))(t)
	names := slice.Map(all, func(l logs.Log) string { return filepath.Base(l.Path) })
	if want := []string{"T02.log", "T2.log", "T10.log"}; !slices.Equal(names, want) || all[2].Number != 10 {
		t.Errorf("%v; want %v", all, want)
	}
	if head, ok := logs.Head(dir, "T", 1); !ok || string(head) != "a" {
		t.Errorf("begins with %q, %v", head, ok)
	}
	if data, err := all[2].Read(); err != nil || string(data) != "ab" {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := (logs.Log{Path: dir}).Read(); err == nil || !strings.Contains(err.Error(), "cannot read") {
		t.Errorf("a folder read: %v", err)
	}
	if _, ok := logs.Head(dir, "K", 1); ok {
		t.Error("logs that are not there")
	}
	if _, err := logs.List(dir, "K"); err == nil || !strings.Contains(err.Error(), "no file named K<number>.log") {
		t.Error(err)
	}
	if _, err := logs.List(filepath.Join(dir, "none"), "T"); err == nil || !strings.Contains(err.Error(),
		"cannot read the folder") {
		t.Error(err)
	}
}

// TestLogsNumbers compares the set of numbers with a map.
func TestLogsNumbers(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		var s logs.Numbers
		want := map[uint64]bool{}
		for range rnd.IntN(2000) {
			n := rnd.Uint64N(1 << (2 + seed%62))
			if rnd.IntN(2) == 0 {
				n = rnd.Uint64N(2000) - 1000
			}
			if rnd.IntN(2) == 0 {
				s.Add(n)
				want[n] = true
			} else if s.Has(n) != want[n] {
				t.Fatalf("seed %d: has %d is %v", seed, n, !want[n])
			}
		}
		must.Same(t, s.Len(), len(want), "seed %d", seed)
	}
}
