package porcupine

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"isovet/history"
	"isovet/history/format/edn"
)

// naiveOp is an operation on a key's string.
type naiveOp struct {
	start, end int64 // positions; end NoTime: not completed
	line       uint32
	process    int64
	f          byte // 'g', 'p', 'a'
	text       string
	state      int32 // a put's or append's; 0: nobody saw it
	status     history.Status
	chain      []int32 // of a get: the states that what it saw went through, nil where nobody wrote that
}

// naiveState is a string that a key held: the one before, and the token behind it.
type naiveState struct {
	before  int32 // 0: the empty string
	token   string
	seen    int64 // the position at which the first get that saw it, as its answer or a beginning of that, had ended
	after   int64 // the position at which the last get that saw a part of it only began
	written int32 // by that operation of the key, -1: none
}

// naiveKey is a key with what was done to it.
type naiveKey struct {
	name   string
	ops    []naiveOp
	states []naiveState
	index  map[naiveName]int32
	tokens map[string][]int32 // the operations that wrote each
	ending map[string][]int32 // the states that end with each
	sizes  []int              // of tokens

	either   []int32 // two operations, of which either could have made what a get saw; nil: there are none
	ruledOut bool    // no operation could have made something that a get saw
}

type naiveName struct {
	before, root int32 // root: behind the empty string the operation, else 0
	token        string
}

// naiveKV is ReadKV by way of the scanner, with a map for every question.
func naiveKV(data []byte, file string) (h *history.History, repeated int, err error) {
	keys, err := naiveParse(data, file)
	if err != nil {
		return nil, 0, err
	}
	var open *naiveKey // a key for which more than one choice is possible
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
			Msg: fmt.Sprintf("%.60q is put or appended in line %d too, and a get may have seen either; expected "+
				"tokens that tell the operations of a key apart", b.text, a.line)}
	}
	h, err = naiveBuild(keys, file)
	return h, repeated, err
}

