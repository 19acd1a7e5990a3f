package porcupine

import (
	"bytes"
	"fmt"
	"slices"

	"isovet/history"
	"isovet/history/format/edn"
)

// IsKV reports whether a file begins as a log of a key-value store does: with an operation that has a key and puts,
// appends or gets.
func IsKV(head []byte) bool {
	s := edn.Scanner{Data: head}
	t, err := s.Next()
	if err != nil || !t.OpensMap() {
		return false
	}
	f, key := false, false
	for {
		t, err := s.Next()
		if err != nil || t.Kind != edn.Word {
			return f && key
		}
		name := string(t.Text)
		if t, err = s.Next(); err != nil {
			return false
		}
		switch name {
		case "f":
			f = t.Is("get") || t.Is("put") || t.Is("append")
		case "key":
			key = t.Kind == edn.Text
		case "value":
			if t.Kind != edn.Nil && t.Kind != edn.Text {
				return false
			}
		}
		if s.SkipRest(t) != nil {
			return false
		}
	}
}

// kvOp is an operation on a key's string. It has no pointers and fills a line of the cache.
type kvOp struct {
	start, end int64 // positions; end NoTime: not completed
	process    int64
	text       kvText
	line       uint32
	key        int32
	number     int32 // of all
	token      int32 // a put's or append's
	next       int32 // the next one with the same token, 0: none
	// state is a put's or append's, 0 where nobody saw it; and what a get saw, unread where nobody wrote that.
	state  int32
	f      byte // 'g', 'p', 'a'
	status history.Status
}

// kvText is a text: where it stands in the file, or, below zero, of one with escapes its number in the reader.
type kvText struct {
	at   int64
	size uint32
}

const unread = -1

// kvToken is a text that was put or appended to a key.
type kvToken struct {
	name        uint32 // the builder's, plus one; 0: it has none yet
	hash        uint32
	first, last int32 // the operations that wrote it
	count       int32
	state, end  int32 // the first and last state that ends with it, 0: none
}

// kvState is a string that a key held: the one before, and the token behind it.
type kvState struct {
	before  int32 // 0: the empty string
	token   int32
	child   int32 // the first state behind it that was met, 0: none
	next    int32 // the next one that ends with the same token
	seen    int64 // the position at which the first get that saw it, as its answer or a beginning of that, had ended
	after   int64 // the position at which the last get that saw a part of it only began
	written int32 // by that operation of the key, -1: none
}

// kvKey is a key with what was done to it.
type kvKey struct {
	id     int32
	ops    []kvOp
	tokens []kvToken
	states []kvState
	forks  map[[2]int32]int32 // states that are not the first behind another: by that and the token
	mixed  bool               // tokens cannot be told by their last byte
	end    byte               // that byte
	path   []kvStep           // what the get before saw,
	saw    []byte             // as a text
	guess  int32              // the token that may be seen next

	byText map[string]int32 // where tokens are mixed
	sizes  []int            // of tokens, there

	either   []int32 // two operations, of which either could have made what a get saw; nil: there are none
	ruledOut bool    // no operation could have made something that a get saw
}

// kvStep is a state on the way to a string, and where it ends in it.
type kvStep struct{ end, state int32 }

// kvReader reads a log: operations as they began, then, key by key, which tokens and states they are about.
type kvReader struct {
	b       *history.Builder
	data    []byte
	escaped [][]byte // texts that stand otherwise in the file
	slow    bool     // nothing is taken for plain
	counts  []int32  // by key: how many operations it has
	mark    []byte   // in no token
	keyOf   []int32  // by text, plus one
	small   []int32  // the same of keys that are small numbers, by these
	ops     [][]kvOp // as they began, kvChunk each
	count   int      // how many
	out     []kvOut  // of each operation
	few     []int32  // what processes with small numbers have begun, plus one; 0: nothing
	more    map[int64]int32

	// For a key at a time.
	toks   []int32
	slots  []int32 // tokens by the hashes of their texts, plus one; 0: free
	shift  uint8   // 32 less the bits of a place there
	last   []int64
	tokens []kvToken
	states []kvState
	path   []kvStep
}

// kvChunk is the size of the chunks that hold operations while their number is unknown.
const kvChunk = 1 << 13

// op is an operation by its number.
func (r *kvReader) op(n int32) *kvOp { return &r.ops[n/kvChunk][n%kvChunk] }

// text returns the text of an operation.
func (r *kvReader) text(t kvText) []byte {
	if t.at < 0 {
		return r.escaped[-1-t.at]
	}
	return r.data[t.at : t.at+int64(t.size)]
}

// sort returns the operations key by key, and where each key's begin.
func (r *kvReader) sort() (all []kvOp, begin []int) {
	all = make([]kvOp, r.count)
	begin = make([]int, len(r.counts)+1)
	for k, n := range r.counts {
		begin[k+1] = begin[k] + int(n)
	}
	to := slices.Clone(begin)
	n := int32(0)
	for _, chunk := range r.ops {
		for j := range chunk {
			o := &chunk[j]
			o.number = n
			n++
			all[to[o.key]] = *o
			to[o.key]++
		}
	}
	return all, begin
}

