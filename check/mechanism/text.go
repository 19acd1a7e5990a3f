package mechanism

import (
	"fmt"
	"strings"

	"isovet/history"
	"isovet/internal/slice"
)

// describer puts violations into words. The zero value is not usable; see Describe.
type describer struct {
	h       *history.History
	skew    int64
	origin  int64
	writers map[uint32][]uint32 // version → operations that wrote it
}

// Describe describes the violations of a history's report: which transaction did what and when, in ms since the history
// began. Cost: one pass over the history, if some read saw a version that was never visible.
func Describe(h *history.History, r *Report, skew int64) []string {
	origin := int64(Forever)
	for t := range uint32(h.NumTxns()) {
		if s := h.Start(t); s != history.NoTime && t != h.Init {
			origin = min(origin, s)
		}
	}
	return DescribeSince(h, r.Violations, skew, origin)
}

// DescribeSince is Describe with times since a moment.
func DescribeSince(h *history.History, vs []Violation, skew, origin int64) []string {
	d := &describer{h: h, skew: skew, origin: origin}
	return slice.Map(vs, func(v Violation) string { return d.text(&v) })
}

func (d *describer) txn(t uint64) string {
	if t == none || t == uint64(d.h.Init) {
		return "the initial state"
	}
	return fmt.Sprintf("T%d", d.h.Txns.ID[t])
}

func (d *describer) ms(t int64) string {
	if t == Forever || t == history.NoTime {
		return "…"
	}
	return fmt.Sprintf("%.3f", float64(t-d.origin)/1e6)
}

func (d *describer) span(a, b int64) string { return "[" + d.ms(a) + ", " + d.ms(b) + "] ms" }

func (d *describer) times(t uint32) span {
	x, _ := (&source{h: d.h, timed: d.h.Ops.End != nil}).times(t)
	return x
}

func (d *describer) commit(t uint64) string {
	x := d.times(uint32(t))
	return d.span(x.bef, x.aft)
}

func (d *describer) op(op uint32) string {
	x := d.times(d.h.TxnOf(op))
	if x.ops {
		return d.span(d.h.OpStart(op), d.h.OpEnd(op))
	}
	return d.span(x.start, x.opAft)
}

func (d *describer) key(k uint32) string { return d.h.KeyString(k) }

func (d *describer) val(v uint64) string {
	if v == Nothing {
		return "nothing"
	}
	return d.h.ValueString(uint32(v))
}

func (d *describer) text(v *Violation) string {
	var b strings.Builder
	switch v.Mechanism {
	case ConsistentRead:
		d.read(&b, v)
	case MutualExclusion:
		fmt.Fprintf(&b, "%s and %s both held the lock on key %s: %s requested it in %s and ended in %s, %s "+
			"requested it in %s and ended in %s", d.txn(v.Txns[0]), d.txn(v.Txns[1]), d.key(v.Key), d.txn(v.Txns[0]),
			d.op(v.Ops[0]), d.commit(v.Txns[0]), d.txn(v.Txns[1]), d.op(v.Ops[1]), d.commit(v.Txns[1]))
	case FirstUpdaterWins:
		fmt.Fprintf(&b, "%s and %s both wrote key %s, and neither had committed when the other took its snapshot: "+
			"commits in %s and %s", d.txn(v.Txns[0]), d.txn(v.Txns[1]), d.key(v.Key),
			d.commit(v.Txns[0]), d.commit(v.Txns[1]))
		if len(v.Ops) > 2 {
			fmt.Fprintf(&b, "; operation %d of %s, in %s, missed the write of %s", v.Ops[2]-d.h.Txns.OpOff[v.Txns[1]],
				d.txn(v.Txns[1]), d.op(v.Ops[2]), d.txn(v.Txns[0]))
		}
	case SerializationCertifier:
		b.WriteString("a cycle: ")
		for i, e := range v.Cycle {
			if i == 0 {
				b.WriteString(d.txn(e.From))
			}
			fmt.Fprintf(&b, " —%s %s, by %s→ %s", e.Dep, d.key(e.Key), e.Reason, d.txn(e.To))
		}
	}
	return b.String()
}

func (d *describer) read(b *strings.Builder, v *Violation) {
	at := v.Ops[0]
	if v.Kind == Fractured {
		at = v.Ops[1]
	}
	fmt.Fprintf(b, "%s read %s = %s in %s", d.txn(v.Txns[0]), d.key(v.Key), d.val(v.Val), d.op(at))
	switch v.Kind {
	case Overwritten:
		b.WriteString(", which had been overwritten by then")
		if n := len(v.Txns); n > 1 {
			fmt.Fprintf(b, " by %s, committed in %s", d.txn(v.Txns[n-1]), d.commit(v.Txns[n-1]))
		}
	case Uncommitted:
		b.WriteString(", before its writer committed")
		if len(v.Txns) > 1 {
			fmt.Fprintf(b, ": %s, in %s", d.txn(v.Txns[1]), d.commit(v.Txns[1]))
		}
	case OwnWrite:
		b.WriteString(", although it had written another value itself")
	case NoSnapshot:
		b.Reset()
		fmt.Fprintf(b, "%s read versions that were never visible together: ", d.txn(v.Txns[0]))
		for i, op := range v.Ops {
			if i > 0 {
				b.WriteString(" and ")
			}
			fmt.Fprintf(b, "operation %d in %s", op-d.h.Txns.OpOff[v.Txns[0]], d.op(op))
		}
		for i, t := range v.Txns[1:] {
			if i == 0 {
				b.WriteString("; see ")
			} else {
				b.WriteString(", ")
			}
			fmt.Fprintf(b, "%s, committed in %s", d.txn(t), d.commit(t))
		}
	case Fractured:
		fmt.Fprintf(b, ", and so missed this write of %s, but operation %d in %s saw another one", d.txn(v.Txns[1]),
			v.Ops[0]-d.h.Txns.OpOff[v.Txns[0]], d.op(v.Ops[0]))
	case NotVisible:
		d.never(b, v)
	}
}

// never describes a value that no snapshot could see.
func (d *describer) never(b *strings.Builder, v *Violation) {
	h := d.h
	if d.writers == nil {
		d.writers = map[uint32][]uint32{}
		for op := range uint32(h.NumOps()) {
			switch h.Ops.Kind[op] {
			case history.Write, history.Append:
				d.writers[h.Ops.Ver[op]] = append(d.writers[h.Ops.Ver[op]], op)
			case history.PredWrite:
				p := h.Ops.Ver[op]
				for _, w := range h.Preds.New[h.Preds.Off[p]:h.Preds.Off[p+1]] {
					d.writers[w] = append(d.writers[w], op)
				}
			}
		}
	}
	var who []uint32
	if v.Val != Nothing {
		who = d.writers[uint32(v.Val)]
	}
	if len(who) == 0 {
		b.WriteString(", which was no longer visible, or never had been")
		return
	}
	t := h.TxnOf(who[0])
	switch {
	case h.Txns.Status[t] == history.Aborted:
		fmt.Fprintf(b, ", which %s wrote and rolled back", d.txn(uint64(t)))
	case t == h.Init:
		b.WriteString(", the initial value, which had long been overwritten")
	default:
		fmt.Fprintf(b, ", which %s wrote; no snapshot could show it then: committed in %s", d.txn(uint64(t)),
			d.commit(uint64(t)))
	}
}
