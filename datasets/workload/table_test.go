package workload

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"isovet/internal/test/must"
)

// table is the state of a database without concurrency.
type table struct {
	tables  []Table
	payload map[Key]int64
	row     map[Key][]int64
	touched map[Key]bool
	saved   *table // at the savepoint
}

func load(w Workload) *table {
	s := &table{w.Tables(), map[Key]int64{}, map[Key][]int64{}, map[Key]bool{}, nil}
	for i, tab := range s.tables {
		for pk := 0; pk < tab.Rows && !tab.Sparse; pk++ {
			s.touch(MakeKey(i, int64(pk)))
		}
	}
	return s
}

// touch loads a row that was there at first, once.
func (s *table) touch(k Key) {
	tab := s.tables[k.Table()]
	if s.touched[k] || k.PK() >= int64(tab.Rows) {
		return
	}
	s.touched[k] = true
	s.payload[k] = tab.Payload
	switch {
	case tab.Columns != nil:
		s.row[k] = make([]int64, len(tab.Columns))
		tab.Load(k.PK(), s.row[k])
	case tab.WideOf != nil:
		s.row[k] = tab.WideOf(k.PK())
	case tab.PayloadOf != nil:
		s.payload[k] = tab.PayloadOf(k.PK())
	}
}

// run executes an operation; a write takes effect only if it is for good.
func (s *table) run(op *Op, write bool) {
	switch op.Kind {
	case Savepoint:
		s.saved = &table{payload: maps.Clone(s.payload), row: maps.Clone(s.row)}
		return
	case RollbackTo:
		s.payload, s.row = s.saved.payload, s.saved.row // rows are replaced, never changed
		return
	}
	s.touch(op.Key)
	switch op.Kind {
	case Read:
		v, ok := s.payload[op.Key]
		op.Payload, op.Absent, op.Row = v, !ok, s.row[op.Key]
		return
	case ReadWhere, UpdateWhere, DeleteWhere:
		op.Found = nil
		for k, row := range s.row {
			if k.Table() == op.Key.Table() && Matches(op.Where, row) {
				op.Found = append(op.Found, Found{k, row})
			}
		}
	}
	if op.IfAbsent {
		op.Absent = s.inTheWay(op)
	}
	if !write || op.Absent {
		return
	}
	switch op.Kind {
	case Write:
		s.payload[op.Key] = op.Payload
		s.row[op.Key] = slices.Clone(op.Row)
	case Delete:
		delete(s.payload, op.Key)
		delete(s.row, op.Key)
	case UpdateWhere:
		for _, f := range op.Found {
			row := slices.Clone(f.Row)
			for _, c := range op.Set {
				row[c.Column] = c.Value(f.Row[c.Column], f.Key.PK())
			}
			s.row[f.Key] = row
		}
	case DeleteWhere:
		for _, f := range op.Found {
			delete(s.payload, f.Key)
			delete(s.row, f.Key)
		}
	}
}

// inTheWay reports whether a row has one of the unique values of one that is to be inserted.
func (s *table) inTheWay(op *Op) bool {
	for k, row := range s.row {
		for _, u := range s.tables[op.Key.Table()].Unique {
			if k.Table() == op.Key.Table() && row != nil && row[u] == op.Row[u] {
				return true
			}
		}
	}
	return false
}

// drive runs one client's transactions against a table, and hands each to check. Every second transaction is tried
// twice, and the second attempt must ask for the same as long as it finds the same.
func drive(t *testing.T, w Workload, n int, check func(*Txn)) *table {
	t.Helper()
	state := load(w)
	c := w.Client(0, rand.New(rand.NewPCG(1, 2)))
	var x Txn
	for i := range n {
		c.Next(&x)
		var first []Op
		for attempt := i % 2; attempt < 2; attempt++ {
			x.Reset()
			for {
				from := len(x.Ops)
				c.Step(&x)
				x.Stage++
				if len(x.Ops) == from {
					break
				}
				for j := from; j < len(x.Ops); j++ {
					op := &x.Ops[j]
					if op.Key.Table() >= len(w.Tables()) || op.Key.PK() < 0 {
						t.Fatalf("key %d of table %d", op.Key.PK(), op.Key.Table())
					}
					state.run(op, attempt == 1)
				}
			}
			if attempt == 0 {
				first = append(first, x.Ops...)
			}
		}
		for j, op := range first {
			if x.Ops[j].Key != op.Key || x.Ops[j].Kind != op.Kind {
				t.Fatalf("%s: the second attempt differs at operation %d", x.Name, j)
			}
			if op.Kind.Conditional() {
				break // what follows may see the transaction's own writes
			}
		}
		check(&x)
	}
	return state
}

func build(t *testing.T, name, variant string, keys, ops int) Workload {
	t.Helper()
	in := must.Get(Lookup(name))(t)
	w, _, err := in.New(Params{Variant: variant, Keys: keys, Ops: ops})
	must.OK(t, err)
	return w
}
