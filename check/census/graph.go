package census

import (
	"slices"

	"isovet/check/prepass"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/graph"
	"isovet/level"
)

// edge is an edge between transactions or, for real time, auxiliary nodes.
type edge = evidence.Edge

// dependencies is the graph of what a history shows without a search. Its nodes are the transactions, then those of
// time.
type dependencies struct {
	h       *history.History
	v       *prepass.View
	w       []uint32 // see writers
	early   []bool   // version → its transaction appended to the same list after it
	doubled []bool   // key → an element was appended to the list more than once
	l       level.Level
	n       int // nodes
	edges   []edge
	// The transactions that read version ver of a register and wrote the key, in their order, are
	// rmw[rmwOff[ver]:rmwOff[ver+1]].
	rmw, rmwOff []uint32
	cut         bool // a bound ended the search for cycles
}

// mostReaders bounds the overwriters that come after each reader of a version if the history shows no order of them;
// without it, the number of edges could be quadratic.
const mostReaders = 64

func newGraph(v *prepass.View, l level.Level, skew int64) *dependencies {
	h, counts := v.H, v.Counts
	g := &dependencies{h: h, v: v, l: l, n: h.NumTxns(), edges: make([]edge, 0, 2*h.NumOps())}
	g.writers()
	g.registers()
	g.lists()
	if l.Sessions() {
		for s := range h.NumSessions() {
			before := none
			for _, t := range h.SessTxn[h.SessOff[s]:h.SessOff[s+1]] {
				if t == h.Init || !counts[t] {
					continue
				}
				if before != none {
					g.add(evidence.Edge{From: before, To: t, Dep: evidence.SO, Key: none, Ver: none, Writer: none})
				}
				if h.Txns.Status[t] == history.Committed { // another may take effect after later ones
					before = t
				}
			}
		}
	}
	if l.RealTime() {
		g.time(skew, counts)
	}
	return g
}

func (g *dependencies) add(e evidence.Edge) {
	if e.From != e.To && e.From != g.h.Init && e.To != g.h.Init {
		g.edges = append(g.edges, e)
	}
}

// last is the last version of a key that a transaction wrote.
type last struct{ by, ver uint32 }

// writers finds the installer of each version: none if there is none, or many if a read of it cannot name one, because
// several transactions wrote it, an aborted one did, or the writer overwrote it.
func (g *dependencies) writers() {
	h := g.h
	w := slices.Repeat([]uint32{none}, h.NumVersions())
	g.w, g.early, g.doubled = w, make([]bool, len(w)), make([]bool, h.NumKeys())
	wrote := slices.Repeat([]last{{by: none}}, h.NumKeys())
	for t := range uint32(h.NumTxns()) {
		for op := range h.EachOp(t) {
			kind, ver := h.Ops.Kind[op], h.Ops.Ver[op]
			if kind != history.Write && kind != history.Append {
				continue
			}
			k := h.VerKey[ver]
			if before := wrote[k]; before.by == t && kind == history.Write {
				w[before.ver] = many // it is intermediate: no transaction may read it
			} else if before.by == t {
				g.early[before.ver] = true
			}
			wrote[k] = last{t, ver}
			if w[ver] == none && (g.v.Counts[t] || t == h.Init) {
				w[ver] = t
				continue
			}
			g.doubled[k] = g.doubled[k] || w[ver] != none
			w[ver] = many
		}
	}
	for _, ver := range h.InitVer {
		if ver != none && w[ver] != none && w[ver] != h.Init {
			w[ver] = many // a read may be of the initial state or of this write
		}
	}
}

const many = none - 1

// access is a transaction's read of a version of a register.
type access struct{ t, ver uint32 }

// registers adds the edges that reads and writes of registers show.
func (g *dependencies) registers() {
	h, v := g.h, g.v
	readers, rmw := make([]access, 0, len(v.RW)), make([]access, 0, len(v.RW))
	initial := make([][]uint32, h.NumKeys()) // readers of the key's initial version
	wrote := slices.Repeat([]last{{by: none}}, h.NumKeys())
	for t := range uint32(h.NumTxns()) {
		if !v.Counts[t] || t == h.Init || h.Txns.Status[t] != history.Committed {
			continue
		}
		for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
			wrote[v.WKey[w]] = last{t, v.WVer[w]}
		}
		for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
			k, ver := v.RKey[r], v.RVer(r)
			from := g.w[ver]
			switch {
			case h.InitVer[k] == ver && (from == none || from == h.Init):
				initial[k] = append(initial[k], t)
			case from >= many || from == t:
				continue
			default:
				readers = append(readers, access{t, ver})
				g.add(evidence.Edge{From: from, To: t, Dep: evidence.WR, Key: k, Ver: ver, Writer: none})
			}
			if own := wrote[k]; own.by == t && g.w[own.ver] == t { // t comes after the writer of the version
				rmw = append(rmw, access{t, ver})
				if from < many {
					g.add(evidence.Edge{From: from, To: t, Dep: evidence.WW, Key: k, Ver: own.ver, Writer: none})
				}
			}
		}
	}
	by := graph.NewGroups[uint32](h.NumVersions())
	for _, a := range rmw {
		by.Count(a.ver)
	}
	g.rmw = make([]uint32, by.Sum())
	for _, a := range rmw {
		g.rmw[by.Place(a.ver)] = a.t
	}
	g.rmwOff = by.Off()
	g.overwritten(readers, initial)
}

