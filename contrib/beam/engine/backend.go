package engine

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"io"

	"isovet/check/spill"
	"isovet/check/spill/plan"
	"isovet/contrib/beam/store"
	"isovet/history/split"
)

// Backend does the work of a check out of core ([spill.Check]) by an Engine.
type Backend struct {
	*Engine
	Set  *split.Set
	From Remote // where Set's files come from that are copies

	groups []spill.Group
	args   [][]byte // of groups: their pieces
	keys   []string // of groups' tasks, under which their heads are
	name   string   // under which the chunks are
}

var _ spill.Backend = (*Backend)(nil)

// What tasks share.
type (
	mapShared struct{ Rule plan.Rule }

	partShared struct {
		Name  string
		Order spill.Order
		Keep  []uint64
		Most  int
	}
)

func init() {
	Register("map", doMap)
	Register("replay", doReplay)
	Register("writers", doWriters)
	Register("gather", doGather)
	Register("solve", doSolve)
	// A type's number in gob is the order in which it was seen. So that all processes write the same bytes:
	for _, v := range []any{mapShared{}, spill.Mapped{}, partShared{}, spill.Part{}, spill.Replayed{}, spill.Written{},
		spill.Gathering{}, []spill.Found{}, spill.Solving{}, spill.Solution{}, foot{}, []emitted{}} {
		encode(v)
	}
}

// encode makes bytes of a value without maps: always the same of the same.
func encode(v any) []byte {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(v); err != nil {
		panic(err) // of the types above, all can be
	}
	return b.Bytes()
}

func decode(b []byte, v any) error {
	if err := gob.NewDecoder(bytes.NewReader(b)).Decode(v); err != nil && err != io.EOF {
		return fmt.Errorf("cannot read a message of another process: %w", err)
	}
	return nil
}

// each asks for answers to a list of values, and decodes them.
func each[A, Q any](ctx context.Context, e *Engine, do string, shared any, asked []Q) ([]A, error) {
	args := make([][]byte, len(asked))
	for i := range asked {
		args[i] = encode(&asked[i])
	}
	var s []byte
	if shared != nil {
		s = encode(shared)
	}
	return decoded[A](e.Do(ctx, do, s, args))
}

