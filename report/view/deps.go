package view

import (
	"cmp"
	"slices"

	"isovet/evidence"
	"isovet/history"
	"isovet/internal/escape"
	"isovet/internal/slice"
	"isovet/report"
)

// depsJSON are the edges around a transaction, and the transactions that they join.
type depsJSON struct {
	Txn   uint32         `json:"txn"`
	Nodes []nodeJSON     `json:"nodes"`
	Edges []edgeJSON     `json:"edges"`
	More  map[string]int `json:"more"` // edges by kind that are not listed
}

type nodeJSON struct {
	nameJSON
	Session string `json:"session"`
	Row     int    `json:"row"`
	Start   int64  `json:"start"`
	Text    string `json:"text"`
}

// edgeJSON is an edge. If the history shows it directly, Known is true; otherwise By says how it was inferred.
type edgeJSON struct {
	From  uint32   `json:"from"`
	To    uint32   `json:"to"`
	Dep   string   `json:"dep"`
	Key   string   `json:"key,omitempty"`
	Known bool     `json:"known"`
	By    string   `json:"by,omitempty"`
	Why   string   `json:"why"`
	Rests []string `json:"rests"`
}

const (
	nearKey   = 8  // writers of a key that are considered, before and after it in the file
	nearReads = 24 // transactions of the key whose reads are considered
	maxDeps   = 16 // edges of a kind and direction
	maxKeys   = 48 // keys of a transaction
	nearest   = 2  // inferred edges to writers of a key, before and after; more would add nothing
)

// around collects the edges around a transaction.
type around struct {
	b     *book
	h     *history.History
	t     uint32
	edges []edgeJSON
	had   map[evidence.Edge]bool
	count map[string]int
	more  map[string]int

	final map[uint32][]final // key → its writers and their last versions, filled for keys of conditions
	asked int                // pairs of writers whose order the conditions needed
}

// deps returns the edges around a transaction: to its neighbours in session and real time, to its writers and readers,
// and to the writers of the versions before and after its own, if nearby transactions show them. Cost: some passes
// over the transactions of each of its keys.
func (b *book) deps(t uint32) depsJSON {
	a := &around{b: b, h: b.axis.h, t: t, had: map[evidence.Edge]bool{}, count: map[string]int{},
		more: map[string]int{}, final: map[uint32][]final{}}
	a.proved()
	before, after := b.beside(t)
	if before != nil {
		a.add(evidence.Edge{From: *before, To: t, Dep: evidence.SO}, true, "")
	}
	if after != nil {
		a.add(evidence.Edge{From: t, To: *after, Dep: evidence.SO}, true, "")
	}
	for _, k := range a.keys() {
		if a.listKey(k) {
			a.list(k)
		} else {
			a.register(k)
		}
	}
	a.missedRows()
	a.realTime()
	return a.json()
}

func (a *around) keys() (out []uint32) {
	for op := range a.h.EachOp(a.t) {
		report.EachKey(a.h, op, func(k uint32, _, _ bool) {
			if len(out) < maxKeys && !slices.Contains(out, k) {
				out = append(out, k)
			}
		})
	}
	return out
}

// add lists an edge. If maxDeps edges of its kind and direction are listed, it only counts it.
func (a *around) add(e evidence.Edge, known bool, by string) {
	if e.Dep == evidence.SO || e.Dep == evidence.RT {
		e.Key, e.Ver, e.Writer = history.None, history.None, history.None
	}
	if e.From == e.To || a.had[e] {
		return
	}
	a.had[e] = true
	kind := e.Dep.String()
	side := kind + "→"
	if e.To == a.t {
		side = "→" + kind
	}
	if a.count[side]++; a.count[side] > maxDeps {
		a.more[kind]++
		return
	}
	a.edges = append(a.edges, newEdgeJSON(&evidence.Result{H: a.h}, nil, e, known, by))
}

func newEdgeJSON(r *evidence.Result, a *evidence.Anomaly, e evidence.Edge, known bool, by string) edgeJSON {
	why, rests := report.Sentence(r, a, e)
	j := edgeJSON{From: e.From, To: e.To, Dep: e.Dep.String(), Known: known, By: by, Why: escape.XML(why),
		Rests: append([]string{}, rests...)} // the page takes a list, empty or not
	for i := range j.Rests {
		j.Rests[i] = escape.XML(j.Rests[i])
	}
	if e.Key != history.None && e.Dep != evidence.SO && e.Dep != evidence.RT && e.Dep != evidence.TS {
		j.Key = escape.XML(report.Clip(report.KeyName(r.H, e.Key), 30))
	}
	return j
}

