package format

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"

	"isovet/history"
)

// InitialValue is what registers hold at first, in place of what the file says or leaves unsaid: an integer, a string
// in quotes, true, false or null, as JSON; "": what the file's format says.
type InitialValue string

// Check returns an error if it is no such value.
func (v InitialValue) Check() error {
	if v == "" {
		return nil
	}
	_, _, err := v.parse()
	return err
}

func (v InitialValue) parse() (history.Value, []byte, error) {
	wrong := fmt.Errorf("initial value %.40q; expected an integer, a string in quotes, true, false or null", string(v))
	text := []byte(v)
	if !utf8.Valid(text) {
		return history.Value{}, nil, wrong
	}
	switch text = bytes.TrimSpace(text); string(text) {
	case "null":
		return history.Value{}, nil, nil
	case "true", "false":
		return history.BoolValue(string(text) == "true"), nil, nil
	}
	if len(text) > 0 && text[0] == '"' {
		var s string
		if err := json.Unmarshal(text, &s); err != nil {
			return history.Value{}, nil, wrong
		}
		return history.Value{Kind: history.String}, []byte(s), nil
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return history.Value{}, nil, wrong
	}
	return history.IntValue(n), nil, nil
}

// Apply gives it to a history; "" changes nothing.
func (v InitialValue) Apply(h *history.History) error {
	if v == "" {
		return nil
	}
	x, text, err := v.parse()
	if err != nil {
		return err
	}
	if x.Kind == history.String {
		x.N = int64(h.Texts.Intern(text))
	}
	h.SetInitial(x)
	return nil
}
