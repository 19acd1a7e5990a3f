package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime"
	"strconv"
	"strings"
	"time"

	"isovet/internal/safego"
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
	// Standby: where another process watches with the folder, wait until it ends.
	Standby bool
	// Now is the clock; nil: time.Now. What it says is written to the log, a few times a second at most.
	Now func() time.Time
}

// batchLines is how many lines are written, synced, acknowledged and judged at once, at most, if the source goes by it.
const batchLines = 4096

// batches is how many batches are under way at once: being written, read, and judged.
const batches = 6

// event is what the judge is to do next: one of the three.
type event struct {
	b        *Batch
	control  string        // a line of our own
	ask      chan<- answer // how far it has got
	fresh    bool          // the lines are new, not read from the log
	logBytes int64
}

type answer struct {
	quiet int64
	some  bool
}

type watcher struct {
	cfg     Config
	judge   Judge
	log     *Log
	ended   bool // the last line says so
	free    chan *Batch
	readers *readers
	queue   chan event
	down    chan struct{} // closed when nobody judges any more
	fail    error         // why, once down is closed
	old     *Batch        // lines of the log, to be judged
	out     *emitted      // from here on the judging goroutine's
	kept    bool          // the folder has its options
	s       Snapshot
	fresh   bool // what is being judged is new
	// the writing goroutine's
	every, rest   time.Duration // see Judge.Tick
	told, arrived time.Time     // the clock last written; when lines last came
}

// Run watches until the source ends (nil) or ctx does (its error). Other errors: a folder that cannot be used, was
// begun with other options (*SettingsError), or is another process's (*LockedError), a source that fails, a log that
// is damaged, a judge that cannot go on.
//
// Lines are written by one goroutine, read by as many as there are cores, and judged by another, in their order; while
// a batch is synced the one before is judged.
func Run(ctx context.Context, cfg Config) (err error) {
	w := &watcher{cfg: cfg, judge: cfg.Judge, log: &Log{dir: cfg.Dir}, queue: make(chan event, batches),
		down: make(chan struct{}), free: make(chan *Batch, batches)}
	if w.cfg.Now == nil {
		w.cfg.Now = time.Now
	}
	w.every, w.rest = w.judge.Tick()
	w.judge.Begin(w.log.Line)
	w.s.Violations = map[string]int64{}
	held, err := lock(ctx, cfg.Dir, cfg.Standby)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, held.Close()) }()
	if w.kept, err = sameSettings(cfg.Dir, w.judge.Settings()); err != nil {
		return err
	}
	for range batches {
		w.free <- newBatch()
	}
	w.readers = newReaders(runtime.GOMAXPROCS(0))
	var judging safego.Group
	judging.Go(func() {
		defer close(w.down)
		w.fail = w.judgeAll(ctx)
	})
	err = w.write(ctx)
	close(w.queue)
	<-w.down
	w.readers.close()
	judging.Wait()
	if err == nil || errors.Is(err, errDown) {
		err = w.fail
	}
	if w.out != nil {
		err = errors.Join(err, w.out.sync(), w.out.f.Close())
	}
	if w.log.f != nil {
		err = errors.Join(err, w.log.Close())
	}
	return err
}

// errDown says that the judge has given up, and why stands elsewhere.
var errDown = errors.New("nobody judges")

// send has the judge do something next.
func (w *watcher) send(e event) error {
	e.logBytes = w.log.bytes
	select {
	case w.queue <- e:
		return nil
	case <-w.down:
		return errDown
	}
}

// batch waits for a batch that is free.
func (w *watcher) batch() (*Batch, error) {
	select {
	case b := <-w.free:
		b.reset(w.log.lines)
		return b, nil
	case <-w.down:
		return nil, errDown
	}
}

// write brings lines to the judge, first those of the log, then those of the source.
func (w *watcher) write(ctx context.Context) error {
	if err := w.again(ctx); err != nil {
		return err
	}
	if err := w.drain(nil); err != nil { // what is wrong with the folder comes before what is wrong with the source
		return err
	}
	src, err := w.cfg.Open(ctx, w.log.Last(-1), w.log.lines == 0)
	if err != nil {
		return err
	}
	return errors.Join(w.follow(ctx, src), src.Close())
}

func (w *watcher) follow(ctx context.Context, src Source) error {
	idle := false // said so already
	w.arrived = w.cfg.Now()
	for {
		wait := time.Duration(0)
		if w.cfg.Idle > 0 && !idle {
			wait = max(w.cfg.Idle-w.cfg.Now().Sub(w.arrived), time.Millisecond)
		}
		if w.every > 0 && w.cfg.Now().Sub(w.arrived) <= w.rest && (wait == 0 || w.every < wait) {
			wait = w.every
		}
		next, cancel := ctx, context.CancelFunc(func() {})
		if wait > 0 {
			next, cancel = context.WithTimeout(ctx, wait)
		}
		lines, err := src.Next(next, batchLines)
		cancel()
		switch {
		case err != nil && ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, context.DeadlineExceeded):
			idle, err = w.quiet(idle)
		case errors.Is(err, io.EOF):
			if !w.ended {
				err = w.control(controlEnd)
			} else {
				err = nil
			}
			return errors.Join(err, w.drain(nil))
		case err == nil:
			idle = false
			err = w.take(src, lines)
		}
		if err != nil {
			return err
		}
	}
}

