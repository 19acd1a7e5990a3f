package evidence

import (
	"fmt"
	"slices"

	"isovet/history"
	"isovet/level"
)

// maxForks bounds the transactions that the evidence of a divergence shows.
const maxForks = 8

// fork is a version that was read; of a list, its last element's version, None if it is empty.
type fork struct{ key, ver uint32 }

// diverge turns a lost update into a divergence if a third transaction, or more, took part: all read one version of a
// key and overwrote it ([MTC], Definition 10, calls two of them so too; two alone are the lost update of Berenson et
// al.). Whichever came first, each of the others missed its write, so that any two of them are a proof; the cycles of
// the first with each other one are added to those of the lost update.
func (n *namer) diverge(as []Anomaly) {
	want := make(map[fork][]uint32, len(as))
	for i := range as {
		if f, ok := n.fork(&as[i]); ok {
			want[f] = nil
		}
	}
	if len(want) == 0 {
		return
	}
	n.overwriters(want, 0, uint32(n.h.NumTxns()))
	for i := range as {
		a := &as[i]
		f, ok := n.fork(a)
		if !ok || len(want[f]) < 3 {
			continue
		}
		first := cyclesOf(a)[0]
		e := first[slices.IndexFunc(first, func(e Edge) bool { return e.Dep == RW })]
		pair := [2]uint32{first[0].From, first[0].To}
		rest := slices.DeleteFunc(slices.Clone(want[f]), func(t uint32) bool {
			return t == pair[0] || t == pair[1] || t == e.Writer
		})
		if len(rest) == 0 || !slices.Contains(want[f], pair[0]) || !slices.Contains(want[f], pair[1]) {
			continue
		}
		for _, t := range rest[:min(len(rest), maxForks-2)] {
			a.Cycles = append(a.Cycles, n.missed(pair[0], t, e, n.l.Snapshot())...)
		}
		a.Kind = level.Divergence + level.Anomaly(string(a.Kind)[len(level.LostUpdate):])
	}
}

// divergence describes what each transaction that overwrote the version saw: all the same.
func (d *describer) divergence(a *Anomaly) {
	all := slices.Concat(slices.Concat(cyclesOf(a), a.Cycles)...)
	read := all[slices.IndexFunc(all, func(e Edge) bool { return e.Dep == RW })]
	said := make(map[uint32]bool)
	for _, e := range all {
		if said[e.From] {
			continue
		}
		said[e.From] = true
		read.From = e.From
		_, ver := d.finalWrite(e.From, e.Key)
		fmt.Fprintf(d, "%s read %s = %s and wrote %s.\n", d.txn(e.From), d.key(e.Key), d.sawOf(read), d.value(ver))
	}
	fmt.Fprintf(d, "Each of these %d overwrote the same version of %s; whichever came first, the others did not see "+
		"its write: a contradiction.\n", len(said), d.key(read.Key))
}

// sawOf returns, in words, what the reader of an anti-dependency saw of its key.
func (d *describer) sawOf(e Edge) string {
	if l, ok := d.listRead(e.From, e.Key, e.Ver, history.None); ok {
		return d.list(l)
	}
	return d.value(e.Ver)
}

func cyclesOf(a *Anomaly) [][]Edge {
	if len(a.Cycle) > 0 {
		return [][]Edge{a.Cycle}
	}
	return a.Cycles
}

// fork returns the version that both transactions of a lost update read; false if they read different ones, or if
// others may have written what they read.
func (n *namer) fork(a *Anomaly) (f fork, ok bool) {
	if a.Kind.Base() != level.LostUpdate {
		return f, false
	}
	for _, e := range a.Edges() {
		if e.Dep != RW {
			continue
		}
		if ok && f != (fork{e.Key, e.Ver}) || e.Ver != history.None && e.Writer != history.None &&
			e.Writer != n.h.Init && n.writers(e.Ver) > 1 {
			return f, false
		}
		f, ok = fork{e.Key, e.Ver}, true
	}
	return f, ok
}

// overwriters finds, for each of these versions, the transactions from the first to before the end that committed, read
// it before any own write of its key and then wrote the key. Cost: one pass over their operations.
func (n *namer) overwriters(of map[fork][]uint32, from, end uint32) {
	h := n.h
	if n.first == nil {
		n.first = make([]sight, h.NumKeys())
	}
	for t := from; t < end; t++ {
		if h.Txns.Status[t] != history.Committed || t == h.Init {
			continue
		}
		for op := range h.EachOp(t) {
			kind, v := h.Ops.Kind[op], h.Ops.Ver[op]
			switch kind {
			case history.Read, history.ReadList:
				if kind == history.ReadList {
					last := h.Lists.Off[v+1]
					if v = history.None; last > h.Lists.Off[h.Ops.Ver[op]] {
						v = h.Lists.Elem[last-1]
					}
				}
				if saw := &n.first[h.OpKey(op)]; saw.by != t+1 {
					*saw = sight{t + 1, v}
				}
			case history.Write, history.Append:
				saw := &n.first[h.VerKey[v]]
				if saw.by != t+1 {
					*saw = sight{t + 1, history.None - 1} // its own version, even if it has the value that others read
				}
				f := fork{h.VerKey[v], saw.ver}
				if ts, wanted := of[f]; wanted && (len(ts) == 0 || ts[len(ts)-1] != t) {
					of[f] = append(ts, t)
				}
			}
		}
	}
}

// missed returns the cycles by which one of two transactions missed the other's write of a key. Both read the version
// that the anti-dependency e, of one of them, is about. Under snapshot isolation there is a cycle for each order of the
// two.
func (n *namer) missed(t, u uint32, e Edge, snapshot bool) [][]Edge {
	rw := func(from, to uint32) Edge {
		x := e
		x.From, x.To = from, to
		return x
	}
	if !snapshot {
		return [][]Edge{{rw(t, u), rw(u, t)}}
	}
	ww := func(from, to uint32) Edge {
		_, ver := (&describer{h: n.h}).finalWrite(to, e.Key)
		return Edge{From: from, To: to, Dep: WW, Key: e.Key, Ver: ver, Writer: history.None}
	}
	return [][]Edge{{ww(t, u), rw(u, t)}, {ww(u, t), rw(t, u)}}
}
