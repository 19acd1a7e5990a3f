package checks

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"isovet/check"
	"isovet/check/shrink"
	"isovet/datasets"
	"isovet/history/format"
	"isovet/internal/cli/console"
	"isovet/internal/guard"
	"isovet/internal/test/must"
	"isovet/level"
)

// TestShrinkInterrupted: of a search that Ctrl-C ended, the smallest history by then is written; the status is 130.
func TestShrinkInterrupted(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "h.jsonl"), filepath.Join(dir, "small.jsonl")
	whole := must.Get(datasets.Generate(t.Context(), datasets.Spec{Workload: "smallbank", Txns: 300, Seed: 1,
		Fault: "write-skew"}))(t)
	must.OK(t, format.Write(in, whole, console.Auto, false))
	var stdout, stderr bytes.Buffer
	e := &console.Env{Stdout: &stdout, Stderr: &stderr}
	f := shrinkFlags{check: CheckFlags{judge: checkerFlag{name: console.Auto}, level: level.Serializable}, out: out,
		to: console.Auto}
	f.check.loading = console.Loading{Format: console.Auto, RealTime: console.Auto}
	ctx, interrupt := context.WithCancelCause(t.Context())
	r, err := shrink.History(ctx, whole, level.Serializable, shrink.Options{Smaller: func(r *shrink.Result) {
		if r.To.Txns < r.From.Txns {
			interrupt(guard.ErrInterrupted)
		}
	}})
	if err != nil || r.Ended == nil || r.To.Txns >= r.From.Txns {
		t.Fatal(r, err)
	}
	early := f.check.limits.Reason(r.Ended, "shrinking")
	must.Equal(t, console.StatusOf(f.write(e, in, r, early, time.Now())), console.StatusInterrupted, "status")
	if !strings.Contains(stderr.String(), "small.jsonl has the smallest history found by then") {
		t.Errorf("said %q", stderr.String())
	}
	h := must.Get(format.Read(t.Context(), out, format.Options{}))(t)
	c, _ := check.Choose(console.Auto, "", h, level.Serializable)
	a, err := check.Run(t.Context(), c, h, check.Options{Level: level.Serializable})
	if err != nil || len(a.Anomalies) == 0 {
		t.Errorf("what was written is no violation: %v, %v", a, err)
	}
}
