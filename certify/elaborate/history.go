package elaborate

import (
	"fmt"
	"math"
	"slices"

	"isovet/certify/kernel"
	"isovet/history"
	"isovet/level"
	"isovet/predicates"
)

// Unsupported is the error for an answer that cannot be expressed for the kernel.
type Unsupported struct{ Why string }

func (u *Unsupported) Error() string { return "the kernel does not support " + u.Why }

// Level returns the kernel's form of a level.
func Level(l level.Level) (kernel.Level, error) {
	if !l.Serial() && !l.Snapshot() {
		return kernel.Level{}, &Unsupported{"the level " + l.String()}
	}
	return kernel.Level{Serial: l.Serial(), Sessions: l.Sessions(), RealTime: l.RealTime()}, nil
}

// number returns the kernel's number of a transaction, key, session or version. The kernel counts from 1.
func number(i uint32) uint32 { return i + 1 }

// terms presents a history to the kernel, which asks for parts of it: transactions, keys and elements by their dense
// index, from 1. An element represents the version of a register or the element of a list; null means that the key
// is absent.
type terms struct {
	h        *history.History
	l        level.Level
	skew     uint64 // twice the clocks' skew: a begin follows an end only if it is later by more
	elements []uint32
	lists    []uint32 // as history.Lists.Elem
	inits    map[uint32]kernel.Cell
	txn      kernel.Txn
	ops      []kernel.Op
	searches *searches
	flat     bool // the kernel asks for operations in columns
	stamped  bool // exactly the transactions with a commit timestamp took part
	items    bool // predicate operations become reads and writes of their rows only
}

// maxElements keeps elements below the kernel's bound.
const maxElements = math.MaxUint32 - 2

func newTerms(h *history.History, l level.Level, skew int64) (*terms, error) {
	x := &terms{h: h, l: l, skew: 2 * uint64(skew)}
	if h.NumVersions()+h.NumKeys()+1 > maxElements {
		return nil, &Unsupported{"histories of so many versions"}
	}
	if h.HasLists() {
		if err := x.lister(); err != nil {
			return nil, err
		}
	}
	x.elements = make([]uint32, h.NumVersions())
	for v := range x.elements {
		x.elements[v] = number(uint32(v))
	}
	if h.HasPredicates() {
		if h.HasLists() {
			return nil, &Unsupported{"histories with lists and predicates"}
		}
		truths, err := predicates.NewTruths(h)
		if err != nil {
			return nil, err
		}
		x.searches = &searches{x: x, truths: truths, shared: map[uint32]*kernel.Pred{}}
	}
	return x, nil
}

// lister prepares lists. It returns an error if a key is a list and a register.
func (x *terms) lister() error {
	h := x.h
	isList := make([]bool, h.NumKeys())
	for _, k := range h.Lists.Key {
		isList[k] = true
	}
	for op, kind := range h.Ops.Kind {
		if kind == history.Append {
			isList[h.OpKey(uint32(op))] = true
		}
	}
	for op, kind := range h.Ops.Kind {
		if (kind == history.Read || kind == history.Write) && isList[h.OpKey(uint32(op))] {
			return &Unsupported{"histories with lists and registers"}
		}
	}
	x.lists = make([]uint32, len(h.Lists.Elem))
	for i, v := range h.Lists.Elem {
		x.lists[i] = number(v)
	}
	x.inits = map[uint32]kernel.Cell{}
	for k, is := range isList {
		if is {
			x.inits[number(uint32(k))] = nil
		}
	}
	if h.Init != history.None {
		for op := range h.EachOp(h.Init) {
			if v := h.Ops.Ver[op]; h.Ops.Kind[op] == history.Append {
				key := number(h.VerKey[v])
				x.inits[key] = append(x.inits[key], number(v))
			}
		}
	}
	return nil
}

func (x *terms) Size() (txns, keys, sessions uint32) {
	return uint32(x.h.NumTxns()), uint32(x.h.NumKeys()), uint32(x.h.NumSessions())
}

// Init returns a key's initial content. An initial value that no operation names is left out, since nobody reads it.
func (x *terms) Init(key uint32) kernel.Cell {
	if c, list := x.inits[key]; list {
		return c
	}
	k := key - 1
	if v := x.h.InitVer[k]; v != history.None {
		return x.cell(v)
	}
	if x.h.Initial.Kind == history.Null {
		return nil
	}
	return kernel.Cell{number(uint32(x.h.NumVersions()) + k)}
}

