package evidence

import (
	"fmt"
	"slices"
	"strings"

	"isovet/history"
	"isovet/internal/plural"
	"isovet/level"
)

// predicateTxn returns the transaction of a predicate edge's operation.
func (e *Edge) predicateTxn() uint32 {
	if e.Dep == PWR {
		return e.To
	}
	return e.From
}

// predicate reports whether the anomaly is one of single reads with a predicate operation, so that Key is set.
func (a *Anomaly) predicate(h *history.History) bool {
	return slices.ContainsFunc(a.Ops, func(op uint32) bool { return h.Ops.Kind[op].Predicate() })
}

func (a *Anomaly) hasKey(h *history.History) bool {
	return a.Kind == level.NoConflict || a.Kind == level.NonLinearizable || a.predicate(h)
}

// ByThemselves reports whether Ops of a non-linearizable anomaly prove it alone: one of them had ended before the first
// did.
func (a *Anomaly) ByThemselves(h *history.History) bool {
	return slices.ContainsFunc(a.Ops, func(op uint32) bool {
		t := h.TxnOf(op)
		return h.Txns.Status[t] == history.Committed && h.End(t) < h.End(h.TxnOf(a.Ops[0]))
	})
}

// predRow returns the index of a key's row in a predicate operation's result, history.None if it did not match the key.
func predRow(h *history.History, op, key uint32) uint32 {
	p := &h.Preds
	i := h.Ops.Ver[op]
	for r := p.Off[i]; r < p.Off[i+1]; r++ {
		if h.RowKey(r) == key {
			return r
		}
	}
	return history.None
}

// predicateText returns the condition of a predicate operation in a form for people.
func (d *describer) predicateText(op uint32) string {
	return ConditionText(d.h.Texts.Text(d.h.Preds.Pred[d.h.Ops.Ver[op]]))
}

// predOp returns the text of a predicate operation with the rows that it matched.
func (d *describer) predOp(op uint32) string {
	h := d.h
	p, i := &h.Preds, h.Ops.Ver[op]
	var b strings.Builder
	fmt.Fprintf(&b, "%s(%s:", h.Ops.Kind[op], d.predicateText(op))
	if p.Off[i] == p.Off[i+1] {
		b.WriteString(" nothing")
	}
	for r := p.Off[i]; r < p.Off[i+1]; r++ {
		if r-p.Off[i] == 6 {
			b.WriteString(", and " + plural.Of(p.Off[i+1]-r, "more row"))
			break
		}
		if r > p.Off[i] {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, " %s", d.key(h.RowKey(r)))
		if v := p.Old[r]; v != history.None {
			fmt.Fprintf(&b, " = %s", d.value(v))
		}
		if v := p.New[r]; v != history.None {
			fmt.Fprintf(&b, " to %s", d.value(v))
		}
	}
	b.WriteByte(')')
	return b.String()
}

// matchesOne reports whether a predicate operation matched one of the keys.
func (d *describer) matchesOne(op uint32, keys map[uint32]bool) bool {
	p, i := &d.h.Preds, d.h.Ops.Ver[op]
	for r := p.Off[i]; r < p.Off[i+1]; r++ {
		if keys[d.h.RowKey(r)] {
			return true
		}
	}
	return false
}

// baseValue returns the text of the version that a predicate operation was based on.
func (d *describer) baseValue(k, ver uint32) string {
	if ver == history.None {
		return string(d.h.Texts.AppendValue(nil, d.h.Initial))
	}
	return d.h.ValueString(ver)
}

// matched says in words whether a predicate operation matched a key, and whether its predicate matches the next
// version.
func (d *describer) matched(e Edge) (now, next string) {
	if predRow(d.h, e.Op, e.Key) != history.None {
		return "matched", "does not match"
	}
	return "did not match", "matches"
}

func (d *describer) pwr(e Edge) string {
	verb, _ := d.matched(e)
	return fmt.Sprintf("%s's condition %s %s %s = %s, which %s wrote", d.txn(e.To), d.predicateText(e.Op), verb,
		d.key(e.Key), d.baseValue(e.Key, e.Ver), d.txn(e.From))
}

