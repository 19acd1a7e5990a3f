// Package evidence defines the answer that every checker returns: a verdict with a commit order that explains every
// read, or with anomalies that a person can check against the file, where each edge of a cycle has a reason. Package
// certify checks it against the history without the checker that found it.
//
// Stable: this package's API changes only with a new major version.
package evidence

import (
	"fmt"
	"slices"

	"isovet/history"
	"isovet/internal/slice"
	"isovet/level"
)

// Verdict is the answer to "does the history satisfy the level?". The zero value is Unknown: after a time-out, at a
// memory bound, or for a history that the checker does not decide, so that nothing becomes a yes by default.
type Verdict uint8

const (
	Unknown Verdict = iota
	Holds
	Violated
)

func (v Verdict) String() string { return [...]string{"unknown", "valid", "violation"}[v] }

// MarshalText returns the verdict's name.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText parses a verdict's name.
func (v *Verdict) UnmarshalText(b []byte) error {
	for w := Unknown; w <= Violated; w++ {
		if w.String() == string(b) {
			*v = w
			return nil
		}
	}
	return fmt.Errorf("unknown verdict %q; expected valid, violation or unknown", b)
}

// Dep is the kind of an edge, the reason why "From must precede To".
type Dep uint8

const (
	SO Dep = iota // session order
	RT            // real time: From ended before To began
	WR            // To read the version Ver that From installed
	WW            // both write Key; From's version is before To's, Ver
	RW            // From read version Ver of Key, which is before To's version
	// To's predicate operation Op was based on From's version of Key: it missed it, or overwrote it blindly
	PWR
	// From's predicate operation Op was based on version Ver of Key, before To made a version that it would have
	// matched
	PRW
	TS // database timestamps
)

var depNames = [...]string{"so", "rt", "wr", "ww", "rw", "pwr", "prw", "ts"}

func (d Dep) String() string { return depNames[d] }

// MarshalText returns the dependency's name.
func (d Dep) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText parses a dependency's name.
func (d *Dep) UnmarshalText(b []byte) error {
	if i := slices.Index(depNames[:], string(b)); i >= 0 {
		*d = Dep(i)
		return nil
	}
	return fmt.Errorf("unknown dependency %q", b)
}

// Edge says that transaction From must precede To. Transactions are dense indices of the history.
//
// What an edge assumes depends on Dep. SO, RT and WR hold by the history alone. WW assumes the version order From < To
// of Key. RW assumes that Writer's version, which From read, is before To's version of Key; if Writer is history.None,
// the version is the initial one and nothing is assumed.
//
// PWR and PRW are about a predicate operation Op and a Key that it did not match and that its own transaction did not
// write before. The operation was based on some version of Key for which its predicate is not true; any such version,
// even the initial one, is possible. PWR assumes that it was From's. PRW assumes that it was Writer's (history.None:
// the initial one), and that this is before To's version, for which the predicate is true: then To comes after From.
// (Vbox Eq. 5 with errata V5, V12, V13.) If Op is a predicate write that overwrote Key without saying which version it
// replaced, exchange "true" and "false": it was based on a version for which the predicate is not false, and To made
// one for which it is false (errata V16).
type Edge struct {
	From, To uint32
	Key      uint32 // history.None for SO, RT
	// WR, RW: the version read; PWR, PRW: the version Op was based on; WW: the version that To installs; else
	// history.None
	Ver    uint32
	Writer uint32 // RW, PRW: the transaction that installed Ver; else history.None
	Op     uint32 // PWR, PRW: the predicate operation, of To and of From; else 0
	Dep    Dep
}

// Predicate reports whether the edge is about a predicate operation.
func (e *Edge) Predicate() bool { return e.Dep == PWR || e.Dep == PRW }

