package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"isovet/collect/driver"
)

// snapshot is a snapshot of PostgreSQL: it shows the transactions below xmax except those in xip, which were in
// progress.
type snapshot struct {
	xmax uint64
	xip  []uint64 // in order
}

func parseSnapshot(s string) (snapshot, error) {
	f := strings.SplitN(s, ":", 3)
	bad := fmt.Errorf("snapshot %q; expected xmin:xmax:xip,…", s)
	if len(f) != 3 {
		return snapshot{}, bad
	}
	var x snapshot
	var err error
	if x.xmax, err = strconv.ParseUint(f[1], 10, 64); err != nil {
		return x, bad
	}
	for rest := f[2]; rest != ""; {
		var one string
		one, rest, _ = strings.Cut(rest, ",")
		id, err := strconv.ParseUint(one, 10, 64)
		if err != nil {
			return x, bad
		}
		x.xip = append(x.xip, id)
	}
	slices.Sort(x.xip)
	return x, nil
}

func (s snapshot) sees(xid uint64) bool {
	if xid >= s.xmax {
		return false
	}
	_, running := slices.BinarySearch(s.xip, xid)
	return !running
}

// finished counts the transactions that had ended when the snapshot was taken.
func (s snapshot) finished() uint64 { return s.xmax - uint64(len(s.xip)) }

// Resolve derives timestamps from snapshots. The snapshots of one primary are ordered by inclusion, so that the number
// of finished transactions sorts them. A committed transaction comes just before the first snapshot that shows it. If
// several come before the same snapshot, no snapshot can tell their order, and any is right; they are sorted by xid.
// Commits and snapshots are then numbered in this order. Commit LSN, xid and commit time give wrong orders: a commit
// record is written before the transaction becomes visible.
//
// If a transaction is unknown and a snapshot shows it as finished, the server is asked whether it committed. Cost: n
// log n.
func (p *server) Resolve(ctx context.Context, txns []driver.Stamped) error {
	unknown := map[uint64]bool{}
	for i := range txns {
		if t := &txns[i]; !t.Committed && t.XID != 0 {
			unknown[t.XID] = false
		}
	}
	if len(unknown) > 0 {
		c, err := p.dial(ctx, 0)
		if err != nil {
			return err
		}
		defer c.Close(ctx)
		for xid := range unknown {
			v, err := ask(c, fmt.Sprintf("select coalesce(pg_xact_status('%d'::xid8), '')", xid))
			if err != nil {
				return err
			}
			unknown[xid] = v == "committed"
		}
	}
	return chain(txns, func(xid uint64) bool { return unknown[xid] })
}

// chain numbers the snapshots and commits. committed reports whether a transaction of unknown outcome committed.
func chain(txns []driver.Stamped, committed func(xid uint64) bool) error {
	type taken struct {
		snapshot
		txn int
	}
	var snaps []taken
	for i := range txns {
		txns[i].Start, txns[i].Commit = driver.NoTime, driver.NoTime
		if txns[i].Snapshot == "" {
			continue
		}
		s, err := parseSnapshot(txns[i].Snapshot)
		if err != nil {
			return err
		}
		snaps = append(snaps, taken{s, i})
	}
	slices.SortStableFunc(snaps, func(a, b taken) int { return cmp.Compare(a.finished(), b.finished()) })
	type commit struct {
		gap int
		xid uint64
		txn int
	}
	var commits []commit
	for i := range txns {
		t := &txns[i]
		if t.XID == 0 || !t.Committed && !committed(t.XID) {
			continue
		}
		gap := sort.Search(len(snaps), func(j int) bool { return snaps[j].sees(t.XID) })
		commits = append(commits, commit{gap, t.XID, i})
	}
	slices.SortFunc(commits, func(a, b commit) int {
		return cmp.Or(cmp.Compare(a.gap, b.gap), cmp.Compare(a.xid,
			b.xid))
	})
	ts := int64(0)
	for j := 0; j <= len(snaps); j++ {
		for len(commits) > 0 && commits[0].gap == j {
			ts++
			txns[commits[0].txn].Commit = ts
			commits = commits[1:]
		}
		if j < len(snaps) {
			ts++
			t := &txns[snaps[j].txn]
			t.Start = ts
			if t.XID == 0 && t.Committed {
				t.Commit = ts
			}
		}
	}
	return nil
}
