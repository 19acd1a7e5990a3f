package minitxn

import (
	"slices"

	"isovet/check/events"
	"isovet/check/prepass"
	"isovet/evidence"
	"isovet/history"
	"isovet/level"
)

// divergence is two transactions that both read a version and overwrote it ([MTC] Definition 10).
type divergence struct{ read, first, second uint32 } // write read; transactions

// version has, for a write, the overwriter and the first read, each plus one, and the number of its reads that are not
// yet linked to an overwriter. These are used together, so they are stored together.
type version struct{ next, first, readers uint32 }

// seen is a read: its transaction, and the next read of the same write, plus one.
type seen struct{ more, txn uint32 }

// dependencies is the graph of a history of mini-transactions, as lists from which the edges follow.
type dependencies struct {
	events.Events
	v *prepass.View
	// versions has an entry for each write, reads for each read. The reads of write w are versions[w].first, then
	// follow more, up to 0.
	versions []version
	reads    []seen
	// follows[t] is 1 + the next counting transaction of t's session; nil if the level has no session order.
	follows []uint32
	timed   bool     // real time
	waits   []uint32 // node → edges that enter it
	size    int      // edges
	div     *divergence
}

// next returns the transaction that overwrote write w, or none.
func (d *dependencies) next(w uint32) uint32 { return d.versions[w].next - 1 }

// build finds the readers and the overwriter of each write, of several the first one, and the in-degree of each node.
// Cost: linear; three words a write, two a read, one a node. It does all in one walk in the order of the file, which
// keeps memory accesses close. Separate walks, and an array for each word, took a tenth more of the whole check.
func build(v *prepass.View, l level.Level, skew int64) *dependencies {
	h := v.H
	d := &dependencies{v: v, Events: events.New(h, v.Counts, l, skew), timed: l.RealTime()}
	d.versions, d.reads = make([]version, len(v.WKey)), make([]seen, len(v.RW))
	d.waits = make([]uint32, d.Base)
	initial := uint32(h.NumKeys())
	look := lookup{v: v}
	for t := range uint32(h.NumTxns()) {
		if !v.Counts[t] {
			continue
		}
		begin, commit := d.Begin(t), d.Commit(t)
		if d.Split {
			d.waits[commit]++
			d.size++
		}
		for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
			w := v.RW[r]
			x := &d.versions[w]
			d.reads[r] = seen{x.first, t}
			x.first = r + 1
			if w >= initial {
				d.waits[begin]++
				d.size++
			}
			if u := x.next - 1; u != none {
				d.waits[d.Commit(u)]++
				d.size++
			} else {
				x.readers++
			}
		}
		for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
			read := look.overwritten(t, w)
			x := &d.versions[read]
			if u := x.next - 1; u != none {
				if d.div == nil {
					d.div = &divergence{read, u, t}
				}
				continue
			}
			x.next = t + 1
			d.waits[commit] += x.readers - 1 // t does not wait for itself
			d.size += int(x.readers) - 1
		}
	}
	if l.Sessions() {
		d.sessions()
	}
	return d
}

// sessions fills follows. If the sessions are in the order of the file, so is its walk.
func (d *dependencies) sessions() {
	h := d.H
	d.follows = make([]uint32, h.NumTxns())
	// last is 1 + the session's previous transaction, before 1 + its previous committed one.
	type head struct {
		last   uint32
		before bool
	}
	next := func(x *head, t uint32) {
		if !d.v.Counts[t] {
			return
		}
		if x.last > 0 {
			d.follows[x.last-1] = t + 1
		}
		x.last = t + 1
		if x.before {
			d.waits[d.Begin(t)]++
			d.size++
		}
		x.before = x.before || h.Txns.Status[t] == history.Committed
	}
	sorted := true
	for s := range h.NumSessions() {
		sorted = sorted && slices.IsSorted(h.SessTxn[h.SessOff[s]:h.SessOff[s+1]])
	}
	heads := make([]head, h.NumSessions())
	if sorted {
		for t := range uint32(h.NumTxns()) {
			if s := h.Txns.Sess[t]; s != none {
				next(&heads[s], t)
			}
		}
		return
	}
	for s := range heads {
		for _, t := range h.SessTxn[h.SessOff[s]:h.SessOff[s+1]] {
			next(&heads[s], t)
		}
	}
}

func filled(n int) []uint32 { return slices.Repeat([]uint32{none}, n) }

// followers calls f for the direct successors of t in session order: the next committed transaction, and those of
// unknown outcome before it. A transaction of unknown outcome has none.
func (d *dependencies) followers(t uint32, f func(u uint32)) {
	status := d.H.Txns.Status
	if d.follows == nil || status[t] != history.Committed {
		return
	}
	for u := d.follows[t] - 1; u != none; u = d.follows[u] - 1 {
		f(u)
		if status[u] == history.Committed {
			return
		}
	}
}

// edges calls f for each edge that leaves a node, with its end and its reason. The edge from begin to commit has no
// reason: its From is none.
func (d *dependencies) edges(node int32, f func(to int32, why evidence.Edge)) {
	v := d.v
	t := d.Txn(node)
	if !d.Split || node&1 == 1 {
		for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
			for r := d.versions[w].first; r > 0; r = d.reads[r-1].more {
				u := d.reads[r-1].txn
				f(d.Begin(u), evidence.Edge{From: t, To: u, Dep: evidence.WR, Key: v.WKey[w], Ver: v.WVer[w],
					Writer: none})
			}
		}
		d.followers(t, func(u uint32) { f(d.Begin(u), events.Bare(t, u, evidence.SO)) })
	}
	if d.Split && node&1 == 0 {
		f(node|1, evidence.Edge{From: none})
	}
	if !d.Split || node&1 == 0 {
		for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
			w := v.RW[r]
			if u := d.next(w); u != none && u != t {
				f(d.Commit(u), d.anti(t, u, w, v.RVer(r)))
			}
		}
	}
}

// anti returns the edge from a reader of write w to the overwriter of w.
func (d *dependencies) anti(from, to, w, ver uint32) evidence.Edge {
	return evidence.Edge{From: from, To: to, Dep: evidence.RW, Key: d.v.WKey[w], Ver: ver, Writer: d.v.WTxn[w]}
}
