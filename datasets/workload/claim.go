package workload

import "math/rand/v2"

func claimInfo() Info {
	return Info{
		Name:  "claim",
		About: "everybody tries to be the first to take a number: insert if absent; at most one may find it free",
		Paper: "after Jepsen's G2 test: what predicate locks must get right",
		Variants: []Variant{
			{Name: "predicate", About: "SELECT … WHERE id = x, then INSERT under a key of the client's own"},
			{Name: "key", About: "the number is the key"},
		},
		Keys:   1,
		Scales: "numbers asked for at a time",
		new: func(p Params) (Workload, error) {
			return &claim{width: int64(p.Keys), sessions: int64(p.Sessions), byKey: p.Variant == "key"}, needKeys(p, 1)
		},
	}
}

type claim struct {
	width, sessions int64
	byKey           bool
}

func (w *claim) Tables() []Table {
	if w.byKey {
		return []Table{{Name: "claim"}}
	}
	return []Table{{Name: "claim", Columns: []Column{{"id", true}}}}
}

func (w *claim) Client(session int, rng *rand.Rand) Client {
	return &claimClient{w: w, rng: rng, next: int64(session)}
}

// claimClient goes on to the next numbers with each transaction, as all others do.
type claimClient struct {
	w    *claim
	rng  *rand.Rand
	at   int64
	next int64
}

// Next draws the number, and the key of the row.
func (c *claimClient) Next(t *Txn) {
	t.Name = "claim"
	t.Args = append(t.Args[:0], c.at*c.w.width+c.rng.Int64N(c.w.width), c.next)
	c.at++
	c.next += c.w.sessions
}

func (c *claimClient) Step(t *Txn) {
	id, k := t.Args[0], MakeKey(0, t.Args[1])
	switch t.Stage {
	case 0:
		if c.w.byKey {
			t.Read(MakeKey(0, id))
		} else {
			t.ReadWhere(0, Equal(0, id))
		}
	case 1:
		if op := t.Last(); c.w.byKey && op.Absent {
			t.Write(MakeKey(0, id), 0)
		} else if !c.w.byKey && len(op.Found) == 0 {
			t.WriteRow(k, id)
		}
	}
}
