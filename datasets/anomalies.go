package datasets

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"isovet/datasets/store"
	"isovet/history"
	"isovet/internal/slice"
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
	return slice.Map(AllFaults(), func(a Anomaly) string { return a.Name })
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

// History returns the anomaly as a history, with transaction ids and sessions as in its text, without timestamps.
func (a *Anomaly) History() *history.History {
	h, err := a.parse().history()
	if err != nil {
		panic("catalogue: " + a.Name + ": " + err.Error())
	}
	return h
}

// parsedText is a parsed Anomaly.Text: a script, and what its numbers are in the text.
type parsedText struct {
	store.Script
	ids      []int64 // of Txns
	sessions []int64
	keys     []string
}

// parse reads Text. The interval may be missing.
func (a *Anomaly) parse() *parsedText {
	n := &parsedText{Script: store.Script{Name: a.Name}}
	for line := range strings.SplitSeq(a.Text, "\n") {
		if err := n.parseTxn(line); err != nil {
			panic("catalogue: " + a.Name + ": " + err.Error())
		}
	}
	n.Keys = len(n.keys)
	return n
}

func (n *parsedText) parseTxn(line string) error {
	head, ops, ok := strings.Cut(line, ":")
	if !ok {
		return fmt.Errorf("%q has no colon", line)
	}
	var id, session int64
	t := store.ScriptTxn{Start: history.NoTime, End: history.NoTime}
	for i, f := range strings.Fields(head) {
		var err error
		switch {
		case i == 0:
			id, err = strconv.ParseInt(strings.TrimPrefix(f, "T"), 10, 64)
		case f == "aborted":
			t.Aborted = true
		case f[0] == 's':
			session, err = strconv.ParseInt(f[1:], 10, 64)
		case f[0] == '<':
			_, err = fmt.Sscanf(f, "<%d,%d>", &t.Stamped[0], &t.Stamped[1])
		default:
			_, err = fmt.Sscanf(f, "[%d,%d]", &t.Start, &t.End)
		}
		if err != nil {
			return fmt.Errorf("%q: %w", f, err)
		}
	}
	for _, f := range strings.Fields(ops) {
		op, err := n.parseOp(f)
		if err != nil {
			return fmt.Errorf("%q: %w", f, err)
		}
		t.Ops = append(t.Ops, op)
	}
	t.Session = place(&n.sessions, session)
	n.Txns, n.ids = append(n.Txns, t), append(n.ids, id)
	return nil
}

// place returns x's place in all. It appends x if it is new.
func place[T comparable](all *[]T, x T) int {
	i := slices.Index(*all, x)
	if i < 0 {
		i = len(*all)
		*all = append(*all, x)
	}
	return i
}

// parseOp reads an operation of the notation.
func (n *parsedText) parseOp(f string) (op store.ScriptOp, err error) {
	kind, rest, _ := strings.Cut(strings.TrimSuffix(f, ")"), "(")
	switch kind {
	case "r", "w":
		if kind == "w" {
			op.Kind = store.Write
		}
		key, val, _ := strings.Cut(rest, ",")
		op.Key = place(&n.keys, key)
		op.Val, err = parseVal(val)
	case "pr", "pw":
		op.Kind = store.ScriptRead
		if kind == "pw" {
			op.Kind = store.ScriptWrite
		}
		of, found, _ := strings.Cut(rest, ":")
		if op.Of, err = n.parseMatches(of); err == nil {
			op.Found, err = n.parseMatches(found)
		}
	default:
		err = fmt.Errorf("expected r, w, pr or pw")
	}
	return op, err
}

func parseVal(s string) (int64, error) {
	if s == "-" {
		return store.Absent, nil
	}
	return strconv.ParseInt(s, 10, 64)
}

// parseMatches reads key=old, key=old>new or key!old, separated by commas.
func (n *parsedText) parseMatches(s string) ([]store.ScriptMatch, error) {
	var out []store.ScriptMatch
	for f := range strings.SplitSeq(s, ",") {
		if f == "" {
			continue
		}
		key, vals, _ := strings.Cut(f, "=")
		old, new, writes := strings.Cut(vals, ">")
		var m store.ScriptMatch
		if name, val, ok := strings.Cut(f, "!"); ok {
			key, m.Not, old = name, true, val
		}
		m.Key = place(&n.keys, key)
		var err error
		if m.Old, err = parseVal(old); err == nil && writes {
			m.New, err = parseVal(new)
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

// history makes a history of the transactions. Every key has value 0 at first.
func (n *parsedText) history() (*history.History, error) {
	b := history.NewBuilder()
	b.Meta.Name = n.Name
	b.Initial = history.IntValue(0)
	key := func(k int) uint32 { return b.Key(b.StringValue([]byte(n.keys[k]))) }
	for i, t := range n.Txns {
		for _, op := range t.Ops {
			switch op.Kind {
			case store.Read:
				b.Read(key(op.Key), textValue(op.Val))
			case store.Write:
				b.Write(key(op.Key), textValue(op.Val))
			default:
				kind := history.PredRead
				if op.Kind == store.ScriptWrite {
					kind = history.PredWrite
				}
				of := slice.Map(op.Of, func(m store.ScriptMatch) versionText {
					return versionText{strconv.Quote(n.keys[m.Key]), strconv.FormatInt(m.Old, 10), m.Not}
				})
				rows := slice.Map(op.Found, func(m store.ScriptMatch) history.PredRow {
					return history.PredRow{Key: key(m.Key), Old: textValue(m.Old), New: textValue(m.New)}
				})
				b.Predicate(kind, versionPredicate(nil, "", of), rows)
			}
		}
		head := history.NewTxnHead()
		head.ID, head.HasID = n.ids[i], true
		head.Session, head.HasSess = n.sessions[t.Session], true
		head.Start, head.End = t.Start, t.End
		if t.Aborted {
			head.Status = history.Aborted
		}
		b.EndTxn(head)
	}
	return b.Build()
}
