package certify

import (
	"cmp"
	"fmt"
	"slices"

	"isovet/evidence"
	"isovet/history"
	"isovet/level"
)

// checkListRead proves that no order explains the list that r.t read.
func (x *index) checkListRead(r singleRead) error {
	h := x.h
	lo, _ := h.TxnOps(r.t)
	seen, ends := others(h, r.op, lo)
	switch r.kind {
	case level.NotMyOwnWrite, level.NotMyLastWrite:
		if r.own == history.None || r.own != r.other {
			return fmt.Errorf("operation %d is not the last own append before the read", r.other)
		}
		if ends {
			return fmt.Errorf("the list ends with all of the transaction's own appends")
		}
		return nil
	case level.NonRepeatableRead:
		return x.checkRepeatedList(r)
	}
	if !ends {
		return fmt.Errorf("the list does not end with the transaction's own appends: that is another anomaly")
	}
	if r.other != history.None && (h.Ops.Kind[r.other] != history.Append || r.kind != level.G1b && !contains(seen,
		h.Ops.Ver[r.other])) {
		return fmt.Errorf("operation %d did not append an element of the list", r.other)
	}
	switch r.kind {
	case level.DuplicateElement, level.ThinAirRead:
		return x.checkTooMany(r, seen)
	case level.G1a, level.FutureRead:
		return x.checkElement(r)
	case level.G1b:
		if r.by == r.t || h.Txns.Status[r.by] == history.Aborted {
			return fmt.Errorf("operation %d is not an append of another transaction that committed", r.other)
		}
		if x.isDoubled(r.key) && x.nobodyAppended([]uint32{r.op}, Options{}) == nil {
			return nil // at every level lists consist of whole transactions' appends
		}
		return x.checkTorn(r, seen)
	}
	return fmt.Errorf("%s is not an anomaly of lists", r.kind)
}

// checkRepeatedList proves that two list reads in one transaction show different elements of other transactions.
func (x *index) checkRepeatedList(r singleRead) error {
	h := x.h
	if h.Ops.Kind[r.other] != history.ReadList || r.by != r.t || r.other <= r.op {
		return fmt.Errorf("operation %d is not a later list read of the same transaction", r.other)
	}
	lo, _ := h.TxnOps(r.t)
	first, ends := others(h, r.op, lo)
	if second, too := others(h, r.other, lo); !ends || !too || slices.Equal(first, second) {
		return fmt.Errorf("both reads show the same elements of other transactions")
	}
	return nil
}

// checkTooMany proves that a list shows an element more often than it was appended. A duplicate-element is more
// frequent than all its appends. A thin-air-read shows an element that nobody appended, or more often than transactions
// other than the reader did.
func (x *index) checkTooMany(r singleRead, seen []uint32) error {
	h := x.h
	thinAir := r.kind == level.ThinAirRead
	list := h.Elems(h.Ops.Ver[r.op])
	if thinAir {
		list = seen
	}
	count := make(map[uint32]int)
	for _, e := range list {
		count[e]++
	}
	for e, n := range count {
		for _, w := range x.writes[e] {
			if h.Txns.Status[w.txn] != history.Aborted && !(thinAir && w.txn == r.t) {
				n--
			}
		}
		if n > 0 && (count[e] > 1 || thinAir && len(x.writes[e]) == 0) {
			return nil
		}
	}
	return fmt.Errorf("no element was read more often than it was appended")
}

// checkElement proves that only an aborted transaction (G1a), or only the reader after its read (future-read), appended
// an element that the list shows.
func (x *index) checkElement(r singleRead) error {
	h := x.h
	if r.kind == level.G1a && h.Txns.Status[r.by] != history.Aborted {
		return fmt.Errorf("%s, which appended it, did not abort", name(h, r.by))
	}
	if r.kind == level.FutureRead && (r.by != r.t || r.other < r.op) {
		return fmt.Errorf("operation %d is not a later append of the reader", r.other)
	}
	if c := x.candidates(r.t, h.Ops.Ver[r.other]); len(c) > 0 {
		return fmt.Errorf("another transaction appended the element too")
	}
	return nil
}

