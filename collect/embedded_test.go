package collect_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"isovet/check"
	"isovet/collect"
	"isovet/collect/driver"
	"isovet/collect/hunt"
	"isovet/datasets/workload"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
	"isovet/level"
)

func run(t *testing.T, c collect.Config) *collect.Result {
	t.Helper()
	return must.Get(collect.Run(context.Background(), c))(t)
}

// TestEmbedded: what SQLite and Badger promise holds, and the recorded history is sound.
func TestEmbedded(t *testing.T) {
	for _, db := range []string{"sqlite:", "badger:", "sqlite:" + filepath.Join(t.TempDir(), "f"), "badger:" +
		t.TempDir()} {
		r := run(t, collect.Config{DB: []string{db}, Workload: "smallbank", Keys: 30, Txns: 300, Sessions: 8, Seed: 7})
		verdict(t, r.History, level.Serializable, evidence.Holds)
		verdict(t, r.History, level.StrictSerializable, evidence.Holds)
		sound(t, r)
		must.Equal(t, r.Summary.Committed, 300, "%s: committed", db)
	}
}

// TestNoConflicts: without conflict detection Badger loses updates.
func TestNoConflicts(t *testing.T) {
	r := run(t, collect.Config{DB: []string{"badger:"}, Isolation: "no-conflicts", Workload: "rmw", Keys: 10,
		Txns: 1000, Sessions: 8})
	verdict(t, r.History, level.Serializable, evidence.Violated)
	verdict(t, r.History, level.SnapshotIsolation, evidence.Violated)
	sound(t, r)
}

// TestLeftBehind: a database that is there before is there after, and holds nothing of ours.
func TestLeftBehind(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mine.db")
	run(t, collect.Config{DB: []string{"sqlite:" + file}, Workload: "rmw", Txns: 50, Sessions: 2})
	db := must.Get(driver.Open(context.Background(), []string{"sqlite:" + file}, driver.Options{}))(t)
	defer db.Close()
	if _, err := db.Connect(context.Background(), 0); err == nil {
		t.Error("the tables are still there")
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}

// sound checks what every recorded history must have, whatever the database does.
func sound(t *testing.T, r *collect.Result) {
	t.Helper()
	h := r.History
	committed := 0
	for s := range h.NumSessions() {
		last := int64(0)
		for _, x := range h.SessTxn[h.SessOff[s]:h.SessOff[s+1]] {
			if x == h.Init {
				continue
			}
			if h.Txns.Status[x] == history.Committed {
				committed++
			}
			lo, hi := h.TxnOps(x)
			at := h.Start(x)
			if at < last {
				t.Fatalf("transaction %d begins at %d, before %d, the end of the one before", h.Txns.ID[x], at, last)
			}
			for op := lo; op < hi; op++ {
				if h.OpStart(op) < at || h.OpEnd(op) < h.OpStart(op) {
					t.Fatalf("transaction %d: operation %d at %d to %d, after %d", h.Txns.ID[x], op-lo, h.OpStart(op),
						h.OpEnd(op), at)
				}
				at = h.OpEnd(op)
			}
			// The answer of a statement that is a transaction by itself comes behind its commit.
			if h.Commit(x) < at && (hi != lo+1 || h.Commit(x) > h.OpStart(lo)) {
				t.Fatalf("transaction %d: commit at %d, after %d", h.Txns.ID[x], h.Commit(x), at)
			}
			last = max(at, h.Commit(x))
			if end := h.End(x); end != history.NoTime {
				if end < last {
					t.Fatalf("transaction %d ends at %d, before its commit at %d", h.Txns.ID[x], end, last)
				}
				last = end
			} else if h.Txns.Status[x] != history.Unknown {
				t.Fatalf("transaction %d has no end", h.Txns.ID[x])
			}
		}
	}
	must.Equal(t, committed, r.Summary.Committed, "committed in the history")
	// Every key of the initial transaction is touched by another one, and no version is written twice, but of counters.
	counts := strings.HasPrefix(r.Summary.Workload, "counters")
	writer := make([]uint32, h.NumVersions())
	touched := make([]bool, h.NumKeys())
	for op := range uint32(h.NumOps()) {
		x := h.TxnOf(op)
		k := h.OpKey(op)
		if k == history.None {
			continue
		}
		if x != h.Init {
			touched[k] = true
		}
		if kind := h.Ops.Kind[op]; kind != history.Write && kind != history.Append {
			continue
		}
		v := h.Ops.Ver[op]
		if !counts && h.VerValue(v).Kind != history.Null && writer[v] != 0 {
			t.Fatalf("transaction %d writes a version that another one has written", h.Txns.ID[x])
		}
		writer[v] = x + 1
	}
	if h.Init != history.None && !h.HasPredicates() {
		lo, hi := h.TxnOps(h.Init)
		for op := lo; op < hi; op++ {
			if !touched[h.OpKey(op)] {
				t.Fatalf("the initial transaction loads %s, which nobody touched", h.KeyString(h.OpKey(op)))
			}
		}
	}
}

// TestEveryWorkload runs each of them on SQLite, which is serializable whatever the workload.
func TestEveryWorkload(t *testing.T) {
	for _, info := range workload.All() {
		for _, v := range info.Variants[:histtest.Long(1, len(info.Variants))] {
			r, err := collect.Run(context.Background(), collect.Config{DB: []string{"sqlite:"}, Workload: info.Name,
				Variant: v.Name, Keys: min(info.Keys, 60), Txns: 25, Sessions: 4, Duration: time.Minute})
			if err != nil {
				t.Errorf("%s/%s: %v", info.Name, v.Name, err)
				continue
			}
			if v.Values == 0 {
				sound(t, r)
			} // else it is meant to write versions more than once
			if r.Summary.Committed == 0 {
				t.Errorf("%s/%s: nothing has committed", info.Name, v.Name)
			}
			if !r.History.HasPredicates() && !r.History.HasLists() {
				verdict(t, r.History, level.Serializable, evidence.Holds)
			}
		}
	}
}

// TestTimestamps: Badger's own timestamps explain every read, and order every two writers of a key. It validates what
// was read: of mix, two blind writers of a key may overlap, and by their commits alone its runs are serial.
func TestTimestamps(t *testing.T) {
	for _, w := range []string{"smallbank", "rmw", "rows", "mix"} {
		r := run(t, collect.Config{DB: []string{"badger:"}, Workload: w, Keys: 20, Txns: 300, Sessions: 8,
			Timestamps: true})
		sound(t, r)
		stamped(t, r.History, w == "mix")
	}
}

// stamped checks that a history's timestamps explain it: as snapshots or, where two blind writers may overlap, as a
// serial order.
func stamped(t *testing.T, h *history.History, serial bool) {
	t.Helper()
	l := map[bool]level.Level{false: level.SnapshotIsolation, true: level.Serializable}[serial]
	c := must.Get(check.ByName("chronos"))(t)
	if a := must.Get(check.Run(t.Context(), c, h, check.Options{Level: l, ReadOnlyAtStart: serial}))(t); a.Verdict !=
		evidence.Holds {
		t.Errorf("at %s by its timestamps: %s %s %v", l, a.Verdict, a.Reason, a.Anomalies)
	}
}

// TestInterrupted: what was done by then is kept.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	c := collect.Config{DB: []string{"badger:"}, Workload: "rmw", Txns: 1 << 40, Sessions: 4}
	c.Progress = func(p collect.Progress) {
		if p.Committed > 0 {
			cancel()
		}
	}
	r := must.Get(collect.Run(ctx, c))(t)
	if !r.Interrupted || r.Summary.Committed == 0 {
		t.Errorf("interrupted: %v, %d committed", r.Interrupted, r.Summary.Committed)
	}
	sound(t, r)
	verdict(t, r.History, level.Serializable, evidence.Holds)
}

