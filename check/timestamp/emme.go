package timestamp

import (
	"context"
	"sort"
	"time"

	"isovet/history"
	"isovet/internal/graph"
)

// dependency is an edge of the start-ordered serialization graph between moments, with the violation if it closes a
// cycle.
type dependency struct {
	from, to int32
	v        Violation
}

// Emme recovers the version order from the commit timestamps, builds the start-ordered serialization graph of the whole
// history and looks for cycles: the baseline with which CHRONOS is compared. Its verdict is that of Chronos. The
// violations that it lists are the edges that close cycles, and reads of versions that no transaction installed.
//
// Source: Emme's version order recovery (Clark and others), as CHRONOS describes it; Adya's start-ordered graph. The
// start edges, a quadratic number, are a chain of the moments (errata B6). If several transactions installed a value, a
// read saw the last one before its transaction began; the paper has unique values. Predicate operations have no edges:
// Chronos' sweep compares them with the snapshot that the version order gives. Errors as Chronos, and *Unsupported for
// lists. Cost: linear but for a search in the versions of a key for each read; some 60 bytes an operation.
func Emme(ctx context.Context, h *history.History, o Options) (*Report, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if h.HasLists() {
		return nil, &Unsupported{"emme checks registers, and the history has lists"}
	}
	began := time.Now()
	l, err := newTimeline(h, o)
	if err != nil {
		return nil, err
	}
	sorted := time.Now()
	e := &emme{h: h, l: l, begin: make([]int32, h.NumTxns()), end: make([]int32, h.NumTxns())}
	for i, m := range l.moments {
		t := m >> 1
		if o.Level.Serial() || m&1 == 0 {
			e.begin[t] = int32(i)
		}
		if o.Level.Serial() || m&1 == 1 {
			e.end[t] = int32(i)
		}
	}
	for _, t := range l.backwards {
		e.wrong(Violation{Axiom: TIMESTAMPS, Txn: t, Other: history.None, Key: history.None, Op: history.None})
	}
	e.versionOrder()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	e.edges()
	built := time.Now()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	e.cycles()
	if h.HasPredicates() {
		if err := e.predicates(o); err != nil {
			return nil, err
		}
	}
	e.out.Order, e.out.Begin = l.entries(), l.begin
	e.out.finish()
	e.out.Stages = map[string]time.Duration{"sorting": sorted.Sub(began), "construction": built.Sub(sorted),
		"cycles": time.Since(built)}
	return &e.out, nil
}

type emme struct {
	h          *history.History
	l          *timeline
	begin, end []int32 // of transactions: their moments
	// Versions of a key in commit order: ver[off[k]:off[k+1]], each installed by writer.
	off, ver, writer []uint32
	// Where version v is in ver: place[at[v]:at[v+1]], ascending.
	at, place []uint32
	deps      []dependency
	out       Report
	w         *writers
}

func (e *emme) wrong(v Violation) {
	v.Got, v.Want = history.None, history.None
	e.out.add(v)
}

// versionOrder recovers each key's order of versions from the commits.
func (e *emme) versionOrder() {
	h := e.h
	by, of := graph.NewGroups[uint32](h.NumKeys()), graph.NewGroups[uint32](h.NumVersions())
	each := func(f func(t, v uint32)) {
		seen := make([]uint32, h.NumKeys()) // 1 + the last transaction
		for _, m := range e.l.moments {
			t := m >> 1
			if m&1 == 0 || !e.l.writer[t] {
				continue
			}
			lo, hi := h.TxnOps(t)
			for op := hi; op > lo; op-- {
				for _, v := range written(h, op-1) {
					if k := h.VerKey[v]; seen[k] != t+1 { // its last write of the key
						seen[k] = t + 1
						f(t, v)
					}
				}
			}
		}
	}
	each(func(_, v uint32) {
		by.Count(h.VerKey[v])
		of.Count(v)
	})
	e.ver, e.place = make([]uint32, by.Sum()), make([]uint32, of.Sum())
	e.writer = make([]uint32, len(e.ver))
	each(func(t, v uint32) {
		i := by.Place(h.VerKey[v])
		e.ver[i], e.writer[i] = v, t
		e.place[of.Place(v)] = i
	})
	e.off, e.at = by.Off(), of.Off()
}

// written returns the versions that an operation writes.
func written(h *history.History, op uint32) []uint32 {
	v := h.Ops.Ver[op]
	switch h.Ops.Kind[op] {
	case history.Write:
		return h.Ops.Ver[op : op+1]
	case history.PredWrite:
		return h.Preds.New[h.Preds.Off[v]:h.Preds.Off[v+1]]
	}
	return nil
}

