package watch

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
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
	// Prepare, if set, is called once the folder is ours, before its log is read, which may take a while.
	Prepare func() error
	// Open makes the source, which goes on behind the places of the last lines in the log; of an empty log there are
	// none.
	Open func(ctx context.Context, after Places) (Source, error)
	// Checkpoint, if positive: so long after the beginning of a checkpoint another one is made, if something has come
	// meanwhile, and one at the end, unless the judge fails. A start goes on from the latest. 0: none is made.
	Checkpoint time.Duration
	// Memory, if positive, in bytes, is what there is for all, and fewer lines are under way at once where that is
	// little.
	Memory int64
	// Keep says how much of the log stays behind the checkpoints.
	Keep Keep
	// Log, if set, takes what an operator should know.
	Log *slog.Logger
	// Grouped: of each incident the first violations are written, and a line each time that their number has doubled.
	Grouped bool
	// ViolationsMax, if positive, is how many bytes the files of violations may take; the oldest are deleted.
	ViolationsMax int64
	// Evidence bounds the small histories of violations in the folder, of the first ones of each incident; 0: none.
	Evidence int
	// Violation, if set, is called with each new line of the file of violations, without its end.
	Violation func(line []byte)
	// Suspect, if set, is called with each read that waits for a late writer, and when that is settled: a JSON line of
	// a Suspect without its end. Of what is judged again it is not called.
	Suspect func(line []byte)
	// Bad, if set, is called with the mistake of each new line that is not understood.
	Bad     func(place int64, err error)
	Metrics *Metrics // nil: none
	// Incidents, if set, has what was found, grouped, from the beginning of Run on.
	Incidents *Incidents
	// AcceptLoss: a log that has lost some of what it had is no error; it goes on with what is whole.
	AcceptLoss bool
	// Standby: where another process watches with the folder, wait until it ends.
	Standby bool
	// Now is the clock; nil: time.Now. What it says is written to the log, a few times a second at most.
	Now func() time.Time
	// disk, in tests, is the error of the next write to a file of the folder.
	disk func() error
}

// batchLines bounds the lines that are written, synced, acknowledged and judged at once, if the source works by it.
const batchLines = 4096

// lines is batchLines of this watch.
func (c *Config) lines() int {
	if c.Memory <= 0 {
		return batchLines
	}
	return int(min(max(c.Memory>>15, 256), batchLines))
}

// batches is the number of batches under way at once: one written, one read, one judged.
const batches = 6

// event is what the judge is to do next: one of the three.
type event struct {
	b       *Batch
	control string        // a line of our own
	ask     chan<- answer // how far it has got
	fresh   bool          // the lines are new, not read from the log
	at      Position      // behind it
}

type answer struct {
	quiet int64
	some  bool
}

type watcher struct {
	cfg       Config
	judge     Judge
	log       *Log
	free      chan *Batch
	readers   *readers
	queue     chan event
	down      chan struct{} // closed when nobody judges any more
	fail      error         // why, once down is closed
	old       *Batch        // lines of the log, to be judged
	oldAt     Position      // behind them
	from      manifest      // of the checkpoint from which it goes on
	incidents *Incidents
	state     judgeState
	keeper    keeper
	// what became of the latest checkpoint
	checkpointed atomic.Pointer[checkpointed]
	writing      arrivalTimes
	halted       diskHalts
}

// judgeState is how far the stream is judged. It is the judging goroutine's once that runs.
type judgeState struct {
	s        Snapshot
	suspects []Suspect // of the snapshot
	listed   time.Time
	out      *emitted
	kept     bool // the folder has its options
	lost     bool // the log does not have all that it had
	fresh    bool // what is being judged is new
	at       Position
	under    *Position // behind what is being judged; nil: nothing is
	places   Places
	saved    Position // at of the latest checkpoint
}

// arrivalTimes is what the writing goroutine knows of the lines that came.
type arrivalTimes struct {
	every, rest   time.Duration // see Judge.Tick
	told, arrived time.Time     // the clock last written; when lines last came
	was           *logLines     // see sameLine
}

// diskHalts is for whoever finds the disk full.
type diskHalts struct {
	halting sync.Mutex
	halts   int
	source  Source
}

