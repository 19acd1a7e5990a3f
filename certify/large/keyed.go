package large

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/cespare/xxhash/v2"

	"isovet/history"
)

// value is a value or a key that means the same in every batch (numbers of texts differ between batches).
type value = history.Owned

// keyed distributes operations to partitions by the hash of their key, so that each partition fits in memory.
type keyed struct {
	v    *verifier
	n    uint64                              // partitions
	emit func(part int, record []byte) error // must not keep it
	buf  []byte
	hash []uint64 // by key of the batch at hand
	of   *history.History
	seen []seen // by key of the batch
}

// seen is the version of a key that the transaction at hand must see from now on.
type seen struct {
	txn uint32 // one more than the transaction
	ver uint32
	op  uint32 // one more than its last write
}

const recordBytes = 100 // in memory, with what sorting takes, and as it is in the file

// txn writes records of what transaction t reads from others and of what it installs. number is the transaction's place
// in the history if it is an exception.
func (k *keyed) txn(h *history.History, t uint32, begin, commit at, number int) error {
	if k.of != h {
		k.of = h
		k.hash = k.hash[:0]
		for _, x := range h.Keys {
			k.hash = append(k.hash, hashOf(h, x))
		}
		k.seen = slices.Grow(k.seen[:0], len(h.Keys))[:len(h.Keys)]
		clear(k.seen)
	}
	lo, hi := h.TxnOps(t)
	for op := lo; op < hi; op++ {
		ver := h.Ops.Ver[op]
		key := h.VerKey[ver]
		was := &k.seen[key]
		known := was.txn == t+1
		if h.Ops.Kind[op] == history.Write {
			*was = seen{t + 1, ver, op + 1}
			continue
		}
		switch {
		case known && was.ver != ver:
			return refute("transaction %d contradicts itself: it reads %s of %s", h.Txns.ID[t], h.ValueString(ver),
				h.KeyString(key))
		case known:
			continue
		}
		*was = seen{t + 1, ver, 0}
		if err := k.put(h, 0, key, ver, begin, begin, number, h.Txns.ID[t]); err != nil {
			return err
		}
	}
	for op := lo; op < hi; op++ {
		ver := h.Ops.Ver[op]
		if key := h.VerKey[ver]; h.Ops.Kind[op] == history.Write && k.seen[key].op == op+1 {
			if err := k.put(h, 1, key, ver, commit, begin, number, h.Txns.ID[t]); err != nil {
				return err
			}
		}
	}
	return nil
}

func hashOf(h *history.History, v history.Value) uint64 {
	if v.Kind != history.Int {
		return h.Texts.Hash(uint32(v.N))
	}
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(v.N))
	return xxhash.Sum64(b[:])
}

// put writes a record: read or write, the key, the version, the position a, with timestamps also the time of the
// transaction's begin, the exception's number, and the transaction's id.
func (k *keyed) put(h *history.History, write byte, key, ver uint32, a, begin at, number int, id int64) error {
	b := append(k.buf[:0], write|byte(h.VerKind[ver])<<1)
	b = appendValue(b, h, h.Keys[key])
	b = appendValue(b, h, h.VerValue(ver))
	k.buf = k.place(b, a, begin, number, id)
	return k.emit(int(k.hash[key]%k.n), k.buf)
}

func (k *keyed) place(b []byte, a, begin at, number int, id int64) []byte {
	b = binary.AppendVarint(b, a.t)
	b = binary.AppendUvarint(b, a.n)
	b = binary.AppendUvarint(b, uint64(a.sub))
	if k.v.stamps.on {
		b = binary.AppendVarint(b, begin.t)
	}
	b = binary.AppendVarint(b, int64(number))
	return binary.AppendVarint(b, id)
}

// commit writes a record that makes a timestamp a key: no two transactions may write it at one position.
func (k *keyed) commit(a at, id int64) error {
	b := append(k.buf[:0], 1, byte(history.Bool))
	b = binary.AppendVarint(b, a.t)
	b = append(b, byte(history.Null))
	b = binary.AppendVarint(b, 0)
	k.buf = k.place(b, a, a, -1, id)
	return k.emit(int(uint64(a.t)*0x9e3779b97f4a7c15>>32%k.n), k.buf)
}

func appendValue(b []byte, h *history.History, v history.Value) []byte {
	b = append(b, byte(v.Kind))
	if v.Kind == history.String || v.Kind == history.Row {
		t := h.Texts.Text(uint32(v.N))
		b = binary.AppendUvarint(b, uint64(len(t)))
		return append(b, t...)
	}
	return binary.AppendVarint(b, v.N)
}

// record is a read or write in memory. text is the number of its text, 0 for none.
type record struct {
	a     at
	n     int64
	id    int64
	begin int64 // by timestamps

	ex    int32 // number of its exception, -1
	key   uint32
	text  uint32
	write bool
	kind  history.ValueKind
}

