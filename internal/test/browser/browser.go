package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	js "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"isovet/internal/safego"
	"isovet/internal/test/must"
)

// Patience is how long anything is waited for before a test fails: a machine with two cores that runs other tests may
// take a while to start a browser.
const Patience = 2 * time.Minute

// names are those under which Chromium is installed.
var names = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome",
	"chrome-headless-shell", "headless-shell", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
	"/Applications/Chromium.app/Contents/MacOS/Chromium"}

// Find returns the path of Chromium: what the variable CHROME names, else the first in PATH. Errors: there is none.
func Find() (string, error) {
	if path := os.Getenv("CHROME"); path != "" {
		full, err := exec.LookPath(path)
		if err != nil {
			return "", fmt.Errorf("CHROME=%s: %w", path, err)
		}
		return full, nil
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no Chromium: none of %s in PATH, and CHROME is not set",
		strings.Join(names[:len(names)-2], ", "))
}

// Browser is a headless Chromium.
type Browser struct{ ctx context.Context }

// Open starts a browser, which ends with the test. Without ISOVET_BROWSER=1, which asks for it, the test is skipped;
// with it and without Chromium the test fails.
func Open(t testing.TB) *Browser {
	t.Helper()
	if os.Getenv("ISOVET_BROWSER") == "" {
		t.Skip("NOT RUN: ISOVET_BROWSER=1 has pages tried in Chromium")
	}
	path, err := Find()
	if err != nil {
		t.Fatalf("%v, and ISOVET_BROWSER=1 asks for it; install it (Debian: apt-get install chromium)", err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path),
		chromedp.Flag("force-prefers-reduced-motion", true), // no animation is looked at half-way
		chromedp.Flag("hide-scrollbars", true), chromedp.Flag("disable-gpu", true),
		// The profile lies with the test's files, and goes with them.
		chromedp.UserDataDir(filepath.Join(t.TempDir(), "profile")))
	if os.Getuid() == 0 && runtime.GOOS == "linux" {
		options = append(options, chromedp.NoSandbox)
	}
	alloc, end := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(alloc, chromedp.WithErrorf(func(string, ...any) {}))
	t.Cleanup(func() {
		cancel()
		end() // waits until the process has gone
	})
	begin(t, "start the browser", func() error { return chromedp.Do(ctx) })
	return &Browser{ctx}
}

// begin does what makes a browser or a page, which live as long as the context that they are made with: it cannot be
// cut off.
func begin(t testing.TB, what string, do func() error) {
	t.Helper()
	done := make(chan error, 1)
	var group safego.Group
	group.Go(func() { done <- do() })
	timer := time.NewTimer(Patience)
	defer timer.Stop()
	select {
	case err := <-done:
		must.OK(t, err, "%s", what)
	case <-timer.C:
		t.Fatalf("%s: nothing after %v", what, Patience)
	}
}

// Page is a page in a browser. Its methods fail the test where they cannot do what they are told to.
type Page struct {
	t   testing.TB
	ctx context.Context

	scheme   string // light or dark
	mu       sync.Mutex
	problems []string
	expected []*regexp.Regexp
}

// Page opens an empty page, with cookies and a cache of its own, 1200 by 900 pixels large, in light colours. It is
// closed when the test ends, which then fails if there were Problems.
func (b *Browser) Page(t testing.TB) *Page {
	t.Helper()
	p := &Page{t: t}
	ctx, cancel := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext(), chromedp.WithListener(p.listen))
	p.ctx = ctx
	t.Cleanup(func() {
		cancel()
		for _, x := range p.Problems() {
			t.Errorf("the browser says: %s", x)
		}
	})
	begin(t, "open a page", func() error {
		err := chromedp.Do(ctx)
		if err == nil { // Runtime is enabled from the start
			_, err = chromedp.Call(ctx, log.Enable, cdp.Empty{})
		}
		if err == nil { // it is looked at, and has the focus, whatever other pages there are
			_, err = chromedp.Call(ctx, emulation.SetFocusEmulationEnabled,
				emulation.SetFocusEmulationEnabledParams{Enabled: true})
		}
		return err
	})
	p.Size(1200, 900)
	p.Dark(false)
	return p
}

// run does something, and fails the test if it fails or takes longer than Patience.
func run[T any](p *Page, what string, action chromedp.Action[T]) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, Patience)
	defer cancel()
	out, err := chromedp.Run(ctx, action)
	if err != nil {
		p.t.Fatalf("%s: %v", what, err)
	}
	return out
}

// call is the same for a command of the browser's protocol.
func call[P, R any](p *Page, what string, command cdp.Command[P, R], params P) R {
	p.t.Helper()
	return run(p, what, func(ctx context.Context, _ *chromedp.Target) (R, error) {
		return chromedp.Call(ctx, command, params)
	})
}

// bad are the calls of console that are no notes.
var bad = []js.ConsoleAPICalledType{js.ConsoleAPICalledTypeError, js.ConsoleAPICalledTypeWarning,
	js.ConsoleAPICalledTypeAssert}

// listen keeps what is wrong. What the content security policy refuses comes as an entry of the log.
func (p *Page) listen(event any) {
	text := ""
	switch e := event.(type) {
	case *js.EventExceptionThrown:
		text = "exception: " + e.ExceptionDetails.Text
		if x := e.ExceptionDetails.Exception; x != nil {
			text += " " + x.Description
		}
	case *js.EventConsoleAPICalled:
		if !slices.Contains(bad, e.Type) {
			return
		}
		var said []string
		for _, a := range e.Args {
			if len(a.Value) > 0 {
				said = append(said, string(a.Value))
			} else {
				said = append(said, a.Description)
			}
		}
		text = "console." + string(e.Type) + ": " + strings.Join(said, " ")
	case *log.EventEntryAdded:
		if e.Entry.Level != log.EntryLevelError && e.Entry.Level != log.EntryLevelWarning {
			return
		}
		text = fmt.Sprintf("%s %s: %s %s", e.Entry.Source, e.Entry.Level, e.Entry.Text, e.Entry.URL)
	default:
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problems = append(p.problems, text)
}

// Expect says that problems which match are right: a server that is away on purpose is an error in the console.
func (p *Page) Expect(pattern string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expected = append(p.expected, regexp.MustCompile(pattern))
}

// Problems are what the browser has found wrong with the page so far, but for what was expected: errors and warnings of
// the console, exceptions, resources that cannot be had, what the content security policy refuses.
func (p *Page) Problems() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
next:
	for _, x := range p.problems {
		for _, e := range p.expected {
			if e.MatchString(x) {
				continue next
			}
		}
		out = append(out, x)
	}
	return out
}