func decoded[A any](b [][]byte, err error) ([]A, error) {
	if err != nil {
		return nil, err
	}
	all := make([]A, len(b))
	for i := range b {
		if err := decode(b[i], &all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// group are a group's pieces, as a task has them.
type group struct {
	Pieces []split.Piece `json:"pieces"`
	From   Remote        `json:"from,omitempty"`
}

func encodeGroup(p []split.Piece, from Remote) ([]byte, error) {
	x := group{Pieces: p, From: Remote{}}
	for i := range x.Pieces {
		if p := x.Pieces[i].File.Path; from[p] != "" {
			x.From[p] = from[p]
		}
	}
	return json.Marshal(&x)
}

func pieces(ctx context.Context, args []byte) ([]spill.Piece, error) {
	var g group
	if err := json.Unmarshal(args, &g); err != nil {
		return nil, err
	}
	if err := g.From.here(ctx, g.Pieces); err != nil {
		return nil, err
	}
	in, err := spill.Of(&split.Set{Pieces: g.Pieces})
	if err != nil {
		return nil, err
	}
	return in.Pieces, nil
}

// Map maps groups of pieces, and has their chunks written by partition.
func (b *Backend) Map(ctx context.Context, rule plan.Rule, groups []spill.Group) ([]spill.Mapped, error) {
	b.groups, b.args = groups, nil
	for _, g := range groups {
		a, err := encodeGroup(b.Set.Pieces[g.From:g.To], b.From)
		if err != nil {
			return nil, err
		}
		b.args = append(b.args, a)
	}
	answers, keys, name, err := b.Shuffle(ctx, "map", encode(mapShared{rule}), b.args)
	if err != nil {
		return nil, err
	}
	b.name, b.keys = name, keys
	return decoded[spill.Mapped](answers, nil)
}

func headsOf(dir, key string) string { return store.Join(dir, "heads-"+key) }

// Heads reads a group's heads.
func (b *Backend) Heads(ctx context.Context, group int) ([]byte, error) {
	return store.Read(ctx, headsOf(b.Dir, b.keys[group]))
}

func doMap(ctx context.Context, c *Call) ([]byte, error) {
	var s mapShared
	if err := decode(c.Shared, &s); err != nil {
		return nil, err
	}
	in, err := pieces(ctx, c.Args)
	if err != nil {
		return nil, err
	}
	var heads, buf []byte
	m, err := spill.MapPieces(ctx, in, s.Rule, func(part int, chunk []byte, info plan.ChunkInfo) error {
		buf = appendInfo(buf[:0], info)
		return c.Emit(part, buf, chunk)
	}, func(b []byte) error {
		heads = append(heads, b...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := store.Write(ctx, headsOf(c.Dir, c.Key), heads); err != nil {
		return nil, err
	}
	return encode(&m), nil
}

func appendInfo(b []byte, i plan.ChunkInfo) []byte {
	for _, p := range []plan.Pos{i.Min, i.Max} {
		b = binary.AppendVarint(b, p.T)
		b = binary.AppendUvarint(b, p.N)
		b = binary.AppendUvarint(b, uint64(p.Sub))
	}
	b = binary.AppendUvarint(b, uint64(i.Txns))
	b = binary.AppendUvarint(b, uint64(i.Ops))
	w := &i.Written
	b = append(b, w.Kinds, bit(w.Known)|bit(w.Initialize)<<1)
	b = binary.AppendVarint(binary.AppendVarint(b, w.Min), w.Max)
	return binary.AppendUvarint(binary.AppendUvarint(b, uint64(w.Low)), uint64(w.High))
}

func bit(is bool) byte {
	if is {
		return 1
	}
	return 0
}

// infoOf reads what appendInfo wrote.
func infoOf(b []byte) (i plan.ChunkInfo, err error) {
	number := func() uint64 {
		x, n := binary.Uvarint(b)
		if n <= 0 {
			err = fmt.Errorf("a chunk without a head")
			return 0
		}
		b = b[n:]
		return x
	}
	signed := func() int64 {
		t := number()
		return int64(t>>1) ^ -int64(t&1)
	}
	for _, p := range []*plan.Pos{&i.Min, &i.Max} {
		p.T, p.N, p.Sub = signed(), number(), uint32(number())
	}
	i.Txns, i.Ops = int(number()), int(number())
	if len(b) < 2 {
		return i, fmt.Errorf("a chunk without a head")
	}
	w := &i.Written
	w.Kinds, w.Known, w.Initialize, b = b[0], b[1]&1 != 0, b[1]&2 != 0, b[2:]
	w.Min, w.Max, w.Low, w.High = signed(), signed(), uint32(number()), uint32(number())
	return i, err
}

// chunks are those of a partition: as they were mapped, and then of exceptions. They can be read until it is closed.
func chunks(ctx context.Context, dir, name string, p *spill.Part) (all []plan.Chunk, mapped *Partition, err error) {
	mapped, err = OpenPartition(ctx, dir, name, p.Part)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range mapped.Chunks {
		i, err := infoOf(c.Head)
		if err != nil {
			mapped.Close()
			return nil, nil, err
		}
		all = append(all, plan.Chunk{ChunkInfo: i, Bytes: c.Bytes, Read: c.Read})
	}
	for i := range p.Moved {
		all = append(all, p.Moved[i].Chunk())
	}
	return all, mapped, nil
}

// part reads what the tasks of partitions are given.
func part(ctx context.Context, c *Call) (s partShared, p spill.Part, all []plan.Chunk, of *Partition, err error) {
	if err = decode(c.Shared, &s); err == nil {
		if err = decode(c.Args, &p); err == nil {
			all, of, err = chunks(ctx, c.Dir, s.Name, &p)
		}
	}
	return s, p, all, of, err
}

// Replay replays partitions.
func (b *Backend) Replay(ctx context.Context, o spill.Order, keep []uint64, most int, parts []spill.Part) (
	[]spill.Replayed, error) {
	return each[spill.Replayed](ctx, b.Engine, "replay", &partShared{b.name, o, keep, most}, parts)
}

func doReplay(ctx context.Context, c *Call) ([]byte, error) {
	s, p, all, of, err := part(ctx, c)
	if err != nil {
		return nil, err
	}
	defer of.Close()
	r, err := s.Order.Replay(ctx, p.Part, all, s.Keep, s.Most)
	return encode(&r), err
}

// Writers asks who wrote versions.
func (b *Backend) Writers(ctx context.Context, o spill.Order, parts []spill.Part) ([]spill.Written, error) {
	return each[spill.Written](ctx, b.Engine, "writers", &partShared{Name: b.name, Order: o}, parts)
}

func doWriters(ctx context.Context, c *Call) ([]byte, error) {
	s, p, all, of, err := part(ctx, c)
	if err != nil {
		return nil, err
	}
	defer of.Close()
	w, err := spill.WritersOf(ctx, all, s.Order.Filter(nil), s.Order.Initial, &p)
	return encode(&w), err
}

// Gather reads transactions of groups.
func (b *Backend) Gather(ctx context.Context, g *spill.Gathering, groups []int) ([][]spill.Found, error) {
	var args [][]byte
	for _, i := range groups {
		args = append(args, b.args[i])
	}
	return decoded[[]spill.Found](b.Do(ctx, "gather", encode(g), args))
}

func doGather(ctx context.Context, c *Call) ([]byte, error) {
	var g spill.Gathering
	if err := decode(c.Shared, &g); err != nil {
		return nil, err
	}
	in, err := pieces(ctx, c.Args)
	if err != nil {
		return nil, err
	}
	got, err := spill.GatherPieces(ctx, in, &g)
	return encode(got), err
}

// Solve solves windows.
func (b *Backend) Solve(ctx context.Context, ws []spill.Solving) ([]spill.Solution, error) {
	return each[spill.Solution](ctx, b.Engine, "solve", nil, ws)
}

func doSolve(ctx context.Context, c *Call) ([]byte, error) {
	var w spill.Solving
	if err := decode(c.Args, &w); err != nil {
		return nil, err
	}
	s, err := spill.SolveWindow(ctx, &w)
	return encode(&s), err
}
