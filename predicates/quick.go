package predicates

import (
	"slices"

	"isovet/history"
)

// quickNode parses a predicate in the form that nearly all have: JSON without spaces and escapes, of integers and plain
// strings, with members in ascending order. ok is false for any other text, right or wrong, which is for parse. Memory
// for the parts comes from room, reusing what an earlier predicate left there. Cost: linear, a few nanoseconds per
// byte.
func quickNode(s []byte, room []node) (n node, rest []byte, ok bool) {
	n.op, n.parts = "and", room
	if len(s) < 2 || s[0] != '{' {
		return n, s, false
	}
	if s[1] == '}' {
		return n, s[2:], true
	}
	var last []byte
	for {
		var name []byte
		if name, s, ok = plain(s[1:]); !ok || len(s) < 2 || s[0] != ':' || last != nil && string(name) <= string(last) {
			return n, s, false
		}
		last = name
		switch s = s[1:]; string(name) {
		case "and", "or":
			p := node{op: string(name)}
			if p.parts, s, ok = quickParts(s); !ok {
				return n, s, false
			}
			n.parts = append(n.parts, p)
		case "not":
			var p node
			if p, s, ok = quickNode(s, nil); !ok {
				return n, s, false
			}
			n.parts = append(n.parts, node{op: "not", parts: []node{p}})
		default:
			column := spare(n.parts).column
			if column != string(name) {
				column = string(name)
			}
			if n.parts, s, ok = quickColumn(s, column, n.parts); !ok {
				return n, s, false
			}
		}
		switch {
		case len(s) > 0 && s[0] == '}':
			return n, s[1:], true
		case len(s) == 0 || s[0] != ',':
			return n, s, false
		}
	}
}

// spare returns the node that an earlier use left at the end of parts, for reuse.
func spare(parts []node) node {
	if len(parts) == cap(parts) {
		return node{}
	}
	return parts[:len(parts)+1][len(parts)]
}

// quickParts parses an array of predicates.
func quickParts(s []byte) (parts []node, rest []byte, ok bool) {
	if len(s) < 2 || s[0] != '[' {
		return nil, s, false
	}
	if s[1] == ']' {
		return nil, s[2:], true
	}
	for {
		var p node
		if p, s, ok = quickNode(s[1:], nil); !ok || len(s) == 0 {
			return nil, s, false
		}
		parts = append(parts, p)
		switch s[0] {
		case ']':
			return parts, s[1:], true
		case ',':
		default:
			return nil, s, false
		}
	}
}

// quickColumn parses the comparisons of a column and appends them to parts.
func quickColumn(s []byte, column string, parts []node) (all []node, rest []byte, ok bool) {
	if len(s) < 2 || s[0] != '{' || s[1] == '}' {
		return parts, s, false
	}
	var last []byte
	for {
		var name []byte
		if name, s, ok = plain(s[1:]); !ok || len(s) < 2 || s[0] != ':' || last != nil && string(name) <= string(last) {
			return parts, s, false
		}
		last = name
		at := slices.Index(comparisons, string(name))
		if at < 0 {
			return parts, s, false
		}
		n := node{op: comparisons[at], column: column}
		s = s[1:]
		if n.op != "in" {
			var v Scalar
			if v, s, ok = quickScalar(s); !ok {
				return parts, s, false
			}
			n.values = append(spare(parts).values[:0], v)
		} else if len(s) < 2 || s[0] != '[' {
			return parts, s, false
		} else if s[1] == ']' {
			s = s[2:]
		} else {
			for more := true; more; {
				var v Scalar
				if v, s, ok = quickScalar(s[1:]); !ok || len(s) == 0 || s[0] != ',' && s[0] != ']' {
					return parts, s, false
				}
				n.values = append(n.values, v)
				more = s[0] == ','
			}
			s = s[1:]
		}
		parts = append(parts, n)
		switch {
		case len(s) > 0 && s[0] == '}':
			return parts, s[1:], true
		case len(s) == 0 || s[0] != ',':
			return parts, s, false
		}
	}
}

// quickScalar parses a value of a column; a string is copied.
func quickScalar(s []byte) (v Scalar, rest []byte, ok bool) {
	var text []byte
	if v, text, rest, ok = rawScalar(s); v.Kind == history.String {
		v.S = string(text)
	}
	return v, rest, ok
}

// rawScalar parses a value of a column without copying; text is that of a string.
func rawScalar(s []byte) (v Scalar, text, rest []byte, ok bool) {
	if len(s) == 0 {
		return v, nil, s, false
	}
	switch c := s[0]; {
	case c == '"':
		v.Kind = history.String
		text, rest, ok = plain(s)
		return v, text, rest, ok
	case c == '-' || c-'0' <= 9:
		v.Kind = history.Int
		i := 0
		if c == '-' {
			i = 1
		}
		first := i
		for ; i < len(s) && s[i]-'0' <= 9; i++ {
			v.N = 10*v.N + int64(s[i]-'0')
		}
		digits := i - first
		if digits == 0 || digits > 18 || digits > 1 && s[first] == '0' || i < len(s) && s[i] != ',' && s[i] != '}' &&
			s[i] != ']' {
			return v, nil, s, false
		}
		if first == 1 {
			v.N = -v.N
		}
		return v, nil, s[i:], true
	}
	for _, w := range [...]struct {
		text string
		v    Scalar
	}{{"null", Scalar{}}, {"true", Scalar{Kind: history.Bool, N: 1}}, {"false", Scalar{Kind: history.Bool}}} {
		if len(s) >= len(w.text) && string(s[:len(w.text)]) == w.text {
			return w.v, nil, s[len(w.text):], true
		}
	}
	return v, nil, s, false
}

// plain splits a string of plain ASCII without escapes off the front.
func plain(s []byte) (text, rest []byte, ok bool) {
	if len(s) == 0 || s[0] != '"' {
		return nil, nil, false
	}
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return s[1:i], s[i+1:], true
		case c < ' ' || c >= 0x7f || c == '\\':
			return nil, nil, false
		}
	}
	return nil, nil, false
}
