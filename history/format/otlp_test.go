package format_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"isovet/history"
	"isovet/history/format/jsonl"
	"isovet/history/format/otlp"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/diff"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// trace is a lost update of two spans, exported in the wrong order, in two lines, beside a span that is none of ours.
const trace = `{"resourceSpans":[{"resource":{},"scopeSpans":[{"scope":{"name":"app"},"spans":[
 {"spanId":"b2","name":"add","startTimeUnixNano":"20","endTimeUnixNano":"40","attributes":[
   {"key":"isovet.session","value":{"stringValue":"client b"}},
   {"key":"isovet.ops","value":{"stringValue":"[[\"r\",\"x\",1], [\"w\",\"x\",3]]"}}]},
 {"spanId":"c3","name":"HTTP GET","startTimeUnixNano":"1","endTimeUnixNano":"2"}]}]}]}
{"resourceSpans":[{"scopeSpans":[{"spans":[
 {"spanId":"a1","name":"add","startTimeUnixNano":10,"endTimeUnixNano":"30","attributes":[
   {"key":"isovet.session","value":{"stringValue":"client a"}},{"key":"isovet.node","value":{"stringValue":"n1"}},
   {"key":"isovet.commit","value":{"intValue":"25"}}],
  "events":[{"name":"isovet.read","attributes":[{"key":"isovet.key","value":{"stringValue":"x"}},
      {"key":"isovet.value","value":{"intValue":"1"}}]},
    {"name":"log"},
    {"name":"isovet.write","attributes":[{"key":"isovet.key","value":{"stringValue":"x"}},
      {"key":"isovet.value","value":{"intValue":2}}]},
    {"name":"isovet.write","attributes":[{"key":"isovet.key","value":{"intValue":"7"}},{"key":"isovet.value",
      "value":{"kvlistValue":{"values":[{"key":"v","value":{"doubleValue":1.5}},{"key":"a","value":{"boolValue":true}}]}}}]},
    {"name":"isovet.delete","attributes":[{"key":"isovet.key","value":{"intValue":"8"}}]}]},
 {"spanId":"d4","name":"late","startTimeUnixNano":"50","endTimeUnixNano":"60","status":{"code":2},"attributes":[
   {"key":"isovet.session","value":{"stringValue":"client a"}}],
  "events":[{"name":"isovet.append","attributes":[{"key":"isovet.key","value":{"stringValue":"l"}},
    {"key":"isovet.value","value":{"bytesValue":"aGk="}}]}]}]}]}]}
`

const told = `{"session":1,"start":10,"commit":25,"end":30,"node":"n1","name":"add","ops":[["r","x",1],["w","x",2],["w",7,{"a":true,"v":"1.5"}],["w",8,null]]}
{"session":0,"start":20,"end":40,"name":"add","ops":[["r","x",1],["w","x",3]]}
{"session":1,"start":50,"status":"unknown","name":"late","ops":[["a","l","hi"]]}
`

// An exporter may send a span twice, and the program may drop events of a span that says its operations otherwise.
func TestOtlpRead(t *testing.T) {
	text := strings.Replace(trace, `"b2",`, `"b2","droppedEventsCount":3,`, 1)
	_, again, _ := strings.Cut(text, "\n{")
	got, passed, err := otlp.Read([]byte(text+"{"+again), "f")
	must.OK(t, err)
	want := must.Get(jsonl.Read([]byte(told), "f"))(t)
	if d := diff.Histories(got, want); d != "" || passed != 1 {
		t.Errorf("%d spans passed over; %s", passed, d)
	}
	// They stand in the order in which they began.
	must.Equal(t, fmt.Sprint(got.Txns.Line), "[7 2 18]", "lines")
	must.Be(t, otlp.Is([]byte(trace)) && !otlp.Is([]byte(told)) && !otlp.Is(nil), "told by its beginning: wrong")
}

