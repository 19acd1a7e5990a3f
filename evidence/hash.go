package evidence

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"

	"isovet/history"
	"isovet/internal/slice"
)

// ContentHash identifies a history by its content, independent of its file's format, compression and order of lines:
// SHA-256, in hexadecimal, of the initial value and, in the order of ids, the transactions' ids, outcomes and
// operations. Sessions and times are left out, since some formats cannot hold them; verifying a certificate checks them
// against the history at hand if the level asks for them. Cost: linear, about 50 ns per operation, most of it waiting
// for memory, as versions are numbered in no order.
func ContentHash(h *history.History) string {
	w := hasher{h: h}
	sum := sha256.New()
	flush := func() {
		sum.Write(w.buf)
		w.buf = w.buf[:0]
	}
	by := byID(h)
	w.number(int64(h.NumTxns()))
	w.value(h.Initial)
	for i := range h.NumTxns() {
		t := uint32(i)
		if by != nil {
			t = by[i]
		}
		lo, hi := h.TxnOps(t)
		w.number(h.Txns.ID[t])
		w.number(int64(hi - lo))
		init := byte(0)
		if t == h.Init {
			init = 1
		}
		w.buf = append(w.buf, byte(h.Txns.Status[t]), init)
		for op := lo; op < hi; op++ {
			if len(w.buf) > 1<<15 {
				flush()
			}
			w.op(op)
		}
	}
	flush()
	return hex.EncodeToString(sum.Sum(nil))
}

// byID returns the transactions in the order of their ids, nil if that is the order of their indices.
func byID(h *history.History) []uint32 {
	id := h.Txns.ID
	if slices.IsSorted(id) {
		return nil
	}
	by := slice.Numbers[uint32](len(id))
	slices.SortFunc(by, func(a, b uint32) int { return cmp.Compare(id[a], id[b]) })
	return by
}

type hasher struct {
	h   *history.History
	buf []byte
}

func (w *hasher) number(n int64) { w.buf = binary.LittleEndian.AppendUint64(w.buf, uint64(n)) }

func (w *hasher) value(v history.Value) {
	w.buf = append(w.buf, byte(v.Kind))
	switch v.Kind {
	case history.String, history.Row:
		w.text(uint32(v.N))
	case history.Int, history.Bool:
		w.number(v.N)
	}
}

func (w *hasher) text(id uint32) {
	b := w.h.Texts.Text(id)
	w.number(int64(len(b)))
	w.buf = append(w.buf, b...)
}

// version hashes a version's value, or that it is unknown.
func (w *hasher) version(v uint32) {
	if v == history.None {
		w.buf = append(w.buf, 0xff)
		return
	}
	w.value(w.h.VerValue(v))
}

func (w *hasher) op(op uint32) {
	h := w.h
	k, v := h.Ops.Kind[op], h.Ops.Ver[op]
	w.buf = append(w.buf, byte(k))
	switch k {
	case history.ReadList:
		w.value(h.Keys[h.Lists.Key[v]])
		elems := h.Elems(v)
		w.number(int64(len(elems)))
		for _, e := range elems {
			w.version(e)
		}
	case history.PredRead, history.PredWrite:
		p := &h.Preds
		w.text(p.Pred[v])
		w.number(int64(p.Off[v+1] - p.Off[v]))
		for i := p.Off[v]; i < p.Off[v+1]; i++ {
			key := p.Old[i]
			if key == history.None {
				key = p.New[i]
			}
			if key != history.None {
				w.value(h.Keys[h.VerKey[key]])
			}
			w.version(p.Old[i])
			w.version(p.New[i])
		}
	default:
		w.value(h.Keys[h.VerKey[v]])
		w.version(v)
	}
}
