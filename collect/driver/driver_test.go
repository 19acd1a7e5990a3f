package driver

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"isovet/internal/test/histtest/randtest"
)

func TestRedact(t *testing.T) {
	for in, want := range map[string]string{
		"postgres://me:s3cret@host:5432/db?sslmode=disable": "postgres://…@host:5432/db?sslmode=disable",
		"postgres://host/db?user=me&password=s3cret&x=1":    "postgres://host/db?user=me&password=…&x=1",
		"mysql://root@h/d": "mysql://…@h/d",
		"sqlite:":          "sqlite:",
		"redis://:p@w@h/0": "redis://…@h/0",
	} {
		if got := Redact(in); got != want {
			t.Errorf("Redact(%s) = %s, expected %s", in, got, want)
		}
	}
}

// TestNoPasswordInErrors opens databases that are not there.
func TestNoPasswordInErrors(t *testing.T) {
	for _, url := range []string{
		"postgres://me:s3cret@127.0.0.1:1/db", "postgres://127.0.0.1:1/db?user=me&password=s3cret",
		"mysql://me:s3cret@127.0.0.1:1/db",
		"redis://me:s3cret@127.0.0.1:1/0", "etcd://me:s3cret@127.0.0.1:1", "postgres://me:s3cret@127.0.0.1:port/db",
		"mysql://me:s3cret@%zz/db",
		"nothing://me:s3cret@host/", "redis://me:s3cret@127.0.0.1:1/notanumber", "postgres://me:s3cret%2Fx@[::1:5/db",
	} {
		db, err := Open(context.Background(), []string{url}, Options{})
		if err == nil {
			t.Errorf("%s: opened as %v", url, db.Info())
			continue
		}
		if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("the error shows the password: %v", err)
		}
	}
}

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
		var stamps []Stamped
		var of []*txn
		for _, x := range all {
			if !x.done {
				continue
			}
			text := fmt.Sprintf("%d:%d:%s", 1, x.snap.xmax,
				strings.Trim(strings.Join(strings.Fields(fmt.Sprint(x.snap.xip)), ","), "[]"))
			stamps = append(stamps, Stamped{Stamp: Stamp{Snapshot: text, XID: x.xid}, Committed: true})
			of = append(of, x)
		}
		if err := chain(stamps, func(uint64) bool { return false }); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for i, r := range of {
			if stamps[i].Start == NoTime || stamps[i].Commit == NoTime || stamps[i].Commit < stamps[i].Start {
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

// TestTexts: what key-value stores hold comes back as it was.
func TestTexts(t *testing.T) {
	for _, r := range []Row{{}, {Version: 7, Payload: -5}, {Version: 1 << 52, Payload: 1 << 62},
		{Version: 9, Dead: true}, {Version: 3, Wide: []int64{}}, {Version: 3, Payload: 1, Wide: []int64{5, -7,
			1 << 60}}} {
		got, err := parseRow(string(rowText(r)))
		if err != nil || !reflect.DeepEqual(got, r) {
			t.Errorf("%+v came back as %+v, %v", r, got, err)
		}
	}
	list := ""
	for _, e := range []int64{5, 1, 12} {
		list = string(appended(list, e))
	}
	if got, err := parseList(nil, list); err != nil || !slices.Equal(got, []int64{5, 1, 12}) {
		t.Errorf("list %q: %v, %v", list, got, err)
	}
	if slices.Compare(kvKey("r", -1), kvKey("r", 0)) >= 0 || slices.Compare(kvKey("r", 255), kvKey("r", 256)) >= 0 {
		t.Error("keys are not in the order of their numbers")
	}
	if _, err := parseRow("x y"); err == nil {
		t.Error("a bad row is taken")
	}
}

// TestIsolationNames: every driver knows the names of its own list, and refuses others with the list.
func TestIsolationNames(t *testing.T) {
	for _, s := range All() {
		for _, entry := range s.Isolations {
			names := strings.Split(entry, "=")
			for _, n := range names {
				got, err := isolation(s, strings.ToUpper(strings.ReplaceAll(n, "-", " ")))
				if err != nil || got != names[0] {
					t.Errorf("%s: %q is %q, %v; expected %q", s.Name, n, got, err, names[0])
				}
			}
		}
		if _, err := isolation(s, "nonsense"); !errors.Is(err, ErrUnsupported) {
			t.Errorf("%s: nonsense: %v", s.Name, err)
		}
	}
}
