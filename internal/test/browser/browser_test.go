package browser

import (
	"bytes"
	"fmt"
	"image/png"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"isovet/internal/test/must"
)

const wrong = `<!DOCTYPE html><html lang="en"><head><title>t</title><meta http-equiv="Content-Security-Policy"
content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'">
<style>
:root { color-scheme: light dark; }
body { background: white; color: black; }
#faint { color: #999; }
#half { opacity: .4; }
#glass { background: rgba(0, 0, 0, .5); } #glass b { color: #555; }
#picture { background: linear-gradient(red, blue); color: white; }
#hidden { visibility: hidden; color: white; }
#dark { background: #000; color: #333; }
#wide { width: 3000px; }
a:focus { outline: none; } button:focus { outline: 2px solid; }
@media (prefers-color-scheme: dark) { body { background: #222; } }
</style></head><body>
<p id="good">good</p><p id="faint">faint</p><p id="half">half</p><p id="glass"><b>glass</b></p>
<p id="picture">picture</p><p id="hidden">hidden</p><p id="dark">dark</p>
<a href="#x" id="a">a link</a> <button id="b" onclick="this.textContent = 'pressed'">press</button>
<div id="wide">wide</div>
<svg width="100" height="40"><rect width="100" height="40" fill="#ddd"/><text x="4" y="20" fill="#bbb">svg</text>
<path class="line" d="M0,30H100" stroke="#ccc" fill="none"/></svg>
<script>console.error("of the console"); setTimeout(() => { throw new Error("thrown"); });</script>
<img src="/picture.png" alt="a picture">
</body></html>`

// record is a test that a helper is allowed to fail.
type record struct {
	testing.TB
	said []string
}

func (r *record) Helper()                        {}
func (r *record) Errorf(format string, a ...any) { r.said = append(r.said, fmt.Sprintf(format, a...)) }
func (r *record) Error(a ...any)                 { r.said = append(r.said, fmt.Sprint(a...)) }

// TestFinds: what is wrong with a page is found, and what is right with it is not.
func TestFinds(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			fmt.Fprint(w, wrong)
			return
		}
		http.NotFound(w, r)
	}))
	defer s.Close()
	p := Open(t).Page(t)
	p.Goto(s.URL)
	p.Wait("document.images.length")
	has := func(what string, all []string, want ...string) {
		t.Helper()
		must.Equal(t, len(all), len(want), "%s: %q", what, all)
		for _, w := range want {
			must.Be(t, strings.Contains(strings.Join(all, "\n"), w), "%s: nothing of %q in %q", what, w, all)
		}
	}
	for end := time.Now().Add(Patience); len(p.Problems()) < 3 && time.Now().Before(end); { // the exception comes later
		Eval[bool](p, "new Promise(done => setTimeout(() => done(true), 50))")
	}
	has("problems", p.Problems(), "of the console", "thrown", "Content Security Policy")
	p.Expect("of the console")
	p.Expect("Error: thrown")
	p.Expect("violates the following Content Security Policy")
	has("problems but for those expected", p.Problems())

	rec := &record{TB: t}
	p.t = rec
	p.Readable(4.5)
	has("contrast", rec.said, `"faint"`, `"half"`, `"glass"`, `"picture"`, `"dark"`, `"svg"`)
	rec.said = nil
	p.Visible(".line", 3)
	has("lines", rec.said, "a line")
	rec.said = nil
	p.Fits()
	has("width", rec.said, `id="wide"`)
	rec.said = nil
	p.TabTo("#a")
	has("focus", rec.said, "#a has the focus")
	rec.said = nil
	p.TabTo("#b")
	has("focus that can be seen", rec.said)
	p.t = t

	p.Press(Enter)
	must.Equal(t, p.Text("#b"), "pressed", "the button says")
	p.Goto(s.URL)
	p.Click("#b")
	must.Equal(t, p.Text("#b"), "pressed", "the button says")
	must.Equal(t, p.Count("p"), 7, "paragraphs")
	link := false
	for _, x := range p.Spoken() {
		link = link || x == Spoken{"link", "a link"}
	}
	if !link {
		t.Errorf("no link is spoken of: %v", p.Spoken())
	}
	for dark, want := range map[bool]string{false: "rgb(255, 255, 255)", true: "rgb(34, 34, 34)"} {
		p.Dark(dark)
		must.Equal(t, Eval[string](p, "getComputedStyle(document.body).backgroundColor"), want, "dark %v", dark)
	}
	p.Size(300, 200)
	img, err := png.Decode(bytes.NewReader(p.Screenshot(false)))
	if err != nil || img.Bounds().Dx() != 300 || img.Bounds().Dy() != 200 {
		t.Errorf("%v, %v", err, img.Bounds())
	}
	p.Scripts(false)
	p.Goto(s.URL)
	p.Wait(`document.querySelector("#b")`)
	p.Click("#b")
	must.Equal(t, p.Text("#b"), "press", "without scripts the button says")
}

// TestFind: CHROME comes first, and what it names must be there.
func TestFind(t *testing.T) {
	t.Setenv("CHROME", "there-is-no-such-program")
	if path, err := Find(); err == nil || !strings.Contains(err.Error(), "there-is-no-such-program") {
		t.Errorf("%q, %v", path, err)
	}
	t.Setenv("CHROME", "")
	t.Setenv("PATH", t.TempDir())
	if path, err := Find(); err == nil && !strings.HasPrefix(path, "/Applications") {
		t.Errorf("%q", path)
	}
}
