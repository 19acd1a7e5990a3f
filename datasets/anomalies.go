package datasets

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"isovet/datasets/store"
	"isovet/history"
	"isovet/level"
)

// Anomaly is a named small history and the levels that it violates. Every key holds 0 at first.
type Anomaly struct {
	Name  string        // how it is asked for
	Kind  level.Anomaly // the anomaly that it shows; "" for none
	About string
	// Text has one transaction a line: name, session, client interval, operations, as in
	//
	//	T1 s1 [1,3]: r(x,0) w(x,1)
	//	T2 s2 [2,4] aborted: w(x,2)
	//
	// In phantoms.go there are predicates too: pr(x=1,y=1:x=1) is a predicate read, of a condition that is true of
	// value 1 of x, of value 1 of y and of nothing else, which found x = 1; pw(x=0,y=0:x=0>1) is a predicate write of
	// such a condition that found x = 0 and made it 1. x!1 in a condition: true of every value of x but 1. The value
	// "-" stands for no row.
	Text string
	// Violates lists the violated ones of the Judged levels; it satisfies the others.
	Violates []level.Level
	// Fault says that it can be planted: every write that must follow the initial version of a key also reads its key
	// first, so that a larger history around it cannot explain it away.
	Fault bool
}

// Judged are the levels for which the catalogue has verdicts.
func Judged() []level.Level {
	return []level.Level{
		level.Serializable, level.SessionSerializable, level.StrictSerializable,
		level.SnapshotIsolation, level.SessionSnapshotIsolation, level.StrictSnapshotIsolation,
		level.Causal, level.ReadAtomic, level.ReadCommitted,
	}
}

// What an anomaly violates, from the strongest set to the weakest.
var (
	everything = Judged()
	aboveRC    = without(everything, level.ReadCommitted)
	aboveRA    = without(aboveRC, level.ReadAtomic)
	aboveCC    = without(aboveRA, level.Causal)
	serOnly    = everything[:3]
	realTime   = []level.Level{level.StrictSerializable, level.StrictSnapshotIsolation}
	sessions   = []level.Level{level.SessionSerializable, level.StrictSerializable, level.SessionSnapshotIsolation,
		level.StrictSnapshotIsolation, level.Causal, level.ReadAtomic}
)

func without(ls []level.Level, l level.Level) []level.Level {
	return slices.DeleteFunc(slices.Clone(ls), func(m level.Level) bool { return m == l })
}

// Faults returns the anomalies without predicates that can be planted.
func Faults() []Anomaly {
	return slices.DeleteFunc(Anomalies(), func(a Anomaly) bool { return !a.Fault })
}

// FaultNames returns the names of all that can be planted, with predicates and without.
func FaultNames() []string {
	var names []string
	for _, a := range slices.Concat(Faults(), PredicateFaults()) {
		names = append(names, a.Name)
	}
	return names
}

// LookupFault finds a fault by name.
func LookupFault(name string) (*Anomaly, error) {
	for _, a := range slices.Concat(Faults(), PredicateFaults()) {
		if strings.EqualFold(a.Name, name) {
			return &a, nil
		}
	}
	return nil, fmt.Errorf("unknown fault %q; expected one of %s", name, strings.Join(FaultNames(), ", "))
}

// Anomalies returns the catalogue: the fourteen anomalies of MTC's Figure 5 with their variations, then others.
// Verdicts are those of brute force over all orders (TestAnomaliesByBruteForce).
func Anomalies() []Anomaly { return append(figure5(), others()...) }

