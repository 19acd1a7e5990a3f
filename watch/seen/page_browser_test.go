package seen

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"isovet/internal/test/browser"
	"isovet/internal/test/must"
	"isovet/level"
	"isovet/watch"
)

var picture = flag.String("picture", "", "write pictures of the page to this folder")

// beside is a watch with its page, in this process.
type beside struct {
	t         *testing.T
	dir       string
	addr      string
	metrics   watch.Metrics
	incidents watch.Incidents
	in        *io.PipeWriter
	done      chan error
	server    *Server
}

// begin starts a watch of client times on a folder; addr "": any port.
func begin(t *testing.T, dir, addr string) *beside {
	t.Helper()
	b := &beside{t: t, dir: dir, done: make(chan error, 1)}
	j := must.Get(watch.NewReplay(watch.ReplayOptions{Level: level.StrictSerializable, Attach: watch.AttachAuto,
		Lateness: time.Millisecond.Nanoseconds(), Horizon: 1000, Gate: watch.GateOptions{Once: true}}))(t)
	if addr == "" {
		addr = ":0"
	}
	var err error
	b.server, err = Serve(addr, Options{Metrics: &b.metrics, Incidents: &b.incidents, Dir: dir,
		Every: 300 * time.Millisecond, Title: "isovet watch: orders", Build: Build{Version: "v1.2.3"},
		About: [][2]string{{"checker", "replay"},
			{"level", "strict-serializable"}, {"source", "<b>orders</b>"}}})
	must.OK(t, err)
	b.addr = b.server.Addr().String()
	r, w := io.Pipe()
	b.in = w
	go func() {
		b.done <- watch.Run(context.Background(), watch.Config{Dir: dir, Judge: j, Metrics: &b.metrics,
			Incidents: &b.incidents, Evidence: 100, Checkpoint: time.Hour, Idle: 200 * time.Millisecond,
			Open: func(_ context.Context, after watch.Places) (watch.Source, error) {
				return watch.Pipe(r, after.Last()), nil
			}})
	}()
	t.Cleanup(sync.OnceFunc(b.end))
	return b
}

func (b *beside) end() {
	if b.done == nil {
		return
	}
	_ = b.in.Close()
	if err := <-b.done; err != nil {
		b.t.Error(err)
	}
	b.done = nil
	if err := b.server.Close(); err != nil {
		b.t.Error(err)
	}
}

// txn is a line of the stream.
type txn struct {
	ID      int      `json:"id"`
	Session int      `json:"session"`
	Start   int64    `json:"start"`
	End     int64    `json:"end"`
	Ops     [][3]any `json:"ops"`
}

// send sends transactions all at once: nothing is final between them.
func (b *beside) send(ts ...txn) {
	b.t.Helper()
	var text []byte
	for _, x := range ts {
		line, err := json.Marshal(x)
		must.OK(b.t, err)
		text = append(append(text, line...), '\n')
	}
	if _, err := b.in.Write(text); err != nil {
		b.t.Fatal(err)
	}
}

const began = 1_800_000_000_000_000_000

// lost is a lost update of a key, from an id and a time on.
func lost(id int, at int64, key string) []txn {
	at = began + at*1_000_000
	return []txn{
		{id, 1, at, at + 400_000, [][3]any{{"w", key, 10 * id}}},
		{id + 1, 2, at + 1_000_000, at + 4_000_000, [][3]any{{"r", key, 10 * id}, {"r", "fee", nil},
			{"w", key, 10*id + 1}}},
		{id + 2, 3, at + 1_500_000, at + 4_600_000, [][3]any{{"r", key, 10 * id}, {"w", key, 10*id + 2}}},
	}
}

