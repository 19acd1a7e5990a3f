package history

import "isovet/internal/plural"

// inferInitial adds an initial transaction that writes what keys must have held at first, and a note with their number:
// of each key, the first value but null, in the order of the operations, that a read or a predicate's row found and
// nobody wrote. It adds none where there is none, or where the file has one. ver and extra are what the join made of
// the references; the result is ver with the versions that were added. Cost: linear in the operations and versions.
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
	for range found {
		b.kind = append(b.kind, Write)
	}
	h := NewTxnHead()
	h.Init = true
	b.EndTxn(h)
	b.Note(NoteInitial, len(found), "%s: the first value read that nobody wrote is taken as initial value",
		plural.Of(len(found), "key"))
	return append(ver, found...)
}
