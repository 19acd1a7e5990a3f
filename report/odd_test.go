package report

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"isovet/evidence"
	"isovet/history"
	"isovet/history/format/jsonl"
	"isovet/internal/test/must"
	"isovet/internal/test/oracle"
	"isovet/level"
)

// lostUpdate is two transactions that overwrite what both read of one key.
func lostUpdate(t *testing.T, key string, start int64) *evidence.Result {
	t.Helper()
	b := history.NewBuilder()
	k := b.Key(b.StringValue([]byte(key)))
	for i := range int64(2) {
		h := history.NewTxnHead()
		h.HasSess, h.Session, h.Start, h.End = true, i, start+i, start+7
		b.Read(k, history.Value{})
		b.Write(k, b.StringValue([]byte(strings.Repeat("v", len(key))+string(rune('a'+i)))))
		b.EndTxn(h)
	}
	h := must.Get(b.Build())(t)
	r, err := oracle.Check(h, oracle.Options{Level: level.SnapshotIsolation})
	if err != nil || r.Verdict != evidence.Violated {
		t.Fatal(r, err)
	}
	return r
}

// TestLongKeys: a key of 10 kB stands whole only where the argument is written out.
func TestLongKeys(t *testing.T) {
	var b bytes.Buffer
	must.OK(t, HTML(&b, "h.jsonl", lostUpdate(t, strings.Repeat("k", 10_000), 0)))
	wellFormed(t, "long keys", b.Bytes())
	if b.Len() > 250_000 {
		t.Errorf("a page of %d bytes", b.Len())
	}
}

// TestLabelsFit: the names of edges are inside the figure.
func TestLabelsFit(t *testing.T) {
	r := lostUpdate(t, "a-key-of-twenty-letters", 0)
	s := newScene(r.H, r.Anomalies)
	figure := timeline(r, s, nil, MaxNodes)
	var width, height float64
	_, err := fmt.Sscanf(figure[strings.Index(figure, "viewBox"):], `viewBox="0 0 %f %f"`, &width, &height)
	must.OK(t, err)
	labels := regexp.MustCompile(`class="label [^>]* x="([0-9.]+)" y="[0-9.]+">([^<]*)<`).
		FindAllStringSubmatch(figure, -1)
	must.Hold(t, len(labels) != 0, "no name of an edge")
	for _, l := range labels {
		x, err := strconv.ParseFloat(l[1], 64)
		half := charWidth * float64(utf8.RuneCountInString(html.UnescapeString(l[2]))) / 2
		if end := x + half; err != nil || end > width {
			t.Errorf("%q ends at %.0f of %.0f", l[2], end, width)
		}
	}
}

// TestDirections: no key turns the direction of the page's own words.
func TestDirections(t *testing.T) {
	var b bytes.Buffer
	must.OK(t, HTML(&b, "h.jsonl", lostUpdate(t, "a\u202eb\u2066c\u200fd", 0)))
	wellFormed(t, "directions", b.Bytes())
	if strings.ContainsAny(b.String(), "\u202e\u2066\u200f") ||
		!strings.Contains(b.String(), "a\ufffdb\ufffdc\ufffdd") {
		t.Error("marks of direction are written as they are")
	}
}

// TestExactTimes: nanoseconds are told apart in times since 1970, and at the ends of what a time can be.
func TestExactTimes(t *testing.T) {
	for _, start := range []int64{0, 1_700_000_000_000_000_001, math.MinInt64 + 5, math.MaxInt64 - 9} {
		var b bytes.Buffer
		must.OK(t, HTML(&b, "h.jsonl", lostUpdate(t, "x", start)))
		must.Be(t, strings.Contains(b.String(), "<td>+1 ns to +7 ns</td>"), "from %d: not +1 ns to +7 ns", start)
	}
	for _, c := range []struct {
		at, zero int64
		want     string
	}{{math.MaxInt64, math.MinInt64, "+213503.982 d"}, {3, 10, "−7 ns"}, {47 * 3600e9, 0, "+47 h"},
		{math.MinInt64 + 1, math.MinInt64, "+1 ns"}} {
		must.Equal(t, sinceText(c.at, c.zero), c.want, "from %d to %d", c.zero, c.at)
	}
}

