package report

import (
	"fmt"
	"slices"
	"strings"

	"isovet/evidence"
	"isovet/history"
	"isovet/internal/plural"
	"isovet/internal/slice"
	"isovet/level"
)

// Limits of the names in a summary.
const (
	maxNamed     = 6
	maxNamedKeys = 3
)

// should says, for each kind of anomaly, what the database should have done at this level.
var should = map[level.Anomaly]string{
	level.ThinAirRead: "Return only what some transaction wrote, or the initial value.",
	level.G1a:         "Never return what an aborted transaction wrote.",
	level.G1b: "Return a transaction's last write of a row, and only once it has committed; never one that it " +
		"overwrote itself.",
	level.FutureRead:        "Return the value at the time of the read, not a later one of the same transaction.",
	level.NotMyOwnWrite:     "After a transaction's own write of a row, return that write to it.",
	level.NotMyLastWrite:    "After several own writes of a row, return the last of them to the transaction.",
	level.NonRepeatableRead: "Return the same value to both reads: nothing that others commit in between may show.",
	level.PredicateMismatch: "Return exactly the rows that match the condition in one state.",
	level.DuplicateElement:  "Show each appended element once.",
	level.IncompatibleOrder: "Let every reader see the elements in one order.",
	level.G0:                "Put one transaction's writes wholly before the other's, on every row.",
	level.G1c:               "Let at most one of two transactions see the other's writes.",
	level.GSingle: "Let the reader see all that the writer did, or none of it: every read of a transaction must " +
		"come from one state.",
	level.GNonadjacent: "Let all readers agree on the order in which the writers committed.",
	level.G2Item: "Refuse, or delay, one of the transactions: each overwrote what another one of them had read, so " +
		"they cannot be put in a line.",
	level.G2: "Refuse, or delay, one of the transactions: each changed which rows another one's condition finds.",
	level.LostUpdate: "Refuse the second of the two to commit, or let it wait and read what the first one wrote: " +
		"both read the same version and both overwrote it.",
	level.Divergence: "Let one of them overwrite the version, and refuse the others or let them read anew.",
	level.WriteSkew: "Refuse one of the two, or let it wait: each read what the other one then changed, and no " +
		"order of the two explains both reads.",
	level.ReadSkew: "Show the reader both of the writer's changes, or neither.",
	level.FracturedRead: "Show the reader all of a transaction's writes, or none: its reads must come from one " +
		"state.",
	level.NonMonotonicRead: "Never go back: a later read must not return an older version.",
	level.ReadOnlyAnomaly: "Refuse, or delay, one of the writers: the two alone have an order, but none that " +
		"explains what the reader saw.",
	level.LongFork:           "Let the two readers agree on which of the two writes came first.",
	level.CausalityViolation: "Show the reader every write that led to what it read.",
	level.SessionGuarantee:   "Show a session what it has itself committed or seen before.",
	level.StaleRead:          "Show a transaction what had committed before it began.",
	level.CausalReverse: "Show nobody the later of two commits without the earlier one, which had ended before the " +
		"later one began.",
	level.NoOrder: "Refuse one of the transactions: whichever of them wrote first, what the others read contradicts " +
		"it.",
	level.NonLinearizable: "Let each operation take effect at one moment between its begin and its end.",
	level.Session:         "Give a transaction a snapshot that is not older than its session's last commit.",
	level.Int:             "Return what the transaction itself wrote or read before.",
	level.Ext:             "Return the last version that was committed when the snapshot was taken.",
	level.NoConflict:      "Refuse the second to commit of two transactions that overlap and write the same row.",
	level.Timestamps:      "Give a commit timestamp that is not before the start timestamp.",
}

// inShort is the summary of a violation: which transactions, which rows, and what should have happened.
type inShort struct {
	Who, Rows, Should string
	Txns              []shortTxn
}

// shortTxn is a row of the table of an anomaly's transactions.
type shortTxn struct {
	T                           uint32
	Name, Session, Where, Times string
	Status                      string
}

func newInShort(r *evidence.Result, a *evidence.Anomaly, s *scene) inShort {
	h := r.H
	names := some(slice.Map(s.culprits(), func(t uint32) string { return txnName(h, t) }), maxNamed)
	keys := slice.Union(nil, slice.Map(a.Ops, h.OpKey)...)
	predicate := slices.Contains(keys, history.None)
	if predicate || a.Key != 0 || a.Kind == level.NoConflict || a.Kind == level.NonLinearizable {
		keys = slice.Union(keys, a.Key)
	}
	for _, e := range s.edges {
		keys = slice.Union(keys, e.Key)
	}
	keys = slices.DeleteFunc(keys, func(k uint32) bool { return k == history.None })
	rows := some(slice.Map(keys, func(k uint32) string { return Clip(KeyName(h, k), 60) }), maxNamedKeys)
	if readers := s.readers(); len(readers) > 0 {
		names = []string{plural.And(names) + "; " + plural.And(readers) + " saw their order"}
	}
	if len(rows) > 0 && strings.Trim(rows[0], "0123456789") == "" { // a number alone might be a count
		rows[0] = map[bool]string{true: "key ", false: "keys "}[len(rows) == 1] + rows[0]
	}
	short := inShort{Who: plural.And(names), Rows: plural.And(rows), Should: should[a.Kind.Base()]}
	switch name := string(a.Kind); {
	case r.Level == level.Linearizable && len(a.Ops) == 0:
		short.Should = should[level.NonLinearizable]
	case strings.HasSuffix(name, "-realtime"):
		short.Should += " And show a transaction what had committed before it began."
	case strings.HasSuffix(name, "-session"):
		short.Should += " And show a session what it has itself committed or seen before."
	case a.Kind == level.NonRepeatableRead && predicate && a.Ops[0] == a.Ops[1]:
		short.Should = "Find each row once, as one state has it."
	case a.Kind == level.NonRepeatableRead && predicate:
		short.Should = "Find the same rows both times: nothing that others commit in between may show."
	}
	if a.Later(h) {
		short.Should = "Return only values that had been written when the read ran. This write came later: the " +
			"value comes from another write, which the history lacks, or the clients' times are wrong."
	}
	cl := newClock(r, s.txns)
	first := s.txns[:min(len(s.txns), MaxNodes)]
	short.Txns = slice.Map(first, func(t uint32) shortTxn { return newShortTxn(h, cl, t) })
	return short
}

