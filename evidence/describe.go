package evidence

import (
	"fmt"
	"strings"

	"isovet/history"
	"isovet/internal/plural"
	"isovet/level"
)

// Bounds of the text, which is for reading; the evidence itself is complete.
const (
	maxOps   = 12 // operations of a transaction
	maxElems = 16 // elements of a list
	maxCases = 16 // cycles of a proof by cases
	maxLet   = 16 // transactions written out
)

// Describe explains an anomaly in words. For each edge of a cycle it gives the operations that make it, as Elle does:
//
//	Let
//	  T1 = r(x, 0) w(x, 1)
//	  T2 = r(x, 0) w(x, 2)
//	T1 < T2, because T1 read x = 0 before T2 overwrote it with 2.
//	T2 < T1, because T2 read x = 0 before T1 overwrote it with 1.
//	So T1 would come before itself: a contradiction.
//
// Transactions are named by their ids in the file. In a proof by cases, each case is one way to order the open
// versions. If reads of these transactions took locks, as far as the file says, a last line names them.
func Describe(a *Anomaly, h *history.History) string {
	return describe(a, h) + lockingReads(a, h)
}

func describe(a *Anomaly, h *history.History) string {
	d := describer{h: h}
	if len(a.Ops) > 0 {
		d.reads(a)
		return d.String()
	}
	d.by = newSettler(a, h)
	d.let(a)
	if len(a.Cycle) > 0 && len(a.Cycles) == 0 {
		d.cycle(a.Cycle, "")
		return d.String()
	}
	if a.Kind.Base() == level.Divergence {
		d.divergence(a)
		return d.String()
	}
	cases := a.AllCycles()
	d.WriteString("Every way to order the versions closes a cycle.\n")
	for i, c := range cases {
		if i == maxCases && len(cases) > maxCases {
			fmt.Fprintf(&d, "And %s.\n", plural.Of(len(cases)-i, "more case"))
			break
		}
		fmt.Fprintf(&d, "Case %d", i+1)
		if s := d.assumptions(c); s != "" {
			fmt.Fprintf(&d, ", if %s", s)
		}
		d.WriteString(":\n")
		d.cycle(c, "  ")
	}
	return d.String()
}

type describer struct {
	strings.Builder
	h *history.History
	// by tells what decides the orders of versions that edges assume; nil if the anomaly's name asks for no such order.
	by *settler
}

func (d *describer) String() string { return strings.TrimSuffix(d.Builder.String(), "\n") }

// txn returns a transaction's name.
func (d *describer) txn(t uint32) string {
	if t == history.None {
		return "the initial state"
	}
	if t == d.h.Init {
		return "the initial transaction"
	}
	return fmt.Sprintf("T%d", d.h.Txns.ID[t])
}

func (d *describer) key(k uint32) string { return bareName(d.h.KeyString(k)) }

// bareName removes the JSON quotes of a name that reads like a name without them.
func bareName(s string) string {
	if bare := strings.Trim(s, `"`); len(bare) == len(s)-2 && bare != "" && strings.Trim(bare, "0123456789") != "" &&
		strings.IndexFunc(bare, func(r rune) bool { return r <= ' ' || strings.ContainsRune(`"\(),=`, r) }) < 0 {
		return bare
	}
	return s
}

// value returns the text of a version; None is the state before any write that the history names.
func (d *describer) value(v uint32) string {
	if v == history.None {
		return "null"
	}
	return d.h.ValueString(v)
}

func (d *describer) list(i uint32) string {
	var shown []string
	elems := d.h.Elems(i)
	for j, e := range elems {
		switch {
		case len(elems) <= maxElems || j < maxElems/2 || j >= len(elems)-maxElems/2:
			shown = append(shown, d.h.ValueString(e))
		case j == maxElems/2:
			shown = append(shown, "…")
		}
	}
	return "[" + strings.Join(shown, ", ") + "]"
}

// op returns an operation in the notation of the papers.
func (d *describer) op(op uint32) string {
	h, v := d.h, d.h.Ops.Ver[op]
	switch k := h.Ops.Kind[op]; k {
	case history.ReadList:
		return fmt.Sprintf("r(%s, %s)", d.key(h.OpKey(op)), d.list(v))
	case history.PredRead, history.PredWrite:
		return d.predOp(op)
	default:
		return fmt.Sprintf("%s(%s, %s)", k, d.key(h.OpKey(op)), h.ValueString(v))
	}
}

