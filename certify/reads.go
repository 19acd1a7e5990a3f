package certify

import (
	"fmt"

	"isovet/evidence"
	"isovet/history"
	"isovet/level"
	"isovet/predicates"
)

// singleReads has the kinds of anomalies whose proof is their operations.
var singleReads = []level.Anomaly{level.ThinAirRead, level.G1a, level.G1b, level.FutureRead, level.NotMyOwnWrite,
	level.NotMyLastWrite, level.NonRepeatableRead, level.PredicateMismatch, level.DuplicateElement}

// singleRead is an anomaly of single reads: operation op of transaction t shows version ver of key, or with ver None
// only whether its predicate holds. Operation other, of transaction by, explains the anomaly.
type singleRead struct {
	kind           level.Anomaly
	t, op, key     uint32
	ver            uint32
	other, by      uint32 // history.None: the kind has none
	own, ownWrites uint32 // the last own write of key before op, and the version that it wrote
}

// checkReads proves an anomaly of single reads from the operations that it names, and returns the reader. Ops has the
// read, and then the operation that explains it, if the kind has one:
//
//   - thin-air-read, duplicate-element, predicate-mismatch: none
//   - G1a: the aborted write; future-read: the reader's own later write
//   - G1b: the write of the version read that its transaction overwrote; for a list, an append that is shown without
//     the rest
//   - not-my-own-write, not-my-last-write: the last own write before the read
//   - non-repeatable-read: the second read; or the first again, if one predicate read shows a row in two versions
//
// If one of them is a predicate operation, the anomaly is about its Key. In a predicate-mismatch, the predicate is
// false for the version that was matched, or no version explains the operation.
func (p *proof) checkReads(a *evidence.Anomaly) (reader uint32, err error) {
	x := p.x
	r, err := x.singleRead(a)
	if err != nil {
		return 0, err
	}
	if !x.h.Ops.Kind[r.op].Predicate() || r.ver == history.None {
		return r.t, p.checkRead(r)
	}
	for _, ver := range rowVersions(x.h, r.op, r.key) { // of a row in two versions, either may be wrong
		if r.ver = ver; p.checkRead(r) == nil {
			return r.t, nil
		}
	}
	return r.t, p.checkRead(r)
}

func (p *proof) checkRead(r singleRead) error {
	x := p.x
	switch {
	case x.h.Ops.Kind[r.op] == history.ReadList:
		return x.checkListRead(r)
	case r.kind == level.NotMyOwnWrite || r.kind == level.NotMyLastWrite:
		return x.checkOwn(r)
	case r.kind == level.NonRepeatableRead:
		return x.checkRepeated(r)
	case r.kind == level.PredicateMismatch:
		return p.checkMismatch(r)
	}
	return x.checkOrigin(r)
}

// singleRead takes the operations of an anomaly, and demands what all kinds have in common.
func (x *index) singleRead(a *evidence.Anomaly) (r singleRead, err error) {
	h := x.h
	want := 2
	if a.Kind == level.ThinAirRead || a.Kind == level.DuplicateElement || a.Kind == level.PredicateMismatch {
		want = 1
	}
	if len(a.Ops) != want {
		return r, fmt.Errorf("the number of operations is %d; expected %d", len(a.Ops), want)
	}
	predicate := false
	for _, op := range a.Ops {
		if int(op) >= h.NumOps() {
			return r, fmt.Errorf("there is no operation %d: the number of operations is %d", op, h.NumOps())
		}
		predicate = predicate || h.Ops.Kind[op].Predicate()
	}
	op := a.Ops[0]
	r = singleRead{kind: a.Kind, op: op, t: h.TxnOf(op), key: h.OpKey(op), ver: history.None,
		other: history.None, by: history.None}
	if predicate && h.Ops.Kind[op] != history.ReadList {
		r.key = a.Key
	}
	if int(r.key) >= h.NumKeys() {
		return r, fmt.Errorf("there is no key index %d: the number of keys is %d", r.key, h.NumKeys())
	}
	if h.Txns.Status[r.t] == history.Aborted {
		return r, fmt.Errorf("%s, the reader, aborted", name(h, r.t))
	}
	if want == 2 {
		r.other, r.by = a.Ops[1], h.TxnOf(a.Ops[1])
		if !predicate && h.OpKey(r.other) != r.key {
			return r, fmt.Errorf("operations %d and %d are not on the same key", op, r.other)
		}
	}
	r.own, r.ownWrites = lastWrite(h, r.t, r.key, op)
	if h.Ops.Kind[op] != history.ReadList {
		about := false
		if r.ver, about = x.saw(op, r.key); !about {
			return r, fmt.Errorf("operation %d does not read %s", op, h.KeyString(r.key))
		}
	}
	return r, nil
}

// checkOwn proves that a read is not of the last own write before it.
func (x *index) checkOwn(r singleRead) error {
	h := x.h
	if r.own == history.None || r.own != r.other {
		return fmt.Errorf("operation %d is not the last own write before the read", r.other)
	}
	if x.agrees(r.op, r.key, r.ownWrites) {
		return fmt.Errorf("the read returns the transaction's last own write")
	}
	earlier := false
	lo, _ := h.TxnOps(r.t)
	for op := lo; op < r.own; op++ {
		earlier = earlier || r.ver != history.None && writes(h, op, r.ver)
	}
	if earlier != (r.kind == level.NotMyLastWrite) {
		return fmt.Errorf("the anomaly's kind and the transaction's own earlier writes contradict each other")
	}
	return nil
}

