package certify

import (
	"fmt"
	"slices"

	"isovet/evidence"
	"isovet/history"
	"isovet/level"
)

// checkReads proves an anomaly of single reads from the operations it names, and returns the transaction that shows it.
// Ops has the read first and then, where the kind has one, the operation that explains it:
//
//   - thin-air-read, duplicate-element: nothing more
//   - G1a: the aborted write; G1b: the write of the version read (or, of a list, an append) that its transaction overwrote or
//     that is not shown with the rest; future-read: the own later write
//   - not-my-own-write, not-my-last-write: the last own write before the read
//   - non-repeatable-read: the second read
func (x *index) checkReads(a *evidence.Anomaly) (reader uint32, err error) {
	h := x.h
	if len(a.Ops) > 0 && int(a.Ops[0]) < h.NumOps() && h.HasPredicates() && h.Ops.Kind[a.Ops[0]] != history.ReadList {
		return x.checkPredicateReads(a)
	}
	want := 2
	if a.Kind == level.ThinAirRead || a.Kind == level.DuplicateElement {
		want = 1
	}
	if len(a.Ops) != want {
		return 0, fmt.Errorf("%d operations; expected %d", len(a.Ops), want)
	}
	for _, op := range a.Ops {
		if int(op) >= h.NumOps() {
			return 0, fmt.Errorf("operation %d of %d", op, h.NumOps())
		}
	}
	op := a.Ops[0]
	kind := h.Ops.Kind[op]
	if kind != history.Read && kind != history.ReadList {
		return 0, fmt.Errorf("operation %d is no read", op)
	}
	t := evidence.TxnOf(h, op)
	if h.Txns.Status[t] == history.Aborted {
		return 0, fmt.Errorf("%s, the reader, aborted", name(h, t))
	}
	other, by := history.None, history.None
	if want == 2 {
		other = a.Ops[1]
		by = evidence.TxnOf(h, other)
		if h.OpKey(other) != h.OpKey(op) {
			return 0, fmt.Errorf("operations %d and %d are not on one key", op, other)
		}
	}
	own := lastOwn(h, t, op)
	if kind == history.ReadList {
		return t, x.checkListRead(a.Kind, t, op, other, by, own)
	}
	v := h.Ops.Ver[op]
	isWrite := other != history.None && h.Ops.Kind[other] == history.Write
	switch a.Kind {
	case level.NotMyOwnWrite, level.NotMyLastWrite:
		if own == history.None || own != other {
			return t, fmt.Errorf("operation %d is not the last own write before the read", other)
		}
		if h.Ops.Ver[own] == v {
			return t, fmt.Errorf("the read is of the last own write")
		}
		earlier := false
		lo, _ := h.TxnOps(t)
		for w := lo; w < own; w++ {
			wrote(h, w, func(x uint32) { earlier = earlier || x == v })
		}
		if earlier != (a.Kind == level.NotMyLastWrite) {
			return t, fmt.Errorf("whether the value read is an own earlier write is said wrongly")
		}
		return t, nil
	case level.NonRepeatableRead:
		switch {
		case h.Ops.Kind[other] != history.Read || by != t || other <= op:
			return t, fmt.Errorf("operation %d is not a later read of the same transaction", other)
		case h.Ops.Ver[other] == v:
			return t, fmt.Errorf("the two reads are of one version")
		case lastOwn(h, t, other) != history.None:
			return t, fmt.Errorf("there is an own write before the second read")
		}
		return t, nil
	}
	if own != history.None && h.Ops.Ver[own] == v {
		return t, fmt.Errorf("the read is of the transaction's own write")
	}
	if c := x.candidates(t, v); len(c) > 0 {
		if c[0] == initial {
			return t, fmt.Errorf("the version read may be the initial one")
		}
		return t, fmt.Errorf("%s may have installed the version read", name(h, c[0]))
	}
	if want == 2 && (!isWrite || h.Ops.Ver[other] != v) {
		return t, fmt.Errorf("operation %d is not a write of the version read", other)
	}
	return t, x.origin(a.Kind, t, h.OpKey(op), v, op, other, by)
}

// origin proves that version v of key k, which operation op of t read and no counting transaction installed, came from where kind says:
// from nowhere, or from operation other of transaction by.
func (x *index) origin(kind level.Anomaly, t, k, v, op, other, by uint32) error {
	h := x.h
	switch kind {
	case level.ThinAirRead:
		if w := x.writes[v]; len(w) > 0 {
			return fmt.Errorf("%s wrote the value read", name(h, w[0].txn))
		}
	case level.G1a:
		if h.Txns.Status[by] != history.Aborted {
			return fmt.Errorf("%s, the writer, did not abort", name(h, by))
		}
	case level.G1b:
		_, hi := h.TxnOps(by)
		if by == t || isFinal(h, k, other, hi) {
			return fmt.Errorf("operation %d is no other transaction's intermediate write", other)
		}
	case level.FutureRead:
		if by != t || other < op {
			return fmt.Errorf("operation %d is not a later write of the reader", other)
		}
	default:
		return fmt.Errorf("%q is not an anomaly of single reads", kind)
	}
	return nil
}

