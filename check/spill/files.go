package spill

import (
	"bufio"
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"isovet/check/spill/plan"
	"isovet/internal/slice"
	"isovet/level"
)

// task is a run of pieces that is mapped to one file of chunks and one of heads.
type task struct {
	group       Group
	pieces      []Piece
	first, txns int64
	minT, maxT  int64
	chunks      *file
	heads       string
	index       []Entry
	finished    bool
	batches     []Batch
	stats       plan.MapStats
	bad         []uint64
	timeless    []uint64
	stamped     plan.StampSaid
	init        uint64
}

// maxTasks bounds the open files.
const maxTasks = 256

// open divides the pieces into tasks.
func (e *engine) open() error {
	if e.o.Backend == nil {
		if err := e.take(); err != nil {
			return err
		}
		if err := e.enough(); err != nil {
			return err
		}
	}
	n := min(len(e.in.Pieces), maxTasks)
	for i := range n {
		lo, hi := len(e.in.Pieces)*i/n, len(e.in.Pieces)*(i+1)/n
		t := &task{group: Group{lo, hi}, pieces: e.in.Pieces[lo:hi], first: e.in.Pieces[lo].First, init: plan.NoPlace}
		for _, p := range t.pieces {
			t.txns += p.Txns
		}
		e.tasks = append(e.tasks, t)
	}
	e.parts = e.divided()
	e.stats.Parts = e.parts
	e.rule = plan.Rule{Parts: e.parts, RealTime: e.o.Level.RealTime(), Stamps: stampsOf(e.o),
		OneKey: e.o.Level == level.Linearizable}
	if !e.o.Asked {
		e.rule.Level = e.asked.String()
	}
	if e.rule.Stamps.On {
		e.parts++ // one more, for the commits
	}
	e.moves, e.moved = plan.NewMoves(e.in.Txns), make([][]MovedChunk, e.parts)
	e.counted, e.settledTxn, e.named = map[uint64]plan.Pos{}, map[uint64]bool{}, map[string]bool{}
	e.tried, e.forced = map[uint64]bool{}, map[int64]bool{}
	e.seen, e.ids = map[int64]*plan.Txn{}, map[uint64]Named{}
	e.wrote = map[plan.Want][]plan.Writer{}
	e.init = plan.NoPlace
	return nil
}

// keyBytes estimates the memory of a key while its partition is replayed.
const keyBytes = 100

// divided returns the number of partitions of the keys. If all chunks of a partition overlap in time, all must fit into
// memory. Mostly few overlap. Then only the keys must fit, and fewer partitions mean fewer transactions with operations
// in several. If more chunks overlap than that, e.few was wrong.
func (e *engine) divided() int {
	if e.o.Parts > 0 {
		e.few = false
		return e.o.Parts
	}
	workers := int64(e.o.Workers)
	n := max(opsOf(e.in)*opBytes/(e.o.Memory/4/workers)+1, 4)
	if e.few = e.few && e.in.Keys > 0 && e.o.Backend == nil && e.o.Checker == byOrder; e.few {
		most := n
		n = max(n/4, e.in.Keys*keyBytes*workers/(e.o.Memory/8), 4)
		n = (n + workers - 1) / workers * workers
		e.few = n < most
		n = min(n, most)
	}
	return int(min(n, 1024))
}

// close closes the files. If there is an answer, it removes them, unless they are to be kept. Without an answer the
// finished files stay for another run.
func (e *engine) close() {
	kept := map[string]bool{}
	for i, t := range e.tasks {
		if t.chunks != nil {
			t.chunks.Close()
		}
		if t.finished && (e.o.Keep || !e.done) {
			for _, ext := range []string{"chunks", "heads", "done"} {
				kept[filepath.Base(e.path(i, ext))] = true
			}
		}
	}
	if e.movedFile != nil {
		e.movedFile.Close()
	}
	if e.lock != nil {
		e.clean(func(name string) bool { return kept[name] || !e.done && strings.HasPrefix(name, "step-") })
	}
}

