package check

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"time"

	"isovet/certify"
	"isovet/check/prepass"
	"isovet/check/run"
	"isovet/check/weak"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/safego"
	"isovet/internal/slice"
	"isovet/level"
	"isovet/polygraph"
)

// An answer at one level can answer others: an order that satisfies a level satisfies all levels that the level
// implies, and a violation of a level violates all levels that imply it. A stronger level is often easier to decide,
// because its extra demands settle most choices.

// smallHistory is the number of operations up to which other levels are tried early, if values repeat: real time and
// sessions may settle what the asked level leaves open.
const smallHistory = 20_000

// attemptTimes are the times for which each other level is tried, in rounds.
var attemptTimes = []time.Duration{time.Second, 10 * time.Second, 100 * time.Second}

// Decide is Run with the checker that Auto picked. If that takes longer than usual, it also tries levels that imply the
// asked level or that this implies, on another core. The first answer decides. An answer from another level says so
// (Result.ImpliedBy), and is certified at the asked level. The run at the asked level continues meanwhile. If it gives
// up early, each other level is tried for a short time.
func Decide(ctx context.Context, c Checker, h *history.History, o Options) (*evidence.Result, error) {
	if o.Level.IsMixed() { // no level implies it
		return Run(ctx, c, h, o)
	}
	wait := run.Patience(h) // how long only the asked level is tried
	if h.NumOps() <= smallHistory && mayHaveWritten(h) > int64(h.NumOps()) {
		wait /= 10
	}
	both, cancel := context.WithCancel(ctx)
	defer cancel()
	var found *evidence.Result
	var beside safego.Group
	beside.Go(func() {
		if found = tryOthers(both, h, o, wait, attemptTimes); found != nil {
			cancel()
		}
	})
	start := time.Now()
	r, err := Run(both, c, h, o)
	cancel()
	beside.Wait()
	if found == nil && err == nil && r.Verdict == evidence.Unknown && time.Since(start) < wait {
		found = tryOthers(ctx, h, o, 0, attemptTimes[:1])
	}
	if found != nil && (err == nil && r.Verdict == evidence.Unknown || errors.Is(err, context.Canceled)) {
		found.Stats.CheckMS = float64(time.Since(start).Microseconds())/1e3 - found.Stats.CertifyMS
		return found, nil
	}
	return r, err
}

// tryOthers waits, and then tries the levels that could decide the one asked for, in rounds, until one does or ctx
// ends.
func tryOthers(ctx context.Context, h *history.History, o Options, after time.Duration,
	rounds []time.Duration) *evidence.Result {
	wait := time.NewTimer(after)
	defer wait.Stop()
	select {
	case <-ctx.Done():
		return nil
	case <-wait.C:
	}
	asked := o.Level
	if _, missing := polygraph.MissingTime(h); missing && asked.RealTime() || mayHaveWritten(h) > maxWriters {
		return nil
	}
	o.Progress = nil
	for _, most := range rounds {
		for _, at := range related(asked) {
			if ctx.Err() != nil || !roomForSecond() {
				return nil
			}
			c, ok := Auto(h, at)
			if !ok {
				continue
			}
			o.Level = at
			r, err := runFor(ctx, most, c, h, o)
			if err != nil { // the check at the level itself reports such errors
				continue
			}
			if r := implied(ctx, r, asked, o); r != nil {
				return r
			}
		}
	}
	return nil
}

// Stricter returns the strict level that corresponds to an answer's level, and whether it is violated though the
// answer's level holds. It searches at most a second longer than the answer took; if it finds nothing by then, violated
// is false.
func Stricter(ctx context.Context, r *evidence.Result, o Options) (at level.Level, violated bool) {
	for _, strict := range []level.Level{level.StrictSerializable, level.StrictSnapshotIsolation} {
		if slices.Contains(strict.Relaxed(), r.Level) {
			at, violated = strict, true
		}
	}
	if !violated || r.Verdict != evidence.Holds || r.Timestamps || r.Items || !roomForSecond() {
		return at, false
	}
	if _, missing := polygraph.MissingTime(r.H); missing {
		return at, false
	}
	c, ok := Auto(r.H, at)
	if !ok {
		return at, false
	}
	o.Level, o.Progress = at, nil
	most := time.Second + time.Duration((r.Stats.CheckMS+r.Stats.CertifyMS)*float64(time.Millisecond))
	s, err := runFor(ctx, most, c, r.H, o)
	return at, err == nil && s.Verdict == evidence.Violated
}

// maxWriters bounds the possible writers of all reads up to which other levels are tried: the weak levels take some 250
// bytes for each.
const maxWriters = 1 << 22

// mayHaveWritten counts the possible writers of all reads.
func mayHaveWritten(h *history.History) (n int64) {
	writers := make([]int32, h.NumVersions())
	for op, kind := range h.Ops.Kind {
		if kind == history.Write {
			writers[h.Ops.Ver[op]]++
		}
	}
	for op, kind := range h.Ops.Kind {
		if kind == history.Read {
			n += int64(writers[h.Ops.Ver[op]])
		}
	}
	return n
}

