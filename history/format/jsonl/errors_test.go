package jsonl

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"isovet/history"
)

// Every kind of bad input that the contract names, and malformed JSON: file, line, field, what was found, what was
// expected. Each is read as it stands, and behind a hundred good lines, where the scanner meets it first.
var badInput = []struct{ doc, want string }{
	{"", `1: the file is empty; expected a header or a transaction`},
	{"\n \n", `1: the file is empty; expected a header or a transaction`},
	// headers
	{`{"format":"other","version":1}`, `1: field "format": unknown format "other"; expected "isovet-history"`},
	{`{"format":7,"version":1}`, `1: field "format": the number 7; expected a string`},
	{`{"format":"isovet-history"}`, `1: field "version": missing; expected 1`},
	{`{"format":"isovet-history","version":2}`, `1: field "version": unknown version 2; expected 1`},
	{`{"format":"isovet-history","version":"1"}`, `1: field "version": a string; expected an integer`},
	{`{"format":"isovet-history","version":1,"version":1}`, `1: field "version": given twice`},
	{`{"format":"isovet-history","version":1,"model":"set"}`,
		`1: field "model": unknown model "set"; expected "register" or "list"`},
	{`{"format":"isovet-history","version":1,"initial":[0]}`,
		`1: field "initial": an array; expected null, an integer, a string, a boolean or a row (an object)`},
	{`{"format":"isovet-history","version":1,"initial":0.5}`,
		`1: field "initial": the number 0.5; expected an integer`},
	{`{"format":"isovet-history","version":1,"db":3}`, `1: field "db": the number 3; expected a string`},
	{`{"format":"isovet-history","version":1} x`,
		`1: malformed JSON at byte 41 of the line: found 'x'; expected the end of the line after its object`},
	{"\n{\"id\":1,\"ops\":[]}\n\n{\"format\":\"isovet-history\",\"version\":1}",
		`4: field "format": a header in line 4; expected it in the first line only`},
	{"{\"format\":\"isovet-history\",\"version\":1}\n{\"version\":1,\"f\\u006frmat\":\"isovet-history\"}",
		`2: field "format": a header in line 2; expected it in the first line only`},
	// rows of predicates
	{`{"id":1,"ops":[["pr",{"":{"=":5}},[["x",5],["x",5]]]]}`,
		`1: field "ops": a "pr" operation names the row "x" = 5 twice; expected each row that matched once`},
	{`{"id":1,"ops":[["pr",{"v":{"=":5}},[["x",{"v":5}],["y",{"v":5}],["x",{"v":6}],["x",{"v":5}]]]]}`,
		`1: field "ops": a "pr" operation names the row "x" = {"v":5} twice; expected each row that matched once`},
	{`{"id":1,"ops":[["pw",{"":{"=":5}},[["x",5,6],["y",5,6],["x",5,7]]]]}`,
		`1: field "ops": a "pw" operation names the row "x" twice; expected each row that matched once`},
	{`{"id":1,"ops":[["pw",{"":{"=":5}},[["x",5,6],["x",6,7]]]]}`,
		`1: field "ops": a "pw" operation names the row "x" twice; expected each row that matched once`},
	{`{"id":1,"ops":[["pw",{"":{"=":5}},[["x",7],["x",5,6]]]]}`,
		`1: field "ops": a "pw" operation names the row "x" twice; expected each row that matched once`},
	// malformed JSON
	{`x`, `1: malformed JSON at byte 1 of the line: found 'x'; expected an object: '{'`},
	{`[1]`, `1: malformed JSON at byte 1 of the line: found '['; expected an object: '{'`},
	{`{`, `1: malformed JSON at byte 2 of the line: found the end of the line; expected a field's name: '"'`},
	{`{"id":1`, `1: field "id": malformed JSON at byte 8 of the line: found the end of the line; expected ',' or '}'`},
	{`{"id":1,}`, `1: field "id": malformed JSON at byte 9 of the line: found '}'; expected a field's name: '"'`},
	{`{"id" 1}`, `1: malformed JSON at byte 7 of the line: found '1'; expected ':'`},
	{`{id:1}`, `1: malformed JSON at byte 2 of the line: found 'i'; expected a field's name: '"'`},
	{`{"id":1 "ops":[]}`, `1: field "id": malformed JSON at byte 9 of the line: found '"'; expected ',' or '}'`},
	{`{"id":1,"ops":[]`, `1: field "ops": malformed JSON at byte 17 of the line: found the end of the line; expected ',' or '}'`},
	{`{"id":1,"ops":[]}}`, `1: malformed JSON at byte 18 of the line: found '}'; expected the end of the line after its object`},
	{`{"id":1,"ops":[]} {"id":2,"ops":[]}`,
		`1: malformed JSON at byte 19 of the line: found '{'; expected the end of the line after its object`},
	{`{"id":1,"ops":[["r","x",1]`, `1: field "ops[0]": malformed JSON at byte 27 of the line: found the end of the line; expected ',' or ']'`},
	{`{"id":1,"ops":[["r","x",1],]}`, `1: field "ops[1]": malformed JSON at byte 28 of the line: found ']'; expected a value`},
	{`{"id":1,"ops":[["r","x" 1]]}`, `1: field "ops[0][1]": malformed JSON at byte 25 of the line: found '1'; expected ',' or ']'`},
	{`{"id":1,"ops":[["r","x`, `1: field "ops[0][1]": malformed JSON at byte 23 of the line: found the end of the line; expected '"'`},
	{`{"id":1,"ops":[["r","x\q",1]]}`, `1: field "ops[0][1]": malformed JSON at byte 24 of the line: found 'q'; expected an escape sequence`},
	{`{"id":1,"ops":[["r","x\u12",1]]}`,
		`1: field "ops[0][1]": malformed JSON at byte 27 of the line: found '"'; expected a hexadecimal digit`},
	{`{"id":1,"ops":[["r","\ud800",1]]}`,
		`1: field "ops[0][1]": half of a surrogate pair in a string; expected both halves`},
	{"{\"id\":1,\"ops\":[[\"r\",\"a\tb\",1]]}",
		`1: field "ops[0][1]": malformed JSON at byte 23 of the line: found '\t'; expected '"' or an escape sequence: control characters are not allowed in strings`},
	{"{\"id\":1,\"ops\":[[\"r\",\"\xff\",1]]}", `1: field "ops[0][1]": a string is not valid UTF-8`},
	{`{"id":01,"ops":[]}`, `1: field "id": malformed JSON at byte 8 of the line: found '1'; expected ',' or '}'`},
	{`{"id":1,"ops":[["r","x",-]]}`, `1: field "ops[0][2]": malformed JSON at byte 26 of the line: found ']'; expected a digit`},
	{`{"id":1,"ops":[["r","x",nul]]}`, `1: field "ops[0][2]": malformed JSON at byte 28 of the line: found ']'; expected null`},
	{`{"id":1,"ops":[["r","x",True]]}`, `1: field "ops[0][2]": malformed JSON at byte 25 of the line: found 'T'; expected a value`},
	{`{"id":1,"z":[1,2}`, `1: field "z": malformed JSON at byte 17 of the line: found '}'; expected ',' or ']'`},
	{`{"id":1,"z":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `,"ops":[]}`,
		`1: field "z": nested more than 1000 deep; expected less`},
	// fields
	{`{"id":1}`, `1: field "ops": missing; expected an array of operations`},
	{`{"id":1,"id":1,"ops":[]}`, `1: field "id": given twice`},
	{`{"ops":[["r","x",1]],"ops":[]}`, `1: field "ops": given twice`},
	{`{"id":"1","ops":[]}`, `1: field "id": a string; expected an integer`},
	{`{"id":1.0,"ops":[]}`, `1: field "id": the number 1.0; expected an integer`},
	{`{"id":1e3,"ops":[]}`, `1: field "id": the number 1e3; expected an integer`},
	{`{"id":null,"ops":[]}`, `1: field "id": null; expected an integer`},
	{`{"id":9223372036854775808,"ops":[]}`,
		`1: field "id": integer 9223372036854775808 is out of range; expected one of 64 bits, -9223372036854775808 to 9223372036854775807`},
	{`{"id":-99999999999999999999999999999999999999999999999,"ops":[]}`,
		`1: field "id": integer -999999999999999999999999999999999999999… (48 characters) is out of range; expected one of 64 bits, -9223372036854775808 to 9223372036854775807`},
	{`{"session":"a","ops":[]}`, `1: field "session": a string; expected an integer`},
	{`{"session":-9223372036854775808,"ops":[]}`,
		`1: field "session": integer -9223372036854775808 is out of range; expected more than that`},
	{`{"session":1,"seq":true,"ops":[]}`, `1: field "seq": true; expected an integer`},
	{`{"start":{},"ops":[]}`, `1: field "start": an object; expected an integer`},
	{`{"end":[],"ops":[]}`, `1: field "end": an array; expected an integer`},
	{`{"commit":1.5,"ops":[]}`, `1: field "commit": the number 1.5; expected an integer`},
	{`{"start_ts":"5","ops":[]}`, `1: field "start_ts": a string; expected an integer`},
	{`{"commit_ts":false,"ops":[]}`, `1: field "commit_ts": false; expected an integer`},
	{`{"status":"ok","ops":[]}`, `1: field "status": unknown status "ok"; expected "committed", "aborted" or "unknown"`},
	{`{"status":1,"ops":[]}`, `1: field "status": the number 1; expected a string`},
	{`{"init":1,"ops":[]}`, `1: field "init": the number 1; expected true or false`},
	{`{"node":5,"ops":[]}`, `1: field "node": the number 5; expected a string`},
	{`{"name":null,"ops":[]}`, `1: field "name": null; expected a string`},
	{`{"ops":{}}`, `1: field "ops": an object; expected an array of operations`},
	{`{"ops":null}`, `1: field "ops": null; expected an array of operations`},
	// operations
	{`{"ops":[1]}`, `1: field "ops[0]": the number 1; expected an operation: an array ["r", key, value]`},
	{`{"ops":[[]]}`, `1: field "ops[0]": an empty array; expected an operation: ["r", key, value]`},
	{`{"ops":[["r"]]}`, `1: field "ops[0]": number of elements is 1; expected 3, or 5 with the operation's start and end times`},
	{`{"ops":[["r","x"]]}`, `1: field "ops[0]": number of elements is 2; expected 3, or 5 with the operation's start and end times`},
	{`{"ops":[["r","x",1,2]]}`, `1: field "ops[0]": number of elements is 4; expected 3, or 5 with the operation's start and end times`},
	{`{"ops":[["r","x",1,2,3,4]]}`, `1: field "ops[0]": number of elements is 6; expected 3, or 5 with the operation's start and end times`},
	{`{"ops":[["x","x",1]]}`, `1: field "ops[0][0]": unknown operation "x"; expected "r", "w", "a", "pr" or "pw"`},
	{`{"ops":[[1,"x",1]]}`, `1: field "ops[0][0]": the number 1; expected the operation's kind: "r", "w", "a", "pr" or "pw"`},
	{`{"ops":[["r",1.5,1]]}`, `1: field "ops[0][1]": the number 1.5; expected an integer`},
	{`{"ops":[["r",null,1]]}`, `1: field "ops[0][1]": null; expected a key: a string or an integer`},
	{`{"ops":[["r",["x"],1]]}`, `1: field "ops[0][1]": an array; expected a key: a string or an integer`},
	{`{"ops":[["r","x",1.5]]}`, `1: field "ops[0][2]": the number 1.5; expected an integer`},
	{`{"ops":[["w","x",1],["w","x",9223372036854775808]]}`,
		`1: field "ops[1][2]": integer 9223372036854775808 is out of range; expected one of 64 bits, -9223372036854775808 to 9223372036854775807`},
	{`{"ops":[["w","x",[1]]]}`, `1: field "ops[0][2]": an array; expected null, an integer, a string, a boolean or a row (an object)`},
	{`{"ops":[["a","x",{"v":1}]]}`, `1: field "ops[0][2]": an object; expected an element: null, an integer, a string or a boolean`},
	{`{"ops":[["a","x",[1]]]}`, `1: field "ops[0][2]": an array; expected an element: null, an integer, a string or a boolean`},
	{`{"ops":[["r","x",[1,[2]]]]}`, `1: field "ops[0][2][1]": an array; expected an element: null, an integer, a string or a boolean`},
	{`{"ops":[["r","x",[1,{"v":2}]]]}`, `1: field "ops[0][2][1]": an object; expected an element: null, an integer, a string or a boolean`},
	{`{"ops":[["r","x",{"v":{"w":1}}]]}`,
		`1: field "ops[0][2].v": an object; expected a column's value: null, an integer, a string or a boolean`},
	{`{"ops":[["r","x",{"v":[1]}]]}`, `1: field "ops[0][2].v": an array; expected a column's value: null, an integer, a string or a boolean`},
	{`{"ops":[["r","x",{"v":1.5}]]}`, `1: field "ops[0][2].v": the number 1.5; expected an integer`},
	{`{"ops":[["r","x",{"v":1,"w":2,"v":3}]]}`,
		`1: field "ops[0][2]": column "v" of a row is given twice; expected each once`},
	{`{"ops":[["r","x",{"v":1,"\u0076":3}]]}`,
		`1: field "ops[0][2]": column "v" of a row is given twice; expected each once`},
	{`{"ops":[["r","x",{"v":1,}]]}`, `1: field "ops[0][2]": malformed JSON at byte 25 of the line: found '}'; expected a column's name: '"'`},
	{`{"ops":[["r","x",1,"a",2]]}`, `1: field "ops[0][3]": a string; expected an integer`},
	{`{"ops":[["r","x",1,20,10]]}`, `1: field "ops[0][4]": the operation ends at 10, before its start at 20`},
	{`{"ops":[["r","x",1],["w","x",1,20,10.5]]}`, `1: field "ops[1][4]": the number 10.5; expected an integer`},
	// predicates
	{`{"ops":[["pr",1,[]]]}`, `1: field "ops[0][1]": the number 1; expected a predicate: an object {column: {comparison: value}}`},
	{`{"ops":[["pr",{"v":1},[]]]}`, `1: field "ops[0][1].v": the number 1; expected a comparison: an object such as {"=": 1}`},
	{`{"ops":[["pr",{"v":{}},[]]]}`, `1: field "ops[0][1].v": an empty comparison; expected "=", "!=", "<", "<=", ">", ">=" or "in"`},
	{`{"ops":[["pr",{"v":{"~":1}},[]]]}`,
		`1: field "ops[0][1].v": unknown comparison "~"; expected "=", "!=", "<", "<=", ">", ">=" or "in"`},
	{`{"ops":[["pr",{"v":{"=":[1]}},[]]]}`,
		`1: field "ops[0][1].v.=": an array; expected null, an integer, a string or a boolean`},
	{`{"ops":[["pr",{"v":{"=":1.5}},[]]]}`, `1: field "ops[0][1].v.=": the number 1.5; expected an integer`},
	{`{"ops":[["pr",{"v":{"=":1,"=":2}},[]]]}`,
		`1: field "ops[0][1].v": "=" is given twice in one object of a predicate; expected it once`},
	{`{"ops":[["pr",{"v":{"=":1},"v":{"=":2}},[]]]}`,
		`1: field "ops[0][1]": "v" is given twice in one object of a predicate; expected it once`},
	{`{"ops":[["pr",{"v":{"in":1}},[]]]}`, `1: field "ops[0][1].v.in": the number 1; expected an array of values`},
	{`{"ops":[["pr",{"v":{"in":[1,{}]}},[]]]}`,
		`1: field "ops[0][1].v.in[1]": an object; expected null, an integer, a string or a boolean`},
	{`{"ops":[["pr",{"or":{"v":{"=":1}}},[]]]}`, `1: field "ops[0][1].or": an object; expected an array of predicates`},
	{`{"ops":[["pr",{"and":[{"v":{"=":1}},1]},[]]]}`,
		`1: field "ops[0][1].and[1]": the number 1; expected a predicate: an object {column: {comparison: value}}`},
	{`{"ops":[["pr",{"not":[]},[]]]}`, `1: field "ops[0][1].not": an array; expected a predicate: an object {column: {comparison: value}}`},
	{`{"ops":[["pr",{"not":{"":{"<":{}}}},[]]]}`,
		`1: field "ops[0][1].not.\"\".<": an object; expected null, an integer, a string or a boolean`},
	{`{"ops":[["pr",` + strings.Repeat(`{"not":`, 2000) + `{}` + strings.Repeat("}", 2000) + `,[]]]}`,
		`1: field "ops[0][1].not.not.not.not.not.not.not.not.not.not…": a predicate nested more than 1000 deep; expected less`},
	{`{"ops":[["pr",{},1]]}`, `1: field "ops[0][2]": the number 1; expected an array of rows [key, value]`},
	{`{"ops":[["pr",{},[1]]]}`, `1: field "ops[0][2][0]": the number 1; expected a row [key, value]`},
	{`{"ops":[["pr",{},[["x"]]]]}`, `1: field "ops[0][2][0]": number of elements is 1; expected [key, value]`},
	{`{"ops":[["pr",{},[["x",1,2]]]]}`, `1: field "ops[0][2][0]": number of elements is 3; expected [key, value]`},
	{`{"ops":[["pr",{},[[null,1]]]]}`, `1: field "ops[0][2][0][0]": null; expected a key: a string or an integer`},
	{`{"ops":[["pw",{},[["x",1,2,3]]]]}`,
		`1: field "ops[0][2][0]": number of elements is 4; expected [key, old, new] or [key, new]`},
	{`{"ops":[["pw",{},[["x",1,2.5]]]]}`, `1: field "ops[0][2][0][2]": the number 2.5; expected an integer`},
	{`{"ops":[["pr",{}]]}`, `1: field "ops[0]": number of elements is 2; expected 3, or 5 with the operation's start and end times`},
	// transactions
	{"{\"id\":5,\"ops\":[]}\n{\"id\":5,\"ops\":[]}",
		`2: field "id": transaction id 5 occurs twice, first in line 1; expected unique ids`},
	{"{\"id\":5,\"ops\":[]}\n{\"id\":7,\"ops\":[]}\n{\"id\":6,\"ops\":[]}\n{\"id\":5,\"ops\":[]}",
		`4: field "id": transaction id 5 occurs twice, first in line 1; expected unique ids`},
	{"{\"id\":1,\"ops\":[]}\n{\"ops\":[]}",
		`2: field "id": transaction id 1 occurs twice, first in line 1 (a transaction without id is named by its ordinal); expected unique ids`},
	{"{\"id\":1001,\"session\":1,\"seq\":0,\"ops\":[]}\n{\"id\":1002,\"session\":1,\"seq\":2,\"ops\":[]}",
		`2: field "seq": gap in session 1: seq 2; expected 1`},
	{"{\"id\":1001,\"session\":1,\"seq\":0,\"ops\":[]}\n{\"id\":1002,\"session\":1,\"seq\":0,\"ops\":[]}",
		`2: field "seq": seq 0 occurs twice in session 1; expected 1`},
	{"{\"id\":1001,\"session\":1,\"seq\":1,\"ops\":[]}", `1: field "seq": gap in session 1: seq 1; expected 0`},
	{"{\"id\":1001,\"session\":1,\"seq\":0,\"ops\":[]}\n{\"id\":1002,\"session\":1,\"ops\":[]}",
		`2: field "seq": transaction 1002 has no seq, other transactions of session 1 have; expected all or none`},
	{`{"id":1001,"start":5,"end":4,"ops":[]}`, `1: field "end": transaction 1001 ends at 4, before its start at 5`},
	{`{"id":1001,"start":5,"commit":4,"ops":[]}`,
		`1: field "commit": transaction 1001 commits at 4, before its start at 5`},
	{`{"id":1001,"end":5,"commit":6,"ops":[]}`, `1: field "commit": transaction 1001 commits at 6, after its end at 5`},
	{`{"id":1001,"start_ts":5,"commit_ts":4,"ops":[]}`,
		`1: field "commit_ts": transaction 1001 has commit_ts 4, before its start_ts 5`},
	{"{\"id\":1001,\"init\":true,\"ops\":[]}\n{\"id\":1002,\"init\":true,\"ops\":[]}",
		`2: field "init": a second initial transaction (the first is transaction 1001)`},
	{`{"id":1001,"init":true,"status":"aborted","ops":[]}`,
		`1: field "status": the initial transaction is aborted; expected committed`},
	{`{"id":1001,"init":true,"ops":[["r","x",1]]}`,
		`1: field "ops": the initial transaction has a "r" operation; expected only writes`},
	{"{\"id\":1001,\"ops\":[[\"a\",\"x\",1]]}\n{\"id\":1002,\"ops\":[[\"w\",\"x\",1]]}",
		`1: field "ops": key "x" is used as a list and as a register; expected one of them`},
	{"{\"id\":1001,\"ops\":[[\"r\",\"x\",[1]],[\"r\",\"x\",1]]}",
		`1: field "ops": key "x" is used as a list and as a register; expected one of them`},
}

