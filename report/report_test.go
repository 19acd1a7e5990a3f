package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"isovet/datasets"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/must"
	"isovet/internal/test/oracle"
	"isovet/level"
)

// verdicts gives results of every kind: the catalogue of anomalies at each level that brute force decides.
func verdicts(t *testing.T) []*evidence.Result {
	t.Helper()
	var out []*evidence.Result
	for _, a := range datasets.Anomalies() {
		for _, l := range level.All()[:6] {
			r, err := oracle.Check(a.History(), oracle.Options{Level: l})
			must.OK(t, err, "%s at %s", a.Name, l)
			out = append(out, r)
		}
	}
	return out
}

// wellFormed parses a page as XML and returns how many elements of each name it has.
func wellFormed(t *testing.T, name string, b []byte) map[string]int {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(b))
	d.Strict = true
	count := map[string]int{}
	for {
		tok, err := d.Token()
		if err == io.EOF {
			return count
		}
		must.OK(t, err, "%s: not well-formed\n%s", name, b)
		if s, ok := tok.(xml.StartElement); ok {
			count[s.Name.Local]++
			for _, a := range s.Attr {
				if a.Name.Local == "src" || a.Name.Local == "href" && !strings.HasPrefix(a.Value, "#") {
					t.Errorf("%s: <%s> refers to %s", name, s.Name.Local, a.Value)
				}
			}
		}
	}
}

func TestPagesStandAlone(t *testing.T) {
	for _, r := range verdicts(t) {
		name := fmt.Sprintf("%s at %s", r.H.Meta.Name, r.Level)
		var b bytes.Buffer
		must.OK(t, HTML(&b, name, r))
		n := wellFormed(t, name, b.Bytes())
		must.Be(t, n["script"] == 1 && n["style"] == 1 && n["link"] <= 0 && n["img"] <= 0 && n["iframe"] <= 0,
			"%s: has %v", name, n)
		if s := strings.ReplaceAll(b.String(), "http://www.w3.org/", ""); strings.Contains(s, "http") &&
			strings.Contains(s, "://") {
			t.Errorf("%s: names an address", name)
		}
		if r.Verdict == evidence.Violated && n["svg"] == 0 {
			t.Errorf("%s: draws nothing", name)
		}
		for i := range r.Anomalies {
			for _, e := range r.Anomalies[i].Edges() {
				if !strings.Contains(b.String(), esc(why(r.H, e))) {
					t.Errorf("%s: does not say %q", name, why(r.H, e))
				}
			}
		}
	}
}

// TestEveryEdgeSaysWhy: the reason of an edge comes from the proof's words, never from the fall-back.
func TestEveryEdgeSaysWhy(t *testing.T) {
	for _, r := range verdicts(t) {
		for i := range r.Anomalies {
			for _, e := range r.Anomalies[i].Edges() {
				if !strings.Contains(why(r.H, e), ", because ") {
					t.Errorf("%s: %s", r.H.Meta.Name, why(r.H, e))
				}
			}
		}
	}
}

var (
	dotNode = regexp.MustCompile(`(?m)^  n(\d+) \[label="((?:[^"\\]|\\.)*)", tooltip="(?:[^"\\]|\\.)*"\]$`)
	dotEdge = regexp.MustCompile(`(?m)^  n(\d+):(\w+) -> n(\d+):(\w+) \[label="(?:[^"\\]|\\.)*", color="#[0-9A-F]{6}", fontcolor="#[0-9A-F]{6}", tooltip="(?:[^"\\]|\\.)*"\]$`)
)

