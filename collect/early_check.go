package collect

import (
	"context"
	"slices"
	"time"

	"isovet/check"
	"isovet/evidence"
	"isovet/history"
	"isovet/level"
)

// Ahead checks the recording of a round while the round runs. It ends the round at a violation, or when checking the
// recording would take all the time that the hunt has left.
type Ahead struct {
	Level level.Level
	Until time.Time // when the hunt's time is up
	// Rate is the duration of the last check in seconds for each transaction, or 0.
	Rate float64
	// Allows, if set, says which anomalies are no violation.
	Allows func([]level.Anomaly) bool

	Checks   int
	Violated bool // a check found a violation
}

const (
	aheadEvery = 100 * time.Millisecond
	// aheadLeast is the least number of transactions that are worth a check during the round.
	aheadLeast = 50
	// aheadShare limits early checks to one part in so many of the round's time.
	aheadShare = 5
	// aheadPause is the least pause between two early checks.
	aheadPause = 500 * time.Millisecond
)

// Took stores how long a check of n transactions took.
func (a *Ahead) Took(d time.Duration, n int) {
	if n > 0 {
		a.Rate = d.Seconds() / float64(n)
	}
}

// need estimates how long a check of n transactions will take, with a margin, since checks need more than linear time.
func (a *Ahead) need(n int) time.Duration {
	return time.Duration(1.5 * a.Rate * float64(n) * float64(time.Second))
}

// lookAhead checks the run again and again until done is closed.
func (r *run) lookAhead(ctx context.Context, done <-chan struct{}) {
	a := r.cfg.Ahead
	if a == nil {
		return
	}
	tick := time.NewTicker(aheadEvery)
	defer tick.Stop()
	last, again := 0, time.Now().Add(aheadPause)
	for {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		n := int(r.committed.Load() + r.aborted.Load() + r.unknown.Load())
		if n > 0 && time.Until(a.Until) < a.need(n) {
			r.stop.Store(true)
			return
		}
		if n < aheadLeast || n < last+last/4 || time.Now().Before(again) || r.stop.Load() {
			continue
		}
		begin := time.Now()
		h, err := r.past()
		if err != nil {
			r.fail(err)
			return
		}
		if h == nil {
			continue
		}
		res, err := Examine(ctx, h, a.Level, max(time.Until(a.Until), aheadPause))
		took := time.Since(begin)
		switch {
		case err != nil:
			r.fail(err)
			return
		case res.Verdict == evidence.Violated && (a.Allows == nil || !a.Allows(res.Kinds())):
			a.Violated = true
			r.stop.Store(true)
			return
		case ctx.Err() != nil: // the round is over
			return
		}
		a.Checks++
		a.Took(took, h.NumTxns())
		last, again = n, time.Now().Add(max(aheadPause, (aheadShare-1)*took))
	}
}

// past makes a history of the run so far that violates a level only if the whole history does. Transactions that ended
// before the oldest open transaction began are in it unchanged. Of later ones that began before that moment it has
// only the writes, with unknown outcome instead of a commit. So it has every write that the unchanged transactions can
// have seen. It returns nil if no transaction has ended.
func (r *run) past() (*history.History, error) {
	mark := r.oldest()
	var logs []*log
	for _, c := range r.clients {
		p := c.published.Load() // read after the marks: what began before mark and is missing here is open
		if p == nil {
			continue
		}
		n := 0
		for n < len(p.txns) && p.txns[n].ended() < mark {
			n++
		}
		whole := *p
		whole.txns = p.txns[:n]
		logs = append(logs, &whole)
		rest := log{lists: p.lists, preds: p.preds, cells: p.cells}
		for _, t := range p.txns[n:] {
			if t.start >= mark {
				break
			}
			for _, o := range p.ops[t.off : t.off+t.n] {
				rest.addWrites(p, o)
			}
			if t.status == history.Committed {
				t.status, t.end = history.Unknown, history.NoTime
			}
			if len(rest.ops) > 0 {
				rest.end(t)
			}
		}
		if len(rest.txns) > 0 {
			logs = append(logs, &rest)
		}
	}
	if !slices.ContainsFunc(logs, func(l *log) bool { return len(l.txns) > 0 }) {
		return nil, nil
	}
	return r.history(logs, 1, map[int64]bool{})
}

// addWrites adds the writes of an operation from another log with the same rows, without its reads.
func (l *log) addWrites(of *log, o opRec) {
	switch o.kind {
	case history.Write, history.Append:
		l.add(o)
	case history.PredWrite:
		for _, row := range of.preds[o.ext].rows {
			w := o
			w.kind, w.key, w.value, w.ext = history.Write, row.key, row.new, 0
			l.add(w)
		}
	}
}

// Examine checks a history with the checker that isovet check would choose.
func Examine(ctx context.Context, h *history.History, l level.Level, limit time.Duration) (*evidence.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c, ok := check.Auto(h, l)
	if !ok {
		return &evidence.Result{H: h, Level: l, Verdict: evidence.Unknown, Reason: "no checker decides " +
			l.String() + " for this history"}, nil
	}
	res, err := check.Run(ctx, c, h, check.Options{Level: l})
	if err != nil {
		return nil, err
	}
	res.H = h
	return res, nil
}