// quiet is what happens when nothing has come for a while.
func (w *watcher) quiet(idle bool) (bool, error) {
	now := w.cfg.Now()
	if w.cfg.Idle > 0 && !idle && now.Sub(w.arrived) >= w.cfg.Idle {
		var a answer
		err := w.drain(&a)
		if err == nil && a.some {
			err = w.control(controlAdvance + strconv.FormatInt(a.quiet, 10))
		}
		return true, err
	}
	if w.every > 0 && now.Sub(w.told) >= w.every && now.Sub(w.arrived) <= w.rest+w.every {
		w.told = now
		return idle, w.control(controlClock + strconv.FormatInt(now.UnixNano(), 10))
	}
	return idle, nil
}

// Lines of our own in the log.
const (
	controlAdvance = "!advance "
	controlClock   = "!clock " // ns since 1970
	controlEnd     = "!end"
)

// again judges what is in the log.
func (w *watcher) again(ctx context.Context) error {
	flush := func() error {
		b := w.old
		if b == nil {
			return nil
		}
		w.old = nil
		return w.hand(b, false)
	}
	err := w.log.open(func(place int64, line []byte) (err error) {
		if w.old == nil {
			if w.old, err = w.batch(); err != nil {
				return err
			}
			w.old.First-- // it is counted already
		}
		w.ended = false
		w.old.add(place, line)
		if len(w.old.Lines) < batchLines {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		return flush()
	}, func(text string) error {
		if err := flush(); err != nil {
			return err
		}
		w.ended = text == controlEnd
		return w.send(event{control: text})
	})
	return errors.Join(err, flush())
}

// hand gives a batch to who reads it, and to the judge.
func (w *watcher) hand(b *Batch, fresh bool) error {
	b.seal()
	w.readers.jobs <- b
	return w.send(event{b: b, fresh: fresh})
}

// take logs, acknowledges, and only then has it judged.
func (w *watcher) take(src Source, lines []Line) error {
	b, err := w.batch()
	if err != nil {
		return err
	}
	last, none := w.log.last, w.log.lines == 0
	for _, l := range lines {
		if none || l.Place > last { // else it is there already
			b.add(l.Place, l.Text)
			last, none = l.Place, false
		}
	}
	if len(b.Lines) == 0 {
		w.free <- b
		return src.Done()
	}
	w.ended = false
	b.seal()
	w.arrived = w.cfg.Now()
	clock := ""
	if w.every > 0 && w.arrived.Sub(w.told) >= w.every {
		w.told = w.arrived
		clock = controlClock + strconv.FormatInt(w.told.UnixNano(), 10)
		if err := w.log.control(clock); err != nil {
			return err
		}
	}
	w.readers.jobs <- b // while it is written
	err = w.log.Append(b)
	if err == nil {
		err = w.log.Sync()
	}
	if err == nil {
		err = src.Done()
	}
	if err == nil && clock != "" {
		err = w.send(event{control: clock, fresh: true})
	}
	if err != nil {
		return err
	}
	return w.send(event{b: b, fresh: true})
}

func (w *watcher) control(text string) error {
	if err := w.log.control(text); err != nil {
		return err
	}
	if err := w.log.Sync(); err != nil {
		return err
	}
	w.ended = w.ended || text == controlEnd
	return w.send(event{control: text, fresh: true})
}

// drain waits until the judge has done all.
func (w *watcher) drain(to *answer) error {
	done := make(chan answer, 1)
	if err := w.send(event{ask: done}); err != nil {
		return err
	}
	select {
	case a := <-done:
		if to != nil {
			*to = a
		}
		return nil
	case <-w.down:
		return errDown
	}
}

// judgeAll is the judging goroutine: everything that it does is a function of the lines of the log, in their order.
func (w *watcher) judgeAll(ctx context.Context) (err error) {
	for e := range w.queue {
		if ctx.Err() != nil && e.ask == nil { // the log has it
			if e.b != nil {
				<-e.b.ready
				w.free <- e.b
			}
			continue
		}
		if w.out == nil {
			if w.out, err = openEmitted(w.cfg.Dir); err != nil {
				return err
			}
		}
		w.fresh = e.fresh
		w.s.LogBytes = e.logBytes
		switch {
		case e.ask != nil:
			if err := w.out.sync(); err != nil {
				return err
			}
			w.publish()
			var a answer
			a.quiet, a.some = w.judge.Quiet()
			e.ask <- a
			continue
		case e.b != nil:
			err = w.judged(e.b)
			w.free <- e.b
		default:
			err = w.own(e.control)
		}
		if err != nil {
			return err
		}
		if w.fresh {
			w.publish()
			if err := w.out.sync(); err != nil {
				return err
			}
		}
	}
	return nil
}

// own is a line of our own.
func (w *watcher) own(text string) error {
	if text == controlEnd {
		w.judge.End()
		return w.emit()
	}
	say := w.judge.Advance
	number, is := strings.CutPrefix(text, controlAdvance)
	if !is {
		number, _ = strings.CutPrefix(text, controlClock)
		say = w.judge.Clock
	}
	mark, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return fmt.Errorf("%s: %q; expected %sor %sand a number", w.cfg.Dir, text, controlAdvance, controlClock)
	}
	say(mark)
	return w.emit()
}

// judged are lines of the log.
func (w *watcher) judged(b *Batch) error {
	b.wait()
	w.s.Lines += int64(len(b.Lines))
	err := w.judge.Take(b, func(place int64, err error) {
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
	s.Proved = w.out.proved
	w.cfg.Metrics.set(s)
}
