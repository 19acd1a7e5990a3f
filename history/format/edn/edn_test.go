package edn

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"isovet/history"
	"isovet/internal/test/cases"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// tokens reads all of a text, a word a token: kind and content.
func tokens(text string, json bool) ([]string, error) {
	s := Scanner{Data: []byte(text), File: "f", JSON: json}
	var all []string
	for {
		t, err := s.Next()
		if err != nil {
			return all, err
		}
		switch t.Kind {
		case EOF:
			return all, nil
		case Nil:
			all = append(all, "nil")
		case Bool:
			all = append(all, fmt.Sprint("bool ", t.N == 1))
		case Int:
			all = append(all, fmt.Sprint("int ", t.N))
		case Number:
			all = append(all, "number "+string(t.Text))
		case Text:
			all = append(all, fmt.Sprintf("text %q", t.Text))
		case Word:
			all = append(all, "word "+string(t.Text))
		case Odd:
			all = append(all, "odd "+string(t.Text))
		default:
			all = append(all, t.String())
		}
	}
}

func TestTokens(t *testing.T) {
	for _, c := range cases.Read(t, "testdata/tokens.tsv") {
		form, text, want := c[0], c[1], c[2]
		got, err := tokens(text, form == "json")
		if err != nil || strings.Join(got, "|") != want {
			t.Errorf("%q: %s, %v; want %s", text, strings.Join(got, "|"), err, want)
		}
	}
}

// Each mistake has the line it is in, and an expectation or a name.
func TestErrors(t *testing.T) {
	for _, c := range append(cases.Read(t, "testdata/errors.tsv"),
		[]string{"edn", strings.Repeat("[", 2000), "nested deeper than 1024"},
		[]string{"edn", strings.Repeat("#_ ", 1<<20), "more than 1024 #_, one within the other"},
		[]string{"edn", strings.Repeat("#_[", 1<<20), "one within the other"}) {
		form, text, want := c[0], c[1], c[2]
		_, err := tokens(text, form == "json")
		if _, ok := errors.AsType[*history.InputError](err); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v; want %s", text, err, want)
		}
	}
}

// As deep as is allowed, and as many discards beside each other as one likes.
func TestDepth(t *testing.T) {
	if _, err := tokens(strings.Repeat("[", maxDepth)+strings.Repeat("]", maxDepth), false); err != nil {
		t.Error(err)
	}
	if got, err := tokens(strings.Repeat("#_ 1 ", 1<<14)+"2", false); err != nil || len(got) != 1 {
		t.Error(got, err)
	}
	if got, err := tokens(strings.Repeat("#_", maxDepth)+strings.Repeat("1 ", maxDepth)+"2", false); err != nil ||
		len(got) != 1 {
		t.Error(got, err)
	}
}

// Values are left out whole, whatever they are; lines are told in any order; a place that was passed can be gone back
// to.
func TestSkipSeekLine(t *testing.T) {
	s := Scanner{Data: []byte("[1\n #_ 2 {:a [3 4]}\n \"x\" #{5}\n] 6")}
	must.Get(s.Next())(t)
	at := s.Pos()
	for range 4 {
		must.OK(t, s.Skip())
	}
	if err := s.Skip(); err == nil || !strings.Contains(err.Error(), "found ]; expected a value") {
		t.Errorf("the end of a vector left out: %v", err)
	}
	six, err := s.Next()
	if err != nil || six.N != 6 || s.Line(six.Pos) != 4 || s.Line(0) != 1 || s.Line(at+2) != 2 {
		t.Errorf("%v, %v, lines %d, %d", six, err, s.Line(six.Pos), s.Line(at+2))
	}
	s.Seek(at)
	for _, want := range []string{"1", "{", "a", "[", "3", "4", "]", "}", "x", "#{", "5", "}", "]", "6",
		"the end of the file"} {
		if tok, err := s.Next(); err != nil || tok.String() != want {
			t.Errorf("%v, %v; want %s", tok, err, want)
		}
	}
}

