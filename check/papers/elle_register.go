package papers

import (
	"context"
	"slices"

	"isovet/check/bcgraph"
	"isovet/check/run"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/plural"
	"isovet/polygraph"
)

// elleRegister is Elle on registers: it infers the part of the version order that transactions and sessions show, and
// looks for cycles. It refutes histories; it proves one only if it inferred the whole order.
type elleRegister struct{}

func (elleRegister) Info() run.Info {
	return run.Info{
		Name: "elle-register", Paper: "Elle", Levels: run.OrderLevels, Partial: true,
		Takes: run.UniqueTakes(graphItems),
		About: "registers: uses only the order of versions that Elle infers, so most valid histories stay unknown",
	}
}

// Check infers, for each register:
//
//   - the initial version comes first
//   - a transaction that reads a version and writes another orders the two (write follows read)
//   - at levels with session order: of two versions that one session wrote or read, the later one is not earlier in the
//     version order (Elle's sequential keys)
//   - at the strict levels: the same for two transactions, if one began after the end of the other (linearizable keys)
//
// and adds the edges between neighbours of that order. In Elle these are options; here the level decides. At the
// snapshot levels the edges are between begins and commits, so that no cycle has two adjacent anti-dependencies. If two
// transactions read one version and overwrote it, that is a lost update there, which no cycle of inferred edges shows.
//
// Source: [Elle] on registers, and its elle.rw-register.
func (c elleRegister) Check(ctx context.Context, h *history.History, o run.Options) (*evidence.Result, error) {
	return run.BeginUnique(ctx, c.Info(), h, o, c.decide)
}

func (elleRegister) decide(x *run.Run) error {
	o := x.Options
	if x.TooManyInitial() {
		return nil
	}
	p := polygraph.New(x.View, o.Level, polygraph.Options{RealTime: o.Level.RealTime(), Skew: o.ClockSkew})
	open := inferRegisters(p)
	x.Result.Stats.KnownEdges, x.Result.Stats.Left = len(p.Known), open
	x.Stage("construction")
	if cycle := p.KnownCycle(); cycle != nil {
		return x.RefutedByCycles(p, [][]polygraph.Edge{cycle}, true)
	}
	if o.Level.Snapshot() {
		if _, fork, _ := bcgraph.Chains(x.View); fork[0] != history.None {
			return x.RefutedFork(fork)
		}
	}
	if open > 0 {
		x.Unknown("incomplete: Elle found no cycle, but %s it could not tell which write of a register came "+
			"next", plural.Of(open, "time"))
		return nil
	}
	return x.HoldsBy(p, nil)
}

// inferRegisters adds the edges of the inferred version order to the known graph. It returns how often more than one
// write of a key could come next. Cost: linear in reads and writes; with real time, times the transactions that are
// concurrent on a key.
func inferRegisters(p *polygraph.Polygraph) (open int) {
	v, h := p.V, p.V.H
	in := &inference{p: p, next: make([][]uint32, len(v.WKey)), wrote: make([]uint32, h.NumKeys()),
		readAt: make([]uint32, h.NumKeys())}
	// touches calls f with each key that t read or wrote, and the two writes: the one read and its own.
	touches := func(t uint32, f func(key uint32, x touched)) {
		for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
			in.wrote[v.WKey[w]] = w
		}
		for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
			in.readAt[v.RKey[r]] = r
		}
		for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
			f(v.RKey[r], touched{p.Node[t], v.RW[r], in.write(t, v.RKey[r])})
		}
		for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
			if !in.reads(t, v.WKey[w]) {
				f(v.WKey[w], touched{p.Node[t], history.None, w})
			}
		}
	}
	for u, t := range p.Txn {
		if p.BeginNode(int32(u)) != int32(u) {
			continue
		}
		touches(t, func(_ uint32, x touched) {
			if x.read != history.None && x.wrote != history.None && !v.Initial(x.read) {
				in.before(x.read, x.wrote, polygraph.Edge{From: p.CommitNode(x.node),
					To: p.BeginNode(p.WriteNode(x.read)), W: x.read, Dep: evidence.WW})
			}
		})
	}
	if p.Level.Sessions() {
		for s := range h.NumSessions() {
			last := make(map[uint32]touched)
			for _, t := range h.SessTxn[h.SessOff[s]:h.SessOff[s+1]] {
				if p.Node[t] < 0 {
					continue
				}
				touches(t, func(key uint32, x touched) {
					if a, ok := last[key]; ok {
						in.after(a, x)
					}
					if h.Txns.Status[t] == history.Committed {
						last[key] = x
					}
				})
			}
		}
	}
	if p.Start != nil {
		in.inTime(touches)
	}
	return in.open()
}

