package split

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"isovet/history"
	"isovet/history/format"
)

// Paths returns the files and folders that an argument names: itself or, if it does not exist and contains one of *?[,
// the matching ones, with numbers in names by value.
func Paths(arg string) []string {
	if _, err := os.Lstat(arg); err == nil || !strings.ContainsAny(arg, "*?[") {
		return []string{arg}
	}
	found, err := filepath.Glob(arg)
	if err != nil || len(found) == 0 {
		return []string{arg}
	}
	format.SortNames(found)
	return found
}

// InParts reports whether paths are a history in parts, and not one file or folder in a format of its own.
func InParts(paths []string) bool {
	return len(paths) > 1 || len(paths) == 1 && format.IsParts(paths[0])
}

// Read reads one history into memory, in parts or not, from the files that Plan accepts. Cost: that of format.Read for
// one file; for parts, one look-up for each operation.
func Read(ctx context.Context, paths []string, o format.Options) (*history.History, error) {
	if !InParts(paths) {
		return format.Read(ctx, paths[0], o)
	}
	for try := 1; ; try++ {
		h, err := readParts(ctx, paths, o)
		if gone, is := errors.AsType[*goneError](err); is {
			if err = gone.InputError; try < 8 {
				continue // the folder is being recorded into, and a part has just been finished
			}
		}
		return h, err
	}
}

func readParts(ctx context.Context, paths []string, o format.Options) (*history.History, error) {
	if err := o.OneFile(); err != nil {
		return nil, err
	}
	plan := Options{Format: o.Format, RealTime: o.RealTime, Initial: o.Initial, Workers: o.Workers, Whole: 1 << 62}
	s, err := Plan(ctx, paths, plan)
	_, order := errors.AsType[*OrderError](err)
	if order {
		plan.anyOrder = true
		s, err = Plan(ctx, paths, plan)
	}
	if err != nil {
		return nil, err
	}
	h, err := s.whole(ctx, order, o.Progress)
	if err == nil && o.RealTime == format.ByTime && h.Txns.Start == nil && h.Txns.End == nil {
		return nil, &history.InputError{File: h.File, Off: -1,
			Msg: "--real-time time: the history has no times; expected none"}
	}
	return h, err
}

// whole reads all pieces into one history. ordered says that sessions must be sorted by the places in the files;
// otherwise the transactions are in order.
func (s *Set) whole(ctx context.Context, ordered bool, told func(done, total int64)) (*history.History, error) {
	j := joiner{b: history.NewBuilder(), ordered: ordered, sessions: map[int64]*place{}}
	if ordered {
		if err := j.begins(ctx, s); err != nil {
			return nil, err
		}
	}
	j.b.File = s.Name
	j.b.Meta = s.Header.Meta
	j.b.Initial = s.Header.Initial.in(&j.b.Texts)
	var done int64
	positions := false
	var notes []history.Note
	for i := range s.Pieces {
		p := &s.Pieces[i]
		if p.RealTime == format.ByTime {
			p.RealTime = "" // of all files together
		}
		err := p.Each(ctx, func(b *Batch) error {
			positions = positions || b.H.Positions
			notes = append(notes, b.H.Notes...)
			j.add(b)
			return nil
		})
		if err != nil {
			return nil, err
		}
		if told != nil && s.Txns > 0 {
			done += p.Txns
			told(done*s.Bytes/s.Txns, s.Bytes)
		}
	}
	h, err := j.b.Build()
	if err != nil {
		// The builder knows no files: a line without one would be that of any.
		if in, ok := errors.AsType[*history.InputError](err); ok {
			in.Line = 0
			in.Off = -1
		}
		return nil, err
	}
	for _, n := range notes {
		h.AddNote(n.Kind, n.Count, "%s", n.Text)
	}
	h.Positions = positions
	if len(s.Pieces) == 0 {
		return h, nil
	}
	return h, s.Pieces[0].Override.Apply(h)
}

// partOf is a file's part of a session.
type partOf struct {
	part    int
	session int64
}