// lastOwn returns the last own write or append of op's key in t before op, or history.None.
func lastOwn(h *history.History, t, op uint32) uint32 {
	k := h.OpKey(op)
	lo, _ := h.TxnOps(t)
	for w := op; w > lo; w-- {
		if kind := h.Ops.Kind[w-1]; (kind == history.Write || kind == history.Append) && h.OpKey(w-1) == k {
			return w - 1
		}
	}
	return history.None
}

// checkListRead proves that no order gives t the list that it read.
func (x *index) checkListRead(kind level.Anomaly, t, op, other, by, own uint32) error {
	h := x.h
	lo, _ := h.TxnOps(t)
	seen, ends := others(h, op, lo)
	switch kind {
	case level.NotMyOwnWrite, level.NotMyLastWrite:
		if own == history.None || own != other {
			return fmt.Errorf("operation %d is not the last own append before the read", other)
		}
		if ends {
			return fmt.Errorf("the list ends with all own appends")
		}
		return nil
	case level.NonRepeatableRead:
		if h.Ops.Kind[other] != history.ReadList || by != t || other <= op {
			return fmt.Errorf("operation %d is not a later list read of the same transaction", other)
		}
		second, ok := others(h, other, lo)
		if !ends || !ok || slices.Equal(seen, second) {
			return fmt.Errorf("both reads show the same of others")
		}
		return nil
	}
	if !ends {
		return fmt.Errorf("the list does not end with the own appends, which is another anomaly")
	}
	has := func(w uint32) bool {
		for _, e := range seen {
			if e == h.Ops.Ver[w] {
				return true
			}
		}
		return false
	}
	if other != history.None && (h.Ops.Kind[other] != history.Append || kind != level.G1b && !has(other)) {
		return fmt.Errorf("operation %d is not an append of an element read", other)
	}
	switch kind {
	case level.DuplicateElement:
		count := make(map[uint32]int)
		for _, e := range elems(h, h.Ops.Ver[op]) {
			count[e]++
		}
		for e, n := range count {
			for _, w := range x.writes[e] {
				if h.Txns.Status[w.txn] != history.Aborted {
					n--
				}
			}
			if n > 0 && count[e] > 1 {
				return nil
			}
		}
		return fmt.Errorf("every element read was appended as often")
	case level.ThinAirRead:
		count := make(map[uint32]int)
		for _, e := range seen {
			count[e]++
		}
		for e, n := range count {
			for _, w := range x.writes[e] {
				if w.txn != t && h.Txns.Status[w.txn] != history.Aborted {
					n--
				}
			}
			if n > 0 && (len(x.writes[e]) == 0 || count[e] > 1) {
				return nil
			}
		}
		return fmt.Errorf("every element read was appended")
	case level.G1a:
		if h.Txns.Status[by] != history.Aborted {
			return fmt.Errorf("%s, which appended it, did not abort", name(h, by))
		}
		if c := x.candidates(t, h.Ops.Ver[other]); len(c) > 0 {
			return fmt.Errorf("another transaction appended the element too")
		}
		return nil
	case level.FutureRead:
		if by != t || other < op {
			return fmt.Errorf("operation %d is not a later append of the reader", other)
		}
		if c := x.candidates(t, h.Ops.Ver[other]); len(c) > 0 {
			return fmt.Errorf("another transaction appended the element too")
		}
		return nil
	case level.G1b:
		if by == t || h.Txns.Status[by] == history.Aborted {
			return fmt.Errorf("operation %d is no append of another transaction that counts", other)
		}
		if x.isDoubled(h.OpKey(op)) && x.nobodyAppended([]uint32{op}, Options{}) == nil {
			return nil // at no level is a list shown that is not made of whole transactions' appends
		}
		return x.checkTorn(t, seen, by, h.OpKey(op), has)
	}
	return fmt.Errorf("%q is not an anomaly of single reads", kind)
}

// checkTorn proves that a list shows the appends of by to key k, each appended by no other, but not all of them, in their
// order and without another's between; or that it lacks the initial ones at its beginning.
func (x *index) checkTorn(t uint32, seen []uint32, by, k uint32, has func(op uint32) bool) error {
	h := x.h
	var all []uint32
	lo, hi := h.TxnOps(by)
	any := false
	for op := lo; op < hi; op++ {
		if h.Ops.Kind[op] == history.Append && h.OpKey(op) == k {
			all = append(all, h.Ops.Ver[op])
			any = any || has(op)
		}
	}
	if by == h.Init {
		if len(seen) >= len(all) && slices.Equal(seen[:len(all)], all) {
			return fmt.Errorf("the list begins with the initial elements")
		}
		return nil
	}
	if !any {
		return fmt.Errorf("the list shows nothing of %s", name(h, by))
	}
	for _, e := range all {
		if len(x.candidates(t, e)) != 1 {
			return fmt.Errorf("%s is not the only one that appended %s", name(h, by), h.ValueString(e))
		}
	}
	for i := range seen {
		if seen[i] != all[0] {
			continue
		}
		if len(seen) < i+len(all) || !slices.Equal(seen[i:i+len(all)], all) {
			return nil
		}
		for _, e := range append(seen[:i:i], seen[i+len(all):]...) {
			for _, m := range all {
				if e == m {
					return nil
				}
			}
		}
		return fmt.Errorf("the list shows the appends of %s whole", name(h, by))
	}
	return nil
}