// TestOtlpUnusual: what ProtoJSON allows is read, and what says two things is refused.
func TestOtlpUnusual(t *testing.T) {
	text := func(value, more string) string {
		return `{"resourceSpans":[null,{"scopeSpans":[{"spans":[{"spanId":"a1","name":null,"status":null,"startTimeUnixNano":` +
			`"10","endTimeUnixNano":"30","attributes":[null,{"key":"isovet.session","value":{"intValue":1}}` + more +
			`],"events":[{"name":"isovet.write","attributes":[{"key":"isovet.key","value":{"intValue":1,"x":0}},` +
			`{"key":"isovet.value","value":` + value + `}]}]}]}]}]}`
	}
	ops := func(s string) string { return `,{"key":"isovet.ops","value":{"stringValue":"` + s + `"}}` }
	for _, c := range []struct{ value, more, want string }{
		{`{"intValue":"7","x":[1]}`, "", "7"}, {`{"doubleValue":"5"}`, "", "5"}, {`{"doubleValue":1.5}`, "", `"1.5"`},
		{"null", "", "null"}, {`{"intValue":1,"boolValue":null}`, "", "1"}, {"{\"stringValue\":\"\xff\"}", "", "\"\ufffd\""},
		{`{"stringValue":"[]"}`, `,{"key":"app","value":3}`, `"[]"`},
		{`{"stringValue":5}`, "", "! f:1: field \"stringValue\": found 5; expected a text"},
		{`{"doubleValue":"x"}`, "", "! f:1: field \"doubleValue\": found x; expected a number"},
		{`{"intValue":1,"stringValue":"x"}`, "", "! f:1: field \"value\": found a second value"},
		{"null", ops("[[\\\"w\\\",\\\"a\nb\\\",1]]"), "! f:1: field \"ops"},
		{"null", `,{"key":"isovet.ops","value":{"intValue":1}}`, `! f:1: span a1: attribute isovet.ops: found "1"`},
	} {
		h, _, err := otlp.Read([]byte(text(c.value, c.more)), "f")
		if want, bad := strings.CutPrefix(c.want, "! "); bad {
			must.Be(t, err != nil && strings.HasPrefix(err.Error(), want),
				"%s %s: %v; want %s", c.value, c.more, err, want)
			continue
		}
		must.OK(t, err)
		if got := h.ValueString(h.Ops.Ver[h.NumOps()-1]); got != c.want || h.NumOps() != 1 {
			t.Errorf("%s: %s; want %s", c.value, got, c.want)
		}
	}
}

// TestOtlpBad: what is wrong is reported with its line, or that of its span.
func TestOtlpBad(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{`"endTimeUnixNano":"40"`, `"startTimeUnixNano":"40"`, "f:2: span b2: startTimeUnixNano or endTimeUnixNano"},
		{`"spanId":"a1"`, `"spanId":"a1","droppedEventsCount":7`, "f:7: span a1: its program dropped 0 attributes and 7 ev"},
		{`"spanId":"b2"`, `"spanId":"b2","droppedAttributesCount":1`, "f:2: span b2: its program dropped 1 attributes"},
		{`"endTimeUnixNano":"30"`, `"endTimeUnixNano":"5"`, "f:7: field \"end\": span a1: "},
		{`isovet.node`, `isovet.nod`, "f:8: span a1: attribute isovet.nod is not known"},
		{`[[\"r\",\"x\",1], [\"w\",\"x\",3]]`, `[[\"q\",\"x\",1]]`, "f:2: field \"ops[0][0]\": span b2: "},
		{`[[\"r\",\"x\",1], [\"w\",\"x\",3]]`, `x`, "f:4: span b2: attribute isovet.ops"},
		{`"isovet.delete"`, `"isovet.drop"`, "f:17: span a1: event isovet.drop: not known"},
		{`{"intValue":"25"}`, `{"intValue":"2x"}`, "f:9: field \"intValue\": found 2x"},
		{`{"code":2}`, `{"code":2`, "f:21: found ]; expected }"},
	} {
		text := strings.Replace(trace, c.from, c.to, 1)
		if _, _, err := otlp.Read([]byte(text), "f"); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v; want %s", c.to, err, c.want)
		}
	}
}

func FuzzOtlpRead(f *testing.F) {
	f.Add([]byte(trace))
	f.Fuzz(func(t *testing.T, data []byte) { _, _, _ = otlp.Read(data, "f") })
}

// TestOtlpRandom: traces are read as the JSON lines are that were made with them. Garbled traces are read or refused.
func TestOtlpRandom(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 16))
	parts := []string{"[", "]", "{", "}", `"`, ",", ":", "0", "-", "null", "true", `"x"`, `\`, `\u00e9`, "é", "\xff", " ",
		"\n", "1.5", "e", `"name":"n"`, `"value":{}`, `"key":"isovet.id"`, `"status":{}`, `"spans":[]`,
		"99999999999999999999", "\x00", `\n`, `\"`}
	for range histtest.Long(2_000, 100_000) {
		var data, lines []byte
		passed, sessions := 0, map[int]int{}
		for i := range 1 + rnd.IntN(4) {
			span, line := made(rnd, i, sessions)
			data = fmt.Appendf(data, `{"resourceSpans":[{"resource":{"attributes":[]},"scopeSpans":[{"scope":{},"spans":[%s,`+
				"\n"+`{"name":"HTTP","attributes":null}]}],"schemaUrl":""}]}%s`, span, [...]string{"\n", "", " "}[rnd.IntN(3)])
			lines = append(lines, line...)
			passed++
		}
		got, none, err := otlp.Read(data, "f")
		must.OK(t, err)
		must.Equal(t, none, passed, "spans passed over")
		diff.Same(t, must.Get(jsonl.Read(lines, "f"))(t), got, "%s\n%s", data, lines)
		_, _, err = otlp.Read(randtest.Garble(rnd, data, parts), "f")
		if err != nil && !strings.HasPrefix(err.Error(), "f:") {
			t.Error(err)
		}
	}
}

