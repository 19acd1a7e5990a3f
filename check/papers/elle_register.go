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

// elleRegister is Elle on registers: it infers as much of the order of versions as transactions and sessions show by
// themselves, and looks for cycles. It refutes, and does not prove, but where all of the order is inferred.
type elleRegister struct{}

func (elleRegister) Info() run.Info {
	return run.Info{
		Name: "elle-register", Paper: "Elle", Levels: run.OrderLevels, Partial: true,
		Takes: run.ByCasesTakes(graphItems),
		About: "registers: uses only the order of versions that Elle infers, so most valid histories stay unknown",
	}
}

// Check infers, of each register:
//
//   - the initial version comes first
//   - a transaction that reads a version and writes another orders the two (write follows read)
//   - at levels with session order: of what one session wrote or read of a register, the later comes not before (Elle's
//     sequential keys)
//   - at the strict levels: of what one transaction wrote or read, and another that began after its end (linearizable
//     keys)
//
// and then the edges between neighbours of that order. What Elle takes as an option, the level says here. At the
// snapshot levels the same is inferred, and the edges are between begins and commits: a cycle of these has no two
// anti-dependencies in a row. Two transactions that read one version and overwrote it are a lost update there, which no
// cycle of inferred edges shows.
//
// Source: [Elle] on registers, and its elle.rw-register.
func (c elleRegister) Check(ctx context.Context, h *history.History, o run.Options) (*evidence.Result, error) {
	return run.BeginCases(ctx, c.Info(), h, o, c.decide)
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

// inferRegisters adds what the inferred order of versions demands to the known graph, and returns how often more than
// one write of a key could come next in it. Cost: linear in reads and writes; with real time, times the transactions
// that are concurrent on a key.
func inferRegisters(p *polygraph.Polygraph) (open int) {
	v, h := p.V, p.V.H
	in := &inference{p: p, next: make([][]uint32, len(v.WKey)), wrote: make([]uint32, h.NumKeys()),
		readAt: make([]uint32, h.NumKeys())}
	// What each transaction did to a key: the write it read, the one it made.
	touches := func(t uint32, f func(key uint32, x touched)) {
		in.enter(t)
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

// inTime infers what real time says of the writes of each key.
func (in *inference) inTime(touches func(t uint32, f func(key uint32, x touched))) {
	p := in.p
	by := make([][]touched, p.V.H.NumKeys()) // ended, and none that began later has ended
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

// touched is what a transaction did to a key: the write that it read, the write that it made, each or None.
type touched struct {
	node        int32 // the transaction's, its begin of two
	read, wrote uint32
}

// inference is a version order under way.
type inference struct {
	p    *polygraph.Polygraph
	next [][]uint32 // write → later ones of its key
	// By key: a write and a read of it, those of the transaction at hand where that has such.
	wrote, readAt []uint32
}

// enter makes t the transaction that write and reads are asked about.
func (in *inference) enter(t uint32) {
	v := in.p.V
	for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
		in.wrote[v.WKey[w]] = w
	}
	for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
		in.readAt[v.RKey[r]] = r
	}
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

// before notes that write a is before write b, since bad, an edge of the opposite order, closes a cycle.
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

// after infers from a transaction that comes after another: what it read or wrote first of a key is not before what the
// other left or saw of it.
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
		return // readers of initial versions are before all writers as it is
	}
	bad := polygraph.Edge{From: then.node, To: p.WriteNode(a), W: b, Dep: dep}
	if dep == evidence.WW {
		bad = polygraph.Edge{From: p.CommitNode(then.node), To: p.BeginNode(p.WriteNode(a)), W: a, Dep: dep}
	}
	in.before(a, b, bad)
}

// open returns how often, going along what was inferred of each key, more than one write could come next.
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
