package native

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"

	"isovet/history"
	"isovet/internal/safego"
)

// part is an existing section: its bytes as in the file, and the checksums of its blocks.
type part struct {
	col    *column
	data   []byte
	off    int64 // in the file
	rows   int
	digest []uint64
}

// table is a number of sections with one element a row each, hashed and checked together.
type table struct {
	parts []*part
	rows  int
	check func(lo, hi int) *problem // checks rows lo to hi; nil: there is nothing to check
}

// problem is an element that no history can have.
type problem struct {
	id  uint32 // section
	row int
	msg string
	col *column
}

func wrong(id uint32, row int, format string, args ...any) *problem {
	return &problem{id: id, row: row, msg: fmt.Sprintf(format, args...)}
}

func (p *problem) text() string { return fmt.Sprintf("%s, element %d: %s", p.col.name, p.row, p.msg) }

// verifier hashes and checks the columns of a history.
type verifier struct {
	file  string
	h     *history.History
	x     *rest
	cols  []column
	parts []part
	byID  [maxSections]*part

	numTexts int
	opLimit  [8]uint32 // kind → bound of the operation's version
	valLimit [8]uint64 // kind → greatest N, as unsigned
	valKinds uint32    // kinds that a value may have, as bits
	rowOf    []uint32  // key → 1 + the last predicate row that names it; nil until there is one

	opKinds  atomic.Uint32 // kinds of operations, as bits
	verKinds atomic.Uint32 // kinds of versions, as bits
	unsorted atomic.Bool   // transactions' ids do not ascend

	behind func(part []byte) // if set, called with each block that has been read

	mu     sync.Mutex
	worst  *problem
	uninit []uint32 // versions with the initial value that are not their keys' initial versions
}

func newVerifier(file string, h *history.History, x *rest) *verifier {
	v := &verifier{file: file, h: h, x: x, cols: columns(h, x)}
	v.parts = make([]part, 0, len(v.cols)) // never moved: byID points into it
	return v
}

// add adds a section, in the order of their numbers.
func (v *verifier) add(c *column, data []byte) *part {
	v.parts = append(v.parts, part{col: c, data: data, rows: len(data) / c.width})
	p := &v.parts[len(v.parts)-1]
	p.digest = make([]uint64, (p.rows+blockRows-1)/blockRows)
	v.byID[c.id] = p
	return p
}

func (v *verifier) rows(id uint32) int {
	if p := v.byID[id]; p != nil {
		return p.rows
	}
	return 0
}

// lengths checks that the columns of a table have the same length and none is too long for its indices. It prepares the
// checks of rows.
func (v *verifier) lengths() *problem {
	const most = 1<<31 - 1
	v.numTexts = max(0, v.rows(2)-1)
	txns, ops, keys, vers := v.rows(12), v.rows(24), v.rows(4), v.rows(6)
	lists, preds, rows := v.rows(28), v.rows(31), v.rows(33)
	const may, off = 1, 2 // may: the column need not exist; off: it is a column of offsets
	for _, x := range []struct {
		id   uint32
		as   int
		form int
	}{
		{5, keys, 0}, {7, vers, 0}, {8, vers, 0}, {10, v.rows(9), off}, {11, txns, 0},
		{13, txns, 0}, {14, txns, 0}, {15, txns, 0}, {16, txns, off},
		{17, txns, may}, {18, txns, may}, {19, txns, may}, {20, txns, may}, {21, txns, may}, {22, txns, may},
		{23, txns, may}, {levelsID, txns, may}, {25, ops, 0}, {26, ops, may}, {27, ops, may},
		{29, lists, off | may}, {32, preds, off | may}, {34, rows, 0}, {2, v.numTexts, off | may},
	} {
		n := v.rows(x.id)
		switch {
		case x.form == off|may && x.as == 0 && n == 0, x.form == may && v.byID[x.id] == nil:
			continue
		case x.form&off != 0:
			x.as++
		}
		if n != x.as {
			return v.of(wrong(x.id, 0, "%d elements; expected %d", n, x.as))
		}
	}
	if v.rows(1) == 0 {
		return v.of(wrong(1, 0, "not there; expected the names of the header"))
	}
	for _, id := range []uint32{12, 24, 4, 6, 30, 33} {
		if v.rows(id) > most {
			return v.of(wrong(id, most, "more than %d elements; expected fewer", most))
		}
	}
	if n := v.rows(3); n > math.MaxUint32 {
		return v.of(wrong(3, 0, "%d bytes; expected fewer than 2^32", n))
	}
	// Texts without offsets have no bytes.
	if v.rows(2) == 0 && v.rows(3) > 0 {
		return v.of(wrong(3, 0, "%d bytes without texts; expected none", v.rows(3)))
	}
	v.opLimit = [8]uint32{uint32(vers), uint32(vers), uint32(vers), uint32(lists), uint32(preds), uint32(preds)}
	v.valKinds = 1<<history.Null | 1<<history.Int | 1<<history.Bool
	v.valLimit[history.Int], v.valLimit[history.Bool] = math.MaxUint64, 1
	if v.numTexts > 0 {
		v.valKinds |= 1<<history.String | 1<<history.Row
		v.valLimit[history.String] = uint64(v.numTexts) - 1
		v.valLimit[history.Row] = uint64(v.numTexts) - 1
	}
	return nil
}

