package minitxn

import (
	"isovet/evidence"
	"isovet/history"
	"isovet/level"
	"isovet/prepass"
)

// divergence is two transactions that overwrote one version, which both had read ([MTC] Definition 10).
type divergence struct{ read, first, second uint32 } // write read; transactions

// dependencies is the graph of a history of mini-transactions, as lists: nothing is written down edge by edge.
type dependencies struct {
	v *prepass.View
	h *history.History
	// next[w] is the transaction that overwrote write w, none if nobody did.
	next []uint32
	// The reads of write w are first[w], then more[first[w]] and so on to none; read r is transaction reader[r]'s.
	first, more, reader []uint32
	// place[t] is the index of t in History.SessTxn; nil where session order is not asked for.
	place []uint32
	split bool // two nodes a transaction, t<<1 its begin and t<<1|1 its commit; else one
	// from and until are when a transaction began and ended, skew included; nil without real time.
	from, until []int64
	div         *divergence
}

// build finds who read and who overwrote each write, of several overwriters the first.
// Cost: linear; two words a write and two a read.
func build(v *prepass.View, l level.Level, skew int64) *dependencies {
	h := v.H
	d := &dependencies{v: v, h: h, split: l.Snapshot()}
	d.next, d.first = filled(len(v.WKey)), filled(len(v.WKey))
	d.more, d.reader = make([]uint32, len(v.RW)), make([]uint32, len(v.RW))
	for t := range uint32(h.NumTxns()) {
		if !v.Counts[t] {
			continue
		}
		for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
			w := v.RW[r]
			d.reader[r] = t
			d.more[r] = d.first[w]
			d.first[w] = r
		}
		for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
			read := overwritten(v, t, w)
			if u := d.next[read]; u != none {
				if d.div == nil {
					d.div = &divergence{read, u, t}
				}
				continue
			}
			d.next[read] = t
		}
	}
	if l.Sessions() {
		d.place = make([]uint32, h.NumTxns())
		for i, t := range h.SessTxn {
			d.place[t] = uint32(i)
		}
	}
	if l.RealTime() {
		d.times(skew)
	}
	return d
}

func filled(n int) []uint32 {
	out := make([]uint32, n)
	for i := range out {
		out[i] = none
	}
	return out
}

// times are the client intervals, widened by the skew; a transaction of unknown outcome has no end.
func (d *dependencies) times(skew int64) {
	h := d.h
	n := uint32(h.NumTxns())
	d.from, d.until = make([]int64, n), make([]int64, n)
	for t := range n {
		d.from[t], d.until[t] = Window(h, t, skew)
	}
}

// Window is the client interval of a transaction, widened by the skew at both ends. What is missing, and the end of a transaction of
// unknown outcome, is infinite.
func Window(h *history.History, t uint32, skew int64) (from, until int64) {
	from, until = h.Start(t), h.End(t)
	if from != history.NoTime && from >= -1<<62 {
		from -= skew
	}
	switch {
	case until == history.NoTime || h.Txns.Status[t] != history.Committed:
		until = 1<<63 - 1
	case until <= 1<<62:
		until += skew
	}
	return from, until
}

// followers calls f for the transactions that session order puts after t directly: the next committed one, and those of unknown outcome
// before it. One of unknown outcome precedes nobody.
func (d *dependencies) followers(t uint32, f func(u uint32)) {
	h := d.h
	if d.place == nil || h.Txns.Status[t] != history.Committed {
		return
	}
	end := h.SessOff[h.Txns.Sess[t]+1]
	for i := d.place[t] + 1; i < end; i++ {
		u := h.SessTxn[i]
		if !d.v.Counts[u] {
			continue
		}
		f(u)
		if h.Txns.Status[u] == history.Committed {
			return
		}
	}
}

// nodes is the number of nodes, those that do not count included.
func (d *dependencies) nodes() int {
	if d.split {
		return 2 * d.h.NumTxns()
	}
	return d.h.NumTxns()
}

// txn is the transaction of a node.
func (d *dependencies) txn(node uint32) uint32 {
	if d.split {
		return node >> 1
	}
	return node
}

// ends and begins are the nodes of t that edges leave and enter.
func (d *dependencies) ends(t uint32) uint32 {
	if d.split {
		return t<<1 | 1
	}
	return t
}

func (d *dependencies) begins(t uint32) uint32 {
	if d.split {
		return t << 1
	}
	return t
}

// edges calls f for each edge that leaves a node: to which node, and why. The edge from begin to commit has no reason: From is none.
func (d *dependencies) edges(node uint32, f func(to uint32, why evidence.Edge)) {
	v := d.v
	t := d.txn(node)
	if !d.split || node&1 == 1 {
		for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
			for r := d.first[w]; r != none; r = d.more[r] {
				f(d.begins(d.reader[r]), evidence.Edge{From: t, To: d.reader[r], Dep: evidence.WR, Key: v.WKey[w], Ver: v.WVer[w], Writer: none})
			}
		}
		d.followers(t, func(u uint32) {
			f(d.begins(u), evidence.Edge{From: t, To: u, Dep: evidence.SO, Key: none, Ver: none, Writer: none})
		})
	}
	if d.split && node&1 == 0 {
		f(node|1, evidence.Edge{From: none})
	}
	if !d.split || node&1 == 0 {
		for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
			w := v.RW[r]
			if u := d.next[w]; u != none && u != t {
				f(d.ends(u), d.anti(t, u, w, v.RVer[r]))
			}
		}
	}
}

// anti is the edge from who read write w to who overwrote it.
func (d *dependencies) anti(from, to, w, ver uint32) evidence.Edge {
	return evidence.Edge{From: from, To: to, Dep: evidence.RW, Key: d.v.WKey[w], Ver: ver, Writer: d.v.WTxn[w]}
}
