package run

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"isovet/check/timestamp"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/slice"
	"isovet/level"
)

// maxStamped bounds the listed violations of timestamps; all are counted.
var maxStamped = 1000

// ByTimestamps runs a checker that trusts timestamps.
func ByTimestamps(ctx context.Context, in Info, h *history.History, o Options,
	checks func(context.Context, *history.History, timestamp.Options) (*timestamp.Report, error)) (*evidence.Result,
	error) {
	x, err := New(ctx, in, h, o)
	if err != nil {
		return nil, err
	}
	x.Result.ReadOnlyAtStart = o.ReadOnlyAtStart && o.Level.Serial()
	rep, err := checks(ctx, h, timestamp.Options{Level: o.Level, ReadOnlyAtStart: x.Result.ReadOnlyAtStart})
	var missing *timestamp.Missing
	var cannot *timestamp.Unsupported
	switch {
	case errors.As(err, &missing), errors.As(err, &cannot):
		x.Unknown("%v", err)
		return x.Result, nil
	case err != nil && ctx.Err() != nil:
		x.Stopped()
		return x.Result, nil
	case err != nil:
		return nil, err
	}
	for stage, d := range rep.Stages {
		x.Result.Stats.Stages[stage] = float64(d.Microseconds()) / 1e3
	}
	if len(rep.Violations) == 0 && h.HasLists() && h.HasPredicates() {
		x.Unknown("no violation found, but no certificate covers lists and predicate operations in one history")
		return x.Result, nil
	}
	if len(rep.Violations) == 0 {
		x.Holds(rep.Order)
		return x.Result, nil
	}
	x.Result.Stats.Violations, x.Result.Stats.BadTxns, x.Result.Stats.BadPairs = map[string]int{}, rep.Txns, rep.Pairs
	for i := range rep.Violations {
		x.Result.Stats.Violations[rep.Violations[i].Axiom.String()]++
	}
	as := Stamped(h, o.Level, rep.Violations[:min(maxStamped, len(rep.Violations))], rep.Begin)
	x.Violated(as...)
	x.Result.Also = len(rep.Violations) - len(as)
	x.Stage("evidence")
	return x.Result, nil
}

// MaxStamped bounds the listed violations of timestamps.
func MaxStamped() int { return maxStamped }

// Stamped turns violations of timestamps into evidence, as chronos does. begin says when transactions read.
func Stamped(h *history.History, l level.Level, vs []timestamp.Violation, begin func(t uint32) int64) (
	as []evidence.Anomaly) {
	rep := &timestamp.Report{Begin: begin}
	for i := range vs {
		as = append(as, stampedAnomaly(h, rep, &vs[i], l.Serial()))
	}
	return as
}

