package mechanism

import (
	"cmp"
	"context"
	"math/bits"
	"sync"
)

// fetcher returns the next batch of a client's traces. If there is none, it returns a bound above after below which the
// client sends nothing; Forever means that the client has finished. It waits until it has one of the two, and returns
// neither only to stop the merge.
type fetcher func(client int, after int64) (batch []Trace, bound int64)

// merge passes the traces of all clients to sink in the order of Bef, in runs of one client, as long as no other
// client's trace comes between.
//
// Source:  [Leopard] §IV-C, Algorithm 1, Theorem 1. Differs: (errata L10) a client with an empty buffer bounds the
// others by its promise, and is fetched from only if it holds the others back (the paper's adaptive fetching). A loser
// tree replaces a heap of traces, so that the global buffer is one batch a client.
//
// Cost: log2 of the clients a run.
func merge(clients int, fetch fetcher, sink func(client int, traces []Trace)) {
	if clients == 0 {
		return
	}
	t := newTree(clients)
	batch := make([][]Trace, clients)
	for {
		w := int(t.at[0]) // the client with the least time
		key := t.key[w]
		if key == Forever {
			return
		}
		b := batch[w]
		if len(b) == 0 {
			got, bound := fetch(w, key)
			switch {
			case len(got) > 0:
				batch[w] = got
				t.set(got[0].Bef)
			case bound > key:
				t.set(bound)
			default:
				return
			}
			continue
		}
		most := t.others()
		n := 1
		for n < len(b) && b[n].Bef <= most {
			n++
		}
		sink(w, b[:n])
		batch[w] = b[n:]
		if n < len(b) {
			t.set(b[n].Bef)
		}
		// Otherwise the time stays: the next trace is not before the last.
	}
}

// PipelineOptions are the parameters of NewPipeline. The zero value is the default.
type PipelineOptions struct {
	// Batch is the number of traces that go from a client to the merge at once; 0: 256.
	Batch int
	// Queue is the number of batches by which a client may be ahead; 0: 64. Beyond it Push waits, so memory is bounded.
	Queue int
}

// Pipeline takes traces from many clients, each in a goroutine of its own, and hands them on in one order: the first
// level are the clients' local buffers, the second the merge ([Leopard] §IV-C).
type Pipeline struct {
	o       PipelineOptions
	mu      sync.Mutex
	news    sync.Cond // of a client
	room    sync.Cond // in a client's queue
	clients []*Client
	queued  int // traces in queues
	peak    int
	stopped bool
}

// Client is the local buffer of one client, for one goroutine.
type Client struct {
	p     *Pipeline
	buf   []Trace
	last  int64 // Bef of the last trace passed on
	queue [][]Trace
	free  [][]Trace
	bound int64
	done  bool
}

// NewPipeline returns a pipeline for this many clients.
func NewPipeline(clients int, o PipelineOptions) *Pipeline {
	o.Batch, o.Queue = cmp.Or(max(o.Batch, 0), 256), cmp.Or(max(o.Queue, 0), 64)
	p := &Pipeline{o: o}
	p.news.L, p.room.L = &p.mu, &p.mu
	for range clients {
		p.clients = append(p.clients, &Client{p: p, bound: -Forever, last: -Forever})
	}
	return p
}

// Client returns the local buffer of client i.
func (p *Pipeline) Client(i int) *Client { return p.clients[i] }

// Push adds a trace; its Bef must not be before the last one's, nor before what Idle promised. It waits while the
// client is too far ahead of the others, and returns false when the pipeline has stopped.
func (c *Client) Push(t Trace) bool {
	c.buf = append(c.buf, t)
	return len(c.buf) < c.p.o.Batch || c.Flush()
}

// Flush passes on the buffered traces.
func (c *Client) Flush() bool {
	p := c.p
	p.mu.Lock()
	defer p.mu.Unlock()
	return c.flush()
}

