package history

import (
	"iter"
	"math"
	"slices"
)

const (
	// None marks the absence of a transaction, version, key or text.
	None = ^uint32(0)
	// NoTime marks a missing time.
	NoTime = math.MinInt64
)

// Status is the outcome of a transaction as its client knows it.
type Status uint8

const (
	Committed Status = iota
	Aborted
	Unknown // the client never learned: a time-out at commit
)

func (s Status) String() string {
	switch s {
	case Aborted:
		return "aborted"
	case Unknown:
		return "unknown"
	}
	return "committed"
}

// OpKind is the kind of an operation.
type OpKind uint8

const (
	Read      OpKind = iota // Ver: the version read
	Write                   // Ver: the version written (insert, update, upsert; a Null value deletes)
	Append                  // Ver: (key, element)
	ReadList                // Ver: index into Lists
	PredRead                // Ver: index into Preds
	PredWrite               // Ver: index into Preds
)

func (k OpKind) String() string {
	return [...]string{"r", "w", "a", "r", "pr", "pw"}[k]
}

// Predicate reports whether an operation has a condition.
func (k OpKind) Predicate() bool { return k == PredRead || k == PredWrite }

// Meta is the header of a file. It is for people, except for Lists.
type Meta struct {
	Name, DB, Isolation, Workload, Note string
	// Lists is the header's "model": "list". Operations show which keys are lists; Lists decides for keys that are
	// only read as null.
	Lists bool
	// Single says that each transaction is one operation of the file, although it may have two operations here: a
	// compare-and-set is a read and a write, and so is an append to a string. It is in no file's header, and no
	// checker uses it.
	Single bool
	// Asks is the name of the level that the test which wrote the file checks, or "": Jepsen checks linearizable
	// registers and strictly serializable transactions. It is in no file's header.
	Asks string
}

// Txns are the columns of the transactions, all of the same length or nil.
type Txns struct {
	ID     []int64  // the file's name of the transaction, unique
	Line   []uint32 // where it stands in the file, from 1; 0 = unknown
	Sess   []uint32 // dense session
	Status []Status
	OpOff  []uint32 // operations of t: OpOff[t]:OpOff[t+1]

	Start, Commit, End []int64 // client clock, ns; nil or NoTime where missing
	StartTS, CommitTS  []int64 // database timestamps; nil or NoTime where missing
	Node, Name         []uint32
	// Locking are texts that list which operations of the transaction are locking reads: their ascending indexes among
	// its operations, separated by blanks. They are for people; see History.Locking.
	Locking []uint32
	// Level are texts: the isolation level at which the transaction ran, by its name in package level, or None.
	Level []uint32
}

// Ops are the columns of the operations.
type Ops struct {
	Kind       []OpKind
	Ver        []uint32 // what it means depends on Kind
	Start, End []int64  // client clock, ns; nil or NoTime where missing
}

// Lists are the reads of whole lists: read i of key Key[i] saw the elements Elem[Off[i]:Off[i+1]]. Each element is a
// version (key, element).
type Lists struct {
	Key  []uint32
	Off  []uint32
	Elem []uint32
}

// Preds are predicate reads and writes: operation i has predicate Pred[i] (a text: JSON as in the file) and matched
// rows Off[i]:Off[i+1]. Row j matched in version Old[j] (None if the client does not know it). A predicate write made
// version New[j] of it; in a predicate read New[j] is None.
type Preds struct {
	Pred     []uint32
	Off      []uint32
	Old, New []uint32
}

// History is an immutable history. See the package comment for the data model.
type History struct {
	File string // where it came from, for messages
	Meta Meta
	// Notes are the reader's notes about the file.
	Notes []Note
	// Positions says that the clients' times are positions in the file, because the file has no times of real time.
	Positions bool
	Run       *Run // what the file says about the run, if it is of Jepsen

	Txns  Txns
	Ops   Ops
	Lists Lists
	Preds Preds

	// Init is the transaction that writes initial versions, or None. It precedes all others in every order and is in
	// no session's order.
	Init uint32

	// Session s has the name SessName[s] in the file and transactions SessTxn[SessOff[s]:SessOff[s+1]] in session
	// order. A transaction without session is a session by itself, with name NoTime.
	SessName []int64
	SessOff  []uint32
	SessTxn  []uint32

	// Keys[k] is key k's own value, an Int or a String.
	Keys []Value
	// Version v is value (VerKind[v], VerN[v]) of key VerKey[v].
	VerKey  []uint32
	VerKind []ValueKind
	VerN    []int64
	// InitVer[k] is the version of k before every transaction except Init: the version that Init wrote, else the
	// header's initial value, else null. It is None if no operation names that version, and for lists.
	InitVer []uint32
	// Initial is the header's initial value. Null means that keys do not exist at first.
	Initial Value

	Texts *Texts
}

