package edn

import (
	"errors"
	"testing"

	"isovet/history"
)

// Whatever the bytes: tokens that follow one another, or an input error; and what can be read can be left out, up to
// the same place.
func FuzzScan(f *testing.F) {
	for _, s := range []string{"[:r 1 [2]]", `{:a "x\u0041" #_ 1 \newline}`, `#object[a 0x1f "x"] #<a <b>> ##NaN #"\""`,
		`{"a": [1, NaN, null]}`, "(1;c\n 2N 3/4 #{5})"} {
		f.Add([]byte(s), false)
		f.Add([]byte(s), true)
	}
	f.Fuzz(func(t *testing.T, data []byte, json bool) {
		s := Scanner{Data: data, File: "f", JSON: json}
		skip := Scanner{Data: data, File: "f", JSON: json}
		for last := 0; ; {
			tok, err := s.Next()
			if err == nil && tok.Kind == Close {
				err = s.Errorf(tok.Pos, "", "found a bracket that closes nothing")
			}
			for depth := 0; err == nil; {
				if tok.Kind == Open {
					depth++
				} else if tok.Kind == Close {
					depth--
				}
				if depth == 0 || tok.Kind == EOF {
					break
				}
				tok, err = s.Next()
			}
			if err != nil {
				if _, ok := errors.AsType[*history.InputError](err); !ok {
					t.Fatalf("%v is no input error", err)
				}
				return
			}
			if tok.Kind == EOF {
				return
			}
			if tok.Pos < last || s.Pos() <= tok.Pos || s.Pos() > len(data) {
				t.Fatalf("a token at %d until %d, behind %d", tok.Pos, s.Pos(), last)
			}
			last = s.Pos()
			if err := skip.Skip(); err != nil || skip.Pos() != s.Pos() {
				t.Fatalf("what was read until %d is left out until %d: %v", s.Pos(), skip.Pos(), err)
			}
		}
	})
}