func (d *describer) prw(e Edge) string {
	verb, next := d.matched(e)
	_, ver := d.finalWrite(e.To, e.Key)
	return fmt.Sprintf("%s's condition %s %s %s, before %s wrote %s there, which it %s", d.txn(e.From),
		d.predicateText(e.Op), verb, d.key(e.Key), d.txn(e.To), d.value(ver), next)
}

// bases returns, in words, the versions on which a cycle assumes that predicate operations were based.
func (d *describer) bases(c []Edge) (out []string) {
	said := map[[2]uint32]bool{}
	for _, e := range c {
		if !e.Predicate() || said[[2]uint32{e.Op, e.Key}] {
			continue
		}
		said[[2]uint32{e.Op, e.Key}] = true
		by := e.Writer
		if e.Dep == PWR {
			by = e.From
		}
		what := "the initial version"
		if by != history.None && by != d.h.Init {
			what = d.txn(by) + "'s version"
		}
		out = append(out, fmt.Sprintf("%s saw %s of %s", d.txn(e.predicateTxn()), what, d.key(e.Key)))
	}
	return out
}

// predicateReads describes an anomaly of single reads with a predicate operation.
func (d *describer) predicateReads(a *Anomaly) {
	h := d.h
	key := d.key(a.Key)
	// saw returns, in words, what an operation shows of the key.
	saw := func(op uint32) string {
		switch h.Ops.Kind[op] {
		case history.PredRead, history.PredWrite:
			r := predRow(h, op, a.Key)
			switch {
			case r == history.None:
				return fmt.Sprintf("the condition %s did not match %s", d.predicateText(op), key)
			case h.Preds.Old[r] == history.None:
				return fmt.Sprintf("the condition %s matched %s", d.predicateText(op), key)
			}
			return fmt.Sprintf("the condition %s matched %s = %s", d.predicateText(op), key, d.value(h.Preds.Old[r]))
		}
		return fmt.Sprintf("it read %s = %s", key, d.value(h.Ops.Ver[op]))
	}
	wrote := func(op uint32) string {
		if h.Ops.Kind[op] == history.PredWrite {
			return d.value(h.Preds.New[predRow(h, op, a.Key)])
		}
		return d.value(h.Ops.Ver[op])
	}
	op := a.Ops[0]
	t := d.txn(h.TxnOf(op))
	other := ""
	if len(a.Ops) > 1 {
		other = d.txn(h.TxnOf(a.Ops[1]))
	}
	switch a.Kind {
	case level.PredicateMismatch:
		r := predRow(h, op, a.Key)
		switch {
		case r == history.None:
			fmt.Fprintf(d, "In %s %s, but it matches every version of %s that %[1]s could have seen.", t, saw(op), key)
		case h.Preds.Old[r] == history.None:
			fmt.Fprintf(d, "In %s %s, but it matches no version of %s that %[1]s could have seen.", t, saw(op), key)
		default:
			fmt.Fprintf(d, "In %s %s, but it does not match that value.", t, saw(op))
		}
	case level.ThinAirRead:
		fmt.Fprintf(d, "In %s %s, but no transaction wrote that value.", t, saw(op))
	case level.G1a:
		fmt.Fprintf(d, "In %s %s, but %s wrote that value and aborted.", t, saw(op), other)
	case level.G1b:
		fmt.Fprintf(d, "In %s %s, a value that %s wrote and overwrote before it committed.", t, saw(op), other)
	case level.FutureRead:
		fmt.Fprintf(d, "In %s %s, but only %[1]s wrote that value, and it did so later.", t, saw(op))
	case level.NotMyOwnWrite:
		fmt.Fprintf(d, "%s wrote %s = %s, and then %s.", t, key, wrote(a.Ops[1]), saw(op))
	case level.NotMyLastWrite:
		fmt.Fprintf(d, "%s last wrote %s = %s, and then %s, its own earlier write.", t, key, wrote(a.Ops[1]), saw(op))
	case level.NonRepeatableRead:
		if a.Ops[1] == op {
			fmt.Fprintf(d, "In %s %s, and also another version of the same row.", t, saw(op))
			return
		}
		fmt.Fprintf(d, "In %s %s, and then %s, without a write of its own in between.", t, saw(op), saw(a.Ops[1]))
	default:
		fmt.Fprintf(d, "%s about %s in %s: %s.", a.Kind.Name(), key, t, saw(op))
	}
}
