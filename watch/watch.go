package watch

import (
	"cmp"
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

	"isovet/internal/filelock"
	"isovet/internal/safego"
)

// Config configures a watch.
type Config struct {
	// Dir is the folder of the segment log and the violations. It belongs to one stream and one judge.
	Dir string
	// Judge checks the stream. It cannot be reused.
	Judge Judge
	// Idle, if positive, is the time without arrivals after which all transactions so far become final.
	Idle time.Duration
	// Prepare, if set, is called when the folder is locked, before the log is read, which may take a while.
	Prepare func() error
	// Open makes the source. It must continue after the places of the log's last lines; for an empty log there are
	// none.
	Open func(ctx context.Context, after Places) (Source, error)
	// Checkpoint, if positive, is the time from one checkpoint's begin to the next, if lines have arrived meanwhile.
	// At the end the watch writes one more, unless the judge failed. A start resumes from the latest. 0 means none.
	Checkpoint time.Duration
	// Memory, if positive, is the memory for the whole process, in bytes. If it is small, fewer lines are in progress
	// at once.
	Memory int64
	// Keep bounds the part of the log that checkpoints no longer need.
	Keep Keep
	// Log, if set, gets messages for the operator.
	Log *slog.Logger
	// Grouped writes only the first violations of each incident, and then a line each time that their number has
	// doubled.
	Grouped bool
	// ViolationsMax, if positive, bounds the bytes of all files of violations. The oldest are deleted.
	ViolationsMax int64
	// Evidence bounds the small histories in the folder. They are made for the first violations of each incident; 0
	// means none.
	Evidence int
	// Violation, if set, is called with each new line of the file of violations, without its end.
	Violation func(line []byte)
	// Suspect, if set, is called when a read begins to wait for a late writer, and when it is settled, with a JSON
	// line of a Suspect without line end. It is not called for lines that are judged again.
	Suspect func(line []byte)
	// Bad, if set, is called with the error of each new line that the watch does not understand.
	Bad     func(place int64, err error)
	Metrics *Metrics // nil: none
	// Incidents, if set, receives the findings in groups.
	Incidents *Incidents
	// AcceptLoss accepts a log that has lost lines; the watch goes on without these.
	AcceptLoss bool
	// Standby waits until no other process uses the folder.
	Standby bool
	// Now is the clock; nil means time.Now. Its times are written to the log, at most a few times a second.
	Now func() time.Time
	// disk, in tests, returns an error for the next write to a file of the folder.
	disk func() error
}

// batchLines bounds the lines that are written, synced, acknowledged and judged together, if the source respects it.
const batchLines = 4096

// lines returns the bound of this watch in place of batchLines.
func (c *Config) lines() int {
	if c.Memory <= 0 {
		return batchLines
	}
	return int(min(max(c.Memory>>15, 256), batchLines))
}

// batches is the number of batches in progress at once, each being written, parsed or judged.
const batches = 6

// event is one piece of work for the judge: b, control or ask.
type event struct {
	b       *Batch
	control string        // one of the log's own lines
	ask     chan<- answer // asks for the judge's progress
	fresh   bool          // the lines are new, not read from the log
	at      Position      // the position behind it
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
	down      chan struct{} // closed when judging has ended
	fail      error         // the reason, once down is closed
	old       *Batch        // lines of the log, to be judged
	oldAt     Position      // behind them
	from      manifest      // manifest of the checkpoint that it resumed from
	incidents *Incidents
	state     judgeState
	keeper    keeper
	// checkpointed is the result of the latest checkpoint.
	checkpointed atomic.Pointer[checkpointed]
	writing      arrivalTimes
	halted       diskHalts
}

// judgeState is the judge's progress. Once the judging goroutine runs, only that one uses it.
type judgeState struct {
	s        Snapshot
	suspects []Suspect // for the snapshot
	listed   time.Time
	out      *emitted
	kept     bool   // the folder's options are stored
	warned   bool   // of levels that transactions name
	lost     bool   // the log has lost lines
	losses   string // that were accepted
	fresh    bool   // the lines being judged are new
	at       Position
	under    *Position // behind the lines being judged; nil: none are
	places   Places
	saved    Position // at of the latest checkpoint
}

// arrivalTimes has times of arrivals for the writing goroutine.
type arrivalTimes struct {
	every, rest   time.Duration // see Judge.Tick
	told, arrived time.Time     // last written clock; last arrival
	was           *logLines     // see sameLine
}

// diskHalts is the state of pauses because of a full disk.
type diskHalts struct {
	halting sync.Mutex
	halts   int
	source  Source
}

