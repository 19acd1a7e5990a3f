// Package prepass does what every checker needs before it begins and what needs no search: it finds the anomalies of
// single reads, and reduces a history to what transactions show each other.
//
// The anomalies are internal consistency (INT of Biswas and Enea), thin-air, aborted, intermediate and future reads
// (errata V11, M5): no order of the transactions can explain them, and the graph of a paper's definition silently
// misses them, because such a read has no edge.
//
// The rest is a [View]: for every transaction that counts, the writes that it installs (the last one of each key) and
// the reads that other transactions must explain (the first one of each key, unless an own write comes before it), each
// with the write it sees.
//
// # Who counts
//
// Committed transactions count. One of unknown outcome counts if a transaction that counts can only have read from it;
// the others of unknown outcome are left out. With reads that have one possible writer this is exact, since a
// transaction more only adds constraints (errata V27); with ambiguous reads View.Open lists those whose outcome remains
// a choice.
//
// One of unknown outcome that contradicts itself, or that reads what nobody wrote that may have committed, cannot have
// committed, and so on from reader to reader: such a transaction is dead. Nobody has read from it. Where a transaction
// that counts can have read from dead ones only, that is an aborted read.
//
// Experimental: this package may still change.
package prepass

import (
	"slices"

	"isovet/evidence"
	"isovet/history"
	"isovet/internal/graph"
	"isovet/level"
	"isovet/predicates"
)

const none = history.None

// View is a history as its transactions saw each other. Transactions, keys and versions are the history's dense
// indices.
type View struct {
	H *history.History

	// Counts[t]: the transaction takes part.
	Counts []bool
	// NumCounts is the number of transactions that do, Init left out.
	NumCounts int

	// Writes. Write w installs a version of WKey[w] by transaction WTxn[w]. Writes 0..NumKeys-1 are the initial
	// versions, with WTxn = None (history.Init's writes are these too). Transaction t's own are WOff[t]:WOff[t+1].
	// Transactions that do not count have none, but for those in Open.
	WKey, WTxn []uint32
	WVer       []uint32 // version installed; for initial versions History.InitVer
	WOff       []uint32

	// Reads. Transaction t's external reads are ROff[t]:ROff[t+1]: each saw write RW[r], or one of several: then RW[r]
	// is None and the candidates are Cand[CandOff[i]:CandOff[i+1]] with Amb[i] = r. See RVer and ROp too.
	RW   []uint32
	RKey []uint32
	ROff []uint32
	// rVer is RVer, nil where RW tells it. The operation of read r of t is at OpOff[t] + rNear[r], or rFar[r].
	rVer  []uint32
	rNear []uint8
	rFar  []uint32

	Amb     []uint32
	CandOff []uint32
	Cand    []uint32
	// Crowded: there are more candidates than Options.MaxCandidates. Amb has the reads, none of which has any in Cand.
	Crowded bool

	// Open lists the transactions of unknown outcome that an ambiguous read could see: whether they count is a choice.
	Open []uint32
	predicateView
	// Only, if set, are the only keys of predicate operations that are to be explained, Blind ones included; else all
	// are.
	Only map[Miss]bool

	// Anomalies are those of single reads of transactions that count, at most MaxAnomalies.
	Anomalies []evidence.Anomaly
	// Also counts the anomalies beyond MaxAnomalies, Kinds all of them by kind.
	Also  int
	Kinds map[level.Anomaly]int

	Asked Options // by which the view was made
	keys  *byKey
}

// predicateView has the predicate operations.
type predicateView struct {
	// Predicate operations. Transaction t's are POff[t]:POff[t+1], each an operation POp[i]; nil without predicates.
	// What they matched at a known version is among the reads, what they wrote among the writes. What is left of them
	// to explain are the keys of which they only say whether their predicate holds: see predicates.go.
	POff, POp []uint32
	// Blind lists the rows that predicate writes of transactions that take part overwrote without saying which version
	// they replaced, own rows left out.
	Blind []Miss
	// Index has the predicates' truth of versions; nil without predicates.
	Index *predicates.Index
	// LeftOut lists the transactions of unknown outcome that write, might have been seen or missed by a predicate, and
	// were left out because the caller asked for it.
	LeftOut []uint32
	// Bad is the error of a predicate that does not parse; nothing else is of use then.
	Bad error
}

