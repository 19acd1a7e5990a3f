package native

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"

	"github.com/cespare/xxhash/v2"

	"isovet/history"
)

// Writer writes a file of a history that comes in batches, without having all of it in memory: the columns of
// transactions and operations go to temporary files. In memory it keeps the keys, texts and versions with hash tables
// of them: about 25 bytes a version, 30 a key, 9 a transaction.
type Writer struct {
	dir  string // of the temporary files
	h    history.History
	err  error
	cols [maxSections]*colFile

	texts    history.Texts
	keys     numbering // → h.Keys
	vers     numbering // → h.VerKey, …
	model    []uint8
	sessions map[int64]uint32
	sess     []uint32 // of each transaction
	count    []uint32 // of each session
	initVers []uint32 // versions that the initial transaction wrote

	textOf, keyOf, verOf []uint32 // of the batch → of the file
	txns, ops            int64
}

// NewWriter begins a file. Temporary files go to dir. The file gets Meta and Initial of header, a history that need not
// have transactions.
func NewWriter(dir string, header *history.History) *Writer {
	w := &Writer{dir: dir, sessions: map[int64]uint32{}}
	w.h.Meta, w.h.Init = header.Meta, history.None
	w.h.Initial = header.Initial
	if k := header.Initial.Kind; k == history.String || k == history.Row {
		w.h.Initial.N = int64(w.texts.Intern(header.Texts.Text(uint32(header.Initial.N))))
	}
	return w
}

// Size estimates how many bytes the file will have.
func (w *Writer) Size() int64 {
	n := int64(13*len(w.h.VerKey) + 20*len(w.h.Keys) + 8*len(w.sess))
	arena, off, _ := w.texts.Layout() // no rows are made, so none stand packed
	n += int64(len(arena) + 4*len(off))
	for _, c := range w.cols {
		if c != nil {
			n += c.size
		}
	}
	return n
}

// put appends a slice to a column.
func put[T element](w *Writer, id uint32, s []T) {
	x := col(id, "", &s)
	w.col(id, x.width).put(x.bytes())
}

// times appends times to a column. The column exists only once a row has a time.
func (w *Writer) times(id uint32, s []int64, before, n int64) {
	if s == nil && w.cols[id] == nil {
		return
	}
	c := w.col(id, 8)
	w.pad(c, before, history.NoTime)
	if s != nil {
		put(w, id, s)
	}
	w.pad(c, before+n, history.NoTime)
}

func (w *Writer) pad(c *colFile, rows, x int64) {
	if c.rows >= rows {
		return
	}
	one := binary.LittleEndian.AppendUint64(nil, uint64(x))[:c.width]
	many := make([]byte, 0, 1024*c.width)
	for range 1024 {
		many = append(many, one...)
	}
	for c.rows < rows {
		c.put(many[:min(1024, rows-c.rows)*int64(c.width)])
	}
}

// labels appends texts to a column. The column exists only once a row has a text.
func (w *Writer) labels(id uint32, s []uint32, before, n int64) {
	if s == nil && w.cols[id] == nil {
		return
	}
	c := w.col(id, 4)
	w.pad(c, before, -1)
	if s != nil {
		s = slices.Clone(s)
		for i, t := range s {
			if t != history.None {
				s[i] = w.textOf[t]
			}
		}
		put(w, id, s)
	}
	w.pad(c, before+n, -1)
}

// Add appends the transactions of a history, in its order; sessions of one name are one, and their transactions follow
// those that were added before. The history's own Meta and Initial are ignored. Cost: linear in it.
func (w *Writer) Add(h *history.History) error {
	if w.err != nil {
		return w.err
	}
	n, ops := int64(h.NumTxns()), int64(h.NumOps())
	if w.txns+n > math.MaxInt32 || w.ops+ops > math.MaxInt32 || w.keys.n > 1<<29 {
		return errors.New("a native file holds fewer than 2^31 transactions and operations and 2^29 keys; expected " +
			"several files (--shards)")
	}
	if h.Init != history.None && w.h.Init != history.None {
		return errors.New("a second initial transaction; expected one at most")
	}
	w.names(h)
	if err := w.uses(h); err != nil {
		return err
	}
	x := &h.Txns
	put(w, 12, x.ID)
	put(w, 13, x.Line)
	put(w, 15, x.Status)
	off := slices.Clone(x.OpOff)
	if w.txns > 0 {
		off = off[1:]
	}
	for i := range off {
		off[i] += uint32(w.ops)
	}
	put(w, 16, off)
	for _, c := range []struct {
		id uint32
		s  []int64
	}{{17, x.Start}, {18, x.Commit}, {19, x.End}, {20, x.StartTS}, {21, x.CommitTS}} {
		w.times(c.id, c.s, w.txns, n)
	}
	w.labels(22, x.Node, w.txns, n)
	w.labels(23, x.Name, w.txns, n)
	w.labels(levelsID, x.Level, w.txns, n)
	w.session(h)
	w.operations(h)
	w.times(26, h.Ops.Start, w.ops, ops)
	w.times(27, h.Ops.End, w.ops, ops)
	w.txns += n
	w.ops += ops
	return w.err
}