// Run watches until the source ends, and then returns nil, or until ctx ends, and then returns its error. Other
// errors: the folder cannot be used, was begun with other options (*SettingsError), or is locked by another process
// (*LockedError); the source fails; the log is damaged; the judge cannot go on.
//
// One goroutine writes lines, one for each core parses them, and another one judges them in order. While a batch is
// synced, the one before is judged.
func Run(ctx context.Context, cfg Config) (err error) {
	w := &watcher{cfg: cfg, judge: cfg.Judge, log: &Log{dir: cfg.Dir, disk: disk{cfg.disk}},
		queue: make(chan event, batches),
		down:  make(chan struct{}), free: make(chan *Batch, batches)}
	if w.cfg.Now == nil {
		w.cfg.Now = time.Now
	}
	w.cfg.Log = cmp.Or(w.cfg.Log, slog.New(slog.DiscardHandler))
	if w.incidents = cfg.Incidents; w.incidents == nil {
		w.incidents = &Incidents{}
	}
	w.incidents.restore(incidentState{}, DefaultPause)
	w.keeper.busy, w.keeper.last = make(chan struct{}, 1), time.Now()
	w.writing.every, w.writing.rest = w.judge.Tick()
	w.writing.rest += max(0, cfg.Idle) // reads may begin to wait then
	w.judge.Begin(w.log.Line)
	w.state.s.Violations, w.state.places = map[string]int64{}, Places{}
	held, err := lock(ctx, cfg.Dir, cfg.Standby)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, filelock.Close(held)) }()
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

// resume resumes from the latest checkpoint, if there is one.
func (w *watcher) resume() error {
	m, err := w.restore()
	if err != nil {
		return err
	}
	if m != nil {
		w.from = *m
	}
	if w.cfg.AcceptLoss || w.state.lost {
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

// errDown says that the judging goroutine has ended. watcher.fail has the reason.
var errDown = errors.New("nobody judges")

func (w *watcher) send(e event) error {
	select {
	case w.queue <- e:
		return nil
	case <-w.down:
		return errDown
	}
}

func (w *watcher) batch() (*Batch, error) {
	select {
	case b := <-w.free:
		b.reset(w.log.at.Lines)
		return b, nil
	case <-w.down:
		return nil, errDown
	}
}

// write passes lines to the judge, first the log's, then the source's.
func (w *watcher) write(ctx context.Context) error {
	if err := w.again(ctx); err != nil {
		return err
	}
	if err := w.drain(nil); err != nil { // errors of the folder come before errors of the source
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
	err = w.patiently(ctx, w.cfg.Dir, func() error { return sameSource(w.cfg.Dir, src, w.log.at.Lines) })
	if err == nil {
		err = w.tellLost(ctx, src)
	}
	if err == nil {
		err = w.follow(ctx, src)
	}
	return errors.Join(err, src.Close(), w.writing.was.close())
}

func (w *watcher) follow(ctx context.Context, src Source) error {
	idle := false // quiet was reported
	w.writing.arrived = w.cfg.Now()
	for {
		wait := time.Duration(0)
		if w.cfg.Idle > 0 && !idle {
			wait = max(w.cfg.Idle-w.cfg.Now().Sub(w.writing.arrived), time.Millisecond)
		}
		if t := &w.writing; t.every > 0 && w.cfg.Now().Sub(t.arrived) <= t.rest && (wait == 0 || t.every < wait) {
			wait = w.writing.every
		}
		if wait == 0 && w.writing.every > 0 {
			wait = max(DefaultPause-w.cfg.Now().Sub(w.writing.told), time.Minute) // for the end of incidents
		}
		next, cancel := ctx, context.CancelFunc(func() {})
		if wait > 0 {
			next, cancel = context.WithTimeout(ctx, wait)
		}
		lines, err := src.Next(next, w.cfg.lines())
		cancel()
		came := w.cfg.Now()
		if x, is := src.(interface{ Lost() bool }); is && x.Lost() && ctx.Err() == nil {
			if err := w.control(ctx, controlLost); err != nil {
				return err
			}
		}
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
			idle, w.writing.arrived = false, came
			err = w.take(ctx, src, lines)
		}
		if err != nil {
			return err
		}
		w.writing.arrived = w.writing.arrived.Add(w.cfg.Now().Sub(came)) // the source was not asked meanwhile
	}
}

// quiet handles a time without arrivals.
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
	_, open, _ := w.incidents.counts()
	if t := &w.writing; t.every > 0 && now.Sub(t.told) >= t.every && now.Sub(t.arrived) <= t.rest+t.every ||
		t.every > 0 && open > 0 && now.Sub(t.told) >= DefaultPause {
		w.writing.told = now
		return idle, w.control(ctx, controlClock+strconv.FormatInt(now.UnixNano(), 10))
	}
	return idle, nil
}

// The log's own lines, which the watch itself writes.
const (
	controlAdvance = "!advance "
	controlClock   = "!clock " // ns since 1970
	controlEnd     = "!end"
	controlLost    = "!lost" // lines before the next ones
)

// again judges the lines that are in the log.
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

// hand passes a batch to the parsing goroutines and to the judge.
func (w *watcher) hand(b *Batch, fresh bool, at Position) error {
	b.seal()
	w.readers.jobs <- b
	return w.send(event{b: b, fresh: fresh, at: at})
}

// take writes lines to the log, acknowledges them, and then passes them to the judge.
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
		if l.Place > last.place { // otherwise it is a duplicate
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
	clock := ""
	if w.writing.every > 0 && w.writing.arrived.Sub(w.writing.told) >= w.writing.every {
		w.writing.told = w.writing.arrived
		clock = controlClock + strconv.FormatInt(w.writing.told.UnixNano(), 10)
	}
	w.readers.jobs <- b // parse it while it is being written
	came := w.writing.arrived
	told, err := w.put(ctx, clock, b)
	if err == nil {
		err = src.Done()
	}
	if m := w.cfg.Metrics; m != nil && err == nil {
		m.came(w.log.at.Lines, came)
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

// drain waits until the judge has finished.
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
