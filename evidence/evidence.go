// Package evidence is what every checker hands back: a verdict with a commit order that explains every read, or with
// anomalies that a person can check against the file, each edge of a cycle saying why it holds. Package certify replays
// it against the history without the checker that made it.
//
// Stable: this package's API changes only with a new major version.
package evidence

import (
	"fmt"
	"strings"

	"isovet/history"
	"isovet/level"
)

// Verdict is the answer to "does the history satisfy the level?". The zero value is Unknown: a time-out, a memory
// bound, or a history that the checker does not decide, never a silent yes.
type Verdict uint8

const (
	Unknown Verdict = iota
	Holds
	Violated
)

func (v Verdict) String() string { return [...]string{"unknown", "valid", "violation"}[v] }

// MarshalText gives the verdict's name.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads a verdict's name.
func (v *Verdict) UnmarshalText(b []byte) error {
	for w := Unknown; w <= Violated; w++ {
		if w.String() == string(b) {
			*v = w
			return nil
		}
	}
	return fmt.Errorf("unknown verdict %q; expected valid, violation or unknown", b)
}

// Dep is the reason of an edge "From must precede To".
type Dep uint8

const (
	SO Dep = iota // session order
	RT            // real time: From ended before To began
	WR            // To read the version Ver that From installed
	WW            // both write Key; From's version is before To's, Ver
	RW            // From read version Ver of Key, which is before To's version
	// From installed the version of Key at which To's predicate operation Op missed, or blindly overwrote, it
	PWR
	// From's predicate operation Op missed Key at version Ver, before To made a version that it would have matched
	PRW
	TS // database timestamps
)

var depNames = [...]string{"so", "rt", "wr", "ww", "rw", "pwr", "prw", "ts"}

func (d Dep) String() string { return depNames[d] }

// MarshalText gives the dependency's name.
func (d Dep) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads a dependency's name.
func (d *Dep) UnmarshalText(b []byte) error {
	for i, n := range depNames {
		if n == string(b) {
			*d = Dep(i)
			return nil
		}
	}
	return fmt.Errorf("unknown dependency %q", b)
}

// Edge says that transaction From must precede To. Transactions are dense indices of the history.
//
// What the edge assumes follows from Dep: SO, RT and WR hold by the history alone. WW assumes the version order From <
// To of Key. RW assumes that Writer's version, which From read, is before To's version of Key; Writer is history.None
// for the initial version, and then nothing is assumed.
//
// PWR and PRW are about a predicate operation Op and a Key that it did not match, of which no write of its own
// transaction comes before it. The operation was based on some version of Key of which its predicate is not true: that
// may be any such version, the initial one included. PWR assumes that it was From's. PRW assumes that it was Writer's
// (history.None: the initial one) and that this is before To's version, of which the predicate is true: then To comes
// after. (Vbox Eq. 5 with errata V5, V12, V13.) If Op is a predicate write that overwrote Key without saying which
// version it replaced, read all this with "true" and "false" exchanged: based on a version of which the predicate is
// not false, and To made one of which it is false (errata V16).
type Edge struct {
	From, To uint32
	Key      uint32 // history.None where there is none (SO, RT)
	// WR, RW: the version read; PWR, PRW: the one Op was based on; WW: the version that To installs; else history.None
	Ver    uint32
	Writer uint32 // RW, PRW: who installed Ver; else history.None
	Op     uint32 // PWR, PRW: the predicate operation, of To and of From; else 0
	Dep    Dep
}

// Predicate reports whether the edge is about a predicate operation.
func (e *Edge) Predicate() bool { return e.Dep == PWR || e.Dep == PRW }