// names numbers the texts, keys and versions of a batch.
func (w *Writer) names(h *history.History) {
	w.textOf = w.textOf[:0]
	for t := range h.Texts.Len() {
		w.textOf = append(w.textOf, w.texts.Intern(h.Texts.Text(uint32(t))))
	}
	value := func(v history.Value) history.Value {
		if v.Kind == history.String || v.Kind == history.Row {
			v.N = int64(w.textOf[v.N])
		}
		return v
	}
	w.keyOf = w.keyOf[:0]
	for _, k := range h.Keys {
		k = value(k)
		i, isNew := w.keys.add(hash2(uint64(k.N), uint64(k.Kind)), func(i uint32) bool { return w.h.Keys[i] == k },
			func(i uint32) uint64 { return hash2(uint64(w.h.Keys[i].N), uint64(w.h.Keys[i].Kind)) })
		if isNew {
			w.h.Keys = append(w.h.Keys, k)
			w.h.InitVer = append(w.h.InitVer, history.None)
			w.model = append(w.model, 0)
		}
		w.keyOf = append(w.keyOf, i)
	}
	w.verOf = w.verOf[:0]
	all := &w.h
	of := func(i uint32) uint64 {
		return hash2(uint64(all.VerN[i]), uint64(all.VerKey[i])<<3|uint64(all.VerKind[i]))
	}
	for v, k := range h.VerKey {
		k, x := w.keyOf[k], value(h.VerValue(uint32(v)))
		i, isNew := w.vers.add(hash2(uint64(x.N), uint64(k)<<3|uint64(x.Kind)), func(i uint32) bool {
			return all.VerN[i] == x.N && all.VerKey[i] == k && all.VerKind[i] == x.Kind
		}, of)
		if isNew {
			all.VerKey = append(all.VerKey, k)
			all.VerKind = append(all.VerKind, x.Kind)
			all.VerN = append(all.VerN, x.N)
			if x == all.Initial {
				all.InitVer[k] = i
			}
		}
		w.verOf = append(w.verOf, i)
	}
}

// MixedError says that a key looks like both a list and a register. It may be a list that a read saw as null. This can
// only be decided with the whole history.
type MixedError struct{ history.InputError }

// Unwrap returns the input error.
func (e *MixedError) Unwrap() error { return &e.InputError }

// asNull marks a key that was read as null before it was known whether it is a list.
const asNull = 1 << 2

// uses notes how keys are used. A read of null may be of a list or of a register; the batch must decide as the whole
// history would.
func (w *Writer) uses(h *history.History) error {
	for op, k := range h.Ops.Kind {
		use := uint8(asRegister)
		switch k {
		case history.PredRead, history.PredWrite:
			continue
		case history.Append, history.ReadList:
			use = asList
		case history.Read:
			if h.VerKind[h.Ops.Ver[op]] == history.Null {
				use = asNull
			}
		}
		key := w.keyOf[h.OpKey(uint32(op))]
		if w.model[key] |= use; w.model[key]&asList != 0 && w.model[key] != asList {
			t := h.TxnOf(uint32(op))
			return &MixedError{history.InputError{File: h.File, Line: int(h.Txns.Line[t]), Off: -1, Field: "ops",
				Msg: fmt.Sprintf("key %s is used as a list and as a register, or null is read of it where nothing "+
					"near says that it is a list; expected one of them, or \"model\":\"list\" in the header",
					h.KeyString(h.OpKey(uint32(op))))}}
		}
	}
	return nil
}

func (w *Writer) session(h *history.History) {
	to := make([]uint32, h.NumSessions())
	for s, name := range h.SessName {
		if name != history.NoTime {
			if i, ok := w.sessions[name]; ok {
				to[s] = i
				continue
			}
			w.sessions[name] = uint32(len(w.count))
		}
		to[s] = uint32(len(w.count))
		w.count = append(w.count, 0)
		w.h.SessName = append(w.h.SessName, name)
	}
	for _, s := range h.Txns.Sess {
		w.sess = append(w.sess, to[s])
		w.count[to[s]]++
	}
}

