package watch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"isovet/history"
)

// judgeAll runs the judging goroutine. Its results depend only on the log's lines, in their order.
func (w *watcher) judgeAll(ctx context.Context) (err error) {
	if x, is := w.judge.(Interruptible); is {
		x.Until(func() bool { return ctx.Err() != nil || w.due() })
	}
	for e := range w.queue {
		if ctx.Err() != nil && e.ask == nil { // the log has it
			if e.b != nil {
				<-e.b.ready
				w.free <- e.b
			}
			continue
		}
		if err := w.open(); err != nil {
			return err
		}
		w.state.fresh = e.fresh
		w.cfg.Metrics.works(time.Now())
		if e.ask != nil {
			if err := w.answer(ctx, e.ask); err != nil {
				return err
			}
			continue
		}
		w.log.judged, w.state.under = e.at, &e.at
		if e.b != nil {
			err = w.judged(ctx, e.b)
			w.free <- e.b
		} else {
			err = w.own(ctx, e.control)
		}
		if err != nil {
			if err == ctx.Err() { // see the function whole
				err = cmp.Or(w.leave(ctx), err)
			}
			return err
		}
		if err := w.settle(ctx, e.at); err != nil {
			return err
		}
	}
	return w.leave(ctx)
}

// open opens the file of violations unless it is open.
func (w *watcher) open() error {
	if w.state.out != nil {
		return nil
	}
	var short bool
	var err error
	w.state.out, short, err = openEmitted(emittedOptions{w.cfg.Dir, w.cfg.Grouped, w.cfg.ViolationsMax,
		disk{w.cfg.disk}, w.cfg.Violation, w.cfg.Log, w.cfg.Evidence, w.log}, w.from.Emitted, w.incidents)
	if err == nil && short {
		w.cfg.Log.Warn("violations.jsonl was truncated; watch goes on with its next number", "folder", w.cfg.Dir)
	}
	return err
}

// answer reports the judge's progress.
func (w *watcher) answer(ctx context.Context, ask chan<- answer) error {
	if err := w.tell(ctx); err != nil {
		return err
	}
	w.state.listed = time.Time{}
	w.publish()
	w.state.out.snapshot.write(w.incidents, false)
	var a answer
	a.quiet, a.some = w.judge.Quiet()
	w.cfg.Metrics.works(time.Time{})
	ask <- a
	return nil
}

// settle ends an event: everything before position at is judged.
func (w *watcher) settle(ctx context.Context, at Position) error {
	w.state.under = nil
	w.state.at, w.state.s.LogBytes = at, at.Bytes
	if w.state.fresh {
		w.publish()
		if err := w.tell(ctx); err != nil {
			return err
		}
		w.state.out.snapshot.write(w.incidents, false)
	}
	w.cfg.Metrics.works(time.Time{})
	if !w.due() {
		return nil
	}
	if err := w.tell(ctx); err != nil {
		return err
	}
	w.checkpoint()
	return nil
}

// leave writes the state at the end, for a later run.
func (w *watcher) leave(ctx context.Context) error {
	w.keeper.closing.Store(true)
	if w.state.out != nil {
		if err := w.tell(ctx); err != nil {
			return err
		}
	}
	if w.cfg.Checkpoint > 0 && w.isNew() && w.settled() {
		w.checkpoint()
	}
	return nil
}

// whole calls do, which calls the judge, and reports the findings. If the judge returns early, whole does the due
// work, such as a checkpoint, and calls do again. If ctx has ended, the next run repeats the call.
func (w *watcher) whole(ctx context.Context, do func() error) error {
	x, is := w.judge.(Interruptible)
	for {
		err := do()
		again := is && x.Cut()
		if err = errors.Join(err, w.emit(ctx)); err != nil || !is || !again && !x.Cut() {
			return err
		}
		if w.state.fresh {
			w.publish()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if w.due() {
			if err := w.tell(ctx); err != nil {
				return err
			}
			w.checkpoint()
		}
	}
}

// own handles a line of the log that the watch itself wrote.
func (w *watcher) own(ctx context.Context, text string) error {
	if text == controlEnd {
		return w.whole(ctx, func() error {
			w.judge.End()
			return nil
		})
	}
	say := w.judge.Advance
	if text == controlLost {
		w.judge.Lost()
		return nil
	}
	number, is := strings.CutPrefix(text, controlAdvance)
	if !is {
		number, _ = strings.CutPrefix(text, controlClock)
		say = w.judge.Clock
	}
	mark, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return fmt.Errorf("%s: %q; expected %sor %sand a number", w.cfg.Dir, text, controlAdvance, controlClock)
	}
	if is := strings.HasPrefix(text, controlClock); is {
		w.incidents.clock(mark)
	}
	return w.whole(ctx, func() error {
		say(mark)
		return nil
	})
}

