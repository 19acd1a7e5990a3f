package workload

import "math/rand/v2"

func newReferences(p Params) (Workload, error) {
	return &references{keys: int64(p.Keys), sessions: int64(p.Sessions), lock: p.Variant == "locking"}, needKeys(p, 2)
}

// The tables of workload references, and their columns.
const (
	parents    = 0
	parentSlot = 0

	children = 1
	childOf  = 0 // the parent's key
	childN   = 1
)

type references struct {
	keys, sessions int64
	lock           bool
}

func (w *references) Tables() []Table {
	return []Table{
		{Name: "parent", Rows: int(w.keys), Columns: []Column{{"slot", true}},
			Load: func(pk int64, row []int64) { row[parentSlot] = pk }},
		{Name: "child", Rows: int(w.keys), Columns: []Column{{"of", true}, {"n", false}},
			Foreign: []ForeignKey{{Column: childOf, Table: parents}},
			Load:    func(pk int64, row []int64) { row[childOf], row[childN] = pk, 0 }},
	}
}

func (w *references) Client(session int, rng *rand.Rand) Client {
	return &referencesClient{w: w, rng: rng, next: w.keys + int64(session)}
}

type referencesClient struct {
	w    *references
	rng  *rand.Rand
	next int64 // key of its next parent and child: a key is never taken again
}

// Next draws an action, a slot, another slot, a number and a key.
func (c *referencesClient) Next(t *Txn) {
	slot := c.rng.Int64N(c.w.keys)
	t.Args = append(t.Args[:0], slot, (slot+1+c.rng.Int64N(c.w.keys-1))%c.w.keys, c.rng.Int64N(1000), c.next)
	c.next += c.w.sessions
	switch n := c.rng.IntN(100); {
	case n < 40:
		t.Name = "Adopt"
	case n < 55:
		t.Name = "Count"
	case n < 75:
		t.Name = "Drop"
	case n < 90:
		t.Name = "Move"
	default:
		t.Name = "Leave"
	}
}

// Step reads both slots, and then does an action that is possible there.
func (c *referencesClient) Step(t *Txn) {
	slot, other, n, fresh := t.Args[0], t.Args[1], t.Args[2], t.Args[3]
	look := func(at int64) {
		if c.w.lock {
			t.LockWhere(parents, false, Equal(parentSlot, at))
		} else {
			t.ReadWhere(parents, Equal(parentSlot, at))
		}
	}
	switch t.Stage {
	case 0:
		look(slot)
		if t.Name == "Move" {
			look(other)
		}
	case 1:
		here := t.Ops[0].Found
		if len(here) == 0 {
			t.WriteRow(MakeKey(parents, fresh), slot)
			t.WriteRow(MakeKey(children, fresh), fresh, n)
			return
		}
		parent := here[0].Key
		theirs := Equal(childOf, parent.PK())
		switch t.Name {
		case "Adopt":
			t.WriteRow(MakeKey(children, fresh), parent.PK(), n)
		case "Count":
			t.ReadWhere(children, theirs)
		case "Drop":
			t.DeleteWhere(children, theirs)
			t.Delete(parent)
		case "Move":
			if there := t.Ops[1].Found; len(there) > 0 {
				t.UpdateWhere(children, []Set{{Column: childOf, Add: there[0].Key.PK()}}, theirs)
			}
		case "Leave":
			t.DeleteWhere(children, theirs)
		}
	}
}
