package timestamp

import (
	"slices"

	"isovet/history"
	"isovet/internal/slice"
	"isovet/internal/test/must"
	"isovet/predicates"
)

// naive evaluates Definitions 4 to 6 directly: every snapshot is computed anew from all transactions. It is the twin of
// Chronos and Aion.
func naive(h *history.History, o Options) []Violation {
	serial := o.Level.Serial()
	var out []Violation
	no := history.None
	var part []uint32 // who takes part
	for t := range uint32(h.NumTxns()) {
		c := commitTS(h, t)
		if c == history.NoTime {
			continue
		}
		if (!serial || o.ReadOnlyAtStart && !writes(h, t)) && h.StartTS(t) > c {
			out = append(out, Violation{Axiom: TIMESTAMPS, Txn: t, Other: no, Key: no, Op: no, Got: no, Want: no})
			continue
		}
		part = append(part, t)
	}
	begin := func(t uint32) int64 {
		if serial && !(o.ReadOnlyAtStart && !writes(h, t)) {
			return h.CommitTS(t)
		}
		return h.StartTS(t)
	}
	// Definition 6, with errata C3; of serializability: everything committed before, and at that moment if t only
	// reads.
	vis := func(u, t uint32) bool {
		if u == t {
			return false
		}
		if !serial {
			return h.CommitTS(u) <= h.StartTS(t)
		}
		return h.CommitTS(u) < begin(t) || h.CommitTS(u) == begin(t) && !writes(h, t)
	}
	type state struct {
		ver  []uint32
		list [][]uint32
		by   []uint32
	}
	apply := func(s *state, t uint32) {
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi; op++ {
			v := h.Ops.Ver[op]
			put := func(v uint32) { s.ver[h.VerKey[v]], s.by[h.VerKey[v]] = v, t }
			switch h.Ops.Kind[op] {
			case history.Write:
				put(v)
			case history.Append:
				k := h.VerKey[v]
				s.list[k] = append(s.list[k], v)
				s.by[k] = t
			case history.PredWrite:
				for _, n := range h.Preds.New[h.Preds.Off[v]:h.Preds.Off[v+1]] {
					put(n)
				}
			}
		}
	}
	initial := func() *state {
		s := &state{ver: slices.Clone(h.InitVer), list: make([][]uint32, h.NumKeys()), by: make([]uint32, h.NumKeys())}
		if h.Init != no {
			apply(s, h.Init)
		}
		for k := range s.by {
			s.by[k] = no
		}
		return s
	}
	// The snapshot of t: what is visible, in the order of Definition 5.
	snapshot := func(t uint32) *state {
		seen := slice.Filter(part, func(u uint32) bool { return writes(h, u) && vis(u, t) })
		slices.SortFunc(seen, func(a, b uint32) int {
			if h.CommitTS(a) < h.CommitTS(b) {
				return -1
			}
			return 1
		})
		s := initial()
		for _, u := range seen {
			apply(s, u)
		}
		return s
	}
	kindOf := newWriters(h)
	// SESSION
	if o.Level.Sessions() {
		for n := range h.NumSessions() {
			var in []uint32
			for _, t := range h.SessTxn[h.SessOff[n]:h.SessOff[n+1]] {
				if slices.Contains(part, t) {
					in = append(in, t)
				}
			}
			for i := 1; i < len(in); i++ {
				a, b := in[i-1], in[i]
				end := h.CommitTS(a)
				if serial {
					end = begin(a)
				}
				if begin(b) < end || serial && begin(b) == end && writes(h, b) && !writes(h, a) {
					out = append(out, Violation{Axiom: SESSION, Txn: b, Other: a, Key: no, Op: no, Got: no, Want: no})
				}
			}
		}
	}
	// NOCONFLICT
	if !serial {
		for _, a := range part {
			for _, b := range part {
				if h.CommitTS(a) >= h.CommitTS(b) || vis(a, b) || vis(b, a) {
					continue
				}
				for k := range uint32(h.NumKeys()) {
					if writesKeyOf(h, a, k) && writesKeyOf(h, b, k) {
						out = append(out, Violation{Axiom: NOCONFLICT, Txn: b, Other: a, Key: k, Op: no, Got: no,
							Want: no})
					}
				}
			}
		}
	}
	// INT and EXT
	for _, t := range part {
		s := snapshot(t)
		at := begin(t)
		last := map[uint32]uint32{} // register → version of the last own operation
		wrote := map[uint32]uint32{}
		view := map[uint32][]uint32{} // list → as the last own operations leave it, where they say it all
		tail := map[uint32][]uint32{} // list → own appends
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi; op++ {
			v := h.Ops.Ver[op]
			switch h.Ops.Kind[op] {
			case history.Read:
				k := h.VerKey[v]
				if w, ok := last[k]; ok {
					if w != v {
						out = append(out, Violation{Axiom: INT, Txn: t, Other: no, Key: k, Op: op, Got: v, Want: w})
					}
				} else if s.ver[k] != v {
					out = append(out, Violation{Axiom: EXT, Kind: kindOf.kind(t, v, at), Txn: t, Other: s.by[k], Key: k,
						Op: op, Got: v, Want: s.ver[k]})
				}
				last[k] = v
			case history.Write:
				last[h.VerKey[v]], wrote[h.VerKey[v]] = v, v
			case history.Append:
				k := h.VerKey[v]
				tail[k] = append(tail[k], v)
				if l, ok := view[k]; ok {
					view[k] = append(slices.Clone(l), v)
				}
			case history.ReadList:
				k := h.Lists.Key[v]
				got := h.Lists.Elem[h.Lists.Off[v]:h.Lists.Off[v+1]]
				own := tail[k]
				switch l, ok := view[k]; {
				case ok:
					if !slices.Equal(l, got) {
						out = append(out, Violation{Axiom: INT, Txn: t, Other: no, Key: k, Op: op, Got: no, Want: no})
					}
				case len(got) < len(own) || !slices.Equal(got[len(got)-len(own):], own):
					out = append(out, Violation{Axiom: INT, Txn: t, Other: no, Key: k, Op: op, Got: no, Want: no})
				case !slices.Equal(got[:len(got)-len(own)], s.list[k]):
					out = append(out, Violation{Axiom: EXT, Txn: t, Other: s.by[k], Key: k, Op: op, Got: no, Want: no})
				}
				view[k] = got
			case history.PredRead, history.PredWrite:
				out = append(out, naivePredicate(h, t, op, s.ver, s.by, wrote, kindOf, at)...)
				for r := h.Preds.Off[v]; r < h.Preds.Off[v+1]; r++ {
					old := h.Preds.Old[r]
					if h.Ops.Kind[op] == history.PredWrite {
						n := h.Preds.New[r]
						last[h.VerKey[n]], wrote[h.VerKey[n]] = n, n
					} else if old != no {
						last[h.VerKey[old]] = old
					}
				}
			}
		}
	}
	return out
}

