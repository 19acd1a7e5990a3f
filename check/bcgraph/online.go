package bcgraph

import (
	"fmt"
	"slices"

	"isovet/evidence"
	"isovet/graph"
	"isovet/history"
	"isovet/level"
)

// Op is an operation of a transaction: a read that returned a value, or a write of one. Keys are numbers from 0 on.
type Op struct {
	Write bool
	Key   uint32
	Val   uint64
}

// NoSession is the session of a transaction that has none.
const NoSession = none

// Txn is a transaction as it comes, its operations in program order. Sessions are numbers from 0 on; the transactions
// of one must come in its order, else in any.
type Txn struct {
	ID         uint32 // by which it is told
	Session    uint32
	Start, End int64 // of the client, history.NoTime: missing; widened by the clocks' skew
	Status     history.Status
	Ops        []Op
}

// Edge says that transaction From must be before To, as evidence.Edge does: they are by ID, and Key had the value Val,
// that was read or that To wrote.
type Edge struct {
	From, To uint32
	Dep      evidence.Dep
	Key      uint32
	Val      uint64
	Writer   uint32 // of an anti-dependency: who wrote what From read; None: nobody, or one that has not come
}

// Violation is why a level is violated for good: by a cycle; else Kind has it: one operation of Txn shows an anomaly of
// single reads, or Txn and Other both overwrote what was written at Key, a lost update.
type Violation struct {
	Since uint32 // the transaction with which it came
	Cycle []Edge
	// Forcing are the cycles that other orders of versions would close than Cycle assumes.
	Forcing [][]Edge
	Kind    level.Anomaly
	Txn     uint32
	Other   uint32
	Key     uint32
	Val     uint64
}

// Growing decides the six serializable and snapshot levels of transactions that come one after the other, by one graph:
// after each the answers are at hand, and a violation is known with the transaction that completes it.
//
// It asks that a value is written to a key once: where that is not so all is unknown, what was said before included. A
// transaction of unknown outcome counts once another that counts reads what it wrote. Versions of a key that nobody
// overwrote knowingly are taken to follow each other as they come: "valid" is so for sure, and where no such order
// explains what came, and nothing known excludes another, the answer is unknown.
//
// It remembers all that came. It is for one goroutine.
//
// Source: the levels by one graph, family; version orders, chains. Cost: a look at a table an operation, and that of
// [order.Order.AddEdge], next to nothing where transactions come about in the order of their commits.
type Growing struct {
	c       *chains
	levels  []level.Level
	initial func(key uint32) uint64

	num  map[version]uint32 // a version's write
	val  []uint64           // of a write
	by   []maker
	held []Txn    // of unknown outcome; those that count have no operations left
	sess []uint32 // the last transaction of each session that committed, of the graph

	timed   bool   // some level asks for real time
	waits   int    // versions that were read and have not been written
	unsure  string // why all is unknown
	untimed string // why the levels of real time are
	told    [masks]bool
	since   [masks]uint32
	why     Violation // of what is wrong at all levels
	now     uint32

	cell   []cell // of a key, of the present transaction
	stamp  uint32
	keys   []uint32 // that it wrote
	lost   []Op
	saw    []uint32
	writes []uint32
	reads  []Op
}

type version struct {
	key uint32
	val uint64
}

// maker says who wrote a version.
type maker struct {
	id    uint32 // of the transaction; of one that is held, its place
	stamp uint32 // when it was written
	how   uint8
	read  bool // by one that counts
}

const (
	nobody uint8 = iota
	atFirst
	final
	overwritten // by its own transaction
	aborted
	heldBack // by one of unknown outcome that does not count yet
)

// cell is what the present transaction did to a key.
type cell struct {
	stamp uint32
	own   bool
	val   uint64
}

