package history

// TxnHead is what a file says of a transaction, except for its operations.
type TxnHead struct {
	ID                     int64
	Session                int64
	Seq                    int64
	Start, Commit, End     int64 // NoTime: missing
	StartTS, CommitTS      int64 // NoTime: missing
	Line                   uint32
	Node, Name             uint32 // texts; None: missing
	Locking, Level         uint32 // the same; see Txns
	Status                 Status
	Init                   bool
	HasID, HasSess, HasSeq bool
}

// NewTxnHead returns a head with every optional part missing.
func NewTxnHead() TxnHead {
	return TxnHead{Start: NoTime, Commit: NoTime, End: NoTime, StartTS: NoTime, CommitTS: NoTime, Node: None,
		Name: None, Locking: None, Level: None}
}

// Builder collects a history. Add operations in program order; EndTxn then ends their transaction. Only one goroutine
// may use a Builder, but several builders can be filled at once and joined with Merge. A Builder needs 17 bytes an
// operation (33 if operations have times) until Build, which turns 16 of them into 4, and 13 for each version.
type Builder struct {
	Meta    Meta
	Initial Value
	File    string
	Texts   Texts

	keys    []Value
	keyHash []uint64
	keySlot []uint32 // key+1, 0 = free
	// few is the same for small integers and for the first texts, by Value.N: most histories' keys are such.
	few [Row + 1][]uint32

	txns     Txns
	seq      []int64 // NoTime: missing; nil until one is seen
	sess     sessions
	ordinal  []bool // the id is the ordinal among transactions; nil until one is not
	init     uint32 // the transaction marked init
	initSess uint32 // and its session, once the sessions are made; None: it has none
	init2    uint32 // a second one, which is an error
	kind     []OpKind
	opStart  []int64
	opEnd    []int64
	listsAndRows
	fetched uint32 // see Expect
	notes   []Note
	extra   uint32 // number of extra references handed out (list elements, predicate rows)
	join    joiner

	// Workers is the number of cores that Build may use; 0 means one.
	Workers int

	// FirstReads says that the file does not give initial values. Unless there is an initial transaction, Build adds
	// one that writes, for each key, the first value other than null that was read and that no transaction wrote.
	FirstReads bool
}

// listsAndRows has the reads of lists, and the predicate operations with their rows.
type listsAndRows struct {
	lists    Lists
	lastList []lastList // by key
	preds    Preds
	lastRows []rowRefs // by key
	predOps  uint32    // predicate operations added
	rowAgain bool      // one of them names a row a second time
	// predsSeen counts the first predicates, predsNew those of them whose text was new.
	predsSeen, predsNew int
}

// NewBuilder returns an empty builder.
func NewBuilder() *Builder {
	return &Builder{init: None, init2: None, initSess: None}
}

// NumTxns returns the number of transactions so far.
func (b *Builder) NumTxns() int { return len(b.txns.ID) }

// NumOps returns the number of operations so far.
func (b *Builder) NumOps() int { return len(b.kind) }

// Text interns a string (for a String value: Value{Kind: String, N: int64(id)}).
func (b *Builder) Text(s []byte) uint32 { return b.Texts.Intern(s) }

// StringValue interns a string as a value.
func (b *Builder) StringValue(s []byte) Value {
	return Value{Kind: String, N: int64(b.Texts.Intern(s))}
}

// RowValue interns a row: canonical JSON, columns sorted, no spaces.
func (b *Builder) RowValue(canonical []byte) Value {
	return b.PackedValue(b.Texts.packRow(canonical))
}

// Key interns a key, an Int or a String.
func (b *Builder) Key(v Value) uint32 {
	if few := b.few[v.Kind]; uint64(v.N) < uint64(len(few)) && few[v.N] != 0 {
		return few[v.N] - 1
	}
	return b.hashedKey(v)
}

