package collect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"time"

	"isovet/datasets/workload"
	"isovet/history"
	"isovet/history/partlist"
	"isovet/history/split"
	"isovet/internal/safego"
	"isovet/internal/slice"
	"isovet/record"
)

// Rotate makes a run write its recording to parts in a folder, which together are one history (package record). So
// memory does not grow with the run, and the Result has no History. Memory has some kilobytes for each kind of
// transaction, a number for each loaded row that was touched, and the part being written.
type Rotate struct {
	Dir    string // must not exist, or be empty
	Ending string // of the parts, one of split.Endings; "": .ivh
	// A part ends after this number of bytes of JSON lines, this number of transactions, or this time. If all are 0,
	// it ends at 256 MiB.
	Bytes int64
	Txns  int64
	Every time.Duration
}

// Parts describes the parts that a run has written.
type Parts struct {
	Txns, Ops int64
	Files     int
}

func (c *Config) validateRotate() error {
	switch o := c.Rotate; {
	case o == nil:
		return nil
	case o.Dir == "":
		return errors.New("the folder for the parts is missing; expected its name")
	case o.Bytes < 0 || o.Txns < 0 || o.Every < 0:
		return fmt.Errorf("parts of %d bytes, %d transactions, %v; none may be negative", o.Bytes, o.Txns, o.Every)
	case o.Ending != "" && !slices.Contains(split.Endings(), o.Ending):
		return fmt.Errorf("parts with the ending %q; expected one of %v", o.Ending, split.Endings())
	case c.Timestamps:
		return errors.New("isovet reads the database's timestamps after the run, but writes parts during it; " +
			"expected one or the other")
	case c.NoRecord || c.Partial != "":
		return errors.New("a run that writes no recording, or writes it to another file, cannot have parts")
	}
	return nil
}

// rotation returns the settings of package record for the parts.
func (o *Rotate) rotation(ctx context.Context, header *history.History) record.Rotation {
	ending := cmp.Or(o.Ending, ".ivh")
	return record.Rotation{Bytes: o.Bytes, Every: o.Every, Txns: o.Txns,
		Finish: func(w *record.Whole) (partlist.Part, error) {
			return split.WritePart(o.Dir, w.Number, ending, header, func(add func(*history.History) error) error {
				r, pipe := io.Pipe()
				var writer safego.Group
				writer.Go(func() { pipe.CloseWithError(w.Lines(pipe)) })
				err := split.Lines(ctx, r, fmt.Sprintf("part %d", w.Number), header, add)
				r.CloseWithError(cmp.Or(err, io.ErrClosedPipe))
				writer.Wait()
				return err
			})
		}}
}

// emptyOf returns a history with only a header.
func emptyOf(m history.Meta) (*history.History, error) {
	b := history.NewBuilder()
	b.Meta = m
	return b.Build()
}

// openParts begins a recording in parts. The first part has all loaded rows, since the run may touch any of them.
func (r *run) openParts(ctx context.Context) (*partial, error) {
	o := r.cfg.Rotate
	header, err := emptyOf(r.meta())
	if err != nil {
		return nil, err
	}
	parts, err := record.NewParts(o.Dir, r.meta(), o.rotation(ctx, header))
	if err != nil {
		return nil, fmt.Errorf("cannot write %s: %w", o.Dir, err)
	}
	p := r.newPartial()
	p.parts = parts
	h, err := r.loaded()
	if err == nil && h.Init != history.None {
		var first partlist.Part
		first, err = split.WritePart(o.Dir, 0, cmp.Or(o.Ending, ".ivh"), header,
			func(add func(*history.History) error) error { return add(h) })
		if err == nil {
			err = parts.Listed(first)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot write %s: %w", o.Dir, err), parts.Close())
	}
	return p, nil
}

// loaded returns a history of only the initial transaction.
func (r *run) loaded() (*history.History, error) {
	l := &log{}
	for i, t := range r.tables {
		if t.List {
			continue // a row of a list would read as an element
		}
		for pk := range int64(t.Rows) {
			l.add(opRec{key: history.IntValue(int64(workload.MakeKey(i, pk)))})
		}
	}
	if len(l.ops) == 0 {
		return emptyOf(r.meta())
	}
	l.end(txnRec{})
	return r.initial([]*log{l})
}

// keep counts a recorded transaction before the log drops it.
func (c *client) keep(x *txnRec) {
	c.tally(x)
	if c.r.cfg.Live == nil {
		c.log.forget()
		return
	}
	if len(c.log.txns) < segment {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.older = append(c.older, c.log)
	c.log = log{line: c.log.line}
	c.publish()
}

// segment bounds the transactions of a session's log if Live is set and the run has parts. A new log then begins, and
// the old one is dropped when live has passed it on.
const segment = 256

func (l *log) forget() {
	clear(l.lists)
	clear(l.preds)
	*l = log{txns: l.txns[:0], ops: l.ops[:0], lists: l.lists[:0], preds: l.preds[:0], cells: l.cells[:0], line: l.line}
}

// logs returns the session's logs for live: the older ones, and the published part of the current one.
func (c *client) logs() []*log {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []*log
	for i := range c.older {
		all = append(all, &c.older[i])
	}
	if p := c.published.Load(); p != nil {
		all = append(all, p)
	}
	return all
}

// given drops older logs whose transactions are among the n passed on. It returns how many of the n are in the other
// logs.
func (c *client) given(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.older) > 0 && n >= len(c.older[0].txns) {
		n -= len(c.older[0].txns)
		c.older = slices.Delete(slices.Clone(c.older), 0, 1)
	}
	return n
}

// tally counts a transaction for the summary.
func (c *client) tally(x *txnRec) {
	t := c.tallies[x.name]
	if t == nil {
		slice.MakeMap(&c.tallies)
		t = &tally{}
		c.tallies[x.name] = t
	}
	t.n[x.status]++
	if x.status == history.Committed {
		t.times[place(x.end-x.start)]++
	}
}

// tally counts the transactions of a kind in constant memory. It has 32 classes of durations for each power of two.
type tally struct {
	n     [3]int // by status
	times [64 * classes]uint32
}

const classes = 32

func place(d int64) int {
	n := uint64(max(d, 0))
	if n < 2*classes {
		return int(n)
	}
	shift := bits.Len64(n) - 6
	return shift*classes + int(n>>shift)
}

// duration returns the middle of a class of durations.
func duration(place int) time.Duration {
	if place < 2*classes {
		return time.Duration(place)
	}
	shift := place/classes - 1
	return time.Duration((place-shift*classes)<<shift + 1<<shift/2)
}

func (t *tally) add(o *tally) {
	for i := range t.n {
		t.n[i] += o.n[i]
	}
	for i := range t.times {
		t.times[i] += o.times[i]
	}
}

func (t *tally) quantile(q float64) time.Duration {
	n := t.n[history.Committed]
	at := min(int(q*float64(n)), n-1)
	for i, k := range t.times {
		if at -= int(k); at < 0 && n > 0 {
			return duration(i)
		}
	}
	return 0
}

// tallied returns the summary's templates of all sessions.
func (r *run) tallied() (all []Template) {
	sum := map[string]*tally{}
	for _, c := range r.clients {
		for name, t := range c.tallies {
			if sum[name] == nil {
				sum[name] = &tally{}
			}
			sum[name].add(t)
		}
	}
	for name, t := range sum {
		all = append(all, Template{Name: name, Committed: t.n[history.Committed], Aborted: t.n[history.Aborted],
			Unknown: t.n[history.Unknown], P50: t.quantile(0.5), P99: t.quantile(0.99)})
	}
	return all
}
