package engine

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/cespare/xxhash/v2"

	"isovet/contrib/beam/store"
)

func init() {
	register.DoFn3x1[context.Context, []byte, func(int64, []byte), error](&emitFn{})
	register.DoFn4x1[context.Context, int64, func(*[]byte) bool, func(int64, []byte), error](&keepFn{})
}

// emitFn does tasks that emit chunks. An element of what it emits is a partition and a chunk, with the task's number
// and the chunk's among those of the task before it.
type emitFn struct {
	Dir, Do, Shared string
	Memory          int64
}

// ProcessElement does a task; its element has the task's number in front.
func (f *emitFn) ProcessElement(ctx context.Context, task []byte, emit func(int64, []byte)) error {
	no, n := binary.Uvarint(task)
	if n <= 0 {
		return fmt.Errorf("a task without a number")
	}
	chunks := uint64(0)
	t := &taskFn{Dir: f.Dir, Do: f.Do, Shared: f.Shared, Memory: f.Memory}
	return t.do(ctx, task[n:], func(part int, head, chunk []byte) error {
		b := make([]byte, 0, len(head)+len(chunk)+3*binary.MaxVarintLen64)
		b = binary.AppendUvarint(b, no)
		b = binary.AppendUvarint(b, chunks)
		b = binary.AppendUvarint(b, uint64(len(head)))
		chunks++
		emit(int64(part), append(append(b, head...), chunk...))
		return nil
	})
}

// keepFn writes a partition's chunks to a file, as they come.
type keepFn struct{ Dir, Key string }

// ProcessElement writes a partition.
func (f *keepFn) ProcessElement(ctx context.Context, part int64, chunks func(*[]byte) bool,
	emit func(int64, []byte)) error {
	w, err := store.Create(ctx, partition(f.Dir, f.Key, int(part)))
	if err != nil {
		return err
	}
	if err := w.Close(keep(w, chunks)); err != nil {
		return err
	}
	emit(0, nil)
	return nil
}

func keep(w *store.Writer, chunks func(*[]byte) bool) error {
	all := &foot{}
	for {
		var b []byte
		if !chunks(&b) {
			return all.write(w)
		}
		var numbers [3]uint64 // of the task and the chunk, and the head's length
		for i := range numbers {
			x, n := binary.Uvarint(b)
			if n <= 0 {
				return fmt.Errorf("a chunk without a number")
			}
			numbers[i], b = x, b[n:]
		}
		size := numbers[2]
		if size > uint64(len(b)) {
			return fmt.Errorf("a chunk with an incomplete head")
		}
		head, chunk := append([]byte(nil), b[:size]...), b[size:]
		all.Chunks = append(all.Chunks, lies{Task: numbers[0], No: numbers[1], Head: head, Off: w.Offset(),
			N: len(chunk), Sum: xxhash.Sum64(chunk)})
		if _, err := w.Write(chunk); err != nil {
			return err
		}
	}
}

// Shuffle does tasks that emit chunks, and returns their answers, their keys and a name under which tasks find what was
// emitted: [OpenPartition]. A partition that got no chunk is empty.
//
// Where files can be read here and there, chunks stay in the files of those who emit them, and only where they lie goes
// to partitions. Else Beam groups them, and each partition is a file.
func (e *Engine) Shuffle(ctx context.Context, do string, shared []byte, args [][]byte) (answers [][]byte, keys []string,
	name string, err error) {
	l, err := e.newList(ctx, do, shared, args)
	if err != nil {
		return nil, nil, "", err
	}
	var all []byte
	for i := range l.elements {
		all = append(all, l.keys[i]...)
	}
	name = keyOf(all)
	// The partitions of a pipeline are all there or none counts: an answer of its own says that they are.
	whole := &list{e: e, keys: []string{name}}
	todo, err := whole.missing(ctx)
	if err != nil {
		return nil, nil, "", err
	}
	if len(todo) > 0 {
		if e.Grouped || store.Remote(e.Dir) {
			err = l.group(ctx, name)
		} else if err = l.work(ctx, func(todo []int) *beam.Pipeline { return l.pipeline(todo, true) }); err == nil {
			if _, err = l.answers(ctx); err == nil { // else who failed has emitted nothing
				err = e.divide(ctx, name, l.keys)
			}
		}
		if err != nil {
			return nil, nil, "", err
		}
		if err := store.Write(ctx, answer(e.Dir, name), []byte{answered}); err != nil {
			return nil, nil, "", err
		}
	}
	answers, err = l.answers(ctx)
	return answers, l.keys, name, err
}

// group has Beam group what all tasks emit.
func (l *list) group(ctx context.Context, name string) error {
	e := l.e
	var todo []int
	for i, el := range l.elements {
		l.elements[i] = append(binary.AppendUvarint(nil, uint64(i)), el...)
		todo = append(todo, i)
	}
	stop := l.watch(ctx)
	defer stop()
	for try := 1; ; try++ {
		p := beam.NewPipeline()
		var out []beam.PCollection
		for s, elements := range l.branches(p.Root(), todo) {
			out = append(out, beam.ParDo(s, &emitFn{e.Dir, l.do, l.shared, e.Memory}, elements))
		}
		s := p.Root()
		end(s, beam.ParDo(s, &keepFn{e.Dir, name}, beam.GroupByKey(s, beam.Flatten(s, out...))))
		err := e.Runner.Run(ctx, p)
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		if err == nil {
			return nil
		}
		if try >= cmp.Or(e.Attempts, 3) {
			left, lerr := l.missing(ctx)
			if lerr != nil {
				return lerr
			}
			return l.why(ctx, left, err)
		}
	}
}
