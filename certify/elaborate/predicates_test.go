package elaborate_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"isovet/certify/elaborate"
	"isovet/check"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/must"
	"isovet/level"
)

// maybeFound is a history in which a row is written of which it is unknown whether it matches; of two that look for
// it, one finds it, and one does not. The second wrote what the first read, so it came first.
func maybeFound(t *testing.T, circular bool) *history.History {
	t.Helper()
	const pred = `{"x":{"=":1}}`
	b := history.NewBuilder()
	row := b.RowValue([]byte(`{"x":null}`))
	k, y := b.Key(history.IntValue(1)), b.Key(history.IntValue(2))
	end := func(session int64) {
		head := history.NewTxnHead()
		head.Session, head.HasSess = session, true
		b.EndTxn(head)
	}
	b.Write(k, row)
	if circular {
		b.Read(y, history.IntValue(1))
	}
	end(1)
	b.Predicate(history.PredRead, []byte(pred), []history.PredRow{{Key: k, Old: row}})
	b.Write(y, history.IntValue(1))
	end(2)
	b.Predicate(history.PredRead, []byte(pred), nil)
	end(3)
	return must.Get(b.Build())(t)
}

// TestNoOrderOfAKey: of a key of which no order is found the evidence names those under way at the end alone; what else
// shows it is taken in.
func TestNoOrderOfAKey(t *testing.T) {
	for _, text := range []string{
		`s1: w(x,1) @[1,2] | s2: pr{"":{">":1}}[] r(x,_) @[3,4]`,
		`s1: w(x,2) @[1,2] | s2: w(x,1) @[3,4] | s3: pr{"":{">":1}}[x=2] @[5,6] | s4: r(x,1) @[7,8]`,
	} {
		r := answer(t, notation.MustParse(text), level.StrictSerializable)
		must.Hold(t, r.Verdict == evidence.Violated && r.Anomalies[0].Kind == level.NonLinearizable,
			"%s: %s, %v", text, r.Verdict, r.Anomalies)
		n := tally{why: map[string]int{}}
		if judge(t, r, &n); n.violated != 1 {
			t.Errorf("%s: %s", text, &n)
		}
	}
}

// TestUnknownTruth: a row of which a predicate's truth is unknown may be found or not, by one predicate that says so.
func TestUnknownTruth(t *testing.T) {
	for _, circular := range []bool{false, true} {
		h := maybeFound(t, circular)
		c := must.Get(check.ByName("replay"))(t)
		r := must.Get(check.Run(t.Context(), c, h, check.Options{Level: level.Serializable}))(t)
		if violated := r.Verdict == evidence.Violated; violated != circular {
			t.Fatalf("circular %t: %s", circular, r.Verdict)
		}
		judge(t, r, &tally{why: map[string]int{}})
		p := must.Get(elaborate.Prove(r, elaborate.Options{}))(t)
		var file bytes.Buffer
		must.OK(t, p.Write(&file))
		if circular {
			continue
		}
		if text := file.String(); strings.Count(text, "\nmaybe 1 ") != 1 || strings.Contains(text, "\npred ") ||
			strings.Count(text, "\nm 1") != 2 {
			t.Errorf("expected two uses of one predicate that may be true of the row found:\n%s", text)
		}
	}
}

// TestSearchesGrow: each transaction looks for rows of a column of its own and adds one. The kernel gets one cell for
// each search, not one for each search and row.
func TestSearchesGrow(t *testing.T) {
	const n = 64
	b := history.NewBuilder()
	for i := range int64(n) {
		b.Predicate(history.PredRead, fmt.Appendf(nil, `{"x%d":{"<":5}}`, i), nil)
		b.Write(b.Key(history.IntValue(i)), b.RowValue(fmt.Appendf(nil, `{"x%d":1}`, i)))
		b.EndTxn(history.NewTxnHead())
	}
	r := answer(t, must.Get(b.Build())(t), level.Serializable)
	var file bytes.Buffer
	must.OK(t, must.Get(elaborate.Prove(r, elaborate.Options{}))(t).Write(&file))
	must.Equal(t, strings.Count(file.String(), "\nmaybe ")+strings.Count(file.String(), "\npred "), n,
		"cells of %d searches", n)
}
