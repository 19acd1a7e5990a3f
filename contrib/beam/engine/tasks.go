// Package engine does the work of checks out of core on Beam: the same functions as on one machine, called by workers.
//
// # How work is divided
//
// A task is a call of a registered function ([Register]) with bytes, which gives bytes. The engine runs a pipeline for
// each list of tasks, of which each is an element. Answers are files in the work folder, named by what was asked: where
// a task is done twice, both write the same file; what was answered before, by a pipeline that failed or a run that was
// stopped, is not asked again.
//
// [Engine.Shuffle] is the other kind: tasks that also emit chunks for partitions, which the tasks that come find in
// files of the work folder.
package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/cespare/xxhash/v2"

	"isovet/contrib/beam/run"
	"isovet/contrib/beam/store"
)

func init() {
	register.DoFn3x1[context.Context, []byte, func(int64, []byte), error](&taskFn{})
	register.DoFn2x0[int64, func(*[]byte) bool](&endFn{})
	register.Emitter2[int64, []byte]()
	register.Iter1[[]byte]()
}

// Engine runs tasks on a runner.
type Engine struct {
	Runner *run.Runner
	// Dir is the work folder, on any of Beam's file systems that all workers reach.
	Dir string
	// Attempts are how often a pipeline that fails without having done anything is tried; 0: 3.
	Attempts int
	// Memory is how many bytes each process may use for tasks, about; 0: 1 GiB.
	Memory int64
	// Grouped: Beam groups what tasks emit for others, also where these could read each other's files.
	Grouped bool
	// Progress, if set, is told how many tasks of how many are done.
	Progress func(done, total int)
}

// Call is what a function of a task is given.
type Call struct {
	Dir    string
	Key    string // a name for what is asked
	Shared []byte // the same for all tasks of a list
	Args   []byte
	// Emit gives a chunk to a partition, in a Shuffle; the bytes are copied. Its head is read without the rest.
	Emit func(part int, head, chunk []byte) error
}

// Func does a task. It must always answer the same bytes. Errors that [encodeError] knows are answers too; others fail
// the pipeline, which is tried again.
type Func func(ctx context.Context, c *Call) ([]byte, error)

var funcs = map[string]Func{}

// Register names a function; to be called by init.
func Register(name string, f Func) { funcs[name] = f }

// taskFn does tasks.
type taskFn struct {
	Dir, Do, Shared string
	Memory          int64
	Emits           bool // they emit chunks, which stay in a file
}

// How the arguments of a task stand in its element, which begins with its key.
const (
	inline = 'i' // in the element
	inFile = 'f' // in a file
)

// keyLen is the length of a key, in hexadecimal digits.
const keyLen = 32

// maxInline is how long arguments are at most that stand in an element: elements that pipelines begin with are sent
// with the pipeline.
const maxInline = 4 << 10

func answer(dir, key string) string  { return store.Join(dir, "answer-"+key) }
func failure(dir, key string) string { return store.Join(dir, "failure-"+key) }
func input(dir, key string) string   { return store.Join(dir, "input-"+key) }

// ProcessElement does a task, and emits something: see end.
func (f *taskFn) ProcessElement(ctx context.Context, task []byte, emit func(int64, []byte)) error {
	err := f.do(ctx, task, nil)
	if err == nil {
		emit(0, nil)
	}
	return err
}

// end groups what transforms emit only to have emitted something. While a transform without outputs works, Prism turns
// in a loop, which takes a core.
func end(s beam.Scope, done beam.PCollection) { beam.ParDo0(s, &endFn{}, beam.GroupByKey(s, done)) }

type endFn struct{}

// ProcessElement does nothing.
func (endFn) ProcessElement(int64, func(*[]byte) bool) {}

