package engine

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"isovet/contrib/beam/store"
)

func init() {
	register.DoFn3x1[context.Context, []byte, func(int64, []byte), error](&emitFn{})
	register.DoFn4x1[context.Context, int64, func(*[]byte) bool, func(int64, []byte), error](&keepFn{})
}

// emitFn does tasks that emit chunks. An element of what it emits is a partition and a chunk, with the task's number
// and the chunk's among those of the task before it.
type emitFn struct{ Dir, Do, Shared string }

// ProcessElement does a task; its element has the task's number in front.
func (f *emitFn) ProcessElement(ctx context.Context, task []byte, emit func(int64, []byte)) error {
	no, n := binary.Uvarint(task)
	if n <= 0 {
		return fmt.Errorf("a task without a number")
	}
	chunks := uint64(0)
	t := &taskFn{f.Dir, f.Do, f.Shared}
	return t.do(ctx, task[n:], func(part int, chunk []byte) error {
		b := make([]byte, 0, len(chunk)+2*binary.MaxVarintLen64)
		b = binary.AppendUvarint(b, no)
		b = binary.AppendUvarint(b, chunks)
		chunks++
		emit(int64(part), append(b, chunk...))
		return nil
	})
}

// keepFn writes a partition's chunks to a file, in the order of the tasks.
type keepFn struct{ Dir, Key string }

func partition(dir, key string, part int) string {
	return store.Join(dir, fmt.Sprintf("part-%s-%05d", key, part))
}

// chunk is a chunk with its place among those of its partition.
type chunk struct {
	task, no uint64
	b        []byte
}

// ProcessElement writes a partition.
func (f *keepFn) ProcessElement(ctx context.Context, part int64, chunks func(*[]byte) bool,
	emit func(int64, []byte)) error {
	defer emit(0, nil)
	var all []chunk
	for {
		var b []byte
		if !chunks(&b) {
			break
		}
		c := chunk{}
		var n, m int
		c.task, n = binary.Uvarint(b)
		c.no, m = binary.Uvarint(b[max(n, 0):])
		if n <= 0 || m <= 0 {
			return fmt.Errorf("a chunk without a number")
		}
		c.b = b[n+m:]
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b chunk) int { return cmp.Or(cmp.Compare(a.task, b.task), cmp.Compare(a.no, b.no)) })
	content := make([][]byte, 0, 2*len(all))
	for i := range all {
		if i > 0 && all[i-1].task == all[i].task && all[i-1].no == all[i].no {
			continue // the runner may do a task twice, but then takes what one of them emitted
		}
		content = append(content, binary.AppendUvarint(nil, uint64(len(all[i].b))), all[i].b)
	}
	return store.Write(ctx, partition(f.Dir, f.Key, int(part)), content...)
}

// Shuffle does tasks that emit chunks, and returns their answers, their keys and a name under which tasks find what was
// emitted: [Partition]. A partition that got no chunk is empty.
func (e *Engine) Shuffle(ctx context.Context, do string, shared []byte, args [][]byte) (answers [][]byte, keys []string,
	name string, err error) {
	l, err := e.newList(ctx, do, shared, args)
	if err != nil {
		return nil, nil, "", err
	}
	var all []byte
	for i, el := range l.elements {
		l.elements[i] = append(binary.AppendUvarint(nil, uint64(i)), el...)
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
		for i := range l.keys {
			todo = append(todo[:i], i)
		}
		stop := l.watch(ctx)
		err := e.again(ctx, l, func() *beam.Pipeline {
			p := beam.NewPipeline()
			var out []beam.PCollection
			for s, elements := range l.branches(p.Root(), todo) {
				out = append(out, beam.ParDo(s, &emitFn{e.Dir, do, l.shared}, elements))
			}
			s := p.Root()
			end(s, beam.ParDo(s, &keepFn{e.Dir, name}, beam.GroupByKey(s, beam.Flatten(s, out...))))
			return p
		})
		stop()
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

// again runs a pipeline until one succeeds.
func (e *Engine) again(ctx context.Context, l *list, pipeline func() *beam.Pipeline) error {
	for try := 1; ; try++ {
		err := e.Runner.Run(ctx, pipeline())
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

// Partition reads what was emitted to a partition, in the order of the tasks.
func Partition(ctx context.Context, dir, name string, part int) (chunks [][]byte, err error) {
	b, err := store.Read(ctx, partition(dir, name, part))
	if err == store.ErrNone {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for len(b) > 0 {
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) {
			return nil, fmt.Errorf("%s is damaged", partition(dir, name, part))
		}
		chunks = append(chunks, b[n:n+int(size)])
		b = b[n+int(size):]
	}
	return chunks, nil
}