// checkRepeated proves that two reads of one transaction disagree, though it did not write the key before the second.
func (x *index) checkRepeated(r singleRead) error {
	h := x.h
	v := r.ver
	if r.other == r.op && h.Ops.Kind[r.op].Predicate() {
		if len(rowVersions(h, r.op, r.key)) < 2 {
			return fmt.Errorf("operation %d shows a single version of %s", r.op, h.KeyString(r.key))
		}
		return nil
	}
	w, also := x.saw(r.other, r.key)
	switch {
	case r.by != r.t || r.other <= r.op || !also:
		return fmt.Errorf("operation %d is not a later read of %s in the same transaction", r.other, h.KeyString(r.key))
	case v == history.None && w == history.None:
		return fmt.Errorf("neither read shows which version it saw")
	case v != history.None && x.agrees(r.other, r.key, v), v == history.None && x.agrees(r.op, r.key, w):
		return fmt.Errorf("the two reads agree")
	}
	if own, _ := lastWrite(h, r.t, r.key, r.other); own != history.None {
		return fmt.Errorf("the transaction writes the key itself before the second read")
	}
	return nil
}

// checkMismatch proves that a predicate operation contradicts every version of its key that it may have seen.
func (p *proof) checkMismatch(r singleRead) error {
	x, h := p.x, p.h
	if !h.Ops.Kind[r.op].Predicate() {
		return fmt.Errorf("operation %d is not a predicate operation", r.op)
	}
	if r.ver != history.None {
		if x.truths.Of(h.Ops.Ver[r.op], r.key, r.ver) != predicates.False {
			return fmt.Errorf("the predicate may be true of %s", h.ValueString(r.ver))
		}
		return nil
	}
	missed, err := x.openKey(r.t, r.op, r.key)
	if err != nil {
		return err
	}
	_, c := p.candidateBases(r.t, r.op, r.key, missed)
	for _, w := range c { // of unknown outcome they may be, if none can have committed; see proof.mismatch
		if w == initial || h.Txns.Status[w] == history.Committed {
			return fmt.Errorf("the number of versions of %s that agree with what the predicate operation matched is %d",
				h.KeyString(r.key), len(c))
		}
	}
	return nil
}

// checkOrigin proves that no counting transaction installed the version read, and that it came from where the kind
// says: from nowhere, or from an aborted, an intermediate, or an own later write.
func (x *index) checkOrigin(r singleRead) error {
	h := x.h
	if r.ver == history.None {
		return fmt.Errorf("operation %d does not show which version of %s it saw", r.op, h.KeyString(r.key))
	}
	if r.own != history.None && r.ownWrites == r.ver {
		return fmt.Errorf("the read is of the transaction's own write")
	}
	if c := x.candidates(r.t, r.ver); len(c) > 0 {
		if c[0] == initial {
			return fmt.Errorf("the version read may be the initial one")
		}
		return fmt.Errorf("%s may have installed the version read", name(h, c[0]))
	}
	if r.other != history.None && !writes(h, r.other, r.ver) {
		return fmt.Errorf("operation %d is not a write of the version read", r.other)
	}
	switch r.kind {
	case level.ThinAirRead:
		if w := x.writes[r.ver]; len(w) > 0 {
			return fmt.Errorf("%s wrote the value read", name(h, w[0].txn))
		}
		return nil
	case level.G1a:
		if h.Txns.Status[r.by] != history.Aborted {
			return fmt.Errorf("%s, the writer, did not abort", name(h, r.by))
		}
		return nil
	case level.G1b:
		if last, _ := finalWrite(h, r.by, r.key); r.by == r.t || last == r.other {
			return fmt.Errorf("operation %d is not an intermediate write of another transaction", r.other)
		}
		return nil
	case level.FutureRead:
		if r.by != r.t || r.other < r.op {
			return fmt.Errorf("operation %d is not a later write of the reader", r.other)
		}
		return nil
	}
	return fmt.Errorf("%s is not an anomaly of registers", r.kind)
}

// saw returns the version of k that an operation shows, or history.None if it only shows whether a predicate holds, and
// whether it reads k at all. A predicate operation reads every key.
func (x *index) saw(op, k uint32) (ver uint32, reads bool) {
	h := x.h
	switch h.Ops.Kind[op] {
	case history.Read:
		return h.Ops.Ver[op], h.OpKey(op) == k
	case history.PredRead, history.PredWrite:
		if r := rowOf(h, op, k); r != history.None {
			return h.Preds.Old[r], true
		}
		return history.None, true
	}
	return history.None, false
}

// agrees reports whether an operation that reads k can have seen version ver.
func (x *index) agrees(op, k, ver uint32) bool {
	v, _ := x.saw(op, k)
	if !x.h.Ops.Kind[op].Predicate() {
		return v == ver
	}
	if vs := rowVersions(x.h, op, k); len(vs) > 1 {
		return false
	}
	if v != history.None {
		return v == ver && x.truths.Of(x.h.Ops.Ver[op], k, ver) != predicates.False
	}
	return x.fits(op, k, ver, rowOf(x.h, op, k) == history.None)
}