// stampedAnomaly turns a violation into evidence with a text that names timestamps.
func stampedAnomaly(h *history.History, rep *timestamp.Report, v *timestamp.Violation, serial bool) evidence.Anomaly {
	a := evidence.Anomaly{Txns: []uint32{v.Txn}}
	add := func(t uint32) {
		if t != history.None {
			a.Txns = slice.Union(a.Txns, t)
		}
	}
	name := func(t uint32) string {
		if t == h.Init {
			return "the initial transaction"
		}
		return fmt.Sprintf("T%d", h.Txns.ID[t])
	}
	span := func(t uint32) string {
		if serial || h.StartTS(t) == history.NoTime {
			return fmt.Sprintf("commit %d", h.CommitTS(t))
		}
		return fmt.Sprintf("start %d, commit %d", h.StartTS(t), h.CommitTS(t))
	}
	me := fmt.Sprintf("%s (%s)", name(v.Txn), span(v.Txn))
	switch v.Axiom {
	case timestamp.TIMESTAMPS:
		a.Kind, a.Text = level.Timestamps, me+" commits before it starts."
	case timestamp.SESSION:
		add(v.Other)
		a.Kind = level.Session
		a.Text = fmt.Sprintf("%s follows %s (%s) in its session, but began before its predecessor ended.", me,
			name(v.Other), span(v.Other))
	case timestamp.NOCONFLICT:
		add(v.Other)
		a.Kind, a.Key = level.NoConflict, v.Key
		a.Text = fmt.Sprintf("%s and %s (%s) both write %s, and each began before the other had committed.", me,
			name(v.Other), span(v.Other), h.KeyString(v.Key))
	case timestamp.INT:
		a.Kind, a.Ops = level.Int, []uint32{v.Op}
		a.Text = fmt.Sprintf("%s read %s, but after its own earlier operations the value is %s.", me,
			stampedRead(h, v), h.ValueString(v.Want))
		if h.Ops.Kind[v.Op] == history.ReadList {
			a.Text = fmt.Sprintf("%s read %s, which contradicts its own earlier operations.", me, stampedRead(h, v))
		}
	case timestamp.EXT:
		a.Kind, a.Ops, a.Why = level.Ext, []uint32{v.Op}, v.Kind.String()
		add(v.Other)
		by := "as it was at first"
		if v.Other != history.None {
			by = fmt.Sprintf("as %s (%s) left it", name(v.Other), span(v.Other))
		}
		from := ""
		if w := rep.Source(h, v); w != history.None {
			add(w)
			from = " written by " + name(w)
			if h.CommitTS(w) != history.NoTime {
				from = fmt.Sprintf(" written by %s (%s)", name(w), span(w))
			}
		}
		a.Text = fmt.Sprintf("%s read %s, but its snapshot has %s %s: %s.", me, stampedRead(h, v), stampedWant(h, v),
			by, fmt.Sprintf(whyWords[v.Kind], from))
	}
	if v.Op != history.None && (h.Ops.Kind[v.Op] == history.PredRead || h.Ops.Kind[v.Op] == history.PredWrite) {
		a.Key = v.Key
	}
	return a
}

// stampedWant says what a read should have returned.
func stampedWant(h *history.History, v *timestamp.Violation) string {
	switch kind := h.Ops.Kind[v.Op]; {
	case kind == history.Read && v.Want == history.None && v.Other == history.None: // an unnamed version
		return string(h.Texts.AppendValue(nil, h.Initial))
	case kind != history.ReadList:
		return h.ValueString(v.Want)
	}
	return "the list"
}

// whyWords say how a read is wrong; %s is the source of the version.
var whyWords = map[timestamp.Kind]string{
	timestamp.NeverWritten: "nobody wrote the value read%.0s",
	timestamp.Own:          "the transaction itself wrote the value read only later%.0s",
	timestamp.Aborted:      "the value read was%s, which did not commit",
	timestamp.Intermediate: "the value read was%s, and overwritten in the same transaction",
	timestamp.Before:       "the version%s had been overwritten before",
	timestamp.Uncommitted:  "the value read was%s, and not committed yet",
	timestamp.After:        "the value read was%s, which began later",
	timestamp.Phantom:      "one of the two versions matches, and the other does not%.0s",
}

func stampedRead(h *history.History, v *timestamp.Violation) string {
	switch h.Ops.Kind[v.Op] {
	case history.ReadList:
		s := slice.Map(h.Elems(h.Ops.Ver[v.Op]), h.ValueString)
		if len(s) > 16 {
			s = append([]string{"…"}, s[len(s)-16:]...)
		}
		return fmt.Sprintf("%s = [%s]", h.KeyString(v.Key), strings.Join(s, ", "))
	case history.PredRead, history.PredWrite:
		if v.Got == history.None {
			return fmt.Sprintf("no row %s by a predicate", h.KeyString(v.Key))
		}
		return fmt.Sprintf("%s = %s by a predicate", h.KeyString(v.Key), h.ValueString(v.Got))
	}
	return fmt.Sprintf("%s = %s", h.KeyString(v.Key), h.ValueString(v.Got))
}
