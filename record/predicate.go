package record

import (
	"bytes"
	"encoding/json"

	"isovet/predicates"
)

// predicate converts a condition to the format's text, and checks it.
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
	if _, err := predicates.Parse(text); err != nil {
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