// figure5 are the fourteen, with their variations.
func figure5() []Anomaly {
	return []Anomaly{
		{Name: "thin-air-read", Kind: level.ThinAirRead, Violates: everything, Fault: true,
			About: "a value that nobody wrote",
			Text:  "T1 s1 [1,2]: r(x,7)"},
		{Name: "aborted-read", Kind: level.G1a, Violates: everything, Fault: true,
			About: "a dirty read whose writer rolled back",
			Text:  "T1 s1 [1,2] aborted: r(x,0) w(x,1)\nT2 s2 [3,4]: r(x,1)"},
		{Name: "future-read", Kind: level.FutureRead, Violates: everything, Fault: true,
			About: "a transaction reads what it writes only later",
			Text:  "T1 s1 [1,2]: r(x,1) w(x,1)"},
		{Name: "not-my-last-write", Kind: level.NotMyLastWrite, Violates: everything, Fault: true,
			About: "of its own two writes it reads the first",
			Text:  "T1 s1 [1,2]: r(x,0) w(x,1) w(x,2) r(x,1)"},
		{Name: "not-my-own-write", Kind: level.NotMyOwnWrite, Violates: everything, Fault: true,
			About: "after its own write it reads another transaction's",
			Text:  "T1 s1 [1,4]: r(x,0) w(x,1) r(x,2)\nT2 s2 [2,3]: r(x,0) w(x,2)"},
		{Name: "not-my-own-write-initial", Kind: level.NotMyOwnWrite, Violates: everything, Fault: true,
			About: "after its own write it reads the version before",
			Text:  "T1 s1 [1,2]: r(x,0) w(x,1) r(x,0)"},
		{Name: "intermediate-read", Kind: level.G1b, Violates: everything, Fault: true,
			About: "a version that its writer overwrote before committing",
			Text:  "T1 s1 [1,4]: r(x,0) w(x,1) w(x,2)\nT2 s2 [2,3]: r(x,1)"},
		{Name: "non-repeatable-read", Kind: level.NonRepeatableRead, Violates: aboveRC, Fault: true,
			About: "the same key read twice, with two results",
			Text:  "T1 s1 [2,3]: r(x,0) w(x,1)\nT2 s2 [1,4]: r(x,0) r(x,1)"},
		{Name: "session-guarantee", Kind: level.SessionGuarantee, Violates: sessions, Fault: true,
			About: "a session does not see its own earlier write",
			Text:  "T1 s1 [1,2]: r(x,0) w(x,1)\nT2 s2 [3,4]: r(x,1) w(x,2)\nT3 s2 [5,6]: r(x,1)"},
		{Name: "non-monotonic-read", Kind: level.NonMonotonicRead, Violates: everything, Fault: true,
			About: "a transaction sees a later state of one key, then an earlier one of another",
			Text:  "T1 s1 [1,2]: r(x,0) w(x,1)\nT2 s2 [3,5]: r(x,1) r(y,0) w(x,2) w(y,1)\nT3 s3 [4,6]: r(y,1) r(x,1)"},
		{Name: "fractured-read", Kind: level.FracturedRead, Violates: everything, Fault: true,
			About: "of a transaction's two writes one is seen, then the other not",
			Text:  "T1 s1 [1,4]: r(x,0) r(y,0) w(x,1) w(y,1)\nT2 s2 [2,5]: r(x,1) r(y,0)"},
		{Name: "read-skew", Kind: level.FracturedRead, Violates: aboveRC, Fault: true,
			About: "of a transaction's two writes one is not seen, then the other is",
			Text:  "T1 s1 [1,4]: r(x,0) r(y,0) w(x,1) w(y,1)\nT2 s2 [2,5]: r(y,0) r(x,1)"},
		{Name: "causality-violation", Kind: level.CausalityViolation, Violates: aboveRA, Fault: true,
			About: "an effect is seen, its cause is not",
			Text:  "T1 s1 [1,2]: r(x,0) w(x,1)\nT2 s2 [3,4]: r(x,1) r(y,0) w(y,1)\nT3 s3 [5,6]: r(x,0) r(y,1)"},
		{Name: "long-fork", Kind: level.LongFork, Violates: aboveCC, Fault: true,
			About: "two transactions see two writes in opposite orders",
			Text: "T1 s1 [1,3]: r(x,0) w(x,1)\nT2 s2 [1,3]: r(y,0) w(y,1)\nT3 s3 [2,5]: r(x,1) r(y,0)\nT4 s4 " +
				"[2,5]: r(x,0) r(y,1)"},
		{Name: "lost-update", Kind: level.LostUpdate, Violates: aboveCC, Fault: true,
			About: "two transactions read one version, both write the next",
			Text:  "T1 s1 [1,3]: r(x,0) w(x,1)\nT2 s2 [2,4]: r(x,0) w(x,2)"},
		{Name: "write-skew", Kind: level.WriteSkew, Violates: serOnly, Fault: true,
			About: "two transactions read both keys, each writes another one",
			Text:  "T1 s1 [1,3]: r(x,0) r(y,0) w(x,1)\nT2 s2 [2,4]: r(x,0) r(y,0) w(y,1)"},
	}
}

