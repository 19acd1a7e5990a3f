package random

import (
	"math/rand/v2"

	"isovet/history"
	"isovet/internal/test/must"
)

// ManyUnknown is a history of few values most of whose transactions are of unknown outcome.
func ManyUnknown(seed uint64) *history.History {
	rng := rand.New(rand.NewPCG(seed, 11))
	b := history.NewBuilder()
	b.Initial = history.IntValue(0)
	for s := range 4 + rng.IntN(4) {
		for range 1 + rng.IntN(3) {
			k, v := b.Key(history.IntValue(int64(rng.IntN(2)))), history.IntValue(int64(rng.IntN(4)))
			if rng.IntN(2) == 0 {
				b.Read(k, v)
			} else {
				b.Write(k, v)
			}
		}
		head := history.NewTxnHead()
		head.Session, head.HasSess = int64(s), true
		if rng.IntN(3) > 0 {
			head.Status = history.Unknown
		}
		b.EndTxn(head)
	}
	return must.Have(b.Build())
}