// TestDOT: every edge leads from a cell that is there to a cell that is there, and every edge of the proof is drawn.
func TestDOT(t *testing.T) {
	for _, r := range verdicts(t) {
		var b bytes.Buffer
		must.OK(t, DOT(&b, r))
		ports := map[string]bool{}
		for _, m := range dotNode.FindAllStringSubmatch(b.String(), -1) {
			for _, p := range regexp.MustCompile(`<(\w+)>`).FindAllStringSubmatch(m[2], -1) {
				ports[m[1]+":"+p[1]] = true
			}
		}
		edges := dotEdge.FindAllStringSubmatch(b.String(), -1)
		for _, m := range edges {
			if !ports[m[1]+":"+m[2]] || !ports[m[3]+":"+m[4]] {
				t.Errorf("%s: edge to a cell that is not there: %s\n%s", r.H.Meta.Name, m[0], b.String())
			}
		}
		want := map[evidence.Edge]bool{}
		for i := range r.Anomalies {
			for _, e := range r.Anomalies[i].Edges() {
				want[e] = true
			}
		}
		if len(edges) != len(want) || strings.Count(b.String(), "->") != len(want) {
			t.Errorf("%s at %s: %d edges drawn, %d in the proof\n%s", r.H.Meta.Name, r.Level, len(edges), len(want),
				b.String())
		}
	}
}

// nasty builds a history whose names try to break out of every quoting.
func nasty(t *testing.T) *evidence.Result {
	t.Helper()
	b := history.NewBuilder()
	bad := "</title><script>\"'\\|{}&\n\x01漢"
	k := b.Key(b.StringValue([]byte(bad)))
	null := history.Value{}
	for i := range 2 {
		h := history.NewTxnHead()
		h.Name, h.HasSess, h.Session = b.Text([]byte(bad)), true, int64(i)
		b.Read(k, null)
		b.Write(k, b.StringValue([]byte(fmt.Sprint(bad, i))))
		b.EndTxn(h)
	}
	b.Meta.Note, b.Meta.DB = bad, bad
	h := must.Get(b.Build())(t)
	r, err := oracle.Check(h, oracle.Options{})
	if err != nil || r.Verdict != evidence.Violated {
		t.Fatal(r, err)
	}
	return r
}

func TestNamesCannotBreakOut(t *testing.T) {
	r := nasty(t)
	var page, dot bytes.Buffer
	must.OK(t, HTML(&page, `a"b<c>&d`, r))
	must.Equal(t, wellFormed(t, "nasty", page.Bytes())["script"], 1, "scripts, where a key must not become one")
	page.Reset()
	must.OK(t, HTMLWith(&page, "x", r, HTMLOptions{Small: `javascript:alert("1")`}))
	must.Be(t, !strings.Contains(page.String(), `href="javascript`), "a link became a script")
	must.OK(t, DOT(&dot, r))
	if n, e := len(dotNode.FindAllString(dot.String(), -1)), len(dotEdge.FindAllString(dot.String(), -1)); n != 2 ||
		e != 2 {
		t.Errorf("%d nodes, %d edges in\n%s", n, e, dot.String())
	}
}

// long is a violation by one cycle of n transactions.
func long(t *testing.T, n int) *evidence.Result {
	t.Helper()
	b := history.NewBuilder()
	keys := make([]uint32, n)
	for i := range keys {
		keys[i] = b.Key(history.IntValue(int64(i)))
	}
	for i := range n {
		b.Read(keys[i], history.Value{})
		b.Write(keys[(i+1)%n], history.IntValue(1))
		b.EndTxn(history.NewTxnHead())
	}
	h := must.Get(b.Build())(t)
	a := evidence.Anomaly{}
	for i := range n { // i wrote key i+1, whose initial version i+1 read
		from := uint32((n - i) % n)
		to := uint32((2*n - i - 1) % n)
		lo, _ := h.TxnOps(from)
		a.Cycle = append(a.Cycle, evidence.Edge{From: from, To: to, Key: h.OpKey(lo), Ver: h.Ops.Ver[lo],
			Writer: history.None, Dep: evidence.RW})
	}
	a.Complete(h, level.Serializable, 0)
	return &evidence.Result{Verdict: evidence.Violated, Level: level.Serializable, H: h,
		Anomalies: []evidence.Anomaly{a}}
}

