package workload

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
)

func newClaim(p Params) (Workload, error) {
	w := &claim{width: int64(p.Keys), sessions: int64(p.Sessions), byKey: p.Variant == "key", tables: 1,
		unique: p.Variant == "unique" || p.Variant == "insert", insert: p.Variant == "insert"}
	w.plan, _ = ParsePlan(p.Variant) // other variants have none
	if p.Variant == "fresh" {
		w.tables, w.plan = claimTables, ByIndex
	}
	if w.end = End(max(0, slices.Index(Ends[:], p.Variant))); w.end != Whole {
		w.tables = claimTables
	}
	if p.Variant == "gist" {
		w.tables, w.loaded = gistTables, gistRows
	}
	if w.replace = p.Variant == "replace"; w.replace {
		w.loaded, w.plan = replaceRows*(w.sessions/2+1), ByIndex
	}
	return w, needKeys(p, 1)
}

// claimTables is the number of tables of fresh and the variants of ends, so that many tables are empty at first.
const claimTables = 80

// gistTables and gistRows are the tables of gist, and their first rows: the root of a GiST index splits at 290 numbers.
const gistTables, gistRows = 8, 300

// replaceRows are the first rows of replace for two sessions: they fill a page of a B-tree, so that other sessions read
// other pages.
const replaceRows = 400

type claim struct {
	width, sessions int64
	tables, loaded  int64
	byKey, unique   bool
	insert, replace bool
	plan            Plan
	end             End
}

func (w *claim) Tables() []Table {
	if w.byKey {
		return []Table{{Name: "claim"}}
	}
	t := Table{Name: "claim", Columns: []Column{{"id", true}}, Plan: w.plan, Direct: w.replace}
	if w.unique {
		t.Unique = []int{0}
	}
	t.Rows, t.Load = int(w.loaded), func(pk int64, row []int64) { row[0] = pk - w.loaded } // below what is asked for
	if w.tables == 1 {
		return []Table{t}
	}
	var all []Table
	for i := range w.tables {
		n := strconv.FormatInt(i, 10)
		t.Name, t.Columns = "claim"+n, []Column{{"id" + n, true}} // a condition names no table
		all = append(all, t)
	}
	return all
}

func (w *claim) Client(session int, rng *rand.Rand) Client {
	c := &claimClient{w: w, rng: rng, next: w.loaded + int64(session)}
	if w.replace {
		c.at = int64(session/2) * replaceRows
	}
	return c
}

// claimClient moves on to the next numbers with each transaction, at the same pace as all other clients.
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
	if c.w.replace {
		t.Args = append(t.Args, c.rng.Int64N(2))
	}
	c.at++
	c.next += c.w.sessions
}

func (c *claimClient) Step(t *Txn) {
	id := t.Args[0]
	in := int(id % c.w.tables)
	k := MakeKey(in, t.Args[1])
	switch t.Stage {
	case 0:
		if c.w.insert {
			t.InsertRow(k, id)
		} else if c.w.replace && t.Args[2] == 0 {
			t.DeleteWhere(in, Equal(0, id-c.w.loaded))
		} else if c.w.byKey || c.w.replace {
			t.Read(MakeKey(0, id))
		} else if c.w.end != Whole {
			t.ReadWhere(in, Range{0, math.MinInt64, math.MaxInt64})
			t.Last().End = c.w.end
		} else {
			t.ReadWhere(in, Equal(0, id))
		}
	case 1:
		if c.w.insert {
			t.ReadWhere(in, Equal(0, id))
		} else if c.w.end != Whole {
			c.further(t, k, id)
		} else if op := t.Last(); c.w.replace {
			if op.Kind == Read && !op.Absent {
				t.WriteRow(op.Key, t.Args[1])
			}
		} else if c.w.byKey && op.Absent {
			t.Write(MakeKey(0, id), 0)
		} else if !c.w.byKey && len(op.Found) == 0 {
			t.WriteRow(k, id)
		}
	}
}

// further inserts a number that lies beyond the end that was read. At the low end rows have the negative numbers.
func (c *claimClient) further(t *Txn, k Key, id int64) {
	if c.w.end.Low() {
		id = -id
	}
	if v, found := t.Last().AtEnd(); !found || v != id && (id < v) == c.w.end.Low() {
		t.WriteRow(k, id)
	}
}