// NumTxns returns the number of transactions, of every status, Init included.
func (h *History) NumTxns() int { return len(h.Txns.ID) }

// NumOps returns the number of operations.
func (h *History) NumOps() int { return len(h.Ops.Kind) }

// FileOps returns how many operations transactions lo to hi have in the file, for messages: there a compare-and-set is
// one operation (see [Meta]).
func (h *History) FileOps(lo, hi uint32) int {
	n := int(h.Txns.OpOff[hi] - h.Txns.OpOff[lo])
	if !h.Meta.Single {
		return n
	}
	for t := lo; t < hi; t++ {
		if from, to := h.TxnOps(t); from < to && t != h.Init {
			n -= int(to - from - 1)
		}
	}
	return n
}

// NumKeys returns the number of keys.
func (h *History) NumKeys() int { return len(h.Keys) }

// NumVersions returns the number of versions that operations name.
func (h *History) NumVersions() int { return len(h.VerKey) }

// NumSessions returns the number of sessions.
func (h *History) NumSessions() int { return len(h.SessName) }

// SessionPlaces returns the place of each transaction in its session, from 0.
func (h *History) SessionPlaces() []uint32 {
	pos := make([]uint32, h.NumTxns())
	for s := range h.NumSessions() {
		for i, t := range h.SessTxn[h.SessOff[s]:h.SessOff[s+1]] {
			pos[t] = uint32(i)
		}
	}
	return pos
}

// TxnOps returns the range of a transaction's operations.
func (h *History) TxnOps(t uint32) (lo, hi uint32) { return h.Txns.OpOff[t], h.Txns.OpOff[t+1] }

// EachOp yields the operations of t with what they are about (Ops.Ver). Where every operation of a history is examined,
// a loop from lo to hi of TxnOps takes less time.
func (h *History) EachOp(t uint32) iter.Seq2[uint32, uint32] {
	return func(yield func(op, ver uint32) bool) {
		for op, hi := h.TxnOps(t); op < hi && yield(op, h.Ops.Ver[op]); op++ {
		}
	}
}

// TxnOf returns the transaction that an operation belongs to, by binary search.
func (h *History) TxnOf(op uint32) uint32 {
	lo, hi := 0, h.NumTxns()
	for lo+1 < hi {
		if m := int(uint(lo+hi) / 2); h.Txns.OpOff[m] <= op {
			lo = m
		} else {
			hi = m
		}
	}
	return uint32(lo)
}

// Locking reports whether the file says that an operation is a locking read, SELECT … FOR UPDATE, which does not read
// from the transaction's snapshot. No checker uses it.
func (h *History) Locking(op uint32) bool {
	if h.Txns.Locking == nil {
		return false
	}
	t := h.TxnOf(op)
	text := h.Txns.Locking[t]
	if text == None || int(text) >= h.Texts.Len() { // a head made without NewTxnHead may name no text
		return false
	}
	n, some := uint32(0), false
	for _, c := range h.Texts.Text(text) {
		if c >= '0' && c <= '9' {
			n, some = n*10+uint32(c-'0'), true
			continue
		}
		if some && n == op-h.Txns.OpOff[t] {
			return true
		}
		n, some = 0, false
	}
	return some && n == op-h.Txns.OpOff[t]
}

// LevelName returns the name of the level at which a transaction says it ran, or "".
func (h *History) LevelName(t uint32) string {
	if h.Txns.Level == nil || h.Txns.Level[t] == None {
		return ""
	}
	return string(h.Texts.Text(h.Txns.Level[t]))
}

// OpKey returns the key of a read, write, append or list read; None for a predicate operation.
func (h *History) OpKey(op uint32) uint32 {
	switch h.Ops.Kind[op] {
	case Read, Write, Append:
		return h.VerKey[h.Ops.Ver[op]]
	case ReadList:
		return h.Lists.Key[h.Ops.Ver[op]]
	}
	return None
}

// VerValue returns the value of a version.
func (h *History) VerValue(v uint32) Value { return Value{Kind: h.VerKind[v], N: h.VerN[v]} }

// HasLists reports whether there are list operations.
func (h *History) HasLists() bool {
	return len(h.Lists.Key) > 0 || slices.Contains(h.Ops.Kind, Append)
}

// HasPredicates reports whether there are predicate operations.
func (h *History) HasPredicates() bool { return len(h.Preds.Pred) > 0 }

// at returns a column's entry, NoTime for a nil column.
func at(col []int64, t uint32) int64 {
	if col == nil {
		return NoTime
	}
	return col[t]
}

// Start returns the client time just before begin was sent, or NoTime.
func (h *History) Start(t uint32) int64 { return at(h.Txns.Start, t) }

// Commit returns the client time just before commit was sent, or NoTime.
func (h *History) Commit(t uint32) int64 { return at(h.Txns.Commit, t) }

// End returns the client time just after commit's answer arrived, or NoTime.
func (h *History) End(t uint32) int64 { return at(h.Txns.End, t) }