// TestPageInBrowser works the page as who watches would.
func TestPageInBrowser(t *testing.T) {
	chrome := browser.Open(t)
	dir := t.TempDir()
	b := begin(t, dir, "")
	p := chrome.Page(t)
	p.Goto("http://" + b.addr + "/")
	if got := p.Text("#verdict"); !strings.Contains(got, "no transaction has arrived yet") {
		t.Errorf("at first the page says %q", got)
	}
	if b, want := p.Text("#about"), "<b>orders</b>"; !strings.Contains(b, want) || p.Count("#about b") != 3 {
		t.Errorf("nothing of %s in %q, or it is markup", want, b)
	}
	var ts []txn
	for i := range 40 {
		ts = append(ts, txn{100 + i, i % 5, began + int64(i)*1_000_000, began + int64(i)*1_000_000 + 600_000,
			[][3]any{{"w", fmt.Sprint("k", i%7), 1000 + i}}})
	}
	b.send(ts...)
	p.Wait(`document.querySelector("#arriving .note").textContent.startsWith("40 lines")`)
	p.Wait(`document.querySelector("#verdict").textContent.includes("no violation found")`)
	p.Wait(`document.querySelector("#arriving polyline")`)
	p.Wait(`document.querySelector("#link").textContent === "Live"`)

	// A violation comes in while one looks on.
	b.send(lost(500, 100, "stock:4711")...)
	p.Wait(`document.querySelector("#verdict").textContent.includes("1 violation found")`)
	p.Wait(`document.querySelector("tr.against a")`)
	must.Equal(t, p.Text("#news"), "A new incident", "what is read aloud")
	p.Click("tr.against a")
	p.Wait(`document.activeElement.id === "incident-head"`)
	says := p.Text("#detail .says")
	for _, want := range []string{"overwrote", "stock:4711", "proved: lost-update"} {
		must.Be(t, strings.Contains(says, want), "nothing of %q in %q", want, says)
	}
	if got := browser.Eval[string](p, `fetch(document.querySelector("#detail a[href^='/evidence/']").href)
		.then(r => r.text())`); !strings.Contains(got, `"stock:4711"`) {
		t.Errorf("the evidence is %q", got)
	}
	for _, dark := range []bool{false, true} {
		p.Dark(dark)
		p.Readable(4.5)
		p.Visible(".spark polyline", 3)
	}
	p.Dark(false)
	keep(t, p, "detail", true)

	// What is open stays open, and where it is, while the page is brought up to date.
	p.Click("#detail summary")
	p.Wait(`document.querySelector("#detail details").open`)
	b.send(lost(600, 200, "stock:4711")...)
	p.Wait(`document.querySelector("#detail #facts dd").textContent === "2"`)
	p.Wait(`document.querySelector("#detail #violation-2 .says")`)
	if !browser.Eval[bool](p, `document.querySelector("#detail details").open`) {
		t.Error("what was unfolded has been folded")
	}
	must.Equal(t, p.Text("#news"), "A new incident", "what is read aloud")
	p.Press(browser.Escape)
	p.Wait(`document.querySelector("#detail").hidden`)
	if !browser.Eval[bool](p, `document.activeElement.dataset.incident === "1"`) {
		t.Error("the focus does not come back to the link")
	}

	// By keyboard alone.
	p.Goto("http://" + b.addr + "/")
	p.TabTo("tr.against a")
	p.Press(browser.Enter)
	p.Wait(`document.activeElement.id === "incident-head"`)
	p.Wait(`location.hash === "#incident-1"`)
	p.TabTo("#detail a[href^='/evidence/']")

	// The program ends, and starts again.
	p.Expect("ERR_CONNECTION|Failed to load resource")
	b.end()
	p.Wait(`document.querySelector("#link").textContent.startsWith("Disconnected since")`)
	p.Readable(4.5)
	b2 := begin(t, dir, b.addr)
	p.Click("#again")
	p.Wait(`document.querySelector("#link").textContent === "Live"`)
	p.Wait(`document.querySelector("#verdict").textContent.includes("2 violations found")`)
	b2.send(lost(700, 300, "stock:9")...)
	p.Wait(`document.querySelectorAll("tr.against").length === 2`)

	// Narrow screens.
	for _, width := range []int64{320, 600, 900} {
		p.Size(width, 800)
		p.Fits()
	}
	p.Size(1200, 900)

	// Read aloud: what one comes to has a name.
	names := map[string]bool{}
	for _, s := range p.Spoken() {
		names[s.Role+": "+s.Name] = true
		if (s.Role == "link" || s.Role == "button" || s.Role == "heading") && s.Name == "" {
			t.Errorf("a %s has no name", s.Role)
		}
	}
	for _, want := range []string{"heading: Incidents", "link: Incident 1, VIOLATION, key stock:4711",
		"button: Pause"} {
		must.Be(t, names[want], "nothing of %q is read aloud: %v", want, names)
	}
	b2.end()
}

