package porcupine

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

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

// kvOp is an operation on a key's string.
type kvOp struct {
	start, end int64 // positions; end NoTime: not completed
	line       uint32
	process    int64
	f          byte // 'g', 'p', 'a'
	text       string
	state      int32 // a put's or append's; 0: nobody saw it
	status     history.Status
	chain      []int32 // of a get: the states that what it saw went through, nil where nobody wrote that
}

// kvState is a string that a key held: the one before, and the token behind it.
type kvState struct {
	before  int32 // 0: the empty string
	token   string
	seen    int64 // the position at which the first get that saw it, as its answer or a beginning of that, had ended
	after   int64 // the position at which the last get that saw a part of it only began
	written int32 // by that operation of the key, -1: none
}

// kvKey is a key with what was done to it.
type kvKey struct {
	name   string
	ops    []kvOp
	states []kvState
	index  map[kvName]int32
	tokens map[string][]int32 // the operations that wrote each
	ending map[string][]int32 // the states that end with each
	sizes  []int              // of tokens

	either   []int32 // two operations, of which either could have made what a get saw; nil: there are none
	ruledOut bool    // no operation could have made something that a get saw
}

type kvName struct {
	before, root int32 // root: behind the empty string the operation, else 0
	token        string
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
	keys, err := kvParse(data, file)
	if err != nil {
		return nil, 0, err
	}
	var open *kvKey // a key for which more than one choice is possible
	ruledOut := false
	for _, k := range keys {
		if err := k.follow(file); err != nil {
			return nil, 0, err
		}
		for _, one := range [...]bool{true, false} { // what is certain first
			for _, token := range k.order() {
				if ops := k.tokens[token]; (len(ops) == 1) == one {
					k.assign(token)
					if !one {
						repeated++
					}
				}
			}
		}
		ruledOut = ruledOut || k.ruledOut
		if open == nil && k.either != nil {
			open = k
		}
	}
	if open != nil && !ruledOut {
		a, b := open.ops[open.either[0]], open.ops[open.either[1]]
		return nil, 0, &history.InputError{File: file, Line: int(b.line), Off: -1, Field: "value",
			Msg: fmt.Sprintf("%.60q is put or appended in line %d too, and either could be what gets saw; expected "+
				"tokens that tell the operations of a key apart", b.text, a.line)}
	}
	h, err = kvBuild(keys, file)
	return h, repeated, err
}

