package postgres

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"isovet/collect/driver"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// TestChain plays a database with snapshot reads, where transactions become visible in another order than they got
// their ids, and compares the timestamps with the definition: a snapshot sees a commit if and only if its start_ts is
// above the commit_ts.
func TestChain(t *testing.T) {
	randtest.Seeds(t, 500, func(t testing.TB, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 1))
		type txn struct {
			xid  uint64
			snap snapshot
			done bool
		}
		var all []*txn
		var open []int
		next := uint64(700)
		var running []uint64
		for len(all) < 60 || len(open) > 0 {
			switch k := rng.IntN(4); {
			case k == 0 && len(all) < 60:
				s := snapshot{next, slices.Clone(running)}
				slices.Sort(s.xip)
				all = append(all, &txn{snap: s})
				open = append(open, len(all)-1)
			case k == 1 && len(open) > 0: // the first write gets an id
				if x := all[open[rng.IntN(len(open))]]; x.xid == 0 {
					x.xid = next
					running = append(running, next)
					next++
				}
			case k >= 2 && len(open) > 0:
				i := rng.IntN(len(open))
				x := all[open[i]]
				open = slices.Delete(open, i, i+1)
				x.done = rng.IntN(10) > 0 // else aborted
				running = slices.DeleteFunc(running, func(id uint64) bool { return id == x.xid })
			}
		}
		var stamps []driver.Stamped
		var of []*txn
		for _, x := range all {
			if !x.done {
				continue
			}
			text := fmt.Sprintf("%d:%d:%s", 1, x.snap.xmax,
				strings.Trim(strings.Join(strings.Fields(fmt.Sprint(x.snap.xip)), ","), "[]"))
			stamps = append(stamps, driver.Stamped{Stamp: driver.Stamp{Snapshot: text, XID: x.xid}, Committed: true})
			of = append(of, x)
		}
		must.OK(t, chain(stamps, func(uint64) bool { return false }), "seed %d", seed)
		for i, r := range of {
			if stamps[i].Start == driver.NoTime || stamps[i].Commit == driver.NoTime ||
				stamps[i].Commit < stamps[i].Start {
				t.Fatalf("seed %d: transaction %d has timestamps %d, %d", seed, i, stamps[i].Start, stamps[i].Commit)
			}
			for j, w := range of {
				if w.xid == 0 || i == j {
					continue
				}
				if sees := r.snap.sees(w.xid); sees != (stamps[j].Commit < stamps[i].Start) {
					t.Fatalf("seed %d: snapshot %d sees transaction %d: %v, but its commit is %d and the snapshot %d",
						seed, i, w.xid, sees, stamps[j].Commit, stamps[i].Start)
				}
			}
		}
	})
}

func TestParseSnapshot(t *testing.T) {
	for _, bad := range []string{"", "1:2", "1:x:", "1:2:3,x", "1:2:,"} {
		if _, err := parseSnapshot(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	s, err := parseSnapshot("10:20:14,12")
	if err != nil || s.sees(12) || s.sees(14) || s.sees(20) || !s.sees(13) || !s.sees(9) || s.finished() != 18 {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestWritten(t *testing.T) {
	got := written("select cast($1 as bigint), cast($2 as text), $3", [][]byte{[]byte("-1"), []byte("1,2"), nil})
	must.Equal(t, got, "select cast('-1' as bigint), cast('1,2' as text), null", "the statement")
}
