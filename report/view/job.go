package view

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"isovet/check"
	"isovet/check/shrink"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/escape"
	"isovet/internal/plural"
	"isovet/level"
)

// job is a check, or the search for the smallest history.
type job struct {
	kind   string // check, shrink
	what   string
	began  time.Time
	cancel context.CancelCauseFunc

	mu          sync.Mutex
	stage       string
	done, total int
	over        bool
	stopping    bool
	err         string
	answer      int // number of its answer
}

type jobJSON struct {
	Kind     string  `json:"kind"`
	What     string  `json:"what"`
	Stage    string  `json:"stage"`
	Done     int     `json:"done"`
	Total    int     `json:"total"`
	Seconds  float64 `json:"seconds"`
	Over     bool    `json:"over"`
	Stopping bool    `json:"stopping"`
	Error    string  `json:"error,omitempty"`
	Answer   int     `json:"answer,omitempty"`
}

var (
	errCancelled = errors.New("cancelled")
	errBusy      = errors.New("a check is still running; cancel it first")
)

func (j *job) state() *jobJSON {
	j.mu.Lock()
	defer j.mu.Unlock()
	return &jobJSON{Kind: j.kind, What: j.what, Stage: j.stage, Done: j.done, Total: j.total,
		Seconds: time.Since(j.began).Seconds(), Over: j.over, Stopping: j.stopping, Error: escape.XML(j.err),
		Answer: j.answer}
}

func (j *job) step(stage string, done, total int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.stage, j.done, j.total = stage, done, total
}

// begin starts a job. Only one job can run at a time. work returns the number of its answer.
func (b *book) begin(kind, what string, work func(ctx context.Context, j *job) (int, error)) error {
	ctx, cancel := context.WithCancelCause(b.ctx)
	j := &job{kind: kind, what: what, began: time.Now(), cancel: cancel}
	b.mu.Lock()
	busy := b.job != nil && !b.job.state().Over
	if !busy {
		b.job = j
	}
	b.mu.Unlock()
	if busy {
		cancel(nil)
		return errBusy
	}
	b.start(func() {
		defer cancel(nil)
		n, err := j.run(ctx, work)
		j.mu.Lock()
		defer j.mu.Unlock()
		j.over, j.answer = true, n
		if err != nil {
			j.err = err.Error()
		}
	})
	return nil
}

// run does the work. It reports a panic as a bug of isovet.
func (j *job) run(ctx context.Context, work func(ctx context.Context, j *job) (int, error)) (n int, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("this is a bug in isovet, please report it: %v\n%s", r, debug.Stack())
		}
	}()
	return work(ctx, j)
}

func (b *book) stop() {
	b.mu.Lock()
	j := b.job
	b.mu.Unlock()
	if j != nil {
		j.mu.Lock()
		j.stopping = true
		j.mu.Unlock()
		j.cancel(errCancelled)
	}
}

func (b *book) check(at level.Level, checker string, o check.Options) error {
	return b.begin("check", at.String()+", "+checker, func(ctx context.Context, j *job) (int, error) {
		h := b.axis.h
		c, reason := check.Choose(checker, "", h, at)
		if c == nil {
			a := newAnswer(b.name, &evidence.Result{Level: at, Checker: checker, Reason: reason, H: h})
			b.add(a)
			return a.N, nil
		}
		o.Level, o.Progress = at, j.step
		run := check.Run
		if checker == check.AutoName {
			run = check.Decide
		}
		r, err := run(ctx, c, h, o)
		if err != nil {
			return 0, orCause(ctx, err)
		}
		if cause := context.Cause(ctx); cause != nil && r.Verdict == evidence.Unknown {
			return 0, cause
		}
		if !r.Items {
			r.H = h
		}
		r.Weigh()
		a := newAnswer(b.name, r)
		b.add(a)
		return a.N, nil
	})
}

func (b *book) levels(o check.Options) error {
	return b.begin("check", "all levels", func(ctx context.Context, j *job) (int, error) {
		o.Progress = j.step
		l, err := check.RunLattice(ctx, b.axis.h, o, nil)
		if err != nil {
			return 0, orCause(ctx, err)
		}
		if cause := context.Cause(ctx); cause != nil {
			return 0, cause
		}
		l.Weigh()
		a := newLatticeAnswer(b.name, l)
		b.add(a)
		return a.N, nil
	})
}

func orCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// shrink starts the search for the smallest history with a violation; opened makes a book of the result.
func (b *book) shrink(a *answer, o check.Options, opened func(name string, h *history.History) int) error {
	return b.begin("shrink", a.Level, func(ctx context.Context, j *job) (int, error) {
		r, err := shrink.History(ctx, b.axis.h, a.r.Level, shrink.Options{Checker: a.r.Checker, Check: o, First: a.r,
			Names: shrink.Numbered, // by their ranks, times that lie far apart are drawn side by side
			Progress: func(stage string, txns, ops int) {
				if txns > 0 {
					stage += ": " + plural.Of(txns, "transaction") + ", " + plural.Of(ops, "operation") + " left"
				}
				j.step(stage, 0, 0)
			}})
		if err != nil {
			return 0, orCause(ctx, err)
		}
		h := *r.H
		h.Meta.Note = fmt.Sprintf("cut down from %s to %s that still violate %s", r.From, r.To, r.Answer.Label())
		r.H = &h
		n := opened("the smallest part of "+b.name, r.H)
		b.mu.Lock()
		defer b.mu.Unlock()
		a.small, a.Small, a.SmallSize = r, n, r.To.String()
		return a.N, nil
	})
}
