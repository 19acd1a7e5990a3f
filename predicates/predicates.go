// Package predicates implements the predicate language of histories: conditions on a row, their text form and their
// truth for a version. It finds, for large histories, the versions that match a predicate, in the whole history (Index)
// or at a moment of its replay (State).
//
// A predicate is true, false or unknown of a version, as in SQL: a comparison with a missing or null column is unknown,
// "not" keeps unknown, and a version matches only if the predicate is true. Of an absent row every predicate is false,
// even a negated one: there is no row that it could be true of. A comparison of values of different kinds is never true
// (numbers compare with numbers, strings with strings).
//
// Files: predicates.go parses, and evaluates a row by definition; columns.go turns rows into ranked columns; compile.go
// turns predicates into ranges of ranks; index.go and state.go answer with them.
//
// Source: docs/history-format.md, "Predicate"; three-valued logic as errata V5 asks for it.
//
// Experimental: this package may still change.
package predicates

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"isovet/history"
)

// Truth is a truth value. Unknown is between False and True, so that "and" is the minimum and "or" the maximum.
type Truth int8

const (
	False   Truth = -1
	Unknown Truth = 0
	True    Truth = 1
)

func (t Truth) String() string { return [...]string{"false", "unknown", "true"}[t+1] }

func truth(b bool) Truth {
	if b {
		return True
	}
	return False
}

// Scalar is a value of one column: Null, Int, String or Bool.
type Scalar struct {
	Kind history.ValueKind
	N    int64 // the integer; 0 or 1 for a boolean
	S    string
}

// Row is what a predicate sees of a row: its columns, the value itself (column "") if it is a scalar, and the key
// (column "key").
type Row map[string]Scalar

// node is a part of a predicate: an operator on parts, or a comparison of a column.
type node struct {
	op     string // "and", "or", "not", or a comparison
	parts  []node
	column string
	values []Scalar
	col    int // the column's number, where Truths evaluates the predicate
}

// Predicate is a parsed predicate. It is immutable.
type Predicate struct{ root node }

var comparisons = []string{"=", "!=", "<", "<=", ">", ">=", "in"}

// Parse parses the JSON text of a predicate. The error names the faulty part and what was expected there.
func Parse(text []byte) (*Predicate, error) {
	if n, rest, ok := quickNode(text, nil); ok && len(rest) == 0 {
		return &Predicate{n}, nil
	}
	return parseAny(text)
}

// parseAny is Parse for texts of any form; quickNode handles the common ones.
func parseAny(text []byte) (*Predicate, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var raw any
	if err := d.Decode(&raw); err != nil {
		return nil, fmt.Errorf("predicate: %w", err)
	}
	if d.More() {
		return nil, fmt.Errorf("predicate: more than one JSON value")
	}
	n, err := parse(raw, "predicate")
	if err != nil {
		return nil, err
	}
	return &Predicate{n}, nil
}

// parse turns a decoded object, whose members are joined by "and", into a node.
func parse(raw any, at string) (node, error) {
	object, ok := raw.(map[string]any)
	if !ok {
		return node{}, fmt.Errorf("%s: expected an object", at)
	}
	all := node{op: "and"}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		n, err := member(name, object[name], at+"."+name)
		if err != nil {
			return node{}, err
		}
		all.parts = append(all.parts, n)
	}
	return all, nil
}

func member(name string, v any, at string) (node, error) {
	switch name {
	case "and", "or":
		list, ok := v.([]any)
		if !ok {
			return node{}, fmt.Errorf("%s: expected an array of predicates", at)
		}
		n := node{op: name}
		for i, x := range list {
			p, err := parse(x, fmt.Sprintf("%s[%d]", at, i))
			if err != nil {
				return node{}, err
			}
			n.parts = append(n.parts, p)
		}
		return n, nil
	case "not":
		p, err := parse(v, at)
		return node{op: "not", parts: []node{p}}, err
	}
	object, ok := v.(map[string]any)
	if !ok {
		return node{}, fmt.Errorf("%s: expected an object of comparisons", at)
	}
	all := node{op: "and"}
	for _, c := range comparisons {
		x, given := object[c]
		if !given {
			continue
		}
		n := node{op: c, column: name}
		list := []any{x}
		if c == "in" {
			if list, ok = x.([]any); !ok {
				return node{}, fmt.Errorf("%s.in: expected an array of scalars", at)
			}
		}
		for _, e := range list {
			s, err := scalar(e)
			if err != nil {
				return node{}, fmt.Errorf("%s.%s: %w", at, c, err)
			}
			n.values = append(n.values, s)
		}
		all.parts = append(all.parts, n)
	}
	if len(all.parts) < len(object) {
		return node{}, fmt.Errorf("%s: expected comparisons among %s", at, strings.Join(comparisons, " "))
	}
	return all, nil
}