// overwriters returns the transactions that read a version and wrote the key.
func (g *dependencies) overwriters(ver uint32) []uint32 { return g.rmw[g.rmwOff[ver]:g.rmwOff[ver+1]] }

// overwritten adds that readers of a version come before its overwriters: the transactions that read it and wrote the
// key, and for an initial version all writers of the key.
func (g *dependencies) overwritten(readers []access, initial [][]uint32) {
	h, v := g.h, g.v
	for _, r := range readers {
		next := g.overwriters(r.ver)
		for _, t := range next[:min(len(next), mostReaders)] {
			g.add(evidence.Edge{From: r.t, To: t, Dep: evidence.RW, Key: h.VerKey[r.ver], Ver: r.ver,
				Writer: g.w[r.ver]})
		}
	}
	after := make([][]uint32, h.NumKeys()) // writers of the key
	for t := range uint32(h.NumTxns()) {
		for w := v.WOff[t]; w < v.WOff[t+1] && v.Counts[t] && t != h.Init; w++ {
			if k := v.WKey[w]; initial[k] != nil && g.w[v.WVer[w]] == t {
				after[k] = append(after[k], t)
			}
		}
	}
	for k, rs := range initial {
		if len(after[k]) > mostReaders {
			next := g.overwriters(h.InitVer[k])
			after[k] = next[:min(len(next), mostReaders)]
		}
		for _, r := range rs {
			for _, t := range after[k] {
				g.add(evidence.Edge{From: r, To: t, Dep: evidence.RW, Key: uint32(k), Ver: h.InitVer[k], Writer: none})
			}
		}
	}
}

// versionOf returns the version of register k that transaction t installs, or none.
func (g *dependencies) versionOf(t, k uint32) uint32 {
	v := g.v
	for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
		if v.WKey[w] == k {
			return v.WVer[w]
		}
	}
	return none
}

// lists adds the edges that reads of lists show. The longest read of a list gives the order of its elements; another
// read counts only if it is a prefix of that one.
func (g *dependencies) lists() {
	h := g.h
	if len(h.Lists.Key) == 0 {
		return
	}
	longest := make([][]uint32, h.NumKeys())
	g.eachList(func(_, key uint32, elems []uint32) {
		if len(elems) > len(longest[key]) {
			longest[key] = elems
		}
	})
	chains := make([]appenders, h.NumKeys())
	seen := slices.Repeat([]uint32{none}, h.NumTxns()) // transaction → the last list that it appended to
	for k, elems := range longest {
		c := g.appenders(uint32(k), elems, seen)
		for i := 1; i < len(c.txns); i++ {
			if ver := elems[c.ends[i]-1]; !g.early[ver] && !g.early[elems[c.ends[i-1]-1]] {
				g.add(evidence.Edge{From: c.txns[i-1], To: c.txns[i], Dep: evidence.WW, Key: uint32(k), Ver: ver,
					Writer: none})
			}
		}
		chains[k] = c
	}
	g.unread(longest, chains)
	g.eachList(func(t, k uint32, elems []uint32) {
		if slices.Equal(elems, longest[k][:len(elems)]) {
			g.prefix(t, k, elems, chains[k])
		}
	})
}

// eachList calls f with each list that a committed transaction read before it appended to it. If an element was
// appended more than once, only a transaction's first read is one: the certifier takes no other.
func (g *dependencies) eachList(f func(t, key uint32, elems []uint32)) {
	h := g.h
	appended, read := make([]uint32, h.NumKeys()), make([]uint32, h.NumKeys()) // key → 1 + the last transaction
	for t := range uint32(h.NumTxns()) {
		if !g.v.Counts[t] || h.Txns.Status[t] != history.Committed || t == h.Init {
			continue
		}
		for op := range h.EachOp(t) {
			switch k := h.OpKey(op); {
			case h.Ops.Kind[op] == history.Append:
				appended[k] = t + 1
			case h.Ops.Kind[op] == history.ReadList && appended[k] != t+1 && !(g.doubled[k] && read[k] == t+1):
				read[k] = t + 1
				f(t, k, h.Elems(h.Ops.Ver[op]))
			}
		}
	}
}

