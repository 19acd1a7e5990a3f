package operations

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"isovet/history/format/edn"
	"isovet/internal/slice"
)

// A value is nil, a bool, an int64, a Number, a string (keywords and symbols too), a []any, a Set or a Map.
type (
	// Number is a number that is no 64-bit integer, as written in the file.
	Number string
	// Set has a set's members.
	Set []any
	// Map has a map's pairs in the order of the file.
	Map []Pair
	// Pair is a key of a map with its value.
	Pair struct{ Key, Value any }
)

// Get returns the value of a name, or nil.
func (m Map) Get(name string) any {
	for _, p := range m {
		if p.Key == any(name) {
			return p.Value
		}
	}
	return nil
}

// rest reads a value whose first token is t.
func rest(s *edn.Scanner, t edn.Token) (any, error) {
	switch t.Kind {
	case edn.Nil:
		return nil, nil
	case edn.Bool:
		return t.N == 1, nil
	case edn.Int:
		return t.N, nil
	case edn.Number:
		return Number(t.Text), nil
	case edn.Text, edn.Word, edn.Odd:
		return string(t.Text), nil
	case edn.EOF, edn.Close:
		return nil, s.Errorf(t.Pos, "", "found %s; expected a value", t)
	}
	items := []any{}
	for {
		x, err := s.Next()
		if err != nil {
			return nil, err
		}
		if x.Kind == edn.Close {
			break
		}
		v, err := rest(s, x)
		if err != nil {
			return nil, err
		}
		items = append(items, v)
	}
	switch t.Bracket {
	case '#':
		return Set(items), nil
	case '{':
		if len(items)%2 != 0 {
			return nil, s.Errorf(t.Pos, "", "found a map with a key and no value; expected pairs")
		}
		m := make(Map, 0, len(items)/2)
		for i := 0; i < len(items); i += 2 {
			m = append(m, Pair{items[i], items[i+1]})
		}
		return m, nil
	}
	return items, nil
}

// Text returns a value as EDN. Equal values have the same text: members of sets and maps are sorted.
func Text(v any) string {
	list := func(open, end string, vs []any, sorted bool) string {
		words := slice.Map(vs, Text)
		if sorted {
			slices.Sort(words)
			words = slices.Compact(words) // JSON has lists where EDN has sets
		}
		return open + strings.Join(words, " ") + end
	}
	switch v := v.(type) {
	case nil:
		return "nil"
	case string:
		if plain(v) {
			return v
		}
		return strconv.Quote(v)
	case []any:
		return list("[", "]", v, false)
	case Set:
		return list("#{", "}", v, true)
	case Map:
		pairs := slice.Map(v, func(p Pair) string { return Text(p.Key) + " " + Text(p.Value) })
		slices.Sort(pairs)
		return "{" + strings.Join(pairs, ", ") + "}"
	}
	return fmt.Sprint(v)
}

// plain reports whether a text without quotes cannot be taken for another value.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c|0x20 < 'a' || c|0x20 > 'z' {
			if i == 0 || c < '0' || c > '9' {
				return false
			}
		}
	}
	return s != "" && s != "nil" && s != "true" && s != "false"
}

// Items returns the members of a vector, list or set. ok is false for any other value.
func Items(v any) (items []any, ok bool) {
	switch v := v.(type) {
	case []any:
		return v, true
	case Set:
		return v, true
	}
	return nil, false
}
