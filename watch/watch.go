package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strconv"
	"strings"
	"time"
)

// Config says what to watch.
type Config struct {
	// Dir holds the segment log and the violations. It belongs to one stream and one judge.
	Dir string
	// Judge checks it. It is used up.
	Judge Judge
	// Idle, if positive: after so long without arrivals everything seen so far is final.
	Idle time.Duration
	// Open makes the source, which goes on behind the place of the last line in the log; none says that the log is
	// empty.
	Open func(ctx context.Context, after int64, none bool) (Source, error)
	// Violation, if set, is called with each new final violation, a JSON line without its end.
	Violation func(line []byte)
	// Bad, if set, is called with the mistake of each new line that is not understood.
	Bad     func(place int64, err error)
	Metrics *Metrics // nil: none
}

// batchLines is how many lines are written, synced, acknowledged and judged at once, at most.
const batchLines = 4096

type watcher struct {
	cfg   Config
	judge Judge
	log   *Log
	out   *emitted
	ended bool
	kept  bool   // the folder has its options
	fresh bool   // the lines are new, not read from the log
	old   []Line // read from the log, to be judged
	s     Snapshot
}

// Run watches until the source ends (nil) or ctx does (its error). Other errors: a folder that cannot be used, or was
// begun with other options (*SettingsError), a source that fails, a log that is damaged, a judge that cannot go on.
func Run(ctx context.Context, cfg Config) (err error) {
	w := &watcher{cfg: cfg, judge: cfg.Judge, log: &Log{dir: cfg.Dir}}
	w.judge.Begin(w.log.Line)
	w.s.Violations = map[string]int64{}
	defer func() {
		if w.out != nil {
			err = errors.Join(err, w.out.sync(), w.out.f.Close())
		}
		if w.log.f != nil {
			err = errors.Join(err, w.log.Close())
		}
	}()
	if w.kept, err = sameSettings(cfg.Dir, w.judge.Settings()); err != nil {
		return err
	}
	if err := w.again(ctx); err != nil {
		return err
	}
	w.fresh = true
	if err := w.out.sync(); err != nil {
		return err
	}
	w.publish()
	src, err := cfg.Open(ctx, w.log.Last(-1), w.log.lines == 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	idle := false // said so already
	for {
		wait, cancel := ctx, context.CancelFunc(func() {})
		if cfg.Idle > 0 && !idle {
			wait, cancel = context.WithTimeout(ctx, cfg.Idle)
		}
		lines, err := src.Next(wait, batchLines)
		cancel()
		switch {
		case err != nil && ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, context.DeadlineExceeded):
			idle = true
			if mark, some := w.judge.Quiet(); some {
				err = w.control(controlAdvance + strconv.FormatInt(mark, 10))
			} else {
				err = nil
			}
		case errors.Is(err, io.EOF):
			if w.ended {
				return nil
			}
			return w.control(controlEnd)
		case err == nil:
			idle = false
			err = w.batch(src, lines)
		}
		if err != nil {
			return err
		}
	}
}

// Lines of our own in the log.
const (
	controlAdvance = "!advance "
	controlEnd     = "!end"
)

// again judges what is in the log.
func (w *watcher) again(ctx context.Context) error {
	err := w.log.open(func(place int64, line []byte) (err error) {
		if w.out == nil {
			if w.out, err = openEmitted(w.cfg.Dir); err != nil {
				return err
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if len(line) > 0 && line[0] == '!' {
			if err := w.take(w.old); err != nil {
				return err
			}
			w.old = w.old[:0]
			return w.own(string(line))
		}
		w.old = append(w.old, Line{Place: place, Text: append([]byte(nil), line...), N: w.log.lines - 1})
		if len(w.old) == batchLines {
			err = w.take(w.old)
			w.old = w.old[:0]
		}
		return err
	})
	if err == nil && w.out == nil {
		w.out, err = openEmitted(w.cfg.Dir)
	}
	if err == nil {
		err = w.take(w.old)
	}
	w.old = nil
	return err
}

// batch logs, acknowledges, and only then looks.
func (w *watcher) batch(src Source, lines []Line) error {
	fresh := lines[:0]
	for _, l := range lines {
		if len(l.Text) > 0 && l.Text[0] == '!' {
			l.Text = append([]byte{' '}, l.Text...) // '!' begins lines of our own
		}
		l.N = w.log.lines
		is, err := w.log.Append(l.Place, l.Text)
		if err != nil {
			return err
		}
		if is {
			fresh = append(fresh, l)
		}
	}
	if w.ended && len(fresh) > 0 {
		return fmt.Errorf("%s: the stream of this folder has ended; take another folder for what comes now", w.cfg.Dir)
	}
	if err := w.log.Sync(); err != nil {
		return err
	}
	if err := src.Done(); err != nil {
		return err
	}
	if err := w.take(fresh); err != nil {
		return err
	}
	w.publish()
	return w.out.sync()
}

func (w *watcher) control(text string) error {
	if err := w.log.control(text); err != nil {
		return err
	}
	if err := w.log.Sync(); err != nil {
		return err
	}
	if err := w.own(text); err != nil {
		return err
	}
	w.publish()
	return w.out.sync()
}

// own is a line of our own.
func (w *watcher) own(text string) error {
	if text == controlEnd {
		w.ended = true
		w.judge.End()
		return w.emit()
	}
	mark, err := strconv.ParseInt(strings.TrimPrefix(text, controlAdvance), 10, 64)
	if err != nil {
		return fmt.Errorf("%s: %q; expected %sand a number", w.cfg.Dir, text, controlAdvance)
	}
	w.judge.Advance(mark)
	return w.emit()
}

// take are lines of the log: everything that follows is a function of these and of our own, in their order.
func (w *watcher) take(lines []Line) error {
	if len(lines) == 0 {
		return nil
	}
	w.s.Lines += int64(len(lines))
	err := w.judge.Take(lines, func(place int64, err error) {
		w.s.Bad++
		if w.fresh && w.cfg.Bad != nil {
			w.cfg.Bad(place, err)
		}
	})
	if err == nil && !w.kept { // not before: options with which nothing could be judged may be put right
		if err := keepSettings(w.cfg.Dir, w.judge.Settings()); err != nil {
			return err // and no violation without them
		}
		w.kept = true
	}
	return errors.Join(err, w.emit())
}

// emit writes what has become final.
func (w *watcher) emit() error {
	return w.judge.Findings(func(class string, line func(n int64) ([]byte, error)) error {
		w.s.Violations[class]++
		fresh, err := w.out.add(line)
		if fresh != nil && w.cfg.Violation != nil {
			w.cfg.Violation(fresh)
		}
		return err
	})
}

func (w *watcher) publish() {
	if w.cfg.Metrics == nil {
		return
	}
	s := w.s
	w.judge.Stats(&s)
	s.Violations = maps.Clone(w.s.Violations)
	s.LogBytes, s.Proved = w.log.bytes, w.out.proved
	w.cfg.Metrics.set(s)
}