// let writes the transactions, each with its operations on keys that the proof is about.
func (d *describer) let(a *Anomaly) {
	keys := map[uint32]bool{}
	ops := map[uint32]bool{}
	for _, e := range a.Edges() {
		keys[e.Key] = true
		if e.Predicate() {
			ops[e.Op] = true
		}
	}
	d.WriteString("Let\n")
	for i, t := range a.involved(d.h, len(a.Cycles) > 0) { // cases are about the order of writers
		if i == maxLet {
			d.WriteString("  …\n")
			break
		}
		fmt.Fprintf(d, "  %s =", d.txn(t))
		lo, hi := d.h.TxnOps(t)
		shown, left := 0, false
		for op := lo; op < hi; op++ {
			k := d.h.OpKey(op)
			if k == history.None && !ops[op] && !d.matchesOne(op, keys) || k != history.None && !keys[k] ||
				shown == maxOps {
				left = true
				continue
			}
			if left {
				d.WriteString(" …")
				left = false
			}
			d.WriteString(" " + d.op(op))
			shown++
		}
		if left {
			d.WriteString(" …")
		}
		d.WriteByte('\n')
	}
}

func (d *describer) cycle(c []Edge, indent string) {
	for _, e := range c {
		fmt.Fprintf(d, "%s%s < %s, because %s.", indent, d.txn(e.From), d.txn(e.To), d.because(e))
		if by := d.by.edge(e); by != "" {
			fmt.Fprintf(d, " (%s.)", by)
		}
		d.WriteByte('\n')
	}
	if len(c) > 0 {
		fmt.Fprintf(d, "%sSo %s would come before itself: a contradiction.\n", indent, d.txn(c[0].From))
	}
}

// assumptions returns, in words, the orders of versions that a cycle assumes and that no read of one writer by the
// other decides.
func (d *describer) assumptions(c []Edge) string {
	out := d.bases(c)
	said := map[[2]uint32]bool{}
	for _, e := range c {
		first, second := e.From, e.To
		switch {
		case e.Predicate():
			if e.Dep == PWR || e.Writer == history.None || e.Writer == d.h.Init {
				continue
			}
			first = e.Writer
		case e.Dep == RW && e.Writer != history.None && e.Writer != d.h.Init:
			first = e.Writer
		case e.Dep != WW || first == d.h.Init || d.shown(e) != history.None:
			continue
		}
		if said[[2]uint32{first, second}] {
			continue
		}
		said[[2]uint32{first, second}] = true
		out = append(out, fmt.Sprintf("%s's version of %s came before %s's", d.txn(first), d.key(e.Key), d.txn(second)))
	}
	return plural.And(out)
}

// inSession says that two transactions follow each other in a session.
func (d *describer) inSession(first, then uint32) string {
	h := d.h
	if s := h.SessName[h.Txns.Sess[then]]; s != history.NoTime {
		return fmt.Sprintf("%s came after %s in session %d", d.txn(then), d.txn(first), s)
	}
	return fmt.Sprintf("%s came after %s in its session", d.txn(then), d.txn(first))
}

// inTime says that a transaction ended before another began.
func (d *describer) inTime(first, then uint32) string {
	at := "at"
	if d.h.Positions {
		at = "at position"
	}
	return fmt.Sprintf("%s ended %s %d, before %s began %s %d", d.txn(first), at, d.h.End(first), d.txn(then), at,
		d.h.Start(then))
}

// because returns the reason of an edge with its values.
func (d *describer) because(e Edge) string {
	h := d.h
	switch e.Dep {
	case SO:
		return d.inSession(e.From, e.To)
	case RT:
		return d.inTime(e.From, e.To)
	case TS:
		return fmt.Sprintf("the database's timestamps put %s before %s", d.txn(e.From), d.txn(e.To))
	case PWR:
		return d.pwr(e)
	case PRW:
		return d.prw(e)
	}
	key := d.key(e.Key)
	switch e.Dep {
	case WR:
		if l, ok := d.listRead(e.To, e.Key, e.Ver, history.None); ok {
			return fmt.Sprintf("%s read %s = %s, and %s appended %s", d.txn(e.To), key, d.list(l), d.txn(e.From),
				d.value(e.Ver))
		}
		return fmt.Sprintf("%s read %s = %s, which %s wrote", d.txn(e.To), key, d.value(e.Ver), d.txn(e.From))
	case WW:
		from, fromVer := d.finalWrite(e.From, e.Key)
		if from != history.None && h.Ops.Kind[from] == history.Append {
			s := fmt.Sprintf("%s appended %s to %s after %s appended %s", d.txn(e.To), d.value(e.Ver), key,
				d.txn(e.From), d.value(fromVer))
			if op := d.shown(e); op != history.None {
				s += fmt.Sprintf(", as %s shows, which read %s = %s", d.txn(h.TxnOf(op)), key, d.list(h.Ops.Ver[op]))
			}
			return s
		}
		return fmt.Sprintf("%s wrote %s = %s before %s %s", d.txn(e.From), key, d.value(fromVer), d.txn(e.To),
			d.overwrote(e.Ver))
	}
	_, missed := d.finalWrite(e.To, e.Key)
	if l, ok := d.listRead(e.From, e.Key, e.Ver, missed); ok {
		return fmt.Sprintf("%s read %s = %s, before %s appended to it", d.txn(e.From), key, d.list(l), d.txn(e.To))
	}
	initial := ""
	if e.Writer == history.None || e.Writer == h.Init {
		initial = ", the initial value,"
	}
	return fmt.Sprintf("%s read %s = %s%s before %s %s", d.txn(e.From), key, d.value(e.Ver), initial, d.txn(e.To),
		d.overwrote(missed))
}