// hashedKey is Key for keys that are not in few.
func (b *Builder) hashedKey(v Value) uint32 {
	if len(b.keySlot) < 2*(len(b.keys)+1) {
		b.growKeys()
	}
	b.Texts.ready()
	h := mix(b.Texts.spread(v.N, v.Kind))
	mask := uint64(len(b.keySlot) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		s := b.keySlot[i]
		if s == 0 {
			b.keySlot[i] = uint32(len(b.keys)) + 1
			b.keys = append(b.keys, v)
			b.keyHash = append(b.keyHash, h)
			b.noteFew(v, b.keySlot[i])
			return uint32(len(b.keys)) - 1
		}
		if b.keys[s-1] == v {
			b.noteFew(v, s)
			return s - 1
		}
	}
}

// noteFew adds a key to few, if the keys so far are dense enough.
func (b *Builder) noteFew(v Value, slot uint32) {
	if v.N < 0 || v.N >= int64(4*len(b.keys)+64) {
		return
	}
	few := &b.few[v.Kind]
	if n := int(v.N) + 1; n > len(*few) {
		*few = append(*few, make([]uint32, n+n/4-len(*few))...)
	}
	(*few)[v.N] = slot
}

func (b *Builder) growKeys() {
	b.keySlot = make([]uint32, max(64, 2*len(b.keySlot)))
	mask := uint64(len(b.keySlot) - 1)
	for k, h := range b.keyHash {
		i := h & mask
		for b.keySlot[i] != 0 {
			i = (i + 1) & mask
		}
		b.keySlot[i] = uint32(k) + 1
	}
}

// ref passes version (key, v) to the join, which will store the version's id at index at: in Ops.Ver, or in the extra
// references.
func (b *Builder) ref(at, key uint32, v Value) {
	s := &b.join.own
	s.n++
	r := joinRec{n: v.N, keyKind: key | uint32(v.Kind)<<kindShift, at: at}
	if s.part == nil {
		if len(s.small) < joinSmall || s.draft {
			s.small = append(s.small, r)
			return
		}
		s.spill(b.keyHash, &b.Texts)
	}
	h := mix(b.keyHash[key] + b.Texts.spread(v.N, v.Kind))
	s.part[h>>joinShift].add(r.hashed(h))
}

// extraRef passes a version that is no operation's own to the join, and returns the index where the join will store
// its id.
func (b *Builder) extraRef(key uint32, v Value) uint32 {
	i := b.extra
	b.extra++
	b.ref(i|extraBit, key, v)
	return i
}

// Read adds a read of (key, v).
func (b *Builder) Read(key uint32, v Value) { b.Item(Read, key, v) }

// Write adds a write of (key, v); a Null value deletes.
func (b *Builder) Write(key uint32, v Value) { b.Item(Write, key, v) }

// Append adds an append of element v to the list at key.
func (b *Builder) Append(key uint32, v Value) { b.Item(Append, key, v) }

// Item adds an operation of one of these three kinds.
func (b *Builder) Item(kind OpKind, key uint32, v Value) {
	b.ref(uint32(len(b.kind)), key, v)
	b.kind = append(b.kind, kind)
}

// ReadList adds a read of a whole list.
func (b *Builder) ReadList(key uint32, elems []Value) {
	// A list usually has the elements of the previous read of the key and a few more. The common ones name the same
	// versions.
	last := b.lastOf(key)
	same := 0
	n := min(len(elems), len(last.elems))
	for x, y := elems[:n], last.elems[:n]; same < len(x) && x[same].N == y[same].N && x[same].Kind == y[same].Kind; {
		same++
	}
	b.readList(key, last, same, elems[same:])
}

// ReadListMore adds a read of the list that was last read of the key, followed by more elements.
func (b *Builder) ReadListMore(key uint32, more []Value) {
	last := b.lastOf(key)
	b.readList(key, last, len(last.elems), more)
}

func (b *Builder) lastOf(key uint32) *lastList {
	if int(key) >= len(b.lastList) {
		b.lastList = append(b.lastList, make([]lastList, max(int(key)+1, len(b.lastList)*3/2)-len(b.lastList))...)
	}
	return &b.lastList[key]
}

