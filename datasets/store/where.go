package store

import (
	"slices"

	"isovet/datasets/workload"
)

// predLock says that a transaction has evaluated a condition. Under two-phase locking with range locks it is a lock:
// no other transaction may move a row into its range or out of it (Eswaran et al., CACM 1976). Under SSI it is a mark
// like those on rows.
type predLock struct {
	owner int32 // session, or SSI record
	table int32
	where []workload.Range
}

// hit is a row that an operation is about to touch, the version for which its condition is true, and the new version.
type hit struct {
	row      int32
	old, new int64
	columns  []int64 // of the new version; nil: a deletion
}

// holds reports whether a condition is true of a version.
func (s *store) holds(table int, val int64, where []workload.Range) bool {
	return val != Absent && workload.Matches(where, s.log.Columns(table, val))
}

// view returns the version of a row that a session sees.
func (s *store) view(i, r int32) int64 {
	w := &s.rows[r]
	head := s.versions[w.head].val
	switch {
	case w.x == i && w.pend != head:
		return w.pend
	case s.multi:
		return s.visible(r, s.sess[i].snap).val
	case s.iso == ReadUncommitted && w.x != none:
		return w.pend
	}
	return head
}

// gather sets s.cand to the rows of a table, sorted, that the condition may match in some version, committed or
// pending.
func (s *store) gather(table int, where []workload.Range) {
	s.cand = s.cand[:0]
	s.mark++
	take := func(r int32) {
		if s.rows[r].seen != s.mark {
			s.rows[r].seen = s.mark
			s.cand = append(s.cand, r)
		}
	}
	if len(where) > 0 {
		if x := s.index[table][where[0].Column]; x != nil {
			x.scan(where[0].Min, where[0].Max, take)
			slices.Sort(s.cand)
			return
		}
	}
	for pk := range s.log.Tables[table].Rows {
		take(int32(s.base[table] + pk))
	}
	for _, r := range s.more[table] {
		take(r)
	}
}

// execWhere runs an operation with a condition. If it has to wait, it is repeated from the start afterwards; it keeps
// the locks that it has.
func (s *store) execWhere(i int32, op *workload.Op) outcome {
	x := &s.sess[i]
	table := op.Key.Table()
	reads := op.Kind == workload.ReadWhere
	s.gather(table, op.Where)
	s.hits = s.hits[:0]
	for _, r := range s.cand {
		w := &s.rows[r]
		if s.locking && w.x != none && w.x != i &&
			(s.holds(table, s.versions[w.head].val, op.Where) || s.holds(table, w.pend, op.Where)) {
			return s.waitSession(i, w.x)
		}
		val := s.view(i, r)
		if !s.holds(table, val, op.Where) {
			continue
		}
		if !reads {
			if out := s.lockX(i, r); out != done {
				return out
			}
			if s.multi && s.versions[w.head].cts > x.snap {
				s.log.Stats.Conflicts++
				return refused
			}
		} else if s.locking && !s.ranges && w.x != i {
			if out := s.lockS(i, r); out != done {
				return out
			}
		}
		s.hits = append(s.hits, hit{row: r, old: val})
	}
	if !reads {
		s.change(op)
		if out := s.mayWrite(i, table, s.hits); out != done {
			return out
		}
	}
	if s.ranges || s.ssi {
		if s.ssi && !s.noteWhere(i, table, op.Where) {
			s.log.Stats.Dangerous++
			return refused
		}
		owner := i
		if s.ssi {
			owner = x.rec
		}
		s.preds = append(s.preds, predLock{owner, int32(table), slices.Clone(op.Where)})
	}
	s.logWhere(i, op)
	return done
}

// change computes the new versions of the rows that an operation has found.
func (s *store) change(op *workload.Op) {
	if op.Kind == workload.DeleteWhere {
		for j := range s.hits {
			s.hits[j].new = Absent
		}
		return
	}
	table := op.Key.Table()
	n := len(s.log.Tables[table].Columns)
	s.scratch = s.scratch[:0]
	for j := range s.hits {
		h := &s.hits[j]
		old := s.log.Columns(table, h.old)
		from := len(s.scratch)
		s.scratch = append(s.scratch, old...)
		h.columns = s.scratch[from : from+n : from+n]
		for _, c := range op.Set {
			h.columns[c.Column] = c.Value(old[c.Column], s.log.Rows[h.row].PK())
		}
	}
}

// touches reports whether a condition is true for the current or the new version of one of the rows.
func (s *store) touches(table int, hits []hit, where []workload.Range) bool {
	for j := range hits {
		h := &hits[j]
		if h.columns != nil && workload.Matches(where, h.columns) || s.holds(table, s.versions[s.rows[h.row].head].val,
			where) {
			return true
		}
	}
	return false
}