// hostile are keys that a page must not fall for.
var hostile = []string{`<script>document.title="taken"</script>`, `"><img src=x onerror=document.title="taken">`,
	"\u202e\u2066drowssap\u2069", "</svg><iframe src=//example.org>", strings.Repeat("long ", 2000), "{{.Title}}`${1}`",
	"javascript:alert(1)", "' onfocus='document.title=1' autofocus='", "a\x00\x07b", "עברית العربية"}

// TestHostileKeys: what stands in keys is shown, and nothing else comes of it, with scripts and without.
func TestHostileKeys(t *testing.T) {
	chrome := browser.Open(t)
	b := begin(t, t.TempDir(), "")
	for i, key := range hostile {
		b.send(lost(1000+10*i, int64(100*(i+1)), key)...)
	}
	for _, scripts := range []bool{true, false} {
		p := chrome.Page(t)
		p.Scripts(scripts)
		for end := time.Now().Add(browser.Patience); ; {
			p.Goto("http://" + b.addr + "/")
			if strings.Contains(p.Text("#verdict"), fmt.Sprint(len(hostile), " violations found")) ||
				time.Now().After(end) {
				break
			}
		}
		if got := p.Text("#verdict"); !strings.Contains(got, fmt.Sprint(len(hostile), " violations found")) {
			t.Fatal(got)
		}
		p.Size(400, 800)
		p.Fits()
		keep(t, p, fmt.Sprint("hostile-", scripts), true)
		ids := browser.Eval[[]string](p, `[...document.querySelectorAll("tr.against a")].map(a => a.dataset.incident)`)
		must.Hold(t, len(ids) >= 4, "%d incidents", len(ids))
		for _, id := range ids {
			p.Goto("http://" + b.addr + "/incidents/" + id)
			p.Wait(`document.querySelector("article")`)
			p.Fits()
			if n := p.Count("iframe, img, main script, [onerror], [onfocus], [autofocus]"); n > 0 {
				t.Errorf("incident %s: %d elements that are not ours", id, n)
			}
			text := p.Text("main")
			if strings.ContainsAny(text, "\u202e\u2066\x00\x07") {
				t.Errorf("incident %s: %q", id, text)
			}
			if title := browser.Eval[string](p, "document.title"); !strings.HasPrefix(title, "Incident") {
				t.Errorf("the title is %q", title)
			}
			if len(text) > 60_000 {
				t.Errorf("incident %s takes %d bytes of text", id, len(text))
			}
		}
	}
}

// keep writes a picture, if pictures are wanted.
func keep(t *testing.T, p *browser.Page, name string, whole bool) {
	t.Helper()
	if *picture == "" {
		return
	}
	must.OK(t, os.WriteFile(filepath.Join(*picture, name+".png"), p.Screenshot(whole), 0o644))
}

// TestServeAddress: without a host it is this machine alone that can ask.
func TestServeAddress(t *testing.T) {
	s := must.Get(Serve(":0", Options{Metrics: &watch.Metrics{}}))(t)
	defer s.Close()
	if a := s.Addr().(*net.TCPAddr); !a.IP.IsLoopback() {
		t.Errorf("it listens on %v", a)
	}
}
