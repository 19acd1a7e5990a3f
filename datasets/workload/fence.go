package workload

import "math/rand/v2"

// Fenced makes every client of a workload run a fence transaction after every so many others. A fence reads and writes
// the epoch, the only row of its own table. Fences are normal transactions. Since each reads the epoch that it
// overwrites, their order is known: the transactions of a session before its fence precede those of any session after
// a later fence. So a checker can forget old transactions.
//
// Source:  [Cobra] §5. Differs: a fence always writes; the paper's only reads if another client has begun the epoch
// already.
func Fenced(w Workload, every int) Workload { return &fenced{w, every, len(w.Tables())} }

type fenced struct {
	Workload
	every, table int
}

func (w *fenced) Tables() []Table {
	return append(append([]Table(nil), w.Workload.Tables()...), Table{Name: "epoch", Rows: 1})
}

func (w *fenced) Client(session int, rng *rand.Rand) Client {
	return &fenceClient{Client: w.Workload.Client(session, rng), w: w}
}

type fenceClient struct {
	Client
	w     *fenced
	since int  // transactions since the last fence
	fence bool // the transaction at hand is one
}

func (c *fenceClient) Next(t *Txn) {
	if c.fence = c.since == c.w.every; c.fence {
		c.since = 0
		t.Name, t.Args = "fence", t.Args[:0]
		return
	}
	c.since++
	c.Client.Next(t)
}

// Step raises the epoch by one.
func (c *fenceClient) Step(t *Txn) {
	epoch := MakeKey(c.w.table, 0)
	switch {
	case !c.fence:
		c.Client.Step(t)
	case t.Stage == 0:
		t.ReadForUpdate(epoch)
	case t.Stage == 1:
		t.Write(epoch, t.Last().Payload+1)
	}
}
