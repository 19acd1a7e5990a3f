package jsonl

import (
	"bytes"
	"testing"
)

// Heads reads of a line what ReadLine does, in whatever order its fields stand.
func TestHeads(t *testing.T) {
	quick := 0
	for _, line := range []string{
		`{"id":1,"session":2,"seq":3,"ops":[["r",1,2]]}`,
		`{"id":-7,"ops":[]}`,
		`{"ops":[]}`,
		`{"id":4,"init":true,"ops":[["w","x",1]]}`,
		`{"id":5,"init":false,"ops":[]}`,
		`{"ops":[],"id":6,"seq":0,"session":9}`,
		`{"id":6,"ops":[["w","x","]]"]],"seq":1,"session":3}`,
		`{"id":7,"status":"aborted","start":5,"end":9,"name":"a,\"seq\":5","session":1,"ops":[["r","x",null]]}`,
		`{"id":8,"name":"plain","node":"n1","commit_ts":4,"session":0,"seq":0,"ops":[["r","x",[1,2]]]}` + "\r",
		` { "id" : 9 , "session" : 1 , "ops" : [ ] } `,
		`{"id":9223372036854775807,"session":-9223372036854775807,"ops":[]}`,
		`{"id":10,"more":{"id":11},"session":3,"ops":[["pr",{"a":{"=":1}},[]]]}`,
		`{"id":11,"name":"x","session":12,"ops":[["w","k",{"a":1}]]}`,
		`{"\u0069d":12,"ops":[]}`,
	} {
		want, err := ReadLine([]byte(line), false)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		var fast Head
		if fast.scan([]byte(line)) {
			quick++
		}
		n := 0
		txns, lines, err := Heads([]byte("\n"+line+"\n"), "f", 5, false, func(h *Head) error {
			n++
			x := want.Head
			if h.Line != 7 || h.ID != x.ID || h.HasID != x.HasID || h.Session != x.Session || h.HasSess != x.HasSess ||
				h.Seq != x.Seq || h.HasSeq != x.HasSeq || h.Init != x.Init {
				t.Errorf("%s: %+v; expected %+v", line, *h, x)
			}
			return nil
		})
		if err != nil || n != 1 || txns != 1 || lines != 2 {
			t.Errorf("%s: %d heads, %d transactions, %d lines, %v", line, n, txns, lines, err)
		}
	}
	if quick < 5 {
		t.Errorf("%d lines were read without their operations", quick)
	}
	for line, want := range map[string]string{
		`{"id":1}`:                 `f:3: field "ops": missing`,
		`{"id":1,"id":2,"ops":[]}`: `f:3: field "id": given twice`,
		`{"format":"isovet-history","version":1}`: `f:3: field "format": a header in line 3`,
	} {
		_, _, err := Heads([]byte(line), "f", 2, true, func(*Head) error { return nil })
		if bytes.Contains([]byte(line), []byte("format")) {
			_, _, err = Heads([]byte(`{"ops":[]}`+"\n"+line), "f", 1, true, func(*Head) error { return nil })
		}
		if err == nil || !bytes.HasPrefix([]byte(err.Error()), []byte(want)) {
			t.Errorf("%s: %v; expected %s", line, err, want)
		}
	}
}
