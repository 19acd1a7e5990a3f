package history

import (
	"slices"

	"isovet/internal/slice"
)

// sessions has the sessions of a builder's transactions: of[t] is an index into name, or None for a transaction
// without session.
type sessions struct {
	of    []uint32
	name  []int64
	index Index // of each name
}

func (s *sessions) intern(name int64) uint32 {
	i, ok := s.index.Get(name)
	if !ok {
		i = uint32(len(s.name))
		s.name = append(s.name, name)
		s.index.Set(name, i)
	}
	return i
}

func (s *sessions) merge(other *sessions) {
	to := slice.Map(other.name, s.intern)
	s.of = slices.Grow(s.of, len(other.of))
	for _, i := range other.of {
		if i != None {
			i = to[i]
		}
		s.of = append(s.of, i)
	}
}

// sessions makes the sessions, numbered by first appearance, and their orders.
func (b *Builder) sessions(h *History) error {
	of := b.sess.of
	n := len(of)
	dense := slices.Repeat([]uint32{None}, len(b.sess.name))
	var count []uint32
	for t, name := range of {
		s := uint32(len(count))
		if name == None && uint32(t) != b.init && b.seq != nil && b.seq[t] != NoTime {
			return b.errorf(uint32(t), "seq", "transaction %d has a seq and no session; expected both", b.txns.ID[t])
		}
		if name == None || uint32(t) == b.init {
			h.SessName = append(h.SessName, NoTime)
			count = append(count, 1)
		} else if dense[name] == None {
			dense[name] = s
			h.SessName = append(h.SessName, b.sess.name[name])
			count = append(count, 1)
		} else {
			s = dense[name]
			count[s]++
		}
		if uint32(t) == b.init {
			b.initSess = name
		}
		of[t] = s
	}
	h.Txns.Sess = of
	h.SessOff = make([]uint32, len(count)+1)
	for s, c := range count {
		h.SessOff[s+1] = h.SessOff[s] + c
	}
	h.SessTxn = make([]uint32, n)
	next := slices.Clone(h.SessOff[:len(count)])
	for t := range n {
		s := h.Txns.Sess[t]
		h.SessTxn[next[s]] = uint32(t)
		next[s]++
	}
	if b.seq == nil {
		return nil
	}
	for s := range count {
		if h.SessName[s] == NoTime {
			continue
		}
		if err := b.orderSession(h.SessName[s], h.SessTxn[h.SessOff[s]:h.SessOff[s+1]]); err != nil {
			return err
		}
	}
	return nil
}

// orderSession sorts a session's transactions by seq, which must be 0, 1, 2, …. An initial transaction with a seq of
// this session counts, although it is not in the session's order.
func (b *Builder) orderSession(name int64, in []uint32) error {
	with := slice.Count(in, func(t uint32) bool { return b.seq[t] != NoTime })
	if with == 0 {
		return nil
	}
	if with < len(in) {
		for _, t := range in {
			if b.seq[t] == NoTime {
				return b.errorf(t, "seq", "transaction %d has no seq, other transactions of session %d have; "+
					"expected all or none", b.txns.ID[t], name)
			}
		}
	}
	slices.SortStableFunc(in, func(x, y uint32) int {
		switch {
		case b.seq[x] < b.seq[y]:
			return -1
		case b.seq[x] > b.seq[y]:
			return 1
		}
		return 0
	})
	want := int64(0)
	if b.initSess != None && b.sess.name[b.initSess] == name && b.seq[b.init] == 0 {
		want = 1
	}
	for _, t := range in {
		if b.seq[t] != want {
			if want > 0 && b.seq[t] == want-1 {
				return b.errorf(t, "seq", "seq %d occurs twice in session %d; expected %d", b.seq[t], name, want)
			}
			return b.errorf(t, "seq", "gap in session %d: seq %d; expected %d", name, b.seq[t], want)
		}
		want++
	}
	return nil
}