// ReadKV reads a log of a key-value store, an event a line:
//
//	{:process 3, :type :invoke, :f :append, :key "2", :value "x 3 1 y"}
//	{:process 3, :type :ok, :f :append, :key "2", :value "x 3 1 y"}
//
// Every key holds the empty string at first, a put replaces it, an append writes behind it, a get returns it. Since
// each token is put or appended once, a string that a get returned says by which appends it came about: such an append
// is a compare-and-set here, a read of the string before it and a write of the one behind it, and a string is named by
// its last token. An append that nobody saw is a write of a version of its own: whatever was there, nobody saw the
// string without it afterwards, and a put alone can follow. A string that no order of puts and appends makes is a
// version that nobody wrote.
//
// Of a token that was used more than once (Porcupine's logs have few, where a client began again), which operation it
// was follows from the positions in the log, as a linearizable store has them; repeated is the number of such tokens.
// Where they do not settle it, that is an error, unless the positions rule every choice out for some token: then no
// choice is linearizable.
//
// Times are positions in the file. Errors are *history.InputError with the line. Cost: linear in the log, and for a
// repeated token at worst exponential in the number of its uses.
func ReadKV(data []byte, file string) (h *history.History, repeated int, err error) {
	return readKV(data, file, false)
}

// readKV is ReadKV; slow: by way of the scanner alone.
func readKV(data []byte, file string, slow bool) (h *history.History, repeated int, err error) {
	r := kvReader{b: history.NewBuilder(), data: data, slow: slow, mark: []byte("@"), more: map[int64]int32{}}
	r.b.File, r.b.Meta.Single = file, true
	r.b.Initial = r.b.StringValue(nil)
	if err := r.parse(data, file); err != nil {
		return nil, 0, err
	}
	all, begin := r.sort()
	r.out = make([]kvOut, r.count)
	var open kvKey // one for which more than one choice is possible
	ruledOut := false
	for id := range r.counts {
		k := &kvKey{id: int32(id), ops: all[begin[id]:begin[id+1]]}
		r.findTokens(k)
		if err := r.follow(k, file); err != nil {
			return nil, 0, err
		}
		for _, one := range [...]bool{true, false} { // what is certain first
			for i := range k.tokens {
				if (k.tokens[i].count == 1) == one {
					k.assign(int32(i))
					if !one {
						repeated++
					}
				}
			}
		}
		r.settle(k)
		ruledOut = ruledOut || k.ruledOut
		if open.either == nil && k.either != nil {
			open = kvKey{ops: k.ops, either: k.either}
		}
	}
	if open.either != nil && !ruledOut {
		a, b := open.ops[open.either[0]], open.ops[open.either[1]]
		return nil, 0, &history.InputError{File: file, Line: int(b.line), Off: -1, Field: "value",
			Msg: fmt.Sprintf("%.60q is put or appended in line %d too, and either could be what gets saw; expected "+
				"tokens that tell the operations of a key apart", r.text(b.text), a.line)}
	}
	h, err = r.build()
	return h, repeated, err
}

// kvOut is what becomes of an operation: a transaction of a read and a write, texts; history.None: none. It is made
// key by key, while what is known of a key is near at hand, and then gone through in the order in which operations
// began.
type kvOut struct{ read, write uint32 }

// settle says what becomes of a key's operations.
func (r *kvReader) settle(k *kvKey) {
	for i := range k.ops {
		o := &k.ops[i]
		x := kvOut{history.None, history.None}
		switch {
		case o.f == 'g' && o.status != history.Committed:
		case o.f == 'g' && o.state == unread: // of tokens that nobody wrote
			x.read = r.b.Text(append(bytes.Clone(r.mark), r.text(o.text)...))
		case o.f == 'g':
			x.read = r.version(k, o.state)
		case o.state == 0:
			x.write = r.own(k, int32(i))
		case o.f == 'p':
			x.write = r.version(k, o.state)
		default:
			x.read, x.write = r.version(k, k.states[o.state].before), r.version(k, o.state)
		}
		r.out[o.number] = x
	}
}

// build makes the history.
func (r *kvReader) build() (*history.History, error) {
	b, out := r.b, r.out
	txns, ops := 0, 0
	for _, x := range out {
		n := 0
		if x.read != history.None {
			n++
		}
		if x.write != history.None {
			n++
		}
		ops += n
		txns += min(n, 1)
	}
	for i, chunk := range r.ops {
		for j := range chunk {
			const ahead = 16
			if j+ahead < len(out) {
				b.ExpectText(out[j+ahead].read)
				b.ExpectText(out[j+ahead].write)
			}
			o, x := &chunk[j], out[j]
			if x.read == history.None && x.write == history.None {
				continue
			}
			if x.read != history.None {
				b.Read(uint32(o.key), history.Value{Kind: history.String, N: int64(x.read)})
			}
			if x.write != history.None {
				b.Write(uint32(o.key), history.Value{Kind: history.String, N: int64(x.write)})
			}
			h := history.NewTxnHead()
			h.HasSess, h.Session, h.Status, h.Line = true, o.process, o.status, o.line
			h.Start, h.End = o.start, o.end
			if b.EndTxn(h); b.NumTxns() == 1 { // which columns there are is known now
				b.Reserve(txns, ops)
			}
		}
		out, r.ops[i] = out[len(chunk):], nil
	}
	r.ops, r.out = nil, nil
	return b.Build()
}

// version names a state: by its last token, where an operation made it and the token was used once, else with the line
// where it was made, or the number of the state where nothing made it.
func (r *kvReader) version(k *kvKey, s int32) uint32 {
	st := &k.states[s]
	switch {
	case s == 0:
		return uint32(r.b.Initial.N)
	case st.written < 0:
		return r.b.Text(fmt.Appendf(nil, "%s%s#%d", r.tokenText(k, st.token), r.mark, s))
	}
	return r.own(k, st.written)
}

// own names what a put or append made.
func (r *kvReader) own(k *kvKey, op int32) uint32 {
	o := &k.ops[op]
	x := &k.tokens[o.token]
	if x.count > 1 {
		return r.b.Text(fmt.Appendf(nil, "%s%s%d", r.text(o.text), r.mark, o.line))
	}
	if x.name == 0 {
		x.name = r.b.NewText(r.text(o.text)) + 1
	}
	return x.name - 1
}
