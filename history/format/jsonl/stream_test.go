package jsonl

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"isovet/history"
	"isovet/internal/test/histtest/randtest"
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
				if ok || err != nil {
					t.Fatalf("seed %d: blank line: %v, %v", seed, ok, err)
				}
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
		if len(l.Draft.Heads) != first+len(alone) {
			t.Fatalf("seed %d: %d transactions, expected %d", seed, len(l.Draft.Heads)-first, len(alone))
		}
		h := l.Draft.History()
		for i := range alone {
			a, b := shown(alone[i].H, 0, alone[i].Head), shown(h, uint32(first+i), l.Draft.Heads[first+i])
			if a != b {
				t.Fatalf("seed %d:\nalone         %s\namong others  %s", seed, a, b)
			}
		}
	})
	if good < 1000 || bad < 100 {
		t.Errorf("%d good lines, %d bad: too few to be a test", good, bad)
	}
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
	head.Node, head.Name, head.Line = 0, 0, 0
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
