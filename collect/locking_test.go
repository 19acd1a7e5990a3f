package collect_test

import (
	"strings"
	"testing"

	"isovet/check"
	"isovet/check/shrink"
	"isovet/collect"
	"isovet/evidence"
	"isovet/history"
	"isovet/history/format/jsonl"
	"isovet/level"
)

// TestLockingReads: a history tells reads that take locks from plain ones, keeps that when it is written, read and cut
// down, and the text of a violation names them.
func TestLockingReads(t *testing.T) {
	const text = `{"id":1,"session":0,"name":"pay","locking":"1","ops":[["r","x",null],["r","y",null],["w","x",1]]}
{"id":2,"session":1,"locking":"0 1","ops":[["r","x",null],["r","y",null],["w","y",2]]}
{"id":3,"session":1,"ops":[["r","x",1],["r","y",2]]}
`
	h, err := jsonl.Read([]byte(text), "h.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	locking := func(h *history.History) (s string) {
		for op := range uint32(h.NumOps()) {
			s += map[bool]string{true: "l", false: "."}[h.Locking(op)]
		}
		return s
	}
	if got := locking(h); got != ".l.ll..." {
		t.Errorf("locking reads %q, expected %q", got, ".l.ll...")
	}
	var b strings.Builder
	if err := jsonl.Write(&b, h); err != nil {
		t.Fatal(err)
	}
	again, err := jsonl.Read([]byte(b.String()), "h.jsonl")
	if err != nil || locking(again) != locking(h) {
		t.Errorf("written and read again: %v, %q:\n%s", err, locking(again), b.String())
	}
	c, _ := check.Auto(h, level.Serializable)
	r, err := check.Run(t.Context(), c, h, check.Options{Level: level.Serializable})
	if err != nil || r.Verdict != evidence.Violated {
		t.Fatalf("%v, %v; expected a violation", r, err)
	}
	s := evidence.Describe(&r.Anomalies[0], h)
	if !strings.Contains(s, "FOR UPDATE), not plain ones: T1 of y, T2 of x") {
		t.Errorf("the text does not name the locking reads:\n%s", s)
	}
	r.H = h
	small, err := shrink.History(t.Context(), h, level.Serializable, shrink.Options{First: r, KeepNames: true})
	if err != nil {
		t.Fatal(err)
	}
	b.Reset()
	if err := jsonl.Write(&b, small.H); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), `"locking":"0"`) {
		t.Errorf("cut down, the locking reads are gone:\n%s", b.String())
	}
}

// TestLockingCollected: SQLite has no locking reads, so none is recorded, though the workload asks for them.
func TestLockingCollected(t *testing.T) {
	r, err := collect.Run(t.Context(), collect.Config{DB: []string{"sqlite:"}, Workload: "rmw", Variant: "locking",
		Txns: 20, Sessions: 2})
	if err != nil {
		t.Fatal(err)
	}
	if r.History.Txns.Locking != nil {
		t.Error("SQLite has no locking reads, and the history has some")
	}
}
