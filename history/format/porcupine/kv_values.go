package porcupine

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"github.com/cespare/xxhash/v2"

	"isovet/history"
	"isovet/internal/slice"
)

// findTokens finds the texts that were put or appended to a key, and the operations that wrote them.
func (r *kvReader) findTokens(k *kvKey) {
	writes := 0
	for i := range k.ops {
		if k.ops[i].f != 'g' {
			writes++
		}
	}
	places := 3
	for 1<<places < 2*writes {
		places++
	}
	r.slots, r.shift = slices.Grow(r.slots[:0], 1<<places)[:1<<places], uint8(32-places)
	clear(r.slots)
	k.tokens = r.tokens[:0]
	for i := range k.ops {
		o := &k.ops[i]
		if o.f == 'g' {
			continue
		}
		text := r.text(o.text)
		hash := uint32(xxhash.Sum64(text))
		at := r.place(k, text, hash)
		if r.slots[at] == 0 {
			k.tokens = append(k.tokens, kvToken{hash: hash, first: int32(i), last: int32(i), count: 1})
			r.slots[at] = int32(len(k.tokens))
			o.token = int32(len(k.tokens)) - 1
			// If all tokens end with the same byte, and it stands nowhere else in them, that byte separates them.
			end := text[len(text)-1]
			if len(k.tokens) == 1 {
				k.end = end
			}
			k.mixed = k.mixed || end != k.end || bytes.IndexByte(text, end) < len(text)-1
			continue
		}
		o.token = r.slots[at] - 1
		x := &k.tokens[o.token]
		k.ops[x.last].next = int32(i)
		x.last = int32(i)
		x.count++
	}
	r.tokens = k.tokens
}

// place returns the slot of a text: the slot of its token, or a free one.
func (r *kvReader) place(k *kvKey, text []byte, hash uint32) uint32 {
	mask := uint32(len(r.slots) - 1)
	for i := hash >> r.shift; ; i = (i + 1) & mask {
		at := r.slots[i]
		if at == 0 || k.tokens[at-1].hash == hash && string(r.tokenText(k, at-1)) == string(text) {
			return i
		}
	}
}

// find returns the token of a key with the given text.
func (r *kvReader) find(k *kvKey, text []byte) (token int32, ok bool) {
	at := r.slots[r.place(k, text, uint32(xxhash.Sum64(text)))]
	return at - 1, at > 0
}

func (r *kvReader) tokenText(k *kvKey, token int32) []byte {
	return r.text(k.ops[k.tokens[token].first].text)
}

