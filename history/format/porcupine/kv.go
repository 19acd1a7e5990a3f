package porcupine

import (
	"bytes"
	"fmt"
	"slices"

	"isovet/history"
	"isovet/history/format/edn"
)

// IsKV reports whether a file begins as a log of a key-value store: with a put, append or get of a key.
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
	number     int32 // among all operations
	token      int32 // a put's or append's
	next       int32 // the next one with the same token, 0: none
	// state is the state that a put or append made, 0 if nobody saw it; or the state that a get saw, unread if
	// nobody wrote it.
	state  int32
	f      byte // 'g', 'p', 'a'
	status history.Status
}

// kvText is a text: its place in the file, or, below zero, the number in the reader of a text with escapes.
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

// kvState is a string that a key held: an earlier state, followed by a token.
type kvState struct {
	before  int32 // 0: the empty string
	token   int32
	child   int32 // the first state found that follows it, 0: none
	next    int32 // the next state that ends with the same token
	seen    int64 // the end of the first get whose answer begins with it
	after   int64 // the begin of the last get that saw only a part of it
	written int32 // the operation of the key that wrote it, -1: none
}

// kvKey is a key with its operations, tokens and states.
type kvKey struct {
	id     int32
	ops    []kvOp
	tokens []kvToken
	states []kvState
	forks  map[[2]int32]int32 // further states behind a state: state and token → state
	mixed  bool               // the last byte does not show where a token ends
	end    byte               // that byte
	path   []kvStep           // the states that the get before saw
	saw    []byte             // the text that it saw
	guess  int32              // the token expected next

	byText map[string]int32 // tokens by text, if mixed
	sizes  []int            // lengths of tokens, if mixed

	either   []int32 // two operations, each of which could have made a state that a get saw; nil: none
	ruledOut bool    // no operation could have made some state that a get saw
}

// kvStep is a state on the way to a string, and its end in the string.
type kvStep struct{ end, state int32 }

// kvReader reads a log: first the operations in the order of their begins, then, key by key, their tokens and states.
type kvReader struct {
	b       *history.Builder
	data    []byte
	escaped [][]byte // texts with escapes in the file
	counts  []int32  // by key: how many operations it has
	mark    []byte   // in no token
	names   history.NamedKeys
	ops     [][]kvOp      // in the order of their begins, in chunks of kvChunk
	count   int           // how many
	out     []kvOut       // of each operation
	open    history.Index // by process: its open operation

	// Tables for one key at a time.
	toks   []int32
	slots  []int32 // hash table of tokens, plus one; 0: free
	shift  uint8   // 32 minus the bits of a slot's number
	last   []int64
	tokens []kvToken
	states []kvState
	path   []kvStep
}

// kvChunk is the size of the chunks that hold operations while their number is unknown.
const kvChunk = 1 << 13

// op returns an operation by its number.
func (r *kvReader) op(n uint32) *kvOp { return &r.ops[n/kvChunk][n%kvChunk] }

func (r *kvReader) text(t kvText) []byte {
	if t.at < 0 {
		return r.escaped[-1-t.at]
	}
	return r.data[t.at : t.at+int64(t.size)]
}

// sort returns the operations key by key, and the index of each key's first.
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

// ReadKV reads a log of a key-value store with one event on each line:
//
//	{:process 3, :type :invoke, :f :append, :key "2", :value "x 3 1 y"}
//	{:process 3, :type :ok, :f :append, :key "2", :value "x 3 1 y"}
//
// Every key has the empty string at first. A put replaces the string, an append adds to its end, a get returns it.
// Each token is put or appended once, so that the string of a get shows which appends made it. Such an append becomes
// a compare-and-set: a read of the string before and a write of the string after it. The last token names a string. An
// append that no get saw becomes a write of a version of its own: no later get saw the string without it, so that only
// a put can follow. A string that no order of puts and appends makes is a version without a writer.
//
// If a token was used more than once (as in some of Porcupine's logs, where a client started again), positions in the
// log decide which operation a string shows, if the store is linearizable. repeated counts such tokens. If several
// choices remain, it is an error, unless the positions rule out every choice for some token: then no choice is
// linearizable.
//
// Times are positions in the file. Errors are *history.InputError with the line. Cost: linear in the log, and for a
// repeated token at worst exponential in the number of its uses.
func ReadKV(data []byte, file string) (h *history.History, repeated int, err error) {
	r := kvReader{b: history.NewBuilder(), data: data, mark: []byte("@")}
	r.b.File, r.b.Meta.Single = file, true
	r.b.Initial = r.b.StringValue(nil)
	if err := r.parse(data, file); err != nil {
		return nil, 0, err
	}
	all, begin := r.sort()
	r.out = make([]kvOut, r.count)
	var open kvKey // a key for which several choices are possible
	ruledOut := false
	for id := range r.counts {
		k := &kvKey{id: int32(id), ops: all[begin[id]:begin[id+1]]}
		r.findTokens(k)
		if err := r.follow(k, file); err != nil {
			return nil, 0, err
		}
		for _, one := range [...]bool{true, false} { // certain choices first
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
			Msg: fmt.Sprintf("%.60q is put or appended in line %d too, and a get may have seen either; expected "+
				"tokens that tell the operations of a key apart", r.text(b.text), a.line)}
	}
	h, err = r.build()
	return h, repeated, err
}

// kvOut is the transaction made from an operation: the texts of its read and its write; history.None: it has none.
// kvOuts are made key by key, while the key's tables are in the cache, and then used in the order of the operations'
// begins.
type kvOut struct{ read, write uint32 }

// settle makes the transactions of a key's operations.
func (r *kvReader) settle(k *kvKey) {
	for i := range k.ops {
		o := &k.ops[i]
		x := kvOut{history.None, history.None}
		switch {
		case o.f == 'g' && o.status != history.Committed:
		case o.f == 'g' && o.state == unread: // it has tokens that nobody wrote
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
			if b.EndTxn(h); b.NumTxns() == 1 { // now the columns are known
				b.Reserve(txns, ops)
			}
		}
		out, r.ops[i] = out[len(chunk):], nil
	}
	r.ops, r.out = nil, nil
	return b.Build()
}

// version names a state by its last token, if an operation made it and the token was used once. Otherwise it adds the
// line of the operation that made the state, or the state's number if none did.
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

// own names the version that a put or append made.
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
