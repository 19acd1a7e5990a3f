package spill

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"isovet/certify"
	"isovet/check"
	"isovet/check/spill/plan"
	"isovet/check/timestamp"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/slice"
)

// byStamps is the checker that trusts timestamps.
const byStamps = "chronos"

// stampsOf returns the rule of a checker that trusts timestamps.
func stampsOf(o Options) plan.Stamps {
	if o.Checker != byStamps {
		return plan.Stamps{}
	}
	return plan.Stamps{On: true, Serial: o.Level.Serial(), Sessions: o.Level.Sessions(),
		ReadOnlyAtStart: o.ReadOnlyAtStart && o.Level.Serial()}
}

// Stamped reports whether a checker's verdicts are about the database's timestamps.
func Stamped(checker string) bool { return checker == byStamps }

// stamped has the violations by timestamps.
type stamped struct {
	all   []plan.StampViolation // the first
	count map[timestamp.Axiom]int64
}

func (s *stamped) total() int64 { return slice.Sum(maps.Values(s.count)) }

func (s *stamped) add(axiom timestamp.Axiom, n int64) {
	if n > 0 {
		s.count[axiom] += n
	}
}

// decideStamped checks the axioms of timestamps: for each transaction, for sessions, for each key.
func (e *engine) decideStamped(ctx context.Context) (*Answer, error) {
	a := &Answer{}
	most := e.maxMisfits()
	s := &stamped{count: map[timestamp.Axiom]int64{}}
	var refused *plan.Refusal
	for _, t := range e.tasks {
		if r := t.stamped.Refused; r != nil && (refused == nil || r.Place < refused.Place) {
			refused = r
		}
		s.add(timestamp.TIMESTAMPS, t.stamped.Count[0])
		s.add(timestamp.INT, t.stamped.Count[1])
		s.all = append(s.all, t.stamped.Found...)
	}
	switch {
	case refused != nil && !refused.Missing:
		return nil, refused.Err()
	case refused != nil:
		a.Verdict, a.Reason = evidence.Unknown, refused.Err().Error()
		return a, nil
	}
	swept, err := e.sweep(ctx, nil, most)
	if err == nil && swept.Tie != nil {
		return nil, e.tied(ctx, swept.Tie)
	}
	pairs := Swept{}
	if err == nil && len(swept.Conflicts) > 0 {
		keep := newKeys()
		for _, k := range swept.Conflicts {
			keep.add(k)
		}
		pairs, err = e.sweep(ctx, keep, most)
	}
	if errors.Is(err, plan.ErrRoom) {
		a.Verdict = evidence.Unknown
		a.Reason = "the files do not list the transactions in the order of their timestamps, and memory is too " +
			"small to sort them; give more with --memory"
		return a, nil
	}
	if err != nil {
		return nil, err
	}
	s.add(timestamp.EXT, swept.Count[0])
	s.add(timestamp.NOCONFLICT, pairs.Count[1])
	s.all = append(append(s.all, swept.Found...), pairs.Found...)
	late, n, err := e.stampedSessions(ctx, most)
	if err != nil {
		return nil, err
	}
	s.add(timestamp.SESSION, n)
	s.all = firstOf(append(s.all, late...), most)
	if s.total() == 0 {
		a.Verdict = evidence.Holds
		return a, nil
	}
	a.Verdict = evidence.Violated
	return a, e.proveStamped(ctx, a, s)
}

// tied returns the error for two writers that commit at one timestamp.
func (e *engine) tied(ctx context.Context, t *plan.Tie) error {
	by, err := e.txnsAt(ctx, []uint64{t.A, t.B})
	if err != nil {
		return err
	}
	a, b := by[t.A], by[t.B]
	return &history.InputError{File: b.File, Line: int(b.Line), Off: -1, Field: "commit_ts", Msg: fmt.Sprintf(
		"transactions %d and %d both write and commit at %d; expected different timestamps", a.ID, b.ID, t.At)}
}

// stampedSessions checks the axiom SESSION.
func (e *engine) stampedSessions(ctx context.Context, most int) (found []plan.StampViolation, n int64, err error) {
	type last struct {
		place  uint64
		end    int64
		writer bool
	}
	sessions := map[int64]last{}
	err = e.eachHead(ctx, func(place uint64, h *plan.Head) {
		switch {
		case h.Init:
		case h.Session == history.NoTime:
			e.stats.Sessions++
		case !h.In:
			if _, is := sessions[h.Session]; !is {
				sessions[h.Session] = last{end: history.NoTime, writer: true}
			}
		default:
			l, is := sessions[h.Session]
			tie := e.rule.Stamps.Serial && h.Begin == l.end && h.Writer && !l.writer
			if is && e.o.Level.Sessions() && (h.Begin < l.end || tie) {
				if n++; len(found) < most {
					found = append(found, plan.StampViolation{Axiom: timestamp.SESSION, Txn: place, Other: l.place})
				}
			}
			sessions[h.Session] = last{place, h.T, h.Writer}
		}
	})
	if err != nil {
		return nil, 0, err
	}
	e.stats.Sessions += int64(len(sessions))
	return found, n, nil
}

