package native

// table adds those of the given sections that exist as one table, which is hashed and checked together.
func (v *verifier) table(all []table, check func(lo, hi int) *problem, ids []uint32) []table {
	t := table{check: check}
	for _, id := range ids {
		if p := v.byID[id]; p != nil {
			t.parts = append(t.parts, p)
			t.rows = p.rows
		}
	}
	if t.rows > 0 {
		all = append(all, t)
	}
	return all
}

// refs checks a column of indices below limit.
//
//go:noinline
func refs(id uint32, col []uint32, limit int) func(lo, hi int) *problem {
	return func(lo, hi int) *problem { return below(id, col, lo, hi, limit) }
}

// offsets checks an offset column.
//
//go:noinline
func offsets(id uint32, off []uint32, total int) func(lo, hi int) *problem {
	return func(lo, hi int) *problem { return ascending(id, off, lo, hi, total) }
}

// tables returns the tables to hash, with the checks of single rows.
func (v *verifier) tables() []table {
	h := v.h
	var all []table
	add := func(check func(lo, hi int) *problem, ids ...uint32) { all = v.table(all, check, ids) }
	add(v.checkOps, 24, 25, 26, 27)
	add(v.checkVersions, 6, 7, 8)
	add(v.checkTxns, 12, 11, 13, 14, 15, 17, 18, 19, 20, 21, 22, 23, levelsID)
	add(offsets(16, h.Txns.OpOff, v.rows(24)), 16)
	add(v.checkKeys, 4, 5)
	add(refs(30, h.Lists.Elem, v.rows(6)), 30)
	add(refs(28, h.Lists.Key, v.rows(4)), 28)
	add(offsets(29, h.Lists.Off, v.rows(30)), 29)
	add(v.checkPredRows, 33, 34)
	add(refs(31, h.Preds.Pred, v.numTexts), 31)
	add(offsets(32, h.Preds.Off, v.rows(33)), 32)
	add(nil, 9)
	add(offsets(10, h.SessOff, v.rows(12)), 10)
	add(offsets(2, v.x.textOff, v.rows(3)), 2)
	add(nil, 3)
	add(refs(shapesID, v.x.shapes, v.numTexts), shapesID)
	add(nil, 1)
	return all
}
