package edn

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
)

// same compares what Next finds with what it finds without quick.
func same(t testing.TB, data []byte, json bool) {
	t.Helper()
	quick, slow := Scanner{Data: data, File: "f", JSON: json}, Scanner{Data: data, File: "f", JSON: json}
	for {
		got, err := quick.Next()
		want, wantErr := slow.other()
		must.Same(t, fmt.Sprint(err), fmt.Sprint(wantErr), "json %v: %q", json, data)
		if err != nil {
			return
		}
		if got.String() != want.String() || got.Kind != want.Kind || got.Pos != want.Pos ||
			got.Kind != Text && string(got.Text) != string(want.Text) || quick.Pos() != slow.Pos() {
			t.Fatalf("json %v: %q: %+v, twin %+v", json, data, got, want)
		}
		if want.Kind == EOF {
			return
		}
	}
}

// agree compares Plain with Scanner at the beginning of a text, and says how many of its methods took something.
func agree(t testing.TB, data []byte, json bool) (taken int) {
	t.Helper()
	next := func() (tok Token, s *Scanner) {
		s = &Scanner{Data: data, File: "f", JSON: json}
		tok = must.Get(s.Next())(t)
		return tok, s
	}
	check := func(what string, kind bool, s *Scanner, p *Plain) {
		if taken++; !kind || s.Pos() != p.Pos() {
			t.Fatalf("json %v: %q: %s up to %d; the scanner finds something else up to %d", json, data, what, p.Pos(),
				s.Pos())
		}
	}
	p := NewPlain(data, json)
	if n, ok := p.Int(); ok {
		tok, s := next()
		check("integer", tok.Kind == Int && tok.N == n, s, &p)
	}
	p = NewPlain(data, json)
	if text, ok := p.Text(); ok {
		tok, s := next()
		check("text", tok.Kind == Text && string(tok.Text) == string(text), s, &p)
	}
	p = NewPlain(data, json)
	if word, ok := p.Word(); ok {
		tok, s := next()
		check("word", tok.Is(string(word)), s, &p)
	}
	p = NewPlain(data, json)
	if p.Nil() {
		tok, s := next()
		check("nil", tok.Kind == Nil, s, &p)
	}
	p = NewPlain(data, json)
	if p.Skip() {
		s := &Scanner{Data: data, File: "f", JSON: json}
		err := s.skip()
		check("value", err == nil, s, &p)
	}
	p = NewPlain(data, json)
	if p.Take('[') {
		if got, ok := p.Ints(nil); ok {
			tok, s := next()
			var want []history.Value
			for s.More() {
				want = append(want, history.IntValue(s.Int("element")))
			}
			check("integers", tok.Opens() && s.Err() == nil && len(got) == len(want), s, &p)
			for i := range got {
				check("an integer", got[i] == want[i], s, &p)
			}
		}
	}
	return taken
}

func FuzzPlain(f *testing.F) {
	for _, s := range []string{"[:r 1 [2 nil]]", `{"a": [1, -2, null, true], "b" "c"} `, "12 ", "nil ", "false]",
		"#{1 2} ", "9223372036854775808 ", "[1 2 9223372036854775807]", `["r",12,3] `,
		`["w",1,12345678901234567890] `, `["w",123456789012345678901,1] `} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		agree(t, data, false)
		agree(t, data, true)
		same(t, data, false)
		same(t, data, true)
	})
}

// TestPlain: whatever Plain takes, the scanner takes for the same, to the same place.
func TestPlain(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	parts := []string{"[", "]", "{", "}", "(", ")", "#{", "#", `"`, `"a b"`, `"\n"`, `\a`, ":", ":r", "x", "nil", "null",
		"true", "false", "NaN", ",", " ", "        ", "\n", ";", "-", "+", "0", "17", "9223372036854775807",
		"9223372036854775808", "-9223372036854775808", "1.5", "1e3", "2N", "0x1f", "a/b", "é", "\x00", "\xff", "^", "@",
		"'", "~", "`", "#_", "#a", "\v", "\f"}
	taken := 0
	for range histtest.Long(50_000, 5_000_000) {
		var data []byte
		if rnd.IntN(2) == 0 {
			data = append(data, "[{("[rnd.IntN(3)])
		}
		for range rnd.IntN(8) {
			if rnd.IntN(2) == 0 {
				data = append(data, parts[rnd.IntN(len(parts))]...)
			} else {
				data = append(data, [...]string{"1 ", "[", "]", ":a ", " ", `"x"`, "}", "{", "7,", "nil "}[rnd.IntN(10)]...)
			}
		}
		data = append(data, []string{"", " ", "]", "}", ")]"}[rnd.IntN(5)]...)
		same(t, data, false)
		same(t, data, true)
		taken += agree(t, data, false) + agree(t, data, true)
	}
	must.Be(t, taken >= 12_500, "Plain took %d values; the test shows little", taken)
}
