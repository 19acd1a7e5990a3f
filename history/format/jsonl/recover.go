package jsonl

import (
	"bytes"
	"context"
	"fmt"
	"strconv"

	"isovet/history"
	"isovet/internal/plural"
)

// IsPartial reports whether a file is the recording of a run that is in progress or was interrupted: its header has
// "partial":true.
func IsPartial(head []byte) bool {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	return bytes.HasPrefix(line, []byte(`{"format":"isovet-history"`)) && bytes.Contains(line,
		[]byte(`,"partial":true`))
}

// The lines of such a recording that the format does not have.
const (
	// initial versions, as their keys are first used: all are one transaction's
	initPrefix   = `{"init":true,"ops":[`
	intentPrefix = `{"intent":true,` // a transaction that is about to be committed
	// the outcome of the transaction with that id: {"outcome":7,"status":"committed","end":99}
	outcomePrefix = `{"outcome":`
	completeLine  = `{"complete":true}` // the last: the recording was not cut off
)

// ReadPartial reads a recording that was interrupted, or that its last line marks as complete. If a transaction was
// about to be committed and no line gives its outcome, the outcome is unknown. A last line without line feed may be
// incomplete and is left out. The history's notes report both. Any other fault is an error with its line. Cost: that
// of Read, another pass over the data, and a copy of it.
func ReadPartial(ctx context.Context, data []byte, file string, workers int) (*history.History, error) {
	torn := 0
	if end := bytes.LastIndexByte(data, '\n') + 1; end < len(data) {
		torn = len(data) - end
		data = data[:end]
	}
	outcomes := map[string][]byte{} // id → status and end
	complete := 0                   // line
	lineNo := 0
	wrong := func(field, format string, args ...any) error {
		return &history.InputError{File: file, Line: lineNo, Off: -1, Field: field, Msg: fmt.Sprintf(format, args...)}
	}
	intents := map[string]bool{}
	for line := range bytes.Lines(data) {
		lineNo++
		switch {
		case complete > 0:
			return nil, wrong("", "found %.60q after line %d, which ends the recording; expected no more lines", line,
				complete)
		case bytes.Equal(bytes.TrimSpace(line), []byte(completeLine)):
			complete = lineNo
		case bytes.HasPrefix(line, []byte(intentPrefix)):
			id, ok := intentID(line)
			if !ok || intents[id] {
				return nil, wrong("intent", "found %.60q; expected a transaction with an id of its own", line)
			}
			intents[id] = true
		case bytes.HasPrefix(line, []byte(outcomePrefix)):
			id, rest, ok := bytes.Cut(line[len(outcomePrefix):], []byte(","))
			rest = bytes.TrimSpace(rest)
			if _, twice := outcomes[string(id)]; !ok || !bytes.HasSuffix(rest, []byte("}")) || !intents[string(id)] ||
				twice {
				return nil, wrong("outcome", "found %.60q; expected the outcome of an earlier line's transaction", line)
			}
			outcomes[string(id)] = rest[:len(rest)-1]
		}
	}
	lineNo = 0
	clean := make([]byte, 0, len(data)+len(data)/8)
	var first []byte // the initial versions
	open := 0
	for line := range bytes.Lines(data) {
		lineNo++
		switch {
		case bytes.HasPrefix(line, []byte(initPrefix)):
			ops, ok := bytes.CutSuffix(bytes.TrimSpace(line[len(initPrefix):]), []byte("]}"))
			if !ok {
				return nil, wrong("init", "found %.60q; expected the versions that existed before", line)
			}
			if first != nil {
				first = append(first, ',')
			}
			first = append(first, ops...)
			clean = append(clean, '\n') // keeps the numbers of lines
		case bytes.HasPrefix(line, []byte(outcomePrefix)), lineNo == complete:
			clean = append(clean, '\n')
		case bytes.HasPrefix(line, []byte(intentPrefix)):
			id, _ := intentID(line)
			how, ok := outcomes[id]
			if !ok {
				how = []byte(`"status":"unknown"`)
				open++
			}
			clean = append(append(append(clean, '{'), how...), ',')
			clean = append(clean, line[len(intentPrefix):]...)
		default:
			clean = append(clean, line...)
		}
	}
	if first != nil {
		clean = append(append(append(clean, `{"id":0,`+initPrefix[1:]...), first...), "]}\n"...)
	}
	h, err := ReadParallel(ctx, clean, file, workers)
	if err != nil {
		return nil, err
	}
	if complete > 0 && torn == 0 {
		return h, nil
	}
	h.AddNote(history.NoteTorn, 0, "the recording was cut off: it holds the database's answers up to that moment")
	if torn > 0 {
		h.AddNote(history.NoteTorn, 1, "the last line, %d, is incomplete and was ignored: %s", lineNo+1,
			plural.Of(torn, "byte"))
	}
	if open > 0 {
		h.AddNote(history.NoteTorn, open, "at the end %s, so the outcome is unknown",
			plural.Phrase(open, "transaction was committing", "transactions were committing"))
	}
	return h, nil
}

// intentID returns the id of a transaction that is about to be committed.
func intentID(line []byte) (string, bool) {
	rest, ok := bytes.CutPrefix(line[len(intentPrefix):], []byte(`"id":`))
	id, _, more := bytes.Cut(rest, []byte(","))
	_, err := strconv.ParseInt(string(id), 10, 64)
	return string(id), ok && more && err == nil
}
