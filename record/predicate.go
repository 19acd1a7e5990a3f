package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// predicate converts a condition to the format's text, and checks its shape:
//
//	P = {column: {comparison: scalar, …}, …} | {"or": [P, …]} | {"and": [P, …]} | {"not": P}
func predicate(condition any) ([]byte, error) {
	var text []byte
	switch c := condition.(type) {
	case string:
		text = []byte(c)
	case []byte:
		text = c
	default:
		var err error
		if text, err = plainJSON(c); err != nil {
			return nil, err
		}
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var x any
	if err := d.Decode(&x); err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	if d.More() {
		return nil, errors.New("found text after the JSON")
	}
	if err := shape(x, 0); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err := json.Compact(&b, text)
	return b.Bytes(), err
}

// plainJSON returns JSON that does not escape <, > and &.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

func shape(x any, depth int) error {
	p, ok := x.(map[string]any)
	if !ok || depth > maxDepth {
		return fmt.Errorf("found %s; expected an object such as {\"column\": {\">=\": 10}}", show(x))
	}
	for name, v := range p {
		switch name {
		case "or", "and":
			parts, ok := v.([]any)
			if !ok {
				return fmt.Errorf("%q: found %s; expected an array of predicates", name, show(v))
			}
			for _, part := range parts {
				if err := shape(part, depth+1); err != nil {
					return err
				}
			}
		case "not":
			if err := shape(v, depth+1); err != nil {
				return err
			}
		default:
			if err := comparisons(name, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// comparisons checks the comparisons of a predicate for one column.
func comparisons(column string, x any) error {
	c, ok := x.(map[string]any)
	if !ok {
		return fmt.Errorf("column %q: found %s; expected a comparison such as {\"=\": 1}", column, show(x))
	}
	for op, v := range c {
		switch op {
		case "=", "!=", "<", "<=", ">", ">=":
			if err := scalar(v); err != nil {
				return fmt.Errorf("column %q, %q: %w", column, op, err)
			}
		case "in":
			all, ok := v.([]any)
			if !ok {
				return fmt.Errorf("column %q, \"in\": found %s; expected an array of scalars", column, show(v))
			}
			for _, v := range all {
				if err := scalar(v); err != nil {
					return fmt.Errorf("column %q, \"in\": %w", column, err)
				}
			}
		default:
			return fmt.Errorf("column %q: found comparison %q; expected =, !=, <, <=, >, >= or in", column, op)
		}
	}
	return nil
}

func scalar(v any) error {
	switch v := v.(type) {
	case bool, string:
		return nil
	case json.Number:
		if _, err := v.Int64(); err != nil {
			return fmt.Errorf("found the number %s; expected an integer of 64 bits", v)
		}
		return nil
	}
	return fmt.Errorf("found %s; expected an integer, a string or a boolean", show(v))
}
