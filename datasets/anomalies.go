package datasets

import (
	"fmt"
	"strconv"
	"strings"

	"isovet/datasets/store"
	"isovet/history"
	"isovet/level"
)

// Anomaly is a small history with a name and the levels that it violates. Every key has value 0 at first.
type Anomaly struct {
	Name  string        // how it is asked for
	Kind  level.Anomaly // the anomaly that it shows; "" for none
	About string
	// Text has one transaction on each line: name, session, client interval, operations:
	//
	// 	T1 s1 [1,3]: r(x,0) w(x,1)
	// 	T2 s2 [2,4] aborted: w(x,2)
	//
	// The catalogue of predicates also has pr(x=1,y=1:x=1), a predicate read that found x = 1; its condition is true
	// for value 1 of x and value 1 of y, and for nothing else. pw(x=0,y=0:x=0>1) is a predicate write with such a
	// condition that found x = 0 and set it to 1. x!1 in a condition means every value of x except 1. The value "-"
	// means that there is no row. <5,6> after the interval are wrong database timestamps, on the same clock.
	Text string
	// Violates lists those of the Judged levels that it violates. It satisfies the others.
	Violates []level.Level
	// Timestamps says that only the database's timestamps are wrong: Violates is then what checkers find that trust
	// them. By its reads alone the anomaly satisfies every level.
	Timestamps bool
	// Fault says that it can be planted in a larger history. Each write that must follow the initial version of a key
	// then reads the key first, so that the other transactions cannot explain the anomaly.
	Fault bool
}

// label names a level as verdicts about the anomaly do.
func (a *Anomaly) label(l level.Level) string {
	if a.Timestamps {
		return "ts:" + l.String()
	}
	return l.String()
}

// Judged are the levels for which the catalogue has verdicts.
func Judged() []level.Level {
	return []level.Level{
		level.Serializable, level.SessionSerializable, level.StrictSerializable,
		level.SnapshotIsolation, level.SessionSnapshotIsolation, level.StrictSnapshotIsolation,
		level.Causal, level.ReadAtomic, level.ReadCommitted,
	}
}

// FaultNames returns the names of all anomalies that can be planted.
func FaultNames() []string {
	var names []string
	for _, a := range AllFaults() {
		names = append(names, a.Name)
	}
	return names
}

// LookupFault finds a fault by name.
func LookupFault(name string) (*Anomaly, error) {
	for _, a := range AllFaults() {
		if strings.EqualFold(a.Name, name) {
			return &a, nil
		}
	}
	return nil, fmt.Errorf("unknown fault %q; expected one of %s", name, strings.Join(FaultNames(), ", "))
}

// script converts an anomaly to a script for the store.
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
		st := store.ScriptTxn{Session: sess[t.session], Start: t.start, End: t.end, Stamped: t.stamped,
			Aborted: t.aborted}
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

// History returns the anomaly as a history, with transaction ids and sessions as in its text, without timestamps.
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
	stamped     [2]int64
	aborted     bool
	ops         []textOp
}

type textOp struct {
	kind      store.OpKind // Read, Write, ScriptRead, ScriptWrite
	key       string
	val       int64
	of, found []textMatch
}

// textMatch is key=old>new or key!old in the notation.
type textMatch struct {
	key      string
	not      bool
	old, new int64
}

// parseTxns reads the notation of Anomaly.Text. The interval may be missing.
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
			case f[0] == '<':
				_, err = fmt.Sscanf(f, "<%d,%d>", &t.stamped[0], &t.stamped[1])
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

// textValue converts a value of the notation to one of a history.
func textValue(v int64) history.Value {
	if v == store.Absent {
		return history.Value{}
	}
	return history.IntValue(v)
}

// buildTxns makes a history of the transactions. Every key has value 0 at first.
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