func (c *Client) flush() bool {
	p := c.p
	for len(c.queue) >= p.o.Queue && !p.stopped {
		p.room.Wait()
	}
	if p.stopped {
		return false
	}
	if len(c.buf) == 0 {
		return true
	}
	c.queue = append(c.queue, c.buf)
	p.queued += len(c.buf)
	p.peak = max(p.peak, p.queued)
	c.bound = max(c.bound, c.buf[len(c.buf)-1].Bef)
	if n := len(c.free); n > 0 {
		c.buf, c.free = c.free[n-1][:0], c.free[:n-1]
	} else {
		c.buf = make([]Trace, 0, p.o.Batch)
	}
	p.news.Signal()
	return true
}

// Idle passes on the buffered traces and promises that no trace before t will come, so that the others need not wait. A
// client that waits for an answer is idle until the moment at which it asked.
func (c *Client) Idle(t int64) {
	p := c.p
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.flush() {
		c.bound = max(c.bound, t)
		p.news.Signal()
	}
}

// Close passes on the buffered traces and ends the client.
func (c *Client) Close() {
	p := c.p
	p.mu.Lock()
	defer p.mu.Unlock()
	c.flush()
	c.done, c.bound = true, Forever
	p.news.Signal()
}

// Peak returns how many traces waited in the clients' queues at most.
func (p *Pipeline) Peak() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.peak
}

// Run merges until all clients are closed, or ctx ends; its error is then the cause. sink must not keep the traces.
func (p *Pipeline) Run(ctx context.Context, sink func(client int, traces []Trace)) error {
	end := func() {
		p.mu.Lock()
		p.stopped = true
		p.mu.Unlock()
		p.news.Broadcast()
		p.room.Broadcast()
	}
	defer context.AfterFunc(ctx, end)()
	defer end()
	last := make([][]Trace, len(p.clients)) // being merged
	merge(len(p.clients), func(i int, after int64) ([]Trace, int64) {
		c := p.clients[i]
		p.mu.Lock()
		defer p.mu.Unlock()
		if last[i] != nil {
			c.free = append(c.free, last[i])
			last[i] = nil
		}
		for len(c.queue) == 0 && !c.done && c.bound <= after && !p.stopped {
			p.news.Wait()
		}
		if p.stopped {
			return nil, after
		}
		if len(c.queue) > 0 {
			b := c.queue[0]
			c.queue = c.queue[:copy(c.queue, c.queue[1:])]
			last[i] = b
			p.queued -= len(b)
			p.room.Broadcast()
			return b, after
		}
		return nil, c.bound
	}, sink)
	return context.Cause(ctx)
}

// tree is a loser tree over clients. It finds the client with the least time, and the least time of the others. A
// client's time is that of its next trace, or a bound below which it sends none.
//
// Invariant: at[j] is the loser of the match at inner node j; at[0] is the winner of all.
type tree struct {
	key []int64
	at  []int32
}

func newTree(clients int) *tree {
	n := 1 << bits.Len(uint(max(clients, 2)-1))
	t := &tree{key: make([]int64, n), at: make([]int32, n)}
	for i := range t.key {
		t.key[i] = -Forever
		if i >= clients {
			t.key[i] = Forever
		}
	}
	win := make([]int32, 2*n)
	for i := range n {
		win[n+i] = int32(i)
	}
	for j := n - 1; j > 0; j-- {
		a, b := win[2*j], win[2*j+1]
		if t.key[b] < t.key[a] {
			a, b = b, a
		}
		win[j], t.at[j] = a, b
	}
	t.at[0] = win[1]
	return t
}

// others returns the least time among the other clients.
func (t *tree) others() int64 {
	least := int64(Forever)
	for j := (len(t.key) + int(t.at[0])) / 2; j > 0; j /= 2 {
		least = min(least, t.key[t.at[j]])
	}
	return least
}

// set gives the winner a new time. Cost: log2 of the clients.
func (t *tree) set(key int64) {
	w := t.at[0]
	t.key[w] = key
	for j := (len(t.key) + int(w)) / 2; j > 0; j /= 2 {
		if l := t.at[j]; t.key[l] < key {
			t.at[j] = w
			w, key = l, t.key[l]
		}
	}
	t.at[0] = w
}
