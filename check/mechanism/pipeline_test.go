package mechanism

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// TestDispatchInOrder is Theorem 1 of [Leopard]: traces come out in the order of their begins, each client's in its own
// order, with idle and finished clients.
func TestDispatchInOrder(t *testing.T) {
	randtest.Seeds(t, 200, func(t testing.TB, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 7))
		n := 1 + rng.IntN(9)
		p := NewPipeline(n, PipelineOptions{Batch: 1 + rng.IntN(5), Queue: 1 + rng.IntN(3)})
		var want []int64
		streams := make([][]int64, n)
		for i := range streams {
			at := int64(0)
			for range rng.IntN(80) {
				at += rng.Int64N(9)
				streams[i] = append(streams[i], at)
				want = append(want, at)
			}
		}
		slices.Sort(want)
		var wg sync.WaitGroup
		for i, s := range streams {
			wg.Add(1)
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			go func() {
				defer wg.Done()
				c := p.Client(i)
				for j, at := range s {
					c.Push(Trace{Bef: at, Val: uint64(j), Op: uint32(i)})
					if r.IntN(4) == 0 {
						c.Idle(at)
					}
				}
				c.Close()
			}()
		}
		var got []int64
		next := make([]uint64, n)
		if err := p.Run(context.Background(), func(client int, traces []Trace) {
			for _, tr := range traces {
				if int(tr.Op) != client || tr.Val != next[client] {
					t.Errorf("seed %d: client %d: trace %d of client %d, expected %d", seed, client, tr.Val, tr.Op,
						next[client])
				}
				next[client]++
				got = append(got, tr.Bef)
			}
		}); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		must.Hold(t, slices.Equal(got, want), "seed %d: dispatched %v, expected %v", seed, got, want)
	})
}

// TestIdleClient: a client that only promises does not hold the others back.
func TestIdleClient(t *testing.T) {
	p := NewPipeline(2, PipelineOptions{Batch: 1})
	p.Client(0).Push(Trace{Bef: 5})
	p.Client(1).Idle(10)
	seen := make(chan int64, 4)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		done <- p.Run(ctx, func(_ int, traces []Trace) {
			for _, t := range traces {
				seen <- t.Bef
			}
		})
	}()
	select {
	case at := <-seen:
		must.Equal(t, at, 5, "how many were dispatched")
	case <-time.After(10 * time.Second):
		t.Error("an idle client holds the others back")
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, expected the context's", err)
	}
	must.Be(t, !p.Client(0).Push(Trace{Bef: 20}), "a stopped pipeline takes traces")
}

// TestStalledClient: while one client says nothing the others may go on so far and no further, and memory is bounded;
// once it promises something, they do.
func TestStalledClient(t *testing.T) {
	const clients, batch, queue, each = 5, 8, 4, 1000
	p := NewPipeline(clients, PipelineOptions{Batch: batch, Queue: queue})
	var pushed atomic.Int64
	var wg sync.WaitGroup
	for i := 1; i < clients; i++ {
		wg.Go(func() {
			for n := range int64(each) {
				p.Client(i).Push(Trace{Bef: n})
				pushed.Add(1)
			}
			p.Client(i).Close()
		})
	}
	var dispatched atomic.Int64
	var last atomic.Int64
	done := make(chan error, 1)
	go func() {
		done <- p.Run(context.Background(), func(client int, traces []Trace) {
			dispatched.Add(int64(len(traces)))
			last.Store(traces[len(traces)-1].Bef)
		})
	}()
	// Room for the queues, a buffer that waits and one that is being filled, and what the merge holds.
	const most = (clients - 1) * batch * (queue + 3)
	settled := func() int64 { // until nothing moves
		for was := int64(-1); ; {
			n := pushed.Load()
			if n == was && n > 0 {
				return n
			}
			was = n
			time.Sleep(50 * time.Millisecond)
		}
	}
	if n := settled(); n > most || dispatched.Load() > 0 {
		t.Errorf("%d traces pushed, %d dispatched while a client stalls; expected at most %d and none", n,
			dispatched.Load(), most)
	}
	p.Client(0).Idle(500)
	for dispatched.Load() < (clients-1)*500 {
		time.Sleep(time.Millisecond)
	}
	if n := settled(); n > (clients-1)*501+most || last.Load() > 500 {
		t.Errorf("%d traces pushed, the last dispatched at %d, of a client that promised 500", n, last.Load())
	}
	p.Client(0).Close()
	wg.Wait()
	if err := <-done; err != nil || dispatched.Load() != (clients-1)*each || p.Peak() > most {
		t.Errorf("%v; %d dispatched, up to %d waited", err, dispatched.Load(), p.Peak())
	}
}
