package certify_test

import (
	"slices"

	"isovet/history"
	"isovet/level"
)

// explains is the naive twin of the replay of orders: by definition, with maps, each demand for itself.
func explains(h *history.History, l level.Level, order []uint32) bool {
	n := uint32(h.NumTxns())
	events := order
	if l.Serial() {
		events = nil
		for _, t := range order {
			if t >= n {
				return false
			}
			events = append(events, t<<1, t<<1|1)
		}
	}
	begin, commit := map[uint32]int{}, map[uint32]int{}
	for i, e := range events {
		t := e >> 1
		at := begin
		if e&1 == 1 {
			at = commit
		}
		if _, twice := at[t]; twice || t >= n || t == h.Init || h.Txns.Status[t] == history.Aborted {
			return false
		}
		at[t] = i
	}
	if len(begin) != len(commit) {
		return false
	}
	type state struct {
		reg  map[uint32]uint32
		list map[uint32][]uint32
	}
	run := func(s *state, t uint32) bool {
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi; op++ {
			k, v := h.OpKey(op), h.Ops.Ver[op]
			switch h.Ops.Kind[op] {
			case history.Read:
				if s.reg[k] != v {
					return false
				}
			case history.Write:
				s.reg[k] = v
			case history.Append:
				s.list[k] = append(slices.Clone(s.list[k]), v)
			case history.ReadList:
				if !slices.Equal(s.list[k], h.Lists.Elem[h.Lists.Off[v]:h.Lists.Off[v+1]]) {
					return false
				}
			}
		}
		return true
	}
	// The state before event i: everything that committed before, in the order of the commits.
	before := func(i int) *state {
		s := &state{reg: map[uint32]uint32{}, list: map[uint32][]uint32{}}
		for k, v := range h.InitVer {
			s.reg[uint32(k)] = v
		}
		ts := []uint32{}
		if h.Init != history.None {
			ts = append(ts, h.Init)
		}
		for _, e := range events[:i] {
			if e&1 == 1 {
				ts = append(ts, e>>1)
			}
		}
		for _, t := range ts {
			lo, hi := h.TxnOps(t)
			for op := lo; op < hi; op++ {
				switch h.Ops.Kind[op] {
				case history.Write:
					s.reg[h.OpKey(op)] = h.Ops.Ver[op]
				case history.Append:
					s.list[h.OpKey(op)] = append(s.list[h.OpKey(op)], h.Ops.Ver[op])
				}
			}
		}
		return s
	}
	writes := func(t uint32) map[uint32]bool {
		out := map[uint32]bool{}
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi; op++ {
			if k := h.Ops.Kind[op]; k == history.Write || k == history.Append {
				out[h.OpKey(op)] = true
			}
		}
		return out
	}
	for t := range n {
		b, in := begin[t]
		if !in {
			if h.Txns.Status[t] == history.Committed && t != h.Init {
				return false
			}
			continue
		}
		if c, ok := commit[t]; !ok || c < b || !run(before(b), t) {
			return false
		}
		for u := range n {
			bu, in := begin[u]
			if !in || u == t {
				continue
			}
			// First committer wins: not both concurrent and writing one key.
			if bu < commit[t] && b < commit[u] {
				for k := range writes(u) {
					if writes(t)[k] {
						return false
					}
				}
			}
			if h.Txns.Status[u] != history.Committed || b > commit[u] {
				continue
			}
			// t begins before u, which committed, commits.
			if l.Sessions() && h.Txns.Sess[t] == h.Txns.Sess[u] {
				s := h.SessTxn[h.SessOff[h.Txns.Sess[t]]:h.SessOff[h.Txns.Sess[t]+1]]
				if slices.Index(s, u) < slices.Index(s, t) {
					return false
				}
			}
			if l.RealTime() && h.End(u) < h.Start(t) {
				return false
			}
		}
	}
	return true
}
