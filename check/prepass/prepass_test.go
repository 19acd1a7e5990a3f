package prepass_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"isovet/check/prepass"
	"isovet/history"
	"isovet/internal/test/cases"
	"isovet/internal/test/histtest/notation"
	"isovet/level"
)

// TestAnomalies: which read is an anomaly of which kind, and which is none. Transactions have ids 1, 2, … in order.
func TestAnomalies(t *testing.T) {
	for _, c := range cases.Read(t, "testdata/anomalies.tsv") {
		name, text, want := c[0], c[1], c[2]
		h := notation.MustParse(text)
		v := prepass.Run(h)
		var got []string
		for _, a := range v.Anomalies {
			s := string(a.Kind)
			a.Complete(h, level.Serializable, 0)
			for _, x := range a.Txns {
				s += fmt.Sprintf(" T%d", h.Txns.ID[x])
			}
			got = append(got, s)
		}
		if s := strings.Join(got, "; "); s != want {
			t.Errorf("%s: %s\ngot  %q\nwant %q", name, text, s, want)
		}
	}
}

// TestAmbiguity: which reads have several possible writers, and which outcomes remain a choice.
func TestAmbiguity(t *testing.T) {
	for _, c := range []struct {
		h         string
		reads     int
		open      []int64
		numCounts int
	}{
		{"init=0: s1: w(x,1) | s2: r(x,1)", 0, nil, 2},
		{"init=0: s1: w(x,1) | s2: w(x,1) | s3: r(x,1)", 1, nil, 3},
		{"init=0: s1: w(x,1) | s2: w(x,1) | s3: r(x,0) w(x,2)", 0, nil, 3}, // nobody reads the duplicate
		{"init=0: s1: w(x,0) | s2: r(x,0)", 1, nil, 2},
		{"init=0: s1: w(x,0) r(x,0)", 0, nil, 1},
		{"init=0: s1: r(x,0) w(x,0)", 0, nil, 1}, // its own write is no candidate
		{"init=0: s1: w(x,null) | s2: w(x,null) | s3: r(x,null)", 1, nil, 3},
		{"s1: w(x,null) | s2: r(x,null)", 1, nil, 2}, // never there, or deleted
		{"init=0: s1: w(x,1)! | s2: w(x,1) | s3: r(x,1)", 0, nil, 2},
		{"init=0: s1: w(x,1) w(x,2) | s2: w(x,1) | s3: r(x,1)", 0, nil, 3}, // an intermediate value is not installed
		{"init=0: s1: w(x,1)? | s2: r(x,1)", 0, nil, 2},
		{"init=0: s1: w(x,1)? | s2: w(x,1)? | s3: r(x,1)", 1, []int64{1, 2}, 1},
		{"init=0: s1: w(x,1)? | s2: w(x,1) | s3: r(x,1)", 1, []int64{1}, 2},
		// open by way of an open one
		{"init=0: s1: w(y,1)? | s2: r(y,1) w(x,1)? | s3: w(x,1) | s4: r(x,1)", 2, []int64{2, 1}, 2},
		{"init=0: s1: w(x,1)? | s2: w(x,1)? | s3: r(y,0)", 0, nil, 1},
		{"init=0: init: w(x,0) | s1: r(x,0)", 0, nil, 1},
	} {
		h := notation.MustParse(c.h)
		v := prepass.Run(h)
		var open []int64
		for _, x := range v.Open {
			open = append(open, h.Txns.ID[x])
		}
		if len(v.Amb) != c.reads || !slices.Equal(open, c.open) || v.NumCounts != c.numCounts || len(v.Anomalies) > 0 {
			t.Errorf("%s: %d ambiguous reads, open %v, %d count; want %d, %v, %d", c.h, len(v.Amb), open, v.NumCounts,
				c.reads, c.open, c.numCounts)
		}
		if v.Ambiguous() != (c.reads > 0 || len(c.open) > 0) {
			t.Errorf("%s: Ambiguous() = %v", c.h, v.Ambiguous())
		}
	}
}

// TestMaxAnomalies: what is not listed is counted.
func TestMaxAnomalies(t *testing.T) {
	b := history.NewBuilder()
	b.Initial = history.IntValue(0)
	for i := range prepass.MaxAnomalies + 7 {
		b.Read(b.Key(history.IntValue(1)), history.IntValue(int64(i)+5))
		b.EndTxn(history.NewTxnHead())
	}
	h, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	v := prepass.Run(h)
	if len(v.Anomalies) != prepass.MaxAnomalies || v.Also != 7 {
		t.Errorf("%d listed, %d more; want %d and 7", len(v.Anomalies), v.Also, prepass.MaxAnomalies)
	}
	for _, a := range v.Anomalies {
		if a.Kind != level.ThinAirRead {
			t.Fatalf("%s; want thin-air reads only", a.Kind)
		}
	}
}
