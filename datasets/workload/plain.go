package workload

import "math/rand/v2"

// plain is a workload on one table without columns. Its transactions know their operations when they are drawn, except
// for those named adds and deep: these read and write one key after the other.
type plain struct {
	table Table
	// next draws t.Name and t.Args: the keys, and the complements of those that are written.
	next func(t *Txn, c *plainClient)
	adds string
	lock bool // the reads of adds lock
}

func (w *plain) Tables() []Table { return []Table{w.table} }

func (w *plain) Client(session int, rng *rand.Rand) Client {
	return &plainClient{w: w, rng: rng, own: Key(w.table.Rows + session)}
}

type plainClient struct {
	w       *plain
	rng     *rand.Rand
	set     distinct
	own     Key   // of this client alone
	appends int64 // drawn so far, of list-append
}

// draw draws n different keys.
func (c *plainClient) draw(t *Txn, n int, d Dist) { t.Args = c.set.draw(t.Args[:0], n, d, c.rng) }

func (c *plainClient) Next(t *Txn) { c.w.next(t, c) }

func (c *plainClient) Step(t *Txn) {
	switch {
	case t.Name == c.w.adds:
		c.add(t, t.Stage)
		return
	case t.Name == deep && t.Stage > 0:
		c.add(t, t.Stage-1)
		return
	case t.Name == deep:
		for i := range subtransactions {
			t.Savepoint()
			t.Write(c.own, int64(i))
		}
		return
	case t.Stage > 0:
		return
	}
	for _, k := range t.Args {
		switch {
		case k >= 0:
			t.Read(Key(k))
		case c.w.table.List:
			t.Append(Key(^k))
		default:
			t.Write(Key(^k), 0)
		}
	}
}

// deep names transactions that first write behind so many savepoints, more than the 64 that PostgreSQL keeps for a
// transaction in shared memory.
const (
	deep            = "deep"
	subtransactions = 65
)

// add handles one key after the other: it reads it, and writes its payload plus one. stage counts from its first call.
func (c *plainClient) add(t *Txn, stage int) {
	pair, write := stage/2, stage%2 == 1
	if pair >= len(t.Args) {
		return
	}
	k := Key(t.Args[pair])
	if write {
		t.Write(k, t.Last().Payload+1)
		return
	}
	t.Ops = append(t.Ops, Op{Key: k, ForUpdate: c.w.lock})
}

func newContended(p Params) (Workload, error) {
	return &plain{table: Table{Rows: p.Keys}, next: func(t *Txn, c *plainClient) {
		t.Name = "contended"
		c.draw(t, p.Ops, Uniform(p.Keys))
		for i := max(p.Ops/5, 1); i < p.Ops; i++ {
			t.Args[i] = ^t.Args[i]
		}
	}}, needKeys(p, p.Ops)
}
