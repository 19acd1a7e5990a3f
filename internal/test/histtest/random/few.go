package random

import (
	"math/rand/v2"

	"isovet/history"
	"isovet/internal/test/must"
)

// Few makes a random history of few transactions on few keys: half of them from a serial run whose reads are then
// disturbed, half arbitrary.
func Few(seed uint64) *history.History {
	r := rand.New(rand.NewPCG(seed, 1))
	b := history.NewBuilder()
	txns, keys, sessions := 1+r.IntN(6), 1+r.IntN(3), 1+r.IntN(4)
	if r.IntN(2) == 0 {
		b.Initial = history.IntValue(0)
	}
	key := func(k int) uint32 { return b.Key(history.IntValue(int64(k))) }
	next := int64(1)
	state := make([]history.Value, keys)
	written := make([][]history.Value, keys)
	for k := range state {
		state[k] = b.Initial
		written[k] = append(written[k], b.Initial)
	}
	if r.IntN(2) == 0 {
		for k := range keys {
			if r.IntN(3) > 0 {
				state[k] = history.IntValue(100 + int64(k))
				written[k] = append(written[k], state[k])
				b.Write(key(k), state[k])
			}
		}
		h := history.NewTxnHead()
		h.Init, h.ID, h.HasID = true, 1000, true
		b.EndTxn(h)
	}
	serial := r.IntN(3) > 0
	times := r.IntN(4) > 0
	now := int64(0)
	for t := range txns {
		h := history.NewTxnHead()
		h.ID, h.HasID = int64(t+1), true
		h.Session, h.HasSess = int64(r.IntN(sessions)), true
		switch r.IntN(10) {
		case 0:
			h.Status = history.Aborted
		case 1:
			h.Status = history.Unknown
		}
		if times {
			now += int64(r.IntN(3))
			h.Start = max(0, now-int64(r.IntN(4)))
			h.End = h.Start + int64(r.IntN(6))
			if h.Status == history.Unknown && r.IntN(2) == 0 {
				h.End = history.NoTime
			}
		}
		mine := map[int]history.Value{}
		for range 1 + r.IntN(4) {
			k := r.IntN(keys)
			if r.IntN(2) == 0 {
				v := history.IntValue(next)
				next++
				b.Write(key(k), v)
				mine[k] = v
				written[k] = append(written[k], v)
				continue
			}
			v := state[k]
			if own, ok := mine[k]; ok {
				v = own
			}
			if !serial || r.IntN(8) == 0 {
				v = written[k][r.IntN(len(written[k]))]
			}
			if r.IntN(60) == 0 {
				v = history.IntValue(next + int64(r.IntN(4)))
			}
			b.Read(key(k), v)
		}
		if h.Status != history.Aborted {
			for k, v := range mine {
				state[k] = v
			}
		}
		b.EndTxn(h)
	}
	return must.Have(b.Build())
}
