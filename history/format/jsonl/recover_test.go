package jsonl

import (
	"bytes"
	"strings"
	"testing"

	"isovet/history"
	"isovet/internal/slice"
	"isovet/internal/test/histtest/diff"
	"isovet/internal/test/must"
)

const recording = `{"format":"isovet-history","version":1,"partial":true,"name":"x"}
{"init":true,"ops":[["w",1,0],["w",2,0]]}
{"intent":true,"id":1,"session":0,"start":1,"commit":3,"ops":[["r",1,0,1,2],["w",1,7,2,3]]}
{"status":"committed","end":5,"id":2,"session":1,"start":2,"commit":4,"ops":[["r",1,7,2,3]]}
{"outcome":1,"status":"committed","end":6}
{"init":true,"ops":[["w",3,0]]}
{"status":"aborted","end":9,"id":3,"session":1,"start":7,"commit":8,"ops":[["w",3,9,7,8]]}
{"intent":true,"id":4,"session":0,"start":10,"commit":11,"ops":[["w",2,8,10,11]]}
`

const recovered = `{"format":"isovet-history","version":1,"name":"x"}
{"id":1,"session":0,"start":1,"commit":3,"end":6,"ops":[["r",1,0,1,2],["w",1,7,2,3]]}
{"id":2,"session":1,"start":2,"commit":4,"end":5,"ops":[["r",1,7,2,3]]}
{"id":3,"session":1,"status":"aborted","start":7,"commit":8,"end":9,"ops":[["w",3,9,7,8]]}
{"id":4,"session":0,"status":"unknown","start":10,"commit":11,"ops":[["w",2,8,10,11]]}
{"id":0,"init":true,"ops":[["w",1,0],["w",2,0],["w",3,0]]}
`

func notes(h *history.History) string {
	s := slice.Map(h.Notes, func(n history.Note) string { return n.Text })
	return strings.Join(s, "; ")
}

func TestReadPartial(t *testing.T) {
	got := must.Get(ReadPartial(t.Context(), []byte(recording), "f", 1))(t)
	want := must.Get(Read([]byte(recovered), "f"))(t)
	diff.Same(t, got, want, "recovered")
	if n := notes(got); !strings.Contains(n, "at the end 1 transaction was committing") || strings.Contains(n, "torn") {
		t.Error(n)
	}
	// Cut off anywhere behind the header: a history, and said; as many lines as are whole.
	header := strings.IndexByte(recording, '\n') + 1
	for end := header; end < len(recording); end++ {
		h := must.Get(ReadPartial(t.Context(), []byte(recording[:end]), "f", 1))(t)
		if torn := recording[end-1] != '\n'; torn != strings.Contains(notes(h), "is incomplete and was ignored") {
			t.Errorf("cut at %d: %s", end, notes(h))
		}
		txns := strings.Count(recording[:end], "\"session\"")
		if last := recording[strings.LastIndexByte(recording[:end], '\n')+1 : end]; strings.Contains(last,
			"\"session\"") {
			txns--
		}
		if h.Init != history.None {
			txns++
		}
		must.Equal(t, h.NumTxns(), txns, "cut at %d: transactions", end)
	}
	// What is wrong above the last line is an error in its line.
	for _, c := range []struct{ from, to, want string }{
		{`"ops":[["r",1,7,2,3]]}`, `"ops":[["r",1,7,2,3]`, "f:4: "},
		{`{"outcome":1,`, `{"outcome":5,`, "f:5: field \"outcome\""},
		{`"status":"committed","end":6}`, `"status":"comm","end":6}`, "f:3: field \"status\""},
		{`{"init":true,"ops":[["w",3,0]]}`, `{"init":true,"ops":[["w",3,0]`, "f:6: field \"init\""},
		{`{"intent":true,"id":4,`, `{"intent":true,"id":1,`, "f:8: field \"intent\""},
		{`,"start":7,`, `,"st`, "f:7: "},
	} {
		text := strings.Replace(recording, c.from, c.to, 1)
		if _, err := ReadPartial(t.Context(), []byte(text), "f", 1); err == nil || !strings.HasPrefix(err.Error(),
			c.want) {
			t.Errorf("%s: %v; want %s", c.to, err, c.want)
		}
	}
	// One that was not cut off says so in its last line.
	h, err := ReadPartial(t.Context(), []byte(recording+completeLine+"\n"), "f", 1)
	if err != nil || strings.Contains(notes(h), "cut off") || h.NumTxns() != got.NumTxns() {
		t.Errorf("a complete recording: %v, %v", err, notes(h))
	}
	if _, err := ReadPartial(t.Context(), []byte(recording+completeLine+"\n{}\n"), "f", 1); err == nil ||
		!strings.HasPrefix(err.Error(), "f:10: ") {
		t.Errorf("lines behind the last: %v", err)
	}
	// A history that is not one in progress has no torn line.
	if _, err := Read([]byte(strings.TrimSuffix(recovered, "]]}\n")), "f"); err == nil {
		t.Error("a torn line was taken")
	}
}

func FuzzReadPartial(f *testing.F) {
	f.Add([]byte(recording))
	f.Add([]byte(recording + completeLine + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if !IsPartial(data) {
			data = append([]byte(`{"format":"isovet-history","version":1,"partial":true}`+"\n"), data...)
		}
		if h, err := ReadPartial(t.Context(), data, "f", 1); err == nil {
			var b bytes.Buffer
			must.OK(t, Write(&b, h))
			if _, err := Read(b.Bytes(), "f"); err != nil {
				t.Fatalf("%v\n%s", err, b.Bytes())
			}
		}
	})
}
