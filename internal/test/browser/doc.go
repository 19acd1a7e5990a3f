// Package browser opens pages of ours in a headless Chromium, for tests: do they render without an error, can they be
// read, worked by keyboard, and looked at.
//
// A test opens a Browser, which costs about a second, and as many pages in it as it likes, each in a profile of its
// own:
//
//	b := browser.Open(t)
//	p := b.Page(t)
//	p.Goto(server.URL)
//	p.Wait(`document.querySelector("#incidents tr")`)
//	p.Click("#incidents a")
//	p.Readable(4.5)
//
// What the console says is wrong, an exception, a resource that cannot be had and whatever the page's content security
// policy refuses fails the test when it ends, unless Page.Expect names it.
//
// Nothing here depends on how fast the machine is: whatever is waited for is waited for for as long as Patience, and no
// test fails for being slow before that.
//
// These tests run where ISOVET_BROWSER=1 asks for them, as .ci/run and .ci/nightly do; then a missing program is a
// failure. It is the one that the variable CHROME names, else the first of several names in PATH.
//
// Only tests import this package (internal/test/archtest).
package browser
