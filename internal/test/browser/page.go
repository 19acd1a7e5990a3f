package browser

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Goto opens an address and waits until it has loaded.
func (p *Page) Goto(url string) {
	p.t.Helper()
	run(p, "open "+url, chromedp.Navigate(url))
}

// Size sets the size of the window, in CSS pixels.
func (p *Page) Size(width, height int64) {
	p.t.Helper()
	call(p, "set the size", emulation.SetDeviceMetricsOverride,
		emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1})
}

// Dark has the reader prefer dark colours, or light ones.
func (p *Page) Dark(on bool) {
	p.t.Helper()
	scheme := "light"
	if on {
		scheme = "dark"
	}
	p.scheme = scheme
	p.media("")
}

// Print shows the page as it is printed, or as it is on a screen.
func (p *Page) Print(on bool) {
	p.t.Helper()
	if on {
		p.media("print")
	} else {
		p.media("")
	}
}

func (p *Page) media(media string) {
	p.t.Helper()
	call(p, "prefer "+p.scheme+" colours", emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: media,
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: p.scheme},
			{Name: "prefers-reduced-motion", Value: "reduce"}}})
}

// Scripts allows scripts of pages that are opened from now on, or forbids them; Eval and Wait work all the same.
func (p *Page) Scripts(on bool) {
	p.t.Helper()
	call(p, "allow scripts", emulation.SetScriptExecutionDisabled,
		emulation.SetScriptExecutionDisabledParams{Value: !on})
}

// Eval returns what an expression in JavaScript is. A promise is waited for. T is what its JSON is read into.
func Eval[T any](p *Page, expression string) T {
	p.t.Helper()
	var out T
	text := run(p, "evaluate "+short(expression), chromedp.Evaluate[string](
		"(async () => JSON.stringify(await ("+expression+")) ?? 'null')()", chromedp.EvalAwaitPromise))
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		p.t.Fatalf("%s is %s: %v", short(expression), text, err)
	}
	return out
}

// Wait waits until an expression in JavaScript is true. An exception counts as false: what it looks for may still come.
func (p *Page) Wait(expression string) {
	p.t.Helper()
	asked := "(() => { try { return !!(" + expression + "); } catch { return false; } })()"
	for end := time.Now().Add(Patience); !Eval[bool](p, asked); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatalf("%s is not true after %v; the browser says %q, the page (%s):\n%s", short(expression), Patience,
				p.Problems(), Eval[string](p, "document.readyState + ', ' + document.visibilityState"),
				Eval[string](p, "document.body ? document.body.innerText.slice(0, 4000) : ''"))
		}
	}
}

// Text is what an element shows: of the first that the CSS selector matches, which is waited for.
func (p *Page) Text(selector string) string {
	p.t.Helper()
	p.Wait(one(selector))
	return Eval[string](p, one(selector)+".textContent")
}

// Count is how many elements match a CSS selector now.
func (p *Page) Count(selector string) int {
	p.t.Helper()
	return Eval[int](p, "document.querySelectorAll("+quote(selector)+").length")
}

// Click clicks at the middle of the first element that matches, with the mouse, once it is there. What lies over it is
// what is clicked.
func (p *Page) Click(selector string) {
	p.t.Helper()
	p.Wait(one(selector))
	at := Eval[[2]float64](p, "(e => { e.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'}); "+
		"const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })("+one(selector)+")")
	run(p, "click "+selector, chromedp.MouseClickXY(at[0], at[1]))
}

// Keys for Press.
const (
	Tab, Enter, Escape       = kb.Tab, kb.Enter, kb.Escape
	Left, Right, Up, Down    = kb.ArrowLeft, kb.ArrowRight, kb.ArrowUp, kb.ArrowDown
	Home, End, Space, Delete = kb.Home, kb.End, " ", kb.Delete
)

// Press presses keys, one after another: those named above, or letters. They go to what has the focus.
func (p *Page) Press(keys ...string) {
	p.t.Helper()
	for _, k := range keys {
		run(p, "press a key", chromedp.KeyEvent(k))
	}
}

// TabTo presses Tab until what matches the CSS selector has the focus, as who has no mouse would, and fails if it
// cannot be reached, or if it cannot be seen that it has the focus: no outline, no shadow.
func (p *Page) TabTo(selector string) {
	p.t.Helper()
	p.Wait(one(selector))
	const most = 500
	for range most {
		p.Press(Tab)
		if !Eval[bool](p, "document.activeElement.matches("+quote(selector)+")") {
			continue
		}
		if Eval[bool](p, "(s => s.outlineStyle === 'none' && s.boxShadow === 'none')"+
			"(getComputedStyle(document.activeElement))") {
			p.t.Errorf("%s has the focus, and that cannot be seen", selector)
		}
		return
	}
	p.t.Fatalf("%s is not reached by %d times Tab; the focus is at %s", selector, most,
		Eval[string](p, "document.activeElement.outerHTML.slice(0, 300)"))
}

// Fits fails if the page is wider than the window, so that lines must be scrolled to and fro to be read. What scrolls
// by itself, such as a wide table in a box, is right.
func (p *Page) Fits() {
	p.t.Helper()
	got := Eval[struct{ Page, Window float64 }](p,
		"({Page: document.documentElement.scrollWidth, Window: document.documentElement.clientWidth})")
	if got.Page > got.Window {
		p.t.Errorf("the page is %v pixels wide, the window %v: %s", got.Page, got.Window, Eval[string](p,
			`[...document.querySelectorAll("body *")].filter(e => {
				if (e.getBoundingClientRect().right <= document.documentElement.clientWidth + 1) return false;
				let free = getComputedStyle(e).position === "absolute"; // of boxes that are not its containing block
				for (let up = e.parentElement; up && up !== document.body; up = up.parentElement) {
					const s = getComputedStyle(up);
					if (s.position !== "static") free = s.position === "absolute";
					else if (free) continue;
					if (s.overflowX !== "visible") return false;
				}
				return true;
			}).slice(0, 5).map(e => e.outerHTML.slice(0, 120)).join("\n")`))
	}
}

// Spoken is what a screen reader gets: of each thing that it does not pass over its role and name, in order.
func (p *Page) Spoken() (out []Spoken) {
	p.t.Helper()
	tree := call(p, "read the accessibility tree", accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	for _, n := range tree.Nodes {
		if n.Ignored || n.Role == nil {
			continue
		}
		s := Spoken{Role: said(n.Role)}
		if n.Name != nil {
			s.Name = said(n.Name)
		}
		out = append(out, s)
	}
	return out
}

// Spoken is a thing as a screen reader tells it: ("link", "incident 3").
type Spoken struct{ Role, Name string }

func said(v *accessibility.Value) string {
	var s string
	if json.Unmarshal(v.Value, &s) != nil {
		return string(v.Value)
	}
	return s
}

// Screenshot is a picture of the window, as PNG; of the whole page, if whole.
func (p *Page) Screenshot(whole bool) []byte {
	p.t.Helper()
	return call(p, "make a picture", page.CaptureScreenshot, page.CaptureScreenshotParams{
		Format: page.CaptureScreenshotFormatPng, CaptureBeyondViewport: &whole}).Data
}

func one(selector string) string { return "document.querySelector(" + quote(selector) + ")" }

func quote(s string) string {
	b, _ := json.Marshal(s) // a string has JSON
	return string(b)
}

func short(expression string) string {
	expression = strings.Join(strings.Fields(expression), " ")
	if len(expression) > 120 {
		return fmt.Sprintf("%.120s…", expression)
	}
	return expression
}