// kvParse reads the events.
func kvParse(data []byte, file string) ([]*kvKey, error) {
	s := edn.Scanner{Data: data, File: file}
	index := map[string]*kvKey{}
	var keys []*kvKey
	type at struct {
		key *kvKey
		op  int
	}
	open := map[int64]at{}
	for pos := int64(1); ; pos++ {
		t, err := s.Next()
		if err != nil {
			return nil, err
		}
		if t.Kind == edn.EOF {
			if len(keys) == 0 {
				return nil, nothing(file, 1, nil, "events of a key-value store")
			}
			return keys, nil
		}
		first := t
		var process, kind, f, key, value edn.Token
		if err := s.Fields(t, "event", func(name edn.Token) error {
			t, err := s.Next()
			if err != nil {
				return err
			}
			// The text of a string with escapes is the scanner's own.
			if t.Kind == edn.Text && len(t.Text) > 0 && &t.Text[0] != &data[t.Pos+1] {
				t.Text = bytes.Clone(t.Text)
			}
			switch string(name.Text) {
			case "process":
				process = t
			case "type":
				kind = t
			case "f":
				f = t
			case "key":
				key = t
			case "value":
				value = t
			}
			if t.Kind != edn.Open && t.Kind != edn.Close && t.Kind != edn.EOF {
				return nil
			}
			return s.SkipRest(t)
		}); err != nil {
			return nil, err
		}
		wrong := func(t edn.Token, field, expected string) error {
			if t.Kind == edn.EOF {
				return s.Errorf(first.Pos, field, "missing; expected %s", expected)
			}
			return s.Errorf(t.Pos, field, "found %v; expected %s", t, expected)
		}
		switch {
		case process.Kind == edn.Word:
			continue // a nemesis
		case process.Kind != edn.Int:
			return nil, wrong(process, "process", "an integer")
		case !f.Is("get") && !f.Is("put") && !f.Is("append"):
			return nil, wrong(f, "f", ":get, :put or :append")
		case key.Kind != edn.Text:
			return nil, wrong(key, "key", "a string")
		}
		o := kvOp{start: pos, end: history.NoTime, line: uint32(s.Line(first.Pos)), process: process.N, f: f.Text[0],
			status: history.Unknown}
		pending, busy := open[process.N]
		switch {
		case kind.Is("invoke") && busy:
			return nil, s.Errorf(process.Pos, "process", "process %d invokes while its operation of line %d is not "+
				"completed", process.N, pending.key.ops[pending.op].line)
		case kind.Is("invoke"):
			if o.f != 'g' {
				if value.Kind != edn.Text || len(value.Text) == 0 {
					return nil, wrong(value, "value", "the string that is written, not an empty one")
				}
				o.text = string(value.Text)
			}
			k := index[string(key.Text)]
			if k == nil {
				k = &kvKey{name: string(key.Text), tokens: map[string][]int32{}}
				index[k.name] = k
				keys = append(keys, k)
			}
			open[process.N] = at{k, len(k.ops)}
			k.ops = append(k.ops, o)
			continue
		case !kind.Is("ok") && !kind.Is("fail") && !kind.Is("info"):
			return nil, wrong(kind, "type", ":invoke, :ok, :fail or :info")
		case !busy || pending.key.name != string(key.Text) || pending.key.ops[pending.op].f != o.f:
			return nil, wrong(kind, "type", ":invoke of the operation before its completion")
		}
		delete(open, process.N)
		p := &pending.key.ops[pending.op]
		switch {
		case kind.Is("ok"):
			p.end, p.status = pos, history.Committed
			if p.f == 'g' {
				if value.Kind != edn.Text {
					return nil, wrong(value, "value", "the string that was there")
				}
				p.text = string(value.Text)
			}
		case kind.Is("fail"):
			p.end, p.status = pos, history.Aborted
		}
	}
}

// kvBuild makes the history, in the order in which the operations began.
func kvBuild(keys []*kvKey, file string) (*history.History, error) {
	b := history.NewBuilder()
	b.File = file
	b.Initial = b.StringValue(nil)
	type at struct {
		key *kvKey
		op  int32
		id  uint32
	}
	var all []at
	mark := "@" // in no token
	for _, k := range keys {
		for token := range k.tokens {
			for strings.Contains(token, mark) {
				mark += "@"
			}
		}
	}
	for _, k := range keys {
		id := b.Key(b.StringValue([]byte(k.name)))
		for i := range k.ops {
			all = append(all, at{k, int32(i), id})
		}
	}
	slices.SortFunc(all, func(a, b at) int { return int(a.key.ops[a.op].line) - int(b.key.ops[b.op].line) })
	for _, x := range all {
		k, o := x.key, &x.key.ops[x.op]
		value := func(s int32) history.Value { return b.StringValue([]byte(k.version(s, mark))) }
		switch {
		case o.f == 'g' && o.status != history.Committed:
			continue
		case o.f == 'g' && o.chain == nil: // of tokens that nobody wrote
			b.Read(x.id, b.StringValue([]byte(mark+o.text)))
		case o.f == 'g' && len(o.chain) == 0:
			b.Read(x.id, b.Initial)
		case o.f == 'g':
			b.Read(x.id, value(o.chain[len(o.chain)-1]))
		case o.state == 0:
			b.Write(x.id, b.StringValue([]byte(k.own(x.op, mark))))
		case o.f == 'p':
			b.Write(x.id, value(o.state))
		default:
			b.Read(x.id, value(k.states[o.state].before))
			b.Write(x.id, value(o.state))
		}
		h := history.NewTxnHead()
		h.HasSess, h.Session, h.Status, h.Line = true, o.process, o.status, o.line
		h.Start, h.End = o.start, o.end
		b.EndTxn(h)
	}
	return b.Build()
}
