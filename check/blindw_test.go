package check

import (
	"context"
	"math/rand/v2"
	"sort"
	"testing"

	"isovet/history"
	"isovet/level"
)

// blindw is a serial run of BlindW with overlapping client intervals around the commit points.
func blindw(n, keys, sessions int, times bool, seed uint64) *history.History {
	r := rand.New(rand.NewPCG(seed, 2))
	b := history.NewBuilder()
	state := make([]int64, keys)
	for k := range state {
		state[k] = int64(k)
		b.Write(b.Key(history.IntValue(int64(k))), history.IntValue(int64(k)))
	}
	h := history.NewTxnHead()
	h.Init = true
	b.EndTxn(h)
	// each session runs transactions of about 1000 ticks; the commit point lies inside
	type txn struct {
		s          int
		start, end int64
		point      int64
	}
	var ts []txn
	clock := make([]int64, sessions)
	for i := range n {
		s := i % sessions
		d := 500 + r.Int64N(1000)
		x := txn{s: s, start: clock[s] + r.Int64N(100), point: 0}
		x.end = x.start + d
		x.point = x.start + r.Int64N(d)
		clock[s] = x.end + 1
		ts = append(ts, x)
	}
	sort.Slice(ts, func(i, j int) bool { return ts[i].point < ts[j].point })
	next := int64(keys)
	for _, x := range ts {
		h := history.NewTxnHead()
		h.Session, h.HasSess = int64(x.s), true
		if times {
			h.Start, h.End = x.start, x.end
		}
		write := r.IntN(2) == 0
		for range 8 {
			k := r.IntN(keys)
			if write {
				b.Write(b.Key(history.IntValue(int64(k))), history.IntValue(next))
				state[k] = next
				next++
			} else {
				b.Read(b.Key(history.IntValue(int64(k))), history.IntValue(state[k]))
			}
		}
		b.EndTxn(h)
	}
	out, err := b.Build()
	if err != nil {
		panic(err)
	}
	return out
}

func BenchmarkVbox(b *testing.B) {
	for _, c := range []struct {
		name  string
		n     int
		times bool
		l     level.Level
	}{
		{"10k/sser", 10000, true, level.StrictSerializable},
		{"100k/sser", 100000, true, level.StrictSerializable},
		{"10k/ser-no-times", 10000, false, level.Serializable},
	} {
		h := blindw(c.n, 10000, 24, c.times, 1)
		for _, ck := range []Checker{vbox{}, cobra{}} {
			if c.n > 10000 && ck.Info().Name == "cobra" {
				continue
			}
			b.Run(ck.Info().Name+"/"+c.name, func(b *testing.B) {
				for range b.N {
					r, err := Run(context.Background(), ck, h, Options{Level: c.l})
					if err != nil {
						b.Fatal(err)
					}
					if b.N == 1 {
						b.Logf("%s %+v", r.Verdict, r.Stats)
					}
				}
			})
		}
	}
}