// cell returns a register's content at a version.
func (x *terms) cell(v uint32) kernel.Cell {
	if x.h.VerKind[v] == history.Null {
		return nil
	}
	return x.elements[v : v+1 : v+1]
}

// columns returns the operations of a history of registers; nil if it has operations of other kinds.
func (x *terms) columns() *columns {
	h := x.h
	if x.inits != nil || x.searches != nil {
		return nil
	}
	c := &columns{Off: h.Txns.OpOff, Ver: h.Ops.Ver, Keys: h.VerKey, Kind: h.Ops.Kind}
	x.held(c)
	return c
}

// held sets the content of each version's key.
func (x *terms) held(c *columns) {
	h := x.h
	c.Held = x.elements
	for v, kind := range h.VerKind {
		if kind == history.Null {
			if &c.Held[0] == &x.elements[0] {
				c.Held = slices.Clone(x.elements)
			}
			c.Held[v] = 0
		}
	}
}

func (x *terms) takesPart(t uint32) bool {
	return t != x.h.Init && x.h.Txns.Status[t] != history.Aborted && (!x.stamped || x.h.CommitTS(t) != history.NoTime)
}

func (x *terms) Heads(f func(t *kernel.Txn) bool) {
	h := x.h
	var head kernel.Txn
	for s := range uint32(h.NumSessions()) {
		for _, t := range h.SessTxn[h.SessOff[s]:h.SessOff[s+1]] {
			if x.takesPart(t) {
				x.head(&head, t)
				if !f(&head) {
					return
				}
			}
		}
	}
}

// head sets everything of a transaction except its operations. It sets times if the level has real time: a begin then
// follows an end only if it is later by more than twice the skew.
func (x *terms) head(to *kernel.Txn, t uint32) {
	h := x.h
	*to = kernel.Txn{ID: number(t), Session: number(h.Txns.Sess[t]), NoEnd: true,
		Committed: x.stamped || h.Txns.Status[t] == history.Committed}
	if !x.l.RealTime() {
		return
	}
	if start := h.Start(t); start != history.NoTime {
		to.Began = unsigned(start)
	}
	if end := h.End(t); end != history.NoTime && to.Committed {
		to.Ended, to.NoEnd = unsigned(end), false
		if to.Ended += x.skew; to.Ended < x.skew { // overflow: later than all begins
			to.Ended = math.MaxUint64
		}
	}
}

// unsigned maps times to unsigned numbers in the same order.
func unsigned(at int64) uint64 { return uint64(at) ^ 1<<63 }

func (x *terms) Txn(id uint32) *kernel.Txn {
	t := id - 1
	if id == 0 || int(t) >= x.h.NumTxns() || !x.takesPart(t) {
		return nil
	}
	x.head(&x.txn, t)
	if x.flat {
		return &x.txn
	}
	x.ops = x.ops[:0]
	for op := range x.h.EachOp(t) {
		x.ops = x.operation(x.ops, op)
	}
	x.txn.Ops = x.ops
	return &x.txn
}

// operation appends the kernel's form of an operation. A predicate operation becomes a search, reads of the rows that
// it found, and writes.
func (x *terms) operation(to []kernel.Op, op uint32) []kernel.Op {
	h := x.h
	v := h.Ops.Ver[op]
	switch h.Ops.Kind[op] {
	case history.Read:
		return append(to, kernel.Op{Kind: kernel.Read, Key: number(h.VerKey[v]), Cell: x.cell(v)})
	case history.Write:
		return append(to, kernel.Op{Kind: kernel.Write, Key: number(h.VerKey[v]), Cell: x.cell(v)})
	case history.Append:
		return append(to, kernel.Op{Kind: kernel.Append, Key: number(h.VerKey[v]), Elem: number(v)})
	case history.ReadList:
		lo, hi := h.Lists.Off[v], h.Lists.Off[v+1]
		return append(to, kernel.Op{Kind: kernel.Read, Key: number(h.Lists.Key[v]), Cell: x.lists[lo:hi:hi]})
	}
	if !x.items {
		to = append(to, kernel.Op{Kind: kernel.Search, Match: x.searches.match(v)})
	}
	return x.rows(to, op, func(uint32) bool { return true })
}