func others() []Anomaly {
	return []Anomaly{
		{Name: "read-only-anomaly", Kind: level.ReadOnlyAnomaly, Violates: serOnly, Fault: true,
			About: "two writers alone would be serializable, a reader is what is too much (Fekete et al. 2004)",
			Text:  "T1 s1 [1,6]: r(x,0) r(y,0) w(x,2)\nT2 s2 [2,3]: r(y,0) w(y,1)\nT3 s3 [4,5]: r(x,0) r(y,1)"},
		{Name: "stale-read", Kind: level.StaleRead, Violates: realTime, Fault: true,
			About: "a transaction that began after a commit does not see it",
			Text:  "T1 s1 [1,2]: r(x,0) w(x,1)\nT2 s2 [3,4]: r(x,0)"},
		{Name: "causal-reverse", Kind: level.CausalReverse, Violates: realTime, Fault: true,
			About: "of two writes, one after the other in time, the later is seen without the earlier",
			Text:  "T1 s1 [1,2]: r(x,0) w(x,1)\nT2 s2 [3,4]: r(y,0) w(y,1)\nT3 s3 [1,5]: r(x,0) r(y,1)"},
		{Name: "serial",
			About: "no anomaly: one transaction after the other",
			Text:  "T1 s1 [1,2]: r(x,0) w(x,1)\nT2 s2 [3,4]: r(x,1) w(x,2)\nT3 s1 [5,6]: r(x,2)"},
		{Name: "blind-writers",
			About: "no anomaly: two overlapping blind writers of a key",
			Text:  "T1 s1 [1,3]: w(x,1)\nT2 s2 [2,4]: w(x,2)"},
		{Name: "dirty-write", Kind: level.G0, Violates: everything, Fault: true,
			About: "the writes of two transactions to two keys interleave; readers see one of each",
			Text: "T1 s1 [1,4]: r(x,0) r(y,0) w(x,1) w(y,1)\nT2 s2 [2,5]: r(x,0) r(y,0) w(x,2) w(y,2)\nT3 s3 " +
				"[6,7]: r(x,2) r(y,1)\nT4 s4 [6,8]: r(y,1) r(x,2)"},
		{Name: "circular-information-flow", Kind: level.G1c, Violates: everything, Fault: true,
			About: "two transactions read each other's writes",
			Text:  "T1 s1 [1,4]: r(x,0) w(x,1) r(y,1)\nT2 s2 [2,5]: r(y,0) w(y,1) r(x,1)"},
		{Name: "write-skew-3", Kind: level.G2Item, Violates: serOnly, Fault: true,
			About: "three transactions, each overwrites what the one before read",
			Text: "T1 s1 [1,4]: r(x,0) r(y,0) w(x,1)\nT2 s2 [2,5]: r(y,0) r(z,0) w(y,1)\nT3 s3 [3,6]: r(z,0) " +
				"r(x,0) w(z,1)"},
		{Name: "monotonic-writes", Kind: level.CausalityViolation + "-session", Violates: without(sessions,
			level.ReadAtomic), Fault: true,
			About: "a session's second write is seen, its first is not",
			Text:  "T1 s1 [1,2]: r(x,0) w(x,1)\nT2 s1 [3,4]: r(y,0) w(y,1)\nT3 s2 [5,6]: r(y,1) r(x,0)"},
		{Name: "no-unit-reasoning", Kind: level.NoOrder, Violates: aboveCC,
			About: "two open orders of blind writes; each of their four combinations " +
				"closes a cycle, no single one does",
			Text: "T1 s1 [1,9]: w(x,1) w(p5,1) w(p7,1)\n" +
				"T2 s2 [1,9]: w(x,2) w(p1,1) w(p3,1)\n" +
				"T3 s3 [1,9]: r(x,1) r(p2,1)\n" +
				"T4 s4 [1,9]: r(x,1) r(p4,1)\n" +
				"T5 s5 [1,9]: r(x,2) r(p6,1)\n" +
				"T6 s6 [1,9]: r(x,2) r(p8,1)\n" +
				"T7 s7 [1,9]: w(y,1) w(p4,1) w(p8,1)\n" +
				"T8 s8 [1,9]: w(y,2) w(p2,1) w(p6,1)\n" +
				"T9 s9 [1,9]: r(y,1) r(p1,1)\n" +
				"T10 s10 [1,9]: r(y,1) r(p5,1)\n" +
				"T11 s11 [1,9]: r(y,2) r(p3,1)\n" +
				"T12 s12 [1,9]: r(y,2) r(p7,1)"},
	}
}

