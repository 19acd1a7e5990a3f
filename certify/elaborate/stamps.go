package elaborate

import (
	"cmp"
	"slices"

	"isovet/certify/kernel"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/sorts"
	"isovet/level"
)

// byStamps proves an answer at a level by the database's timestamps. A transaction takes part if and only if it has a
// commit timestamp and did not abort.
func (p *Proof) byStamps(l kernel.Level, r *evidence.Result, x *terms) error {
	h := x.h
	p.Level = evidence.Label(r.Level, true)
	x.stamped = true
	for t := range uint32(h.NumTxns()) {
		if t != h.Init && h.Txns.Status[t] == history.Committed && h.CommitTS(t) == history.NoTime {
			return &Unsupported{"transactions without timestamps"}
		}
	}
	if x.searches != nil {
		if err := x.searches.fits(); err != nil {
			return err
		}
	}
	atStart := make([]bool, h.NumTxns()) // transactions ordered by their starts: they only read
	if r.ReadOnlyAtStart && l.Serial {
		for t := range atStart {
			atStart[t] = !x.installs(uint32(t))
		}
	}
	p.stamps = func(id uint32) (start, commit uint64, ok bool) {
		t := id - 1
		if id == 0 || int(t) >= h.NumTxns() || !x.takesPart(t) {
			return 0, 0, false
		}
		b, c := h.StartTS(t), h.CommitTS(t)
		switch {
		case atStart[t]:
			c = b
		case l.Serial:
			b = c
		}
		return unsigned(b), unsigned(c), b != history.NoTime
	}
	if r.Verdict != evidence.Holds {
		return p.wrongStamps(l, r, x)
	}
	if l.Serial {
		p.order(l, h, r.Order)
		return refused(kernel.CheckStampedSerial(l, x, p.stamps, p.Order))
	}
	return refused(kernel.CheckStampedSnapshot(l, x, p.stamps, p.order(l, h, x.writersFirst(r.Order))))
}

// installs reports whether a transaction takes part and writes anything.
func (x *terms) installs(t uint32) bool {
	u := x.Txn(number(t))
	return u != nil && kernel.WritesAny(u)
}

// writersFirst puts the commit of a writer before the other commits of the same time.
func (x *terms) writersFirst(order []uint32) []uint32 {
	order = slices.Clone(order)
	for lo := 0; lo < len(order); lo++ {
		hi := lo
		for hi < len(order) && order[hi]&1 == 1 && sameCommit(x.h, order[lo], order[hi]) {
			hi++
		}
		for at := lo + 1; at < hi; at++ {
			if x.installs(order[at] >> 1) {
				e := order[at]
				copy(order[lo+1:at+1], order[lo:at])
				order[lo] = e
				break
			}
		}
		lo = max(lo, hi-1)
	}
	return order
}

// sameCommit reports whether two adjacent commits of an order have the same timestamp.
func sameCommit(h *history.History, e, f uint32) bool {
	t, u := e>>1, f>>1
	return t != h.Init && u != h.Init && int(max(t, u)) < h.NumTxns() && h.CommitTS(t) == h.CommitTS(u)
}

// wrongStamps looks among the first violations for a fault that the kernel confirms.
func (p *Proof) wrongStamps(l kernel.Level, r *evidence.Result, x *terms) error {
	h := x.h
	try := func(w kernel.Wrong) bool {
		p.Order = nil
		if w.Kind == kernel.Unexplained {
			p.Order = writers(x)
		}
		p.wrong = &w
		return kernel.CheckStampsViolation(l, x, p.stamps, p.Order, w).Outcome == kernel.Proved
	}
	// The kernel knows no other fault of a transaction that commits before it starts.
	if !l.Serial {
		for t := range uint32(h.NumTxns()) {
			if x.takesPart(t) && h.StartTS(t) > h.CommitTS(t) && try(kernel.Wrong{Kind: kernel.Early, T: number(t)}) {
				return nil
			}
		}
	}
	for i := range r.Anomalies[:min(tries, len(r.Anomalies))] {
		a := &r.Anomalies[i]
		w := kernel.Wrong{Kind: kernel.Unexplained}
		switch {
		case len(a.Txns) == 0:
			continue
		case a.Kind == level.Int || a.Kind == level.Ext:
		case len(a.Txns) < 2:
			continue
		case a.Kind == level.Session:
			w = kernel.Wrong{Kind: kernel.Overlaps, T: number(a.Txns[1]), U: number(a.Txns[0])}
		case a.Kind == level.NoConflict:
			w = kernel.Wrong{Kind: kernel.Conflicts, U: number(a.Txns[1]), K: number(a.Key)}
		}
		w.T = cmp.Or(w.T, number(a.Txns[0]))
		if try(w) {
			return nil
		}
	}
	return &Unsupported{"a proof of this violation of timestamps"}
}

// writers returns the transactions that write, in the order of their commits.
func writers(x *terms) []uint32 {
	var ts []uint32
	for t := range uint32(x.h.NumTxns()) {
		if x.installs(t) {
			ts = append(ts, t)
		}
	}
	sorts.Stable(ts, func(t, u uint32) int { return cmp.Compare(x.h.CommitTS(t), x.h.CommitTS(u)) })
	for i := range ts {
		ts[i] = number(ts[i])
	}
	return ts
}