// Anomaly is one reason why a history violates a level.
//
// For an anomaly of single reads, Ops has the operations. Cycle is a cycle whose edges all hold without assumptions, or
// with assumptions that the other cycles force. If every way to order the open versions closes a cycle, Cycles has one
// for each way. Each cycle means the clause "not all of the orders that this cycle assumes"; the clauses of all cycles
// of an anomaly, Cycle included, cannot be satisfied together. That is the proof, and what certify checks.
type Anomaly struct {
	Kind level.Anomaly
	Txns []uint32 // those involved, each once, including the writer of what an rw edge's reader saw
	// Ops are the operations that show an anomaly of single reads: the read and then, except for thin-air-read, the
	// operation that explains it: the aborted, intermediate or own later write of what was read; the last own write
	// before the read; the second of two reads that differ. For predicate-mismatch it is the operation alone. For
	// non-linearizable the first is of the transaction at whose end the operations on Key have no order left: none of
	// those that had begun by then with all that had ended. Others that were under way then follow it. But if some that
	// follow had ended (ByThemselves), there is no order even of Ops alone, each taking effect once (or never, if it
	// had not ended), with every other operation on Key free to take effect while it is under way, as often as needed.
	Ops []uint32
	// Key is the key that Ops is about if one of them is a predicate operation, which matches many keys, or for a
	// NOCONFLICT violation or non-linearizable; else 0.
	Key uint32
	// Dead explains a G1a whose read only transactions of unknown outcome could explain, none of which can have
	// committed. Ops then has only the read, and Dead has for each of these transactions the operations that prove that
	// it did not commit: a read that only transactions earlier in Dead could explain; or two operations on one key, the
	// second a read that disagrees with the first, an own write or an earlier read; or a predicate operation that
	// disagrees with itself.
	Dead [][]uint32
	// Why says for an EXT violation of timestamps how the read is wrong: "never written", "own", "aborted",
	// "intermediate", "before", "uncommitted", "after", "phantom".
	Why    string
	Cycle  []Edge
	Cycles [][]Edge
	Text   string
}

// AllCycles returns the cycles in the order in which Text counts them: Cycles, then Cycle if it is set.
func (a *Anomaly) AllCycles() [][]Edge {
	if len(a.Cycle) == 0 {
		return a.Cycles
	}
	return append(slices.Clip(a.Cycles), a.Cycle)
}

// Edges returns the edges of all cycles, those of Cycle first.
func (a *Anomaly) Edges() []Edge { return slices.Concat(a.Cycle, slices.Concat(a.Cycles...)) }

// Stats is what a checker measured. Times are in milliseconds; a count that does not apply is zero and is omitted.
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
	// Closure, Encoding and Theory name the ones used, if the checker has a choice (check.Pipeline, check.Solvers); ""
	// if none was needed.
	Closure  string `json:"closure,omitempty"`
	Encoding string `json:"encoding,omitempty"`
	Theory   string `json:"theory,omitempty"`
	// NotJudged counts the reads that show nothing, by the kind of the note that says why.
	NotJudged map[string]int `json:"not_judged,omitempty"`
	// Window is the greatest number of transactions that a checker which forgets transactions had in memory at once.
	Window int `json:"window,omitempty"`
	// Violations counts the violations of each axiom of timestamps, then the transactions that violate one, then the
	// pairs of transaction and key.
	Violations map[string]int `json:"violations,omitempty"`
	BadTxns    int            `json:"violating_txns,omitempty"`
	BadPairs   int            `json:"violating_txn_keys,omitempty"`
	// Stages has the times of the pipeline's stages, named as in the papers' figures: construction, closure, pruning,
	// encoding, solving, evidence.
	Stages map[string]float64 `json:"stages_ms,omitempty"`
}