func (w *Writer) operations(h *history.History) {
	put(w, 24, h.Ops.Kind)
	ver := slices.Clone(h.Ops.Ver)
	lists, preds := w.rows(28), w.rows(31)
	for i, k := range h.Ops.Kind {
		switch k {
		case history.ReadList:
			ver[i] += uint32(lists)
		case history.PredRead, history.PredWrite:
			ver[i] += uint32(preds)
		default:
			ver[i] = w.verOf[ver[i]]
		}
	}
	put(w, 25, ver)
	if h.Init != history.None {
		w.h.Init = uint32(w.txns) + h.Init
		for op := range h.EachOp(h.Init) {
			if h.Ops.Kind[op] == history.Write {
				w.initVers = append(w.initVers, ver[op])
			}
		}
	}
	renumber := func(col, to []uint32) []uint32 {
		col = slices.Clone(col)
		for i, x := range col {
			if x != history.None {
				col[i] = to[x]
			}
		}
		return col
	}
	offsets := func(id, of uint32, off []uint32) {
		if off = slices.Clone(off); w.rows(id) > 0 && len(off) > 0 {
			off = off[1:]
		}
		for i := range off {
			off[i] += uint32(w.rows(of))
		}
		put(w, id, off)
	}
	if l := &h.Lists; len(l.Key) > 0 {
		put(w, 28, renumber(l.Key, w.keyOf))
		offsets(29, 30, l.Off)
		put(w, 30, renumber(l.Elem, w.verOf))
	}
	if p := &h.Preds; len(p.Pred) > 0 {
		put(w, 31, renumber(p.Pred, w.textOf))
		offsets(32, 33, p.Off)
		put(w, 33, renumber(p.Old, w.verOf))
		put(w, 34, renumber(p.New, w.verOf))
	}
}

func (w *Writer) rows(id uint32) int64 {
	if c := w.cols[id]; c != nil {
		return c.rows
	}
	return 0
}

// Finish writes the file. The caller must close the Writer afterwards.
func (w *Writer) Finish(out io.Writer) error {
	if w.err != nil {
		return w.err
	}
	h := &w.h
	for k, m := range w.model {
		if m&asList != 0 {
			h.InitVer[k] = history.None
		}
	}
	for _, v := range w.initVers {
		h.InitVer[h.VerKey[v]] = v
	}
	// The initial transaction belongs to no session: it gets one without a name.
	h.SessOff = make([]uint32, len(w.count)+1)
	for s, n := range w.count {
		h.SessOff[s+1] = h.SessOff[s] + n
	}
	next := slices.Clone(h.SessOff[:len(w.count)])
	h.SessTxn = make([]uint32, len(w.sess))
	for t, s := range w.sess {
		h.SessTxn[next[s]] = uint32(t)
		next[s]++
	}
	if w.txns == 0 {
		put(w, 16, []uint32{0})
	}
	h.Texts = &w.texts
	x := restOf(h)
	put(w, 1, x.meta)
	put(w, 2, x.textOff)
	put(w, 3, x.arena)
	put(w, 4, h.Keys)
	put(w, 5, h.InitVer)
	put(w, 6, h.VerKey)
	put(w, 7, h.VerKind)
	put(w, 8, h.VerN)
	put(w, 9, h.SessName)
	put(w, 10, h.SessOff)
	put(w, 11, h.SessTxn)
	put(w, 14, w.sess)
	return w.write(out)
}

// write writes the header, the table and the sections.
func (w *Writer) write(out io.Writer) error {
	head := header{version: 1, init: w.h.Init, initial: w.h.Initial, lists: w.h.Meta.Lists}
	for id, c := range w.cols {
		if c != nil && c.rows > 0 {
			head.sections++
			if id == levelsID {
				head.version = 3
			}
		}
	}
	var sections []byte
	end := headerSize + entrySize*int64(head.sections)
	var begin [maxSections]int64
	for id, c := range w.cols {
		if c == nil || c.rows == 0 {
			continue
		}
		s := section{id: uint32(id), width: uint32(c.width), off: aligned(end), size: c.size, sum: c.sum()}
		sections = s.append(sections)
		begin[id] = s.off
		end = s.off + s.size
	}
	head.size = end
	head.table = xxhash.Sum64(sections)
	if _, err := out.Write(append(head.append(nil), sections...)); err != nil {
		return err
	}
	at := headerSize + int64(len(sections))
	var zeros [align]byte
	for id, c := range w.cols {
		if c == nil || c.rows == 0 {
			continue
		}
		c.flush()
		if c.err == nil {
			_, c.err = c.f.Seek(0, io.SeekStart)
		}
		if c.err != nil {
			return c.err
		}
		if _, err := out.Write(zeros[:begin[id]-at]); err != nil {
			return err
		}
		if n, err := io.Copy(out, c.f); err != nil {
			return err
		} else if n != c.size {
			return fmt.Errorf("a temporary file has %d bytes; expected %d", n, c.size)
		}
		at = begin[id] + c.size
	}
	return nil
}

// Close removes the temporary files.
func (w *Writer) Close() error {
	var errs []error
	for i, c := range w.cols {
		if c != nil && c.f != nil {
			errs = append(errs, c.f.Close())
			if err := os.Remove(c.f.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
			w.cols[i] = nil
		}
	}
	return errors.Join(errs...)
}