// begins finds in which files the places of a session begin with 0.
func (j *joiner) begins(ctx context.Context, s *Set) error {
	j.again = map[partOf]bool{}
	for i := range s.Pieces {
		if err := s.Pieces[i].Each(ctx, func(b *Batch) error {
			for t, seq := range b.seqs {
				if name := b.H.SessName[b.H.Txns.Sess[t]]; seq == 0 && name != history.NoTime {
					j.again[partOf{b.part, name}] = true
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// joiner joins batches in one builder.
type joiner struct {
	b        *history.Builder
	ordered  bool
	sessions map[int64]*place
	again    map[partOf]bool // the file has the session's place 0
	text     []uint32
	key      []uint32
	op       history.Copier
}

// begin prepares for the transactions of another history.
func (j *joiner) begin(h *history.History) {
	j.op = history.Copier{To: j.b, Key: j.keyOf,
		Value: func(h *history.History, v uint32) history.Value { return j.value(h, h.VerValue(v)) }}
	j.text, j.key = j.text[:0], j.key[:0]
	for range h.Texts.Len() {
		j.text = append(j.text, history.None)
	}
	for range h.Keys {
		j.key = append(j.key, history.None)
	}
}

func (j *joiner) textOf(h *history.History, t uint32) uint32 {
	if j.text[t] == history.None {
		j.text[t] = j.b.Text(h.Texts.Text(t))
	}
	return j.text[t]
}

func (j *joiner) keyOf(h *history.History, k uint32) uint32 {
	if j.key[k] == history.None {
		j.key[k] = j.b.Key(j.value(h, h.Keys[k]))
	}
	return j.key[k]
}

func (j *joiner) add(b *Batch) {
	j.begin(b.H)
	j.some(b, 0, uint32(b.H.NumTxns()))
}

// Sub returns transactions lo to hi of a history as a history. Each session has its transactions in the order of their
// indices. Cost: linear in them, and in the history's keys and texts.
func Sub(h *history.History, lo, hi uint32) (*history.History, error) {
	j := joiner{b: history.NewBuilder()}
	j.begin(h)
	j.b.File, j.b.Meta, j.b.Initial = h.File, h.Meta, j.value(h, h.Initial)
	j.some(&Batch{H: h}, lo, hi)
	return j.b.Build()
}

// some adds some transactions of a batch.
func (j *joiner) some(b *Batch, from, end uint32) {
	h, to := b.H, j.b
	for t := from; t < end; t++ {
		for op := range h.EachOp(t) {
			j.op.Op(h, op)
			j.op.Times(h, op)
		}
		x := &h.Txns
		head := to.HeadOf(h, t)
		for _, c := range [...]struct {
			col []uint32
			to  *uint32
		}{{x.Node, &head.Node}, {x.Name, &head.Name}, {x.Locking, &head.Locking}} {
			if c.col != nil && c.col[t] != history.None {
				*c.to = j.textOf(h, c.col[t])
			}
		}
		if head.HasSess && j.ordered {
			head.Seq, head.HasSeq = j.seq(b, t, head.Session), true
		}
		to.EndTxn(head)
	}
}

// seq returns a transaction's place in its session, over all files.
func (j *joiner) seq(b *Batch, t uint32, name int64) int64 {
	at := j.sessions[name]
	if at == nil {
		at = &place{}
		j.sessions[name] = at
	}
	seq := int64(history.NoTime)
	if b.seqs != nil {
		seq = b.seqs[t]
	}
	if at.part != b.part+1 {
		at.part, at.base = b.part+1, 0
		if j.again[partOf{b.part, name}] {
			at.base = at.n
		}
	}
	at.n++
	if seq == history.NoTime {
		return at.n - 1
	}
	return at.base + seq
}

func (j *joiner) value(h *history.History, v history.Value) history.Value {
	if v.Kind == history.String || v.Kind == history.Row {
		v.N = int64(j.textOf(h, uint32(v.N)))
	}
	return v
}