// appenders are the writers of a list in order: the first i+1 appended the first ends[i] elements; none read after's.
type appenders struct {
	txns  []uint32
	ends  []int
	after []uint32
}

// unread adds the writers after each chain that shows a whole list, behind its last.
func (g *dependencies) unread(longest [][]uint32, chains []appenders) {
	h, seen, whole := g.h, slices.Clone(g.early), make([]bool, len(chains))
	for k, c := range chains {
		whole[k] = slices.Max(append(c.ends, 0)) == len(longest[k]) && !slices.ContainsFunc(c.ends, func(end int) bool {
			return g.early[longest[k][end-1]]
		})
		for _, e := range longest[k] {
			seen[e] = true
		}
	}
	for t := range uint32(h.NumTxns()) {
		for op := range h.EachOp(t) {
			ver, k := h.Ops.Ver[op], h.OpKey(op)
			if h.Ops.Kind[op] != history.Append || g.w[ver] != t || t == h.Init || seen[ver] || !whole[k] {
				continue
			}
			c := &chains[k]
			c.after = append(c.after, t)
			if n := len(c.txns); n > 0 {
				g.add(evidence.Edge{From: c.txns[n-1], To: t, Dep: evidence.WW, Key: k, Ver: ver, Writer: none})
			}
		}
	}
}

// appenders returns the appenders of a list's elements, up to the first element that does not show its writer.
func (g *dependencies) appenders(k uint32, elems, seen []uint32) (c appenders) {
	c.txns, c.ends = make([]uint32, 0, len(elems)), make([]int, 0, len(elems))
	for i, e := range elems {
		t := g.w[e]
		if t >= many || t == g.h.Init { // not readable by others, or an initial element
			if t == g.h.Init && t != none && len(c.txns) == 0 {
				continue
			}
			break
		}
		if n := len(c.txns); n > 0 && c.txns[n-1] == t {
			c.ends[n-1] = i + 1
			continue
		}
		if seen[t] == k {
			break
		}
		seen[t] = k
		c.txns, c.ends = append(c.txns, t), append(c.ends, i+1)
	}
	return c
}

// prefix adds the edges of a read of a list's first elements: from the writer of the last one, and to the next writer.
func (g *dependencies) prefix(t, k uint32, elems []uint32, c appenders) {
	at, whole := slices.BinarySearch(c.ends, len(elems)) // whole: the read ends where a writer's appends end
	if len(elems) > 0 && !whole && (at > 0 || g.w[elems[len(elems)-1]] != g.h.Init) {
		return
	}
	missed := evidence.Edge{From: t, Dep: evidence.RW, Key: k, Ver: none, Writer: none}
	if whole {
		last := elems[len(elems)-1]
		g.add(evidence.Edge{From: c.txns[at], To: t, Dep: evidence.WR, Key: k, Ver: last, Writer: none})
		missed.Ver, missed.Writer = last, c.txns[at]
		at++
	} else if len(elems) > 0 {
		missed.Ver, missed.Writer = elems[len(elems)-1], g.h.Init
	}
	next := c.after[:min(len(c.after), mostReaders)]
	if at < len(c.txns) {
		next = c.txns[at : at+1]
	}
	for _, missed.To = range next {
		if missed.Writer != t { // else it read an element before it appended it
			g.add(missed)
		}
	}
}

// time adds the nodes and edges of real time.
func (g *dependencies) time(skew int64, counts []bool) {
	h := g.h
	var txns []uint32
	var start, end []int64
	for t := range uint32(h.NumTxns()) {
		if !counts[t] || t == h.Init {
			continue
		}
		from, to := h.Window(t, skew)
		txns, start, end = append(txns, t), append(start, from), append(end, to)
	}
	aux, chain := graph.TimeChain(start, end)
	node := func(u int32) uint32 {
		if int(u) < len(txns) {
			return txns[u]
		}
		return uint32(int(u) - len(txns) + g.n)
	}
	for _, e := range chain {
		g.edges = append(g.edges, edge{From: node(e.From), To: node(e.To), Dep: evidence.RT, Key: none, Ver: none,
			Writer: none})
	}
	g.n += aux
}