// Run watches until the source ends (nil) or ctx does (its error). Other errors: a folder that cannot be used, was
// begun with other options (*SettingsError), or is another process's (*LockedError), a source that fails, a log that
// is damaged, a judge that cannot go on.
//
// Lines are written by one goroutine, read by as many as there are cores, and judged by another, in their order; while
// a batch is synced the one before is judged.
func Run(ctx context.Context, cfg Config) (err error) {
	w := &watcher{cfg: cfg, judge: cfg.Judge, log: &Log{dir: cfg.Dir, disk: disk{cfg.disk}},
		queue: make(chan event, batches),
		down:  make(chan struct{}), free: make(chan *Batch, batches)}
	if w.cfg.Now == nil {
		w.cfg.Now = time.Now
	}
	if w.cfg.Log == nil {
		w.cfg.Log = slog.New(slog.DiscardHandler)
	}
	if w.incidents = cfg.Incidents; w.incidents == nil {
		w.incidents = &Incidents{}
	}
	w.incidents.restore(incidentState{}, DefaultPause)
	w.keeper.busy, w.keeper.last = make(chan struct{}, 1), time.Now()
	w.writing.every, w.writing.rest = w.judge.Tick()
	w.judge.Begin(w.log.Line)
	w.state.s.Violations, w.state.places = map[string]int64{}, Places{}
	held, err := lock(ctx, cfg.Dir, cfg.Standby)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, held.Close()) }()
	if cfg.Prepare != nil {
		if err := cfg.Prepare(); err != nil {
			return err
		}
	}
	if w.state.kept, err = sameSettings(cfg.Dir, w.judge.Settings()); err != nil {
		return err
	}
	if j, is := w.judge.(hashing); is {
		if err := keepKey(cfg.Dir, j.hashes()); err != nil {
			return err
		}
	}
	if err := w.resume(); err != nil {
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
	w.keeper.group.Wait()
	if err == nil || errors.Is(err, errDown) {
		err = w.fail
	}
	if w.state.out != nil {
		err = errors.Join(err, w.state.out.close())
	}
	if w.log.f != nil {
		err = errors.Join(err, w.log.Close())
	}
	return err
}

// resume goes back to the latest checkpoint, if there is one.
func (w *watcher) resume() error {
	m, err := w.restore()
	if err != nil {
		return err
	}
	if m != nil {
		w.from = *m
	}
	if w.cfg.AcceptLoss {
		err = w.accept()
	}
	if err != nil || m == nil {
		return err
	}
	w.state.at, w.state.saved, w.state.places = m.Log, m.Log, maps.Clone(m.Places)
	w.state.s.Lines, w.state.s.Bad, w.state.s.LogBytes = m.Log.Lines, m.Bad, m.Log.Bytes
	maps.Copy(w.state.s.Violations, m.Found)
	w.incidents.restore(m.Incidents, DefaultPause)
	w.checkpointed.Store(&checkpointed{at: m.Written})
	w.keeper.last = time.Now()
	if w.cfg.Metrics != nil { // the rest of the log is still to be judged
		s := w.state.s
		w.judge.Stats(&s)
		s.Violations, s.Proved = maps.Clone(w.state.s.Violations), m.Emitted.Proved
		s.Incidents, s.OpenIncidents, s.Kinds = w.incidents.counts()
		w.cfg.Metrics.set(s)
	}
	return nil
}

// errDown says that the judge has given up, and why stands elsewhere.
var errDown = errors.New("nobody judges")

// send has the judge do something next.
func (w *watcher) send(e event) error {
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
		b.reset(w.log.at.Lines)
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
	src, err := w.cfg.Open(ctx, maps.Clone(w.log.places))
	if err != nil {
		return err
	}
	w.halted.halting.Lock()
	w.halted.source = src
	w.halted.halting.Unlock()
	if m := w.cfg.Metrics; m != nil {
		m.setReady(true)
		defer m.setReady(false)
	}
	return errors.Join(w.follow(ctx, src), src.Close(), w.writing.was.close())
}