// narrow returns the pieces that may have requested transactions, or the parts of them that can be read separately.
// special are the places of exceptions with a position in a span.
func (t *task) narrow(g *Gathering, special []uint64) (out []Piece) {
	has := func(places []uint64, b *Batch) bool {
		i, _ := slices.BinarySearch(places, uint64(b.First))
		return i < len(places) && places[i] < uint64(b.First+b.Txns)
	}
	wanted := func(b *Batch) bool {
		i, _ := slices.BinarySearchFunc(g.Spans, b.MinT, func(s plan.Span, t int64) int {
			return cmp.Compare(s.To.T, t)
		})
		return i < len(g.Spans) && g.Spans[i].From.T <= b.MaxT || has(g.Places, b) || has(special, b)
	}
	at := 0
	for _, p := range t.pieces {
		first, n, whole := p.First, int64(0), false
		flush := func() {
			if n > 0 && p.Part != nil {
				out = append(out, p.Part(first, n))
			}
			n = 0
		}
		for ; at < len(t.batches) && t.batches[at].First < p.First+p.Txns; at++ {
			b := &t.batches[at]
			if !wanted(b) {
				flush()
				continue
			}
			if whole = true; n == 0 {
				first = b.First
			}
			n += b.Txns
		}
		flush()
		if whole && p.Part == nil {
			out = append(out, p)
		}
	}
	return out
}

// mapAll maps every task that is not mapped yet.
func (e *engine) mapAll(ctx context.Context) error {
	e.progress("reading", 0, e.in.Txns)
	rule := e.rule
	if e.o.Backend != nil {
		got, err := e.o.Backend.Map(ctx, rule, slice.Map(e.tasks, func(t *task) Group { return t.group }))
		if err != nil {
			return err
		}
		for i, m := range got {
			e.tasks[i].mapped(m)
			e.stats.Chunks += m.Chunks
		}
	} else {
		var done, resumed atomic.Int64
		err := parallel(ctx, e.readers(), len(e.tasks), func(ctx context.Context, i int) error {
			if e.tasks[i].finished = e.resume(rule, i); e.tasks[i].finished {
				resumed.Add(1)
			} else if err := e.mapTask(ctx, rule, i); err != nil {
				return err
			}
			e.progress("reading", done.Add(e.tasks[i].txns), e.in.Txns)
			return nil
		})
		if err != nil {
			return err
		}
		e.stats.Resumed = int(resumed.Load())
	}
	if e.o.Resumed != nil && e.stats.Resumed > 0 {
		e.o.Resumed(e.stats.Resumed, len(e.tasks))
	}
	e.chunks = make([][]plan.Chunk, e.parts)
	e.total.MinT, e.total.MaxT = plan.Last.T, plan.First.T
	for _, t := range e.tasks {
		for _, x := range t.index {
			e.chunks[x.Part] = append(e.chunks[x.Part], plan.Chunk{ChunkInfo: x.Info, Bytes: x.N,
				Read: t.chunks.read(x.Off, x.N)})
			e.stats.Chunks++
		}
		s := &t.stats
		a := &e.total
		a.Txns, a.Ops, a.Reads = a.Txns+s.Txns, a.Ops+s.Ops, a.Reads+s.Reads
		a.FileOps += s.FileOps
		a.Committed, a.Unknown = a.Committed+s.Committed, a.Unknown+s.Unknown
		a.Took, a.Taken = a.Took+s.Took>>8, a.Taken+s.Taken>>8
		a.MinT, a.MaxT = min(a.MinT, s.MinT), max(a.MaxT, s.MaxT)
		a.Timeless += s.Timeless
		e.bad, e.timeless = append(e.bad, t.bad...), append(e.timeless, t.timeless...)
		if t.init != plan.NoPlace {
			e.init = t.init
		}
	}
	e.stats.Txns, e.stats.Ops, e.stats.Reads = e.total.Txns, e.total.Ops, e.total.Reads
	e.stats.FileOps = e.total.FileOps
	e.stats.Committed, e.stats.Unknown = e.total.Committed, e.total.Unknown
	return nil
}

// mapped takes over the result of mapping a task.
func (t *task) mapped(m Mapped) {
	t.stats, t.bad, t.init, t.batches = m.Stats, m.Bad, m.Init, m.Batches
	t.timeless, t.stamped = m.Timeless, m.Stamped
	t.minT, t.maxT = m.Stats.MinT, m.Stats.MaxT
}