// proved adds edges from the violations that checks have found.
func (a *around) proved() {
	a.b.mu.Lock()
	answers := slices.Clone(a.b.answers)
	a.b.mu.Unlock()
	for _, x := range answers {
		if x.r == nil || x.r.H != a.h {
			continue
		}
		for _, an := range slice.Refs(x.r.Anomalies) {
			cases := len(an.Cycles) > 0
			for _, e := range slices.Concat(an.AllCycles()...) {
				if e.From != a.t && e.To != a.t {
					continue
				}
				known := e.Dep != evidence.WW && e.Dep != evidence.RW && e.Dep != evidence.PWR && e.Dep != evidence.PRW
				by := "an edge of the violation's cycle"
				if cases {
					by = "in one of the violation's cases"
				}
				if known {
					by = ""
				}
				a.add(e, known, by)
			}
		}
	}
}

// wr adds an edge from w to r: r read version v of key k, which w wrote.
func (a *around) wr(w, r, k, v uint32, known bool, by string) {
	a.add(evidence.Edge{From: w, To: r, Key: k, Ver: v, Writer: history.None, Dep: evidence.WR}, known, by)
}

// ww adds an edge from w to t: t's version v of key k comes after w's.
func (a *around) ww(w, t, k, v uint32, known bool, by string) {
	a.add(evidence.Edge{From: w, To: t, Key: k, Ver: v, Writer: history.None, Dep: evidence.WW}, known, by)
}

// rw adds an edge from r to t: r read version v of key k, which w wrote, and t's version comes after it. If w is None,
// v is the initial version.
func (a *around) rw(r, t, k, v, w uint32, known bool, by string) {
	a.add(evidence.Edge{From: r, To: t, Key: k, Ver: v, Writer: w, Dep: evidence.RW}, known, by)
}

// register adds the edges of a key that has one value at a time.
func (a *around) register(k uint32) {
	b, h, t := a.b, a.h, a.t
	near := a.near(k, nearReads, func(uint32) bool { return true })
	writers := a.near(k, nearKey, func(o uint32) bool { return b.counts(o) && writes(h, o, k) })
	v, mine := readFirst(h, t, k), wroteLast(h, t, k)
	from := history.None // the writer of v, if there is only one
	initial := false
	if v != history.None {
		var ws []uint32
		for _, w := range b.writersOf(k, v) {
			if w != t && w != h.Init {
				ws = append(ws, w)
			}
			initial = initial || w == h.Init
		}
		initial = initial || h.InitVer[k] == v || len(ws) == 0 && h.VerKind[v] == history.Null
		for _, w := range ws {
			if len(ws) == 1 && !initial {
				from = w
				a.wr(w, t, k, v, true, "")
			} else {
				a.wr(w, t, k, v, false, "several transactions wrote this value, or the key held it at first; the "+
					"read may have seen this one")
			}
		}
		initial = initial && len(ws) == 0
		a.overwriters(k, v, from, initial, writers, near)
	}
	if mine == history.None || !b.counts(t) {
		return
	}
	sole := b.soleWriter(k, mine) == t
	for _, r := range b.readersOf(k, mine) {
		if r == t {
			continue
		}
		if sole {
			a.wr(t, r, k, mine, true, "")
		} else {
			a.wr(t, r, k, mine, false, "several transactions wrote this value; the read may have seen this one")
		}
		if next := wroteLast(h, r, k); sole && next != history.None && b.counts(r) && readFirst(h, r, k) == mine {
			a.ww(t, r, k, next, true, "")
		}
	}
	if from != history.None && b.counts(from) {
		a.ww(from, t, k, mine, true, "")
	}
	a.missed(k, v, from, initial)
	var told [2]int // inferred edges to and from it, of which only the nearest are listed
	for _, w := range writers {
		a.otherWriter(k, w, mine, near, &told)
	}
}

// overwriters adds rw edges from the transaction to those that overwrote version v, which it read.
func (a *around) overwriters(k, v, from uint32, initial bool, writers, near []uint32) {
	if !initial && from == history.None {
		return
	}
	inferred := 0
	for _, w := range writers {
		if w == from {
			continue
		}
		if initial { // every writer overwrote the initial version
			if inferred++; inferred > nearest {
				a.more[evidence.RW.String()]++
				continue
			}
			a.rw(a.t, w, k, v, history.None, true, "")
			continue
		}
		if o, ok := a.b.first(from, w, k, near); ok && o.before && (o.known || inferred < nearest) {
			if !o.known {
				inferred++
			}
			a.rw(a.t, w, k, v, from, o.known, o.by)
		}
	}
}