func (w *watcher) follow(ctx context.Context, src Source) error {
	idle := false // said so already
	w.writing.arrived = w.cfg.Now()
	for {
		wait := time.Duration(0)
		if w.cfg.Idle > 0 && !idle {
			wait = max(w.cfg.Idle-w.cfg.Now().Sub(w.writing.arrived), time.Millisecond)
		}
		if t := &w.writing; t.every > 0 && w.cfg.Now().Sub(t.arrived) <= t.rest && (wait == 0 || t.every < wait) {
			wait = w.writing.every
		}
		next, cancel := ctx, context.CancelFunc(func() {})
		if wait > 0 {
			next, cancel = context.WithTimeout(ctx, wait)
		}
		lines, err := src.Next(next, w.cfg.lines())
		cancel()
		switch {
		case err != nil && ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, context.DeadlineExceeded):
			idle, err = w.quiet(ctx, idle)
		case errors.Is(err, io.EOF):
			if !w.log.at.Ended {
				err = w.control(ctx, controlEnd)
			} else {
				err = nil
			}
			return errors.Join(err, w.drain(nil))
		case err == nil:
			idle = false
			err = w.take(ctx, src, lines)
		}
		if err != nil {
			return err
		}
	}
}

// quiet is what happens when nothing has come for a while.
func (w *watcher) quiet(ctx context.Context, idle bool) (bool, error) {
	now := w.cfg.Now()
	if w.cfg.Idle > 0 && !idle && now.Sub(w.writing.arrived) >= w.cfg.Idle {
		var a answer
		err := w.drain(&a)
		if err == nil && a.some {
			err = w.control(ctx, controlAdvance+strconv.FormatInt(a.quiet, 10))
		}
		return true, err
	}
	if t := &w.writing; t.every > 0 && now.Sub(t.told) >= t.every && now.Sub(t.arrived) <= t.rest+t.every {
		w.writing.told = now
		return idle, w.control(ctx, controlClock+strconv.FormatInt(now.UnixNano(), 10))
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
		return w.hand(b, false, w.oldAt)
	}
	err := w.log.open(w.from.Log, w.from.Places, func(place int64, of string, line []byte) (err error) {
		if w.old == nil {
			if w.old, err = w.batch(); err != nil {
				return err
			}
			w.old.First-- // it is counted already
		}
		w.old.add(Line{Place: place, Text: line, Of: of})
		w.oldAt = w.log.at
		if len(w.old.Lines) < w.cfg.lines() {
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
		return w.send(event{control: text, at: w.log.at})
	})
	return errors.Join(err, flush())
}

// hand gives a batch to who reads it, and to the judge.
func (w *watcher) hand(b *Batch, fresh bool, at Position) error {
	b.seal()
	w.readers.jobs <- b
	return w.send(event{b: b, fresh: fresh, at: at})
}

// take logs, acknowledges, and only then has it judged.
func (w *watcher) take(ctx context.Context, src Source, lines []Line) error {
	b, err := w.batch()
	if err != nil {
		return err
	}
	last := lastPlace{place: w.log.places.Last()}
	for _, l := range lines {
		if l.Of != last.of {
			last = lastPlace{l.Of, w.log.places.Of(l.Of)}
			for _, x := range b.last {
				if x.of == l.Of {
					last = x
				}
			}
		}
		if l.Place > last.place { // else it is there already
			b.add(l)
			last.place = l.Place
		} else if err := w.sameLine(src, l); err != nil {
			w.free <- b
			return err
		}
	}
	if len(b.Lines) == 0 {
		w.free <- b
		return src.Done()
	}
	b.seal()
	w.writing.arrived = w.cfg.Now()
	clock := ""
	if w.writing.every > 0 && w.writing.arrived.Sub(w.writing.told) >= w.writing.every {
		w.writing.told = w.writing.arrived
		clock = controlClock + strconv.FormatInt(w.writing.told.UnixNano(), 10)
	}
	w.readers.jobs <- b // while it is written
	told, err := w.put(ctx, clock, b)
	if err == nil {
		err = src.Done()
	}
	if m := w.cfg.Metrics; m != nil && err == nil {
		m.came(w.log.at.Lines, w.writing.arrived)
	}
	if err == nil && clock != "" {
		err = w.send(event{control: clock, fresh: true, at: told})
	}
	if err != nil {
		return err
	}
	return w.send(event{b: b, fresh: true, at: w.log.at})
}

func (w *watcher) control(ctx context.Context, text string) error {
	told, err := w.put(ctx, text, nil)
	if err != nil {
		return err
	}
	return w.send(event{control: text, fresh: true, at: told})
}

// put puts into the log what comes next, as soon as there is room for it.
func (w *watcher) put(ctx context.Context, control string, b *Batch) (told Position, err error) {
	err = w.patiently(ctx, w.cfg.Dir, func() error {
		told, err = w.log.put(control, b)
		return err
	})
	return told, err
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
