package otlp

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/diff"
	"isovet/internal/test/histtest/randtest"
)

// same compares what is plain with what encoding/json makes of it.
func same(t testing.TB, data []byte) (plain bool) {
	t.Helper()
	h, passed, ok := readPlain(data, "f")
	if !ok {
		return false
	}
	want, wantPassed, err := read(data, "f")
	if err != nil {
		t.Fatalf("%q: taken as plain, but: %v", data, err)
	}
	if d := diff.Histories(want, h); d != "" || passed != wantPassed {
		t.Fatalf("%q: %d spans passed over, want %d; %s", data, passed, wantPassed, d)
	}
	if !slices.Equal(h.Txns.Line, want.Txns.Line) {
		t.Fatalf("%q: lines %d, want %d", data, h.Txns.Line, want.Txns.Line)
	}
	return true
}

func FuzzPlain(f *testing.F) {
	f.Add([]byte(trace))
	f.Fuzz(func(t *testing.T, data []byte) { same(t, data) })
}

// TestPlain: plain traces are read as encoding/json reads them, and what it refuses is not taken as plain.
func TestPlain(t *testing.T) {
	if !same(t, []byte(trace)) {
		t.Error("the sample is not plain")
	}
	rnd := rand.New(rand.NewPCG(5, 16))
	pick := func(of ...string) string { return of[rnd.IntN(len(of))] }
	parts := []string{"[", "]", "{", "}", `"`, ",", ":", "0", "-", "null", "true", `"x"`, `\`, `\u00e9`, "é", "\xff", " ",
		"\n", "1.5", "e", `"name":"n"`, `"Name":"n"`, `"value":{}`, `"key":"isovet.id"`, `"status":{}`, `"spans":[]`,
		"99999999999999999999", "\x00", `\n`, `\"`}
	var value func(depth int) string
	value = func(depth int) string {
		switch rnd.IntN(8 + 2*min(depth, 1)) {
		case 0, 1, 2:
			return fmt.Sprintf(`{"intValue":%s}`, pick(`"1"`, "2", `"-3"`, "-4", `"007"`, "0",
				`"9223372036854775807"`, `"9223372036854775808"`))
		case 3, 4:
			return fmt.Sprintf(`{"stringValue":"%s"}`, pick("x", "y", "", "é", `\"`, `a\\nb\n`, `\u0041\ud83d\ude00`, `\ud800`,
				"\xfe", `\/`))
		case 5:
			return fmt.Sprintf(`{"boolValue":%s}`, pick("true", "false"))
		case 6:
			return fmt.Sprintf(`{"doubleValue":%s}`, pick("1.5", "-2", "1e3", "0.0"))
		case 7:
			return pick("{}", `{"bytesValue":"aGk="}`, `{"other":[1,{"a":null}]}`, `{"stringValue":null}`)
		case 8:
			return fmt.Sprintf(`{"arrayValue":{"values":[%s,%s]}}`, value(depth-1), value(depth-1))
		}
		return fmt.Sprintf(`{"kvlistValue":{"values":[{"key":"%s","value":%s},{"value":%s,"key":"b"}]}}`,
			pick("a", "é", `\t`), value(depth-1), value(depth-1))
	}
	attribute := func(key, value string) string { return fmt.Sprintf(`{"key":"%s","value":%s}`, key, value) }
	events := func() string {
		b := []byte(`"events":[`)
		for i := range rnd.IntN(4) {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = fmt.Appendf(b, `{"timeUnixNano":"5","name":"%s","attributes":[%s,%s]}`,
				pick("isovet.read", "isovet.write", "isovet.append", "isovet.delete", "log"),
				attribute("isovet.key", pick(`{"intValue":"1"}`, `{"stringValue":"k"}`, `{"intValue":2}`)),
				attribute("isovet.value", value(rnd.IntN(5)/3)))
		}
		return string(b) + "]"
	}
	span := func() string {
		b := fmt.Appendf(nil, `{"traceId":"00","spanId":"%d","name":"%s","startTimeUnixNano":"%d","endTimeUnixNano":%d`,
			rnd.IntN(100), pick("add", `a\"b`, "é"), int64(rnd.IntN(2))*1_795_229_138_282_797_876+rnd.Int64N(50),
			1_795_229_138_282_797_926+rnd.Int64N(50))
		if rnd.IntN(8) > 0 {
			b = append(b, `,"attributes":[`+attribute("isovet.session", value(0))...)
			if rnd.IntN(2) == 0 {
				ops := pick(`[["r","x",1],["w",2,3]]`, ` [ ["w","y",null]`+"\n ] ", "[]", `[["r","l",[1,2]]]`, `[] ]`, `{}`, `[["r","x",1], ["r", "y", [1, -2]],["a",5,-0]]`,
					`[["w","k k","v"],["a","l",7],["r",007,1]]`, `[["r","l",[]],["w",12,[3,4]]]`, `[["r",1,1.5]]`,
					`[["w",1,{"a":1}]]`, `[["w","é",1]]`, `[["w","a\"b",1]]`, `[["r",1,2],]`, `[["r","l",[1,]]]`)
				b = append(b, ","+attribute("isovet.ops", `{"stringValue":`+strconv.Quote(ops)+"}")...)
			}
			if rnd.IntN(3) == 0 {
				b = append(b, ","+attribute("isovet."+pick("id", "commit", "node", "status", "init", "start_ts"),
					pick(`{"intValue":"60"}`, `{"stringValue":"n1"}`, `{"stringValue":"aborted"}`,
						`{"stringValue":"unknown"}`, `{"boolValue":false}`))...)
			}
			if rnd.IntN(4) == 0 {
				b = append(b, ","+attribute("http.route", value(1))...)
			}
			b = append(b, ']')
		}
		b = append(b, ","+events()...)
		if rnd.IntN(4) == 0 {
			b = append(b, `,"status":{"message":"m","code":`+pick("2", `"STATUS_CODE_ERROR"`, "0", "{}")+"}"...)
		}
		return string(b) + "}"
	}
	plain, n := 0, histtest.Long(5_000, 300_000)
	for range n {
		var data []byte
		for range 1 + rnd.IntN(2) {
			data = append(data, `{"resourceSpans":[{"resource":{"attributes":[]},"scopeSpans":[{"scope":{},"spans":[`...)
			for i := range rnd.IntN(3) {
				if i > 0 {
					data = append(data, ",\n"...)
				}
				data = append(data, span()...)
			}
			data = append(data, `]}],"schemaUrl":""}]}`+pick("\n", "", " ")...)
		}
		for range rnd.IntN(4) / 3 {
			data = randtest.Garble(rnd, data, parts)
		}
		if same(t, data) {
			plain++
		}
	}
	if plain < n/8 || plain == n {
		t.Errorf("%d of %d texts were plain", plain, n)
	}
}
