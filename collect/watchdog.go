package collect

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"isovet/collect/driver"
	"isovet/datasets/workload"
	"isovet/history"
	"isovet/internal/plural"
	"isovet/internal/safego"
)

// A call into a database inside this program may never return, and nothing can end it. The watchdog then abandons its
// session: it ends the session's part of the history. The goroutine ends when the call returns, if ever.
//
// A session stores the begin of a call in client.calling, and clears it at the end. The watchdog abandons a session by
// changing this word. So either the session finds its word unchanged, or the watchdog owns the session's data.

// stage is the kind of a call.
type stage uint8

const (
	beginning stage = iota
	operating
	committing
	rollingBack
	closing
)

// watched is the state that a client and the watchdog share.
type watched struct {
	// calling is the begin of the open call, by the clients' clock. It is 0 if there is none, and gone if the session
	// is abandoned.
	calling atomic.Int64
	mine    int64 // as it was stored
	stage   stage
	x       txnRec       // the open attempt, or the last one
	under   bool         // it is open, and not in the log
	o       opRec        // the open operation, or the last one
	doing   *workload.Op // the same
	// over is closed when the session's goroutine has ended or was abandoned.
	over  chan struct{}
	group safego.Group
}

const gone = -1

func (w *watched) isGone() bool { return w.calling.Load() == gone }

// enter notes the begin of a call.
func (c *client) enter(s stage) {
	if !c.r.info.Unbounded {
		return
	}
	c.stage = s
	c.mine = max(c.r.now(), 1)
	c.calling.Store(c.mine)
}

// leave marks the end of the call. If the session was abandoned, it ends the goroutine.
func (c *client) leave() {
	if !c.r.info.Unbounded || c.calling.CompareAndSwap(c.mine, 0) {
		return
	}
	defer c.r.target.hung.back()
	if c.stage != closing {
		c.sess.Close() // its locks would block others
	}
	runtime.Goexit()
}

// begin, commit and rollback make the session's calls under the watchdog.
func (c *client) begin(a workload.Access) error {
	c.enter(beginning)
	defer c.leave()
	if s, ok := c.sess.(driver.Accessor); ok && a != workload.ReadWrite {
		return s.BeginAs(a)
	}
	return c.sess.Begin()
}

func (c *client) commit() error {
	c.enter(committing)
	defer c.leave()
	return c.sess.Commit()
}

// rollback closes the connection if rolling back fails.
func (c *client) rollback() {
	c.enter(rollingBack)
	err := c.sess.Rollback()
	c.leave()
	if err != nil {
		c.drop()
	}
}

func (c *client) start(part func()) {
	c.over = make(chan struct{})
	c.group.Go(func() {
		defer func() {
			if !c.isGone() {
				close(c.over)
			}
		}()
		part()
	})
}

// await waits until every session has ended or was abandoned.
func (r *run) await() {
	for _, c := range r.clients {
		<-c.over
	}
	left := 0
	for _, c := range r.clients {
		if !c.isGone() {
			left++
			c.group.Wait()
		}
	}
	if left == 0 && len(r.clients) > 0 && !r.cutOff.Load() {
		r.fail(fmt.Errorf("no session is left: %w", noAnswer(r.cfg.Timeout)))
	}
}

func (r *run) cut() {
	r.cutOff.Store(true)
	r.target.DB.Cut()
}

// watchCalls abandons sessions whose calls take longer than an answer may, until done is closed.
func (r *run) watchCalls(done <-chan struct{}) {
	if !r.info.Unbounded {
		return
	}
	tick := time.NewTicker(min(max(r.cfg.Timeout/20, time.Millisecond), 100*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		limit := int64(r.cfg.Timeout)
		if r.cutOff.Load() {
			limit = 0
		}
		for _, c := range r.clients {
			at := c.calling.Load()
			if at <= 0 || r.now()-at < limit || !c.calling.CompareAndSwap(at, gone) {
				continue
			}
			r.target.hung.add()
			c.bury()
			close(c.over)
		}
	}
}

// noAnswer returns the error for a call that did not return.
func noAnswer(d time.Duration) error {
	return fmt.Errorf("the database has not answered for %v", d)
}

// bury ends the recording of an abandoned session, whose data now belong to the watchdog. The session's transaction
// counts as aborted, since nobody will commit it. If its commit was sent, its outcome is unknown.
func (c *client) bury() {
	defer c.since.Store(never)
	r, x := c.r, &c.x
	err := noAnswer(r.cfg.Timeout)
	if r.cutOff.Load() {
		err = errors.New("a call had no answer when the run ended")
	}
	c.why = err.Error()
	if c.under {
		r.tickets.Add(1)
		if c.stage == operating {
			c.note(c.doing, &c.o, err, true)
		}
		unknown := c.stage == committing
		if unknown {
			x.status, x.end = history.Unknown, history.NoTime
			r.unknown.Add(1)
			c.write(*x)
		} else {
			x.status, x.end = history.Aborted, r.now()
			if x.commit == history.NoTime {
				x.commit = x.end
			}
			r.aborted.Add(1)
			c.writeIfAny(*x)
		}
		if class := driver.Lost.String(); r.cutOff.Load() && !unknown {
			c.unmade(AtEnd, "", "", false)
		} else {
			c.unmade(class, "", err.Error(), unknown)
		}
	}
}

// hung counts the open calls of abandoned sessions.
type hung struct {
	mu    sync.Mutex
	calls int
	free  chan struct{} // closed when there is none
}

func (h *hung) add() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.calls == 0 {
		h.free = make(chan struct{})
	}
	h.calls++
}

func (h *hung) back() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.calls--; h.calls == 0 {
		close(h.free)
	}
}

// await waits for these calls to return.
func (h *hung) await(limit time.Duration) error {
	h.mu.Lock()
	n, free := h.calls, h.free
	h.mu.Unlock()
	if n == 0 {
		return nil
	}
	select {
	case <-free:
		return nil
	case <-time.After(limit):
		return fmt.Errorf("%s: %w", plural.Phrase(n, "abandoned session still waits",
			"abandoned sessions still wait"), noAnswer(limit))
	}
}

// close closes the database, which may wait for calls that do not return.
func (h *hung) close(db driver.DB, limit time.Duration) error {
	if !db.Info().Unbounded {
		return db.Close()
	}
	if err := h.await(limit); err != nil {
		return err // closing would wait for them, too
	}
	var err error
	ended := make(chan struct{})
	var g safego.Group
	g.Go(func() {
		err = db.Close()
		close(ended)
	})
	select {
	case <-ended:
		g.Wait()
		return err
	case <-time.After(max(limit, 10*time.Second)): // it may have to write its data
		return fmt.Errorf("closing: %w", noAnswer(limit))
	}
}