// proveStamped makes evidence of the first violations, from a history of their transactions, and the writers of the
// versions that these read, or should have read.
func (e *engine) proveStamped(ctx context.Context, a *Answer, s *stamped) error {
	listed := s.all[:min(len(s.all), check.MaxStamped())]
	var places []uint64
	only := []plan.Value{}
	for _, v := range slice.Refs(listed) {
		if places = append(places, v.Txn); v.Other != plan.NoPlace {
			places = append(places, v.Other)
		}
		if v.Axiom == timestamp.EXT || v.Axiom == timestamp.INT {
			only = append(only, v.Key)
		}
	}
	by, err := e.txnsAt(ctx, places)
	if err != nil {
		return err
	}
	asked := make([]Part, e.parts)
	for i := range listed {
		if v := &listed[i]; v.Axiom == timestamp.EXT {
			p := &asked[plan.PartOf(plan.HashOf(v.Key), e.rule.Parts)]
			p.Asked = append(p.Asked, e.askSource(v, by[v.Txn]))
		}
	}
	parts, got, err := e.ask(ctx, asked)
	if err != nil {
		return err
	}
	sources := map[plan.Asked]plan.Source{}
	var more []uint64
	for i, w := range got {
		for j, q := range parts[i].Asked {
			if sources[q] = w.Sources[j]; w.Sources[j].By != plan.NoPlace {
				more = append(more, w.Sources[j].By)
			}
		}
	}
	if e.init != plan.NoPlace {
		more = append(more, e.init)
	}
	e.only = only
	others, err := e.txnsAt(ctx, more)
	e.only = nil
	if err != nil {
		return err
	}
	maps.Copy(by, others)
	return e.tellStamped(a, s, listed, by, sources)
}

// askSource asks for the writers of the version that was read.
func (e *engine) askSource(v *plan.StampViolation, x *plan.Txn) plan.Asked {
	return plan.Asked{Want: plan.Want{Key: v.Key, Value: v.Got}, Reader: v.Txn, Now: e.readsAt(x)}
}

// readsAt returns the timestamp at which a transaction reads.
func (e *engine) readsAt(x *plan.Txn) int64 {
	atStart := e.rule.Stamps.ReadOnlyAtStart && !slices.ContainsFunc(x.Ops, func(o plan.Op) bool {
		return o.Kind == history.Write
	})
	if !e.rule.Stamps.Serial || atStart {
		return x.StartTS
	}
	return x.CommitTS
}

// tellStamped translates violations to a history of some transactions, by place.
func (e *engine) tellStamped(a *Answer, s *stamped, listed []plan.StampViolation, by map[uint64]*plan.Txn,
	sources map[plan.Asked]plan.Source) error {
	var txns []*plan.Txn
	index := map[uint64]uint32{plan.NoPlace: history.None}
	for _, p := range slices.Sorted(maps.Keys(by)) {
		index[p] = uint32(len(txns))
		txns = append(txns, by[p])
	}
	h, err := plan.Whole(txns, e.in.Initial)
	if err != nil {
		return err
	}
	h.File, h.Meta = e.in.Name, e.in.Meta
	names := newRetold(h)
	version := func(k, v plan.Value) uint32 {
		if n, is := names.vers[plan.Want{Key: k, Value: v}]; is {
			return n
		}
		return history.None
	}
	var vs []timestamp.Violation
	for _, v := range slice.Refs(listed) {
		t := index[v.Txn]
		x := timestamp.Violation{Axiom: v.Axiom, Txn: t, Other: index[v.Other], Key: history.None, Op: history.None,
			Got: history.None, Want: history.None}
		lo, _ := h.TxnOps(t)
		switch v.Axiom {
		case timestamp.NOCONFLICT:
			x.Key = names.keys[v.Key]
		case timestamp.INT:
			x.Key, x.Op = names.keys[v.Key], lo+uint32(v.Op)
		case timestamp.EXT:
			at := slices.IndexFunc(by[v.Txn].Ops, func(o plan.Op) bool { return o.Key == v.Key })
			x.Key, x.Op = names.keys[v.Key], lo+uint32(at)
			x.Kind = sources[e.askSource(v, by[v.Txn])].Kind
		}
		if x.Op != history.None {
			x.Got, x.Want = version(v.Key, v.Got), version(v.Key, v.Want)
		}
		vs = append(vs, x)
	}
	p := &evidence.Result{Verdict: evidence.Violated, Level: e.o.Level, Checker: e.o.Checker, H: h, Timestamps: true,
		ReadOnlyAtStart: e.rule.Stamps.ReadOnlyAtStart}
	p.Anomalies = check.Stamped(h, e.o.Level, vs, func(t uint32) int64 { return e.readsAt(txns[t]) })
	p.Also = int(s.total()) - len(p.Anomalies)
	p.Stats.Violations = map[string]int{}
	for axiom, n := range s.count {
		p.Stats.Violations[axiom.String()] = int(n)
	}
	if int64(len(s.all)) == s.total() { // only a complete list can be counted by transaction
		p.Stats.BadTxns, p.Stats.BadPairs = counted(s.all)
	}
	a.Proof, a.Found = p, []*evidence.Result{p}
	if err := certify.Check(p, certify.Options{ClockSkew: e.o.Skew}); err != nil {
		return &check.Fault{Checker: e.o.Checker, Err: fmt.Errorf("its evidence fails: %w", err)}
	}
	return nil
}

// counted counts transactions, and pairs of transaction and key, in sorted violations.
func counted(all []plan.StampViolation) (txns, pairs int) {
	type pair struct {
		txn   uint64
		key   plan.Value
		keyed bool
	}
	seen := map[pair]bool{}
	for i, v := range slice.Refs(all) {
		if i == 0 || all[i-1].Txn != v.Txn {
			txns++
		}
		seen[pair{v.Txn, v.Key, v.Axiom != timestamp.SESSION && v.Axiom != timestamp.TIMESTAMPS}] = true
	}
	return txns, len(seen)
}