// What nobody looks at need not be a value, as long as its brackets and quotes are balanced.
func TestSkipLoose(t *testing.T) {
	for _, text := range []string{`"\%\u12z"`, "\"\xff\"", ":\xff", "a\xff", "1\xff", `\abc`, `\u00zz`,
		"{:a [\"\xff\" #<b c> 0xzz]}"} {
		s := Scanner{Data: []byte(text + " 7")}
		must.OK(t, s.Skip(), "%q", text)
		if tok, err := s.Next(); err != nil || tok.N != 7 {
			t.Errorf("behind %q: %v, %v", text, tok, err)
		}
		// Looked at, it is an error, or a token of no use.
		if got, err := tokens(text, false); err == nil && !strings.Contains(strings.Join(got, "|"), "odd ") {
			t.Errorf("%q is %q", text, got)
		}
	}
}

// value is a random value as EDN and as the tokens that it consists of.
func value(rnd *rand.Rand, depth int) (text string, want []string) {
	pick := rnd.IntN(9)
	if depth == 0 {
		pick = rnd.IntN(5)
	}
	switch pick {
	case 0:
		n := rnd.Int64() >> rnd.IntN(64)
		if rnd.IntN(2) == 0 {
			n = -n
		}
		return fmt.Sprint(n), []string{fmt.Sprint("int ", n)}
	case 1:
		return "nil", []string{"nil"}
	case 2:
		return ":k/w", []string{"word k/w"}
	case 3:
		return `"é\"\n"`, []string{`text "é\"\n"`}
	case 4:
		return `\a`, []string{`text "a"`}
	case 5:
		inner, _ := value(rnd, depth-1)
		text, want = value(rnd, depth-1)
		return "#_ " + inner + " " + text, want
	case 6:
		text, want = value(rnd, depth-1)
		return "#a/tag " + text, want
	}
	b := []string{"[]", "()", "{}"}[rnd.IntN(3)]
	open := b[:1]
	if b == "{}" && rnd.IntN(2) == 0 {
		open = "#{"
	}
	text, want = open, []string{open}
	for range rnd.IntN(4) {
		t, w := value(rnd, depth-1)
		text, want = text+t+[]string{" ", ",", "\n", " ;]\n"}[rnd.IntN(4)], append(want, w...)
	}
	return text + b[1:], append(want, b[1:])
}

// Random values are read as what they were made of, and cut off anywhere they are errors or shorter, never more.
func TestRandom(t *testing.T) {
	randtest.Seeds(t, 2000, func(t testing.TB, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		text, want := value(rnd, 5)
		got, err := tokens(text, false)
		must.Hold(t, err == nil && strings.Join(got, "|") == strings.Join(want, "|"),
			"seed %d: %s is %q, %v; want %q", seed, text, got, err, want)
		s := Scanner{Data: []byte(text)}
		if err := s.Skip(); err != nil || len(bytes.TrimSpace(s.Data[s.Pos():])) > 0 {
			t.Fatalf("seed %d: %s left out until %d, %v", seed, text, s.Pos(), err)
		}
		if cut, _ := tokens(text[:rnd.IntN(len(text))], false); len(cut) > len(want) {
			t.Fatalf("seed %d: %s cut off is %q", seed, text, cut)
		}
	})
}

// Maps and sequences, piece by piece, and what is neither.
func TestPull(t *testing.T) {
	read := func(text string) (string, error) {
		s := Scanner{Data: []byte(text), File: "f"}
		got := ""
		s.Map("op")
		for name, ok := s.Field("op"); ok; name, ok = s.Field("op") {
			got += string(name) + "="
			if s.Peek() != '[' && s.Peek() != '(' {
				got += s.Token().String() + ";"
				continue
			}
			for s.Array("list"); s.More(); s.Pass() {
				got += string(s.Peek()) + ";"
			}
		}
		s.End("map")
		return got, s.Err()
	}
	if got, err := read(`{:a 1, "b" [2 {:x 3} #_ 7 (4)] c (), :d nil}`); err != nil || got != "a=1;b=2;{;(;c=d=nil;" {
		t.Error(got, err)
	}
	for text, want := range map[string]string{
		"[1]":      `field "op": found [; expected a map`,
		"{1 2}":    `field "op": found 1; expected the name of a field`,
		"{:a [1}":  "found }; expected ]",
		"{:a [1":   "found the end of the file; expected ]",
		"{:a":      "found the end of the file; expected }",
		"{:a [#]}": "found #; expected a set",
		"{:a 1} 2": "found 2 behind the map; expected the end of the file",
	} {
		if _, err := read(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
}