// part sorts the records of a partition by key and position, and replays them.
func (v *verifier) part(b []byte) error {
	r := &reader{b: b, ints: map[int64]uint32{}, strings: map[string]uint32{}, texts: map[string]uint32{"": 0}}
	all := make([]record, 0, len(b)/24)
	for len(r.b) > 0 {
		x := r.next(v)
		if r.bad {
			return errors.New("a record is cut off")
		}
		all = append(all, x)
	}
	// Sort by key first, in the order in which the keys appear, then within each key by position.
	off := make([]uint32, len(r.names)+1)
	for i := range all {
		off[all[i].key+1]++
	}
	for i := range r.names {
		off[i+1] += off[i]
	}
	sorted := make([]uint32, len(all))
	next := slices.Clone(off[:len(r.names)])
	for i := range all {
		sorted[next[all[i].key]] = uint32(i)
		next[all[i].key]++
	}
	by := func(i, j uint32) int {
		a, b := &all[i], &all[j]
		if c := a.a.compare(b.a); c != 0 {
			return c
		}
		if a.write != b.write { // one transaction's own
			if b.write {
				return -1
			}
			return 1
		}
		return 0
	}
	for key := range r.names {
		ops := sorted[off[key]:off[key+1]]
		if !slices.IsSortedFunc(ops, by) {
			slices.SortFunc(ops, by)
		}
		if err := v.key(r, r.names[key], all, ops); err != nil {
			return err
		}
	}
	return nil
}

// key replays the operations of one key.
func (v *verifier) key(r *reader, name value, all []record, ops []uint32) error {
	cur := record{kind: v.initial.Kind, n: v.initial.N, text: r.text([]byte(v.initial.Text))}
	written := false
	for _, i := range ops {
		x := &all[i]
		if !x.write {
			if x.kind != cur.kind || x.n != cur.n || x.text != cur.text {
				return refute("transaction %d reads key %s, but not the last version before it", x.id, name)
			}
			continue
		}
		late := x.ex >= 0 && v.ex[x.ex].begin.before(cur.a) || v.stamps.on && x.begin < cur.a.t
		if late && written && v.level.Snapshot() {
			return refute("transaction %d committed key %s while transaction %d, which writes it too, was open", cur.id,
				name, x.id)
		}
		if written && cur.a == x.a && name.Kind == history.Bool {
			return refute("two transactions write and commit at %d", x.a.t)
		}
		if written && cur.a == x.a {
			return refute("two writes of key %s have the same place in the order", name)
		}
		cur, written = *x, true
	}
	return nil
}

// reader reads records from the bytes of a partition.
type reader struct {
	b       []byte
	bad     bool
	ints    map[int64]uint32 // keys
	stamps  map[int64]uint32 // keys that represent timestamps
	strings map[string]uint32
	names   []value
	texts   map[string]uint32
}

func (r *reader) text(b []byte) uint32 {
	if len(b) == 0 {
		return 0
	}
	if i, ok := r.texts[string(b)]; ok {
		return i
	}
	i := uint32(len(r.texts))
	r.texts[string(b)] = i
	return i
}

func (r *reader) uvarint() uint64 {
	x, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return x
}

func (r *reader) varint() int64 {
	x := r.uvarint()
	return int64(x>>1) ^ -int64(x&1)
}

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		r.bad = true
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

// value reads a value or a key.
func (r *reader) value() (kind history.ValueKind, n int64, text []byte) {
	kind = history.ValueKind(r.byte())
	if kind != history.String && kind != history.Row {
		return kind, r.varint(), nil
	}
	size := r.uvarint()
	if size > uint64(len(r.b)) {
		r.bad = true
		return kind, 0, nil
	}
	text, r.b = r.b[:size], r.b[size:]
	return kind, 0, text
}

func (r *reader) next(v *verifier) (x record) {
	x.write = r.byte()&1 != 0
	kind, n, text := r.value()
	var known bool
	if kind == history.Bool { // a timestamp
		if r.stamps == nil {
			r.stamps = map[int64]uint32{}
		}
		if x.key, known = r.stamps[n]; !known {
			x.key = uint32(len(r.names))
			r.stamps[n] = x.key
		}
	} else if kind == history.Int {
		if x.key, known = r.ints[n]; !known {
			x.key = uint32(len(r.names))
			r.ints[n] = x.key
		}
	} else if x.key, known = r.strings[string(text)]; !known {
		x.key = uint32(len(r.names))
		r.strings[string(text)] = x.key
	}
	if !known {
		r.names = append(r.names, value{N: n, Kind: kind, Text: string(text)})
	}
	x.kind, x.n, text = r.value()
	x.text = r.text(text)
	x.a.t, x.a.n, x.a.sub = r.varint(), r.uvarint(), uint32(r.uvarint())
	if v.stamps.on {
		x.begin = r.varint()
	}
	place := r.varint()
	x.id = r.varint()
	x.ex = -1
	if place >= 0 {
		i, _ := slices.BinarySearchFunc(v.ex, place, func(e exception, p int64) int { return cmp.Compare(e.place, p) })
		x.ex = int32(i)
	}
	return x
}
