package explain

import (
	"context"
	"slices"

	"isovet/check/prepass"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/slice"
	"isovet/level"
	"isovet/predicates"
	"isovet/solver"
)

// Core returns a minimal subset of cycles that still contradict each other, read as clauses "not all assumptions of
// this cycle hold". A cycle assumes orders of writers of a key (WW; RW of a version that is not the initial one), the
// writers of its ambiguous reads (WR and RW), and that its transactions of open outcome count. An order of two writers
// that session order, real time or a read shows needs no cycle. Cost: one call of the solver for each cycle of the
// first core found.
func Core(ctx context.Context, proof [][]evidence.Edge, v *prepass.View, l level.Level, skew int64) [][]evidence.Edge {
	c, use := newCore(proof, v, l, skew)
	live := slices.Clone(use)
	if c.s.Solve(ctx, live...) != solver.Unsat {
		return proof
	}
	live = failed(c.s, live)
	for i := 0; i < len(live); {
		if rest := slices.Concat(live[:i], live[i+1:]); c.s.Solve(ctx, rest...) == solver.Unsat {
			live = failed(c.s, rest) // all before i belong to every core of the rest, and keep their places
		} else {
			i++
		}
	}
	var out [][]evidence.Edge
	for i, l := range use {
		if slices.Contains(live, l) {
			out = append(out, proof[i])
		}
	}
	if len(out) > 0 {
		return out
	}
	// The versions that a predicate operation may have seen contradict real time by themselves. One cycle must name the
	// operation.
	for i := range proof {
		if c, use := newCore(proof[i:i+1], v, l, skew); c.s.Solve(ctx, use...) == solver.Unsat {
			return proof[i : i+1]
		}
	}
	return proof
}

// newCore adds the clauses of cycles, each with a literal that enables it.
func newCore(proof [][]evidence.Edge, v *prepass.View, l level.Level, skew int64) (*core, []solver.Lit) {
	c := &core{v: v, l: l, skew: skew, s: solver.New(solver.Options{}), order: make(map[[2]uint32]solver.Var),
		saw: make(map[[3]uint32]solver.Var), count: make(map[uint32]solver.Var), base: make(map[[3]uint32]solver.Var)}
	for at, r := range v.Amb { // all selections: chains of open outcomes also need reads outside the cycles
		c.sees(v.Reader(r), v.RVer(r), v.WTxn[v.Cand[v.CandOff[at]]])
	}
	use := make([]solver.Lit, len(proof))
	for i, cycle := range proof {
		on := c.s.NewVar()
		use[i] = solver.Pos(on)
		clause := []solver.Lit{solver.Neg(on)}
		for _, e := range cycle {
			clause = append(clause, slice.Map(c.assumes(e), solver.Lit.Not)...)
		}
		c.s.AddClause(clause...)
	}
	return c, use
}

type core struct {
	v    *prepass.View
	l    level.Level
	skew int64
	s    *solver.Solver

	order map[[2]uint32]solver.Var // transactions a < b → "a's version first"
	saw   map[[3]uint32]solver.Var // (reader, version, write) → "the read saw this write"
	count map[uint32]solver.Var    // open transaction → "counts"
	base  map[[3]uint32]solver.Var // (predicate operation, key, writer) → "it was based on this writer's version"
	preds *predicates.Truths       // made when first asked for
}

func (c *core) assumes(e evidence.Edge) (out []solver.Lit) {
	for _, t := range []uint32{e.From, e.To} {
		if l, open := c.counts(t); open {
			out = append(out, l)
		}
	}
	switch e.Dep {
	case evidence.WW:
		out = append(out, c.before(e.From, e.To))
	case evidence.WR:
		if l, amb := c.sees(e.To, e.Ver, e.From); amb {
			out = append(out, l)
		}
	case evidence.PWR:
		out = append(out, c.based(e.Op, e.Key, e.To, e.From))
	case evidence.PRW:
		if e.Writer != history.None {
			out = append(out, c.before(e.Writer, e.To))
		}
		out = append(out, c.based(e.Op, e.Key, e.From, e.Writer))
	case evidence.RW:
		if e.Writer != history.None {
			out = append(out, c.before(e.Writer, e.To))
		}
		if l, amb := c.sees(e.From, e.Ver, e.Writer); amb {
			out = append(out, l)
		}
	}
	return out
}

func (c *core) counts(t uint32) (solver.Lit, bool) {
	if c.v.Counts[t] || t == c.v.H.Init {
		return 0, false
	}
	x, ok := c.count[t]
	if !ok {
		x = c.s.NewVar()
		c.count[t] = x
	}
	return solver.Pos(x), true
}

func (c *core) before(a, b uint32) solver.Lit {
	k := [2]uint32{min(a, b), max(a, b)}
	x, ok := c.order[k]
	if !ok {
		x = c.s.NewVar()
		c.order[k] = x
		if c.direct(k[0], k[1]) {
			c.s.AddClause(solver.Pos(x))
		}
		if c.direct(k[1], k[0]) {
			c.s.AddClause(solver.Neg(x))
		}
	}
	if a < b {
		return solver.Pos(x)
	}
	return solver.Neg(x)
}

// direct reports whether session order, real time or an unambiguous read puts a before b.
func (c *core) direct(a, b uint32) bool {
	h, v := c.v.H, c.v
	if !v.Counts[a] || !v.Counts[b] {
		return false
	}
	if c.l.Sessions() && h.Txns.Sess[a] == h.Txns.Sess[b] && h.Txns.Status[a] != history.Unknown {
		in := h.SessTxn[h.SessOff[h.Txns.Sess[a]]:h.SessOff[h.Txns.Sess[a]+1]]
		if slices.Index(in, a) < slices.Index(in, b) {
			return true
		}
	}
	if c.l.RealTime() {
		_, end := h.Window(a, c.skew)
		if start, _ := h.Window(b, c.skew); end < start {
			return true
		}
	}
	for r := v.ROff[b]; r < v.ROff[b+1]; r++ {
		if w := v.RW[r]; w != history.None && v.WTxn[w] == a {
			return true
		}
	}
	return false
}

// sees returns the literal "reader's read of version ver saw the write of transaction writer" (None: the initial
// version), if that read has several possible writers. Its first call for a read adds the clauses that one of them is
// the writer, and that the writer counts.
func (c *core) sees(reader, ver, writer uint32) (solver.Lit, bool) {
	v := c.v
	at, _ := slices.BinarySearch(v.Amb, v.ROff[reader])
	for ; at < len(v.Amb) && v.Amb[at] < v.ROff[reader+1]; at++ {
		if v.RVer(v.Amb[at]) != ver {
			continue
		}
		cand := v.Cand[v.CandOff[at]:v.CandOff[at+1]]
		if _, ok := c.saw[[3]uint32{reader, ver, cand[0]}]; !ok {
			var some []solver.Lit
			if l, open := c.counts(reader); open {
				some = append(some, l.Not())
			}
			for _, w := range cand {
				x := c.s.NewVar()
				c.saw[[3]uint32{reader, ver, w}] = x
				some = append(some, solver.Pos(x))
				if t := v.WTxn[w]; t != history.None {
					if l, open := c.counts(t); open {
						c.s.AddClause(solver.Neg(x), l)
					}
				}
			}
			c.s.AddClause(some...)
		}
		for _, w := range cand {
			if v.WTxn[w] == writer {
				return solver.Pos(c.saw[[3]uint32{reader, ver, w}]), true
			}
		}
	}
	return 0, false
}