// checkTorn proves that a list shows some appends of r.by to its key, but not all of them, adjacent and in their order;
// or that it does not begin with the initial elements. r.by must be the only transaction that appended these elements,
// or at least one that the list shows.
func (x *index) checkTorn(r singleRead, seen []uint32) error {
	h := x.h
	var all []uint32
	for op := range h.EachOp(r.by) {
		if h.Ops.Kind[op] == history.Append && h.OpKey(op) == r.key {
			all = append(all, h.Ops.Ver[op])
		}
	}
	if r.by == h.Init {
		if len(seen) >= len(all) && slices.Equal(seen[:len(all)], all) {
			return fmt.Errorf("the list begins with the initial elements")
		}
		return nil
	}
	if !slices.ContainsFunc(all, func(e uint32) bool { return contains(seen, e) }) {
		return fmt.Errorf("the list has no element of %s", name(h, r.by))
	}
	others := slices.IndexFunc(all, func(e uint32) bool { return len(slices.Compact(x.candidates(r.t, e))) != 1 })
	if others >= 0 {
		if x.tornAround(r.t, all, seen) {
			return nil
		}
		return fmt.Errorf("%s is not the only transaction that appended %s", name(h, r.by), h.ValueString(all[others]))
	}
	i := slices.Index(seen, all[0])
	if i < 0 || len(seen) < i+len(all) || !slices.Equal(seen[i:i+len(all)], all) {
		return nil
	}
	for _, e := range slices.Concat(seen[:i], seen[i+len(all):]) {
		if contains(all, e) {
			return nil
		}
	}
	return fmt.Errorf("the list has all appends of %s", name(h, r.by))
}

// tornAround reports whether a list shows an element that only this transaction appended, but not its other appends
// around it.
func (x *index) tornAround(reader uint32, all, seen []uint32) bool {
	return slices.ContainsFunc(seen, func(e uint32) bool {
		k, last := slices.Index(all, e), len(all)-1
		if k < 0 || slices.Contains(all[k+1:], e) || len(x.candidates(reader, e)) != 1 {
			return false
		}
		from := slices.Index(seen, e) - k
		return from < 0 || from+last >= len(seen) || !slices.Equal(seen[from:from+last+1], all)
	})
}

// shown returns a committed transaction that read a list with From's element, and To's element later in it or not at
// all. If there is none, shown returns all such transactions of unknown outcome. Lists only grow, so From appended
// first if one of these counts.
func (p *proof) shown(from, to uint32, e evidence.Edge) (by []uint32) {
	if c := p.candidates(history.None, from); len(c) != 1 || c[0] != e.From {
		return nil
	}
	for _, op := range p.x.lists[e.Key] {
		t := p.h.TxnOf(op)
		lo, _ := p.h.TxnOps(t)
		list, ok := others(p.h, op, lo)
		if !ok {
			continue
		}
		// At the weak levels a transaction may append without seeing earlier appends, so its own elements do not count.
		if !weak(p.level) {
			list = p.h.Elems(p.h.Ops.Ver[op])
		}
		i := slices.Index(list, from)
		if i < 0 {
			continue
		}
		if j := slices.Index(list, to); j >= 0 {
			if c := p.candidates(history.None, to); j < i || len(c) != 1 || c[0] != e.To {
				continue
			}
		}
		if p.h.Txns.Status[t] == history.Committed {
			return []uint32{t}
		}
		by = append(by, t)
	}
	return by
}

// listRW checks an anti-dependency of lists: From's list lacks what To appended. Doubled lists need an assumption.
func (p *proof) listRW(needs []Lit, e evidence.Edge, w uint32) ([]Lit, error) {
	h := p.h
	err := fmt.Errorf("%s does not read the list %s", name(h, e.From), h.KeyString(e.Key))
	var again error // why it cannot be proved for a list with a doubled element
	if !weak(p.level) {
		var d *doubledProof
		if d, again = p.doubled(e.Key); d != nil && again == nil {
			var out []Lit
			if out, again = p.doubledRW(d, needs, e); again == nil {
				return out, nil
			}
		}
	}
	for _, op := range listReads(h, e.From, e.Key) { // these differ only at read-committed
		if err = p.lacks(op, e, w); err == nil {
			return needs, nil
		}
	}
	return nil, cmp.Or(again, err)
}

// lacks checks that one list read does not show what To appended.
func (p *proof) lacks(op uint32, e evidence.Edge, w uint32) error {
	h := p.h
	lo, _ := h.TxnOps(e.From)
	seen, ok := others(h, op, lo)
	if !ok {
		return fmt.Errorf("the list that %s read does not end with its own appends", name(h, e.From))
	}
	if contains(seen, h.Ops.Ver[w]) {
		return fmt.Errorf("%s read %s, which %s appended", name(h, e.From), h.ValueString(h.Ops.Ver[w]), name(h, e.To))
	}
	if len(seen) == 0 {
		if e.Writer != history.None && e.Writer != h.Init || e.Ver != history.None && e.Ver != h.InitVer[e.Key] {
			return fmt.Errorf("%s read an empty list", name(h, e.From))
		}
		return nil
	}
	if e.Ver != seen[len(seen)-1] {
		return fmt.Errorf("the version is not the last element that %s read", name(h, e.From))
	}
	for _, c := range p.candidates(e.From, e.Ver) {
		if c == e.Writer || c == initial && e.Writer == h.Init {
			return nil
		}
	}
	return fmt.Errorf("the writer that the certificate names did not append the last element that %s read",
		name(h, e.From))
}