func (f *taskFn) do(ctx context.Context, task []byte, emit func(int, []byte, []byte) error) (err error) {
	key := string(task[:keyLen])
	defer func() {
		if err != nil { // for the one who waits: runners pass on little of it
			store.Write(ctx, failure(f.Dir, key), []byte(err.Error()))
		}
	}()
	c := &Call{Dir: f.Dir, Key: key, Emit: emit, Args: task[keyLen+1:]}
	if task[keyLen] == inFile {
		if c.Args, err = store.Read(ctx, input(f.Dir, string(c.Args))); err != nil {
			return err
		}
	}
	if f.Shared != "" {
		if c.Shared, err = recent.read(ctx, input(f.Dir, f.Shared)); err != nil {
			return err
		}
	}
	do := funcs[f.Do]
	if do == nil {
		return fmt.Errorf("this worker knows no task %q: it is another version of the program", f.Do)
	}
	leave, err := enter(ctx, f.Do, f.Memory)
	if err != nil {
		return err
	}
	defer leave()
	var to *emitter
	if f.Emits {
		if to, err = newEmitter(ctx, f.Dir, key); err != nil {
			return err
		}
		c.Emit = to.emit
	}
	b, err := guarded(ctx, do, c)
	if to != nil {
		err = to.close(ctx, err)
	}
	status := []byte{answered}
	if err != nil {
		known := encodeError(err)
		if known == nil {
			return err
		}
		status[0], b, err = failed, known, nil
	}
	return store.Write(ctx, answer(f.Dir, key), status, b)
}

// What an answer's first byte says.
const (
	answered = 'a'
	failed   = 'e'
)

// guarded turns a panic into an error that is an answer.
func guarded(ctx context.Context, do Func, c *Call) (b []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &Panic{fmt.Sprintf("%v\n%s", r, debug.Stack())}
		}
	}()
	return do(ctx, c)
}

// Panic is the error of a task that panicked.
type Panic struct{ Text string }

func (p *Panic) Error() string { return "panic in a worker: " + p.Text }

// recent keeps the arguments that tasks share, of the last list.
var recent shared

type shared struct {
	mu      sync.Mutex
	path    string
	content []byte
}

func (s *shared) read(ctx context.Context, path string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.path != path {
		b, err := store.Read(ctx, path)
		if err != nil {
			return nil, err
		}
		s.path, s.content = path, b
	}
	return s.content, nil
}

// version is part of all keys: answers of another program are none.
var version = sync.OnceValue(func() []byte {
	h := xxhash.New()
	if path, err := os.Executable(); err == nil {
		if f, err := os.Open(path); err == nil {
			defer f.Close()
			io.Copy(h, f)
		}
	}
	return h.Sum(nil)
})

// keyOf is a short name for some bytes.
func keyOf(parts ...[]byte) string {
	h := sha256.New()
	for _, p := range append(parts, version()) {
		h.Write(binary.AppendUvarint(nil, uint64(len(p))))
		h.Write(p)
	}
	return hex.EncodeToString(h.Sum(nil))[:keyLen]
}

// list is a list of tasks on its way.
type list struct {
	e        *Engine
	do       string
	shared   string
	keys     []string
	elements [][]byte
}

// newList names tasks, and puts what is long in files.
func (e *Engine) newList(ctx context.Context, do string, shared []byte, args [][]byte) (*list, error) {
	l := &list{e: e, do: do}
	if len(shared) > 0 {
		l.shared = keyOf(shared)
		if err := store.Write(ctx, input(e.Dir, l.shared), shared); err != nil {
			return nil, err
		}
	}
	for _, a := range args {
		key := keyOf([]byte(do), []byte(l.shared), a)
		l.keys = append(l.keys, key)
		el := append([]byte(key), inline)
		if len(a) > maxInline {
			el[keyLen] = inFile
			if err := store.Write(ctx, input(e.Dir, key), a); err != nil {
				return nil, err
			}
			a = []byte(key)
		}
		l.elements = append(l.elements, append(el, a...))
	}
	return l, nil
}

// missing are the tasks without an answer.
func (l *list) missing(ctx context.Context) (at []int, err error) {
	names, err := store.List(ctx, l.e.Dir, "answer-")
	if err != nil {
		return nil, err
	}
	there := make(map[string]bool, len(names))
	for _, n := range names {
		_, key, _ := strings.Cut(store.Base(n), "-")
		there[key] = true
	}
	for i, key := range l.keys {
		if !there[key] {
			at = append(at, i)
		}
	}
	return at, nil
}