func (w *watcher) judged(ctx context.Context, b *Batch) error {
	b.wait()
	err := w.whole(ctx, func() error {
		err := w.judge.Take(b, func(place int64, err error) {
			w.state.s.Bad++
			if w.state.fresh && w.cfg.Bad != nil {
				w.cfg.Bad(place, err)
			}
		})
		if err == nil && !w.state.kept { // not before: wrong options may be corrected
			err = keepSettings(w.cfg.Dir, w.judge.Settings())
			w.state.kept = err == nil
		}
		return err
	})
	if err == nil {
		w.warnLevels(b)
		w.state.s.Lines += int64(len(b.Lines))
		b.moves(w.state.places)
	}
	return err
}

// warnLevels warns once if transactions name another level than the judge's.
func (w *watcher) warnLevels(b *Batch) {
	for i := 0; i < len(b.Heads) && w.state.fresh && !w.state.warned; i++ {
		id := b.Heads[i].Level
		if id == history.None || b.Heads[i].Status == history.Aborted {
			continue
		}
		named := string(b.H.Texts.Text(id))
		for _, s := range w.judge.Settings() {
			if s.Name == "level" && s.Value != named && s.Value != ofProfile {
				w.state.warned = true
				w.cfg.Log.Warn("transactions name levels of their own; watch judges all of them at --level",
					"level", s.Value, "named", named)
			}
		}
	}
}

// emit passes the judge's final findings to the file of violations.
func (w *watcher) emit(ctx context.Context) error {
	err := w.judge.Findings(func(f *Finding) error {
		w.state.s.Violations[f.Class]++
		return w.state.out.add(f)
	})
	if s, is := w.judge.(suspecting); is && err == nil {
		wanted := w.state.fresh && w.cfg.Suspect != nil
		told, err := s.SuspectsTold(wanted)
		if err != nil {
			return err
		}
		for i := 0; i < len(told) && wanted; i++ {
			line, err := json.Marshal(&told[i])
			if err != nil {
				return err
			}
			w.cfg.Suspect(line)
		}
	}
	if err == nil && len(w.state.out.text) > manyLines {
		err = w.tell(ctx)
	}
	return err
}

// listedSuspects bounds the suspects of a snapshot.
const listedSuspects = 20

// manyLines is the size, in bytes, up to which violations are collected before a write while the log is judged again.
const manyLines = 1 << 20

// tell writes violations, and syncs them.
func (w *watcher) tell(ctx context.Context) error {
	return w.patiently(ctx, w.state.out.f.Name(), w.state.out.sync)
}

func (w *watcher) publish() {
	if w.cfg.Metrics == nil {
		return
	}
	s := w.state.s
	w.judge.Stats(&s)
	s.Violations = maps.Clone(w.state.s.Violations)
	if x, is := w.judge.(suspecting); is {
		if now := time.Now(); now.Sub(w.state.listed) >= time.Second {
			w.state.suspects, w.state.listed = x.Suspects(listedSuspects), now
		}
		s.Suspects = w.state.suspects
	}
	s.Incidents, s.OpenIncidents, s.Kinds = w.incidents.counts()
	s.Proved = w.state.out.proved
	if c := w.checkpointed.Load(); c != nil {
		s.CheckpointAt, s.CheckpointBytes = c.at, c.size
	}
	w.cfg.Metrics.set(s)
}
