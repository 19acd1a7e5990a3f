package jsonl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"isovet/history"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// TestStream: lines of random documents, read into one draft that is emptied now and then, are what each is by itself,
// and what is wrong with one is the same.
func TestStream(t *testing.T) {
	l := NewStream()
	good, bad := 0, 0
	randtest.Seeds(t, 1500, func(t testing.TB, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		d := doc{Rand: rnd, wild: []int{0, 0, 200, 40, 5}[seed%5]}
		data := d.document()
		if rnd.IntN(3) == 0 { // spoilt
			for range 1 + rnd.IntN(4) {
				data[rnd.IntN(len(data))] = `{}[]",:0a\-1`[rnd.IntN(12)]
			}
		}
		if rnd.IntN(2) == 0 {
			l.Reset()
		}
		end := len(data)
		data = append(data, '\n')
		data = append(data, blanks[:]...)
		var alone []Line
		first := len(l.Draft.Heads)
		for lo := 0; lo < end; {
			hi := lo + bytes.IndexByte(data[lo:], '\n')
			line := data[lo:hi]
			one, want := ReadLine(line, false)
			ok, err := l.Add(data, lo, hi)
			lo = hi + 1
			switch {
			case blank(line):
				must.Hold(t, !ok && err == nil, "seed %d: blank line: %v, %v", seed, ok, err)
			case err != nil && strings.Contains(err.Error(), "a header; expected"):
				if want == nil && one.H.NumTxns() > 0 {
					t.Fatalf("seed %d: %s: %v", seed, line, err)
				}
			case said(want) != said(err) || ok != (err == nil):
				t.Fatalf("seed %d: %s\nalone: %v\namong others: %v", seed, line, want, err)
			case err != nil:
				bad++
			default:
				good++
				alone = append(alone, one)
			}
		}
		must.Same(t, len(l.Draft.Heads)-first, len(alone), "seed %d: transactions", seed)
		h := l.Draft.History()
		for i := range alone {
			a, b := shown(alone[i].H, 0, alone[i].Head), shown(h, uint32(first+i), l.Draft.Heads[first+i])
			must.Equal(t, b, a, "seed %d: among others", seed)
		}
	})
	must.Be(t, good >= 1000 && bad >= 100, "%d good lines, %d bad: too few to be a test", good, bad)
}

var atByte = regexp.MustCompile(`at byte \d+`)

// said is an error without the numbers of its line and its byte, which ReadLine takes for one behind the line where a
// string does not end.
func said(err error) string {
	in, ok := errors.AsType[*history.InputError](err)
	if !ok {
		return fmt.Sprint(err)
	}
	return in.Field + ": " + atByte.ReplaceAllString(in.Msg, "")
}

// shown is all that is known of a transaction.
func shown(h *history.History, t uint32, head history.TxnHead) string {
	var b strings.Builder
	text := func(id uint32) string {
		if id == history.None {
			return "-"
		}
		return string(h.Texts.Text(id))
	}
	node, name := text(head.Node), text(head.Name)
	head.Node, head.Name, head.Level, head.Line = 0, 0, 0, 0
	fmt.Fprintf(&b, "%+v %q %q %d %d %d %d %d %v:", head, node, name, h.Start(t), h.Commit(t), h.End(t), h.StartTS(t),
		h.CommitTS(t), h.Txns.Status[t])
	ver := func(v uint32) {
		if v == history.None {
			b.WriteString(" -")
			return
		}
		fmt.Fprintf(&b, " %s=%s", h.KeyString(h.VerKey[v]), h.ValueString(v))
	}
	for op := h.Txns.OpOff[t]; op < h.Txns.OpOff[t+1]; op++ {
		v := h.Ops.Ver[op]
		fmt.Fprintf(&b, "\n%v %d %d", h.Ops.Kind[op], h.OpStart(op), h.OpEnd(op))
		switch h.Ops.Kind[op] {
		case history.ReadList:
			fmt.Fprintf(&b, " list %s", h.KeyString(h.Lists.Key[v]))
			for _, e := range h.Lists.Elem[h.Lists.Off[v]:h.Lists.Off[v+1]] {
				ver(e)
			}
		case history.PredRead, history.PredWrite:
			b.WriteString(text(h.Preds.Pred[v]))
			for r := h.Preds.Off[v]; r < h.Preds.Off[v+1]; r++ {
				ver(h.Preds.Old[r])
				ver(h.Preds.New[r])
			}
		default:
			ver(v)
		}
	}
	return b.String()
}

