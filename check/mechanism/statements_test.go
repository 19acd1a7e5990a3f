package mechanism

import "testing"

// TestStatementsApart: of statements with a snapshot each, what one has read does not narrow the next one's moment,
// also where the first row of that was written by several, so that nothing follows from it.
func TestStatementsApart(t *testing.T) {
	const x, y, z = 0, 1, 2
	v := NewVerifier(5, Options{Profile: Profile{Reads: StatementReads}, Duplicates: true})
	n := uint64(0)
	txn := func(client int, start, c, d int64, ops ...Trace) {
		n++
		all := append([]Trace{{Kind: Begin, Bef: start, Aft: start, Val: n}}, ops...)
		v.Dispatch(client, append(all, Trace{Kind: Commit, Bef: c, Aft: d, Val: n}))
	}
	write := func(key uint32, val uint64, at int64) Trace {
		return Trace{Kind: Write, Key: key, Val: val, Bef: at, Aft: at + 1}
	}
	txn(0, 1, 10, 11, write(x, 1, 2))
	txn(1, 1, 12, 13, write(y, 5, 2))
	txn(2, 1, 12, 14, write(y, 5, 2))
	txn(3, 18, 20, 21, write(x, 2, 19))
	txn(3, 28, 30, 31, write(z, 7, 29))
	txn(4, 14, 50, 51, Trace{Kind: Read, Key: x, Val: 1, Bef: 15, Aft: 16},
		Trace{Kind: Read, Key: y, Val: 5, Bef: 40, Aft: 41, Op: 1},
		Trace{Kind: Read, Key: z, Val: 7, Bef: 40, Aft: 41, Op: 1})
	if r := v.Close(); r.Total() > 0 || r.Verified != 6 {
		t.Errorf("%d verified, violations %+v; expected none", r.Verified, r.Violations)
	}
}
