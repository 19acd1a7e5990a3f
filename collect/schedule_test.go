package collect

import (
	"strings"
	"testing"
	"time"

	"isovet/history"
	"isovet/internal/test/must"
)

// TestParseSchedule: what is refused.
func TestParseSchedule(t *testing.T) {
	for text, want := range map[string]string{
		"r1(x) c1":             "not begun",
		"b1 b1 c1":             "begins twice",
		"b1 r1(x)":             "has no end",
		"b1 r1(q) c1":          "x, y or z",
		"b1 r1 c1":             "x, y or z",
		"b1 c1(x)":             "nothing in parentheses",
		"b1 k1(x) c1":          "expected one of",
		"b0 c0":                "expected one such as",
		"b1 q1(v>30) c1":       "v=N, v>=N or v<N",
		"b1 q1(v=30:5) c1":     "and only in updates",
		"b1 u1(v=30) c1":       "and only in updates",
		"b1 u1(v=30:x) c1":     "expected a number",
		"b1 i1(x:30) c1":       "such as 4:30",
		"b1 i1(4) c1":          "such as 4:30",
		"b1 c1 r1(x)":          "or is over",
		"b1 q1(v=99999999999)": "out of range",
	} {
		if _, err := ParseSchedule(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; expected %q", text, err, want)
		}
	}
}

// TestPlay: what the sessions did stands in the history, in the order of the schedule, and who was refused is reported.
func TestPlay(t *testing.T) {
	c := Config{DB: []string{"badger:"}, Timeout: 5 * time.Second}
	d := must.Get(Open(t.Context(), c))(t)
	defer d.Close()
	s := must.Get(ParseSchedule("b1 b2 r1(x) r2(x) w1(x) w2(x) c1 c2 b3 w3(y) a3 b1 r1(x) r1(y) c1"))(t)
	p := must.Get(d.Play(t.Context(), c, s))(t)
	if p.Refused[0] != "" || p.Refused[1] == "" || p.Refused[2] != "" || len(p.Waited) > 0 {
		t.Errorf("refused %q, waited %q; expected the second to be refused", p.Refused, p.Waited)
	}
	h := p.History
	statuses := h.Txns.Status
	if len(statuses) > 0 && int(h.Init) == 0 {
		statuses = statuses[1:]
	}
	want := []history.Status{history.Committed, history.Aborted, history.Aborted, history.Committed}
	must.Same(t, len(statuses), len(want), "transactions")
	for i := range want {
		must.Equal(t, statuses[i], want[i], "transaction %d", i)
	}
}
