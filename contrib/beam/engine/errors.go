package engine

import (
	"encoding/json"
	"errors"
	"fmt"

	"isovet/check/spill/plan"
	"isovet/history"
	"isovet/history/split"
)

// wireError is an error that is an answer, as JSON.
type wireError struct {
	Kind  string              `json:"kind"`
	Text  string              `json:"text,omitempty"`
	Input *history.InputError `json:"input,omitempty"`
	Order *split.OrderError   `json:"order,omitempty"`
}

// encodeError makes bytes of an error that comes from what was asked, and would come again: bad input, what is not
// checked out of core, a panic. Others
// are nil.
func encodeError(err error) []byte {
	var w wireError
	if p, ok := errors.AsType[*Panic](err); ok {
		w.Kind, w.Text = "panic", p.Text
	} else if in, ok := errors.AsType[*history.InputError](err); ok {
		w.Kind, w.Input = "input", in
	} else if o, ok := errors.AsType[*split.OrderError](err); ok {
		w.Kind, w.Order = "order", o
	} else if u, ok := errors.AsType[*plan.Unfit](err); ok {
		w.Kind, w.Text = "unfit", u.What
	} else {
		return nil
	}
	b, err := json.Marshal(&w)
	if err != nil {
		return nil
	}
	return b
}

func decodeError(b []byte) error {
	var w wireError
	if err := json.Unmarshal(b, &w); err != nil {
		return fmt.Errorf("a worker's error cannot be read: %w", err)
	}
	switch {
	case w.Input != nil:
		return w.Input
	case w.Order != nil:
		return w.Order
	case w.Kind == "panic":
		return &Panic{w.Text}
	case w.Kind == "unfit":
		return &plan.Unfit{What: w.Text}
	}
	return errors.New(w.Text)
}
