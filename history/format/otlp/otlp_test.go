package otlp

import (
	"slices"
	"strings"
	"testing"

	"isovet/history/format/jsonl"
	"isovet/internal/test/histtest/diff"
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

func TestRead(t *testing.T) {
	got, passed, err := Read([]byte(trace), "f")
	must.OK(t, err)
	want := must.Get(jsonl.Read([]byte(told), "f"))(t)
	if d := diff.Histories(got, want); d != "" || passed != 1 {
		t.Errorf("%d spans passed over; %s", passed, d)
	}
	// They stand in the order in which they began.
	if want := []uint32{7, 2, 18}; !slices.Equal(got.Txns.Line, want) {
		t.Errorf("lines %d, want %d", got.Txns.Line, want)
	}
	if !Is([]byte(trace)) || Is([]byte(told)) || Is(nil) {
		t.Error("told by its beginning: wrong")
	}
}

// TestBad: what is wrong is reported with the line of its span, or of its trace where that is no JSON.
func TestBad(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{`"endTimeUnixNano":"40",`, ``, "f:2: span b2: startTimeUnixNano or endTimeUnixNano"},
		{`"endTimeUnixNano":"30"`, `"endTimeUnixNano":"5"`, "f:7: span a1: "},
		{`isovet.node`, `isovet.nod`, "f:7: span a1: attribute isovet.nod is not known"},
		{`[[\"r\",\"x\",1], [\"w\",\"x\",3]]`, `[[\"q\",\"x\",1]]`, "f:2: span b2: field \"ops"},
		{`[[\"r\",\"x\",1], [\"w\",\"x\",3]]`, `x`, "f:2: span b2: attribute isovet.ops"},
		{`"isovet.delete"`, `"isovet.drop"`, "f:7: span a1: event isovet.drop: not known"},
		{`{"intValue":"25"}`, `{"intValue":"2x"}`, "f:6: no trace"},
		{`{"code":2}`, `{"code":2`, "f:6: no trace"},
	} {
		text := strings.Replace(trace, c.from, c.to, 1)
		if _, _, err := Read([]byte(text), "f"); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v; want %s", c.to, err, c.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(trace))
	f.Fuzz(func(t *testing.T, data []byte) { _, _, _ = Read(data, "f") })
}
