package census

import (
	"slices"

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
	h     *history.History
	w     []uint32 // see writers
	early []bool   // version → its transaction appended to the same list after it
	l     level.Level
	n     int // nodes
	edges []edge
	// rmw: version → the transactions that read it and wrote the key, in their order.
	rmw map[uint32][]uint32
}

// mostReaders bounds the overwriters that come after each reader of a version if the history shows no order of them;
// without it, the number of edges could be quadratic.
const mostReaders = 64

func newGraph(h *history.History, l level.Level, skew int64, counts []bool) *dependencies {
	g := &dependencies{h: h, l: l, n: h.NumTxns(), rmw: map[uint32][]uint32{}, edges: make([]edge, 0, 2*h.NumOps())}
	g.w = g.writers(counts)
	g.registers(counts)
	g.lists(counts)
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
				before = t
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

// writers returns the installer of each version: none if there is none, or many if a read of it cannot name one,
// because several transactions wrote it, an aborted one did, or the writer overwrote it.
func (g *dependencies) writers(counts []bool) []uint32 {
	h := g.h
	w := slices.Repeat([]uint32{none}, h.NumVersions())
	g.early = make([]bool, len(w))
	last := map[uint32]uint32{} // key → the version that the transaction installs
	for t := range uint32(h.NumTxns()) {
		clear(last)
		for op := range h.EachOp(t) {
			switch ver := h.Ops.Ver[op]; h.Ops.Kind[op] {
			case history.Write:
				if before, ok := last[h.VerKey[ver]]; ok {
					w[before] = many // it is intermediate: no transaction may read it
				}
				last[h.VerKey[ver]] = ver
				w[ver] = writer(w[ver], t, counts[t] || t == h.Init)
			case history.Append:
				if before, ok := last[h.VerKey[ver]]; ok {
					g.early[before] = true
				}
				last[h.VerKey[ver]] = ver
				w[ver] = writer(w[ver], t, counts[t] || t == h.Init)
			}
		}
	}
	for _, ver := range h.InitVer {
		if ver != none && w[ver] != none && w[ver] != h.Init {
			w[ver] = many // a read may be of the initial state or of this write
		}
	}
	return w
}

const many = none - 1

func writer(before, t uint32, counts bool) uint32 {
	if before == none && counts {
		return t
	}
	return many
}

// reader is a transaction that read a version which another transaction wrote to a register.
type reader struct{ t, ver uint32 }

// registers adds the edges that reads and writes of registers show.
func (g *dependencies) registers(counts []bool) {
	h := g.h
	var readers []reader
	initial := map[uint32][]uint32{} // key → readers of its initial version
	writes := map[uint32][]uint32{}  // key → its writers' versions
	read, wrote := map[uint32]uint32{}, map[uint32]uint32{}
	for t := range uint32(h.NumTxns()) {
		if !counts[t] || t == h.Init {
			continue
		}
		clear(read)
		clear(wrote)
		g.accesses(t, read, wrote)
		for k, ver := range wrote {
			if g.w[ver] == t {
				writes[k] = append(writes[k], ver)
			}
		}
		for k, ver := range read {
			from := g.w[ver]
			switch {
			case h.InitVer[k] == ver && (from == none || from == h.Init):
				initial[k] = append(initial[k], t)
			case from >= many || from == t:
				continue
			default:
				readers = append(readers, reader{t, ver})
				g.add(evidence.Edge{From: from, To: t, Dep: evidence.WR, Key: k, Ver: ver, Writer: none})
			}
			if own, is := wrote[k]; is && g.w[own] == t {
				g.replaces(t, k, ver, own)
			}
		}
	}
	g.overwritten(readers, initial, writes)
}

// accesses fills read with the first version of each key that a committed transaction reads before it writes it, and
// wrote with the last version that the transaction writes.
func (g *dependencies) accesses(t uint32, read, wrote map[uint32]uint32) {
	h := g.h
	for op, ver := range h.EachOp(t) {
		switch h.Ops.Kind[op] {
		case history.Read:
			k := h.VerKey[ver]
			if _, own := wrote[k]; own {
				continue
			}
			if _, again := read[k]; !again && h.Txns.Status[t] == history.Committed {
				read[k] = ver
			}
		case history.Write:
			wrote[h.VerKey[ver]] = ver
		}
	}
}

// replaces adds that t, which read a version of a key and wrote its own, comes after the writer of the version.
func (g *dependencies) replaces(t, k, ver, own uint32) {
	g.rmw[ver] = append(g.rmw[ver], t)
	from := g.w[ver]
	if from >= many || from == g.h.Init {
		return
	}
	g.add(evidence.Edge{From: from, To: t, Dep: evidence.WW, Key: k, Ver: own, Writer: none})
}

// overwritten adds that readers of a version come before its overwriters: the transactions that read it and wrote the
// key, and for an initial version all writers of the key.
func (g *dependencies) overwritten(readers []reader, initial, writes map[uint32][]uint32) {
	h := g.h
	for _, r := range readers {
		next := g.rmw[r.ver]
		for _, t := range next[:min(len(next), mostReaders)] {
			g.add(evidence.Edge{From: r.t, To: t, Dep: evidence.RW, Key: h.VerKey[r.ver], Ver: r.ver,
				Writer: g.w[r.ver]})
		}
	}
	for k, rs := range initial {
		after := writes[k]
		if next := g.rmw[h.InitVer[k]]; len(after) > mostReaders {
			after = after[:0:0]
			for _, t := range next[:min(len(next), mostReaders)] {
				after = append(after, g.versionOf(t, k))
			}
		}
		for _, r := range rs {
			for _, ver := range after {
				g.add(evidence.Edge{From: r, To: g.w[ver], Dep: evidence.RW, Key: k, Ver: h.InitVer[k], Writer: none})
			}
		}
	}
}

// versionOf returns the version of register k that transaction t installs.
func (g *dependencies) versionOf(t, k uint32) (ver uint32) {
	for op := range g.h.EachOp(t) {
		if v := g.h.Ops.Ver[op]; g.h.Ops.Kind[op] == history.Write && g.h.VerKey[v] == k {
			ver = v
		}
	}
	return ver
}

// lists adds the edges that reads of lists show. The longest read of a list gives the order of its elements; another
// read counts only if it is a prefix of that one.
func (g *dependencies) lists(counts []bool) {
	h := g.h
	if len(h.Lists.Key) == 0 {
		return
	}
	longest := make([][]uint32, h.NumKeys())
	g.eachList(counts, func(_, key uint32, elems []uint32) {
		if len(elems) > len(longest[key]) {
			longest[key] = elems
		}
	})
	chains := make([]appenders, h.NumKeys())
	for k, elems := range longest {
		c := g.appenders(elems)
		for i := 1; i < len(c.txns); i++ {
			if ver := elems[c.ends[i]-1]; !g.early[ver] && !g.early[elems[c.ends[i-1]-1]] {
				g.add(evidence.Edge{From: c.txns[i-1], To: c.txns[i], Dep: evidence.WW, Key: uint32(k), Ver: ver,
					Writer: none})
			}
		}
		chains[k] = c
	}
	g.eachList(counts, func(t, k uint32, elems []uint32) {
		if slices.Equal(elems, longest[k][:len(elems)]) {
			g.prefix(t, k, elems, chains[k])
		}
	})
}

// eachList calls f with each list that a committed transaction read before it appended to it.
func (g *dependencies) eachList(counts []bool, f func(t, key uint32, elems []uint32)) {
	h := g.h
	for t := range uint32(h.NumTxns()) {
		if !counts[t] || h.Txns.Status[t] != history.Committed || t == h.Init {
			continue
		}
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi; op++ {
			ver := h.Ops.Ver[op]
			if h.Ops.Kind[op] != history.ReadList || g.appended(lo, op, h.Lists.Key[ver]) {
				continue
			}
			f(t, h.Lists.Key[ver], h.Lists.Elem[h.Lists.Off[ver]:h.Lists.Off[ver+1]])
		}
	}
}

// appenders are the writers of a list in order. The first i+1 of them appended the first ends[i] elements.
type appenders struct {
	txns []uint32
	ends []int
}

// appenders returns the appenders of a list's elements, up to the first element that does not show its writer.
func (g *dependencies) appenders(elems []uint32) (c appenders) {
	seen := map[uint32]bool{}
	for i, e := range elems {
		t := g.w[e]
		if t >= many || t == g.h.Init { // not readable by others, or an initial element
			if t == g.h.Init && len(c.txns) == 0 {
				continue
			}
			break
		}
		if n := len(c.txns); n > 0 && c.txns[n-1] == t {
			c.ends[n-1] = i + 1
			continue
		}
		if seen[t] {
			break
		}
		seen[t] = true
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
	if at < len(c.txns) && missed.Writer != t { // else it read an element before it appended it
		missed.To = c.txns[at]
		g.add(missed)
	}
}

// appended reports whether a transaction, with operations from lo on, appended to list key before operation op.
func (g *dependencies) appended(lo, op, key uint32) bool {
	for o := lo; o < op; o++ {
		if g.h.Ops.Kind[o] == history.Append && g.h.VerKey[g.h.Ops.Ver[o]] == key {
			return true
		}
	}
	return false
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
		from, to := int64(graph.NoStart), int64(graph.NoEnd)
		if h.Start(t) != history.NoTime {
			from = h.Start(t) - skew
		}
		if h.End(t) != history.NoTime && h.Txns.Status[t] == history.Committed {
			to = h.End(t) + skew
		}
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