// RVer returns the version that a read saw, None of one of WithImpliedReads that has no write in RW.
func (v *View) RVer(r uint32) uint32 {
	if v.rVer != nil && (v.rVer[r] != none || v.RW[r] == none) {
		return v.rVer[r]
	}
	return v.WVer[v.RW[r]]
}

// Reader returns the transaction of a read. Cost: a binary search.
func (v *View) Reader(r uint32) uint32 {
	t, _ := slices.BinarySearchFunc(v.ROff, r, func(off, r uint32) int {
		if off <= r {
			return -1
		}
		return 1
	})
	return uint32(t) - 1
}

// ROp returns the operation of a read, of a predicate's row the predicate's. Cost: see Reader.
func (v *View) ROp(r uint32) uint32 {
	if v.rFar != nil {
		return v.rFar[r]
	}
	return v.H.Txns.OpOff[v.Reader(r)] + uint32(v.rNear[r])
}

// SameOp reports whether two reads of one transaction are of one operation: rows of one predicate.
func (v *View) SameOp(r, s uint32) bool {
	if v.rFar != nil {
		return v.rFar[r] == v.rFar[s]
	}
	return v.rNear[r] == v.rNear[s]
}

// Readers returns the readers of each write, without reads that have several possible writers: write w was read by
// those transactions txns[i] for which i is in readers[off[w]:off[w+1]], ascending. Reads of others are left out. Cost:
// linear, two words a write and one a read.
func (v *View) Readers(txns []uint32) (off []uint32, readers []int32) {
	by := graph.NewGroups[uint32](len(v.WKey))
	for _, t := range txns {
		for _, w := range v.RW[v.ROff[t]:v.ROff[t+1]] {
			if w != none {
				by.Count(w)
			}
		}
	}
	readers = make([]int32, by.Sum())
	for i, t := range txns {
		for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
			if w := v.RW[r]; w != none {
				readers[by.Place(w)] = int32(i)
			}
		}
	}
	return by.Off(), readers
}

// MaxAnomalies bounds how many anomalies of single reads are listed; the rest is counted.
const MaxAnomalies = 100

// Initial reports whether write w is an initial version.
func (v *View) Initial(w uint32) bool { return int(w) < v.H.NumKeys() }

// Ambiguous reports whether some read has several possible writers, or an outcome is open.
func (v *View) Ambiguous() bool { return len(v.Amb) > 0 || len(v.Open) > 0 }

// Run makes the view. Lists are not looked at here: their checkers do so themselves.
// Cost: linear in operations and in View.Cand; one look at the version's key and one at its writer each.
func Run(h *history.History) *View { return RunWith(h, Options{}) }

// Options are the parameters of RunWith. The zero value is Run's.
type Options struct {
	// Closed leaves out the transactions of unknown outcome that could matter to predicate operations only (see
	// View.LeftOut), in place of listing them in View.Open.
	Closed bool
	// Only, if not nil, is View.Only.
	Only map[Miss]bool
	// EachRead lists every read before an own write of its key among the reads that others must explain, not only the
	// first, and lets those of one key differ: what read-committed asks.
	EachRead bool
	// Mixed, if a mixed level, asks EachRead of the transactions at read-committed, in histories without predicates.
	Mixed level.Level
	// Count, if not nil, says of which transactions of unknown outcome it is known that they count.
	Count []bool
	// MaxCandidates, if not 0, bounds View.Cand (see View.Crowded): it has one for each pair of a read and a write of
	// its value, which is quadratic where values are few. For callers that decide by versions.
	MaxCandidates int
}

// RunWith is Run with options.
func RunWith(h *history.History, o Options) *View {
	p := newPass(h, o)
	if h.HasPredicates() {
		if p.v.Index, p.v.Bad = predicates.NewIndex(h); p.v.Bad != nil {
			return p.v
		}
		p.rows = make([]uint64, len(h.Preds.Old)/64+1)
		p.matched = make([]uint32, h.NumKeys())
	}
	p.run()
	return p.v
}

func newPass(h *history.History, o Options) *pass {
	p := &pass{v: &View{H: h, Only: o.Only, Asked: o}, h: h, each: o.EachRead, known: o.Count, most: o.MaxCandidates}
	if p.most == 0 {
		p.most = all
	}
	return p
}

func (p *pass) run() {
	p.own()
	p.settleUnknown()
	p.finish()
}
