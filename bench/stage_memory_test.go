package bench

import (
	"slices"
	"strings"
	"testing"

	"isovet/check"
	"isovet/datasets"
	"isovet/level"
)

// TestStageMemory: each stage of the pipeline is measured once, in its order; a full closure is the matrix of bits that
// it has to be, the compact one a fraction of it; who does not ask is told nothing.
func TestStageMemory(t *testing.T) {
	const txns = 3000
	src, err := Generate(t.Context(), datasets.Spec{Workload: "blindw", Variant: "WR", Txns: txns, Seed: 1},
		t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	run := func(r Run) Measured {
		r.History, r.Level = src.Path, level.SessionSerializable
		m, err := runChild(t.Context(), self(t), r)
		if err != nil || m.Fault != "" || m.Verdict.String() != "valid" {
			t.Fatalf("%v %+v", err, m)
		}
		return m
	}
	compact := run(Run{Checker: "vbox", StageMemory: true})
	full := run(Run{Checker: "vbox", Pipeline: check.Pipeline{Closure: "purdom", Pruning: "edges"}, StageMemory: true})
	for _, m := range []Measured{compact, full, run(Run{Checker: "cobra", StageMemory: true})} {
		var names []string
		for _, s := range m.StageMemory {
			names = append(names, s.Stage)
			if s.LiveMB <= 0 || s.AllocatedMB <= 0 {
				t.Errorf("%+v", s)
			}
		}
		if len(names) < 5 || names[0] != theHistory || names[len(names)-1] != "evidence" {
			t.Errorf("stages %s", strings.Join(names, ", "))
		}
		for i, n := range names {
			if !slices.Contains(memoryStages, n) || slices.Contains(names[:i], n) {
				t.Errorf("stage %s among %s", n, strings.Join(names, ", "))
			}
		}
	}
	const matrix = txns * txns / 8 / 1e6
	if a := full.added("construction", "closure"); a < matrix || a > 2*matrix {
		t.Errorf("the full closure adds %.3f MB, the matrix is %.3f MB", a, matrix)
	}
	if a := compact.added("construction", "closure"); a <= 0 || a > matrix/2 {
		t.Errorf("the compact closure adds %.3f MB, the matrix is %.3f MB", a, matrix)
	}
	if m := run(Run{Checker: "vbox"}); m.StageMemory != nil || m.added("construction", "closure") != 0 {
		t.Errorf("%+v", m.StageMemory)
	}
}

// TestSquared: 1 is quadratic, from the first size to the last.
func TestSquared(t *testing.T) {
	r := Report{}
	if f := squared("growth", "x")(&r); f.None == "" {
		t.Errorf("%+v of nothing", f)
	}
	for i, g := range []string{"10", "20", "40"} {
		r.Add(decided("growth", g, "x", float64(int(3)<<(2*i))))
		r.Add(decided("growth", g, "y", float64(int(3)<<i)))
	}
	if f := squared("growth", "x")(&r); f.None != "" || f.Value != 1 {
		t.Errorf("%+v", f)
	}
	if f := squared("growth", "y")(&r); f.Value != 0.25 {
		t.Errorf("%+v", f)
	}
}
