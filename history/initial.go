package history

import (
	"slices"

	"isovet/internal/plural"
)

// SetInitial sets the initial value of registers, for a history whose file does not give it. Keys that the initial
// transaction writes keep their value. Only readers may call it, before they return the history. value refers to the
// history's own texts. Cost: linear in the versions and operations.
func (h *History) SetInitial(value Value) {
	h.Initial = value
	var model []uint8
	if h.HasLists() {
		model = make([]uint8, h.NumKeys())
		for op, k := range h.Ops.Kind {
			if k == Append || k == ReadList {
				model[h.OpKey(uint32(op))] |= list
			}
		}
	}
	h.initialVersions(model)
}

// SetFirst sets the initial values of some registers by adding an initial transaction that writes them. The history
// must have none. Keys that no operation names are left out; lists are an error, since they begin empty. Only readers
// may call it, before they return the history. Cost: linear in the versions and operations.
func (h *History) SetFirst(keys []uint32, values []Value) error {
	if h.Init != None {
		return &InputError{File: h.File, Off: -1, Msg: "the file has an initial transaction, which already gives " +
			"the first values; leave --initial out"}
	}
	if len(keys) == 0 {
		return nil
	}
	for op, k := range h.Ops.Kind {
		if k != Append && k != ReadList {
			continue
		}
		if i := slices.Index(keys, h.OpKey(uint32(op))); i >= 0 {
			return &InputError{File: h.File, Off: -1, Msg: "key " + h.KeyString(keys[i]) + " is a list, which is " +
				"empty at first; expected a register"}
		}
	}
	t := uint32(h.NumTxns())
	id := int64(-1)
	for _, n := range h.Txns.ID {
		id = max(id, n)
	}
	x := &h.Txns
	x.ID, x.Line, x.Status = append(x.ID, id+1), append(x.Line, 0), append(x.Status, Committed)
	for _, col := range []*[]int64{&x.Start, &x.Commit, &x.End, &x.StartTS, &x.CommitTS} {
		if *col != nil {
			*col = append(*col, NoTime)
		}
	}
	for _, col := range []*[]uint32{&x.Node, &x.Name, &x.Locking, &x.Level} {
		if *col != nil {
			*col = append(*col, None)
		}
	}
	x.Sess = append(x.Sess, uint32(h.NumSessions()))
	h.SessName, h.SessTxn = append(h.SessName, NoTime), append(h.SessTxn, t)
	h.SessOff = append(h.SessOff, uint32(len(h.SessTxn)))
	for i, k := range keys {
		v := h.version(k, values[i])
		h.Ops.Kind, h.Ops.Ver = append(h.Ops.Kind, Write), append(h.Ops.Ver, v)
		for _, col := range []*[]int64{&h.Ops.Start, &h.Ops.End} {
			if *col != nil {
				*col = append(*col, NoTime)
			}
		}
		h.InitVer[k] = v
	}
	x.OpOff = append(x.OpOff, uint32(len(h.Ops.Kind)))
	h.Init = t
	return nil
}

// version returns the version of a key with this value. If there is none, it adds one.
func (h *History) version(key uint32, value Value) uint32 {
	for v, k := range h.VerKey {
		if k == key && h.VerKind[v] == value.Kind && h.VerN[v] == value.N {
			return uint32(v)
		}
	}
	h.VerKey, h.VerKind, h.VerN = append(h.VerKey, key), append(h.VerKind, value.Kind), append(h.VerN, value.N)
	return uint32(len(h.VerKey) - 1)
}

// FirstReads returns, for each register, the value of its first read as its initial value: of the read that ended
// first or, without times, is first in the file. It leaves a register out if a transaction that may have preceded this
// read wrote the value. Reads of a transaction's own writes and of null do not count. Cost: linear in the operations.
func (h *History) FirstReads() (keys []uint32, values []Value) {
	type seen struct {
		ver, txn uint32
		end      int64
	}
	first := make([]seen, h.NumKeys())
	for k := range first {
		first[k].ver = None
	}
	own := make([]uint32, h.NumKeys()) // the last transaction that wrote it, plus one
	for t := range uint32(h.NumTxns()) {
		for op, v := range h.EachOp(t) {
			switch h.Ops.Kind[op] {
			case Write:
				own[h.VerKey[v]] = t + 1
			case Read:
				k := h.VerKey[v]
				f := &first[k]
				if h.Txns.Status[t] != Committed || own[k] == t+1 || f.ver != None && !(h.End(t) < f.end) {
					continue
				}
				*f = seen{v, t, h.End(t)}
			}
		}
	}
	written := make([]bool, h.NumVersions()) // perhaps before it was read first
	for t := range uint32(h.NumTxns()) {
		for op := range h.EachOp(t) {
			if h.Ops.Kind[op] != Write {
				continue
			}
			v := h.Ops.Ver[op]
			if f := first[h.VerKey[v]]; f.ver == v && (f.end == NoTime || !(h.Start(t) > f.end)) {
				written[v] = true
			}
		}
	}
	for k, f := range first {
		if f.ver != None && h.VerKind[f.ver] != Null && !written[f.ver] {
			keys, values = append(keys, uint32(k)), append(values, h.VerValue(f.ver))
		}
	}
	return keys, values
}

// NullIsInitial replaces null in reads by the initial values of their keys. Only readers may call it, before they
// return the history. Cost: linear in the operations, and a search of the versions for each key whose initial version
// no operation names.
func (h *History) NullIsInitial() {
	for op, kind := range h.Ops.Kind {
		v := h.Ops.Ver[op]
		if kind != Read || h.VerKind[v] != Null {
			continue
		}
		k := h.VerKey[v]
		if h.InitVer[k] == None {
			h.InitVer[k] = h.version(k, h.Initial)
		}
		h.Ops.Ver[op] = h.InitVer[k]
	}
}

// inferInitial adds an initial transaction and a note with the number of its keys, unless the file has an initial
// transaction. It writes, for each key, the first value other than null, in the order of operations, that a read or a
// row of a predicate has and that no transaction wrote. ver and extra are results of the join; it returns ver with the
// added versions. Cost: linear in the operations and versions.
func (b *Builder) inferInitial(v versions, ver, extra []uint32) []uint32 {
	if b.init != None {
		return ver
	}
	// Of a version, whether it is written; of a key, whether a value that it held at first is known.
	written, known := make([]bool, len(v.key)), make([]bool, len(b.keys))
	for op, k := range b.kind {
		if k == Write {
			written[ver[op]] = true
		}
	}
	var found []uint32
	see := func(x uint32) {
		if !written[x] && v.kind[x] != Null && !known[v.key[x]] {
			known[v.key[x]] = true
			found = append(found, x)
		}
	}
	pred := 0
	for op, k := range b.kind {
		switch k {
		case Read:
			see(ver[op])
		case PredRead, PredWrite:
			for _, ref := range b.preds.Old[b.preds.Off[pred]:b.preds.Off[pred+1]] {
				if ref != None {
					see(extra[ref])
				}
			}
			pred++
		}
	}
	if found == nil {
		return ver
	}
	b.kind = append(b.kind, slices.Repeat([]OpKind{Write}, len(found))...)
	h := NewTxnHead()
	h.Init = true
	b.EndTxn(h)
	b.Note(NoteInitial, len(found), "%s: isovet takes the first value read that nobody wrote as the initial value",
		plural.Of(len(found), "key"))
	return append(ver, found...)
}
