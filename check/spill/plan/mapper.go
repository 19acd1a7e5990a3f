package plan

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"github.com/cespare/xxhash/v2"

	"isovet/history"
)

// maxChunk is the size of a full chunk, in bytes.
var maxChunk = 64 << 10

// HashKey is the hash that divides keys among partitions.
func HashKey(kind history.ValueKind, n int64, text []byte) uint64 {
	if kind == history.Int {
		x := uint64(n) + 0x9e3779b97f4a7c15
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		return x ^ x>>31
	}
	return xxhash.Sum64(text)
}

// HashOf is HashKey of a value.
func HashOf(v Value) uint64 { return HashKey(v.Kind, v.N, []byte(v.Text)) }

// PartOf returns the partition of a hash.
func PartOf(hash uint64, parts int) int {
	hi, _ := bits.Mul64(hash, uint64(parts))
	return int(hi)
}

// Unfit names the feature of a history that cannot be checked out of core.
type Unfit struct{ What string }

func (u *Unfit) Error() string { return u.What }

// Rule says how a history is mapped.
type Rule struct {
	Parts    int  // of the keys
	RealTime bool // every transaction must have start and end
	ByPlace  bool // transactions are in the order of the file, since there are no times
	OneKey   bool // no transaction has operations on two keys
	Stamps   Stamps
	Level    string // the only one that transactions may name; "": any
}

// takes returns an *Unfit if a batch has a feature that cannot be checked out of core.
func (r Rule) takes(h *history.History, lo, hi uint32) error {
	switch {
	case h.HasPredicates():
		return &Unfit{"predicate operations are not checked out of core"}
	case h.Meta.Lists || len(h.Lists.Key) > 0:
		return &Unfit{noLists}
	}
	for t := lo; r.Level != "" && t < min(hi, uint32(len(h.Txns.Level))); t++ {
		if l := h.LevelName(t); l != "" && l != r.Level && h.Txns.Status[t] != history.Aborted {
			return &Unfit{"a transaction names the level " + l + "; out of core, isovet judges all transactions at " +
				"one level, which --level names"}
		}
	}
	return nil
}

// At returns the time by which a committed transaction is placed: its end or, without one, its start; false if it has
// neither.
func (r Rule) At(h *history.History, t uint32, first uint64) (T int64, ok bool) {
	if r.ByPlace {
		return int64(first + uint64(t)), true
	}
	if T = h.End(t); T == history.NoTime {
		T = h.Start(t)
	}
	return T, T != history.NoTime
}

// Mapper turns the batches of a piece, in order, into chunks of operations for each partition, and into heads.
type Mapper struct {
	Rule
	Emit func(part int, chunk []byte, info ChunkInfo) error
	// Bad lists the transactions whose reads contradict their own operations, which no order explains.
	Bad []uint64
	// Timeless are the first mostTimeless committed transactions without times.
	Timeless []uint64
	// Heads are the heads of the piece's transactions; see Heads.
	Heads HeadWriter
	Stats MapStats

	w     []chunkWriter
	out   []byte
	of    *history.History // the history of the keys in by
	by    []keyState       // key of that history → its state
	order []uint32
	at    []int64
}

// keyState is the state of a key while transactions are mapped.
type keyState struct {
	seq, local uint32 // the chunk in which the key has the number local
	txn        uint32 // 1 + the last transaction that used it, which has:
	state      uint32 // the version that its next read must return
	wrote      uint32 // 1 + the place of its last write in the chunk; 0: it has none
	part       uint16
}

// MapStats has the counts of a mapping.
type MapStats struct {
	Txns, Ops   int64 // with the initial transaction
	FileOps     int64 // [history.History.FileOps]
	Committed   int64
	Unknown     int64
	Reads       int64 // of committed transactions
	Timeless    int64 // committed transactions without times
	MinT, MaxT  int64 // positions of committed transactions
	Took, Taken int64 // sum and number of some transactions' durations
}

// count adds transactions lo to hi of a history, their operations, and the reads of the committed ones.
func (s *MapStats) count(h *history.History, lo, hi uint32) {
	s.Txns += int64(hi - lo)
	s.Ops += int64(h.Txns.OpOff[hi] - h.Txns.OpOff[lo])
	s.FileOps += int64(h.FileOps(lo, hi))
	for t := lo; t < hi; t++ {
		if h.Txns.Status[t] != history.Committed || t == h.Init {
			continue
		}
		for _, k := range h.Ops.Kind[h.Txns.OpOff[t]:h.Txns.OpOff[t+1]] {
			if k == history.Read {
				s.Reads++
			}
		}
	}
}

