package plan

import (
	"fmt"
	"math"

	"isovet/history"
)

// Txn is a whole transaction in a form that does not depend on its batch.
type Txn struct {
	Place              uint64
	ID                 int64
	Line               uint32
	File               string
	Session            int64 // NoTime: none
	Start, Commit, End int64
	StartTS, CommitTS  int64
	Status             history.Status
	Init               bool
	Ops                []Op
	// Now is its present position, Rule the one without exceptions.
	Now  Move
	Rule Pos
	// Counts says that its outcome is unknown and it is taken as committed.
	Counts bool
}

// Op is an operation on a key.
type Op struct {
	Kind       history.OpKind
	Key, Value Value
}

// TxnOf returns a transaction of a batch.
func TxnOf(h *history.History, t uint32, first uint64) *Txn { return TxnOn(h, t, first, nil) }

// TxnOn returns a transaction of a batch, with its operations on the keys in only, or all if that is nil.
func TxnOn(h *history.History, t uint32, first uint64, only map[Value]bool) *Txn {
	x := &Txn{Place: first + uint64(t), ID: h.Txns.ID[t], Line: h.Txns.Line[t], File: h.File,
		Session: h.SessName[h.Txns.Sess[t]], Start: h.Start(t), Commit: h.Commit(t), End: h.End(t),
		StartTS: h.StartTS(t), CommitTS: h.CommitTS(t), Status: h.Txns.Status[t], Init: t == h.Init}
	if x.Init {
		x.Session = history.NoTime
	}
	lo, hi := h.TxnOps(t)
	if only == nil {
		x.Ops = make([]Op, 0, hi-lo)
	}
	for o := lo; o < hi; o++ {
		v := h.Ops.Ver[o]
		if only != nil && !only[h.Own(h.Keys[h.VerKey[v]])] {
			continue
		}
		x.Ops = append(x.Ops, Op{h.Ops.Kind[o], h.Own(h.Keys[h.VerKey[v]]), h.Own(h.VerValue(v))})
	}
	return x
}

// Size estimates its memory, in bytes.
func (x *Txn) Size() int { return 200 + 80*len(x.Ops) }

// head returns the transaction's head, as builders take it.
func (x *Txn) head() history.TxnHead {
	head := history.NewTxnHead()
	head.ID, head.HasID, head.Line, head.Status = x.ID, true, x.Line, x.Status
	head.Start, head.Commit, head.End = x.Start, x.Commit, x.End
	head.StartTS, head.CommitTS, head.Init = x.StartTS, x.CommitTS, x.Init
	if x.Session != history.NoTime {
		head.Session, head.HasSess = x.Session, true
	}
	return head
}

// TakesPart reports whether it is in the order.
func (x *Txn) TakesPart() bool {
	return !x.Init && (x.Status == history.Committed || x.Status == history.Unknown && x.Counts)
}

// Contradicts reports whether the transaction's reads disagree with its own operations, so that it cannot have
// committed.
func (x *Txn) Contradicts() bool {
	saw := make(map[Value]Value, len(x.Ops))
	for i := range x.Ops {
		op := &x.Ops[i]
		if v, is := saw[op.Key]; is && v != op.Value && op.Kind == history.Read {
			return true
		}
		saw[op.Key] = op.Value
	}
	return false
}

// External calls f for the reads of others' versions and then for the versions that it installs. It leaves out reads
// that contradict the transaction's own operations.
func (x *Txn) External(read, install func(op *Op)) {
	type last struct {
		read bool
		op   *Op
	}
	seen := make(map[Value]last, len(x.Ops))
	var keys []Value
	for i := range x.Ops {
		op := &x.Ops[i]
		l, known := seen[op.Key]
		if op.Kind == history.Read {
			if !known {
				seen[op.Key] = last{true, op}
				read(op)
			}
			continue
		}
		if !known || l.read {
			keys = append(keys, op.Key)
		}
		seen[op.Key] = last{false, op}
	}
	for _, k := range keys {
		install(seen[k].op)
	}
}

// Event is one place of a moved transaction, with its reads, its writes, or both.
type Event struct {
	At            Pos
	Txn           *Txn
	Reads, Writes bool
}

// Moved turns moved transactions into chunks for each partition. Events are in the order of their places. apart reports
// whether two places, the earlier one first, need different chunks: a pass reads every chunk that overlaps a wanted
// one.
func Moved(events []Event, parts int, apart func(a, b Pos) bool,
	emit func(part int, chunk []byte, info ChunkInfo) error) (err error) {
	ws, keys := make([]chunkWriter, parts), make([]map[Value]uint32, parts)
	for p := range ws {
		ws[p].moving, keys[p] = true, map[Value]uint32{}
	}
	take := func(p int) error {
		chunk, info := ws[p].take(nil)
		clear(keys[p])
		return emit(p, chunk, info)
	}
	for i := range events {
		e := &events[i]
		began := make(map[int]bool, 8)
		op := func(kind Kind, o *Op) {
			p := PartOf(HashOf(o.Key), parts)
			w := &ws[p]
			if !began[p] {
				if err == nil && (w.size() > maxChunk || w.info.Txns > 0 && apart(w.info.Max, e.At)) {
					err = take(p)
				}
				w.begin(e.At, e.Txn.Place)
				began[p] = true
			}
			k, ok := keys[p][o.Key]
			if !ok {
				k = w.key(o.Key.Kind, o.Key.N, []byte(o.Key.Text))
				keys[p][o.Key] = k
			}
			w.op(kind, k, o.Value.Kind, o.Value.N, []byte(o.Value.Text))
		}
		e.Txn.External(func(o *Op) {
			if e.Reads {
				op(Read, o)
			}
		}, func(o *Op) {
			if e.Writes {
				op(Install, o)
			}
		})
		if err != nil {
			return err
		}
	}
	for p := range ws {
		if ws[p].info.Ops > 0 && err == nil {
			err = take(p)
		}
	}
	return err
}

// add adds an operation to a builder's transaction.
func (op *Op) add(b *history.Builder) {
	if k, v := b.Key(op.Key.In(b)), op.Value.In(b); op.Kind == history.Read {
		b.Read(k, v)
	} else {
		b.Write(k, v)
	}
}

// marker returns a key that fixes the order of a window's transactions and its end.
func marker(b *history.Builder, i int) uint32 {
	return b.Key(b.StringValue(fmt.Appendf(nil, "\x00isovet window %d", i)))
}

// behindAll is a time after all others.
const behindAll = math.MaxInt64