// script turns an anomaly into what the store can plant.
func (a *Anomaly) script() *store.Script {
	txns, err := parseTxns(a.Text)
	if err != nil {
		panic("catalogue: " + a.Name + ": " + err.Error())
	}
	sc := &store.Script{Name: a.Name}
	keys := map[string]int{}
	sess := map[int64]int{}
	key := func(name string) int {
		if _, ok := keys[name]; !ok {
			keys[name] = len(keys)
		}
		return keys[name]
	}
	matches := func(ms []textMatch) []store.ScriptMatch {
		var out []store.ScriptMatch
		for _, m := range ms {
			out = append(out, store.ScriptMatch{Key: key(m.key), Not: m.not, Old: m.old, New: m.new})
		}
		return out
	}
	for _, t := range txns {
		if _, ok := sess[t.session]; !ok {
			sess[t.session] = len(sess)
		}
		st := store.ScriptTxn{Session: sess[t.session], Start: t.start, End: t.end, Aborted: t.aborted}
		for _, op := range t.ops {
			so := store.ScriptOp{Kind: op.kind, Val: op.val, Of: matches(op.of), Found: matches(op.found)}
			if op.kind == store.Read || op.kind == store.Write {
				so.Key = key(op.key)
			}
			st.Ops = append(st.Ops, so)
		}
		sc.Txns = append(sc.Txns, st)
	}
	sc.Keys = len(keys)
	return sc
}

// History returns the anomaly as a history, with transaction ids and sessions as in its text.
func (a *Anomaly) History() *history.History {
	txns, err := parseTxns(a.Text)
	if err != nil {
		panic("catalogue: " + a.Name + ": " + err.Error())
	}
	h, err := buildTxns(txns, a.Name)
	if err != nil {
		panic("catalogue: " + a.Name + ": " + err.Error())
	}
	return h
}

// textTxn is a transaction of the catalogue's notation.
type textTxn struct {
	id, session int64
	start, end  int64 // history.NoTime: none
	aborted     bool
	ops         []textOp
}

type textOp struct {
	kind      store.OpKind // Read, Write, ScriptRead, ScriptWrite
	key       string
	val       int64
	of, found []textMatch
}

// textMatch is key=old>new or key!old.
type textMatch struct {
	key      string
	not      bool
	old, new int64
}