// prepare makes the writers of the partitions, if there are none yet, and returns why a batch cannot be mapped.
func (m *Mapper) prepare(h *history.History, lo, hi uint32, partitions int) error {
	if m.w == nil {
		m.w = make([]chunkWriter, partitions)
		for i := range m.w {
			m.w[i].seq, m.w[i].stamped = 1, m.Stamps.On
		}
		m.Stats.MinT, m.Stats.MaxT = Last.T, First.T
	}
	return m.takes(h, lo, hi)
}

// Batch maps transactions lo to hi of a history; base is the difference between places and numbers.
func (m *Mapper) Batch(h *history.History, lo, hi uint32, base uint64) error {
	if err := m.prepare(h, lo, hi, m.Parts); err != nil {
		return err
	}
	m.keys(h)
	if err := m.place(h, lo, hi, base); err != nil {
		return err
	}
	m.Stats.count(h, lo, hi)
	for _, t := range m.order {
		if err := m.txn(h, t, Pos{T: m.at[t-lo], N: base + uint64(t)}); err != nil {
			return err
		}
	}
	return m.flush()
}

const noLists = "lists are not checked out of core"

// flush emits the chunks.
func (m *Mapper) flush() error {
	for p := range m.w {
		if w := &m.w[p]; w.info.Ops > 0 && w.size() > 0 {
			if err := m.emit(p); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *Mapper) emit(p int) error {
	var info ChunkInfo
	m.out, info = m.w[p].take(m.out[:0])
	return m.Emit(p, m.out, info)
}

// keys prepares the states of a history's keys.
func (m *Mapper) keys(h *history.History) {
	if m.of == h {
		return
	}
	m.of = h
	n := h.NumKeys()
	m.by = slices.Grow(m.by[:0], n)[:n]
	for k, v := range h.Keys {
		var text []byte
		if v.Kind != history.Int {
			text = h.Texts.Text(uint32(v.N))
		}
		m.by[k] = keyState{part: uint16(PartOf(HashKey(v.Kind, v.N, text), m.Parts))}
	}
}

// place finds the positions of transactions, sorts them by these, and writes their heads.
func (m *Mapper) place(h *history.History, lo, hi uint32, base uint64) error {
	n := int(hi - lo)
	m.at = slices.Grow(m.at[:0], n)[:n]
	m.order = slices.Grow(m.order[:0], n)[:n]
	sorted, last := true, int64(First.T)
	for t := lo; t < hi; t++ {
		m.order[t-lo] = t
		T, err := m.when(h, t, base, last)
		if err != nil {
			return err
		}
		m.at[t-lo] = T
		sorted = sorted && T >= last
		last = T
		if t == h.Init {
			m.Heads.add(Head{Status: history.Committed, Session: history.NoTime, Init: true, T: T})
			continue
		}
		x := Head{Status: h.Txns.Status[t], Session: h.SessName[h.Txns.Sess[t]], T: T}
		if x.Status == history.Committed {
			_, timed := m.At(h, t, base)
			x.Timeless = !timed
		}
		m.Heads.add(x)
	}
	if !sorted {
		m.sort(lo)
	}
	return nil
}

// sort sorts transactions by time, stably. Mostly they are nearly sorted.
func (m *Mapper) sort(lo uint32) {
	moves := 0
	for i := 1; i < len(m.order); i++ {
		t := m.order[i]
		T := m.at[t-lo]
		j := i
		for ; j > 0 && m.at[m.order[j-1]-lo] > T; j-- {
			m.order[j] = m.order[j-1]
		}
		m.order[j] = t
		if moves += i - j; moves > 64*len(m.order) {
			break
		}
	}
	if moves <= 64*len(m.order) {
		return
	}
	slices.SortFunc(m.order, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(m.at[a-lo], m.at[b-lo]), cmp.Compare(a, b))
	})
}

// mostTimeless bounds Mapper.Timeless.
const mostTimeless = 1 << 16

// when returns the position of transaction t before any replay. Committed transactions have the position of the rule.
// For others the position only says where to find their operations.
func (m *Mapper) when(h *history.History, t uint32, base uint64, last int64) (int64, error) {
	if t == h.Init {
		return First.T, nil
	}
	start, end := h.Start(t), h.End(t)
	switch h.Txns.Status[t] {
	case history.Committed:
		s := &m.Stats
		if end == history.NoTime && m.RealTime {
			return 0, &Unfit{fmt.Sprintf("transaction %d has no end, which the level needs", h.Txns.ID[t])}
		}
		if start == history.NoTime && m.RealTime {
			return 0, &Unfit{fmt.Sprintf("transaction %d has no start, which the level needs", h.Txns.ID[t])}
		}
		s.Committed++
		T, ok := m.At(h, t, base)
		if !ok {
			s.Timeless++
			if len(m.Timeless) < mostTimeless {
				m.Timeless = append(m.Timeless, base+uint64(t))
			}
			break
		}
		s.MinT, s.MaxT = min(s.MinT, T), max(s.MaxT, T)
		if d := end - start; start != history.NoTime && end != history.NoTime && d >= 0 && d < 1<<50 {
			s.Took += d
			if s.Taken++; s.Took > 1<<60 {
				s.Took, s.Taken = s.Took/2, s.Taken/2
			}
		}
		return T, nil
	case history.Unknown:
		m.Stats.Unknown++
		if start != history.NoTime {
			return start, nil
		}
	default:
		if end != history.NoTime {
			return end, nil
		}
		if start != history.NoTime {
			return start, nil
		}
	}
	if last == First.T { // after the initial state
		last++
	}
	return last, nil
}