func scalar(v any) (Scalar, error) {
	switch v := v.(type) {
	case nil:
		return Scalar{}, nil
	case bool:
		s := Scalar{Kind: history.Bool}
		if v {
			s.N = 1
		}
		return s, nil
	case string:
		return Scalar{Kind: history.String, S: v}, nil
	case json.Number:
		n, err := v.Int64()
		if err != nil {
			return Scalar{}, fmt.Errorf("%s is not a 64-bit integer", v)
		}
		return Scalar{Kind: history.Int, N: n}, nil
	}
	return Scalar{}, fmt.Errorf("expected an integer, a string, a boolean or null")
}

// RowOfValue returns the row that a predicate sees if a key holds a value (which may be an initial value that no
// operation names), and false if there is none. A text that does not parse as a row is a bug in isovet: histories hold
// canonical JSON.
func RowOfValue(h *history.History, key uint32, v history.Value) (Row, bool) {
	if v.Kind == history.Null {
		return nil, false
	}
	row := RowOf(h.Texts.AppendValue(nil, v))
	row["key"] = interned(h, h.Keys[key])
	return row, true
}

// RowOf returns the row of a value in canonical JSON that is not null, without the column "key".
func RowOf(value []byte) Row {
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		panic(fmt.Sprintf("predicates: row %s: %v", value, err))
	}
	columns, is := v.(map[string]any)
	if !is {
		columns = map[string]any{"": v}
	}
	row := Row{}
	for name, c := range columns {
		s, err := scalar(c)
		if err != nil {
			panic(fmt.Sprintf("predicates: row %s: %v", value, err))
		}
		row[name] = s
	}
	return row
}

func interned(h *history.History, v history.Value) Scalar {
	if v.Kind == history.String {
		return Scalar{Kind: v.Kind, S: string(h.Texts.Text(uint32(v.N)))}
	}
	return Scalar{Kind: v.Kind, N: v.N}
}

// Eval returns the predicate's truth for a row that exists.
func (p *Predicate) Eval(row Row) Truth { return p.root.eval(row) }

func (n *node) eval(row Row) Truth {
	switch n.op {
	case "and":
		t := True
		for i := range n.parts {
			t = min(t, n.parts[i].eval(row))
		}
		return t
	case "or":
		t := False
		for i := range n.parts {
			t = max(t, n.parts[i].eval(row))
		}
		return t
	case "not":
		return -n.parts[0].eval(row)
	}
	x, ok := row[n.column]
	if !ok || x.Kind == history.Null {
		return Unknown
	}
	if n.op == "in" {
		t := False
		for _, v := range n.values {
			t = max(t, compare("=", x, v))
		}
		return t
	}
	return compare(n.op, x, n.values[0])
}

func compare(op string, a, b Scalar) Truth {
	if b.Kind == history.Null {
		return Unknown
	}
	if a.Kind != b.Kind {
		return False
	}
	c := cmp.Or(cmp.Compare(a.N, b.N), cmp.Compare(a.S, b.S))
	switch op {
	case "=":
		return truth(c == 0)
	case "!=":
		return truth(c != 0)
	}
	if a.Kind == history.Bool {
		return False // booleans have no order
	}
	switch op {
	case "<":
		return truth(c < 0)
	case "<=":
		return truth(c <= 0)
	case ">":
		return truth(c > 0)
	}
	return truth(c >= 0)
}
