package elaborate_test

import (
	"math/rand/v2"
	"testing"

	"isovet/certify"
	"isovet/certify/elaborate"
	"isovet/evidence"
	"isovet/history"
	"isovet/level"
)

// BenchmarkCausal is an order of 100,000 transactions of 8 operations on 10,000 keys, in the kernel's terms, and by
// package certify alone.
func BenchmarkCausal(b *testing.B) {
	h := history.NewBuilder()
	h.Initial = history.IntValue(0)
	rng := rand.New(rand.NewPCG(1, 1))
	held := make([]int64, 10_000)
	next := int64(0)
	for i := range 100_000 {
		for op := range 8 {
			k := rng.IntN(len(held))
			key := h.Key(history.IntValue(int64(k)))
			if op < 4 {
				h.Read(key, history.IntValue(held[k]))
				continue
			}
			next++
			held[k] = next
			h.Write(key, history.IntValue(next))
		}
		head := history.NewTxnHead()
		head.Session, head.HasSess = int64(i%100), true
		h.EndTxn(head)
	}
	x, err := h.Build()
	if err != nil {
		b.Fatal(err)
	}
	r := &evidence.Result{Verdict: evidence.Holds, Level: level.Causal, H: x}
	for t := range uint32(x.NumTxns()) {
		r.Order = append(r.Order, t)
	}
	b.Run("kernel", func(b *testing.B) {
		for b.Loop() {
			if _, err := elaborate.Prove(r, elaborate.Options{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("certify", func(b *testing.B) {
		for b.Loop() {
			if err := certify.Check(r, certify.Options{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
