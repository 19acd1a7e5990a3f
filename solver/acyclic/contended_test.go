package acyclic_test

import (
	"slices"

	"isovet/internal/graph"
	"isovet/solver"
)

// contended is a history's worth of choices: sessions × txns transactions, each with one read and four
// blind writes on keys keys, executed one after the other in a random interleaving. Known are the session
// order and the reads; each pair of writers of a key is a choice, unless reachability settles it (the
// unit rules, to a fixpoint). It has an answer by construction.
func contended(seed, sessions, txns, keys int) instance {
	r := rng(seed)
	n := sessions * txns
	in := instance{nodes: n}
	type version struct {
		writer  int32
		readers []int32
	}
	versions := make([][]version, keys)
	next := make([]int, sessions)
	for done := 0; done < n; {
		s := r.IntN(sessions)
		if next[s] == txns {
			continue
		}
		t := int32(s*txns + next[s])
		if next[s] > 0 {
			in.known = append(in.known, graph.Edge{From: t - 1, To: t})
		}
		next[s]++
		done++
		if k := r.IntN(keys); len(versions[k]) > 0 {
			v := &versions[k][len(versions[k])-1]
			v.readers = append(v.readers, t)
			in.known = append(in.known, graph.Edge{From: v.writer, To: t})
		}
		for range 4 {
			k := r.IntN(keys)
			if vs := versions[k]; len(vs) == 0 || vs[len(vs)-1].writer != t {
				versions[k] = append(versions[k], version{writer: t})
			}
		}
	}
	type pair struct{ a, b *version }
	var open []pair
	for k := range versions {
		for i := range versions[k] {
			for j := range i {
				open = append(open, pair{&versions[k][j], &versions[k][i]})
			}
		}
	}
	side := func(a, b *version, emit func(u, v int32)) {
		emit(a.writer, b.writer)
		for _, x := range a.readers {
			if x != b.writer {
				emit(x, b.writer)
			}
		}
	}
	words := (n + 63) / 64
	for changed := true; changed; {
		changed = false
		g := graph.Build(n, in.known)
		topo, ok := graph.Topological(g)
		if !ok {
			panic("the history has no answer")
		}
		rows := make([]uint64, n*words)
		row := func(v int32) []uint64 { return rows[int(v)*words:][:words] }
		for _, v := range slices.Backward(topo) {
			to := row(v)
			to[v/64] |= 1 << (v % 64)
			for _, w := range g.Succ(v) {
				for i, x := range row(w) {
					to[i] |= x
				}
			}
		}
		closes := func(p, q *version) (yes bool) {
			side(p, q, func(u, v int32) { yes = yes || row(v)[u/64]>>(u%64)&1 != 0 })
			return yes
		}
		add := func(u, v int32) { in.known = append(in.known, graph.Edge{From: u, To: v}) }
		open = slices.DeleteFunc(open, func(p pair) bool {
			switch {
			case closes(p.b, p.a):
				side(p.a, p.b, add)
			case closes(p.a, p.b):
				side(p.b, p.a, add)
			default:
				return false
			}
			changed = true
			return true
		})
	}
	for _, p := range open {
		v := solver.Var(in.vars)
		in.vars++
		side(p.a, p.b, func(x, y int32) { in.guards = append(in.guards, guard(solver.Neg(v), x, y)) })
		side(p.b, p.a, func(x, y int32) { in.guards = append(in.guards, guard(solver.Pos(v), x, y)) })
	}
	r.Shuffle(len(in.guards), func(i, j int) { in.guards[i], in.guards[j] = in.guards[j], in.guards[i] })
	return in
}