// of sets a problem's column.
func (v *verifier) of(p *problem) *problem {
	if p != nil {
		p.col = &v.cols[p.id-1]
	}
	return p
}

// blocks hashes all sections and checks their rows, block by block on the given number of cores, until stop returns an
// error. failed returns the problem that it found.
func (v *verifier) blocks(workers int, stop func() error) error {
	tables := v.tables()
	first := make([]int, len(tables)+1) // number of a table's first block
	for i, t := range tables {
		first[i+1] = first[i] + (t.rows+blockRows-1)/blockRows
	}
	n := first[len(tables)]
	var next atomic.Int64
	return v.parallel(min(workers, n), func() error {
		i := 0
		for {
			b := int(next.Add(1)) - 1
			if b >= n {
				return nil
			}
			if b&15 == 0 {
				if err := stop(); err != nil {
					next.Store(int64(n))
					return err
				}
			}
			for b >= first[i+1] {
				i++
			}
			t := &tables[i]
			b -= first[i]
			lo, hi := b*blockRows, min((b+1)*blockRows, t.rows)
			for _, p := range t.parts {
				p.digest[b] = xxhash.Sum64(p.data[lo*p.col.width : hi*p.col.width])
			}
			if t.check != nil {
				v.report(t.check(lo, hi))
			}
			if v.behind != nil {
				for _, p := range t.parts {
					v.behind(p.data[lo*p.col.width : hi*p.col.width])
				}
			}
		}
	})
}

// parallel runs f on several goroutines. It returns an error if a page is gone because the file was cut off meanwhile.
func (v *verifier) parallel(workers int, f func() error) error {
	guarded := func() (err error) {
		defer func(old bool) {
			debug.SetPanicOnFault(old)
			if r := recover(); r != nil {
				if _, fault := r.(interface{ Addr() uintptr }); !fault {
					panic(r)
				}
				err = &history.InputError{File: v.file, Off: -1, Msg: "the file changed while it was read"}
			}
		}(debug.SetPanicOnFault(true))
		return f()
	}
	if workers < 2 {
		return guarded()
	}
	errs := make([]error, workers)
	var wg safego.Group
	for w := range workers {
		wg.Go(func() { errs[w] = guarded() })
	}
	wg.Wait()
	return cmp.Or(errs...)
}

// report keeps the problem that comes first in the file.
func (v *verifier) report(p *problem) {
	if p == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if w := v.worst; w == nil || p.id < w.id || p.id == w.id && p.row < w.row {
		v.worst = v.of(p)
	}
}

// below checks that elements lo to hi of a column are below limit.
func below(id uint32, col []uint32, lo, hi, limit int) *problem {
	most := uint32(0)
	for _, x := range col[lo:hi] {
		most = max(most, x)
	}
	if int64(most) < int64(limit) {
		return nil
	}
	for i, x := range col[lo:hi] {
		if int64(x) >= int64(limit) {
			return wrong(id, lo+i, "index %d; expected one below %d", x, limit)
		}
	}
	return nil
}

// belowOrNone is below where elements may be None; col may be nil.
func belowOrNone(id uint32, col []uint32, lo, hi, limit int) *problem {
	if col == nil {
		return nil
	}
	most := uint32(0)
	for _, x := range col[lo:hi] {
		most = max(most, x+1) // None becomes 0
	}
	if int64(most) <= int64(limit) {
		return nil
	}
	for i, x := range col[lo:hi] {
		if x != history.None && int64(x) >= int64(limit) {
			return wrong(id, lo+i, "index %d; expected one below %d, or none", x, limit)
		}
	}
	return nil
}

// ascending checks that offsets begin at 0, do not descend, and end at total.
func ascending(id uint32, off []uint32, lo, hi, total int) *problem {
	prev := uint32(0)
	if lo > 0 {
		prev = off[lo-1]
	} else if off[0] != 0 {
		return wrong(id, 0, "offset %d; expected 0", off[0])
	}
	for i, o := range off[lo:hi] {
		if o < prev {
			return wrong(id, lo+i, "offset %d after %d; expected them to ascend", o, prev)
		}
		prev = o
	}
	if hi == len(off) && int64(prev) != int64(total) {
		return wrong(id, hi-1, "last offset %d; expected %d", prev, total)
	}
	return nil
}

func (v *verifier) checkOps(lo, hi int) *problem {
	kinds := v.h.Ops.Kind[lo:hi]
	vers := v.h.Ops.Ver[lo:hi][:len(kinds)]
	seen, high, under := uint32(0), history.OpKind(0), uint64(0)
	for i, k := range kinds {
		high |= k
		seen |= 1 << (k & 7)
		// The top bit is set if the version is not below its limit; unknown kinds have limit 0.
		under |= uint64(v.opLimit[k&7]) - 1 - uint64(vers[i])
	}
	v.opKinds.Or(seen)
	if high < 8 && int64(under) >= 0 {
		return nil
	}
	for i, k := range kinds {
		if k > history.PredWrite {
			return wrong(24, lo+i, "kind %d of an operation; expected at most %d", k, history.PredWrite)
		}
		if vers[i] >= v.opLimit[k] {
			return wrong(25, lo+i, "index %d in an operation of kind %d; expected one below %d", vers[i], k,
				v.opLimit[k])
		}
	}
	return nil
}

