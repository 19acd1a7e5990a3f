package collect

import (
	"math"
	"slices"
	"time"

	"isovet/history"
)

// Live receives a run's history in pieces during the run. Its methods are called one after the other. An error ends
// the run.
type Live interface {
	// Begin receives the history's header before the first transaction.
	Begin(meta history.Meta) error
	// Ended receives transactions that have ended, in the order and with the ids of the Result's History, but without
	// the database's timestamps. The initial transaction comes first; it has the loaded versions of rows that no
	// earlier piece touched. No transaction in later pieces begins before mark.
	Ended(piece *history.History, mark int64) error
}

// liveEvery is the interval at which live looks for new transactions.
const liveEvery = 10 * time.Millisecond

// Each session publishes its log (client.published) and a time before which none of its unpublished transactions
// begins (client.since). If a reader first reads these times and then the logs, it finds every transaction that ended
// before the least of the times.

// never is client.since after a session has ended.
const never = math.MaxInt64

// publish makes the session's log visible to live. Published entries never change during the run; a longer log is a
// new slice.
func (c *client) publish() {
	if c.r.cfg.Live == nil && c.r.cfg.Ahead == nil {
		return
	}
	c.published.Store(new(c.log))
}

// live passes pieces to cfg.Live until done is closed, and then the rest.
type live struct {
	r     *run
	to    Live
	at    []int // session → number of transactions passed on
	known map[int64]bool
	last  int64 // id
}

func (r *run) followLive(done <-chan struct{}) {
	if r.cfg.Live == nil {
		return
	}
	l := &live{r: r, to: r.cfg.Live, at: make([]int, len(r.clients)), known: map[int64]bool{}}
	tick := time.NewTicker(liveEvery)
	defer tick.Stop()
	for {
		ended := false
		select {
		case <-done:
			ended = true
		case <-tick.C:
		}
		if err := l.step(); err != nil {
			r.fail(err)
			return
		}
		if ended {
			return
		}
	}
}

// oldest returns a time before which none of the sessions' unpublished transactions begins.
func (r *run) oldest() int64 {
	mark := int64(never)
	for _, c := range r.clients {
		mark = min(mark, c.since.Load())
	}
	return mark
}

// step passes on the transactions that have ended since the last step.
func (l *live) step() error {
	mark := l.r.oldest()
	var logs []*log
	past := mark // no transaction passed on later begins before
	for i, c := range l.r.clients {
		at, passed := l.at[i], 0 // transactions of earlier logs
		for _, p := range c.logs() {
			n := max(at-passed, 0)
			from := n
			for n < len(p.txns) && p.txns[n].ended() < mark {
				n++
			}
			if n > from {
				part := *p
				part.txns = p.txns[from:n]
				logs = append(logs, &part)
				l.at[i] += n - from
			}
			passed += len(p.txns)
			if n < len(p.txns) {
				past = min(past, p.txns[n].start)
				break
			}
		}
	}
	if len(logs) == 0 {
		return nil
	}
	h, err := l.r.history(logs, l.last+1, l.known)
	if err != nil {
		return err
	}
	for _, p := range logs {
		l.last += int64(len(p.txns))
	}
	for i, c := range l.r.clients {
		l.at[i] = c.given(l.at[i])
	}
	return l.to.Ended(h, past)
}

// ended returns the time when the client finished a transaction.
func (t *txnRec) ended() int64 {
	if t.end == history.NoTime {
		return max(t.commit, t.start) // no answer came, and perhaps nothing was sent
	}
	return t.end
}

// touched returns the keys that transactions touch, in order.
func touched(logs []*log) []int64 {
	var keys []int64
	seen := map[int64]struct{}{}
	touch := func(n int64) {
		if _, ok := seen[n]; !ok {
			seen[n] = struct{}{}
			keys = append(keys, n)
		}
	}
	for _, l := range logs {
		for i := range l.txns {
			t := &l.txns[i]
			for _, o := range l.ops[t.off : t.off+t.n] {
				if o.kind != history.PredRead && o.kind != history.PredWrite {
					touch(o.key.N)
					continue
				}
				for _, row := range l.preds[o.ext].rows {
					touch(row.key.N)
				}
			}
		}
	}
	slices.Sort(keys)
	return keys
}
