package evidence

import (
	"fmt"
	"slices"

	"isovet/history"
	"isovet/internal/plural"
	"isovet/internal/slice"
	"isovet/level"
)

func (d *describer) overwrote(v uint32) string {
	if v != history.None && d.h.VerKind[v] == history.Null {
		return "deleted it"
	}
	return "overwrote it with " + d.value(v)
}

// finalWrite returns t's last write or append of k and the version it wrote, or history.None twice.
func (d *describer) finalWrite(t, k uint32) (op, ver uint32) {
	h := d.h
	lo, hi := h.TxnOps(t)
	for op := hi; op > lo; op-- {
		switch h.Ops.Kind[op-1] {
		case history.Write, history.Append:
			if h.OpKey(op-1) == k {
				return op - 1, h.Ops.Ver[op-1]
			}
		case history.PredWrite:
			if r := predRow(h, op-1, k); r != history.None {
				return op - 1, h.Preds.New[r]
			}
		}
	}
	return history.None, history.None
}

// listRead returns t's first list read of k that contains the element has and not the element lacks (None: any), as an
// index into Lists; failing that, t's first list read of k.
func (d *describer) listRead(t, k, has, lacks uint32) (list uint32, ok bool) {
	for op := range d.h.EachOp(t) {
		if d.h.Ops.Kind[op] != history.ReadList || d.h.OpKey(op) != k {
			continue
		}
		i := d.h.Ops.Ver[op]
		elems := d.h.Elems(i)
		if (has == history.None || slices.Contains(elems, has)) && (lacks == history.None || !slices.Contains(elems,
			lacks)) {
			return i, true
		}
		if !ok {
			list, ok = i, true
		}
	}
	return list, ok
}

// shown returns, for a ww edge of a list, a list read of a transaction that did not abort, which has From's element
// without To's or with To's after it; history.None if there is none.
func (d *describer) shown(e Edge) uint32 {
	h := d.h
	from, _ := d.finalWrite(e.From, e.Key)
	if from == history.None || h.Ops.Kind[from] != history.Append {
		return history.None
	}
	for op, k := range h.Ops.Kind {
		if k != history.ReadList || h.Lists.Key[h.Ops.Ver[op]] != e.Key ||
			h.Txns.Status[h.TxnOf(uint32(op))] == history.Aborted {
			continue
		}
		i := h.Ops.Ver[op]
		has := false
		after := true
		for _, v := range h.Elems(i) {
			has = has || v == h.Ops.Ver[from]
			after = after && (v != e.Ver || has)
		}
		if has && after {
			return uint32(op)
		}
	}
	return history.None
}

func (d *describer) reads(a *Anomaly) {
	h := d.h
	t := d.txn(h.TxnOf(a.Ops[0]))
	if a.Kind == level.NonLinearizable {
		d.linear(a)
		return
	}
	if len(a.Dead) > 0 {
		d.dead(a)
		return
	}
	defer func() {
		if w := len(a.Ops) - 1; a.Later(h) {
			t, by := h.TxnOf(a.Ops[0]), h.TxnOf(a.Ops[w])
			fmt.Fprintf(d, " The read came before the write: %s.", d.inTime(t, by))
		}
	}()
	if a.predicate(h) {
		d.predicateReads(a)
		return
	}
	what := func(op uint32) string {
		s := d.key(h.OpKey(op)) + " = "
		if h.Ops.Kind[op] == history.ReadList {
			return s + d.list(h.Ops.Ver[op])
		}
		return s + d.value(h.Ops.Ver[op])
	}
	r := what(a.Ops[0])
	other, o := "another transaction", ""
	if len(a.Ops) > 1 {
		other, o = d.txn(h.TxnOf(a.Ops[1])), what(a.Ops[1])
	}
	list := h.Ops.Kind[a.Ops[0]] == history.ReadList
	switch a.Kind {
	case level.ThinAirRead:
		why := "but no transaction wrote that value"
		if list {
			why = "but no transaction appended one of its elements, or not as often"
		}
		fmt.Fprintf(d, "%s read %s, %s.", t, r, why)
	case level.IncompatibleOrder:
		fmt.Fprintf(d, "%s read %s", t, r)
		for _, op := range a.Ops[1:] {
			fmt.Fprintf(d, ", %s read %s", d.txn(h.TxnOf(op)), what(op))
		}
		d.WriteString(". No order of the transactions' appends, each as a whole, gives these lists.")
	case level.DuplicateElement:
		fmt.Fprintf(d, "%s read %s, which has an element more often than it was appended.", t, r)
	case level.G1a:
		if list {
			fmt.Fprintf(d, "%s read %s, but %s, which appended %s, aborted.", t, r, other, o)
			return
		}
		fmt.Fprintf(d, "%s read %s, but %s wrote that value and aborted.", t, r, other)
	case level.G1b:
		if list && len(a.Ops) > 1 {
			d.partOfList(a.Ops[0], h.TxnOf(a.Ops[1]))
			return
		}
		fmt.Fprintf(d, "%s read %s, a value that %s wrote and overwrote before it committed.", t, r, other)
	case level.FutureRead:
		fmt.Fprintf(d, "%s read %s before it wrote that value itself; no other transaction wrote it.", t, r)
	case level.NotMyOwnWrite:
		fmt.Fprintf(d, "%s wrote %s and then read %s, without its own write.", t, o, r)
	case level.NotMyLastWrite:
		fmt.Fprintf(d, "%s last wrote %s and then read %s, its own earlier write.", t, o, r)
	case level.NonRepeatableRead:
		fmt.Fprintf(d, "%s read %s and then %s, without a write of its own in between.", t, r, o)
	default:
		fmt.Fprintf(d, "%s in the read of %s by %s.", a.Kind.Name(), r, t)
	}
}

// partOfList describes, for the elements that a transaction appended, which of them a read shows and which it misses.
func (d *describer) partOfList(read, by uint32) {
	h := d.h
	shown := slice.Set(h.Elems(h.Ops.Ver[read]))
	var seen, missed []string
	for op := range h.EachOp(by) {
		if v := h.Ops.Ver[op]; h.Ops.Kind[op] == history.Append && h.OpKey(op) == h.OpKey(read) {
			if shown[v] {
				seen = append(seen, d.value(v))
			} else {
				missed = append(missed, d.value(v))
			}
		}
	}
	reader, writer, key := d.txn(h.TxnOf(read)), d.txn(by), d.key(h.OpKey(read))
	if len(seen) == 0 {
		fmt.Fprintf(d, "%s read %s = %s, but none of %s, which %s appended.", reader, key, d.list(h.Ops.Ver[read]),
			plural.And(missed), writer)
		return
	}
	if len(missed) == 0 {
		fmt.Fprintf(d, "%s read %s = %s, but %s appended %s in this order, with nothing in between.", reader, key,
			d.list(h.Ops.Ver[read]), writer, plural.And(seen))
		return
	}
	fmt.Fprintf(d, "%s saw only a part of %s: it read %s from list %s, but not %s, which %s appended too.", reader,
		writer, plural.And(seen), key, plural.And(missed), writer)
}
