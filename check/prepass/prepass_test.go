package prepass_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"isovet/check/prepass"
	"isovet/history"
	"isovet/internal/test/histtest/notation"
	"isovet/level"
)

// TestAnomalies: which read is an anomaly of which kind, and which is none. Transactions have ids 1, 2, … in order.
func TestAnomalies(t *testing.T) {
	for _, c := range []struct{ name, h, want string }{
		{"thin air", "init=0: s1: r(x,7)", "thin-air-read T1"},
		{"thin air: null where something was loaded", "init: w(x,1) | s1: r(x,null)", "thin-air-read T1"},
		{"null before anything is written", "s1: r(x,null)", ""},
		{"null after a delete", "init=0: s1: w(x,null) | s2: r(x,null)", ""},
		{"null, but nobody deleted", "init=0: s1: w(x,1) | s2: r(x,null)", "thin-air-read T2"},
		{"the header's initial value", "init=0: s1: r(x,0)", ""},
		{"the header's value, overridden by the initial transaction", "init=0: init: w(x,5) | s1: r(x,0)",
			"thin-air-read T1"},
		{"a value of another key", "init=0: s1: w(y,7) | s2: r(x,7)", "thin-air-read T2"},
		{"aborted", "init=0: s1: w(x,1)! | s2: r(x,1)", "G1a T2 T1"},
		{"aborted intermediate", "init=0: s1: w(x,1) w(x,2)! | s2: r(x,1)", "G1a T2 T1"},
		{"an aborted transaction may read anything", "init=0: s1: r(x,7) w(x,1) r(x,2)!", ""},
		{"an aborted and a committed writer of one value", "init=0: s1: w(x,1)! | s2: w(x,1) | s3: r(x,1)", ""},
		{"intermediate", "init=0: s1: w(x,1) w(x,2) | s2: r(x,1)", "G1b T2 T1"},
		{"intermediate, of three writes", "init=0: s1: w(x,1) w(x,2) w(x,3) | s2: r(x,2)", "G1b T2 T1"},
		{"the last of several writes", "init=0: s1: w(x,1) w(x,2) w(x,3) | s2: r(x,3)", ""},
		{"an intermediate value written again at last", "init=0: s1: w(x,1) w(x,2) w(x,1) | s2: r(x,1)", ""},
		{"a write to another key between", "init=0: s1: w(x,1) w(y,2) | s2: r(x,1)", ""},
		{"future", "init=0: s1: r(x,1) w(x,1)", "future-read T1"},
		{"future, not the last write", "init=0: s1: r(x,1) w(x,1) w(x,2)", "future-read T1"},
		{"own later write, but another wrote the same", "init=0: s1: r(x,1) w(x,1) | s2: w(x,1)", ""},
		{"own write", "init=0: s1: w(x,1) r(x,1)", ""},
		{"own write, not the last at the time", "init=0: s1: w(x,1) w(x,2) r(x,1)", "not-my-last-write T1"},
		{"own non-final write, at the time the last", "init=0: s1: w(x,1) r(x,1) w(x,2)", ""},
		{"not my own write", "init=0: s1: w(x,1) r(x,2) | s2: w(x,2)", "not-my-own-write T1"},
		{"the initial value after an own write", "init=0: s1: w(x,1) r(x,0)", "not-my-own-write T1"},
		{"own delete, read as null", "init=0: s1: w(x,null) r(x,null)", ""},
		{"own delete, still there", "init=0: s1: w(x,null) r(x,0)", "not-my-own-write T1"},
		{"two reads alike", "init=0: s1: r(x,0) r(x,0)", ""},
		{"two reads differ", "init=0: s1: r(x,0) r(x,1) | s2: w(x,1)", "non-repeatable-read T1"},
		{"two reads differ, an own write between", "init=0: s1: r(x,0) w(x,1) r(x,1)", ""},
		{"each odd read is named", "init=0: s1: r(x,0) r(x,1) r(x,0) r(x,1) | s2: w(x,1)",
			"non-repeatable-read T1; non-repeatable-read T1"},
		{"reads before and after a foreign write are of one version", "init=0: s1: r(x,0) r(y,1) r(x,0) | s2: w(y,1)",
			""},
		{"unknown that nobody read from does not count", "init=0: s1: r(x,7)? | s2: w(y,1) r(y,2)?", ""},
		{"unknown that a committed one read from counts", "init=0: s1: r(y,7) w(x,1)? | s2: r(x,1)",
			"thin-air-read T1"},
		{"unknown by way of another unknown", "init=0: s1: r(z,7) w(x,1)? | s2: r(x,1) w(y,1)? | s3: r(y,1)",
			"thin-air-read T1"},
		{"unknown that only an aborted one read from", "init=0: s1: r(z,7) w(x,1)? | s2: r(x,1)!", ""},
		{"intermediate of unknown", "init=0: s1: w(x,1) w(x,2)? | s2: r(x,1)", "G1b T2 T1"},
		{"only the dead wrote it", "init=0: s0: r(a,3) r(a,0) w(b,1)? | s2: r(b,1) w(b,1)? | s1: r(b,1) | s3: w(a,3)",
			"G1a T3 T1 T2"},
		{"a dead one and another", "init=0: s0: r(a,3) r(a,0) w(b,1)? | s2: r(b,0) w(b,1)? | s1: r(b,1) | s3: w(a,3)",
			""},
		{"the dead, and an aborted one", "init=0: s0: r(a,9) w(b,1)? | s2: r(a,9) w(b,1)? | s3: w(b,1)! | s1: r(b,1)",
			"G1a T4 T1 T2"},
		{"an own write, and a dead one's", "init=0: s0: r(a,9) w(b,1)? | s2: r(a,9) w(b,1)? | s1: r(b,1) w(b,1)",
			"G1a T3 T1 T2"},
		{"several at once", "init=0: s1: r(x,7) w(y,1) r(y,2) | s2: r(y,3) w(y,3)", "not-my-own-write T1; " +
			"thin-air-read T1; future-read T2"},
	} {
		h := notation.MustParse(c.h)
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
		if s := strings.Join(got, "; "); s != c.want {
			t.Errorf("%s: %s\ngot  %q\nwant %q", c.name, c.h, s, c.want)
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
