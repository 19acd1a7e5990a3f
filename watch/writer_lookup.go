package watch

import (
	"cmp"
	"isovet/history"
	"isovet/internal/keyed"
)

// repeats finds the writers of values, for at least the last million writes. A proof that relies on one writer of a
// version holds only if no other transaction wrote the same value.
type repeats struct {
	hash    *keyed.Key
	table   [2]prints
	n       int
	half    int   `freeze:"-"` // number of writes of a half; 0: halfSeen
	rotated bool  // writes have been forgotten
	again   int64 // number of transactions when a value was first repeated; 0: none was
	midst   bool  // the stream begins in the middle
	txns    int64
	// since has the changes since begin, so that find can answer about earlier states.
	since []wrote `freeze:"-"`
	// The last history, hashes of its keys, and the versions that the current transaction read before it wrote them.
	of   *history.History `freeze:"-"`
	sums []uint64         `freeze:"-"`
	read []uint32         `freeze:"-"`
	text []byte           `freeze:"-"`
}

// wrote has the print that a write had before a transaction changed it.
type wrote struct {
	key uint64
	txn int64
	was uint64
}

// begin begins a batch. Earlier states are not needed any more.
func (r *repeats) begin() { r.since = r.since[:0] }

// The print of a value is its writer, nobody or several.
const (
	nobody  = 0
	several = 1<<64 - 1
)

func writerPrint(line int64) uint64 { return 1 + uint64(line)&(several>>1) }

// add adds the writes of transaction t in line n. A value that it read before it wrote it existed before.
func (r *repeats) add(h *history.History, t uint32, n int64) {
	if r.of != h {
		r.of, r.sums = h, r.sums[:0]
		for _, k := range h.Keys {
			r.text = h.Texts.AppendValue(r.text[:0], k)
			r.sums = append(r.sums, r.hash.Text(r.text))
		}
		r.read = append(r.read[:0], make([]uint32, h.NumVersions())...)
	}
	r.txns++
	by := writerPrint(n)
	wrote := func(v uint32) {
		if v == history.None {
			return
		}
		who := by
		if r.read[v] == t+1 {
			who = several
		}
		key := r.sums[h.VerKey[v]]
		if r.put(r.hash.Fold(key, h.Texts.Keyed(r.hash, h.VerValue(v))), who) == several {
			r.put(r.hash.Fold(key, keyed.None), several)
			r.again = cmp.Or(r.again, r.txns)
		}
	}
	for op := range h.EachOp(t) {
		switch v := h.Ops.Ver[op]; h.Ops.Kind[op] {
		case history.Read:
			r.read[v] = t + 1
		case history.Write, history.Append:
			wrote(v)
		case history.PredWrite:
			for _, made := range h.Preds.New[h.Preds.Off[v]:h.Preds.Off[v+1]] {
				wrote(made)
			}
		}
	}
}

// put notes a write, and returns the writers known before.
func (r *repeats) put(key uint64, by uint64) uint64 {
	for k := range r.table {
		if was := r.table[k].find(key); was != nobody {
			if was != by && was != several {
				r.note(key, was)
				r.table[k].put(key, several)
				was = several
			}
			return was
		}
	}
	if r.n >= max(r.half, 1) && (r.half > 0 || r.n >= halfSeen) {
		r.rotated = r.rotated || len(r.table[1].keys) > 0
		r.table[1], r.table[0], r.n = r.table[0], prints{}, 0
	}
	r.table[0].grow(r.n)
	r.table[0].put(key, by)
	r.note(key, nobody)
	r.n++
	return by
}

func (r *repeats) note(key uint64, was uint64) { r.since = append(r.since, wrote{key, r.txns, was}) }

// find returns the print of a key as it was after txns transactions.
func (r *repeats) find(key uint64, txns int64) uint64 {
	by := max(r.table[0].find(key), r.table[1].find(key))
	for i := len(r.since) - 1; i >= 0 && r.since[i].txn > txns; i-- {
		if r.since[i].key == key {
			by = r.since[i].was
		}
	}
	return by
}

// writer returns who had written a value of a key after txns transactions: nobody, several, or the print of one. It
// returns several if the write may be forgotten, or if the key has a repeated value, since its other values may repeat
// too. In a stream that begins in the middle it returns several for all keys as soon as one value was repeated, since
// a value may be older than the stream.
func (r *repeats) writer(key string, h *history.History, v history.Value, txns int64) uint64 {
	sum := r.hash.Text([]byte(key))
	if r.midst && r.again > 0 && r.again <= txns || r.find(r.hash.Fold(sum, keyed.None), txns) != nobody {
		return several
	}
	by := r.find(r.hash.Fold(sum, h.Texts.Keyed(r.hash, v)), txns)
	if by == nobody && r.rotated {
		return several
	}
	return by
}