func TestBadConfig(t *testing.T) {
	for _, c := range []collect.Config{
		{},
		{DB: []string{"oracle:"}},
		{DB: []string{"sqlite:", "sqlite:"}},
		{DB: []string{"sqlite:", "badger:"}},
		{DB: []string{"sqlite:"}, Isolation: "read-committed"},
		{DB: []string{"sqlite:"}, Timestamps: true},
		{DB: []string{"sqlite:"}, Workload: "nope"},
		{DB: []string{"sqlite:"}, Txns: -1},
		{DB: []string{"sqlite:"}, Fault: collect.Fault{Kind: collect.Kill, Every: time.Second}},
		{DB: []string{"nothing:start"}},
	} {
		if r, err := collect.Run(context.Background(), c); err == nil || r != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestHuntEmbedded(t *testing.T) {
	c := hunt.Config{Config: collect.Config{DB: []string{"badger:"}, Isolation: "no-conflicts", Workload: "rmw",
		Sessions: 8, Txns: 300}}
	c.For = 20 * time.Second
	h, err := hunt.Run(context.Background(), c)
	must.OK(t, err)
	if !h.Violated || h.Last == nil || len(h.Last.Anomalies) == 0 {
		t.Errorf("no violation in %d rounds", len(h.Rounds))
	}
	c.Isolation, c.For = "serializable", 10*time.Minute
	ctx, enough := context.WithCancel(t.Context())
	c.Told = func(r hunt.Round) {
		if r.Number == 3 {
			enough()
		}
	}
	if h, err = hunt.Run(ctx, c); err != nil || h.Violated || h.Undecided > 0 || len(h.Rounds) == 0 {
		t.Errorf("serializable: %v, violated %v, %d rounds, %d undecided", err, h.Violated, len(h.Rounds), h.Undecided)
	}
}