// NewGrowing makes a graph that answers for levels, of the six; without any, for all. initial has what a key holds at
// first; nil: 0.
func NewGrowing(initial func(key uint32) uint64, levels ...level.Level) *Growing {
	if len(levels) == 0 {
		for _, l := range level.All() {
			if l.Serial() || l.Snapshot() {
				levels = append(levels, l)
			}
		}
	}
	if initial == nil {
		initial = func(uint32) uint64 { return 0 }
	}
	g := &Growing{c: newChains(), levels: levels, initial: initial, num: map[version]uint32{}}
	g.timed = slices.ContainsFunc(levels, level.Level.RealTime)
	g.c.f.ask(levels)
	return g
}

// Add takes a transaction and returns the levels that are violated from now on.
func (g *Growing) Add(t *Txn) (violated []level.Level) {
	g.now = t.ID
	kind, at := g.scan(t)
	switch {
	case t.Status == history.Aborted, t.Status == history.Unknown && kind != "":
		g.wrote(t, aborted, t.ID)
	case t.Status == history.Unknown:
		place := uint32(len(g.held))
		kept := *t
		kept.Ops = append([]Op(nil), t.Ops...)
		if t.Session != NoSession {
			kept.Session = g.last(t.Session) // who is before it
		}
		g.held = append(g.held, kept)
		if g.wrote(t, heldBack, place) {
			g.count(place)
		}
	default:
		if kind != "" {
			g.refute(Violation{Kind: kind, Txn: t.ID, Key: at.Key, Val: at.Val})
		}
		g.wrote(t, final, t.ID)
		before := g.last(t.Session)
		n := g.add(t, before)
		if t.Session != NoSession {
			g.sess[t.Session] = n
		}
	}
	return g.news()
}

// last is who committed last in a session.
func (g *Growing) last(s uint32) uint32 {
	if s == NoSession {
		return none
	}
	for int(s) >= len(g.sess) {
		g.sess = append(g.sess, none)
	}
	return g.sess[s]
}

// scan finds the reads that others must explain, what is left behind and what is overwritten, and says whether the
// transaction contradicts itself.
func (g *Growing) scan(t *Txn) (kind level.Anomaly, at Op) {
	g.stamp++
	g.keys, g.reads, g.lost = g.keys[:0], g.reads[:0], g.lost[:0]
	for _, op := range t.Ops {
		for int(op.Key) >= len(g.cell) {
			g.cell = append(g.cell, cell{})
			g.c.newKey(none)
		}
		c := &g.cell[op.Key]
		seen := c.stamp == g.stamp
		switch {
		case op.Write:
			if seen && c.own {
				g.lost = append(g.lost, Op{true, op.Key, c.val})
			} else {
				g.keys = append(g.keys, op.Key)
			}
			*c = cell{g.stamp, true, op.Val}
		case !seen:
			*c = cell{g.stamp, false, op.Val}
			g.reads = append(g.reads, op)
		case c.val != op.Val && kind == "":
			at = op
			if kind = level.NonRepeatableRead; c.own {
				kind = level.NotMyLastWrite
			}
		}
	}
	return kind, at
}

// write is the number of a version.
func (g *Growing) write(key uint32, val uint64) uint32 {
	if g.c.initial[key] == none {
		w := g.newVersion(key, g.initial(key))
		g.by[w].how = atFirst
		g.c.initial[key], g.c.last[key] = w, w
	}
	if w, ok := g.num[version{key, val}]; ok {
		return w
	}
	return g.newVersion(key, val)
}

func (g *Growing) newVersion(key uint32, val uint64) uint32 {
	w := g.c.newWrite(key)
	g.num[version{key, val}] = w
	g.val = append(g.val, val)
	g.by = append(g.by, maker{})
	return w
}

// wrote notes what the transaction that was scanned wrote, and reports whether any of it was read already.
func (g *Growing) wrote(t *Txn, how uint8, id uint32) (read bool) {
	g.writes = g.writes[:0]
	note := func(key uint32, val uint64, how uint8) bool {
		w := g.write(key, val)
		b := &g.by[w]
		if b.how != nobody {
			if b.how == atFirst || b.stamp != g.stamp {
				g.unsure = fmt.Sprintf("transaction %d writes %d to key %d, which was written before", t.ID, val, key)
			}
			return false
		}
		b.how, b.id, b.stamp = how, id, g.stamp
		if b.read {
			g.waits--
			read = true
			if how == overwritten || how == aborted {
				g.misread(w)
			}
		}
		return true
	}
	for _, k := range g.keys {
		if note(k, g.cell[k].val, how) {
			g.writes = append(g.writes, g.num[version{k, g.cell[k].val}])
		}
	}
	id = t.ID
	if how != aborted {
		how = overwritten
	}
	for _, op := range g.lost {
		note(op.Key, op.Val, how)
	}
	return read
}

