package porcupine

import (
	"fmt"
	"slices"
	"strings"

	"isovet/history"
)

// order returns the tokens in the order of their first uses.
func (k *kvKey) order() []string {
	var all []string
	for i := range k.ops {
		if o := &k.ops[i]; o.f != 'g' && int(k.tokens[o.text][0]) == i {
			all = append(all, o.text)
		}
	}
	return all
}

// follow finds the states that gets saw.
func (k *kvKey) follow(file string) error {
	k.states = []kvState{{written: -1}}
	k.index = map[kvName]int32{}
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
					Msg: fmt.Sprintf("found %.60q, which is made of the key's tokens in more than one way; expected "+
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
func (k *kvKey) parse(o *kvOp) (chain []int32, clear bool) {
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
		name := kvName{before: state, token: text[pos : pos+int(size[pos])]}
		if pos == 0 {
			name.root = k.root(o, name.token)
		}
		s, ok := k.index[name]
		if !ok {
			s = int32(len(k.states))
			k.index[name] = s
			k.states = append(k.states, kvState{before: state, token: name.token, written: -1})
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
func (k *kvKey) root(get *kvOp, token string) int32 {
	ops := k.tokens[token]
	if len(ops) == 1 {
		return ops[0]
	}
	var found []int32
	for _, i := range ops {
		o := &k.ops[i]
		if o.start < get.end && o.status != history.Aborted && !slices.ContainsFunc(k.ops, func(x kvOp) bool {
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
func (k *kvKey) assign(token string) {
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

func (k *kvKey) make(op, state int32) { k.ops[op].state, k.states[state].written = state, op }

// could reports whether an append could have made a state: it began before somebody had seen it, and ended after what
// must have been before it had begun.
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

// version names a state: by its last token, where an operation made it and the token was used once, else with the line
// where it was made, or the number of the state where nothing made it.
func (k *kvKey) version(s int32, mark string) string {
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
func (k *kvKey) own(op int32, mark string) string {
	o := &k.ops[op]
	if len(k.tokens[o.text]) > 1 {
		return fmt.Sprintf("%s%s%d", o.text, mark, o.line)
	}
	return o.text
}
