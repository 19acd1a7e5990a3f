package engine

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"slices"

	"github.com/cespare/xxhash/v2"

	"isovet/contrib/beam/store"
)

// Chunk is what a task emitted to a partition: a head, and bytes that are read when they are needed.
type Chunk struct {
	Head  []byte
	Bytes int
	// Read appends the bytes to buf.
	Read func(buf []byte) ([]byte, error)
}

// lies says where a chunk lies, and which of its partition's chunks it is: the no-th of those of a task.
type lies struct {
	Task, No uint64
	Head     []byte
	Off      int64
	N        int
	Sum      uint64
}

// emitted is a chunk in the file of the task that emitted it.
type emitted struct {
	Part int
	Lies lies
}

// A task that emits chunks writes them to a file one behind the other, and where they lie to another.
func chunksOf(dir, key string) string { return store.Join(dir, "chunks-"+key) }
func indexOf(dir, key string) string  { return store.Join(dir, "index-"+key) }

// partition is the file of a partition: chunks, then a foot that says where its chunks lie.
func partition(dir, name string, part int) string {
	return store.Join(dir, fmt.Sprintf("part-%s-%05d", name, part))
}

// foot says which chunks a partition has. Those of task i lie in the file Files[i], or, if there are none, in the
// partition's own.
type foot struct {
	Files  []string // keys of tasks
	Chunks []lies   // in their order
}

// footEnd is behind a foot: its length and checksum.
const footEnd = 16

func (f *foot) write(w *store.Writer) error {
	slices.SortFunc(f.Chunks, func(a, b lies) int {
		return cmp.Or(cmp.Compare(a.Task, b.Task), cmp.Compare(a.No, b.No))
	})
	// A runner that does a task twice takes what one of them emitted; and both emit the same.
	f.Chunks = slices.CompactFunc(f.Chunks, func(a, b lies) bool { return a.Task == b.Task && a.No == b.No })
	b := encode(f)
	end := binary.LittleEndian.AppendUint64(nil, uint64(len(b)))
	end = binary.LittleEndian.AppendUint64(end, xxhash.Sum64(b))
	_, err := w.Write(append(b, end...))
	return err
}

// emitter writes what a task emits.
type emitter struct {
	dir, key string
	w        *store.Writer
	all      []emitted
}

func newEmitter(ctx context.Context, dir, key string) (*emitter, error) {
	w, err := store.Create(ctx, chunksOf(dir, key))
	return &emitter{dir: dir, key: key, w: w}, err
}

func (e *emitter) emit(part int, head, chunk []byte) error {
	e.all = append(e.all, emitted{part, lies{No: uint64(len(e.all)), Head: slices.Clone(head), Off: e.w.Offset(),
		N: len(chunk), Sum: xxhash.Sum64(chunk)}})
	_, err := e.w.Write(chunk)
	return err
}

// close ends the file, which is there with its index or not at all.
func (e *emitter) close(ctx context.Context, err error) error {
	if err := e.w.Close(err); err != nil {
		return err
	}
	// One partition behind the other, as they are read.
	slices.SortStableFunc(e.all, func(a, b emitted) int { return cmp.Compare(a.Part, b.Part) })
	return store.Write(ctx, indexOf(e.dir, e.key), encode(&e.all))
}

// divide writes, for each partition, where the chunks lie that tasks have emitted to it.
func (e *Engine) divide(ctx context.Context, name string, keys []string) error {
	parts := map[int]*foot{}
	for i, key := range keys {
		b, err := store.Read(ctx, indexOf(e.Dir, key))
		if err != nil {
			return fmt.Errorf("%s: %w", indexOf(e.Dir, key), err)
		}
		var all []emitted
		if err := decode(b, &all); err != nil {
			return err
		}
		for _, x := range all {
			if parts[x.Part] == nil {
				parts[x.Part] = &foot{Files: keys}
			}
			x.Lies.Task = uint64(i)
			parts[x.Part].Chunks = append(parts[x.Part].Chunks, x.Lies)
		}
	}
	for part, f := range parts {
		w, err := store.Create(ctx, partition(e.Dir, name, part))
		if err != nil {
			return err
		}
		if err := w.Close(f.write(w)); err != nil {
			return err
		}
	}
	return nil
}

// Partition is what was emitted to a partition.
type Partition struct {
	Chunks []Chunk // in the order of the tasks

	dir   string
	own   *store.File
	files []string
	open  map[uint64]*store.File
}

// manyFiles is how many files a partition has open at once.
const manyFiles = 64

// OpenPartition opens what was emitted to a partition.
func OpenPartition(ctx context.Context, dir, name string, part int) (*Partition, error) {
	p := &Partition{dir: dir, open: map[uint64]*store.File{}}
	f, err := store.Open(ctx, partition(dir, name, part))
	if errors.Is(err, store.ErrNone) {
		return p, nil
	}
	if err != nil {
		return nil, err
	}
	p.own = f
	if err := p.read(ctx); err != nil {
		p.Close()
		return nil, fmt.Errorf("%s is damaged: %w", partition(dir, name, part), err)
	}
	return p, nil
}

func (p *Partition) read(ctx context.Context) error {
	st, err := p.own.Stat()
	if err != nil {
		return err
	}
	var end [footEnd]byte
	if _, err := p.own.ReadAt(end[:], max(0, st.Size()-footEnd)); err != nil {
		return err
	}
	n := binary.LittleEndian.Uint64(end[:])
	if n > uint64(st.Size()-footEnd) {
		return errors.New("its footer is longer than the file")
	}
	b := make([]byte, n)
	if _, err := p.own.ReadAt(b, st.Size()-footEnd-int64(n)); err != nil {
		return err
	}
	if xxhash.Sum64(b) != binary.LittleEndian.Uint64(end[8:]) {
		return errors.New("the checksum of its footer is wrong")
	}
	var f foot
	if err := gob.NewDecoder(bytes.NewReader(b)).Decode(&f); err != nil {
		return err
	}
	p.files = f.Files
	for _, c := range f.Chunks {
		p.Chunks = append(p.Chunks, Chunk{c.Head, c.N,
			func(buf []byte) ([]byte, error) { return p.chunk(ctx, &c, buf) }})
	}
	return nil
}

func (p *Partition) chunk(ctx context.Context, c *lies, buf []byte) ([]byte, error) {
	f := p.own
	if len(p.files) > 0 {
		var err error
		if f, err = p.file(ctx, c.Task); err != nil {
			return nil, err
		}
	}
	at := len(buf)
	buf = slices.Grow(buf, c.N)[:at+c.N]
	if _, err := f.ReadAt(buf[at:], c.Off); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	if xxhash.Sum64(buf[at:]) != c.Sum {
		return nil, fmt.Errorf("%s is damaged: a chunk's checksum is wrong", f.Name())
	}
	return buf, nil
}

func (p *Partition) file(ctx context.Context, task uint64) (*store.File, error) {
	if f := p.open[task]; f != nil {
		return f, nil
	}
	if task >= uint64(len(p.files)) {
		return nil, errors.New("a partition has a chunk of an unknown task")
	}
	if len(p.open) >= manyFiles {
		p.closeFiles()
	}
	path := chunksOf(p.dir, p.files[task])
	f, err := store.Open(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	p.open[task] = f
	return f, nil
}

func (p *Partition) closeFiles() {
	for _, f := range p.open {
		f.Close()
	}
	clear(p.open)
}

// Close closes its files.
func (p *Partition) Close() {
	p.closeFiles()
	if p.own != nil {
		p.own.Close()
	}
}