// edges builds the graph of session, read, write and anti-dependencies. It also finds the reads that no graph explains.
func (e *emme) edges() {
	h, l := e.h, e.l
	no := history.None
	if l.o.Level.Sessions() {
		for n := range h.NumSessions() {
			last := no
			for _, t := range h.SessTxn[h.SessOff[n]:h.SessOff[n+1]] {
				if !l.in[t] {
					continue
				}
				if last != no {
					e.deps = append(e.deps, dependency{e.end[last], e.begin[t], Violation{Axiom: SESSION, Txn: t,
						Other: last, Key: no, Op: no}})
				}
				last = t
			}
		}
	}
	if !l.o.Level.Serial() {
		for k := range uint32(h.NumKeys()) {
			of := e.writer[e.off[k]:e.off[k+1]]
			for i := 1; i < len(of); i++ {
				a, b := of[i-1], of[i]
				e.deps = append(e.deps, dependency{e.end[a], e.begin[b], Violation{Axiom: NOCONFLICT, Txn: b, Other: a,
					Key: k, Op: no}})
			}
		}
	}
	mine := make([]uint32, h.NumKeys())
	own := make([]uint32, h.NumKeys())
	for t := range uint32(h.NumTxns()) {
		if !l.in[t] {
			continue
		}
		for op, v := range h.EachOp(t) {
			vers := written(h, op)
			switch k := h.OpKey(op); h.Ops.Kind[op] {
			case history.PredRead:
				vers = h.Preds.Old[h.Preds.Off[v]:h.Preds.Off[v+1]]
			case history.Read:
				if vers = h.Ops.Ver[op : op+1]; mine[k] != t+1 {
					e.read(t, op, k, v)
				} else if own[k] != v {
					e.out.add(Violation{Axiom: INT, Txn: t, Other: no, Key: k, Op: op, Got: v, Want: own[k]})
				}
			}
			for _, v := range vers {
				mine[h.VerKey[v]], own[h.VerKey[v]] = t+1, v
			}
		}
	}
}

// predicates adds the failures of predicate operations.
func (e *emme) predicates(o Options) error {
	s, err := newSweep(e.h, o)
	if err != nil {
		return err
	}
	for _, m := range e.l.moments {
		s.at(e.l, m)
	}
	for _, v := range s.out.Violations {
		if v.Op != history.None && e.h.Ops.Kind[v.Op] >= history.PredRead {
			e.out.add(v)
		}
	}
	return nil
}

// read adds the edges of an external read: from the version's installer, and to the next version's.
func (e *emme) read(t, op, k, v uint32) {
	h := e.h
	x := Violation{Axiom: EXT, Txn: t, Key: k, Op: op, Got: v}
	next := e.off[k]
	if i := e.source(t, v); i != history.None {
		e.deps = append(e.deps, dependency{e.end[e.writer[i]], e.begin[t], x})
		next = i + 1
	} else if h.InitVer[k] != v {
		e.out.add(e.complete(x)) // aborted, intermediate, own, never written
		return
	}
	if next < e.off[k+1] {
		if w := e.writer[next]; w != t {
			e.deps = append(e.deps, dependency{e.begin[t], e.end[w], x})
		}
	}
}

// source returns the index in ver of the installation that a read by transaction t saw: the last one before t began;
// else, unless the version is the initial one, the first one by another transaction; or None.
func (e *emme) source(t, v uint32) uint32 {
	places := e.place[e.at[v]:e.at[v+1]]
	n := sort.Search(len(places), func(i int) bool { return e.end[e.writer[places[i]]] >= e.begin[t] })
	for ; n > 0; n-- {
		if e.writer[places[n-1]] != t { // its own, with a commit before its start
			return places[n-1]
		}
	}
	if e.h.InitVer[e.h.VerKey[v]] == v {
		return history.None
	}
	for _, i := range places {
		if e.writer[i] != t {
			return i
		}
	}
	return history.None
}

// complete adds the version that the read should have seen, and how it is wrong.
func (e *emme) complete(x Violation) Violation {
	off := e.off[x.Key]
	of := e.writer[off:e.off[x.Key+1]]
	n := sort.Search(len(of), func(i int) bool { return e.end[of[i]] >= e.begin[x.Txn] })
	x.Want, x.Other = e.h.InitVer[x.Key], history.None
	if n > 0 {
		x.Want, x.Other = e.ver[off+uint32(n-1)], of[n-1]
	}
	if e.w == nil {
		e.w = newWriters(e.h)
	}
	x.Kind = e.w.kind(x.Txn, x.Got, e.l.begin(x.Txn))
	return x
}

// cycles finds the components of the whole graph. An edge against the chain within a component closes a cycle.
func (e *emme) cycles() {
	n := len(e.l.moments)
	b := graph.NewBuilder(n)
	for i := range n - 1 {
		b.Count(int32(i))
	}
	for i := range e.deps {
		b.Count(e.deps[i].from)
	}
	b.Fill()
	for i := range n - 1 {
		b.Add(int32(i), int32(i+1))
	}
	for i := range e.deps {
		b.Add(e.deps[i].from, e.deps[i].to)
	}
	comp, _ := graph.Components(b.CSR())
	for i := range e.deps {
		d := &e.deps[i]
		if comp[d.from] != comp[d.to] || d.from < d.to {
			continue
		}
		if d.v.Axiom == EXT {
			e.out.add(e.complete(d.v))
		} else {
			e.wrong(d.v)
		}
	}
}