// inTime infers the order that real time gives to the writes of each key.
func (in *inference) inTime(touches func(t uint32, f func(key uint32, x touched))) {
	p := in.p
	by := make([][]touched, p.V.H.NumKeys()) // ended transactions such that none that began later has ended
	running := make([][]touched, p.V.H.NumKeys())
	for u, t := range p.Txn { // by start
		if p.BeginNode(int32(u)) != int32(u) {
			continue
		}
		touches(t, func(key uint32, x touched) {
			still := running[key][:0]
			for _, a := range running[key] {
				if !p.Before(p.CommitNode(a.node), x.node) {
					still = append(still, a)
					continue
				}
				by[key] = append(slices.DeleteFunc(by[key],
					func(b touched) bool { return p.Before(p.CommitNode(b.node), a.node) }), a)
			}
			running[key] = append(still, x)
			for _, a := range by[key] {
				in.after(a, x)
			}
		})
	}
}

// touched is what a transaction did to a key: the write that it read, and the write that it made, or None.
type touched struct {
	node        int32 // the transaction's node, or begin node
	read, wrote uint32
}

// inference is the version order so far.
type inference struct {
	p    *polygraph.Polygraph
	next [][]uint32 // write → later writes of its key
	// wrote and readAt: key → a write and a read of it, those of the transaction last asked about if it has any.
	wrote, readAt []uint32
}

func (in *inference) write(t, key uint32) uint32 {
	v := in.p.V
	if w := in.wrote[key]; w >= v.WOff[t] && w < v.WOff[t+1] && v.WKey[w] == key {
		return w
	}
	return history.None
}

func (in *inference) reads(t, key uint32) bool {
	v := in.p.V
	r := in.readAt[key]
	return r >= v.ROff[t] && r < v.ROff[t+1] && v.RKey[r] == key
}

// before records that write a is before write b: bad, an edge of the opposite order, would close a cycle.
func (in *inference) before(a, b uint32, bad polygraph.Edge) {
	if slices.Contains(in.next[a], b) {
		return
	}
	in.next[a] = append(in.next[a], b)
	p := in.p
	by := int32(len(p.Settled))
	p.Settled = append(p.Settled, polygraph.Settled{First: a, Then: b, Bad: bad})
	p.Side(a, b, func(e polygraph.Edge) bool {
		e.By = by
		p.Known = append(p.Known, e)
		return true
	})
}

// after infers from two ordered transactions: the version of a key that then read or wrote first is not before the one
// that first left or saw.
func (in *inference) after(first, then touched) {
	p := in.p
	a := first.wrote
	if a == history.None {
		a = first.read
	}
	b, dep := then.read, evidence.RW
	if b == history.None {
		b, dep = then.wrote, evidence.WW
	}
	if a == b || p.V.Initial(a) || p.V.Initial(b) || p.BeginNode(p.WriteNode(a)) == then.node {
		return // readers of initial versions precede all writers anyway
	}
	bad := polygraph.Edge{From: then.node, To: p.WriteNode(a), W: b, Dep: dep}
	if dep == evidence.WW {
		bad = polygraph.Edge{From: p.CommitNode(then.node), To: p.BeginNode(p.WriteNode(a)), W: a, Dep: dep}
	}
	in.before(a, b, bad)
}

// open returns how often, along the inferred order of each key, more than one write could come next.
func (in *inference) open() (n int) {
	p := in.p
	waits := make([]int32, len(in.next))
	for _, later := range in.next {
		for _, w := range later {
			waits[w]++
		}
	}
	var ready []uint32
	for k := range uint32(p.V.H.NumKeys()) {
		ready = ready[:0]
		for _, w := range p.Writers(k) {
			if waits[w] == 0 {
				ready = append(ready, w)
			}
		}
		for len(ready) > 0 {
			n += len(ready) - 1
			w := ready[len(ready)-1]
			ready = ready[:len(ready)-1]
			for _, x := range in.next[w] {
				if waits[x]--; waits[x] == 0 {
					ready = append(ready, x)
				}
			}
		}
	}
	return n
}
