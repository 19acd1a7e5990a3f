package workload

import (
	"math"
	"math/rand/v2"
)

// Columns of the tables of rows.
const (
	rowsGroup  = 0 // index; rowsPerGroup places share it
	rowsUnique = 1 // unique index: the row's place, of which there are twice as many as rows at first
	rowsPlain  = 2 // no index

	rowsPerGroup = 2
	rowsRecent   = 200 // keys that a read by key may ask for
	rowsTables   = 2
)

// rows has tables that are about one third full: places become free and are used again. A row in a place used before
// has a new key. To a database, the deleted row and a later one with the same key are two objects, which a history
// cannot express (Adya's thesis, 4.1: a deleted object is never created again). At snapshot isolation one transaction
// could delete a row while another one, which does not see this, inserts a row with the same key.
type rows struct {
	keys, groups, sessions int64
	ops                    int
	plan                   Plan
	lock, direct, insert   bool
	undoes, alone, ends    bool
	reads                  uint64 // per cent of the transactions that only read
}

func newRows(p Params) (Workload, error) {
	w := &rows{keys: int64(p.Keys), ops: p.Ops, groups: max(1, int64(p.Keys)/rowsPerGroup), sessions: int64(p.Sessions),
		lock: p.Variant == "locking", direct: p.Variant == "direct", insert: p.Variant == "insert",
		undoes: p.Variant == "savepoints", alone: p.Variant == "autocommit", ends: p.Variant == "ends"}
	if p.Variant == "reads" {
		w.reads = 60
	}
	w.plan, _ = ParsePlan(p.Variant) // other variants have none
	return w, needKeys(p, 2)
}

// Tables returns tables whose columns have different names, since a condition in a history applies to all rows with
// the columns that it names.
func (w *rows) Tables() []Table {
	load := func(pk int64, row []int64) { row[rowsGroup], row[rowsUnique], row[rowsPlain] = pk%w.groups, 2*pk, 0 }
	return []Table{
		{Name: "one", Rows: int(w.keys), Columns: []Column{{"g", true}, {"q", true}, {"c", false}},
			Unique: []int{rowsUnique}, Plan: w.plan, Direct: w.direct, Load: load},
		{Name: "two", Rows: int(w.keys), Columns: []Column{{"h", true}, {"r", true}, {"d", false}},
			Unique: []int{rowsUnique}, Plan: w.plan, Direct: w.direct, Load: load},
	}
}

func (w *rows) Client(session int, rng *rand.Rand) Client {
	return &rowsClient{w: w, rng: rng, next: w.keys + int64(session)}
}

type rowsClient struct {
	w    *rows
	rng  *rand.Rand
	next int64 // key of its next row
	// The next operation of the current attempt, and whether its read is done.
	at     int
	looked bool
}

const rowsArgs = 8 // of an operation

// Next draws for each operation its kind, the table, a key to read, two places, a group and a number, and gives it a
// new key.
func (c *rowsClient) Next(t *Txn) {
	t.Name = "change"
	kinds := int64(100)
	if c.rng.Uint64N(100) < c.w.reads {
		t.Name, kinds = "look", rowsChange
	}
	t.Args = t.Args[:0]
	ops := 1 + c.rng.IntN(c.w.ops)
	if c.w.alone {
		if t.Access = ReadWrite; c.rng.IntN(2) == 0 {
			t.Name, t.Access, kinds, ops = "select", Alone, rowsChange, 1
		}
	}
	for range ops {
		t.Args = append(t.Args, c.rng.Int64N(kinds), c.rng.Int64N(rowsTables), max(0, c.next-c.rng.Int64N(rowsRecent)),
			c.rng.Int64N(2*c.w.keys), c.rng.Int64N(2*c.w.keys), c.rng.Int64N(c.w.groups), c.rng.Int64N(12), c.next)
		c.next += c.w.sessions
	}
}