// txn writes the operations of a transaction.
func (m *Mapper) txn(h *history.History, t uint32, pos Pos) error {
	lo, hi := h.TxnOps(t)
	if lo == hi {
		return nil
	}
	status := h.Txns.Status[t]
	if status == history.Unknown && m.contradicts(h, t) {
		status = history.Aborted // so it cannot have committed
	}
	last, inner := Install, Intermediate // kinds of last and earlier writes
	switch status {
	case history.Aborted:
		last, inner = Aborted, Aborted
	case history.Unknown:
		last, inner = Maybe, MaybeIntermediate
	}
	bad := false
	vers := h.Ops.Ver[lo:hi]
	if m.OneKey && h.Txns.Status[t] != history.Aborted && t != h.Init {
		if err := oneKey(h, t, vers); err != nil {
			return err
		}
	}
	for i, kind := range h.Ops.Kind[lo:hi] {
		v := vers[i]
		if kind > history.Write {
			if kind == history.Append || kind == history.ReadList {
				return &Unfit{noLists}
			}
			return &Unfit{"only reads and writes of single keys are checked out of core"}
		}
		k := &m.by[h.VerKey[v]]
		used := k.txn == t+1
		if kind == history.Read {
			if used {
				bad = bad || k.state != v
				continue
			}
			k.txn, k.state, k.wrote = t+1, v, 0
			if status != history.Committed {
				continue
			}
		}
		w, err := m.begin(int(k.part), pos, pos.N, 0)
		if err != nil {
			return err
		}
		as := Read
		if kind == history.Write {
			if used && k.wrote != 0 {
				head := &w.body[k.wrote-1]
				*head = *head&^kindMask | byte(inner)
			}
			as = last
			k.txn, k.state, k.wrote = t+1, v, uint32(len(w.body))+1
		}
		m.op(h, w, as, v)
	}
	if bad && status == history.Committed {
		m.Bad = append(m.Bad, pos.N)
	}
	return nil
}

// begin returns the writer of a partition after the begin of a transaction's part.
func (m *Mapper) begin(part int, at Pos, place uint64, start int64) (*chunkWriter, error) {
	w := &m.w[part]
	if w.inTxn && w.place == place && w.pos == at {
		return w, nil
	}
	if w.size() > maxChunk {
		if err := m.emit(part); err != nil {
			return nil, err
		}
	}
	w.start = start
	w.begin(at, place)
	return w, nil
}

// op writes an operation on a version to the chunk of its key.
func (m *Mapper) op(h *history.History, w *chunkWriter, kind Kind, v uint32) {
	key := h.VerKey[v]
	k := &m.by[key]
	if k.seq != w.seq {
		name := h.Keys[key]
		var text []byte
		if name.Kind != history.Int {
			text = h.Texts.Text(uint32(name.N))
		}
		k.seq, k.local = w.seq, w.key(name.Kind, name.N, text)
	}
	vk, n := h.VerKind[v], h.VerN[v]
	var text []byte
	if vk == history.String || vk == history.Row {
		text = h.Texts.Text(uint32(n))
	}
	w.op(kind, k.local, vk, n, text)
}

// oneKey returns an error if a transaction has operations on several keys.
func oneKey(h *history.History, t uint32, vers []uint32) error {
	for i := 1; i < len(vers); i++ {
		if a, b := h.VerKey[vers[i-1]], h.VerKey[vers[i]]; a != b {
			return &Unfit{fmt.Sprintf("transaction %d has operations on %s and %s, but linearizability "+
				"judges each key alone; use strict-serializable", h.Txns.ID[t], h.KeyString(a), h.KeyString(b))}
		}
	}
	return nil
}

// contradicts reports whether a transaction's reads disagree with its own operations.
func (m *Mapper) contradicts(h *history.History, t uint32) bool {
	lo, hi := h.TxnOps(t)
	saw := make(map[uint32]uint32)
	for _, v := range h.Ops.Ver[lo:hi] {
		k := h.VerKey[v]
		op := lo
		lo++
		if w, ok := saw[k]; ok && w != v && h.Ops.Kind[op] == history.Read {
			return true
		}
		saw[k] = v
	}
	return false
}
