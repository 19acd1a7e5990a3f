package shrink

import (
	"slices"

	"isovet/history"
	"isovet/internal/plural"
	"isovet/internal/slice"
)

// rename gives the rest other names, as long as it still shows the violation: the values of each key become 1, 2, 3,
// times their ranks, the clients' and the database's separately, and if Names is Short keys a, b, c in order of
// occurrence. If predicates are left, which name keys and values, only the times change. If clocks may be wrong,
// distances matter, and the clients' times stay; so do places in a file.
func (s *search) rename() {
	s.tell("names")
	g := s.part.h
	times := naming{clock: rank(g.Txns.Start, g.Txns.Commit, g.Txns.End, g.Ops.Start, g.Ops.End),
		tick: rank(g.Txns.StartTS, g.Txns.CommitTS)}
	if s.w.skew != 0 || g.Positions {
		times.clock = nil
	}
	tries := []naming{times}
	if !slices.ContainsFunc(s.w.preds, func(op uint32) bool { return s.best.op[op] }) {
		all := s.short()
		all.clock, all.tick = times.clock, times.tick
		tries = []naming{all, s.short(), times}
	}
	for _, n := range tries {
		if s.stop() {
			return
		}
		if p, r := s.judge(s.best, n); r != nil {
			s.part, s.answer = p, r
			return
		}
	}
}

// short renames values, and keys if Names is Short.
func (s *search) short() naming {
	h := s.w.h
	keys := map[uint32]string{}
	name := func(k uint32) string {
		if n, ok := keys[k]; ok {
			return n
		}
		n := ""
		for i := len(keys); ; i = i/26 - 1 {
			n = string(rune('a'+i%26)) + n
			if i < 26 {
				break
			}
		}
		keys[k] = n
		return n
	}
	values, next := map[uint32]int64{}, map[uint32]int64{}
	n := naming{
		ver: func(b *history.Builder, v uint32) history.Value {
			old, k := h.VerValue(v), h.VerKey[v]
			if old.Kind == history.Null {
				return old
			}
			if old == h.Initial { // keep the header's initial value
				return b.ValueOf(h, old)
			}
			n, ok := values[v]
			if !ok {
				n = next[k] + 1
				if h.Initial == history.IntValue(n) {
					n++
				}
				values[v], next[k] = n, n
			}
			return history.IntValue(n)
		},
	}
	if s.o.Names == Short {
		n.key = func(b *history.Builder, k uint32) history.Value { return b.StringValue([]byte(name(k))) }
	}
	return n
}

func rank(cols ...[]int64) func(n int64) int64 {
	all := slice.Filter(slices.Concat(cols...), func(n int64) bool { return n != history.NoTime })
	slices.Sort(all)
	all = slices.Compact(all)
	return func(n int64) int64 {
		i, _ := slices.BinarySearch(all, n)
		return int64(i) + 1
	}
}

func (z Size) String() string {
	return plural.Of(z.Txns, "transaction") + ", " + plural.Of(z.Ops, "operation")
}
