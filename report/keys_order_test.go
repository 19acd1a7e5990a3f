package report

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"isovet/evidence"
	"isovet/history"
	"isovet/level"
)

// TestOrderByKey: at linearizable each key has an order by itself: its own list, its own line, whatever the order in
// which the certificate has the operations of several keys.
func TestOrderByKey(t *testing.T) {
	b := history.NewBuilder()
	order := []uint32{4, 5, 0, 1, 2, 3}
	for i := range int64(6) {
		h := history.NewTxnHead()
		h.HasSess, h.Session, h.Start, h.End = true, i%3, 10*i, 10*i+5
		b.Write(b.Key(b.StringValue([]byte{"xy"[i%2]})), history.IntValue(i))
		b.EndTxn(h)
	}
	h, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		level         level.Level
		lines, groups int
	}{{level.Linearizable, 2, 2}, {level.StrictSerializable, 1, 1}} {
		var page bytes.Buffer
		r := &evidence.Result{Verdict: evidence.Holds, Level: c.level, H: h, Order: order}
		if err := HTML(&page, "h.jsonl", r); err != nil {
			t.Fatal(err)
		}
		wellFormed(t, c.level.String(), page.Bytes())
		path := regexp.MustCompile(`class="order" d="([^"]*)"`).FindSubmatch(page.Bytes())
		if path == nil || strings.Count(string(path[1]), "M") != c.lines {
			t.Errorf("%s: %d lines expected in %q", c.level, c.lines, path)
		}
		if n := bytes.Count(page.Bytes(), []byte(`<details class="group">`)); n != c.groups {
			t.Errorf("%s: %d lists, not %d", c.level, n, c.groups)
		}
		if c.groups == 2 && !(strings.Contains(page.String(), "<summary>x: 1 to 3</summary>") &&
			strings.Contains(page.String(), "<summary>y: 4 to 6</summary>")) {
			t.Errorf("%s: the lists are not of x and y", c.level)
		}
	}
}
