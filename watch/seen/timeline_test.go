package seen

import (
	"bytes"
	"fmt"
	"html/template"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"isovet/history/format/jsonl"
	"isovet/internal/test/browser"
)

func figureOf(t *testing.T, text string, d drawn) *figure {
	t.Helper()
	h, err := jsonl.Read([]byte(text), "a.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	d.h = h
	return d.draw()
}

func number64(n int64) *int64 { return &n }

// stamped is a read of what had been overwritten, by the database's timestamps.
const stampedText = `{"id":0,"init":true,"ops":[["w","x",0],["w","y",0]]}
{"id":1,"session":1,"start_ts":10,"commit_ts":20,"ops":[["w","x",1],["r","y",0]]}
{"id":2,"session":2,"start_ts":25,"commit_ts":30,"ops":[["w","x",2]]}
{"id":3,"session":3,"start_ts":40,"commit_ts":50,"ops":[["r","y",0],["r","x",1]]}
{"id":4,"session":3,"start_ts":45,"status":"unknown","ops":[["w","z",1]]}
{"id":5,"session":2,"start_ts":60,"commit_ts":61,"status":"aborted","ops":[["w","x",9]]}
`

// TestTimeline: where boxes stand, and what they say.
func TestTimeline(t *testing.T) {
	op := uint32(1)
	f := figureOf(t, stampedText, drawn{chief: []int64{3, 2}, key: `"x"`, txn: number64(3), op: &op, ts: true,
		edges: []edge{{From: 2, To: 3, Dep: "ts"}, {From: 3, To: 2, Dep: "rw", Key: []byte(`"x"`)}, {From: 9, To: 3}}})
	if len(f.Boxes) != 6 || len(f.Arcs) != 2 || !strings.Contains(f.Axis, "timestamps") {
		t.Fatalf("%d boxes, %d arcs, %s", len(f.Boxes), len(f.Arcs), f.Axis)
	}
	at := map[string]box{}
	for _, b := range f.Boxes {
		at[b.Name] = b
	}
	third := at["T3"]
	if third.Began != "40" || third.Ended != "50" || third.Session != "session 3" || len(third.Lines) != 2 ||
		!third.Lines[1].Wrong || third.Lines[0].Wrong || third.Lines[1].Text != "✗ r x 1" {
		t.Errorf("T3 is %+v", third)
	}
	if at["initial"].X >= at["T1"].X || at["T1"].X+at["T1"].Width > at["T2"].X {
		t.Errorf("the order in time is not that of the boxes: %+v", f.Boxes)
	}
	fourth := at["T4"]
	if fourth.Y == third.Y || fourth.Ended != "" || !strings.Contains(fourth.Class, "aborted") ||
		fourth.X+fourth.Width < at["T5"].X+at["T5"].Width-8 {
		t.Errorf("the one of unknown outcome is %+v", fourth)
	}
	for name, faint := range map[string]bool{"T1": true, "T2": false, "T3": false, "initial": true} {
		if got := strings.Contains(at[name].Class, "faint"); got != faint {
			t.Errorf("%s faint: %v", name, got)
		}
	}
	// without times the file's order is the axis; where there are only clients' times these are
	f = figureOf(t, `{"id":1,"session":1,"ops":[["w","x",1]]}`+"\n"+`{"id":2,"session":2,"ops":[["r","x",1]]}`+"\n",
		drawn{ts: true})
	if len(f.Boxes) != 2 || len(f.Ticks) != 0 || !strings.Contains(f.Axis, "file") || f.Boxes[0].Began != "" {
		t.Errorf("%+v", f)
	}
	f = figureOf(t, `{"id":1,"session":1,"start":1000,"end":3500,"ops":[["w","x",1]]}`+"\n", drawn{ts: true})
	if f.Boxes[0].Began != "+0s" || f.Boxes[0].Ended != "+2.5µs" || !strings.Contains(f.Axis, "clients") {
		t.Errorf("%+v", f)
	}
}

// TestTimelinesAreWhole: whatever the history, boxes of a row do not lie on each other and are inside the figure.
func TestTimelinesAreWhole(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		var text strings.Builder
		n := 1 + r.IntN(60)
		for i := range n {
			at, long := r.IntN(200), r.IntN(40)
			ops := fmt.Sprintf(`["w",%d,%d]`, r.IntN(3), i)
			for range r.IntN(14) {
				ops += fmt.Sprintf(`,["r","%s",null]`, strings.Repeat("k", r.IntN(60)+1))
			}
			end := fmt.Sprintf(`,"end":%d`, at+long)
			status := ""
			if r.IntN(8) == 0 {
				end, status = "", `,"status":"unknown"`
			}
			fmt.Fprintf(&text, `{"id":%d,"session":%d,"start":%d%s%s,"ops":[%s]}`+"\n", i, r.IntN(6), at, end, status, ops)
		}
		f := figureOf(t, text.String(), drawn{chief: []int64{int64(r.IntN(n))}, key: "1",
			edges: []edge{{From: int64(r.IntN(n)), To: int64(r.IntN(n)), Dep: "ww"}}})
		if len(f.Boxes)+f.Left != n || len(f.Boxes) > maxBoxes {
			t.Fatalf("seed %d: %d boxes and %d left of %d", seed, len(f.Boxes), f.Left, n)
		}
		for i, b := range f.Boxes {
			if b.X < leftEdge || b.Y < 0 || b.Width < 20 || b.X+b.Width > f.Width || b.Y+b.High > f.Height {
				t.Fatalf("seed %d: %+v in %d by %d", seed, b, f.Width, f.Height)
			}
			for _, c := range f.Boxes[:i] {
				if b.X < c.X+c.Width && c.X < b.X+b.Width && b.Y < c.Y+c.High && c.Y < b.Y+b.High {
					t.Fatalf("seed %d: %s lies on %s: %+v %+v", seed, b.Name, c.Name, b, c)
				}
			}
		}
		if !slices.IsSortedFunc(f.Boxes, func(a, b box) int { return a.X - b.X }) {
			t.Fatalf("seed %d: the table is not in the order of time", seed)
		}
	}
}

// TestTimelinePicture looks at a timeline of timestamps in a browser.
func TestTimelinePicture(t *testing.T) {
	chrome := browser.Open(t)
	op := uint32(1)
	f := figureOf(t, stampedText, drawn{chief: []int64{3, 2}, key: `"x"`, txn: number64(3), op: &op, ts: true,
		edges: []edge{{From: 2, To: 3, Dep: "ts"}, {From: 3, To: 2, Dep: "rw", Key: []byte(`"x"`)}}})
	var b bytes.Buffer
	v := &view{Style: template.CSS(pageStyle), One: &detail{Lines: []shownLine{{N: 1, Says: "s", Figure: f}}}}
	if err := pages.ExecuteTemplate(&b, "page", v); err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(b.Bytes())
	}))
	defer s.Close()
	p := chrome.Page(t)
	p.Expect("favicon")
	p.Goto(s.URL)
	for _, dark := range []bool{false, true} {
		p.Dark(dark)
		p.Readable(4.5)
		p.Visible(".arc path, .txn:not(.faint) rect", 3)
		keep(t, p, fmt.Sprint("timestamps-", dark), true)
	}
}
