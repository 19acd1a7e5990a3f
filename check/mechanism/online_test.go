package mechanism

import (
	"context"
	"math/rand/v2"
	"runtime"
	"testing"

	"isovet/internal/test/histtest"
)

// endless makes the traces of many clients one transaction after the other, as a serial database would answer them
// late: commits overlap with what other clients do next. Half of the 8 operations are reads.
type endless struct {
	rng     *rand.Rand
	clients int
	keys    []uint64 // what each holds
	n       int64
	ops     []Trace
}

func (g *endless) next() (client int, traces []Trace) {
	const step = 1000
	p := g.n * step
	client = int(g.n % int64(g.clients))
	id := uint64(g.n)
	g.n++
	g.ops = append(g.ops[:0], Trace{Kind: Begin, Bef: p - 20, Aft: p - 20, Val: id})
	for k := range int64(8) {
		key := uint32(g.rng.IntN(len(g.keys)))
		at := p + 10*k
		t := Trace{Bef: at - g.rng.Int64N(5), Aft: at + g.rng.Int64N(5), Key: key, Op: uint32(k),
			Val: g.keys[key]}
		if k%2 == 1 {
			t.Kind, t.Val = Write, id*8+uint64(k)+1
			g.keys[key] = t.Val
		} else {
			t.Kind = Read
		}
		g.ops = append(g.ops, t)
	}
	most := step*int64(g.clients) - 200
	g.ops = append(g.ops, Trace{Kind: Commit, Bef: p + 90, Aft: p + 100 + g.rng.Int64N(most), Val: id})
	return client, g.ops
}

// TestOnlineMemoryIsBounded streams transactions through the pipeline into the verifier. ISOVET_LONG=1: ten million,
// within 300 MB.
func TestOnlineMemoryIsBounded(t *testing.T) {
	txns := histtest.Long[int64](100_000, 10_000_000)
	const clients = 24
	p := NewPipeline(clients, PipelineOptions{})
	feed := make(chan struct{})
	go func() {
		defer close(feed)
		g := &endless{rng: rand.New(rand.NewPCG(1, 1)), clients: clients, keys: make([]uint64, 10_000)}
		for g.n < txns {
			i, traces := g.next()
			for _, tr := range traces {
				if !p.Client(i).Push(tr) {
					return
				}
			}
		}
		for i := range clients {
			p.Client(i).Close()
		}
	}()
	prof := Profile{Database: "test", Isolation: "serial", Reads: StatementReads, WriteLocks: true,
		Certifier: CycleCheck}
	v := NewVerifier(clients, Options{Profile: prof})
	if err := p.Run(context.Background(), v.Dispatch); err != nil {
		t.Fatal(err)
	}
	<-feed
	r := v.Close()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if r.Total() != 0 || int64(r.Verified) != txns || r.Traces != int(txns)*10 {
		t.Fatalf("%s, %d traces; expected no violation in %d transactions", r, r.Traces, txns)
	}
	if r.PeakTxns > 4*pruneEvery || r.PeakVersions > 100_000 || m.Sys > 300<<20 {
		t.Errorf("up to %d transactions, %d versions, %d locks were remembered; %d MB", r.PeakTxns, r.PeakVersions,
			r.PeakLocks, m.Sys>>20)
	}
	t.Logf("%d transactions: up to %d transactions, %d versions remembered; %d MB; %d undecided", txns, r.PeakTxns,
		r.PeakVersions, m.Sys>>20, r.Undecided)
}
