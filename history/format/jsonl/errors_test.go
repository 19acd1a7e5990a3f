package jsonl

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"isovet/history"
	"isovet/internal/test/cases"
)

// badInput is every kind of bad input that the contract names, and malformed JSON: file, line, field, what was found,
// what was expected. Each is read as it stands, and behind a hundred good lines, where the scanner meets it first.
func badInput(t testing.TB) [][]string {
	return append(cases.Read(t, "testdata/errors.tsv"),
		[]string{`{"id":1,"z":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `,"ops":[]}`,
			`1: field "z": nested more than 1000 deep; expected less`},
		[]string{`{"ops":[["pr",` + strings.Repeat(`{"not":`, 2000) + `{}` + strings.Repeat("}", 2000) + `,[]]]}`,
			`1: field "ops[0][1].not.not.not.not.not.not.not.not.not.not…": a predicate nested more than 1000 deep; ` +
				`expected less`})
}

func TestBadInput(t *testing.T) {
	const goodLine = `{"id":-1%03d,"session":99,"ops":[["r","k",1],["w","k",2]]}` + "\n"
	good := ""
	for i := range 100 {
		good += fmt.Sprintf(goodLine, i+1)
	}
	for _, row := range badInput(t) {
		doc, want := row[0], row[1]
		_, err := Read([]byte(doc), "f.jsonl")
		if err == nil {
			t.Errorf("%.200s: no error; want %s", doc, want)
			continue
		}
		if _, ok := errors.AsType[*history.InputError](err); !ok {
			t.Errorf("%.200s: error of type %T", doc, err)
		}
		if got := strings.TrimPrefix(err.Error(), "f.jsonl:"); got != want {
			t.Errorf("%.200s:\ngot  %s\nwant %s", doc, got, want)
		}
		if strings.Contains(doc, "format") || strings.TrimSpace(doc) == "" || strings.Contains(want, "ordinal") {
			continue // it is about the first line, or would be no error
		}
		// Behind good lines, and with some before the end, the scanner has the line first.
		_, err = Read([]byte(good+doc+"\n"+strings.Repeat("\n", scanMargin)), "f.jsonl")
		in, ok := errors.AsType[*history.InputError](err)
		if !ok {
			t.Errorf("%.200s: behind good lines: %v", doc, err)
			continue
		}
		if got := fmt.Sprintf("%d:", in.Line-100); !strings.HasPrefix(want, got) ||
			!strings.Contains(want, strings.ReplaceAll(in.Msg, "first in line 101", "first in line 1")) {
			t.Errorf("%.200s: behind good lines: %v; want %s", doc, in, want)
		}
	}
}
