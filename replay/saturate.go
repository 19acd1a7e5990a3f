package replay

import (
	"sort"

	"isovet/graph"
)

// maxClocks bounds the entries of saturation's clocks: nodes × sessions.
const maxClocks = 1 << 26

// saturate returns edges that every order of the history obeys, beyond the known ones: while a read r of version a is reached by
// another writer b of the key, b is before a; and while a reaches b, r is before b. ok is false if they close a cycle. Edges are
// found by clocks with an entry a session, so session order must be among the known edges.
//
// Source: the pruning rules of Cobra and PolySI, in batches: all edges of a round, then one new closure.
// Cost: a round, (nodes + edges + reads + writes read) × sessions; done says when to stop early, with what was found so far.
func (e *engine) saturate(done func() bool) (facts []graph.Edge, ok bool) {
	k := e.h.NumSessions()
	n := len(e.txn)
	if e.si {
		n *= 2
	}
	if !e.sessions || k == 0 || n*k > maxClocks {
		return nil, true
	}
	chain, place := e.chains(k)
	ws := e.writersBySession(chain)
	clk := make([]uint32, n*k)
	for !done() {
		g := graph.BuildFunc(n, func(emit func(u, v int32)) {
			e.known(emit)
			for _, f := range facts {
				emit(f.From, f.To)
			}
		})
		topo, acyclic := graph.Topological(g)
		if !acyclic {
			return nil, false
		}
		clear(clk)
		for _, x := range topo {
			row := clk[int(x)*k:][:k]
			if i := e.nodeOf(x); x == e.commit(i) && place[i] > 0 {
				row[chain[i]] = max(row[chain[i]], place[i])
			}
			for _, y := range g.Succ(x) {
				to := clk[int(y)*k:][:k]
				for s, c := range row {
					to[s] = max(to[s], c)
				}
			}
		}
		before := len(facts)
		reaches := func(u int32, row int32) bool { // commit of transaction node u, graph node row
			return place[u] > 0 && clk[int(row)*k+int(chain[u])] >= place[u]
		}
		v := e.v
		for i, t := range e.txn {
			for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
				a := v.RW[r]
				if a == none || v.Initial(a) || place[i] == 0 {
					continue
				}
				row := clk[int(e.begin(int32(i)))*k:][:k]
				au := e.writer(a)
				for q := ws.key[e.v.RKey[r]]; q < ws.key[e.v.RKey[r]+1]; q++ {
					in := ws.node[ws.run[q]:ws.run[q+1]]
					c := row[chain[in[0]]]
					j := sort.Search(len(in), func(j int) bool { return place[in[j]] > c }) - 1
					for ; j >= 0 && (in[j] == au || in[j] == int32(i)); j-- {
					}
					if j >= 0 && !reaches(in[j], e.begin(au)) {
						facts = append(facts, graph.Edge{From: e.commit(in[j]), To: e.begin(au)})
					}
				}
			}
			for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
				rd := e.readersOf(w)
				if len(rd) == 0 || place[i] == 0 {
					continue
				}
				for q := ws.key[v.WKey[w]]; q < ws.key[v.WKey[w]+1]; q++ {
					in := ws.node[ws.run[q]:ws.run[q+1]]
					j := sort.Search(len(in), func(j int) bool { return reaches(int32(i), e.commit(in[j])) })
					if j < len(in) && in[j] == int32(i) {
						j++
					}
					if j == len(in) {
						continue
					}
					b := in[j]
					for _, r := range rd {
						if r == b || place[r] == 0 {
							continue // it read and replaced w: known; or its outcome is open
						}
						if e.si && clk[int(e.commit(b))*k+int(chain[r])] < place[r] || !e.si && !reaches(r, b) {
							facts = append(facts, graph.Edge{From: e.begin(r), To: e.commit(b)})
						}
					}
				}
			}
		}
		facts = dedup(facts)
		if len(facts) == before {
			break
		}
	}
	return facts, true
}

// dedup sorts edges and drops repeated ones.
func dedup(f []graph.Edge) []graph.Edge {
	sort.Slice(f, func(i, j int) bool {
		return f[i].From < f[j].From || f[i].From == f[j].From && f[i].To < f[j].To
	})
	out := f[:0]
	for i, x := range f {
		if i == 0 || x != f[i-1] {
			out = append(out, x)
		}
	}
	return out
}

func (e *engine) nodeOf(x int32) int32 {
	if e.si {
		return x >> 1
	}
	return x
}

// chains gives each committed transaction its session and its place there, from 1; others have place 0.
func (e *engine) chains(k int) (chain []int32, place []uint32) {
	chain, place = make([]int32, len(e.txn)), make([]uint32, len(e.txn))
	for s := range k {
		p := uint32(0)
		for _, t := range e.h.SessTxn[e.h.SessOff[s]:e.h.SessOff[s+1]] {
			if i := e.node[t]; i >= 0 && e.chained(t) {
				p++
				chain[i], place[i] = int32(s), p
			}
		}
	}
	return chain, place
}

// sessionWriters are the writers of each key by session: key → runs, run → transaction nodes in session order.
type sessionWriters struct {
	key, run []int32
	node     []int32
}

func (e *engine) writersBySession(chain []int32) sessionWriters {
	v, h := e.v, e.h
	nk := h.NumKeys()
	off := make([]int32, nk+1)
	each := func(f func(i int32, key uint32)) {
		for s := range h.NumSessions() {
			for _, t := range h.SessTxn[h.SessOff[s]:h.SessOff[s+1]] {
				if i := e.node[t]; i >= 0 && e.chained(t) {
					for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
						f(i, v.WKey[w])
					}
				}
			}
		}
	}
	each(func(_ int32, key uint32) { off[key+1]++ })
	for x := range nk {
		off[x+1] += off[x]
	}
	ws := sessionWriters{key: make([]int32, nk+1), node: make([]int32, off[nk])}
	next := append([]int32(nil), off[:nk]...)
	each(func(i int32, key uint32) {
		ws.node[next[key]] = i
		next[key]++
	})
	for x := range nk {
		ws.key[x] = int32(len(ws.run))
		for j := off[x]; j < off[x+1]; j++ {
			if j == off[x] || chain[ws.node[j]] != chain[ws.node[j-1]] {
				ws.run = append(ws.run, j)
			}
		}
	}
	ws.key[nk] = int32(len(ws.run))
	ws.run = append(ws.run, off[nk])
	return ws
}
