package random

import (
	"bytes"
	"testing"

	"isovet/evidence"
	"isovet/history"
	"isovet/history/format/jsonl"
	"isovet/internal/test/must"
	"isovet/internal/test/oracle"
	"isovet/level"
)

// judged are the levels that brute force decides for Tiny's histories.
var judged = []level.Level{level.StrictSerializable, level.Serializable, level.SnapshotIsolation,
	level.SessionSnapshotIsolation, level.SessionSerializable}

// TestTinyMix: at each of the six levels and with every option, neither verdict is rare.
func TestTinyMix(t *testing.T) {
	for _, c := range []struct {
		name string
		o    Options
	}{
		{"plain", Options{}},
		{"duplicates", Options{Duplicates: true}},
		{"deletes", Options{Deletes: true}},
		{"aborted", Options{Aborted: true}},
		{"unknown", Options{Unknown: true}},
		{"all", Options{Duplicates: true, Deletes: true, Aborted: true, Unknown: true, Keys: 3}},
		{"predicates", Options{Predicates: true}},
		{"predicates, deletes", Options{Predicates: true, Deletes: true, Keys: 3}},
		{"predicates, all", Options{Predicates: true, Duplicates: true, Deletes: true, Aborted: true, Unknown: true,
			Keys: 3}},
	} {
		for _, l := range judged {
			const n = 150
			valid := 0
			for seed := range uint64(n) {
				r, err := oracle.Check(Tiny(seed, c.o), oracle.Options{Level: l, VerdictOnly: true})
				must.OK(t, err)
				switch r.Verdict.String() {
				case "valid":
					valid++
				case "unknown":
					t.Fatalf("seed %d at %s: %s", seed, l, r.Reason)
				}
			}
			t.Logf("%s at %s: %d %% valid", c.name, l, 100*valid/n)
			must.Be(t, valid >= n/4 && valid <= n*3/4, "%s at %s: %d of %d valid", c.name, l, valid, n)
		}
	}
}

// TestTinyTies: zero-length, touching and tied intervals occur.
func TestTinyTies(t *testing.T) {
	var zero, touch, tie int
	for seed := range uint64(500) {
		h := Tiny(seed, Options{})
		for a := range uint32(h.NumTxns()) {
			if a == h.Init {
				continue
			}
			if h.Start(a) == h.End(a) {
				zero++
			}
			for b := range a {
				if b == h.Init {
					continue
				}
				if h.End(b) == h.Start(a) {
					touch++
				}
				if h.Start(a) == h.Start(b) {
					tie++
				}
			}
		}
	}
	if zero < 20 || touch < 20 || tie < 20 {
		t.Errorf("zero length %d, touching %d, tied %d", zero, touch, tie)
	}
}

func TestRandomDeterminism(t *testing.T) {
	dump := func(h *history.History) string {
		var b bytes.Buffer
		must.OK(t, jsonl.Write(&b, h))
		return b.String()
	}
	seen := map[string]bool{}
	for seed := range uint64(200) {
		o := Options{Deletes: true, Unknown: true}
		a := dump(Medium(seed, o))
		must.Equal(t, a, dump(Medium(seed, o)), "seed %d: made twice", seed)
		seen[a] = true
	}
	if len(seen) < 195 {
		t.Errorf("%d different histories of 200", len(seen))
	}
}

// TestRunsAreValid: before a record is changed, serial runs are strictly serializable, and runs with snapshots satisfy
// strict snapshot isolation.
func TestRunsAreValid(t *testing.T) {
	skewed := 0
	for seed := range uint64(1500) {
		o := Options{Keys: 3, Duplicates: seed%2 == 0, Deletes: seed%3 == 0, Aborted: seed%5 == 0, Unknown: seed%7 == 0,
			Predicates: seed%11 < 5}
		g := newRandomRun(seed, o.or(6, 2, 3, 4))
		l := level.StrictSerializable
		if seed%4 < 2 {
			g.snapshots()
			l = level.StrictSnapshotIsolation
		} else {
			g.serial()
		}
		h := g.build()
		must.Hold(t, valid(t, h, l), "seed %d: the run violates %s", seed, l)
		if l.Snapshot() && !valid(t, h, level.Serializable) {
			skewed++
		}
	}
	must.Be(t, skewed >= 30, "%d of 750 runs with snapshots are not serializable; expected more", skewed)
}

// valid decides a level by brute force.
func valid(t *testing.T, h *history.History, l level.Level) bool {
	t.Helper()
	r, err := oracle.Check(h, oracle.Options{Level: l, VerdictOnly: true, MaxTxns: 16})
	if err != nil || r.Verdict == evidence.Unknown {
		t.Fatalf("brute force: %v: %s", err, r.Reason)
	}
	return r.Verdict == evidence.Holds
}