// some returns the first words and, in place of several others, their number.
func some(words []string, most int) []string {
	if more := len(words) - most; more > 1 {
		return append(words[:most], fmt.Sprintf("%d more", more))
	}
	return words
}

// culprits returns the anomaly's transactions, except those that only show an order of versions.
func (s *scene) culprits() []uint32 {
	culprits := slice.Filter(s.txns, func(t uint32) bool { return !s.witness[t] })
	if len(culprits) == 1 && len(s.txns) > 1 { // who read what, and whose it was
		culprits = s.txns
	}
	return slices.Sorted(slices.Values(culprits))
}

// newShortTxn describes a transaction: its name, session, outcome and times.
func newShortTxn(h *history.History, cl *clock, t uint32) shortTxn {
	row := shortTxn{T: t, Name: txnName(h, t), Session: SessionName(h, h.Txns.Sess[t]),
		Status: h.Txns.Status[t].String()}
	if n := h.Txns.Node; n != nil && n[t] != history.None {
		row.Session += ", node " + string(h.Texts.Text(n[t]))
	}
	if l := h.Txns.Line[t]; l > 0 {
		row.Where = fmt.Sprintf("line %d", l)
	}
	if cl.scale && t != h.Init {
		row.Times = cl.text(cl.start(t)) + " to "
		if end := cl.end(t); end != history.NoTime {
			row.Times += cl.text(end)
		} else {
			row.Times += "an unknown end"
		}
	}
	return row
}

// readers names the transactions outside the cycles whose reads show the order of a list's elements.
func (s *scene) readers() (names []string) {
	for _, e := range s.edges {
		if op, ok := s.order[e]; ok && op != history.None {
			if t := s.h.TxnOf(op); s.witness[t] && !slices.Contains(names, txnName(s.h, t)) && len(names) < maxNamed {
				names = append(names, txnName(s.h, t))
			}
		}
	}
	return names
}

// restsOn returns the grounds of an edge of a proof: the operations with their places in the file, and assumptions.
func restsOn(r *evidence.Result, a *evidence.Anomaly, s *scene, e evidence.Edge) (out []string) {
	h := r.H
	key := Clip(KeyName(h, e.Key), 60)
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	where := func(t uint32) string { return placeOf(h, t) }
	op := func(t, op uint32) {
		if op != history.None {
			lo, _ := h.TxnOps(t)
			say("%s, operation %d: %s (%s)", txnName(h, t), op-lo+1, OpText(h, op), where(t))
		}
	}
	from, to := s.ends(e)
	op(e.From, from)
	op(e.To, to)
	version := func() string {
		if e.Writer == history.None || e.Writer == h.Init {
			return "the initial version"
		}
		return txnName(h, e.Writer) + "'s version"
	}
	switch e.Dep {
	case evidence.SO:
		say("%s (%s) comes before %s (%s) in the same session.", txnName(h, e.From), where(e.From), txnName(h, e.To),
			where(e.To))
	case evidence.RT:
		if h.Positions {
			say("%s (%s) had ended before %s (%s) began, by their places in the file.", txnName(h, e.From),
				where(e.From), txnName(h, e.To), where(e.To))
			break
		}
		say("%s (%s) had ended %s before %s (%s) began.", txnName(h, e.From), where(e.From),
			spanText(between64(h.End(e.From), h.Start(e.To))), txnName(h, e.To), where(e.To))
	case evidence.TS:
		say("The database's timestamps: %s committed at %d, %s started at %d.", txnName(h, e.From), h.CommitTS(e.From),
			txnName(h, e.To), h.StartTS(e.To))
	case evidence.WW:
		if e.From == h.Init {
			say("Every version comes after the initial one.")
		} else {
			say("Assumes the version order of %s: %s's before %s's.", key, txnName(h, e.From), txnName(h, e.To))
			if reader, ok := s.order[e]; ok && reader != history.None {
				op(h.TxnOf(reader), reader)
			}
		}
	case evidence.RW:
		say("Assumes the version order of %s: %s, which %s read, before %s's.", key, version(), txnName(h, e.From),
			txnName(h, e.To))
	case evidence.PWR, evidence.PRW:
		t := e.To
		if e.Dep == evidence.PRW {
			t = e.From
		}
		if op1, op2 := s.ends(e); op1 != e.Op && op2 != e.Op {
			op(t, e.Op)
		}
		if e.Dep == evidence.PWR {
			say("The row that it missed: %s, as %s left it.", key, txnName(h, e.From))
		} else {
			say("The row that it missed: %s, based on %s; %s then made a version that it would have found.",
				key, version(), txnName(h, e.To))
		}
	}
	if by := a.Settled(h, e); by != "" {
		say("%s.", Clip(by, maxWhy))
	}
	return out
}

// placeOf returns a transaction's place: its session, and its line in the file.
func placeOf(h *history.History, t uint32) string {
	text := SessionName(h, h.Txns.Sess[t])
	if l := h.Txns.Line[t]; l > 0 {
		text = fmt.Sprintf("line %d, %s", l, text)
	}
	return text
}
