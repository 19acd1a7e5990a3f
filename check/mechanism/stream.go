package mechanism

import (
	"isovet/history"
	"isovet/internal/keyed"
	"isovet/internal/saved"
)

// Stream turns histories that are pieces of one stream into traces. Keys and values mean the same in all pieces: keys
// are numbered as they come, a value is a keyed hash.
type Stream struct {
	numbers map[string]uint32 `freeze:"-"`
	names   []string
	others  Names `freeze:"-"` // if set, it numbers the keys instead
	initial []uint64
	first   uint64 // the initial value of all keys
	deletes bool   // Nothing was written as a value
	hash    *keyed.Key
	src     source
	keyOf   []uint32 // the piece's key → the stream's
	valOf   []uint64 // the piece's version → its hash
	text    []byte
}

// NewStreamOf returns a stream whose keys names numbers; hash makes the hashes of values.
func NewStreamOf(names Names, hash *keyed.Key) *Stream {
	return &Stream{others: names, first: Nothing, hash: hash}
}

// made adds a new key.
func (s *Stream) made(n uint32) {
	for int(n) >= len(s.initial) {
		s.initial = append(s.initial, s.first)
	}
	s.initial[n] = s.first
}

// NewStream returns a stream that numbers keys itself.
func NewStream(hash *keyed.Key) *Stream {
	return &Stream{numbers: map[string]uint32{}, first: Nothing, hash: hash}
}

// Thawed restores the fields that are not saved (internal/freeze).
func (s *Stream) Thawed() {
	s.numbers = make(map[string]uint32, len(s.names))
	for n, name := range s.names {
		s.numbers[name] = uint32(n)
	}
}

// Keys returns the number of keys so far.
func (s *Stream) Keys() int {
	if s.others != nil {
		return int(s.others.Known())
	}
	return len(s.names)
}

// Key returns a key's JSON.
func (s *Stream) Key(k uint32) string {
	if s.others != nil {
		return s.others.Name(k)
	}
	return s.names[k]
}

// Initial returns the initial value of a key, for Options.Initial.
func (s *Stream) Initial(k uint32) uint64 { return s.initial[k] }

// IsInitial reports whether a key, of the piece or another, held a value before everything; both as JSON of h.
func (s *Stream) IsInitial(key string, h *history.History, v history.Value) bool {
	if s.others != nil {
		k, ok, state := s.others.Find(key)
		if !ok {
			was := s.first
			if state != nil {
				was = s.InitialOf(state)
			}
			return was == s.value(h.Texts, v)
		}
		return s.initial[k] == s.value(h.Texts, v)
	}
	k, ok := s.numbers[key]
	return ok && s.initial[k] == s.value(h.Texts, v)
}

// Deletes reports whether some key was deleted: "absent" is then not the version of a single transaction.
func (s *Stream) Deletes() bool { return s.deletes }

// Starts sets the initial value of all keys to that of h.
func (s *Stream) Starts(h *history.History) { s.first = s.value(h.Texts, h.Initial) }

// value returns the hash of a value, whose text, if any, is in t. null and an empty list are Nothing.
func (s *Stream) value(t *history.Texts, v history.Value) uint64 {
	if v.Kind == history.Null {
		return Nothing
	}
	return t.Keyed(s.hash, v)
}

// Piece begins a new piece.
func (s *Stream) Piece(h *history.History) {
	s.src.h = h
	s.keyOf = saved.Spare(s.keyOf, len(h.Keys))
	for _, k := range h.Keys {
		s.text = h.Texts.AppendValue(s.text[:0], k)
		if s.others != nil {
			n, made := s.others.Number(s.text)
			if made {
				s.made(n)
			}
			s.keyOf = append(s.keyOf, n)
			continue
		}
		s.keyOf = append(s.keyOf, s.number(s.text))
	}
	if s.others != nil {
		s.others.Fetch()
	}
	for _, k := range h.Lists.Key {
		s.initial[s.keyOf[k]] = Nothing
	}
	s.valOf = saved.Spare(s.valOf, h.NumVersions())
	for v := range uint32(h.NumVersions()) {
		s.valOf = append(s.valOf, s.value(h.Texts, h.VerValue(v)))
	}
}

func (s *Stream) number(text []byte) uint32 {
	n, ok := s.numbers[string(text)]
	if !ok {
		n = uint32(len(s.names))
		s.names = append(s.names, string(text))
		s.numbers[s.names[n]] = n
		s.initial = append(s.initial, s.first)
	}
	return n
}

// Txn appends a transaction of the piece as traces named id, in which Op is the operation's place in it. It appends
// nothing for the initial transaction, whose values it records, and for transactions without times that did not commit.
// Errors: *MissingTimes.
func (s *Stream) Txn(buf []Trace, t uint32, id uint64) ([]Trace, error) {
	h := s.src.h
	lo, hi := h.TxnOps(t)
	if t == h.Init {
		s.Init(t)
		return buf, nil
	}
	for op := lo; op < hi && !s.src.timed; op++ {
		s.src.timed = h.OpEnd(op) != history.NoTime
	}
	x, ok := s.src.times(t)
	if !ok {
		if h.Txns.Status[t] == history.Committed {
			return buf, &MissingTimes{h.Txns.ID[t]}
		}
		return buf, nil
	}
	n := len(buf)
	buf = s.src.txn(buf, t, &x)
	for i := n; i < len(buf); i++ {
		x := &buf[i]
		if x.Kind == Begin || x.Kind > Statement {
			x.Val = id
			continue
		}
		x.Op -= lo
		if x.Kind == Statement {
			continue
		}
		x.Key = s.keyOf[x.Key]
		if x.Val != Nothing {
			x.Val = s.valOf[x.Val]
		}
		s.deletes = s.deletes || x.Kind == Write && x.Val == Nothing
	}
	return buf, nil
}

// Init treats a transaction of the piece as the initial one, even if the piece does not mark it so.
func (s *Stream) Init(t uint32) {
	h := s.src.h
	for op := range h.EachOp(t) {
		if h.Ops.Kind[op] == history.Write {
			v := h.Ops.Ver[op]
			s.initial[s.keyOf[h.VerKey[v]]] = s.valOf[v]
		}
	}
}

// Find returns the key and the version of a piece that a violation names, history.None where the piece has neither.
func (s *Stream) Find(h *history.History, key uint32, val uint64) (k, ver uint32) {
	k, ver = history.None, history.None
	for i, v := range h.Keys {
		if string(h.Texts.AppendValue(nil, v)) == s.Key(key) {
			k = uint32(i)
		}
	}
	for v := range uint32(h.NumVersions()) {
		if h.VerKey[v] == k && s.value(h.Texts, h.VerValue(v)) == val {
			ver = v
		}
	}
	return k, ver
}
