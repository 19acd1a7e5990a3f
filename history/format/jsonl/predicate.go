package jsonl

import "isovet/history"

const comparisons = `"=", "!=", "<", "<=", ">", ">=" or "in"`

// predicate reads a condition on a row, checks its shape, and appends it to pred as compact JSON. Members of one object
// must all hold. Package predicates evaluates it.
//
//	P = {column: {comparison: scalar, …}, …} | {"or": [P, …]} | {"and": [P, …]} | {"not": P}
//
// where the column "" is the value itself and "key" the key.
func (t *tolerant) predicate(depth int) bool {
	if depth > maxDepth {
		return t.fail("a predicate nested more than %d deep; expected less", maxDepth)
	}
	if t.peek() != '{' {
		return t.wrong(`a predicate: an object {column: {comparison: value}}`)
	}
	d := len(t.path)
	t.pred = append(t.pred, '{')
	seen := map[string]bool{}
	ok := t.object(func(name []byte) bool {
		t.path = t.path[:d]
		if !t.member(string(name), seen) {
			return false
		}
		t.path = append(t.path, step{name: name})
		switch string(name) {
		case "or", "and":
			if t.peek() != '[' {
				return t.wrong("an array of predicates")
			}
			t.pred = append(t.pred, '[')
			_, ok := t.array(func(i int) bool {
				if i > 0 {
					t.pred = append(t.pred, ',')
				}
				t.at(d+1, i)
				return t.predicate(depth + 1)
			})
			t.pred = append(t.pred, ']')
			return ok
		case "not":
			return t.predicate(depth + 1)
		}
		return t.comparison()
	})
	t.pred = append(t.pred, '}')
	t.path = t.path[:d]
	return ok
}

// member appends a member's name and its colon, and refuses a repeated name.
func (t *tolerant) member(name string, seen map[string]bool) bool {
	if seen[name] {
		return t.fail("%s is given twice in one object of a predicate; expected it once", clip([]byte(name)))
	}
	if len(seen) > 0 {
		t.pred = append(t.pred, ',')
	}
	seen[name] = true
	t.pred = append(history.AppendJSONString(t.pred, name), ':')
	return true
}

// comparison reads {comparison: scalar, …}.
func (t *tolerant) comparison() bool {
	if t.peek() != '{' {
		return t.wrong("a comparison: an object such as {\"=\": 1}")
	}
	t.pred = append(t.pred, '{')
	d := len(t.path)
	seen := map[string]bool{}
	ok := t.object(func(name []byte) bool {
		t.path = t.path[:d]
		op := string(name)
		switch op {
		case "=", "!=", "<", "<=", ">", ">=":
			if !t.member(op, seen) {
				return false
			}
			t.path = append(t.path, step{name: name})
			return t.constant()
		case "in":
			if !t.member(op, seen) {
				return false
			}
			t.path = append(t.path, step{name: name})
			if t.peek() != '[' {
				return t.wrong("an array of values")
			}
			t.pred = append(t.pred, '[')
			_, ok := t.array(func(i int) bool {
				if i > 0 {
					t.pred = append(t.pred, ',')
				}
				t.at(d+1, i)
				return t.constant()
			})
			t.pred = append(t.pred, ']')
			return ok
		}
		return t.fail("unknown comparison %s; expected %s", clip(name), comparisons)
	})
	if ok && len(seen) == 0 {
		t.path = t.path[:d]
		return t.fail("an empty comparison; expected %s", comparisons)
	}
	t.pred = append(t.pred, '}')
	return ok
}

// constant reads a scalar and appends it to pred.
func (t *tolerant) constant() bool {
	from := len(t.strs)
	if c := t.peek(); c == '{' || c == '[' {
		return t.wrong("null, an integer, a string or a boolean")
	}
	ok := t.canonicalScalar()
	t.pred = append(t.pred, t.strs[from:]...)
	t.strs = t.strs[:from]
	return ok
}
