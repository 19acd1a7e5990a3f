package certify_test

import (
	"math/rand/v2"
	"testing"

	"isovet/certify"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/must"
	"isovet/level"
)

// store runs n transactions of eight operations on keys keys at random, half reads, one after the other, and shuffles
// them in the file.
func store(n, keys int) (*history.History, []uint32) {
	rng := rand.New(rand.NewPCG(1, 2))
	type op struct {
		write bool
		key   int
		value int64
	}
	txns := make([][8]op, n)
	state := make([]int64, keys)
	next := int64(1)
	for t := range txns {
		for i := range txns[t] {
			o := op{write: rng.IntN(2) == 0, key: rng.IntN(keys)}
			if o.write {
				state[o.key] = next
				next++
			}
			o.value = state[o.key]
			txns[t][i] = o
		}
	}
	// In the file transactions stand about where they were executed, as recorded ones do.
	place := rng.Perm(64)
	order := make([]uint32, n)
	b := history.NewBuilder()
	b.Initial = history.IntValue(0)
	for base := 0; base < n; base += 64 {
		for i, j := range place {
			if base+i >= n || base+j >= n {
				continue
			}
			order[base+j] = uint32(b.NumTxns())
			for _, o := range txns[base+j] {
				k := b.Key(history.IntValue(int64(o.key)))
				if o.write {
					b.Write(k, history.IntValue(o.value))
				} else {
					b.Read(k, history.IntValue(o.value))
				}
			}
			head := history.NewTxnHead()
			head.Session, head.HasSess = int64(j), true
			head.Start, head.End = int64(base+j)*10, int64(base+j)*10+300
			b.EndTxn(head)
		}
	}
	h := must.Have(b.Build())
	return h, order
}

// BenchmarkCycle checks one cycle against a large history: what it costs is the scan for other writers of the versions
// named.
func BenchmarkCycle(b *testing.B) {
	h, order := store(128_000, 1000)
	first, second := order[0], order[1]
	r := &evidence.Result{Verdict: evidence.Violated, Level: level.StrictSerializable, H: h}
	none := history.None
	r.Anomalies = []evidence.Anomaly{{Kind: level.G0, Txns: []uint32{first, second}, Cycle: []evidence.Edge{
		{From: first, To: second, Dep: evidence.WW, Key: 0, Ver: 0, Writer: none},
		{From: second, To: first, Dep: evidence.RT, Key: none, Ver: none, Writer: none}}}}
	for b.Loop() {
		if err := certify.Check(r, certify.Options{}); err == nil {
			b.Fatal("a false edge is accepted")
		}
	}
	b.ReportMetric(float64(h.NumOps())*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mops/s")
}

func BenchmarkOrder(b *testing.B) {
	const n = 128_000
	for _, keys := range []int{1000, 100_000} {
		h, order := store(n, keys)
		events := make([]uint32, 0, 2*n)
		for _, t := range order {
			events = append(events, t<<1, t<<1|1)
		}
		for _, l := range []level.Level{level.Serializable, level.StrictSerializable, level.StrictSnapshotIsolation} {
			b.Run(map[int]string{1000: "keys=1k/", 100_000: "keys=100k/"}[keys]+"level="+l.ShortNames()[0],
				func(b *testing.B) {
					r := &evidence.Result{Verdict: evidence.Holds, Level: l, H: h, Order: order}
					if l.Snapshot() {
						r.Order = events
					}
					for b.Loop() {
						must.OK(b, certify.Check(r, certify.Options{}))
					}
					b.ReportMetric(float64(h.NumOps())*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mops/s")
				})
		}
	}
}