// mayWrite decides whether a session may write rows whose locks it has. Conditions that others have evaluated may be
// true for these rows before or after the write. Under two-phase locking the session waits for such a transaction;
// under SSI it gets an anti-dependency from it.
func (s *store) mayWrite(i int32, table int, hits []hit) outcome {
	x := &s.sess[i]
	if s.ssi {
		for j := range hits {
			if !s.noteWrite(i, hits[j].row) {
				s.log.Stats.Dangerous++
				return refused
			}
		}
	}
	for j := range s.preds {
		p := &s.preds[j]
		if int(p.table) != table {
			continue
		}
		if !s.ssi {
			if p.owner != i && s.touches(table, hits, p.where) {
				return s.waitSession(i, p.owner)
			}
			continue
		}
		if p.owner == x.rec || s.recs[p.owner].cts != NoTime && s.recs[p.owner].cts <= x.snap {
			continue
		}
		if s.touches(table, hits, p.where) && !s.conflict(p.owner, x.rec, x.rec) {
			s.log.Stats.Dangerous++
			return refused
		}
	}
	return done
}

// noteWhere adds, under SSI, the anti-dependencies of a session's condition: to the writers of versions that it does
// not see, committed or not, by which a row enters the range or leaves it. s.cand has all rows with a version in the
// range.
func (s *store) noteWhere(i int32, table int, where []workload.Range) bool {
	x := &s.sess[i]
	for _, r := range s.cand {
		w := &s.rows[r]
		if w.x != none && w.x != i && w.pend != s.versions[w.head].val &&
			(s.holds(table, w.pend, where) || s.holds(table, s.versions[w.head].val, where)) &&
			!s.conflict(x.rec, s.sess[w.x].rec, x.rec) {
			return false
		}
		for v := w.head; s.versions[v].cts > x.snap; v = s.versions[v].prev {
			if (s.holds(table, s.versions[v].val, where) || s.holds(table, s.versions[s.versions[v].prev].val,
				where)) && !s.conflict(x.rec, s.versions[v].rec, x.rec) {
				return false
			}
		}
	}
	return true
}

// logWhere writes the rows found, logs the operation and passes the rows to the client.
func (s *store) logWhere(i int32, op *workload.Op) {
	x, l := &s.sess[i], s.log
	table := op.Key.Table()
	off := len(l.Matched)
	found := len(x.found)
	kind, u := PredRead, int64(0)
	if op.Kind != workload.ReadWhere {
		kind, u = PredWrite, s.value(i)
	}
	for j := range s.hits {
		h := &s.hits[j]
		s.rows[h.row].touched = true
		if h.columns != nil {
			h.new = s.addCells(u, h.columns)
		}
		if kind == PredWrite {
			s.setPend(h.row, h.new)
		}
		l.Matched = append(l.Matched, LogMatch{uint32(h.row), h.old, h.new})
		x.found = append(x.found, workload.Found{Key: l.Rows[h.row], Row: l.Columns(table, h.old)})
	}
	op.Found = x.found[found:len(x.found):len(x.found)]
	l.Preds = append(l.Preds, LogPred{table, slices.Clone(op.Where), off, int32(len(s.hits))})
	x.ops = append(x.ops, LogOp{Value: int64(len(l.Preds) - 1), Kind: kind})
}

// addCells adds a row to the log and returns its index, which identifies the version.
func (s *store) addCells(u int64, columns []int64) int64 {
	at := len(s.log.Cells)
	s.log.Cells = append(append(s.log.Cells, u), columns...)
	return int64(at)
}

// setPend sets the uncommitted version of a row in a table with columns. Its writer has the lock.
func (s *store) setPend(r int32, val int64) {
	w := &s.rows[r]
	head := s.versions[w.head].val
	if w.pend != head {
		s.unindex(r, w.pend)
	}
	w.pend, w.wrote = val, true
	if val != head {
		s.enter(r, val)
	}
}

// dropPends removes a session's uncommitted versions from the indexes.
func (s *store) dropPends(i int32) {
	if !s.columns {
		return
	}
	for _, r := range s.sess[i].xrows {
		w := &s.rows[r]
		if head := s.versions[w.head].val; w.pend != head {
			s.unindex(r, w.pend)
			w.pend = head
		}
	}
}

// enter adds a version to the indexes of its table. unindex removes it.
func (s *store) enter(r int32, val int64) {
	table := s.log.Rows[r].Table()
	if val == Absent || s.index[table] == nil {
		return
	}
	for c, v := range s.log.Columns(table, val) {
		if x := s.index[table][c]; x != nil {
			x.add(entry{v, r})
		}
	}
}

func (s *store) unindex(r int32, val int64) {
	table := s.log.Rows[r].Table()
	if val == Absent || s.index[table] == nil {
		return
	}
	for c, v := range s.log.Columns(table, val) {
		if x := s.index[table][c]; x != nil {
			x.remove(entry{v, r})
		}
	}
}

// dropPreds forgets the conditions that an owner has evaluated.
func (s *store) dropPreds(owner int32) {
	if len(s.preds) > 0 {
		s.preds = slices.DeleteFunc(s.preds, func(p predLock) bool { return p.owner == owner })
	}
}

// lookedAt reports whether a row's newest version is in the range of a locked condition.
func (s *store) lookedAt(r int32) bool {
	table := s.log.Rows[r].Table()
	return slices.ContainsFunc(s.preds, func(p predLock) bool {
		return int(p.table) == table && s.holds(table, s.versions[s.rows[r].head].val, p.where)
	})
}