func runFor(ctx context.Context, most time.Duration, c Checker, h *history.History, o Options) (*evidence.Result,
	error) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	return Run(ctx, c, h, o)
}

// related lists the levels whose answer may decide l: first the levels that imply l, the strongest first, then the
// levels that l implies, the weakest first.
func related(l level.Level) (out []level.Level) {
	var weaker []level.Level
	for _, m := range strongestFirst(level.All()) {
		switch {
		case m == l:
		case m.Implies(l):
			out = append(out, m)
		case l.Implies(m):
			weaker = append(weaker, m)
		}
	}
	slices.Reverse(weaker)
	return append(out, weaker...)
}

// roomForSecond reports whether the program's memory limit leaves room for a second check beside the running one.
func roomForSecond() bool {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64()) < debug.SetMemoryLimit(-1)/3
}

// implied turns an answer at one level into a certified answer at another, or returns nil if it decides nothing there.
func implied(ctx context.Context, from *evidence.Result, asked level.Level, o Options) *evidence.Result {
	at := from.Level
	switch {
	case from.Timestamps || from.Items:
		return nil
	case from.Verdict == evidence.Holds && at.Implies(asked), from.Verdict == evidence.Violated && asked.Implies(at):
	default:
		return nil
	}
	if asked.RealTime() { // without times, real time is not reported
		if _, missing := polygraph.MissingTime(from.H); missing {
			return nil
		}
	}
	r := *from
	r.Level, r.ImpliedBy, r.Implied = asked, at, true
	if r.Verdict == evidence.Holds {
		r.Note = fmt.Sprintf("%s implies this level, and %s found that it holds", at, r.Checker)
		if !reorder(ctx, &r, from) {
			return nil
		}
	} else {
		r.Note = fmt.Sprintf("this level implies %s, and %s found that it is violated", at, r.Checker)
		r.Anomalies = slices.Clone(from.Anomalies)
	}
	start := time.Now()
	how := certify.Options{ClockSkew: o.ClockSkew, Stop: func() bool { return ctx.Err() != nil }}
	if certifyBy(ctx, &r, how) != nil {
		return nil
	}
	r.Stats.CertifyMS += float64(time.Since(start).Microseconds()) / 1e3
	return &r
}

// reorder turns the order of a stronger level into the form of a weaker one: begins and commits at the snapshot levels;
// below them commits, and the writers of reads that have several. It returns false if that is not possible.
func reorder(ctx context.Context, r *evidence.Result, from *evidence.Result) bool {
	at := from.Level
	if r.Level.Serial() || r.Level == level.RepeatableRead {
		return at.Serial() || at == r.Level
	}
	events := from.Order
	if at.Serial() {
		events = evidence.Events(from.Order)
	}
	switch {
	case r.Level.Snapshot():
		r.Order = events
		return true
	case !at.Serial() && !at.Snapshot(): // weak levels share one form of answer
		return true
	}
	h := from.H
	if h.HasLists() {
		r.Order = commits(events)
		return true
	}
	v := prepass.RunWith(h, prepass.Options{EachRead: r.Level == level.ReadCommitted})
	if v.Bad != nil || len(v.Anomalies) > 0 {
		return false
	}
	var ok bool
	r.Order, r.Sources, ok = weakOrder(ctx, v, r.Level, events)
	return ok
}

// weakOrder turns an order of begins and commits into one of a weak level.
func weakOrder(ctx context.Context, v *prepass.View, l level.Level, events []uint32) (order []uint32,
	sources []evidence.Source, ok bool) {
	order, sources = commitOrder(v.H, v, events)
	if v.POff == nil || l == level.ReadCommitted {
		return order, sources, true
	}
	sources, ok = weak.Seen(ctx, v, events, sources)
	return order, sources, ok
}

// commits returns the commits of an order of begins and commits.
func commits(events []uint32) []uint32 {
	ends := slice.Filter(events, func(e uint32) bool { return e&1 != 0 })
	return slice.Map(ends, func(e uint32) uint32 { return e >> 1 })
}

// commitOrder returns the commits of an order of begins and commits, and the writers that its snapshots give to reads
// with several possible writers.
func commitOrder(h *history.History, v *prepass.View, events []uint32) (order []uint32, sources []evidence.Source) {
	current := slices.Repeat([]uint32{history.None}, h.NumKeys()) // the initial version
	open := make(map[uint32][]uint32)                             // transaction → its ambiguous reads
	for _, r := range v.Amb {
		t := v.Reader(r)
		open[t] = append(open[t], r)
	}
	for _, event := range events {
		t := event >> 1
		if event&1 == 0 {
			for _, r := range open[t] {
				k := v.RKey[r]
				sources = append(sources, evidence.Source{Op: v.ROp(r), Key: k, Writer: current[k]})
			}
			continue
		}
		order = append(order, t)
		for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
			current[v.WKey[w]] = t
		}
	}
	return order, sources
}
