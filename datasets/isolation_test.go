package datasets

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"isovet/history"
	"isovet/internal/test/histtest"
)

// replaySerial runs the committed transactions in the given order and reports the first read that it does not explain.
func replaySerial(h *history.History, order []uint32) error {
	state := slices.Clone(h.InitVer)
	rows := newRows(h)
	lists := listState{}
	for _, t := range order {
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi; op++ {
			v := h.Ops.Ver[op]
			switch h.Ops.Kind[op] {
			case history.PredRead, history.PredWrite:
				if err := rows.explains(op, state); err != nil {
					return fmt.Errorf("transaction %d: %w", h.Txns.ID[t], err)
				}
				for j := h.Preds.Off[v]; j < h.Preds.Off[v+1]; j++ {
					if n := h.Preds.New[j]; n != history.None {
						state[h.VerKey[n]] = n
					}
				}
				continue
			case history.Append:
				lists[h.VerKey[v]] = append(lists[h.VerKey[v]], v)
				continue
			case history.ReadList:
				if !slices.Equal(lists[h.Lists.Key[v]], h.Lists.Elem[h.Lists.Off[v]:h.Lists.Off[v+1]]) {
					return fmt.Errorf("transaction %d reads another list of key %s", h.Txns.ID[t],
						h.KeyString(h.Lists.Key[v]))
				}
				continue
			}
			k := h.VerKey[v]
			if h.Ops.Kind[op] == history.Write {
				state[k] = v
			} else if state[k] != v {
				return fmt.Errorf("transaction %d reads %s of key %s", h.Txns.ID[t], h.ValueString(v), h.KeyString(k))
			}
		}
	}
	return nil
}

// replaySnapshots runs begins and commits in the order of the database timestamps: snapshot reads, first committer
// wins.
func replaySnapshots(h *history.History, txns []uint32) error {
	type event struct {
		ts  int64
		t   uint32
		end bool
	}
	var events []event
	for _, t := range txns {
		events = append(events, event{h.StartTS(t), t, false}, event{h.CommitTS(t), t, true})
	}
	slices.SortFunc(events, func(a, b event) int { return cmp.Compare(a.ts, b.ts) })
	state := slices.Clone(h.InitVer)
	since := make([]int64, h.NumKeys()) // commit_ts of the version
	own := map[uint32]uint32{}
	rows := newRows(h)
	lists, mine := listState{}, listState{}
	for _, e := range events {
		lo, hi := h.TxnOps(e.t)
		clear(own)
		clear(mine)
		for op := lo; op < hi; op++ {
			v := h.Ops.Ver[op]
			switch h.Ops.Kind[op] {
			case history.PredRead, history.PredWrite:
				if !e.end {
					seen := slices.Clone(state)
					for k, v := range own {
						seen[k] = v
					}
					if err := rows.explains(op, seen); err != nil {
						return fmt.Errorf("transaction %d: %w", h.Txns.ID[e.t], err)
					}
				}
				for j := h.Preds.Off[v]; j < h.Preds.Off[v+1]; j++ {
					if n := h.Preds.New[j]; n != history.None {
						own[h.VerKey[n]] = n
					}
				}
				continue
			case history.Append:
				k := h.VerKey[v]
				own[k] = v
				if e.end {
					lists[k] = append(lists[k], v)
				}
				mine[k] = append(mine[k], v)
				continue
			case history.ReadList:
				k := h.Lists.Key[v]
				if want := append(slices.Clone(lists[k]), mine[k]...); !e.end && !slices.Equal(want,
					h.Lists.Elem[h.Lists.Off[v]:h.Lists.Off[v+1]]) {
					return fmt.Errorf("transaction %d reads another list of key %s", h.Txns.ID[e.t], h.KeyString(k))
				}
				continue
			}
			k := h.VerKey[v]
			if h.Ops.Kind[op] == history.Write {
				own[k] = v
				continue
			}
			want, ok := own[k]
			if !ok {
				want = state[k]
			}
			if !e.end && want != v {
				return fmt.Errorf("transaction %d reads %s of key %s", h.Txns.ID[e.t], h.ValueString(v), h.KeyString(k))
			}
		}
		if !e.end {
			continue
		}
		for k, v := range own {
			if since[k] > h.StartTS(e.t) {
				return fmt.Errorf("transaction %d overwrites a concurrent version of key %s", h.Txns.ID[e.t],
					h.KeyString(k))
			}
			state[k], since[k] = v, e.ts
		}
	}
	return nil
}

// committed returns the committed transactions by commit timestamp; those of unknown outcome that took effect are left
// out, so only histories without any can be replayed.
func committed(h *history.History) []uint32 {
	var out []uint32
	for t := range uint32(h.NumTxns()) {
		if t != h.Init && h.Txns.Status[t] == history.Committed {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b uint32) int { return cmp.Compare(h.CommitTS(a), h.CommitTS(b)) })
	return out
}

