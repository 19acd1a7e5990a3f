package report

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"isovet/check/workloads"
	"isovet/evidence"
	"isovet/history"
	"isovet/history/format/jepsen"
	"isovet/history/operations"
	"isovet/internal/test/must"
	"isovet/level"
)

// jepsenFile is a run of 50 s: every second a write or read of 10 ms, of which some fail and some do not end, and what
// a nemesis does from 10 s on.
func jepsenFile(value, fault string) string {
	var b strings.Builder
	put := func(kind, process string, f string, v any, ms int) {
		fmt.Fprintf(&b, "{:type :%s, :process %s, :f :%s, :value %v, :time %d}\n", kind, process, f, v, ms*1_000_000)
	}
	for i := range 50 {
		p, f, done := fmt.Sprint(i%3), "write", "ok"
		if i%10 == 9 {
			f, done = "read", "fail"
		} else if i == 45 {
			p, done = "45", "info"
		}
		put("invoke", p, f, value, 1000*i)
		put(done, p, f, value, 1000*i+10)
		n := map[int]string{10: "start-" + fault, 20: "stop-" + fault, 30: "kill", 35: "bump", 40: "start"}[i]
		if n != "" {
			put("info", ":nemesis", n, `"x"`, 1000*i)
			put("info", ":nemesis", n, `"x"`, 1000*i+500)
		}
	}
	return b.String()
}

// TestRunOfJepsen draws one point for each operation, read or not, and a band for each span of the nemesis.
func TestRunOfJepsen(t *testing.T) {
	h := must.Get(jepsen.Read([]byte(jepsenFile("7", "partition")), "h.edn", jepsen.Options{Nil: "unknown"}))(t)
	var b bytes.Buffer
	must.OK(t, HTML(&b, "h", &evidence.Result{Verdict: evidence.Holds, Level: level.Linearizable, H: h}))
	wellFormed(t, "run", b.Bytes())
	page := b.String()
	r := &evidence.Result{Verdict: evidence.Violated, Level: level.Serializable, H: h}
	b.Reset()
	must.OK(t, LatticeHTML(&b, "h", []*evidence.Result{r}, nil, []level.Level{r.Level}))
	for page, verdict := range map[string]string{page: `valid">valid</span> at`, b.String(): `">violation</span> of`} {
		if !strings.Contains(page, "Latency: 50 points for 50 of 50 operations") || !strings.Contains(page, verdict) {
			t.Errorf("not all operations are drawn, or the verdict is not %s", verdict)
		}
	}
	bands := regexp.MustCompile(`<g class="fault"><title>([a-z-]+)</title><rect x="([0-9.]+)" y="20" width="([0-9.]+)"`).
		FindAllStringSubmatch(page, -1)
	x := func(s float64) float64 { return plotLeft + plotWidth*s/49.01 }
	want := []string{fmt.Sprintf("start-partition %.1f %.1f", x(10), x(20.5)-x(10)),
		fmt.Sprintf("kill %.1f %.1f", x(30), x(40.5)-x(30)), fmt.Sprintf("bump %.1f 1.0", x(35))}
	must.Equal(t, len(bands), 2*len(want), "bands in two figures")
	for i, m := range bands {
		must.Equal(t, fmt.Sprintf("%s %s %s", m[1], m[2], m[3]), want[i%len(want)], "a band")
	}
	for class, n := range map[string]int{"ok": 44, "fail": 5, "unknown": 1} {
		points := regexp.MustCompile(`<g class="o-` + class + `"><rect [^>]*/><text [^>]*>` + class +
			`</text><path [^>]* d="([^"]*h0)"`).FindStringSubmatch(page)
		must.Be(t, points != nil && strings.Count(points[1], "M") == n,
			"%s: %d points expected in %q", class, n, points)
	}
	for class, n := range map[string]int{"committed": 44, "aborted": 0, "unknown": 1} { // the failed reads read nothing
		must.Equal(t, strings.Count(page, `<g class="o-`+class+`"><title>`), n, "boxes of the timeline: %s", class)
	}
	must.Equal(t, strings.Count(page, `class="sess"`), 4, "columns")
	must.Equal(t, strings.Count(page, `class="quantile"`), 4, "quantiles")
	must.Equal(t, strings.Count(page, `<g class="fault"><title>kill</title><rect x="0"`), 1, "bands of the timeline")
	b.Reset()
	must.OK(t, RunHTML(&b, "h", h, 0, 40))
	wellFormed(t, "key", b.Bytes())
	if !strings.Contains(b.String(), "Timeline of register: 1 to 45 of 45 transactions") || strings.Contains(b.String(),
		`class="run"`) {
		t.Error("not the timeline of a key alone")
	}
}

// TestHostileRun: what stands in a file stays text, and a page of a long run stays small.
func TestHostileRun(t *testing.T) {
	const bad = `</title><script>"'&`
	file := jepsenFile(`"`+strings.ReplaceAll(bad, `"`, `\"`)+`"`, "x</svg>")
	ops := must.Get(operations.Read([]byte(file), "h"))(t)
	must.Equal(t, len(ops.Events), 10, "events")
	w := Work{H: ops, Answer: &workloads.Answer{Workload: "set"}}
	var b bytes.Buffer
	must.OK(t, w.HTML(&b, "h"))
	if n := wellFormed(t, "operations", b.Bytes()); n["script"] != 1 || n["svg"] != 4 {
		t.Errorf("%d scripts, %d figures", n["script"], n["svg"])
	}
	h := history.History{Txns: history.Txns{OpOff: []uint32{0}}, Init: history.None, Run: &history.Run{}}
	for i := range int64(200_000) {
		h.Run.Calls = append(h.Run.Calls, history.Call{Start: i * 7919 % 104729 * 1e6, Status: history.Status(i % 3)})
		h.Run.Calls[i].End = h.Run.Calls[i].Start + i*i
		h.Run.Events = append(h.Run.Events, history.Event{At: i * 1e6, F: fmt.Sprint("f", i%100, bad)})
	}
	b.Reset()
	must.OK(t, RunHTML(&b, "h", &h, history.None, 0))
	if wellFormed(t, "long", b.Bytes()); b.Len() > 2<<20 || !strings.Contains(b.String(), "1000 of 200000 faults") {
		t.Errorf("%d bytes: %.300s", b.Len(), b.String()[strings.Index(b.String(), `id="run"`):])
	}
}
