package check_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"isovet/check"
	"isovet/check/limits"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/history"
	"isovet/history/format"
	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
	"isovet/level"
)

// file writes a generated history, at a level.
func file(t *testing.T, isolation string, fault string) string {
	h := must.Get(datasets.Generate(t.Context(), datasets.Spec{Workload: "blindw", Seed: 7,
		Txns: histtest.Long(1000, 2000), Times: datasets.TxnTimes, Isolation: isolation, Fault: fault}))(t)
	path := filepath.Join(t.TempDir(), "h.jsonl")
	must.OK(t, format.Write(path, h, "", false))
	return path
}

// TestLimitsFallback: what memory does not hold is decided with files on disk as it is in memory, and no file stays.
// Where a checker is named, it is unknown, with the reason.
func TestLimitsFallback(t *testing.T) {
	held := make([]byte, limits.LeastMemory+1<<20) // more than the bound, before anything is read
	for i := 0; i < len(held); i += 1 << 10 {
		held[i] = 1
	}
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	verdicts := map[evidence.Verdict]int{}
	for _, path := range []string{file(t, "serializable", ""), file(t, "serializable", "lost-update")} {
		o := limits.Options{Options: check.Options{Level: level.Serializable}}
		want, err := limits.Check(context.Background(), []string{path}, o)
		must.Hold(t, err == nil && want.Verdict != evidence.Unknown, "%s: %+v, %v", path, want, err)
		o.Memory = limits.LeastMemory
		got, err := limits.Check(context.Background(), []string{path}, o)
		must.Be(t, err == nil && got.Verdict == want.Verdict && strings.Contains(got.Note, "out of core"),
			"with files: %v (%s), in memory %v; %v", got.Verdict, got.Note, want.Verdict, err)
		verdicts[got.Verdict]++
		o.Checker = "replay"
		got, err = limits.Check(context.Background(), []string{path}, o)
		must.Be(t, err == nil && got.Verdict == evidence.Unknown && strings.Contains(got.Reason, "memory bound"),
			"a named checker: %+v, %v", got, err)
	}
	must.Be(t, verdicts[evidence.Holds] == 1 && verdicts[evidence.Violated] == 1, "%v", verdicts)
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	runtime.KeepAlive(held)
}

// TestLimitsStopped: a time-out is an answer; a file that is not there is an error.
func TestLimitsStopped(t *testing.T) {
	path := file(t, "serializable", "")
	r, err := limits.Check(context.Background(), []string{path}, limits.Options{
		Options: check.Options{Level: level.Serializable},
		Timeout: time.Nanosecond})
	must.Be(t, err == nil && r.Verdict == evidence.Unknown && strings.HasPrefix(r.Reason, "timeout: 1ns passed while "),
		"%+v, %v", r, err)
	var bad *history.InputError
	if _, err := limits.Check(context.Background(), []string{path + "x"}, limits.Options{}); !errors.As(err, &bad) {
		t.Errorf("no file: %v", err)
	}
}

// A bound of memory and a time-out: what does not fit is checked with files on disk.
func Example_limitsCheck() {
	r, err := limits.Check(context.Background(), []string{"limits/testdata/write-skew.jsonl"}, limits.Options{
		Options: check.Options{Level: level.Serializable}, Timeout: time.Minute, Memory: 2 << 30})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Verdict, r.Anomalies[0].Kind)
	// Output: violation write-skew
}