// checkRealTime checks that an order of commits respects real time and sessions.
func checkRealTime(h *history.History, order []uint32) error {
	latest := int64(history.NoTime) // latest start so far
	for _, t := range order {
		if h.End(t) < latest {
			return fmt.Errorf("transaction %d ends before an earlier one starts", h.Txns.ID[t])
		}
		latest = max(latest, h.Start(t))
	}
	return nil
}

// intervals checks that client times are nested and run forwards.
func intervals(h *history.History) error {
	for t := range uint32(h.NumTxns()) {
		if t == h.Init {
			continue
		}
		at := h.Start(t)
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi; op++ {
			if h.OpStart(op) <= at || h.OpEnd(op) <= h.OpStart(op) {
				return fmt.Errorf("transaction %d: operation %d has times [%d, %d] after %d", h.Txns.ID[t], op-lo,
					h.OpStart(op), h.OpEnd(op), at)
			}
			at = h.OpEnd(op)
		}
		if h.End(t) != history.NoTime && h.End(t) <= at {
			return fmt.Errorf("transaction %d ends at %d, before its last operation", h.Txns.ID[t], h.End(t))
		}
	}
	for s := range h.NumSessions() {
		in := h.SessTxn[h.SessOff[s]:h.SessOff[s+1]]
		for i := 1; i < len(in); i++ {
			if h.End(in[i-1]) != history.NoTime && h.Start(in[i]) <= h.End(in[i-1]) {
				return fmt.Errorf("transaction %d begins before %d of its session ends", h.Txns.ID[in[i]],
					h.Txns.ID[in[i-1]])
			}
		}
	}
	return nil
}

func TestIsolation(t *testing.T) {
	for i, s := range specs() {
		if i%3 > 0 && !histtest.Long(false, true) {
			continue
		}
		for seed := range histtest.Long[uint64](1, 3) {
			s.Seed = seed
			s.Isolation = "serializable"
			h := generate(t, s)
			if n := len(committed(h)); n != s.Txns {
				t.Errorf("%+v: %d committed", s, n)
			}
			if err := intervals(h); err != nil {
				t.Errorf("%+v: %v", s, err)
			}
			if s.UnknownRate > 0 {
				continue
			}
			order := committed(h)
			if err := replaySerial(h, order); err != nil {
				t.Errorf("%+v: %v", s, err)
			}
			if err := replaySnapshots(h, order); err != nil {
				t.Errorf("%+v: %v", s, err)
			}
			if err := checkRealTime(h, order); err != nil {
				t.Errorf("%+v: %v", s, err)
			}
			for _, iso := range []string{"snapshot-isolation", "serializable-snapshot"} {
				s.Isolation = iso
				h := generate(t, s)
				order := committed(h)
				if len(order) != s.Txns {
					t.Errorf("%+v: %d committed", s, len(order))
				}
				if err := replaySnapshots(h, order); err != nil {
					t.Errorf("%+v: %v", s, err)
				}
				if err := checkRealTime(h, order); err != nil {
					t.Errorf("%+v: %v", s, err)
				}
				if err := intervals(h); err != nil {
					t.Errorf("%+v: %v", s, err)
				}
				if iso == "serializable-snapshot" {
					if a, b := dependencyCycle(h, order); a != b {
						t.Errorf("%+v: transactions %d and %d lie on a cycle", s, a, b)
					}
				}
			}
		}
	}
}

