package workload

import "math/rand/v2"

// Fenced makes every client of a workload issue a fence transaction after every so many others: it reads the epoch, the
// one row of a table of its own, and writes it. Fences are transactions like others, and since each reads the one that
// it overwrites, their order is known: what a session did before its fence precedes what any session does after a later
// one. That is what lets a checker forget.
//
// Source:  [Cobra] §5.
// Differs: a fence always writes; the paper's only reads where another client has begun the epoch already.
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
