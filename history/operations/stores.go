package operations

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"isovet/history"
	"isovet/history/format/edn"
	"isovet/history/format/fressian"
)

// testBegins is the beginning of a test's map as package fressian returns it.
var testBegins = []byte("{:history ")

// testSettings are the keys of a test's map that workloads use.
var testSettings = []string{"accounts", "total-amount", "negative-balances?", "sub-via", "ww-deps"}

// stored reports whether a file is a test.jepsen or a test.fressian.
func stored(data []byte) bool { return fressian.Is(data) || fressian.IsValue(data) }

// TestOf reads the settings of a test.jepsen or test.fressian alone.
func TestOf(data []byte, file string) (Map, error) {
	text, err := fressian.Test(data, file)
	if err != nil {
		return nil, err
	}
	h := &History{File: file}
	_, err = h.scan(text, false)
	return h.Test, err
}

// settings reads a test's map behind its bracket. It calls ops to read its history.
func (h *History) settings(s *edn.Scanner, ops func() error) error {
	for name, ok := s.Field(""); ok; name, ok = s.Field("") {
		key := string(name)
		switch {
		case key == "history":
			if err := ops(); err != nil {
				return err
			}
		case slices.Contains(testSettings, key):
			v, err := rest(s, *s.Token())
			if err != nil {
				return cmp.Or(s.Err(), err)
			}
			h.Test = append(h.Test, Pair{key, v})
		default:
			s.Pass()
		}
	}
	return s.Err()
}

// logger precedes the operations in a jepsen.log, followed by a colon or a dash.
var logger, running = []byte("jepsen.util"), []byte("Running test:")

// lines reads the lines of a history.txt, or the operations in a jepsen.log, which also has the test's map.
func (h *History) lines(data []byte) (events []event, err error) {
	log := bytes.Contains(data, logger)
	n, first := 0, true
	for text := range bytes.Lines(data) {
		n++
		words := bytes.Fields(text)
		if len(words) == 0 {
			continue
		}
		is := isOperation(words)
		if first {
			first, log = false, log && !is
		}
		if log {
			_, text, _ = bytes.Cut(text, logger)
			text = bytes.TrimLeft(text, ": -")
			if words = bytes.Fields(text); !isOperation(words) {
				continue
			}
		} else if !is {
			return nil, &history.InputError{File: h.File, Line: n, Off: -1, Msg: fmt.Sprintf(
				"found %.60q; expected process, type, f and value, as in 0 :invoke :read nil", text)}
		}
		e, err := h.line(text, words, n)
		if err != nil {
			return nil, err
		}
		events = append(events, e)
	}
	if log && len(events) == 0 {
		return nil, &history.InputError{File: h.File, Off: -1, Msg: "found no operation in the log; expected lines " +
			"such as jepsen.util: 0 :invoke :read nil"}
	}
	if i := bytes.Index(data, running); log && i >= 0 {
		s := edn.Scanner{Data: data, File: h.File}
		s.SeekOut(i + len(running))
		s.Map("")
		err := h.settings(&s, func() error {
			s.Pass()
			return nil
		})
		if err != nil { // printed for people: no test's map
			h.Test = nil
		}
	}
	return events, nil
}

func isOperation(words [][]byte) bool {
	if len(words) < 3 || words[1][0] != ':' {
		return false
	}
	switch string(words[1]) {
	case ":invoke", ":ok", ":fail", ":info":
		return true
	}
	return false
}

func (h *History) line(text []byte, words [][]byte, n int) (e event, err error) {
	e = event{kind: strings.TrimPrefix(string(words[1]), ":"), f: strings.TrimPrefix(string(words[2]), ":"),
		time: NoTime, index: NoTime, line: n, process: string(words[0])}
	if p, err := strconv.ParseInt(string(words[0]), 10, 64); err == nil {
		e.process = p
	}
	at := 0
	for _, w := range words[:3] {
		at += bytes.Index(text[at:], w) + len(w)
	}
	s := edn.Scanner{Data: text[at:], File: h.File}
	t, err := s.Next()
	if err == nil && t.Kind != edn.EOF {
		e.value, err = rest(&s, t)
	}
	if err != nil && e.kind != "info" {
		return e, &history.InputError{File: h.File, Line: n, Off: -1, Field: "value",
			Msg: fmt.Sprintf("found %.60q; expected a value in EDN", text[at:])}
	}
	return e, nil
}