// missed adds rw edges to the transaction from other readers of version v, which it read and overwrote.
func (a *around) missed(k, v, from uint32, initial bool) {
	if v == history.None || from == history.None && !initial {
		return
	}
	for _, r := range a.b.readersOf(k, v) {
		if r != a.t {
			a.rw(r, a.t, k, v, from, true, "")
		}
	}
}

// otherWriter adds the ww edge between the transaction and w, another writer of the key. If w's version comes first,
// it also adds rw edges from its readers.
func (a *around) otherWriter(k, w, mine uint32, near []uint32, told *[2]int) {
	b, h, t := a.b, a.h, a.t
	theirs := wroteLast(h, w, k)
	for _, r := range near {
		if v := readFirst(h, r, k); r != t && r != w && v != history.None && h.InitVer[k] == v &&
			len(b.writersOf(k, v)) == 0 {
			a.rw(r, t, k, v, history.None, true, "")
		}
	}
	o, ok := b.first(w, t, k, near)
	if ok && !o.known {
		side := 0
		if o.before {
			side = 1
		}
		if told[side]++; told[side] > nearest {
			return
		}
	}
	switch {
	case !ok:
	case !o.before:
		a.ww(t, w, k, theirs, o.known, o.by)
	default:
		a.ww(w, t, k, mine, o.known, o.by)
		if theirs == history.None || b.soleWriter(k, theirs) != w {
			return
		}
		for _, r := range near {
			if r != t && r != w && readFirst(h, r, k) == theirs {
				a.rw(r, t, k, theirs, w, o.known, o.by)
			}
		}
	}
}

// near returns up to n transactions before and n after this one in the file that touched key k and for which ok is
// true, nearest first.
func (a *around) near(k uint32, n int, ok func(t uint32) bool) (out []uint32) {
	all := a.b.keys.Load().of(k)
	at, _ := slices.BinarySearch(all, a.t)
	for i, found := at-1, 0; i >= 0 && found < n; i-- {
		if ok(all[i]) {
			out = append(out, all[i])
			found++
		}
	}
	for i, found := at, 0; i < len(all) && found < n; i++ {
		if all[i] != a.t && ok(all[i]) {
			out = append(out, all[i])
			found++
		}
	}
	far := func(t uint32) uint32 { return max(t, a.t) - min(t, a.t) }
	slices.SortStableFunc(out, func(x, y uint32) int { return cmp.Compare(far(x), far(y)) })
	return out
}

// realTime adds rt edges from transactions that ended just before this one began, and to those that began just after
// it ended. It leaves out edges that others imply.
func (a *around) realTime() {
	x, h := a.b.axis, a.h
	if h.Txns.Start == nil || x.kind == "timestamps" || !a.b.counts(a.t) {
		return
	}
	var before, after []uint32
	for _, r := range slice.Refs(x.rows) {
		_, hi := x.within(r, x.start[a.t], x.start[a.t])
		for hi--; hi >= 0; hi-- {
			if a.b.inTime(r.txns[hi], a.t) {
				before = append(before, r.txns[hi])
				break
			}
		}
		if h.Txns.Status[a.t] == history.Committed {
			_, hi = x.within(r, x.end[a.t], x.end[a.t])
			if hi < len(r.txns) && a.b.inTime(a.t, r.txns[hi]) {
				after = append(after, r.txns[hi])
			}
		}
	}
	for _, t := range before {
		if !slices.ContainsFunc(before, func(o uint32) bool { return a.b.inTime(t, o) }) {
			a.add(evidence.Edge{From: t, To: a.t, Dep: evidence.RT}, true, "")
		}
	}
	for _, t := range after {
		if !slices.ContainsFunc(after, func(o uint32) bool { return a.b.inTime(o, t) }) {
			a.add(evidence.Edge{From: a.t, To: t, Dep: evidence.RT}, true, "")
		}
	}
}

func (a *around) json() depsJSON {
	out := depsJSON{Txn: a.t, Edges: a.edges, More: a.more, Nodes: []nodeJSON{a.b.node(a.t)}}
	if out.Edges == nil {
		out.Edges = []edgeJSON{}
	}
	had := map[uint32]bool{a.t: true}
	for _, e := range a.edges {
		for _, t := range []uint32{e.From, e.To} {
			if !had[t] {
				had[t] = true
				out.Nodes = append(out.Nodes, a.b.node(t))
			}
		}
	}
	return out
}

func (b *book) node(t uint32) nodeJSON {
	x := b.axis
	return nodeJSON{nameJSON: b.named(t), Session: report.SessionName(x.h, x.h.Txns.Sess[t]), Row: int(x.rowOf[t]),
		Start: x.start[t], Text: opsText(x.h, t, 6)}
}
