package jsonl

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"isovet/internal/test/histtest/diff"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// pick returns one of several, at random.
func pick(r *rand.Rand, of ...string) string { return of[r.IntN(len(of))] }

// predicateText is the text of a predicate operation, mostly as we write them, sometimes odd or wrong; the rows are of
// few keys and values, so that they repeat.
func predicateText(r *rand.Rand) string {
	odd := func(plain string, others ...string) string {
		if r.IntN(25) > 0 {
			return plain
		}
		return pick(r, others...)
	}
	scalar := func() string {
		return odd(fmt.Sprint(r.IntN(30)-3), "null", "true", "false", `"s"`, `"\u0041"`, `"é"`, "-0", "01", "1.0", "1e2",
			"9223372036854775807", "-9223372036854775808", "9223372036854775808", "{", "[1]", "")
	}
	value := func() string {
		if r.IntN(8) == 0 {
			return scalar()
		}
		a := fmt.Sprint(r.IntN(4))
		return odd(`{"a":`+a+`,"b":1}`, `{"a":`+a+`}`, `{"b":1,"a":`+a+`}`, `{ "a":1}`, `{}`, `{"a":1,"a":1}`,
			`{"a":`+a+`,"b":1}}`, `{"a":{}}`, `{"a":`+scalar()+`}`)
	}
	comparison := func() string {
		return odd(pick(r, `{"<":5,">=":`+scalar()+`}`, `{"=":`+scalar()+`}`, `{"!=":`+scalar()+`}`),
			`{">=":1,"<":2}`, `{"<":1,"<":2}`, `{}`, `{"in":[1,2]}`, `{"~":1}`, `{"=": 1}`, `{"=":1,}`, `1`)
	}
	pred := odd(`{"a":`+comparison()+`}`, `{"a":`+comparison()+`,"b":`+comparison()+`}`, `{}`,
		`{"b":`+comparison()+`,"a":`+comparison()+`}`, `{"a":{"=":1},"a":{"=":1}}`, `{"not":{"a":{"=":1}}}`,
		`{"or":[{"a":{"=":1}},{"b":{"<":2}}]}`, `{"and":1}`, `{"":{"=":1},"key":{">":0}}`, `[]`, `{"a":1}`)
	var rows []string
	kind := odd(pick(r, "pr", "pw"), "px", "p")
	for range r.IntN(5) {
		row := odd(fmt.Sprint(r.IntN(4)), `"k"`, `"k\n"`, "null", "1.5", "{}") + "," + value()
		if kind == "pw" && r.IntN(5) > 0 || r.IntN(60) == 0 {
			row += "," + value()
		}
		rows = append(rows, odd("["+row+"]", "["+row, "[ "+row+" ]", "[]", "[1]", row))
	}
	times := odd("", ",3,4", ",4,3", ",null,4", ",3", ",3,4,5")
	return odd(`["`+kind+`",`+pred+",["+strings.Join(rows, ",")+"]"+times+"]",
		`["`+kind+`",`+pred+","+strings.Join(rows, ",")+"]", `["`+kind+`", `+pred+",[]]", `["pr"]`)
}

// TestPredicateScan: the scanner makes of predicate operations what the tolerant reader does, errors and all.
func TestPredicateScan(t *testing.T) {
	good, bad := 0, 0
	randtest.Seeds(t, randtest.Long[uint64](8000, 20_000), func(t testing.TB, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 7))
		var b strings.Builder
		for id := range 1 + r.IntN(3) {
			ops := make([]string, r.IntN(4))
			for i := range ops {
				ops[i] = predicateText(r)
				if r.IntN(4) == 0 {
					ops[i] = fmt.Sprintf(`["w",%d,{"a":%d,"b":1}]`, r.IntN(4), r.IntN(4))
				}
			}
			fmt.Fprintf(&b, "{\"id\":%d,\"ops\":[%s]}\n", id, strings.Join(ops, ","))
		}
		text := b.String()
		text += strings.Repeat(" ", r.IntN(2)*2*scanMargin)
		want, wantErr := readTolerant([]byte(text))
		got, err := Read([]byte(text), "t")
		must.Same(t, fmt.Sprint(err), fmt.Sprint(wantErr), "%s", text)
		if err != nil {
			bad++
			return
		}
		good++
		diff.Same(t, got, want, "%s", text)
	})
	randtest.Mix(t, good < 1000 || bad < 1000, "%d readable, %d not", good, bad)
}

// TestPredicateScanIsTaken: what we write does not need the tolerant reader.
func TestPredicateScanIsTaken(t *testing.T) {
	room := strings.Repeat(" ", scanMargin)
	for _, op := range []string{
		`["pr",{"a":{"<":5,">=":-3},"b":{"=":"x"}},[[1,{"a":4,"b":"x"}],["k",null],[2,7]]]`,
		`["pw",{"":{"!=":true}},[[1,{"a":4},{"a":5}],[2,{"a":4}],[1,{"a":5},null]],17,18]`,
		`["pr",{"or":[{"a":{"=":1}},{"not":{"b":{"in":[1,2]}}}]},[]]`,
	} {
		p := newParser("t")
		if end := p.scanPredicate([]byte(op+room), 0); end != len(op) || p.b.NumOps() != 1 {
			t.Errorf("%s: read up to %d of %d", op, end, len(op))
		}
	}
}
