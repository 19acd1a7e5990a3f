// Package prepass does the common first step of all checkers, which needs no search: it finds the anomalies of single
// reads, and reduces a history to what its transactions show each other.
//
// These anomalies are reads that break internal consistency (INT of Biswas and Enea), and thin-air, aborted,
// intermediate and future reads (errata V11, M5). No order of the transactions explains them. The graph of a paper's
// definition misses them silently, because such a read has no edge.
//
// The rest is a [View]. For every counting transaction it has the writes that it installs (the last one of each key)
// and the reads that other transactions must explain (the first one of each key, unless an own write comes before it),
// each with the write that it sees.
//
// # Which transactions count
//
// Committed transactions count. One of unknown outcome counts if a read of a counting transaction can only be from it;
// the others are left out. If all reads have one possible writer this is exact, because one more transaction only adds
// constraints (errata V27). With ambiguous reads, View.Open lists the transactions whose outcome remains a choice.
//
// A transaction of unknown outcome cannot have committed if it contradicts itself, or reads a version that no
// transaction wrote which may have committed, and so on from reader to reader. Such a transaction is dead, and no
// transaction has read from it. If a counting transaction can only have read from dead ones, that is an aborted read.
//
// Experimental: this package may still change.
package prepass

import (
	"cmp"
	"slices"

	"isovet/evidence"
	"isovet/history"
	"isovet/internal/graph"
	"isovet/level"
	"isovet/predicates"
)

const none = history.None

// further is what Anomalies do not have.
type further struct {
	Also int // anomalies beyond MaxAnomalies
	// Impossible lists transactions of unknown outcome that count, since others read from them, but have a read that
	// nothing explains: they cannot have committed.
	Impossible []uint32
}

// View is a history as its transactions saw each other. Transactions, keys and versions have the history's dense
// indices.
type View struct {
	H *history.History

	// Counts[t] says that transaction t counts.
	Counts []bool
	// NumCounts is the number of counting transactions, without Init.
	NumCounts int

	// Write w installs a version of WKey[w] by transaction WTxn[w]. Writes 0..NumKeys-1 are the initial versions, with
	// WTxn = None; the writes of history.Init are among these. Transaction t has the writes WOff[t]:WOff[t+1].
	// Transactions that do not count have none, except those in Open.
	WKey, WTxn []uint32
	WVer       []uint32 // version installed; for initial versions History.InitVer
	WOff       []uint32

	// Transaction t has the external reads ROff[t]:ROff[t+1]. Read r saw write RW[r]. If that is None, it saw one of
	// the candidates Cand[CandOff[i]:CandOff[i+1]], with Amb[i] = r. See also RVer and ROp.
	RW   []uint32
	RKey []uint32
	ROff []uint32
	// rVer is RVer, or nil if RW gives it. Read r of t is operation OpOff[t] + rNear[r], or rFar[r].
	rVer  []uint32
	rNear []uint8
	rFar  []uint32

	Amb     []uint32
	CandOff []uint32
	Cand    []uint32
	// Crowded says that there are more candidates than Options.MaxCandidates. The reads in Amb then have none in Cand.
	Crowded bool

	// Open lists the transactions of unknown outcome that an ambiguous read may have seen: whether they count is a
	// choice.
	Open []uint32
	further
	predicateView
	// Only, if set, has the only keys of predicate operations that must be explained, Blind ones included.
	Only map[Miss]bool

	// Anomalies are anomalies of single reads by counting transactions, at most MaxAnomalies.
	Anomalies []evidence.Anomaly
	// Kinds counts all anomalies by kind.
	Kinds map[level.Anomaly]int

	Asked Options // the options that the view was made with
	keys  *byKey
}

// predicateView is the part of a view on predicate operations.
type predicateView struct {
	// Transaction t has the predicate operations POp[i], i in POff[t]:POff[t+1]; nil without predicates. The reads
	// include what they matched at known versions, and the writes what they wrote. Left to explain are keys of which
	// they only show whether their predicate holds: see predicates.go.
	POff, POp []uint32
	// Blind lists the rows that predicate writes overwrote without naming the replaced version, except own rows.
	Blind []Miss
	// Index says for which versions each predicate is true; nil without predicates.
	Index *predicates.Index
	// LeftOut lists transactions of unknown outcome that write, that a predicate operation may have seen or missed, and
	// that were left out because the caller asked for it (Closed).
	LeftOut []uint32
	// Bad is the error of a predicate that does not parse. The other fields are then not valid.
	Bad error
}

// RVer returns the version that a read saw, or None for an implied read without a write in RW.
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

// ROp returns the operation of a read; for a predicate's row, the predicate operation. Cost: see Reader.
func (v *View) ROp(r uint32) uint32 {
	if v.rFar != nil {
		return v.rFar[r]
	}
	return v.H.Txns.OpOff[v.Reader(r)] + uint32(v.rNear[r])
}

// SameOp reports whether two reads of one transaction belong to one operation, as rows of one predicate do.
func (v *View) SameOp(r, s uint32) bool {
	if v.rFar != nil {
		return v.rFar[r] == v.rFar[s]
	}
	return v.rNear[r] == v.rNear[s]
}

// Readers returns the readers of each write, among the transactions txns: write w was read by txns[i] for each i in
// readers[off[w]:off[w+1]], ascending. It leaves out reads with several possible writers. Cost: linear, two words a
// write and one a read.
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

// MaxAnomalies bounds the anomalies of single reads that are listed; the rest is counted.
const MaxAnomalies = 100

// Initial reports whether write w is an initial version.
func (v *View) Initial(w uint32) bool { return int(w) < v.H.NumKeys() }

// Ambiguous reports whether some read has several possible writers, or an outcome is open.
func (v *View) Ambiguous() bool { return len(v.Amb) > 0 || len(v.Open) > 0 }

// Run returns the view of a history. It ignores lists, which have checkers of their own. Cost: linear in operations and
// in View.Cand; one look at the version's key and one at its writer each.
func Run(h *history.History) *View { return RunWith(h, Options{}) }

// Options are the parameters of RunWith. The zero value is Run's.
type Options struct {
	// Closed leaves out the transactions of unknown outcome that only matter to predicate operations (see
	// View.LeftOut), in place of listing them in View.Open.
	Closed bool
	// Only, if not nil, is View.Only.
	Only map[Miss]bool
	// EachRead lists every read before an own write of its key among the external reads, not only the first, and lets
	// those of one key differ, as read-committed does.
	EachRead bool
	// Mixed, if a mixed level, applies EachRead to transactions at read-committed, in histories without predicates.
	Mixed level.Level
	// Count, if not nil, says which transactions of unknown outcome are known to count.
	Count []bool
	// MaxCandidates, if not 0, bounds View.Cand (see View.Crowded). That has an entry for each pair of a read and a
	// write of its value, quadratically many if values are few. It is for callers that decide by versions.
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
	p.most = cmp.Or(p.most, all)
	return p
}

func (p *pass) run() {
	p.own()
	p.settleUnknown()
	p.finish()
}