// commonPrefix returns the length of the longest common prefix of two texts.
func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for ; n-i >= 8; i += 8 {
		if x := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); x != 0 {
			return i + bits.TrailingZeros64(x)/8
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

// follow finds the states that the gets of a key saw.
func (r *kvReader) follow(k *kvKey, file string) error {
	r.states = append(r.states[:0], kvState{written: -1})
	k.states, k.path = r.states, r.path[:0]
	defer func() { r.states, r.path = k.states, k.path }()
	for i := range k.ops {
		o := &k.ops[i]
		if o.f != 'g' || o.status != history.Committed {
			continue
		}
		if !r.get(k, o) {
			return &history.InputError{File: file, Line: int(o.line), Off: -1, Field: "value",
				Msg: fmt.Sprintf("found %.60q, which the key's tokens form in more than one way; expected tokens "+
					"that do not run into each other", r.text(o.text))}
		}
		if o.state > 0 {
			if st := &k.states[o.state]; st.seen == 0 || o.end < st.seen {
				st.seen = o.end
			}
		}
	}
	// A get that saw a state saw the states before it too; these have smaller numbers.
	for s := len(k.states) - 1; s > 0; s-- {
		if b := &k.states[k.states[s].before]; b.seen == 0 || k.states[s].seen < b.seen {
			b.seen = k.states[s].seen
		}
	}
	// A get that saw only a part of a state came before the append of the rest, if only that put began the part.
	// last has the begin of the last get that returned each state.
	last := append(r.last[:0], make([]int64, len(k.states))...)
	r.last = last
	for i := range k.ops {
		if o := &k.ops[i]; o.f == 'g' && o.state > 0 {
			last[o.state] = max(last[o.state], o.start)
		}
	}
	for s := 1; s < len(k.states); s++ {
		st := &k.states[s]
		if x := &k.tokens[st.token]; x.state == 0 {
			x.state, x.end = int32(s), int32(s)
		} else {
			k.states[x.end].next, x.end = int32(s), int32(s)
		}
		if b := st.before; b > 0 {
			st.after = max(k.states[b].after, last[b])
		}
	}
	return nil
}

// get finds the state that a committed get saw. It returns false if the string splits into tokens in several ways.
// Cost: linear in the string, times the number of different token lengths if tokens are mixed.
func (r *kvReader) get(k *kvKey, o *kvOp) (clear bool) {
	if k.mixed {
		return r.parted(k, o)
	}
	text := r.text(o.text)
	// Most gets see the string of the get before and a few more tokens.
	same, pos, state := 0, int32(0), int32(0)
	for common := int32(commonPrefix(text, k.saw)); same < len(k.path); same++ {
		step := k.path[same]
		if step.end > common || same == 0 && k.tokens[k.states[step.state].token].count > 1 {
			break
		}
		pos, state = step.end, step.state
	}
	k.path, k.saw = k.path[:same], text
	r.toks = r.toks[:0]
	for rest := text[pos:]; len(rest) > 0; {
		end := -1
		if len(k.tokens) > 0 {
			end = bytes.IndexByte(rest, k.end)
		}
		if end < 0 {
			o.state = unread
			return true
		}
		token, ok := k.guess, false
		if int(token) < len(k.tokens) {
			ok = string(r.tokenText(k, token)) == string(rest[:end+1])
		}
		if !ok {
			if token, ok = r.find(k, rest[:end+1]); !ok {
				o.state = unread
				return true
			}
		}
		k.guess = token + 1
		r.toks = append(r.toks, token)
		rest = rest[end+1:]
	}
	for _, token := range r.toks {
		state = r.behind(k, state, token, o)
		pos += int32(len(r.tokenText(k, token)))
		k.path = append(k.path, kvStep{pos, state})
	}
	o.state = state
	return true
}

// parted is get for tokens whose last byte does not show their end.
func (r *kvReader) parted(k *kvKey, o *kvOp) (clear bool) {
	if k.byText == nil {
		k.byText = make(map[string]int32, len(k.tokens))
		for i := range k.tokens {
			token := string(r.tokenText(k, int32(i)))
			k.byText[token] = int32(i)
			if !slices.Contains(k.sizes, len(token)) {
				k.sizes = append(k.sizes, len(token))
			}
		}
		slices.Sort(k.sizes)
	}
	text := r.text(o.text)
	// From the end: the number of ways, up to 2, in which the rest splits into tokens, and the first token.
	ways, first := make([]uint8, len(text)+1), make([]int32, len(text)+1)
	ways[len(text)] = 1
	for pos := len(text) - 1; pos >= 0; pos-- {
		for _, n := range k.sizes {
			if pos+n > len(text) || ways[pos+n] == 0 {
				continue
			}
			if token, ok := k.byText[string(text[pos:pos+n])]; ok {
				ways[pos] = min(2, ways[pos]+ways[pos+n])
				first[pos] = token
			}
		}
	}
	if ways[0] == 0 {
		o.state = unread
		return true
	}
	for pos := 0; pos < len(text); pos += len(r.tokenText(k, first[pos])) {
		o.state = r.behind(k, o.state, first[pos], o)
	}
	return ways[0] == 1
}

// behind returns the state of a token behind another state, and adds it if it is new. Behind the empty string each
// operation that began a string has a state of its own.
func (r *kvReader) behind(k *kvKey, state, token int32, get *kvOp) int32 {
	s := int32(len(k.states))
	if state == 0 {
		root := r.root(k, get, token)
		if made := k.ops[root].state; made > 0 {
			return made
		}
		k.states = append(k.states, kvState{token: token, written: -1})
		k.make(root, s)
		return s
	}
	switch child := k.states[state].child; {
	case child == 0:
		k.states[state].child = s
	case k.states[child].token == token:
		return child
	default:
		if fork, ok := k.forks[[2]int32{state, token}]; ok {
			return fork
		}
		slice.MakeMap(&k.forks)
		k.forks[[2]int32{state, token}] = s
	}
	k.states = append(k.states, kvState{before: state, token: token, written: -1})
	return s
}

// root finds the operation that began the string of a get, with the string's first token. It must have begun before the
// get ended. Between the two no put may lie whole, nor an append that is missing in the string. An append can begin a
// string only where the key was empty.
func (r *kvReader) root(k *kvKey, get *kvOp, token int32) int32 {
	x := &k.tokens[token]
	if x.count == 1 {
		return x.first
	}
	var found []int32
	for i, n := x.first, x.count; n > 0; i, n = k.ops[i].next, n-1 {
		o := &k.ops[i]
		if o.start < get.end && o.status != history.Aborted && !slices.ContainsFunc(k.ops, func(x kvOp) bool {
			over := x.status == history.Committed && x.start > o.end && o.end != history.NoTime && x.end < get.start
			return over && (x.f == 'p' || x.f == 'a' && !bytes.Contains(r.text(get.text), r.text(x.text))) ||
				o.f == 'a' && x.status == history.Committed && x.f != 'g' && x.end < o.start
		}) {
			found = append(found, i)
		}
	}
	switch {
	case len(found) == 0:
		k.ruledOut = true
		return x.first
	case len(found) > 1 && k.either == nil:
		k.either = found[:2]
	}
	return found[0]
}

// assign decides which operations on a token made the states that end with it behind another state. States that begin
// with it are settled before.
func (k *kvKey) assign(token int32) {
	x := &k.tokens[token]
	// Usually there is one operation and one state, and no choice.
	if s := x.state; s == 0 {
		return
	} else if o := &k.ops[x.first]; x.count == 1 && s == x.end && k.states[s].before > 0 && o.state == 0 && o.f == 'a' {
		k.make(x.first, s)
		return
	}
	var ops, states []int32
	for o, n := x.first, x.count; n > 0; o, n = k.ops[o].next, n-1 {
		if k.ops[o].state == 0 && k.ops[o].f == 'a' {
			ops = append(ops, o)
		}
	}
	for s := x.state; s > 0; s = k.states[s].next {
		if k.states[s].before > 0 {
			states = append(states, s)
		}
	}
	if len(states) == 0 {
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
	case n == 0 && k.either == nil: // otherwise an earlier choice may be the reason
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

func (k *kvKey) make(op, state int32) { k.ops[op].state, k.states[state].written = state, op }

// could reports whether an append could have made a state: it began before the end of the first get that saw the state,
// and ended after the begins of all operations that must precede it.
func (k *kvKey) could(op, state int32) bool {
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