// TestPiece: lines from the midst of sessions are read, by the scanner and by the tolerant reader, without their
// sessions.
func TestPiece(t *testing.T) {
	text := `{"format":"isovet-history","version":1,"initial":0}
{"id":7,"session":3,"seq":17,"start":1,"end":2,"ops":[["w","x",1]]}
{"id": 8, "session": 3, "seq": 18, "start": 3, "end": 4, "ops": [["r", "x", 1]]}
`
	if _, err := Read([]byte(text), "f"); err == nil {
		t.Error("a session without its beginning is read as whole")
	}
	h := must.Get(ReadPiece([]byte(text)))(t)
	if h.NumTxns() != 2 || h.NumSessions() != 2 || h.SessName[0] != history.NoTime || h.Txns.ID[1] != 8 ||
		h.Txns.Line[1] != 3 {
		t.Errorf("%d transactions, %d sessions, line %d", h.NumTxns(), h.NumSessions(), h.Txns.Line)
	}
}

// An error in a later piece carries the line of the whole file; of several errors the first in the file is reported.
func TestParallelErrors(t *testing.T) {
	line := `{"session":1,"ops":[["r",1,2],["w",1,1000000]]}` + "\n"
	n := 3 * minPiece / len(line)
	for _, bad := range [][]int{{0}, {n - 1}, {n / 2}, {n / 3, n - 2}, {5, n / 2, n - 1}} {
		lines := make([]string, n)
		for i := range lines {
			lines[i] = line
		}
		for _, i := range bad {
			lines[i] = `{"session":1,"ops":[["r",1,2.5]]}` + "\n"
		}
		_, err := ReadParallel(t.Context(), []byte(strings.Join(lines, "")), "f", 3)
		want := fmt.Sprintf(`f:%d: field "ops[0][2]": the number 2.5; expected an integer`, bad[0]+1)
		must.Be(t, err != nil && err.Error() == want, "bad lines %v: got %v; want %s", bad, err, want)
	}
	// What Build finds has the right line too.
	doc := strings.Repeat(line, n) + `{"id":7,"session":2,"ops":[]}` + "\n"
	_, err := ReadParallel(t.Context(), []byte(doc), "f", 3)
	in, ok := errors.AsType[*history.InputError](err)
	if !ok || in.Line != n+1 || in.Field != "id" {
		t.Errorf("got %v; want an error about id in line %d", err, n+1)
	}
}

func TestCancel(t *testing.T) {
	doc := []byte(strings.Repeat(`{"ops":[["r",1,2]]}`+"\n", 5000))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, read := range map[string]func() (*history.History, error){
		"parallel": func() (*history.History, error) { return ReadParallel(ctx, doc, "f", 2) },
		"stream":   func() (*history.History, error) { return ReadFrom(ctx, strings.NewReader(string(doc)), "f") },
	} {
		if _, err := read(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A reader that fails in the middle is an error with the line reached, not a shorter history.
func TestStreamError(t *testing.T) {
	doc := strings.Repeat(`{"ops":[["r",1,2]]}`+"\n", 100)
	_, err := ReadFrom(t.Context(), &failing{doc}, "f")
	if _, ok := errors.AsType[*history.InputError](err); !ok || !strings.Contains(err.Error(), "broken in the middle") {
		t.Errorf("got %v", err)
	}
}

type failing struct{ rest string }

func (f *failing) Read(b []byte) (int, error) {
	n := copy(b, f.rest)
	f.rest = f.rest[n:]
	if f.rest == "" {
		return n, errors.New("broken in the middle")
	}
	return n, nil
}

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
		want := must.Get(ReadLine([]byte(line), false))(t)
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
		must.Be(t, err == nil && n == 1 && txns == 1 && lines == 2,
			"%s: %d heads, %d transactions, %d lines, %v", line, n, txns, lines, err)
	}
	must.Be(t, quick >= 5, "%d lines were read without their operations", quick)
	for line, want := range map[string]string{
		`{"id":1}`:                                `f:3: field "ops": missing`,
		`{"id":1,"id":2,"ops":[]}`:                `f:3: field "id": given twice`,
		`{"id":9223372036854775808,"ops":[]}`:     `f:3: field "id": integer 9223372036854775808 is out of range`,
		`{"format":"isovet-history","version":1}`: `f:3: field "format": a header in line 3`,
	} {
		_, _, err := Heads([]byte(line), "f", 2, true, func(*Head) error { return nil })
		if bytes.Contains([]byte(line), []byte("format")) {
			_, _, err = Heads([]byte(`{"ops":[]}`+"\n"+line), "f", 1, true, func(*Head) error { return nil })
		}
		must.Be(t, err != nil && bytes.HasPrefix([]byte(err.Error()), []byte(want)),
			"%s: %v; expected %s", line, err, want)
	}
}
