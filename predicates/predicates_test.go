package predicates

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"isovet/history"
	"isovet/internal/test/must"
)

func build(t *testing.T, key, value history.Value, text string) *history.History {
	t.Helper()
	b := history.NewBuilder()
	switch key.Kind {
	case history.String:
		key = b.StringValue([]byte("k"))
	}
	switch value.Kind {
	case history.Row:
		value = b.RowValue([]byte(text))
	case history.String:
		value = b.StringValue([]byte(text))
	}
	b.Write(b.Key(key), value)
	b.EndTxn(history.NewTxnHead())
	return must.Get(b.Build())(t)
}

// TestTruth: each form of the language, missing columns, other kinds, absent rows.
func TestTruth(t *testing.T) {
	row := history.Value{Kind: history.Row}
	for _, c := range []struct {
		value history.Value
		text  string
		pred  string
		want  bool
	}{
		{row, `{"v":1}`, `{"v":{"=":1}}`, true},
		{row, `{"v":1}`, `{"v":{"=":2}}`, false},
		{row, `{"v":1}`, `{"v":{"!=":2}}`, true},
		{row, `{"v":1}`, `{"v":{"!=":"1"}}`, false},
		{row, `{"v1":10}`, `{"v1":{">=":10,"<":20}}`, true},
		{row, `{"v1":20}`, `{"v1":{">=":10,"<":20}}`, false},
		{row, `{"v":1,"w":4}`, `{"v":{"=":1},"w":{"in":[3,4]}}`, true},
		{row, `{"v":1,"w":5}`, `{"v":{"=":1},"w":{"in":[3,4]}}`, false},
		{row, `{"v":5}`, `{"or":[{"v":{"<":3}},{"v":{">":4}}]}`, true},
		{row, `{"v":3}`, `{"or":[{"v":{"<":3}},{"v":{">":4}}]}`, false},
		{row, `{"v":3}`, `{"not":{"v":{"=":4}}}`, true},
		{row, `{"w":3}`, `{"not":{"v":{"=":4}}}`, false},
		{row, `{"v":null}`, `{"v":{"=":null}}`, false},
		{row, `{"v":"b"}`, `{"v":{">":"a"}}`, true},
		{row, `{"v":true}`, `{"v":{"=":true}}`, true},
		{row, `{"v":true}`, `{"v":{">":false}}`, false},
		{row, `{"v":1}`, `{}`, true},
		{row, `{"v":1}`, `{"":{"=":1}}`, false},
		{history.IntValue(6), "", `{"":{">":5}}`, true},
		{history.IntValue(5), "", `{"":{">":5}}`, false},
		{history.Value{Kind: history.String}, "x", `{"":{"in":["x"]}}`, true},
		{history.IntValue(6), "", `{"key":{">=":"a"}}`, true},
		{history.IntValue(6), "", `{"key":{">=":1}}`, false},
		{history.Value{}, "", `{}`, false},
		{history.Value{}, "", `{"not":{"v":{"=":1}}}`, false},
	} {
		p, err := Parse([]byte(c.pred))
		if err != nil {
			t.Errorf("%s: %v", c.pred, err)
			continue
		}
		h := build(t, history.Value{Kind: history.String}, c.value, c.text)
		row, present := RowOfValue(h, h.VerKey[0], h.VerValue(0))
		must.Equal(t, present && p.Eval(row) == True, c.want, "%s on %s", c.pred, h.ValueString(0))
	}
}

// TestParseErrors: what is not of the language is refused, with the part at fault.
func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		`[]`:                     "predicate: expected an object",
		`{"v":1}`:                "predicate.v: expected an object of comparisons",
		`{"v":{"like":1}}`:       "predicate.v: expected comparisons among",
		`{"v":{"in":1}}`:         "predicate.v.in: expected an array",
		`{"or":{}}`:              "predicate.or: expected an array",
		`{"and":[1]}`:            "predicate.and[0]: expected an object",
		`{"v":{"=":1.5}}`:        "predicate.v.=: 1.5 is not a 64-bit integer",
		`{"v":{"=":{}}}`:         "expected an integer, a string",
		`{"v":{"=":1}} {}`:       "more than one",
		`{"not":{"v":{"=":[]}}}`: "predicate.not.v.=",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; expected %q", text, err, want)
		}
	}
}

// TestLaws holds random predicates against Kleene's laws: De Morgan, and double negation, on random rows with missing
// columns.
func TestLaws(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var random func(depth int) string
	random = func(depth int) string {
		switch n := r.IntN(6); {
		case depth > 0 && n == 0:
			return `{"and":[` + random(depth-1) + "," + random(depth-1) + `]}`
		case depth > 0 && n == 1:
			return `{"or":[` + random(depth-1) + "," + random(depth-1) + `]}`
		case depth > 0 && n == 2:
			return `{"not":` + random(depth-1) + `}`
		}
		return fmt.Sprintf(`{"%c":{"%s":%d}}`, 'a'+r.IntN(3), comparisons[r.IntN(6)], r.IntN(3))
	}
	seen := map[Truth]int{}
	for range 5000 {
		a, b := random(2), random(2)
		row := Row{}
		for _, c := range "abc" {
			if r.IntN(3) > 0 {
				row[string(c)] = Scalar{Kind: history.Int, N: r.Int64N(3)}
			}
		}
		eval := func(text string) Truth {
			p := must.Get(Parse([]byte(text)))(t)
			return p.Eval(row)
		}
		x, y := eval(a), eval(b)
		seen[x]++
		and, or := eval(`{"and":[`+a+","+b+`]}`), eval(`{"or":[`+a+","+b+`]}`)
		must.Hold(t, and == min(x, y) && or == max(x, y), "%s %v, %s %v: and %v, or %v on %v", a, x, b, y, and, or, row)
		must.Hold(t, eval(`{"not":{"and":[`+a+","+b+`]}}`) == max(-x, -y) && eval(`{"not":{"not":`+a+`}}`) == x,
			"%s, %s: De Morgan fails on %v", a, b, row)
	}
	must.Equal(t, len(seen), 3, "truth values seen: %v", seen)
}