// rows appends the reads and writes of a predicate operation, limited to wanted keys.
func (x *terms) rows(to []kernel.Op, op uint32, wanted func(k uint32) bool) []kernel.Op {
	h := x.h
	lo, hi := h.Preds.Off[h.Ops.Ver[op]], h.Preds.Off[h.Ops.Ver[op]+1]
	for r := lo; r < hi; r++ {
		if v := h.Preds.Old[r]; v != history.None && wanted(h.VerKey[v]) {
			to = append(to, kernel.Op{Kind: kernel.Read, Key: number(h.VerKey[v]), Cell: x.cell(v)})
		}
	}
	if h.Ops.Kind[op] != history.PredWrite {
		return to
	}
	for _, v := range h.Preds.New[lo:hi] {
		if wanted(h.VerKey[v]) {
			to = append(to, kernel.Op{Kind: kernel.Write, Key: number(h.VerKey[v]), Cell: x.cell(v)})
		}
	}
	return to
}

// searches translates predicates for the kernel, once for each text.
type searches struct {
	x      *terms
	truths *predicates.Truths
	// Set by fits:
	index  *predicates.Index
	byKey  [][]uint32          // key → its versions
	found  map[uint32][]uint32 // text of a predicate → the keys that it found
	shared map[uint32]*kernel.Pred
	names  uint32
}

// tooLarge bounds the versions that are looked at for a history's predicate operations.
const tooLarge = 5_000_000

// fits returns an error if the searches are too many: the kernel looks at each version that may match, for each search.
func (s *searches) fits() (err error) {
	h, work := s.x.h, 0
	s.byKey, s.found = make([][]uint32, h.NumKeys()), map[uint32][]uint32{}
	for v, k := range h.VerKey {
		s.byKey[k] = append(s.byKey[k], uint32(v))
	}
	for i, text := range h.Preds.Pred {
		for r := h.Preds.Off[i]; r < h.Preds.Off[i+1]; r++ {
			s.found[text] = append(s.found[text], h.RowKey(r))
			work += len(s.byKey[h.RowKey(r)])
		}
	}
	if work <= tooLarge {
		s.index, err = predicates.NewIndex(h)
	}
	costs := map[uint32]int{} // by text
	for i := 0; err == nil && i < len(h.Preds.Pred) && work <= tooLarge; i++ {
		text := h.Preds.Pred[i]
		if costs[text] == 0 {
			costs[text] = 1 + s.index.Cost(uint32(i))
		}
		work += costs[text]
	}
	if err == nil && work > tooLarge {
		err = &Unsupported{fmt.Sprintf("so many predicate operations: %d, of %d versions", len(h.Preds.Pred),
			h.NumVersions())}
	}
	return err
}

// match returns the kernel's form of predicate operation i.
func (s *searches) match(i uint32) *kernel.Match {
	h := s.x.h
	m := &kernel.Match{}
	for r := h.Preds.Off[i]; r < h.Preds.Off[i+1]; r++ {
		m.Keys = append(m.Keys, number(h.RowKey(r)))
	}
	text := h.Preds.Pred[i]
	m.Pred = s.shared[text]
	if m.Pred == nil {
		m.Pred = s.pred(i)
		s.shared[text] = m.Pred
	}
	return m
}

// pred returns the kernel's form of an operation's predicate: all versions of which it is true, and those of which this
// is unknown of the keys that were found. Of other keys the kernel need not know the latter.
func (s *searches) pred(i uint32) *kernel.Pred {
	p := s.newPred()
	add := func(to map[uint32][]kernel.Cell, k, v uint32) {
		c := s.x.Init(number(k))
		if v != history.None {
			c = s.x.cell(v)
		}
		to[number(k)] = append(to[number(k)], c)
	}
	s.index.Each(i, func(k, v uint32) { add(p.Cells, k, v) })
	keys := s.found[s.x.h.Preds.Pred[i]]
	slices.Sort(keys)
	for _, k := range slices.Compact(keys) {
		for _, v := range append(slices.Clip(s.byKey[k]), history.None) {
			if (v != history.None || s.x.h.InitVer[k] == v) && s.truths.Of(i, k, v) == predicates.Unknown {
				add(p.Maybe, k, v)
			}
		}
	}
	return p
}

func (s *searches) newPred() *kernel.Pred {
	s.names++
	return &kernel.Pred{Name: s.names, Cells: map[uint32][]kernel.Cell{}, Maybe: map[uint32][]kernel.Cell{}}
}

// holds notes in p whether operation i's predicate is true of a version of a key.
func (s *searches) holds(p *kernel.Pred, i, key, v uint32, c kernel.Cell) {
	switch s.truths.Of(i, key-1, v) {
	case predicates.True:
		p.Cells[key] = append(p.Cells[key], c)
	case predicates.Unknown:
		p.Maybe[key] = append(p.Maybe[key], c)
	}
}
