package workload

import "math/rand/v2"

func newYcsb(p Params) (Workload, error) {
	if err := needKeys(p, 2); err != nil {
		return nil, err
	}
	return &ycsb{keys: int64(p.Keys), ops: p.Ops, sessions: int64(p.Sessions), variant: p.Variant,
		dist: NewZipf(p.Keys, p.Zipf)}, nil
}

// ycsb scatters popular records over the key space. New records come after all others.
type ycsb struct {
	keys     int64
	ops      int
	sessions int64
	variant  string
	dist     *Alias
}

const ycsbScan = 100

func (w *ycsb) Tables() []Table {
	t := Table{Rows: int(w.keys)}
	if w.variant == "E" {
		t.Columns = []Column{{"k", true}}
		t.Load = func(pk int64, row []int64) { row[0] = pk }
	}
	return []Table{t}
}

func (w *ycsb) Client(session int, rng *rand.Rand) Client {
	return &ycsbClient{w: w, rng: rng, next: w.keys + int64(session)}
}

type ycsbClient struct {
	w    *ycsb
	rng  *rand.Rand
	next int64 // key of its next insert
	set  distinct
}

// The kinds of operations. Each operation has three arguments: its kind, a key, the length of a scan.
const (
	ycsbRead = iota
	ycsbUpdate
	ycsbModify
	ycsbInsert
	ycsbScanOp
)

var ycsbTemplates = [...]string{"read", "get-set", "insert", "delete", "swap"}

func (c *ycsbClient) Next(t *Txn) {
	t.Args = t.Args[:0]
	if c.w.variant == "T" {
		t.Name = ycsbTemplates[c.rng.IntN(len(ycsbTemplates))]
		t.Args = c.set.draw(t.Args, 2, c.w.dist, c.rng)
		if t.Name == "insert" {
			t.Args[0] = c.insert()
		}
		return
	}
	t.Name = "ycsb-" + c.w.variant
	for range c.w.ops {
		n, kind := c.rng.IntN(100), ycsbRead
		switch c.w.variant {
		case "A":
			if n < 50 {
				kind = ycsbUpdate
			}
		case "B":
			if n < 5 {
				kind = ycsbUpdate
			}
		case "D":
			if n < 5 {
				kind = ycsbInsert
			}
		case "E":
			if kind = ycsbScanOp; n < 5 {
				kind = ycsbInsert
			}
		case "F":
			if n < 50 {
				kind = ycsbModify
			}
		}
		key := int64(scatter(uint64(c.w.dist.Draw(c.rng))) % uint64(c.w.keys))
		if kind == ycsbInsert {
			key = c.insert()
		} else if c.w.variant == "D" {
			key = c.latest()
		}
		t.Args = append(t.Args, int64(kind), key, 1+c.rng.Int64N(ycsbScan))
	}
}

func (c *ycsbClient) insert() int64 {
	k := c.next
	c.next += c.w.sessions
	return k
}

// latest draws a record by its age. Young records are the client's own inserts, since it does not know others'; older
// ones are loaded records.
func (c *ycsbClient) latest() int64 {
	age := c.w.dist.Draw(c.rng)
	if k := c.next - c.w.sessions*(1+age/c.w.sessions); k >= c.w.keys {
		return k
	}
	return c.w.keys - 1 - age
}

func (c *ycsbClient) Step(t *Txn) {
	switch {
	case c.w.variant == "T":
		c.template(t)
		return
	case c.w.variant == "F":
		c.modify(t)
		return
	case t.Stage > 0:
		return
	}
	for a := t.Args; len(a) > 0; a = a[3:] {
		switch key := Key(a[1]); a[0] {
		case ycsbRead:
			t.Read(key)
		case ycsbScanOp:
			t.ReadWhere(0, Range{0, a[1], a[1] + a[2]})
		default:
			if c.w.variant == "E" {
				t.WriteRow(key, a[1])
			} else {
				t.Write(key, 0)
			}
		}
	}
}

// modify reads one record in each step. If the operation is a read-modify-write, the next step first writes the record.
func (c *ycsbClient) modify(t *Txn) {
	n := 3 * t.Stage
	if n > 0 && n <= len(t.Args) && t.Args[n-3] == ycsbModify {
		t.Write(Key(t.Args[n-2]), t.Last().Payload+1)
	}
	if n < len(t.Args) {
		t.Read(Key(t.Args[n+1]))
	}
}

// template runs a transaction of YCSB+T.
func (c *ycsbClient) template(t *Txn) {
	a, b := Key(t.Args[0]), Key(t.Args[1])
	switch t.Stage {
	case 0:
		switch t.Name {
		case "insert":
			t.Write(a, 0)
		case "delete":
			t.Delete(a)
		case "swap":
			t.Read(a)
			t.Read(b)
		default:
			t.Read(a)
		}
	case 1:
		switch t.Name {
		case "get-set":
			t.Write(a, t.Ops[0].Payload+1)
		case "swap":
			x, y := t.Ops[0].Payload, t.Ops[1].Payload
			t.Write(a, y)
			t.Write(b, x)
		}
	}
}