// Window returns the client interval of a transaction, widened by skew ≥ 0 at both ends. A missing start is −∞
// (NoTime). The end is +∞ (math.MaxInt64) if it is missing, or if the transaction is not known to have committed: then
// it may take effect at any time after its start. A bound stops at −∞ or +∞. That changes no order, because a is before
// b in real time only if a's end is less than b's start.
func (h *History) Window(t uint32, skew int64) (start, end int64) {
	start, end = h.Start(t), h.End(t)
	if start = max(start, NoTime+skew) - skew; end == NoTime || h.Txns.Status[t] != Committed {
		return start, math.MaxInt64
	}
	return start, min(end, math.MaxInt64-skew) + skew
}

// StartTS returns the database's snapshot timestamp, or NoTime.
func (h *History) StartTS(t uint32) int64 { return at(h.Txns.StartTS, t) }

// CommitTS returns the database's commit timestamp, or NoTime.
func (h *History) CommitTS(t uint32) int64 { return at(h.Txns.CommitTS, t) }

// OpStart returns the client time just before the operation, or NoTime.
func (h *History) OpStart(op uint32) int64 { return at(h.Ops.Start, op) }

// OpEnd returns the client time just after the operation, or NoTime.
func (h *History) OpEnd(op uint32) int64 { return at(h.Ops.End, op) }

// KeyString returns a key as JSON.
func (h *History) KeyString(k uint32) string { return string(h.Texts.AppendValue(nil, h.Keys[k])) }

// ValueString returns the value of a version as JSON; None is a state that no operation of the history names.
func (h *History) ValueString(v uint32) string {
	if v == None {
		return "a value that no operation names"
	}
	return string(h.Texts.AppendValue(nil, h.VerValue(v)))
}

// Elems returns the elements of list read i.
func (h *History) Elems(i uint32) []uint32 { return h.Lists.Elem[h.Lists.Off[i]:h.Lists.Off[i+1]] }

// RowKey returns the key of a row that a predicate operation matched.
func (h *History) RowKey(row uint32) uint32 {
	if v := h.Preds.Old[row]; v != None {
		return h.VerKey[v]
	}
	return h.VerKey[h.Preds.New[row]]
}

// TimestampsCommit reports whether t took effect by the database's timestamps: it has a commit timestamp and did not
// abort. No checker uses it: certify shares it with none.
func (h *History) TimestampsCommit(t uint32) bool {
	return t != h.Init && h.Txns.Status[t] != Aborted && h.CommitTS(t) != NoTime
}

// InTime reports whether end is before start by more than twice the clock skew, without overflow. No checker uses it:
// certify and evidence share it with none.
func InTime(end, start, skew int64) bool {
	return end != NoTime && start != NoTime && end < start && uint64(start)-uint64(end) > 2*uint64(skew)
}

// AppendOp appends an operation in the history format, without its times and its closing bracket.
func (h *History) AppendOp(dst []byte, op uint32) []byte {
	k, v := h.Ops.Kind[op], h.Ops.Ver[op]
	dst = append(append(append(dst, `["`...), k.String()...), `",`...)
	switch k {
	case PredRead, PredWrite:
		dst = append(append(dst, h.Texts.Text(h.Preds.Pred[v])...), ',')
		return h.AppendRows(dst, v, k == PredWrite)
	case ReadList:
		dst = append(h.Texts.AppendValue(dst, h.Keys[h.Lists.Key[v]]), ',')
		return h.AppendList(dst, v)
	}
	dst = append(h.Texts.AppendValue(dst, h.Keys[h.VerKey[v]]), ',')
	return h.Texts.AppendValue(dst, h.VerValue(v))
}

// AppendList appends the list that was read as JSON.
func (h *History) AppendList(dst []byte, list uint32) []byte {
	dst = append(dst, '[')
	for i, x := range h.Elems(list) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = h.Texts.AppendValue(dst, h.VerValue(x))
	}
	return append(dst, ']')
}

// AppendRows appends the rows that a predicate matched as JSON: each with its key, the version before, if the client
// knows it, and for a predicate write the version after.
func (h *History) AppendRows(dst []byte, p uint32, write bool) []byte {
	dst = append(dst, '[')
	lo, hi := h.Preds.Off[p], h.Preds.Off[p+1]
	for j := lo; j < hi; j++ {
		if j > lo {
			dst = append(dst, ',')
		}
		dst = h.Texts.AppendValue(append(dst, '['), h.Keys[h.RowKey(j)])
		if old := h.Preds.Old[j]; old != None {
			dst = h.Texts.AppendValue(append(dst, ','), h.VerValue(old))
		}
		if write {
			dst = h.Texts.AppendValue(append(dst, ','), h.VerValue(h.Preds.New[j]))
		}
		dst = append(dst, ']')
	}
	return append(dst, ']')
}