// Step runs one operation after the other. Some read before they write.
func (c *rowsClient) Step(t *Txn) {
	if t.Stage == 0 {
		c.at, c.looked = 0, false
	}
	n := len(t.Ops)
	for a := t.Args[rowsArgs*c.at:]; len(a) > 0 && len(t.Ops) == n; a = a[rowsArgs:] {
		if c.looked = c.add(t, a[:rowsArgs]); !c.looked {
			c.at++
		}
	}
}

// rowsChange is the first of the kinds of operations that write.
const rowsChange = 45

// add appends an operation. Its kind is a[0], a number below 100. It returns true if it only read, and the next step
// must write.
func (c *rowsClient) add(t *Txn, a []int64) (looks bool) {
	what, table, pk, place, other, group, n, fresh := a[0], int(a[1]), a[2], a[3], a[4], a[5], a[6], a[7]
	in, here := Range{rowsGroup, group, group + 1 + n%2}, Equal(rowsUnique, place)
	set := func(column int, v int64) []Set { return []Set{{Column: column, Add: v}} }
	if c.w.undoes && n%2 == 0 && !c.looked {
		t.Savepoint()
		switch n % 3 {
		case 0:
			t.UpdateWhere(table, []Set{{Column: rowsGroup, Keep: true, Add: 1, Mod: c.w.groups},
				{Column: rowsPlain, Keep: true, Add: 1, Mod: 1000}}, in)
		case 1:
			t.DeleteWhere(table, in)
		default:
			t.InsertRow(MakeKey(table, fresh), group, place, n)
		}
		t.ReadWhere(table, in)
		t.RollbackTo()
	}
	switch {
	case c.w.ends && what < 35:
		if in.Max = math.MaxInt64; n%2 > 0 {
			in = Range{rowsUnique, math.MinInt64, place}
		}
		t.ReadWhere(table, in)
		t.Last().End = End(1 + n/2%4)
	case what < 20:
		c.read(t, table, n, in)
	case what < 30:
		c.read(t, table, n, Range{rowsUnique, place, place + 1 + n%4})
	case what < 35:
		c.read(t, table, n, in, Range{rowsPlain, 0, n})
	case what < rowsChange:
		t.Read(MakeKey(table, pk))
	case what < 55: // as they stand in the index
		t.UpdateWhere(table, []Set{{Column: rowsPlain, Keep: true, Add: 1, Mod: 1000}}, in)
	case what < 60: // on to another group
		t.UpdateWhere(table, []Set{{Column: rowsGroup, Keep: true, Add: n, Mod: c.w.groups}}, in)
	case what < 65:
		t.UpdateWhere(table, set(rowsPlain, n), here)
	case what < 68: // to another place, if that is free
		if !c.looked {
			c.read(t, table, n, Equal(rowsUnique, other))
			return true
		}
		if len(t.Last().Found) == 0 {
			t.UpdateWhere(table, set(rowsUnique, other), here)
		}
	case what < 76:
		t.DeleteWhere(table, Equal(rowsGroup, group))
	case what < 80:
		t.DeleteWhere(table, here)
	case what < 82:
		t.Delete(MakeKey(table, pk))
	default: // a new row in a free place, or another number in the one that is there
		if !c.looked && c.w.insert {
			t.InsertRow(MakeKey(table, fresh), group, place, n)
			return true
		}
		if c.w.insert || !c.looked {
			c.read(t, table, n, here)
			return !c.w.insert
		}
		if len(t.Last().Found) == 0 {
			t.WriteRow(MakeKey(table, fresh), group, place, n)
		} else {
			t.UpdateWhere(table, set(rowsPlain, n), here)
		}
	}
	return false
}

func (c *rowsClient) read(t *Txn, table int, n int64, where ...Range) {
	if c.w.lock && n%3 > 0 {
		t.LockWhere(table, n%3 == 1, where...)
		return
	}
	t.ReadWhere(table, where...)
}