// register is a history of n operations on one register, one after the other, that is not linearizable at its end, and
// of writes of unknown outcome that began before all.
func register(t *testing.T, n, unknown int) *evidence.Result {
	t.Helper()
	b := history.NewBuilder()
	k := b.Key(b.StringValue([]byte("x")))
	head := func(status history.Status, start, end int64) {
		h := history.NewTxnHead()
		h.Status, h.Start, h.End = status, start, end
		b.EndTxn(h)
	}
	for i := range int64(unknown) {
		b.Write(k, history.IntValue(-1-i))
		head(history.Unknown, i, history.NoTime)
	}
	for i := range int64(n) {
		if i%2 == 0 {
			b.Write(k, history.IntValue(i%7))
		} else {
			b.Read(k, history.IntValue((i-1)%7))
		}
		head(history.Committed, 100+10*i, 105+10*i)
	}
	b.Read(k, history.IntValue(99))
	head(history.Committed, 100+10*int64(n), 105+10*int64(n))
	h := must.Get(b.Build())(t)
	last, _ := h.TxnOps(uint32(h.NumTxns() - 1))
	return &evidence.Result{Verdict: evidence.Violated, Level: level.Linearizable, H: h,
		Anomalies: []evidence.Anomaly{{Kind: level.NonLinearizable, Ops: []uint32{last},
			Txns: []uint32{h.TxnOf(last)}}}}
}

// TestLongRegister: the longest order of many operations is found, with writes of unknown outcome before them all too:
// what is looked at grows with the operations, not with their square.
func TestLongRegister(t *testing.T) {
	for _, unknown := range []int{0, 1, 3} {
		const n = 10_000
		r := register(t, n, unknown)
		p := linearOf(r, &r.Anomalies[0])
		must.Hold(t, p != nil, "%d unknown: no order", unknown)
		if got := p.Left + len(p.Steps); got < n || got > n+unknown {
			t.Errorf("%d unknown: the longest order has %d of %d", unknown, got, n)
		}
		if len(p.Stuck) == 0 || p.Stuck[0].Then == "leads to a dead end: an operation that had to come next was "+
			"impossible" {
			t.Errorf("%d unknown: stuck at %v", unknown, p.Stuck)
		}
	}
}

// TestConditionalRegister: conditions on a register, as of a compare-and-set that failed, stand in the longest order.
func TestConditionalRegister(t *testing.T) {
	h, err := jsonl.Read([]byte(`{"id":1,"session":1,"start":1,"end":2,"ops":[["w","x",1]]}
{"id":2,"session":2,"start":3,"end":4,"ops":[["pr",{"":{"=":2}},[]]]}
{"id":3,"session":1,"start":5,"end":6,"ops":[["w","x",3]]}
{"id":4,"session":2,"start":7,"end":8,"ops":[["pr",{"":{"=":3}},[]]]}
`), "register")
	must.OK(t, err)
	last, _ := h.TxnOps(3)
	r := &evidence.Result{Verdict: evidence.Violated, Level: level.Linearizable, H: h,
		Anomalies: []evidence.Anomaly{{Kind: level.NonLinearizable, Ops: []uint32{last}, Txns: []uint32{3}}}}
	p := linearOf(r, &r.Anomalies[0])
	if p == nil || len(p.Steps) != 3 || len(p.Stuck) != 1 || p.Stuck[0].Name != "T4" ||
		p.Stuck[0].Then != "is impossible: the value is 3" || p.Steps[1].Ops != `pr {"":{"=":2}}: nothing` {
		t.Errorf("%+v", p)
	}
}

// TestInitialRegister: the longest order begins with what registers hold at first, as a file's header says it.
func TestInitialRegister(t *testing.T) {
	h, err := jsonl.Read([]byte(`{"format":"isovet-history","version":1,"initial":""}
{"id":1,"session":1,"start":1,"end":2,"ops":[["r","x",""]]}
{"id":2,"session":1,"start":3,"end":4,"ops":[["w","x","a"]]}
{"id":3,"session":1,"start":5,"end":6,"ops":[["r","x",""]]}
{"id":4,"session":1,"start":7,"end":8,"ops":[["r","y",""]]}
`), "register")
	must.OK(t, err)
	last, _ := h.TxnOps(2)
	r := &evidence.Result{Verdict: evidence.Violated, Level: level.Linearizable, H: h,
		Anomalies: []evidence.Anomaly{{Kind: level.NonLinearizable, Ops: []uint32{last}, Txns: []uint32{2}}}}
	p := linearOf(r, &r.Anomalies[0])
	if p == nil || len(p.Steps) != 2 || p.Steps[0].Then != `""` || len(p.Stuck) != 1 ||
		p.Stuck[0].Then != `is impossible: the value is "a"` {
		t.Errorf("%+v", p)
	}
}