func writesKeyOf(h *history.History, t, k uint32) bool {
	lo, hi := h.TxnOps(t)
	for op := lo; op < hi; op++ {
		if h.Ops.Kind[op] == history.Append && h.VerKey[h.Ops.Ver[op]] == k || writesKey(h, op, k) {
			return true
		}
	}
	return false
}

// naivePredicate looks at every key.
func naivePredicate(h *history.History, t, op uint32, ver, by []uint32, wrote map[uint32]uint32, kindOf *writers,
	at int64) (out []Violation) {
	p := h.Ops.Ver[op]
	pred := must.Have(predicates.Parse(h.Texts.Text(h.Preds.Pred[p])))
	see := func(k uint32) (uint32, bool) {
		if v, ok := wrote[k]; ok {
			return v, true
		}
		return ver[k], false
	}
	truth := func(k, v uint32) predicates.Truth {
		x := h.Initial
		if v != history.None {
			x = h.VerValue(v)
		}
		row, ok := predicates.RowOfValue(h, k, x)
		if !ok {
			return predicates.False
		}
		return pred.Eval(row)
	}
	matched := map[uint32]bool{}
	for r := h.Preds.Off[p]; r < h.Preds.Off[p+1]; r++ {
		got := h.Preds.Old[r]
		k := history.None
		if got != history.None {
			k = h.VerKey[got]
		} else {
			k = h.VerKey[h.Preds.New[r]]
		}
		matched[k] = true
		want, mine := see(k)
		x := Violation{Txn: t, Other: history.None, Key: k, Op: op, Got: got, Want: want}
		switch {
		case got != history.None && got != want:
			x.Kind = kindOf.kind(t, got, at)
		case truth(k, want) == predicates.False:
			x.Kind, x.Got = Phantom, want
		default:
			continue
		}
		if x.Axiom = EXT; mine {
			x.Axiom, x.Kind = INT, NoKind
		} else {
			x.Other = by[k]
		}
		out = append(out, x)
	}
	for k := range uint32(h.NumKeys()) {
		if want, mine := see(k); !matched[k] && truth(k, want) == predicates.True {
			x := Violation{Axiom: EXT, Kind: Phantom, Txn: t, Other: by[k], Key: k, Op: op, Got: history.None,
				Want: want}
			if mine {
				x.Axiom, x.Kind, x.Other = INT, NoKind, history.None
			}
			out = append(out, x)
		}
	}
	return out
}