// parseTxns reads the notation of Anomaly.Text; the interval may be left out.
func parseTxns(text string) ([]textTxn, error) {
	var out []textTxn
	for line := range strings.SplitSeq(text, "\n") {
		head, ops, ok := strings.Cut(line, ":")
		if !ok {
			return nil, fmt.Errorf("%q has no colon", line)
		}
		t := textTxn{start: history.NoTime, end: history.NoTime}
		for i, f := range strings.Fields(head) {
			var err error
			switch {
			case i == 0:
				t.id, err = strconv.ParseInt(strings.TrimPrefix(f, "T"), 10, 64)
			case f == "aborted":
				t.aborted = true
			case f[0] == 's':
				t.session, err = strconv.ParseInt(f[1:], 10, 64)
			default:
				_, err = fmt.Sscanf(f, "[%d,%d]", &t.start, &t.end)
			}
			if err != nil {
				return nil, fmt.Errorf("%q: %w", f, err)
			}
		}
		for _, f := range strings.Fields(ops) {
			op, err := parseOp(f)
			if err != nil {
				return nil, err
			}
			t.ops = append(t.ops, op)
		}
		out = append(out, t)
	}
	return out, nil
}

// parseOp reads an operation of the notation.
func parseOp(f string) (textOp, error) {
	kind, rest, _ := strings.Cut(strings.TrimSuffix(f, ")"), "(")
	op := textOp{}
	var err error
	switch kind {
	case "r", "w":
		if kind == "w" {
			op.kind = store.Write
		}
		key, val, _ := strings.Cut(rest, ",")
		op.key = key
		op.val, err = parseVal(val)
	case "pr", "pw":
		op.kind = store.ScriptRead
		if kind == "pw" {
			op.kind = store.ScriptWrite
		}
		of, found, _ := strings.Cut(rest, ":")
		if op.of, err = parseMatches(of); err == nil {
			op.found, err = parseMatches(found)
		}
	default:
		err = fmt.Errorf("expected r, w, pr or pw")
	}
	if err != nil {
		return op, fmt.Errorf("%q: %w", f, err)
	}
	return op, nil
}

func parseVal(s string) (int64, error) {
	if s == "-" {
		return store.Absent, nil
	}
	return strconv.ParseInt(s, 10, 64)
}

// parseMatches reads key=old or key=old>new, separated by commas.
func parseMatches(s string) ([]textMatch, error) {
	var out []textMatch
	for f := range strings.SplitSeq(s, ",") {
		if f == "" {
			continue
		}
		key, vals, _ := strings.Cut(f, "=")
		old, new, writes := strings.Cut(vals, ">")
		m := textMatch{key: key}
		if name, val, ok := strings.Cut(f, "!"); ok {
			m.key, m.not, old = name, true, val
		}
		var err error
		if m.old, err = parseVal(old); err == nil && writes {
			m.new, err = parseVal(new)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// textValue is a value of the notation as the history has it.
func textValue(v int64) history.Value {
	if v == store.Absent {
		return history.Value{}
	}
	return history.IntValue(v)
}

// buildTxns makes a history of them; every key holds 0 at first.
func buildTxns(txns []textTxn, name string) (*history.History, error) {
	b := history.NewBuilder()
	b.Meta.Name = name
	b.Initial = history.IntValue(0)
	for _, t := range txns {
		for _, op := range t.ops {
			key := func(name string) uint32 { return b.Key(b.StringValue([]byte(name))) }
			switch op.kind {
			case store.Read:
				b.Read(key(op.key), textValue(op.val))
			case store.Write:
				b.Write(key(op.key), textValue(op.val))
			default:
				kind := history.PredRead
				if op.kind == store.ScriptWrite {
					kind = history.PredWrite
				}
				var of []versionText
				for _, m := range op.of {
					of = append(of, versionText{strconv.Quote(m.key), strconv.FormatInt(m.old, 10), m.not})
				}
				var rows []history.PredRow
				for _, m := range op.found {
					rows = append(rows, history.PredRow{Key: key(m.key), Old: textValue(m.old), New: textValue(m.new)})
				}
				b.Predicate(kind, versionPredicate(nil, "", of), rows)
			}
		}
		head := history.NewTxnHead()
		head.ID, head.HasID = t.id, true
		head.Session, head.HasSess = t.session, true
		head.Start, head.End = t.start, t.end
		if t.aborted {
			head.Status = history.Aborted
		}
		b.EndTxn(head)
	}
	return b.Build()
}
