package workload

import (
	"fmt"
	"testing"

	"isovet/internal/test/must"
)

// TestRows: every kind of statement comes, tables stay filled, no two rows have one unique value at a time, values are
// taken again, and keys never.
func TestRows(t *testing.T) {
	in := must.Get(Lookup("rows"))(t)
	for _, v := range in.Variants {
		w := build(t, "rows", v.Name, 40, 0)
		kinds := map[OpKind]int{}
		locks, looks, again := 0, 0, 0
		gone, was := map[string]bool{}, map[Key]bool{}
		place := func(k Key, row []int64) string { return fmt.Sprint(k.Table(), row[rowsUnique]) }
		n := 3000
		state := drive(t, w, n, func(x *Txn) {
			only := true
			undone := false
			for _, op := range x.Ops {
				kinds[op.Kind]++
				if op.Kind == Savepoint || op.Kind == RollbackTo {
					if undone == (op.Kind == Savepoint) {
						t.Fatalf("%s: savepoints within each other, or none to go back to", v.Name)
					}
					undone = op.Kind == Savepoint
				}
				if undone || op.Kind == RollbackTo {
					continue
				}
				if op.ForUpdate || op.ForShare {
					locks++
				}
				only = only && (op.Kind == Read || op.Kind == ReadWhere)
				switch op.Kind {
				case DeleteWhere:
					for _, f := range op.Found {
						gone[place(f.Key, f.Row)] = true
					}
				case Write:
					if gone[place(op.Key, op.Row)] {
						again++
					}
					must.Be(t, !was[op.Key] && op.Key.PK() >= 40, "%s: key %v is inserted again", v.Name, op.Key)
					was[op.Key] = true
				}
			}
			if x.Name == "look" {
				looks++
				must.Be(t, only, "%s: a transaction that only looks writes", v.Name)
			}
		})
		want := 6 // no appends
		if v.SQL {
			want = 8
		}
		if len(kinds) != want || again == 0 {
			t.Errorf("%s: kinds of operations %v, %d values taken again; expected %d kinds and some", v.Name, kinds,
				again, want)
		}
		if (locks > 0) != (v.Name == "locking") || (looks > n/2) != (v.Name == "reads") {
			t.Errorf("%s: %d locking reads, %d transactions that only look", v.Name, locks, looks)
		}
		unique := map[string]bool{}
		rows := 0
		for k, row := range state.row {
			if row == nil {
				continue
			}
			rows++
			u := fmt.Sprint(k.Table(), row[rowsUnique])
			if unique[u] || row[rowsGroup] < 0 || row[rowsGroup] >= 20 {
				t.Errorf("%s: row %v of key %v; expected a value of its own, and a group below 20", v.Name, row, k)
			}
			unique[u] = true
		}
		must.Be(t, rows >= 15 && rows <= 110, "%s: %d rows at the end; expected about 50", v.Name, rows)
	}
}

// TestColumnsOfTables: a condition in a history names columns only, so it is about every row that has columns of these
// names: no two tables may share one, unless their rows can never hold for one condition.
func TestColumnsOfTables(t *testing.T) {
	for _, in := range All() {
		for _, v := range in.Variants {
			seen := map[string]bool{}
			w, _, err := in.New(Params{Variant: v.Name})
			must.OK(t, err)
			for _, table := range w.Tables() {
				for _, c := range table.Columns {
					must.Be(t, !seen[c.Name], "%s %s: two tables have a column %s", in.Name, v.Name, c.Name)
					seen[c.Name] = true
				}
				for _, u := range table.Unique {
					if !table.Columns[u].Index {
						t.Errorf("%s %s: column %d of %s is unique without an index", in.Name, v.Name, u, table.Name)
					}
				}
			}
		}
	}
}

// TestClaimFresh: a number is asked for in one table only, and all tables have their turn.
func TestClaimFresh(t *testing.T) {
	w := build(t, "claim", "fresh", 0, 0)
	table, tables := map[int64]int{}, map[int]bool{}
	drive(t, w, 400, func(x *Txn) {
		id, in := x.Ops[0].Where[0].Min, x.Ops[0].Key.Table()
		if was, ok := table[id]; ok && was != in {
			t.Errorf("number %d is asked for in tables %d and %d", id, was, in)
		}
		table[id], tables[in] = in, true
		if last := x.Ops[len(x.Ops)-1]; last.Kind == Write && last.Key.Table() != in {
			t.Errorf("number %d is written to table %d; expected %d", id, last.Key.Table(), in)
		}
	})
	if len(tables) != claimTables || len(tables) > 96 {
		t.Errorf("%d tables; expected %d, and no more than 96", len(tables), claimTables)
	}
}