func TestBadInput(t *testing.T) {
	const goodLine = `{"id":-1%03d,"session":99,"ops":[["r","k",1],["w","k",2]]}` + "\n"
	good := ""
	for i := range 100 {
		good += fmt.Sprintf(goodLine, i+1)
	}
	for _, c := range badInput {
		_, err := Read([]byte(c.doc), "f.jsonl")
		if err == nil {
			t.Errorf("%.200s: no error; want %s", c.doc, c.want)
			continue
		}
		if _, ok := errors.AsType[*history.InputError](err); !ok {
			t.Errorf("%.200s: error of type %T", c.doc, err)
		}
		if got := strings.TrimPrefix(err.Error(), "f.jsonl:"); got != c.want {
			t.Errorf("%.200s:\ngot  %s\nwant %s", c.doc, got, c.want)
		}
		if strings.Contains(c.doc, "format") || strings.TrimSpace(c.doc) == "" || strings.Contains(c.want, "ordinal") {
			continue // it is about the first line, or would be no error
		}
		// Behind good lines, and with some before the end, the scanner has the line first.
		_, err = Read([]byte(good+c.doc+"\n"+strings.Repeat("\n", scanMargin)), "f.jsonl")
		in, ok := errors.AsType[*history.InputError](err)
		if !ok {
			t.Errorf("%.200s: behind good lines: %v", c.doc, err)
			continue
		}
		if got := fmt.Sprintf("%d:", in.Line-100); !strings.HasPrefix(c.want, got) ||
			!strings.Contains(c.want, strings.ReplaceAll(in.Msg, "first in line 101", "first in line 1")) {
			t.Errorf("%.200s: behind good lines: %v; want %s", c.doc, in, c.want)
		}
	}
}