// misread says that a version was read that was aborted, or overwritten by who wrote it.
func (g *Growing) misread(w uint32) {
	kind := level.G1b
	if g.by[w].how == aborted {
		kind = level.G1a
	}
	g.refute(Violation{Kind: kind, Txn: g.by[w].id, Key: g.c.key[w], Val: g.val[w]})
}

// add adds a transaction that counts, as scanned, and those of unknown outcome from which it has read.
func (g *Growing) add(t *Txn, before uint32) uint32 {
	a := arrival{id: t.ID, before: before, start: t.Start, end: t.End}
	if t.Status != history.Committed || t.End == history.NoTime {
		a.end = graph.NoEnd
	}
	if a.timed = g.timed && g.untimed == ""; a.timed && t.Status == history.Committed &&
		(t.Start == history.NoTime || t.End == history.NoTime) {
		g.untimed = fmt.Sprintf("transaction %d has not both start and end", t.ID)
		g.c.f.without(byTime)
		a.timed = false
	}
	g.saw = g.saw[:0]
	var count []uint32
	for _, op := range g.reads {
		w := g.write(op.Key, op.Val)
		g.saw = append(g.saw, w)
		b := &g.by[w]
		first := !b.read
		b.read = true
		switch b.how {
		case nobody:
			if first {
				g.waits++
			}
		case overwritten, aborted:
			g.misread(w)
		case heldBack:
			count = append(count, b.id)
		case final:
			if b.id == t.ID {
				g.refute(Violation{Kind: level.FutureRead, Txn: t.ID, Key: op.Key, Val: op.Val})
			}
		}
	}
	a.saw, a.writes = g.saw, g.writes
	n := g.c.add(&a)
	for _, place := range count {
		g.count(place)
	}
	return n
}

// count has a transaction of unknown outcome count.
func (g *Growing) count(place uint32) {
	t := &g.held[place]
	if t.Ops == nil {
		return // it does
	}
	g.scan(t)
	g.writes = g.writes[:0]
	for _, k := range g.keys {
		w := g.num[version{k, g.cell[k].val}]
		if b := &g.by[w]; b.how == heldBack && b.id == place {
			b.how, b.id = final, t.ID
			g.writes = append(g.writes, w)
		}
	}
	t.Ops = nil
	g.add(t, t.Session)
}

// refute says that all levels are violated.
func (g *Growing) refute(v Violation) {
	if g.why.Kind == "" {
		g.why = v
		g.c.f.fail(0, nil)
		g.c.f.settle(nil)
	}
}

// news lists the levels that are violated and were not.
func (g *Growing) news() (out []level.Level) {
	if f := g.c.fork; f[0] != none && g.why.Kind == "" {
		w := f[0]
		g.why = Violation{Kind: level.LostUpdate, Txn: g.idOf(f[0]), Other: g.idOf(f[1]), Key: g.c.key[w]}
	}
	for _, l := range g.levels {
		m := maskOf(l)
		if !g.c.f.dead[m] || g.told[m] || g.unsure != "" || l.RealTime() && g.untimed != "" {
			continue
		}
		g.told[m] = true
		g.since[m] = g.now
		out = append(out, l)
	}
	return out
}

// idOf is who wrote a version, None if nobody did.
func (g *Growing) idOf(w uint32) uint32 {
	if t := g.c.writer[w]; t != none {
		return g.c.ids[t]
	}
	return none
}