// made makes a span that starts at second i, and its line.
func made(rnd *rand.Rand, i int, sessions map[int]int) (span, line string) {
	pick := func(of ...string) string { return of[rnd.IntN(len(of))] }
	attribute := func(key, value string) string {
		if rnd.IntN(4) == 0 {
			return fmt.Sprintf(`{"value":%s,"key":%q}`, value, key)
		}
		return fmt.Sprintf(`{"key":%q,"value":%s}`, key, value)
	}
	// value makes a value, and its JSON in a line.
	value := func() (said, json string) {
		switch rnd.IntN(8) {
		case 0:
			s := pick("x", "", "é", `"`, "a\\b\n", "\x1f", "😀")
			return `{"stringValue":` + quote(s) + "}", quote(s)
		case 1:
			b := pick("true", "false")
			return fmt.Sprintf(`{"boolValue":%s}`, b), b
		case 2:
			return `{"doubleValue":1.5}`, `"1.5"`
		case 3:
			return `{"bytesValue":"aGk="}`, `"hi"`
		case 4:
			return `{"kvlistValue":{"values":[{"key":"v","value":{"intValue":"1"}},{"value":{},"key":"a"}]}}`,
				`{"v":1,"a":null}`
		case 5:
			return pick("{}", `{"stringValue":null}`, `{"other":[1,{"a":null}]}`), "null"
		}
		n := strconv.Itoa(rnd.IntN(5) - 2)
		return fmt.Sprintf(`{"intValue":%s}`, pick(n, quote(n), n)), n
	}
	session := rnd.IntN(3)
	if _, known := sessions[session]; !known {
		sessions[session] = len(sessions)
	}
	said := pick(`[["r","x",1], ["w",2,{"a":"b c"}]]`, ` [ ["w","y",null]`+"\n ] ", "[]", `[["w","a\"b","]"]]`)
	ops := strings.TrimSpace(said)
	ops = strings.ReplaceAll(ops[1:len(ops)-1], "\n", " ")
	attributes := []string{attribute("isovet.session", fmt.Sprintf(`{"intValue":"%d"}`, session)),
		attribute("http.route", `{"arrayValue":{"values":[{"stringValue":"\ud800"}]}}`), attribute("isovet.node",
			`{"stringValue":"n1"}`)}
	if rnd.IntN(3) > 0 {
		attributes = append(attributes, attribute("isovet.ops", `{"stringValue":`+quote(said)+"}"))
	} else {
		ops = ""
	}
	rnd.Shuffle(len(attributes), func(a, b int) { attributes[a], attributes[b] = attributes[b], attributes[a] })
	var events []string
	for range rnd.IntN(3) {
		kind := pick("read", "write", "delete")
		v, json := value()
		list := []string{attribute("isovet.key", `{"stringValue":"k"}`), attribute("isovet.value", v)}
		name := fmt.Sprintf(`"name":"isovet.%s"`, kind)
		attr := `"attributes":[` + strings.Join(list, ",") + "]"
		events = append(events, pick("{"+name+","+attr+"}", "{"+attr+", "+name+`,"timeUnixNano":"5"}`), `{"name":"log"}`)
		if kind == "delete" {
			json = "null"
		}
		if strings.TrimSpace(ops) != "" {
			ops += ","
		}
		ops += fmt.Sprintf(`["%c","k",%s]`, map[string]byte{"read": 'r', "write": 'w', "delete": 'w'}[kind], json)
	}
	start := 1_795_229_138_282_797_876 + int64(i)*1e9
	fields := []string{`"spanId":"0a"`, `"name":"a\"b"`, fmt.Sprintf(`"startTimeUnixNano":"%d"`, start),
		fmt.Sprintf(`"endTimeUnixNano":%d`, start+5), `"attributes":[` + strings.Join(attributes, ",") + "]",
		`"events":[` + strings.Join(events, ", ") + "]"}
	end := fmt.Sprintf(`"end":%d`, start+5)
	if rnd.IntN(4) == 0 {
		fields = append(fields, `"status":{"message":"m","code":`+pick("2", `"STATUS_CODE_ERROR"`)+"}")
		end = `"status":"unknown"`
	}
	rnd.Shuffle(len(fields), func(a, b int) { fields[a], fields[b] = fields[b], fields[a] })
	return "{" + strings.Join(fields, ",") + "}", fmt.Sprintf(`{"session":%d,"start":%d,%s,"name":"a\"b","node":"n1",`+
		`"ops":[%s]}`+"\n", sessions[session], start, end, ops)
}

func quote(text string) string { return string(history.AppendJSONString(nil, text)) }