// Do does tasks and returns their answers, in their order; the first task, in this order, that failed is the error.
func (e *Engine) Do(ctx context.Context, do string, shared []byte, args [][]byte) ([][]byte, error) {
	l, err := e.newList(ctx, do, shared, args)
	if err != nil {
		return nil, err
	}
	err = l.work(ctx, func(todo []int) *beam.Pipeline { return l.pipeline(todo, false) })
	if err != nil {
		return nil, err
	}
	return l.answers(ctx)
}

// pipeline does some of the tasks.
func (l *list) pipeline(todo []int, emits bool) *beam.Pipeline {
	p := beam.NewPipeline()
	for s, elements := range l.branches(p.Root(), todo) {
		end(s, beam.ParDo(s, &taskFn{l.e.Dir, l.do, l.shared, l.e.Memory, emits}, elements))
	}
	return p
}

// branches divides elements among the runner's branches.
func (l *list) branches(root beam.Scope, todo []int) func(func(beam.Scope, beam.PCollection) bool) {
	return func(yield func(beam.Scope, beam.PCollection) bool) {
		n := min(l.e.Runner.Branches(), len(todo))
		for b := range n {
			s := root.Scope(run.Branch(b))
			var mine [][]byte
			for i := b; i < len(todo); i += n {
				mine = append(mine, l.elements[todo[i]])
			}
			if !yield(s, beam.Reshuffle(s, beam.CreateList(s, mine))) {
				return
			}
		}
	}
}

// work runs pipelines until all tasks have their answers.
func (l *list) work(ctx context.Context, pipeline func(todo []int) *beam.Pipeline) error {
	todo, err := l.missing(ctx)
	if err != nil {
		return err
	}
	stop := l.watch(ctx)
	defer stop()
	for idle := 0; len(todo) > 0; {
		failed := l.e.Runner.Run(ctx, pipeline(todo))
		if err := context.Cause(ctx); err != nil {
			return err
		}
		left, err := l.missing(ctx)
		if err != nil {
			return err
		}
		if len(left) == 0 {
			break
		}
		if idle++; len(left) < len(todo) {
			idle = 0
		}
		if idle >= cmp.Or(l.e.Attempts, 3) {
			return l.why(ctx, left, failed)
		}
		todo = left
	}
	return nil
}

// why says why tasks have no answers.
func (l *list) why(ctx context.Context, left []int, failed error) error {
	for _, i := range left {
		if b, err := store.Read(ctx, failure(l.e.Dir, l.keys[i])); err == nil {
			return errors.New(string(b))
		}
	}
	if failed == nil {
		failed = errors.New("the runner says that it is done, and it is not: do all workers reach " + l.e.Dir + "?")
	}
	return fmt.Errorf("the pipeline failed: %w", failed)
}

// watch tells progress, until it is stopped.
func (l *list) watch(ctx context.Context) (stop func()) {
	if l.e.Progress == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if left, err := l.missing(ctx); err == nil {
				l.e.Progress(len(l.keys)-len(left), len(l.keys))
			}
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	}()
	return func() { cancel(); <-done }
}

func (l *list) answers(ctx context.Context) ([][]byte, error) {
	all := make([][]byte, len(l.keys))
	for i, key := range l.keys {
		b, err := store.Read(ctx, answer(l.e.Dir, key))
		if err != nil {
			return nil, err
		}
		if len(b) == 0 || b[0] != answered && b[0] != failed {
			return nil, fmt.Errorf("%s is no answer", answer(l.e.Dir, key))
		}
		if b[0] == failed { // who mends the input asks again
			return nil, errors.Join(decodeError(b[1:]), store.Remove(ctx, answer(l.e.Dir, key)))
		}
		all[i] = b[1:]
	}
	return all, nil
}

// Clean removes what the engine wrote, and the work folder if it is empty then.
func (e *Engine) Clean(ctx context.Context) error {
	var all []string
	for _, what := range []string{"answer-", "failure-", "input-", "part-", "heads-", "chunks-", "index-", ".part-"} {
		names, err := store.List(ctx, e.Dir, what)
		if err != nil {
			return err
		}
		all = append(all, names...)
	}
	slices.Sort(all)
	err := store.Remove(ctx, all...)
	if !store.Remote(e.Dir) {
		os.Remove(e.Dir) // if nothing else is in it
	}
	return err
}