// mapTask writes the chunks and heads of a task.
func (e *engine) mapTask(ctx context.Context, rule plan.Rule, i int) (err error) {
	t := e.tasks[i]
	os.Remove(e.path(i, "done"))
	f, err := e.create(e.path(i, "chunks"))
	if err != nil {
		return err
	}
	t.chunks, t.heads = f, e.path(i, "heads")
	chunks := newSumming(f)
	w := bufio.NewWriterSize(chunks, 1<<18)
	hf, err := e.create(t.heads)
	if err != nil {
		return err
	}
	defer hf.Close()
	heads := newSumming(hf)
	off := int64(0)
	m, err := MapPieces(ctx, t.pieces, rule, func(part int, chunk []byte, info plan.ChunkInfo) error {
		t.index = append(t.index, Entry{part, off, len(chunk), info})
		off += int64(len(chunk))
		_, err := w.Write(chunk)
		return err
	}, func(b []byte) error {
		_, err := heads.Write(b)
		return err
	})
	if err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	t.mapped(m)
	if err := e.finish(rule, i, m, chunks.sum(), heads.sum()); err != nil {
		return err
	}
	t.finished = true
	return nil
}

type file struct {
	*os.File
	full func(bytes int) error
}

func (e *engine) create(path string) (*file, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &file{f, e.o.full}, nil
}

func (f *file) Write(b []byte) (int, error) {
	if f.full != nil {
		if err := f.full(len(b)); err != nil {
			return 0, err
		}
	}
	return f.File.Write(b)
}

// write writes exceptions of the present round for each partition and adds them to the partitions' chunks.
func (e *engine) write(events []plan.Event) (err error) {
	slices.SortFunc(events, func(a, b plan.Event) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Txn.Place, b.Txn.Place))
	})
	round := e.stats.Rounds
	if e.o.Backend != nil {
		return plan.Moved(events, e.parts, e.apart, func(part int, chunk []byte, info plan.ChunkInfo) error {
			e.pieces++
			e.moved[part] = append(e.moved[part], MovedChunk{info, round, chunk})
			return nil
		})
	}
	if e.movedFile == nil {
		if e.movedFile, err = e.create(filepath.Join(e.o.Dir, "moved.chunks")); err != nil {
			return err
		}
	}
	w := bufio.NewWriterSize(e.movedFile, 1<<16)
	err = plan.Moved(events, e.parts, e.apart, func(part int, chunk []byte, info plan.ChunkInfo) error {
		e.pieces++
		e.chunks[part] = append(e.chunks[part], plan.Chunk{ChunkInfo: info, Bytes: len(chunk), Moving: true,
			Round: round, Read: e.movedFile.read(e.movedBytes, len(chunk))})
		e.movedBytes += int64(len(chunk))
		_, err := w.Write(chunk)
		return err
	})
	if err != nil {
		return err
	}
	return w.Flush()
}

// read returns a function that appends n bytes from off on to a buffer without content.
func (f *file) read(off int64, n int) func(buf []byte) ([]byte, error) {
	return func(buf []byte) ([]byte, error) {
		buf = slices.Grow(buf, n)[:n]
		_, err := f.ReadAt(buf, off)
		return buf, err
	}
}

// farApart is the greatest number of transactions between two exceptions in one chunk.
const farApart = 500

// apart reports whether two exceptions are so far apart that they need different chunks.
func (e *engine) apart(a, b plan.Pos) bool {
	return e.pieces < 4*e.parts+e.stats.Chunks && e.count(plan.Span{From: a, To: b}) > farApart
}

// eachHead calls f for each transaction, in the order of places.
func (e *engine) eachHead(ctx context.Context, f func(place uint64, h *plan.Head)) error {
	for i, t := range e.tasks {
		var b []byte
		var err error
		if e.o.Backend != nil {
			b, err = e.o.Backend.Heads(ctx, i)
		} else {
			b, err = os.ReadFile(t.heads)
		}
		if err != nil {
			return err
		}
		place := uint64(t.first)
		if err := plan.EachHead(b, func(h *plan.Head) {
			f(place, h)
			place++
		}); err != nil {
			return err
		}
	}
	return nil
}