// readList adds a read of the first same elements of the key's last read, followed by more.
func (b *Builder) readList(key uint32, last *lastList, same int, more []Value) {
	b.kind = append(b.kind, ReadList)
	l := &b.lists
	if len(l.Off) == 0 {
		l.Off = append(l.Off, 0)
	}
	l.Key = append(l.Key, key)
	if n := same + len(more); cap(l.Elem)-len(l.Elem) < n {
		l.Elem = roomier(l.Elem, n+len(l.Elem)/2) // append would go in smaller steps
	}
	at := len(l.Elem)
	l.Elem = append(l.Elem, l.Elem[last.at:last.at+same]...)
	b.join.own.n += same
	for _, e := range more {
		l.Elem = append(l.Elem, b.extraRef(key, e))
	}
	last.at, last.elems = at, append(last.elems[:same], more...)
	l.Off = append(l.Off, uint32(len(l.Elem)))
}

// lastList is the last list read of a key: its elements, and their index in Lists.Elem.
type lastList struct {
	at    int
	elems []Value
}

// PredRow is a row that a predicate matched. Old is the version that matched, unless OldUnknown. New is the version
// that a predicate write made.
type PredRow struct {
	Key        uint32
	OldUnknown bool
	Old, New   Value
	// OldRef and NewRef, if not 0, are results of RowRef and replace Old and New.
	OldRef, NewRef uint32
}

// OpTimes sets the client times of the last operation.
func (b *Builder) OpTimes(start, end int64) {
	n := len(b.kind)
	b.opStart = padTimes(b.opStart, n-1)
	b.opEnd = padTimes(b.opEnd, n-1)
	b.opStart = append(b.opStart, start)
	b.opEnd = append(b.opEnd, end)
}

func padTimes(col []int64, n int) []int64 {
	for len(col) < n {
		col = append(col, NoTime)
	}
	return col
}

// EndTxn ends a transaction, which has all operations since the last call of EndTxn.
func (b *Builder) EndTxn(h TxnHead) {
	t := len(b.txns.ID)
	x := &b.txns
	if t == 0 {
		x.OpOff = append(x.OpOff, 0)
	}
	id := h.ID
	if !h.HasID {
		id = int64(t)
	}
	if !h.HasID || b.ordinal != nil {
		for len(b.ordinal) < t {
			b.ordinal = append(b.ordinal, false)
		}
		b.ordinal = append(b.ordinal, !h.HasID)
	}
	x.ID = append(x.ID, id)
	x.Line = append(x.Line, h.Line)
	x.Status = append(x.Status, h.Status)
	x.OpOff = append(x.OpOff, uint32(len(b.kind)))
	sess := None
	if h.HasSess {
		sess = b.sess.intern(h.Session)
	}
	b.sess.of = append(b.sess.of, sess)
	if h.HasSeq || b.seq != nil {
		b.seq = padTimes(b.seq, t)
		q := int64(NoTime)
		if h.HasSeq {
			q = h.Seq
		}
		b.seq = append(b.seq, q)
	}
	x.Start = timeCol(x.Start, t, h.Start)
	x.Commit = timeCol(x.Commit, t, h.Commit)
	x.End = timeCol(x.End, t, h.End)
	x.StartTS = timeCol(x.StartTS, t, h.StartTS)
	x.CommitTS = timeCol(x.CommitTS, t, h.CommitTS)
	x.Node = textCol(x.Node, t, h.Node)
	x.Name = textCol(x.Name, t, h.Name)
	x.Locking = textCol(x.Locking, t, h.Locking)
	x.Level = textCol(x.Level, t, h.Level)
	if h.Init {
		b.markInit(uint32(t))
	}
}

// markInit stores which transaction is initial. If there are several, it stores the first two.
func (b *Builder) markInit(t uint32) {
	if b.init == None {
		b.init = t
	} else if b.init2 == None {
		b.init2 = t
	}
}

// timeCol appends to a column of times, which stays nil while no transaction has such a time.
func timeCol(col []int64, t int, v int64) []int64 {
	if v == NoTime && col == nil {
		return nil
	}
	return append(padTimes(col, t), v)
}

func textCol(col []uint32, t int, v uint32) []uint32 {
	if v == None && col == nil {
		return nil
	}
	for len(col) < t {
		col = append(col, None)
	}
	return append(col, v)
}
