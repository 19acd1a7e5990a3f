package collect

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"

	"isovet/collect/driver"
	"isovet/datasets/workload"
)

// data returns the data to load for the workload.
func (r *run) data() driver.Data {
	var rows iter.Seq2[int64, driver.Row] = func(yield func(int64, driver.Row) bool) {
		for i, t := range r.tables {
			if t.Columns != nil || t.List {
				continue
			}
			for _, pk := range r.loadedKeys(i) {
				cells := r.atFirst[workload.MakeKey(i, pk)]
				row := driver.Row{Version: initial}
				if t.WideOf != nil {
					row.Wide = cells
				} else {
					row.Payload = cells[0]
				}
				if !yield(int64(workload.MakeKey(i, pk)), row) {
					return
				}
			}
			if r.atFirst != nil {
				continue
			}
			for pk := range int64(t.Rows) {
				row := driver.Row{Version: initial, Payload: t.Payload}
				switch {
				case t.WideOf != nil:
					row.Wide = t.WideOf(pk)
				case t.PayloadOf != nil:
					row.Payload = t.PayloadOf(pk)
				}
				if !yield(int64(workload.MakeKey(i, pk)), row) {
					return
				}
			}
		}
	}
	d := driver.Data{Rows: rows, Mark: rand.Int64N(1 << 53)}
	for i := range r.tables {
		t := &r.tables[i]
		d.Lists = d.Lists || t.List
		d.Wide = d.Wide || t.WideOf != nil
		if t.Columns == nil {
			continue
		}
		d.Tables = append(d.Tables, driver.Table{ID: i, Columns: t.Columns, Unique: t.Unique, Plan: t.Plan,
			Roomy: t.Roomy, Direct: t.Direct, Foreign: t.Foreign,
			Rows: func(yield func(int64, []int64) bool) {
				for _, pk := range r.loadedKeys(i) {
					if !yield(pk, r.row(workload.MakeKey(i, pk))) {
						return
					}
				}
				if r.atFirst != nil {
					return
				}
				for pk := range int64(t.Rows) {
					if !yield(pk, loadedRow(t, pk)) {
						return
					}
				}
			}})
	}
	return d
}

// loadedKeys returns the keys of a table's initial rows in a schedule, in order.
func (r *run) loadedKeys(table int) (pks []int64) {
	for k := range r.atFirst {
		if k.Table() == table {
			pks = append(pks, k.PK())
		}
	}
	slices.Sort(pks)
	return pks
}

// holds reports whether the load contains a row.
func (r *run) holds(k workload.Key) bool {
	if r.atFirst != nil {
		_, ok := r.atFirst[k]
		return ok
	}
	return k.PK() < int64(r.tables[k.Table()].Rows)
}

// row returns the loaded version of a row of a table with columns.
func (r *run) row(k workload.Key) []int64 {
	if r.atFirst != nil {
		return append([]int64{initial}, r.atFirst[k]...)
	}
	return loadedRow(&r.tables[k.Table()], k.PK())
}

// breaks checks whether an error has broken the database.
func (t *Target) breaks(err error) {
	if b, ok := t.DB.(driver.Breaker); ok && err != nil && b.Breaks(err) {
		t.Broken.Store(true)
	}
}

func (r *run) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = cmp.Or(r.err, err)
	r.target.breaks(err)
	r.stop.Store(true)
}

// load fills the database. If it is broken, load opens it anew first. No session may be open.
func (t *Target) load(ctx context.Context, d driver.Data) error {
	if t.Broken.Load() {
		_ = t.DB.Close() // it is broken: the error means nothing
		db, err := driver.Open(ctx, t.URLs, t.Options)
		if err != nil {
			return fmt.Errorf("opening it again: %w", err)
		}
		t.DB = db
		t.Broken.Store(false)
	}
	err := t.DB.Load(ctx, d)
	t.breaks(err)
	return err
}

func (t *Target) send(way string) error {
	if s, ok := t.DB.(driver.Sender); ok {
		return s.Send(way)
	}
	if way != "" {
		return fmt.Errorf("%w: this database cannot send statements by %s", driver.ErrUnsupported, way)
	}
	return nil
}
