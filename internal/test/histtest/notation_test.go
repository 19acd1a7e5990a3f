package histtest_test

import (
	"fmt"
	"testing"

	"isovet/history"
	"isovet/internal/test/histtest/diff"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
)

func Example_notation() {
	h, err := notation.Parse("init: w(x,0) w(y,0) | " +
		"s1: r(x,0) w(x,1) @[1,2] | s2: r(x,1)! | s1: pr{\"\":{\"=\":1}}[x=1] w(y,_)?")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(h.NumTxns(), "transactions,", h.NumOps(), "operations,", h.NumSessions()-1, "sessions beside init")
	for t, id := range h.Txns.ID {
		fmt.Println(id, h.Txns.Status[t])
	}
	fmt.Println(notation.Format(h))
	// Output:
	// 4 transactions, 7 operations, 2 sessions beside init
	// 0 committed
	// 1 committed
	// 2 aborted
	// 3 unknown
	// init: w(x,0) w(y,0) | s1: r(x,0) w(x,1) @[1,2] | s2: r(x,1) ! | s1: pr{"":{"=":1}}[x=1] w(y,_) ?
}

func Example_notationFormat() {
	fmt.Println(notation.Format(notation.MustParse(`init=0: s2: r(x,0,5,6) ts[3,_] | s1/9: w("a b",{"v":1,"u":null})`)))
	// Output: init=0: s2: r(x,0,5,6) ts[3,_] | s1/9: w("a b",{"u":null,"v":1})
}

// What is written in canonical form comes back as it was.
func TestNotationFormatIsInverse(t *testing.T) {
	for _, text := range []string{
		"",
		"init=0:",
		"s1:",
		"s1: r(x,0)",
		"s-3: r(-1,-5) w(7,true) r(7,false)",
		"_: r(x,_) | _: w(x,1) | s1: r(x,1)",
		`s1: w("a b","true") r("","") w(x,abc) r(x,"a b")`,
		`s1: w(x,"null") w(x,"_") w(x,"false") r(x,_)`,
		"s1: a(x,1) r(x,[]) r(x,[1,2]) | s2: r(x,[1,_,true,abc])",
		"s1: r(x,1) @[1,2] | s1: r(x,1) @[1,2,3] | s1: r(x,1) @[_,2] | s1: @[_,2,_] | s2: ? @[1,_]",
		"s1: r(x,1) ts[1,2] | s2: ! @[1,2] ts[-1,_]",
		"s1: w(x,1,3,4) r(x,1) r(y,2,5,_) r(z,[],1,2)",
		`s1: pr{}[] | s2: pr{"v":{">":5,"in":[1,"b"]}}[x={"v":6},y={"u":null,"v":7}](1,2)`,
		`s1: pw{"not":{"":{"=":1}}}[x=1->2,y->_] w(z,0)`,
		`init=0: s1: r(x,0)`,
		`init={"a":1}: init/7: w(x,1) | s1/8: r(x,1) | s1: r(x,1)`,
	} {
		h, err := notation.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		must.Equal(t, notation.Format(h), text, "written again")
	}
}

func TestNotationParseErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"s: r(x,1)", `notation:byte 1: found ':'; expected a session's number`},
		{"s1 r(x,1)", `notation:byte 3: found 'r'; expected ":"`},
		{"s1: r(x)", `notation:byte 7: found ')'; expected ","`},
		{"s1: r(x,)", `notation:byte 8: found ')'; expected a value: an integer, "_", a word, a string or a row {…}`},
		{"s1: q(x,1)", `notation:byte 4: found 'q'; expected an operation such as r(x,1), or a mark: "!", "?", "@[1,2]", "ts[1,2]"`},
		{"s1: r(x,1) |", `notation:byte 12: found the end; expected a transaction: "s1:", "_:" or "init:"`},
		{"s1: r(x,99999999999999999999)",
			`notation:byte 8: 99999999999999999999 is out of range; expected an integer of 64 bits`},
		{"s1: @[2,1]", `notation: field "end": transaction 1 ends at 1, before its start at 2`},
		{"s1: r(x,1,2,1)", `notation:byte 10: the operation ends at 1, before its start at 2`},
		{"s1/4: | s2/4:", `notation: field "id": transaction id 4 occurs twice, first in line 0; expected unique ids`},
		{`s1: w(x,{"v":[1]})`, `notation:byte 17: column "v" of a row is no scalar; expected null, an integer, a string or a boolean`},
		{`s1: w(x,{"v":1.5})`, `notation:byte 17: column "v" of a row is 1.5; expected an integer of 64 bits`},
		{`s1: pr[x=1]`, `notation:byte 6: found '['; expected a predicate: a JSON object`},
		{"s1: a(x,1) w(x,2)", `notation: field "ops": key "x" is used as a list and as a register; expected one of them`},
	} {
		_, err := notation.Parse(c.text)
		if err == nil {
			t.Errorf("%s: no error; want %s", c.text, c.want)
		} else if err.Error() != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.text, err, c.want)
		}
	}
}

// Format(Parse(Format(h))) keeps random histories as they are, but for the texts that the notation has no place for.
func TestNotationRoundTripRandom(t *testing.T) {
	for seed := range uint64(2000) {
		h := random.Anything(seed, false)
		h.Meta, h.Txns.Node, h.Txns.Name = history.Meta{}, nil, nil
		text := notation.Format(h)
		g, err := notation.Parse(text)
		must.OK(t, err, "seed %d: %s", seed, text)
		must.Equal(t, notation.Format(g), text, "seed %d: written again", seed)
		diff.Same(t, h, g, "seed %d\n%s", seed, text)
	}
}