// dependencyCycle looks for a cycle of dependencies, the version order being that of the commits; it returns two
// transactions of one, or twice the same. A condition was evaluated on the last versions committed before its
// transaction began; what changes its truth of a key later depends on it, what changed it before is what it depends on
// (Adya 1999, Definitions 4.4, 4.5).
func dependencyCycle(h *history.History, order []uint32) (int64, int64) {
	type install struct{ ver, txn uint32 }
	chain := make([][]install, h.NumKeys()) // versions in their order
	for k, v := range h.InitVer {
		chain[k] = append(chain[k], install{v, history.None})
	}
	// each calls f with the items that a transaction reads and writes.
	each := func(t uint32, f func(v uint32, write bool)) {
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi; op++ {
			v := h.Ops.Ver[op]
			switch h.Ops.Kind[op] {
			case history.Read, history.Write, history.Append:
				f(v, h.Ops.Kind[op] != history.Read)
			case history.ReadList:
				if n := h.Lists.Off[v+1]; n > h.Lists.Off[v] {
					f(h.Lists.Elem[n-1], false)
				}
			default:
				for j := h.Preds.Off[v]; j < h.Preds.Off[v+1]; j++ {
					if old := h.Preds.Old[j]; old != history.None {
						f(old, false)
					}
					if n := h.Preds.New[j]; n != history.None {
						f(n, true)
					}
				}
			}
		}
	}
	for _, t := range order {
		each(t, func(v uint32, write bool) {
			if !write {
				return
			}
			c := chain[h.VerKey[v]]
			if last := &c[len(c)-1]; last.txn == t {
				last.ver = v // nobody else sees what a transaction overwrites itself
				return
			}
			chain[h.VerKey[v]] = append(c, install{v, t})
		})
	}
	// seen returns the place in its chain of a version that t reads, -1 for a version of t's own. Where there are
	// several of the value (deletions) it is the last that was committed when t began.
	seen := func(v, t uint32) int {
		at, n := -1, 0
		for i, x := range chain[h.VerKey[v]] {
			if x.ver == v {
				if n++; n == 1 || x.txn == history.None || h.CommitTS(x.txn) < h.StartTS(t) {
					at = i
				}
			}
		}
		return at
	}
	edges := make([][]uint32, h.NumTxns())
	in := make([]int, h.NumTxns())
	add := func(a, b uint32) {
		if a != b && a != history.None && b != history.None {
			edges[a] = append(edges[a], b)
			in[b]++
		}
	}
	for _, c := range chain {
		for i := range c[1:] {
			add(c[i].txn, c[i+1].txn)
		}
	}
	rows := newRows(h)
	for _, t := range order {
		each(t, func(v uint32, write bool) {
			if write {
				return
			}
			c := chain[h.VerKey[v]]
			if i := seen(v, t); i >= 0 {
				add(c[i].txn, t)
				if i+1 < len(c) {
					add(t, c[i+1].txn)
				}
			}
		})
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi; op++ {
			if h.Ops.Kind[op] != history.PredRead && h.Ops.Kind[op] != history.PredWrite {
				continue
			}
			for _, c := range chain {
				was := rows.matches(op, c[0].ver)
				for _, x := range c[1:] {
					is := rows.matches(op, x.ver)
					if is != was && h.CommitTS(x.txn) < h.StartTS(t) {
						add(x.txn, t)
					} else if is != was {
						add(t, x.txn)
					}
					was = is
				}
			}
		}
	}
	var queue []uint32
	for _, t := range order {
		if in[t] == 0 {
			queue = append(queue, t)
		}
	}
	for len(queue) > 0 {
		t := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, u := range edges[t] {
			if in[u]--; in[u] == 0 {
				queue = append(queue, u)
			}
		}
	}
	var left []int64
	for _, t := range order {
		if in[t] > 0 {
			left = append(left, h.Txns.ID[t])
		}
	}
	if len(left) == 0 {
		return 0, 0
	}
	return left[0], left[len(left)-1]
}

// TestIsolationIsWeak: each isolation shows what it permits, on workloads that ask for it.
func TestIsolationIsWeak(t *testing.T) {
	lost := func(h *history.History) int { // two committed transactions overwrite one version that both have read
		first := map[uint32]uint32{}
		n := 0
		for _, x := range committed(h) {
			lo, hi := h.TxnOps(x)
			for op := lo; op < hi; op++ {
				if h.Ops.Kind[op] != history.Read {
					continue
				}
				v := h.Ops.Ver[op]
				for w := op + 1; w < hi; w++ {
					if h.Ops.Kind[w] == history.Write && h.OpKey(w) == h.VerKey[v] {
						if y, ok := first[v]; ok && y != x {
							n++
						}
						first[v] = x
					}
				}
			}
		}
		return n
	}
	aborted := func(h *history.History) int { // committed reads of what an aborted transaction wrote
		dirty := map[uint32]bool{}
		for x := range uint32(h.NumTxns()) {
			lo, hi := h.TxnOps(x)
			for op := lo; op < hi && h.Txns.Status[x] == history.Aborted; op++ {
				if h.Ops.Kind[op] == history.Write {
					dirty[h.Ops.Ver[op]] = true
				}
			}
		}
		n := 0
		for _, x := range committed(h) {
			lo, hi := h.TxnOps(x)
			for op := lo; op < hi; op++ {
				if h.Ops.Kind[op] == history.Read && dirty[h.Ops.Ver[op]] {
					n++
				}
			}
		}
		return n
	}
	cyclic := func(h *history.History) int {
		if a, b := dependencyCycle(h, committed(h)); a != b {
			return 1
		}
		return 0
	}
	for _, c := range []struct {
		spec             Spec
		lost, dirty, skw bool
	}{
		{Spec{Workload: "rmw", Keys: 20, Txns: 2000, Isolation: "read-uncommitted", DBTimes: true, AbortRate: 0.05},
			true, true, true},
		{Spec{Workload: "rmw", Keys: 20, Txns: 2000, Isolation: "read-committed", DBTimes: true, AbortRate: 0.05}, true,
			false, true},
		{Spec{Workload: "smallbank", Keys: 5, Txns: 5000, Isolation: "snapshot-isolation", DBTimes: true}, false, false,
			true},
		{Spec{Workload: "smallbank", Keys: 5, Txns: 5000, Isolation: "serializable-snapshot", DBTimes: true}, false,
			false, false},
		{Spec{Workload: "smallbank", Keys: 5, Txns: 5000, DBTimes: true, AbortRate: 0.05}, false, false, false},
	} {
		h := generate(t, c.spec)
		l, d, s := lost(h), aborted(h), cyclic(h)
		if l > 0 != c.lost || d > 0 != c.dirty || s > 0 != c.skw {
			t.Errorf("%+v: %d lost updates, %d aborted reads, cyclic %d", c.spec, l, d, s)
		}
	}
}