// naiveParse reads the events.
func naiveParse(data []byte, file string) ([]*naiveKey, error) {
	s := edn.Scanner{Data: data, File: file}
	index := map[string]*naiveKey{}
	var keys []*naiveKey
	type at struct {
		key *naiveKey
		op  int
	}
	open := map[int64]at{}
	for pos := int64(1); ; pos++ {
		if s.Peek() == 0 {
			if len(keys) == 0 {
				return nil, nothing(file, 1, nil, "events of a key-value store")
			}
			return keys, nil
		}
		first := s.Map("event")
		fields := map[string]edn.Token{}
		for name, ok := s.Field("event"); ok; name, ok = s.Field("event") {
			name := string(name)
			if !strings.Contains(" process type f key value ", " "+name+" ") {
				s.Pass()
				continue
			}
			t := *s.Token()
			t.Text = bytes.Clone(t.Text)
			fields[name] = t
			s.PassRest(&t)
		}
		if err := s.Err(); err != nil {
			return nil, err
		}
		process, kind, f, key, value := fields["process"], fields["type"], fields["f"], fields["key"], fields["value"]
		wrong := func(t edn.Token, field, expected string) error {
			if t.Kind == edn.EOF {
				return s.Errorf(first, field, "missing; expected %s", expected)
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
		o := naiveOp{start: pos, end: history.NoTime, line: uint32(s.Line(first)), process: process.N, f: f.Text[0],
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
				k = &naiveKey{name: string(key.Text), tokens: map[string][]int32{}}
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
			} else if value.Kind == edn.Text && p.text != string(value.Text) {
				return nil, s.Errorf(value.Pos, "value", "found %v; expected what line %d invoked", value, p.line)
			}
		case kind.Is("fail"):
			p.end, p.status = pos, history.Aborted
		}
	}
}

// naiveBuild makes the history, in the order in which the operations began.
func naiveBuild(keys []*naiveKey, file string) (*history.History, error) {
	b := history.NewBuilder()
	b.Meta.Single = true
	b.File = file
	b.Initial = b.StringValue(nil)
	type at struct {
		key *naiveKey
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
	slices.SortFunc(all, func(a, b at) int { return int(a.key.ops[a.op].start - b.key.ops[b.op].start) })
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

// order returns the tokens in the order of their first uses.
func (k *naiveKey) order() []string {
	var all []string
	for i := range k.ops {
		if o := &k.ops[i]; o.f != 'g' && int(k.tokens[o.text][0]) == i {
			all = append(all, o.text)
		}
	}
	return all
}

// follow finds the states that gets saw.
func (k *naiveKey) follow(file string) error {
	k.states = []naiveState{{written: -1}}
	k.index = map[naiveName]int32{}
	for i := range k.ops {
		o := &k.ops[i]
		if o.f == 'g' {
			continue
		}
		k.tokens[o.text] = append(k.tokens[o.text], int32(i))
		if !slices.Contains(k.sizes, len(o.text)) {
			k.sizes = append(k.sizes, len(o.text))
		}
	}
	slices.Sort(k.sizes)
	for i := range k.ops {
		if o := &k.ops[i]; o.f == 'g' && o.status == history.Committed {
			var clear bool
			if o.chain, clear = k.parse(o); !clear {
				return &history.InputError{File: file, Line: int(o.line), Off: -1, Field: "value",
					Msg: fmt.Sprintf("found %.60q, which the key's tokens form in more than one way; expected "+
						"tokens that do not run into each other", o.text)}
			}
			for _, s := range o.chain {
				st := &k.states[s]
				if st.seen == 0 || o.end < st.seen {
					st.seen = o.end
				}
			}
		}
	}
	// A get that saw a part of a state was before what made the rest of it, if it saw a part of it that nothing but
	// that put began.
	last := make([]int64, len(k.states)) // the position at which the last get that returned the state began
	for i := range k.ops {
		if o := &k.ops[i]; len(o.chain) > 0 {
			s := o.chain[len(o.chain)-1]
			last[s] = max(last[s], o.start)
		}
	}
	k.ending = map[string][]int32{}
	for s := 1; s < len(k.states); s++ {
		k.ending[k.states[s].token] = append(k.ending[k.states[s].token], int32(s))
		if b := k.states[s].before; b > 0 {
			k.states[s].after = max(k.states[b].after, last[b])
		}
	}
	return nil
}

// parse tells the tokens of a string and returns the states that it went through, made as they are met; nil: it is no
// string of the key's tokens. clear is false if it could be told in more than one way. Cost: linear in the string,
// times the number of lengths that tokens have.
func (k *naiveKey) parse(o *naiveOp) (chain []int32, clear bool) {
	text := o.text
	// From the end: in how many ways, up to 2, the rest is tokens, and how long the first of them is.
	ways, size := make([]uint8, len(text)+1), make([]int32, len(text)+1)
	ways[len(text)] = 1
	for pos := len(text) - 1; pos >= 0; pos-- {
		for _, n := range k.sizes {
			if pos+n <= len(text) && ways[pos+n] > 0 && k.tokens[text[pos:pos+n]] != nil {
				ways[pos] = min(2, ways[pos]+ways[pos+n])
				size[pos] = int32(n)
			}
		}
	}
	if ways[0] == 0 {
		return nil, true
	}
	state := int32(0)
	chain = []int32{}
	for pos := 0; pos < len(text); {
		name := naiveName{before: state, token: text[pos : pos+int(size[pos])]}
		if pos == 0 {
			name.root = k.root(o, name.token)
		}
		s, ok := k.index[name]
		if !ok {
			s = int32(len(k.states))
			k.index[name] = s
			k.states = append(k.states, naiveState{before: state, token: name.token, written: -1})
			if pos == 0 {
				k.make(name.root, s)
			}
		}
		chain = append(chain, s)
		state, pos = s, pos+len(name.token)
	}
	return chain, ways[0] == 1
}

// root finds the operation that began the string that a get saw, with the string's first token: one that began before
// the get ended, and behind which no put came that had ended before the get began, nor an append that the string has
// nothing of. An append is one only where nothing was there.
func (k *naiveKey) root(get *naiveOp, token string) int32 {
	ops := k.tokens[token]
	if len(ops) == 1 {
		return ops[0]
	}
	var found []int32
	for _, i := range ops {
		o := &k.ops[i]
		if o.start < get.end && o.status != history.Aborted && !slices.ContainsFunc(k.ops, func(x naiveOp) bool {
			over := x.status == history.Committed && x.start > o.end && o.end != history.NoTime && x.end < get.start
			return over && (x.f == 'p' || x.f == 'a' && !strings.Contains(get.text, x.text)) || o.f == 'a' &&
				x.status == history.Committed && x.f != 'g' && x.end < o.start
		}) {
			found = append(found, i)
		}
	}
	switch {
	case len(found) == 0:
		k.ruledOut = true
		return ops[0]
	case len(found) > 1 && k.either == nil:
		k.either = found[:2]
	}
	return found[0]
}

// assign finds out which operations on a token made the states that end with it, behind others; those that begin with
// it are settled.
func (k *naiveKey) assign(token string) {
	var ops, states []int32
	for _, o := range k.tokens[token] {
		if k.ops[o].state == 0 && k.ops[o].f == 'a' {
			ops = append(ops, o)
		}
	}
	for _, s := range k.ending[token] {
		if k.states[s].before > 0 {
			states = append(states, s)
		}
	}
	switch {
	case len(states) == 0:
		return
	case len(states) == 1 && len(ops) == 1 && len(k.tokens[token]) == 1:
		k.make(ops[0], states[0]) // nobody else can have been it
		return
	}
	used := make([]bool, len(ops))
	choice, first := make([]int, len(states)), []int(nil)
	steps := 0
	var ways func(i int) int
	ways = func(i int) int {
		if i == len(states) {
			if first == nil {
				first = slices.Clone(choice)
			}
			return 1
		}
		n := 0
		for j, o := range ops {
			if steps++; steps > 1<<16 {
				return 2
			}
			if used[j] || !k.could(o, states[i]) {
				continue
			}
			used[j], choice[i] = true, j
			n += ways(i + 1)
			used[j] = false
			if n > 1 {
				break
			}
		}
		return n
	}
	switch n := ways(0); {
	case n == 0 && k.either == nil: // else it may be for what was chosen
		k.ruledOut = true
	case n > 1 && k.either == nil && len(ops) > 1:
		k.either = ops[:2]
	}
	if first != nil {
		for i, j := range first {
			k.make(ops[j], states[i])
		}
		return
	}
	for i := range min(len(ops), len(states)) {
		k.make(ops[i], states[i])
	}
}

func (k *naiveKey) make(op, state int32) { k.ops[op].state, k.states[state].written = state, op }

// could reports whether an append could have made a state: it began before somebody had seen it, and ended after what
// must have been before it had begun.
func (k *naiveKey) could(op, state int32) bool {
	o, s := &k.ops[op], &k.states[state]
	if o.start > s.seen || o.status == history.Aborted {
		return false
	}
	if o.status != history.Committed {
		return true
	}
	if o.end < s.after {
		return false
	}
	for b := s.before; b > 0; b = k.states[b].before {
		if w := k.states[b].written; w >= 0 && o.end < k.ops[w].start {
			return false
		}
	}
	return true
}

// version names a state: by its last token, where an operation made it and the token was used once, else with the line
// where it was made, or the number of the state where nothing made it.
func (k *naiveKey) version(s int32, mark string) string {
	st := &k.states[s]
	switch {
	case s == 0:
		return ""
	case st.written < 0:
		return fmt.Sprintf("%s%s#%d", st.token, mark, s)
	}
	return k.own(st.written, mark)
}

// own names what a put or append made.
func (k *naiveKey) own(op int32, mark string) string {
	o := &k.ops[op]
	if len(k.tokens[o.text]) > 1 {
		return fmt.Sprintf("%s%s%d", o.text, mark, o.line)
	}
	return o.text
}
