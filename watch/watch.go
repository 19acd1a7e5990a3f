package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strconv"
	"strings"
	"time"

	"isovet/history"
	"isovet/timestamp"
)

// Config says what to watch.
type Config struct {
	// Dir holds the segment log and the violations. It belongs to one stream and one set of options.
	Dir     string
	Options timestamp.Options
	// Lateness is how far, in the database's timestamps, a transaction may start before the latest start seen and not be late.
	Lateness int64
	// Idle, if positive: after so long without arrivals everything seen so far is final.
	Idle time.Duration
	// Open makes the source, which goes on behind the place of the last line in the log; none says that the log is empty.
	Open func(ctx context.Context, after int64, none bool) (Source, error)
	// Violation, if set, is called with each new final violation, a JSON line without its end.
	Violation func(line []byte)
	// Bad, if set, is called with the mistake of each new line that is not understood.
	Bad     func(place int64, err error)
	Metrics *Metrics // nil: none
}

// batchLines is how many lines are written, synced and acknowledged at once, at most.
const batchLines = 4096

// Violation is a final violation as the file has it.
type Violation struct {
	N     int64           `json:"n"` // from 1, in the order in which they became final
	Axiom string          `json:"axiom"`
	Why   string          `json:"why,omitempty"` // of EXT, as far as the window knows: own, before, uncommitted, after
	Txn   int64           `json:"txn"`
	Other *int64          `json:"other,omitempty"` // SESSION: the one before; NOCONFLICT: who committed first; EXT: who installed what should have been read
	Key   json.RawMessage `json:"key,omitempty"`
	Op    *uint32         `json:"op,omitempty"` // the read's place in the transaction, from 0
}

type watcher struct {
	cfg   Config
	aion  *timestamp.Aion
	p     *parser
	log   *Log
	out   *emitted
	begun bool
	max   int64 // latest start, or commit at the serializable levels
	ended bool
	fresh bool // the lines are new, not read from the log
	s     Snapshot
}

// Run watches until the source ends (nil) or ctx does (its error). Other errors: a folder that cannot be used, a source that fails, a log that is damaged.
func Run(ctx context.Context, cfg Config) (err error) {
	w := &watcher{cfg: cfg}
	if cfg.Lateness < 0 {
		return fmt.Errorf("lateness %d is negative", cfg.Lateness)
	}
	if w.aion, err = timestamp.NewAion(cfg.Options); err != nil {
		return err
	}
	w.p = newParser(w.aion)
	w.s.Violations = map[string]int64{}
	w.log, err = OpenLog(cfg.Dir, func(place int64, line []byte) error {
		if w.out == nil {
			if w.out, err = openEmitted(cfg.Dir); err != nil {
				return err
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		return w.take(place, line)
	})
	if err == nil && w.out == nil {
		w.out, err = openEmitted(cfg.Dir)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.out.sync(), w.out.f.Close(), w.log.Close()) }()
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
			err = w.control("!advance " + strconv.FormatInt(w.max, 10))
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

const controlEnd = "!end"

// batch logs, acknowledges, and only then looks.
func (w *watcher) batch(src Source, lines []Line) error {
	fresh := lines[:0]
	for _, l := range lines {
		if len(l.Text) > 0 && l.Text[0] == '!' {
			l.Text = append([]byte{' '}, l.Text...) // '!' begins lines of our own
		}
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
	for _, l := range fresh {
		if err := w.take(l.Place, l.Text); err != nil {
			return err
		}
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
	if err := w.take(w.log.last, []byte(text)); err != nil {
		return err
	}
	w.publish()
	return w.out.sync()
}

// take is a line of the log: everything that follows is a function of these, in their order.
func (w *watcher) take(place int64, line []byte) error {
	w.s.Lines++
	if len(line) > 0 && line[0] == '!' {
		w.s.Lines--
		if string(line) == controlEnd {
			w.ended = true
			w.aion.Close()
			return w.emit()
		}
		ts, err := strconv.ParseInt(strings.TrimPrefix(string(line), "!advance "), 10, 64)
		if err != nil {
			return fmt.Errorf("%s: %q; expected !advance and a timestamp", w.cfg.Dir, line)
		}
		if w.begun {
			w.advance(ts)
		}
		return w.emit()
	}
	t, err := w.p.parse(line)
	if err != nil {
		w.s.Bad++
		if w.fresh && w.cfg.Bad != nil {
			w.cfg.Bad(place, err)
		}
		return nil
	}
	if t == nil {
		return nil
	}
	w.aion.Add(t)
	if !t.NoPart {
		at := t.Start
		if w.cfg.Options.Level.Serial() && !w.cfg.Options.ReadOnlyAtStart {
			at = t.Commit
		}
		if !w.begun || at > w.max {
			w.begun, w.max = true, at
		}
		if w.cfg.Lateness < AllLate {
			w.advance(w.max - w.cfg.Lateness)
		}
	}
	return w.emit()
}

func (w *watcher) advance(ts int64) {
	w.aion.Advance(ts)
	w.s.Watermark = ts
}

// emit writes what has become final.
func (w *watcher) emit() error {
	for _, f := range w.aion.Take() {
		v := Violation{N: w.out.n + 1, Axiom: f.Axiom.String(), Why: f.Kind.String(), Txn: f.Txn}
		if f.Other != timestamp.NoID {
			v.Other = &f.Other
		}
		if f.Key != history.None {
			v.Key = json.RawMessage(w.p.names[f.Key])
		}
		if f.Op != history.None {
			v.Op = &f.Op
		}
		line, err := json.Marshal(&v)
		if err != nil {
			return err
		}
		w.s.Violations[v.Axiom]++
		fresh, err := w.out.add(line)
		if err != nil {
			return err
		}
		if fresh && w.cfg.Violation != nil {
			w.cfg.Violation(line)
		}
	}
	return nil
}

func (w *watcher) publish() {
	if w.cfg.Metrics == nil {
		return
	}
	s := w.s
	s.Aion, s.Keys = w.aion.Stats(), len(w.p.names)
	s.Violations = maps.Clone(w.s.Violations)
	if w.log != nil {
		s.LogBytes = w.log.bytes
	}
	w.cfg.Metrics.set(s)
}

// AllLate is a lateness at which nothing is final before the stream ends.
const AllLate = 1 << 60