func (g *Growing) say(cycle []logged) (out []Edge) {
	for _, e := range told(cycle, g.c.ids, func(e edge) evidence.Edge {
		return evidence.Edge{From: e.from, To: e.to, Dep: e.dep, Ver: e.w}
	}) {
		x := Edge{From: e.From, To: e.To, Dep: e.Dep, Writer: none}
		if e.Ver != none {
			x.Key, x.Val = g.c.key[e.Ver], g.val[e.Ver]
			if e.Dep == evidence.RW {
				x.Writer = g.idOf(e.Ver)
			}
		}
		out = append(out, x)
	}
	return out
}

// Answer is what is known of a level by now, and why it is unknown. A read of what nobody has written yet makes what is
// not violated unknown, since its writer may still come; see Waits. A transaction without start or end makes the strict
// levels unknown, violated ones too: they are about histories of which all times are known.
func (g *Growing) Answer(l level.Level) (v evidence.Verdict, why string) {
	m := maskOf(l)
	switch v = g.c.f.verdict(m); {
	case g.unsure != "":
		return evidence.Unknown, g.unsure
	case l.RealTime() && g.untimed != "":
		return evidence.Unknown, g.untimed
	case v == evidence.Violated:
		return v, ""
	case !g.c.f.on[m]:
		return evidence.Unknown, "the level is not asked"
	case g.Waits() > 0:
		return evidence.Unknown, fmt.Sprintf("%d versions were read that nobody has written", g.Waits())
	case v == evidence.Unknown:
		return v, fmt.Sprintf("the order of versions is not known: transaction %d writes key %d without having read "+
			"it, and no order explains what came if versions are in the order of their coming",
			g.idOf(g.c.open), g.c.key[g.c.open])
	}
	return v, ""
}

// Waits is how many versions were read that nobody has written: at the end of all transactions, thin-air reads, which
// violate every level.
func (g *Growing) Waits() int { return g.waits }

// Violation is why a level is violated; false if it is not, or not known to be.
func (g *Growing) Violation(l level.Level) (v Violation, ok bool) {
	m := maskOf(l)
	if a, _ := g.Answer(l); a != evidence.Violated {
		return v, false
	}
	if v = g.why; v.Kind == "" { // else it says more, whatever came first
		cycle := g.c.straight(g.c.f.cycles[m])
		v = Violation{Cycle: g.say(cycle)}
		for _, f := range g.c.forcing(cycle) {
			v.Forcing = append(v.Forcing, g.say(f))
		}
	}
	v.Since = g.since[m]
	return v, true
}

// Order is an order of transactions that explains what came at a level that is valid, by ID: at the serializable levels
// of transactions, at the snapshot levels of begins, 2·ID, and commits, 2·ID+1.
func (g *Growing) Order(l level.Level) []uint32 {
	if v, _ := g.Answer(l); v != evidence.Holds {
		return nil
	}
	return g.c.order(l)
}

// Txns tells a history's transactions in the file's order, by its own numbers, and what keys hold at first. Lists and
// predicates are not told. Its times are widened by skew ≥ 0 at both ends.
func Txns(h *history.History, skew int64) (txns []Txn, initial func(key uint32) uint64) {
	number := func(ver uint32) uint64 { return uint64(ver) + 1 } // 0 is what no operation names
	session := make([]uint32, h.NumTxns())
	for s := range h.NumSessions() {
		for _, t := range h.SessTxn[h.SessOff[s]:h.SessOff[s+1]] {
			session[t] = uint32(s)
		}
	}
	for t := range uint32(h.NumTxns()) {
		if t == h.Init {
			continue
		}
		x := Txn{ID: t, Session: session[t], Start: h.Start(t), End: h.End(t), Status: h.Txns.Status[t]}
		if x.Start != history.NoTime && x.End != history.NoTime {
			x.Start, x.End = h.Window(t, skew)
		}
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi; op++ {
			x.Ops = append(x.Ops, Op{Write: h.Ops.Kind[op] == history.Write, Key: h.OpKey(op),
				Val: number(h.Ops.Ver[op])})
		}
		txns = append(txns, x)
	}
	return txns, func(k uint32) uint64 {
		if v := h.InitVer[k]; v != history.None {
			return number(v)
		}
		return 0
	}
}