func (v *verifier) checkVersions(lo, hi int) *problem {
	h := v.h
	if p := below(6, h.VerKey, lo, hi, h.NumKeys()); p != nil {
		return p
	}
	kinds := h.VerKind[lo:hi]
	ns := h.VerN[lo:hi][:len(kinds)]
	seen, high, under := uint32(0), history.ValueKind(0), uint64(0)
	for i, k := range kinds {
		n := uint64(ns[i])
		high |= k
		seen |= 1 << (k & 7)
		_, borrow := bits.Sub64(v.valLimit[k&7], n, 0)
		under |= borrow
		if k == h.Initial.Kind && ns[i] == h.Initial.N {
			v.noteInitial(uint32(lo + i))
		}
	}
	v.verKinds.Or(seen)
	if high < 8 && under == 0 && seen&^v.valKinds == 0 {
		return nil
	}
	for i, k := range kinds {
		if msg := v.badValue(history.Value{Kind: k, N: ns[i]}); msg != "" {
			return wrong(8, lo+i, "%s", msg)
		}
	}
	return nil
}

// noteInitial notes a version with the initial value that is not its key's initial version.
func (v *verifier) noteInitial(ver uint32) {
	if v.h.InitVer[v.h.VerKey[ver]] == ver {
		return
	}
	v.mu.Lock()
	v.uninit = append(v.uninit, ver)
	v.mu.Unlock()
}

// badValue returns what is wrong with a value; "" if nothing is.
func (v *verifier) badValue(x history.Value) string {
	switch {
	case x.Kind > history.Row:
		return fmt.Sprintf("kind %d of a value; expected at most %d", x.Kind, history.Row)
	case v.valKinds>>x.Kind&1 == 0:
		return fmt.Sprintf("a %s in a file without texts", x.Kind)
	case uint64(x.N) > v.valLimit[x.Kind]:
		return fmt.Sprintf("a %s with number %d; expected at most %d", x.Kind, x.N, v.valLimit[x.Kind])
	}
	return ""
}

func (v *verifier) checkKeys(lo, hi int) *problem {
	h := v.h
	raw := v.byID[4].data
	for k := lo; k < hi; k++ {
		x := h.Keys[k]
		if x.Kind != history.Int && x.Kind != history.String {
			return wrong(4, k, "a key of kind %d; expected an integer or a string", x.Kind)
		}
		if msg := v.badValue(x); msg != "" {
			return wrong(4, k, "%s", msg)
		}
		if nonZero(raw[16*k+9:16*k+16]) >= 0 {
			return wrong(4, k, "reserved bytes are set; expected zeros")
		}
	}
	return belowOrNone(5, h.InitVer, lo, hi, h.NumVersions())
}

func (v *verifier) checkTxns(lo, hi int) *problem {
	h := v.h
	x := &h.Txns
	if lo > 0 && x.ID[lo-1] >= x.ID[lo] {
		v.unsorted.Store(true)
	}
	for t := lo + 1; t < hi; t++ {
		if x.ID[t-1] >= x.ID[t] {
			v.unsorted.Store(true)
			break
		}
	}
	if p := below(11, h.SessTxn, lo, hi, h.NumTxns()); p != nil {
		return p
	}
	if p := below(14, x.Sess, lo, hi, h.NumSessions()); p != nil {
		return p
	}
	for i, s := range x.Status[lo:hi] {
		if s > history.Unknown {
			return wrong(15, lo+i, "status %d; expected at most %d", s, history.Unknown)
		}
	}
	for _, c := range []struct {
		id     uint32
		before []int64
		after  []int64
	}{{19, x.Start, x.End}, {18, x.Start, x.Commit}, {19, x.Commit, x.End}, {21, x.StartTS, x.CommitTS}} {
		if c.before == nil || c.after == nil {
			continue
		}
		a, b := c.before[lo:hi], c.after[lo:hi]
		b = b[:len(a)]
		for i := range a {
			// A missing time is below all others.
			if b[i] < a[i] && b[i] != history.NoTime {
				return wrong(c.id, lo+i, "time %d; expected none before %d", b[i], a[i])
			}
		}
	}
	for _, c := range [...]struct {
		id  uint32
		col []uint32
	}{{22, x.Node}, {23, x.Name}, {levelsID, x.Level}} {
		if p := belowOrNone(c.id, c.col, lo, hi, v.numTexts); p != nil {
			return p
		}
	}
	return nil
}

func (v *verifier) checkPredRows(lo, hi int) *problem {
	p := &v.h.Preds
	if q := belowOrNone(33, p.Old, lo, hi, v.h.NumVersions()); q != nil {
		return q
	}
	return belowOrNone(34, p.New, lo, hi, v.h.NumVersions())
}