// Result is a checker's answer.
type Result struct {
	Verdict Verdict
	Reason  string // with Unknown: why
	Note    string // how the answer was found, such as that another checker had to decide, and why
	Level   level.Level
	// Implied is set if the level was decided at another level, ImpliedBy: a stronger one that holds, or a weaker one
	// that is violated.
	Implied   bool
	ImpliedBy level.Level
	// Stricter is the strict level of the same kind if it is violated while this one holds; "" if not, or if nobody
	// looked.
	Stricter string
	// Timestamps is set if the checker trusted the database's timestamps. The verdict is then about the one order that
	// they give: whether it satisfies the level. A "valid" also holds without them; a violation may not (errata C8).
	Timestamps bool
	// Items is set if predicate operations counted only as reads and writes of the rows that they name, as checkers of
	// item operations treat them. The verdict is about that history, H (history.Items): a "valid" does not exclude
	// phantoms, a violation is one of the whole history.
	Items bool
	// ReadOnlyAtStart, with Timestamps at the serializable levels, is set if transactions without writes are ordered by
	// their start timestamp.
	ReadOnlyAtStart bool
	Checker         string
	// DecidedBy is the checker that decided this answer, verdict or proof, if Checker asked another; else "".
	DecidedBy string
	Solver    string // "" where none was used
	// Settings describes, for the checker's text, how it decided, besides the solver: the theory, unless it is the
	// default's usual one, and the closure and the encoding if they were asked for; "" if there is nothing to say.
	Settings string

	// Order proves Holds. At the serializable levels it has the committed transactions, and those of unknown outcome
	// that count as committed, each once, in an order that explains every read; Init, if any, is left out. At
	// linearizable likewise, but it need only explain the reads and respect real time for each key by itself. At the
	// snapshot levels it has events t<<1 (begin) and t<<1|1 (commit). At read-committed, read-atomic and causal it is a
	// commit order that satisfies the level's axiom, in which a read need not see the current version.
	Order []uint32
	// Sources, beside an Order at the weak levels and at mixed ones, name the writer of each read that several
	// could explain. They also name what predicate operations saw of a key, if they cannot have seen the last version
	// of it that is visible otherwise. At the other levels the order determines this.
	Sources []Source
	// Anomalies prove Violated; then there is at least one.
	Anomalies []Anomaly
	// Also is the number of further anomalies that were found but not listed.
	Also int
	// Counts is the number of anomalies of each kind, unlisted ones included; nil if they were not counted.
	Counts map[level.Anomaly]int
	// CountsCut is set if a limit ended the count. Note says so too.
	CountsCut bool

	// Certified says what checked the answer's proof: ByKernel or ByReplay; "" if nothing did. NotByKernel says why the
	// kernel did not.
	Certified, NotByKernel string

	// Mechanisms is what was found with a profile of the database, nil for checkers that have none.
	Mechanisms *Mechanisms

	Stats Stats
	// H is the history that transactions, keys and versions refer to.
	H *history.History
}

// Values of Result.Certified. The kernel is package certify/kernel, a port of isovet-kernel, whose rules are proven;
// replay means package certify.
const (
	ByKernel = "kernel"
	ByReplay = "replay"
)

// Source says that operation Op saw the version of Key that transaction Writer installed, history.None being the
// initial version. A read is of one key; a predicate operation reads all. For a key that it did not match, or overwrote
// blindly, the writer is a transaction that is visible to it and made a version that it may have seen, even though it
// may have seen a later one.
type Source struct{ Op, Key, Writer uint32 }

// Kinds returns the kinds of the anomalies, in their order.
func (r *Result) Kinds() []level.Anomaly {
	return slice.Map(r.Anomalies, func(a Anomaly) level.Anomaly { return a.Kind })
}

// Label returns the level's name as verdicts show it: after "ts:" if the verdict is about the database's timestamps,
// after "items:" if predicates were ignored.
func (r *Result) Label() string {
	if r.Items {
		return ItemsMark + Label(r.Level, r.Timestamps)
	}
	return Label(r.Level, r.Timestamps)
}

// ItemsMark precedes the level in labels of verdicts that ignore predicates.
const ItemsMark = "items:"

// Events returns a serial order as one of begins and commits: each transaction commits right after it begins.
func Events(order []uint32) []uint32 {
	events := make([]uint32, 0, 2*len(order))
	for _, t := range order {
		events = append(events, t<<1, t<<1|1)
	}
	return events
}

// Label returns a level's name, with the mark of verdicts about timestamps if asked for.
func Label(l level.Level, timestamps bool) string {
	if timestamps {
		return timestampMark + l.String()
	}
	return l.String()
}

const timestampMark = "ts:"