// dead describes a read of values that only transactions of unknown outcome wrote, none of which can have committed.
func (d *describer) dead(a *Anomaly) {
	h := d.h
	read := func(op uint32) string {
		if h.OpKey(op) == history.None {
			return d.txn(h.TxnOf(op)) + " = " + d.op(op)
		}
		return fmt.Sprintf("%s read %s = %s", d.txn(h.TxnOf(op)), d.key(h.OpKey(op)), d.value(h.Ops.Ver[op]))
	}
	wrote := func(op uint32) string { // the writer among the transactions shown dead
		if h.OpKey(op) == history.None {
			return "which matched rows that only the transactions below can have written"
		}
		var names []string
		for _, ops := range a.Dead {
			t := h.TxnOf(ops[0])
			if _, ver := d.finalWrite(t, h.OpKey(op)); t != h.TxnOf(op) && ver == h.Ops.Ver[op] {
				names = append(names, d.txn(t))
			}
		}
		if len(names) == 0 {
			return "but no transaction that can have committed wrote it"
		}
		return "which only " + strings.Join(names, ", ") + " can have written"
	}
	fmt.Fprintf(d, "%s, %s. The possible writers have unknown outcomes, and none can have committed:\n",
		read(a.Ops[0]), wrote(a.Ops[0]))
	for i, ops := range a.Dead {
		if i == maxCases && len(a.Dead) > maxCases {
			fmt.Fprintf(d, "  And so on, %d more.\n", len(a.Dead)-i)
			break
		}
		switch op := ops[0]; {
		case h.OpKey(op) == history.None || len(ops) > 1 && h.OpKey(ops[1]) == history.None:
			fmt.Fprintf(d, "  %s = %s", d.txn(h.TxnOf(op)), d.op(op))
			if len(ops) > 1 {
				fmt.Fprintf(d, " … %s", d.op(ops[1]))
			}
			d.WriteString(", which contradicts itself, or matched rows whose writers cannot have committed.\n")
		case len(ops) == 1:
			fmt.Fprintf(d, "  %s, %s.\n", read(op), wrote(op))
		case h.Ops.Kind[op] == history.Write:
			fmt.Fprintf(d, "  %s wrote %s = %s and then read %s.\n", d.txn(h.TxnOf(op)), d.key(h.OpKey(op)),
				d.value(h.Ops.Ver[op]), d.value(h.Ops.Ver[ops[1]]))
		default:
			fmt.Fprintf(d, "  %s and then %s, without a write of its own in between.\n", read(op),
				d.value(h.Ops.Ver[ops[1]]))
		}
	}
}

// linear describes operations on one key that have no linearization. It names those involved; the rest is a search that
// anyone can repeat.
func (d *describer) linear(a *Anomaly) {
	h := d.h
	t := h.TxnOf(a.Ops[0])
	if a.ByThemselves(h) {
		fmt.Fprintf(d, "No order in real time explains these operations, even if other operations on %s took effect "+
			"again and again, or never, while under way:\n", d.key(a.Key))
	} else {
		fmt.Fprintf(d, "Consider the operations on %s that began by %d. No order in real time explains those that "+
			"had ended by then; until %s ended, there was one", d.key(a.Key), h.End(t), d.txn(t))
		if h.TxnOf(a.Ops[len(a.Ops)-1]) == t {
			d.WriteString(":\n")
		} else {
			d.WriteString(".\nUnder way then:\n")
		}
	}
	last := history.None
	for _, op := range a.Ops {
		t := h.TxnOf(op)
		if t != last {
			if last != history.None {
				d.WriteString(".\n")
			}
			fmt.Fprintf(d, "  %s", d.txn(t))
			if h.Txns.Status[t] == history.Committed {
				fmt.Fprintf(d, ", from %d to %d: ", h.Start(t), h.End(t))
			} else if start := h.Start(t); start != history.NoTime {
				fmt.Fprintf(d, ", from %d on, of unknown outcome: ", start)
			} else {
				d.WriteString(", of unknown start and outcome: ")
			}
		} else {
			d.WriteString(", ")
		}
		last = t
		switch h.Ops.Kind[op] {
		case history.PredRead, history.PredWrite:
			d.WriteString(d.predOp(op))
		case history.Write:
			fmt.Fprintf(d, "wrote %s", d.value(h.Ops.Ver[op]))
		default:
			fmt.Fprintf(d, "read %s", d.value(h.Ops.Ver[op]))
		}
	}
	d.WriteString(".")
}