// TestFiguresAreBounded: of a cycle of thousands only MaxNodes are drawn, and it is reported how many are not.
func TestFiguresAreBounded(t *testing.T) {
	r := long(t, 3000)
	var page, dot bytes.Buffer
	must.OK(t, HTML(&page, "long", r))
	wellFormed(t, "long", page.Bytes())
	if page.Len() > 1<<20 {
		t.Errorf("the page has %d bytes", page.Len())
	}
	must.Be(t, strings.Contains(page.String(), fmt.Sprintf("%d more", 3000-MaxNodes)),
		"the page does not say what is left out")
	must.OK(t, DOT(&dot, r))
	must.Equal(t, len(dotNode.FindAllString(dot.String(), -1)), MaxNodes, "nodes in the graph")
	must.Be(t, strings.Contains(dot.String(), fmt.Sprintf("%d transactions not drawn", 3000-MaxNodes)),
		"the graph does not say what is left out")
}

func TestText(t *testing.T) {
	r := long(t, 60)
	r.Also = 4
	var b bytes.Buffer
	must.OK(t, Text(&b, "h.jsonl", r, TextOptions{MaxLines: 5}))
	if n := strings.Count(b.String(), "\n"); n > 12 {
		t.Errorf("%d lines:\n%s", n, b.String())
	}
	for _, want := range []string{"h.jsonl: VIOLATION of serializable", "more lines", "and 4 further anomalies"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	b.Reset()
	must.OK(t, Text(&b, "h.jsonl", &evidence.Result{Level: level.Causal, Reason: "timeout"}, TextOptions{}))
	if !strings.HasPrefix(b.String(), "h.jsonl: unknown at causal: timeout\n") {
		t.Error(b.String())
	}
}

func TestMillis(t *testing.T) {
	for ms, want := range map[float64]string{0.1234: "0.12 ms", 12.34: "12.3 ms", 123.4: "123 ms", 1234: "1.23 s",
		12345: "12.3 s", 61e3: "1 min 01 s"} {
		must.Equal(t, Millis(ms), want, "Millis(%v)", ms)
	}
}

// TestOrderByKey: at linearizable each key has an order by itself: its own list, its own line, whatever the order in
// which the certificate has the operations of several keys.
func TestOrderByKey(t *testing.T) {
	h := notation.MustParse(`s0: w(x,0) @[0,5] | s1: w(y,1) @[10,15] | s2: w(x,2) @[20,25] | s0: w(y,3) @[30,35] |
		s1: w(x,4) @[40,45] | s2: w(y,5) @[50,55]`)
	order := []uint32{4, 5, 0, 1, 2, 3}
	for _, c := range []struct {
		level         level.Level
		lines, groups int
	}{{level.Linearizable, 2, 2}, {level.StrictSerializable, 1, 1}} {
		var page bytes.Buffer
		r := &evidence.Result{Verdict: evidence.Holds, Level: c.level, H: h, Order: order}
		must.OK(t, HTML(&page, "h.jsonl", r))
		wellFormed(t, c.level.String(), page.Bytes())
		path := regexp.MustCompile(`class="order" d="([^"]*)"`).FindSubmatch(page.Bytes())
		must.Be(t, path != nil && strings.Count(string(path[1]), "M") == c.lines,
			"%s: %d lines expected in %q", c.level, c.lines, path)
		must.Equal(t, bytes.Count(page.Bytes(), []byte(`<details class="group">`)), c.groups, "lists at %s", c.level)
		if c.groups == 2 && !(strings.Contains(page.String(), "<summary>x: 1 to 3</summary>") &&
			strings.Contains(page.String(), "<summary>y: 4 to 6</summary>")) {
			t.Errorf("%s: the lists are not of x and y", c.level)
		}
	}
}
