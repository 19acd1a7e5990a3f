package spill

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"isovet/check/spill/plan"
)

// task is some pieces that follow one another, which are mapped to one file of chunks and one of heads.
type task struct {
	group       Group
	pieces      []Piece
	first, txns int64
	minT, maxT  int64
	chunks      *os.File
	heads       string
	index       []entry
	stats       plan.MapStats
	bad         []uint64
	init        uint64
}

// entry is a chunk in a task's file.
type entry struct {
	part int
	off  int64
	n    int
	info plan.ChunkInfo
}

// maxTasks keeps open files few.
const maxTasks = 256

// open divides the pieces into tasks.
func (e *engine) open() error {
	if e.o.Backend == nil {
		if err := os.MkdirAll(e.o.Dir, 0o755); err != nil {
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
	e.parts = e.o.Parts
	if e.parts == 0 {
		// A partition whose chunks all overlap in time must fit.
		e.parts = int(min(max(opsOf(e.in)*opBytes/(e.o.Memory/4/int64(e.o.Workers))+1, 4), 1024))
	}
	e.stats.Parts = e.parts
	e.moves, e.moved = plan.NewMoves(e.in.Txns), make([][]MovedChunk, e.parts)
	e.counted, e.settledTxn, e.named = map[uint64]plan.Pos{}, map[uint64]bool{}, map[string]bool{}
	e.seen = map[int64]*plan.Txn{}
	e.init = plan.NoPlace
	return nil
}

func (e *engine) close() error {
	for _, t := range e.tasks {
		if t.chunks != nil {
			t.chunks.Close()
			if !e.o.Keep {
				os.Remove(t.chunks.Name())
			}
		}
		if t.heads != "" && !e.o.Keep {
			os.Remove(t.heads)
		}
	}
	for _, f := range e.movedFiles {
		f.Close()
		os.Remove(f.Name())
	}
	if !e.o.Keep && e.o.Backend == nil {
		os.Remove(e.o.Dir)
	}
	return nil
}

// holds reports whether the task has one of the places.
func (t *task) holds(sorted []uint64) bool {
	i, _ := slices.BinarySearch(sorted, uint64(t.first))
	return i < len(sorted) && sorted[i] < uint64(t.first+t.txns)
}

func (t *task) holdsAny(places map[uint64]int) bool {
	for p := range places {
		if p >= uint64(t.first) && p < uint64(t.first+t.txns) {
			return true
		}
	}
	return false
}

// within reports whether one of the spans may have transactions of the task.
func (t *task) within(ws []plan.Span) bool {
	for _, w := range ws {
		if w.From.T <= t.maxT && w.To.T >= t.minT {
			return true
		}
	}
	return false
}

// mapAll maps every task that is not mapped yet.
func (e *engine) mapAll(ctx context.Context) error {
	e.progress("reading", 0, e.in.Txns)
	rule := plan.Rule{Parts: e.parts, RealTime: e.o.Level.RealTime()}
	if e.o.Backend != nil {
		var groups []Group
		for _, t := range e.tasks {
			groups = append(groups, t.group)
		}
		got, err := e.o.Backend.Map(ctx, rule, groups)
		if err != nil {
			return err
		}
		for i, m := range got {
			e.tasks[i].mapped(m)
			e.stats.Chunks += m.Chunks
		}
	} else {
		done := make(chan int64, len(e.tasks))
		done <- 0
		err := e.parallel(ctx, len(e.tasks), func(ctx context.Context, i int) error {
			if err := e.mapTask(ctx, rule, i); err != nil {
				return err
			}
			n := <-done + e.tasks[i].txns
			done <- n
			e.progress("reading", n, e.in.Txns)
			return nil
		})
		if err != nil {
			return err
		}
	}
	e.chunks = make([][]plan.Chunk, e.parts)
	e.total.MinT, e.total.MaxT = plan.Last.T, plan.First.T
	for _, t := range e.tasks {
		f := t.chunks
		for _, x := range t.index {
			e.chunks[x.part] = append(e.chunks[x.part], plan.Chunk{ChunkInfo: x.info, Bytes: x.n,
				Read: func(buf []byte) ([]byte, error) {
					buf = slices.Grow(buf, x.n)[:x.n]
					_, err := f.ReadAt(buf, x.off)
					return buf, err
				}})
			e.stats.Chunks++
		}
		s := &t.stats
		a := &e.total
		a.Txns, a.Ops, a.Committed, a.Unknown = a.Txns+s.Txns, a.Ops+s.Ops, a.Committed+s.Committed, a.Unknown+s.Unknown
		a.Took, a.Taken = a.Took+s.Took>>8, a.Taken+s.Taken>>8
		a.MinT, a.MaxT = min(a.MinT, s.MinT), max(a.MaxT, s.MaxT)
		e.bad = append(e.bad, t.bad...)
		if t.init != plan.NoPlace {
			e.init = t.init
		}
	}
	e.stats.Txns, e.stats.Ops, e.stats.Committed = e.total.Txns, e.total.Ops, e.total.Committed
	return nil
}

// mapped sets what mapping a task said.
func (t *task) mapped(m Mapped) {
	t.stats, t.bad, t.init = m.Stats, m.Bad, m.Init
	t.minT, t.maxT = m.Stats.MinT, m.Stats.MaxT
}

// mapTask writes the chunks and heads of a task.
func (e *engine) mapTask(ctx context.Context, rule plan.Rule, i int) (err error) {
	t := e.tasks[i]
	f, err := os.Create(filepath.Join(e.o.Dir, fmt.Sprintf("map-%05d.chunks", i)))
	if err != nil {
		return err
	}
	t.chunks = f
	w := bufio.NewWriterSize(f, 1<<18)
	off := int64(0)
	t.heads = filepath.Join(e.o.Dir, fmt.Sprintf("map-%05d.heads", i))
	hf, err := os.Create(t.heads)
	if err != nil {
		return err
	}
	defer hf.Close()
	m, err := MapPieces(ctx, t.pieces, rule, func(part int, chunk []byte, info plan.ChunkInfo) error {
		t.index = append(t.index, entry{part, off, len(chunk), info})
		off += int64(len(chunk))
		_, err := w.Write(chunk)
		return err
	}, func(heads []byte) error {
		_, err := hf.Write(heads)
		return err
	})
	if err != nil {
		return err
	}
	t.mapped(m)
	return w.Flush()
}

// write writes the exceptions of a round for each partition and adds them to the partitions' chunks.
func (e *engine) write(round int, events []plan.Event) error {
	if e.o.Backend != nil {
		m := plan.MoveWriter{Parts: e.parts, Emit: func(part int, chunk []byte, info plan.ChunkInfo) error {
			e.moved[part] = append(e.moved[part], MovedChunk{info, round, slices.Clone(chunk)})
			return nil
		}}
		if err := m.Events(events); err != nil {
			return err
		}
		return m.Flush()
	}
	f, err := os.Create(filepath.Join(e.o.Dir, fmt.Sprintf("moved-%05d.chunks", round)))
	if err != nil {
		return err
	}
	e.movedFiles = append(e.movedFiles, f)
	w := bufio.NewWriterSize(f, 1<<18)
	off := int64(0)
	m := plan.MoveWriter{Parts: e.parts, Emit: func(part int, chunk []byte, info plan.ChunkInfo) error {
		at, n := off, len(chunk)
		off += int64(n)
		e.chunks[part] = append(e.chunks[part], plan.Chunk{ChunkInfo: info, Bytes: n, Moving: true, Round: round,
			Read: func(buf []byte) ([]byte, error) {
				buf = slices.Grow(buf, n)[:n]
				_, err := f.ReadAt(buf, at)
				return buf, err
			}})
		_, err := w.Write(chunk)
		return err
	}}
	if err := m.Events(events); err != nil {
		return err
	}
	if err := m.Flush(); err != nil {
		return err
	}
	return w.Flush()
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
