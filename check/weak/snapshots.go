package weak

import (
	"cmp"
	"context"
	"slices"

	"isovet/check/prepass"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/sorts"
)

// maxClocks bounds transactions × sessions, the size of Seen's clocks.
var maxClocks = 1 << 27

// Seen returns the versions that predicate operations saw, as sources: those of the reads, which it is given, and new
// ones. events is an order of begins and commits (evidence.Result.Order at the snapshot levels), in which each
// transaction reads from a snapshot taken at its begin. With the sources, the order of the commits is one of the causal
// level: each predicate operation sees all that had committed. Few sources suffice, the last writers of sessions,
// because they make the earlier transactions visible. It returns false if sources cannot express it, or if the clocks
// would be too large.
//
// Cost: transactions × sessions, and sessions × log of sessions for each transaction with a predicate operation.
func Seen(ctx context.Context, v *prepass.View, events []uint32, sources []evidence.Source) ([]evidence.Source, bool) {
	return seen(ctx, &snapshots{v: v}, events, sources)
}

// Current is like Seen, but names only current versions, and each key of a reader once, as Options.Seen needs it. It
// leaves out what sources cannot express. Cost: as Seen.
func Current(ctx context.Context, v *prepass.View, events []uint32, sources []evidence.Source) ([]evidence.Source,
	bool) {
	n := v.H.NumKeys()
	s := &snapshots{v: v, current: slices.Repeat([]uint32{none}, n), told: make([]uint32, n)}
	return seen(ctx, s, events, sources)
}

func seen(ctx context.Context, s *snapshots, events []uint32, sources []evidence.Source) ([]evidence.Source, bool) {
	v := s.v
	h := v.H
	s.chain, s.row = make([]int32, h.NumTxns()), make([]int32, h.NumTxns())
	s.chains()
	takes := len(events) / 2
	if s.n == 0 || takes > maxClocks/s.n {
		return nil, false
	}
	named := make(map[[2]uint32]uint32, len(sources)) // operation and key → writer
	for _, src := range sources {
		named[[2]uint32{src.Op, src.Key}] = src.Writer
	}
	s.clocks = make([]int32, 0, takes*s.n)
	s.last = make([]top, s.n)
	for i, e := range events {
		if i&0xfff == 0 && ctx.Err() != nil {
			return nil, false
		}
		t := e >> 1
		if e&1 == 0 {
			more, ok := s.begin(t, named)
			if !ok {
				return nil, false
			}
			sources = append(sources, more...)
			continue
		}
		s.commits++
		if c := s.chain[t]; v.WOff[t] < v.WOff[t+1] {
			s.last[c] = top{txn: t, at: s.commits, writes: true}
		}
		if s.current != nil {
			for _, k := range v.WKey[v.WOff[t]:v.WOff[t+1]] {
				s.current[k] = t
			}
		}
		s.clock(t)[s.chain[t]] = s.commits
	}
	return sources, true
}

// top is the last committed writer of a chain.
type top struct {
	txn    uint32
	at     int32
	writes bool
}

// snapshots walks the events. Each session is a chain. A transaction of unknown outcome is a chain of its own, because
// it precedes no transaction of its session.
type snapshots struct {
	v       *prepass.View
	chain   []int32
	prev    []int32 // transaction → the one before it in its chain, or -1
	n       int
	clocks  []int32 // row × n: chain → up to which commit it is seen
	row     []int32
	last    []top
	commits int32
	order   []int32
	// For Current: key → the writer of its current version, and 1 + the last transaction that reads or names it.
	current, told []uint32
}

func (s *snapshots) chains() {
	h := s.v.H
	s.prev = make([]int32, h.NumTxns())
	for i := range h.NumSessions() {
		mine, before := int32(-1), int32(-1)
		for _, t := range h.SessTxn[h.SessOff[i]:h.SessOff[i+1]] {
			s.prev[t] = before
			switch h.Txns.Status[t] {
			case history.Aborted:
			case history.Unknown:
				s.chain[t] = int32(s.n)
				s.n++
			default:
				if mine < 0 {
					mine = int32(s.n)
					s.n++
				}
				s.chain[t], before = mine, int32(t)
			}
		}
	}
}

func (s *snapshots) clock(t uint32) []int32 {
	at := int(s.row[t]) * s.n
	return s.clocks[at : at+s.n]
}

func (s *snapshots) join(now []int32, u uint32) {
	for c, at := range s.clock(u) {
		now[c] = max(now[c], at)
	}
}

// begin computes the clock of t from its session and reads. If t has a predicate operation, begin also adds sources for
// it, until t sees all that had committed.
func (s *snapshots) begin(t uint32, named map[[2]uint32]uint32) (saw []evidence.Source, ok bool) {
	v := s.v
	s.row[t] = int32(len(s.clocks) / s.n)
	s.clocks = s.clocks[:len(s.clocks)+s.n]
	now := s.clock(t)
	if u := s.prev[t]; u >= 0 {
		s.join(now, uint32(u))
	}
	for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
		u := uint32(history.None)
		if w := v.RW[r]; w != none {
			u = v.WTxn[w]
		} else {
			var is bool
			if u, is = named[[2]uint32{v.ROp(r), v.RKey[r]}]; !is {
				return nil, false
			}
		}
		if s.told != nil {
			s.told[v.RKey[r]] = t + 1
		}
		if u != none && u != v.H.Init {
			s.join(now, u)
		}
	}
	if v.POff[t] == v.POff[t+1] {
		return nil, true
	}
	s.order = s.order[:0]
	for c := range int32(s.n) {
		if l := s.last[c]; l.writes && now[c] < l.at {
			s.order = append(s.order, c)
		}
	}
	sorts.Func(s.order, func(a, b int32) int { return cmp.Compare(s.last[b].at, s.last[a].at) })
	for _, c := range s.order {
		l := s.last[c]
		if now[c] >= l.at {
			continue
		}
		source, ok := s.source(t, l.txn)
		if !ok && s.current != nil {
			continue
		}
		if !ok {
			return nil, false
		}
		saw = append(saw, source)
		s.join(now, l.txn)
	}
	return saw, true
}

// source finds a predicate operation of t that may have seen a version of u: it shows no known version of that key.
func (s *snapshots) source(t, u uint32) (evidence.Source, bool) {
	v := s.v
	for i := v.POff[t]; i < v.POff[t+1]; i++ {
		op := v.POp[i]
		for w := v.WOff[u]; w < v.WOff[u+1]; w++ {
			k := v.WKey[w]
			if s.current != nil && (s.current[k] != u || s.told[k] == t+1) || !blind(v.H, op, k) {
				continue
			}
			if s.told != nil {
				s.told[k] = t + 1
			}
			return evidence.Source{Op: op, Key: k, Writer: u}, true
		}
	}
	return evidence.Source{}, false
}

// blind reports whether a predicate operation shows no known version of key k.
func blind(h *history.History, op, k uint32) bool {
	q := h.Ops.Ver[op]
	for r := h.Preds.Off[q]; r < h.Preds.Off[q+1]; r++ {
		if h.RowKey(r) == k {
			return h.Preds.Old[r] == none
		}
	}
	return true
}