// Anomaly is one reason why a history violates a level.
//
// An anomaly of single reads names its operations in Ops. A cycle whose every edge holds without further assumption, or
// whose assumptions are forced by the other cycles, is Cycle. Where every way to order the open versions closes a
// cycle, Cycles has one for each way: read as clauses "not all of the orders that this cycle assumes", the cycles of an
// anomaly, Cycle included, cannot be satisfied together. That is the proof, and what certify checks.
type Anomaly struct {
	Kind level.Anomaly
	Txns []uint32 // those involved, each once, also the writer of the version that an rw edge's reader saw
	// Ops are the operations that show an anomaly of single reads: the read, and then, but for thin-air-read, the
	// operation that explains it: the aborted, intermediate or own later write of what was read; the last own write
	// before the read; the second of two reads that differ. Of predicate-mismatch it is the operation alone. Of
	// non-linearizable the first is an operation of the transaction with which the operations on Key run out of orders:
	// there is none of those that had begun when it ended, in which all that had ended take part. Others that were
	// under way then follow it. Or some that follow had ended (see ByThemselves): then there is no order in which only
	// Ops take effect, once each, those that have not ended or not at all, and any other on Key while it is under way,
	// as often as one likes.
	Ops []uint32
	// Key is the key that Ops is about where one of them is a predicate operation, which matches many, of a NOCONFLICT
	// violation, and of non-linearizable; else 0.
	Key uint32
	// Dead explains a G1a whose read only transactions of unknown outcome could have explained, none of which can have
	// committed: Ops has the read alone, and for each of these Dead has the operations that show it. Either a read that
	// no transaction could have explained but those earlier in Dead; or two operations on one key, the second a read
	// that disagrees with the first, an own write or an earlier read; or a predicate operation that disagrees with
	// itself.
	Dead [][]uint32
	// Why, of an EXT violation of timestamps, says how the read is wrong: "never written", "own", "aborted",
	// "intermediate", "before", "uncommitted", "after", "phantom".
	Why    string
	Cycle  []Edge
	Cycles [][]Edge
	Text   string
}

// Stats is what a checker measured. Times are milliseconds; a count that does not apply is left at zero and omitted.
type Stats struct {
	Sizes
	LoadMS      float64 `json:"load_ms"`
	CheckMS     float64 `json:"check_ms"`
	CertifyMS   float64 `json:"certify_ms,omitempty"`
	PeakMB      float64 `json:"peak_mb,omitempty"`
	KnownEdges  int     `json:"known_edges,omitempty"`
	Constraints int     `json:"constraints"`      // all writer pairs of a key, each counted once (errata V29)
	Left        int     `json:"constraints_left"` // after combining, avoidance and pruning
	Variables   int     `json:"variables,omitempty"`
	Clauses     int     `json:"clauses,omitempty"`
	Decisions   int64   `json:"decisions,omitempty"`
	Conflicts   int64   `json:"conflicts"`
	Propagated  int64   `json:"propagations,omitempty"`
	Restarts    int64   `json:"restarts,omitempty"`
	Rounds      int     `json:"rounds,omitempty"`
	// Closure, Encoding and Theory are the ones that were used, where the checker has a choice (check.Pipeline,
	// check.Solvers); "" where none was needed.
	Closure  string `json:"closure,omitempty"`
	Encoding string `json:"encoding,omitempty"`
	Theory   string `json:"theory,omitempty"`
	// NotJudged are how many reads say nothing, by the kind of the note that says why.
	NotJudged map[string]int `json:"not_judged,omitempty"`
	// Window is the greatest number of transactions that a forgetting checker had in memory at once.
	Window int `json:"window,omitempty"`
	// Violations are how often timestamps violate each axiom; then how many transactions do, and how many pairs of
	// transaction and key.
	Violations map[string]int `json:"violations,omitempty"`
	BadTxns    int            `json:"violating_txns,omitempty"`
	BadPairs   int            `json:"violating_txn_keys,omitempty"`
	// Stages are the times of the pipeline's parts, under the names of the papers' figures: construction, closure,
	// pruning, encoding, solving, evidence.
	Stages map[string]float64 `json:"stages_ms,omitempty"`
}

// Result is a checker's answer.
type Result struct {
	Verdict Verdict
	Reason  string // with Unknown: why
	Note    string // what a reader must know of how the answer was found: that another checker had to decide, and why
	Level   level.Level
	// Implied: the level was decided at another one, ImpliedBy: a stronger one that holds, or a weaker one that is
	// violated.
	Implied   bool
	ImpliedBy level.Level
	// Stricter is the strict level of the same kind where this one holds and that one is violated; "" where it is not,
	// or nobody looked.
	Stricter string
	// Timestamps: the checker trusted the database's timestamps, and the verdict is about them: whether this one order,
	// which they give, is an order of the level. Valid is then valid without them too; a violation may not be one
	// (errata C8).
	Timestamps bool
	// Items: predicate operations were ignored but for the rows that they name, as checkers of item operations do, and
	// the verdict is about that: "valid" does not exclude phantoms, a violation is one of the whole. H is the history
	// told so (history.Items).
	Items bool
	// ReadOnlyAtStart, with Timestamps at the serializable levels: transactions without writes stand at their start
	// timestamp.
	ReadOnlyAtStart bool
	Checker         string
	// DecidedBy is the checker that this answer, verdict or proof, is from, where Checker asked another; else "".
	DecidedBy string
	Solver    string // "" where none was used
	// Settings are what the checker's text names of how it was decided beside the solver: the theory, unless it is
	// the default's usual one, and the closure and the encoding if they were asked for; "" where there is nothing.
	Settings string

	// Order proves Holds. At linearizable: as below, and it need explain and respect real time for each key by itself
	// only. At the serializable levels: the committed transactions, and those of unknown outcome that count as
	// committed, each once, in an order that explains every read; Init, if any, is left out. At the snapshot levels:
	// events t<<1 (begin) and t<<1|1 (commit). At read-committed, read-atomic and causal: those transactions in a
	// commit order that satisfies the level's axiom, in which a read need not see what is current.
	Order []uint32
	// Sources, beside an Order at read-committed, read-atomic and causal, name the writer of each read that several can
	// explain, and what predicate operations saw of keys of which the last version that is visible without that is none
	// that they can have seen. At the other levels the order says it.
	Sources []Source
	// Anomalies prove Violated; at least one then.
	Anomalies []Anomaly
	// Also is the number of further anomalies found and not listed.
	Also int
	// Counts has the number of anomalies of each kind, with those that are not listed; nil where nobody counted.
	Counts map[level.Anomaly]int

	// Certified says what proved the answer once more: ByKernel or ByReplay; "" where nothing did. NotByKernel says why
	// it was not the kernel.
	Certified, NotByKernel string

	// Mechanisms is what was found under a profile of the database, nil with checkers that have none.
	Mechanisms *Mechanisms

	Stats Stats
	// H is the history that transactions, keys and versions refer to.
	H *history.History
}

// Values of Result.Certified. The kernel is isovet-kernel's port, package certify/kernel, whose rules are proven; the
// replay is package certify.
const (
	ByKernel = "kernel"
	ByReplay = "replay"
)

// Source says that operation Op saw what transaction Writer installed of Key, history.None being the initial version. A
// read is of one key; a predicate operation reads all: of one that it did not match, or overwrote blindly, the source
// is a transaction that is visible to it and made a version that it may have seen, though it may have seen a later one.
type Source struct{ Op, Key, Writer uint32 }

// Label names the level as verdicts do: "ts:" stands before it where the verdict is about the database's timestamps,
// "items:" where predicates were ignored.
func (r *Result) Label() string {
	if r.Items {
		return ItemsMark + Label(r.Level, r.Timestamps)
	}
	return Label(r.Level, r.Timestamps)
}

// ItemsMark stands before the level where predicates were ignored.
const ItemsMark = "items:"

// Label is a level's name, with the mark of verdicts about timestamps.
func Label(l level.Level, timestamps bool) string {
	if timestamps {
		return timestampMark + l.String()
	}
	return l.String()
}

const timestampMark = "ts:"

// parseLabel reads what Label writes.
func parseLabel(s string) (l level.Level, timestamps bool, err error) {
	s, timestamps = strings.CutPrefix(s, timestampMark)
	l, err = level.ParseMixed(s)
	return l, timestamps, err
}
