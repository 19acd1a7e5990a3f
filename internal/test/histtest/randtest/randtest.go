// Package randtest is what every random test shares, whatever it draws: the flags -seed and -histories, a failure that
// names its seed and the command that repeats it ([Seeds]), and for values that JSON can hold the smallest that still
// fails, kept in testdata/found ([Values]). Package histtest does the same for histories. It imports no other package
// of the module, so that the tests of all can use it.
package randtest

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
)

var (
	seedFlag  = flag.Uint64("seed", 0, "random tests: the first seed")
	countFlag = flag.Uint64("histories", 0,
		"random tests: how many histories or other inputs (default: the test's own number)")
)

// Long returns long where ISOVET_LONG=1 asks for the long form of the tests, else short. Where ISOVET_TIMES=N asks for
// N times the work and both are whole numbers, it returns N times short, and long at most.
func Long[T any](short, long T) T {
	if os.Getenv("ISOVET_LONG") != "" {
		return long
	}
	times, err := strconv.Atoi(cmp.Or(os.Getenv("ISOVET_TIMES"), "1"))
	if err != nil || times < 1 {
		panic(fmt.Sprintf("ISOVET_TIMES=%s; expected a whole number from 1 on", os.Getenv("ISOVET_TIMES")))
	}
	switch s := any(&short).(type) {
	case *int:
		*s = min(*s*times, max(*s, any(long).(int)))
	case *int64:
		*s = min(*s*int64(times), max(*s, any(long).(int64)))
	case *uint64:
		*s = min(*s*uint64(times), max(*s, any(long).(uint64)))
	}
	return short
}

// gateShare is the part of a test's seeds that the gate judges: one in so many. All are judged where ISOVET_LONG or
// ISOVET_TIMES is set, as .ci/nightly does.
const gateShare = 5

// Range is the first seed of a test and how many seeds it judges: n of them from 0 on, a share of them in the gate,
// unless the flags say otherwise.
func Range(n uint64) (first, count uint64) {
	if *countFlag > 0 {
		return *seedFlag, *countFlag
	}
	if !allSeeds() {
		n = (n + gateShare - 1) / gateShare
	}
	return *seedFlag, n
}

func allSeeds() bool { return os.Getenv("ISOVET_LONG") != "" || os.Getenv("ISOVET_TIMES") != "" }

// Whole reports whether a test has all its seeds. What a test demands of their mix is meant only then.
func Whole() bool { return *seedFlag == 0 && *countFlag == 0 && allSeeds() }

// Seeds judges the seeds of a test, n by default, and ends the test at the first that fails. The failure has the seed
// and the command that repeats it.
func Seeds(t *testing.T, n uint64, judge func(t testing.TB, seed uint64)) {
	t.Helper()
	first, n := Range(n)
	for seed := first; seed < first+n; seed++ {
		if err := Try(t, func(t testing.TB) { judge(t, seed) }); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, Repeat(t, seed))
		}
	}
}

// Repeat is the command that judges one seed of a test again.
func Repeat(t *testing.T, seed uint64) string {
	parts := strings.Split(t.Name(), "/")
	for i := range parts {
		parts[i] = "^" + regexp.QuoteMeta(parts[i]) + "$"
	}
	return fmt.Sprintf("repeat with: go test -run '%s' -seed %d -histories 1", strings.Join(parts, "/"), seed)
}

// Failure is what an input shows to be wrong.
type Failure struct {
	// Class names what fails, without the input: a smaller input that fails in the same class fails in the same way.
	Class string
	Err   error
	// Again judges another input by what failed alone, which is quicker than everything; nil: the whole test does.
	Again func(text []byte) bool
}

func (f *Failure) Error() string { return f.Class + ": " + f.Err.Error() }

func (f *Failure) Unwrap() error { return f.Err }

// Try judges, and returns a *Failure whose class is the line that found something wrong; nil where nothing is wrong.
func Try(t *testing.T, judge func(t testing.TB)) (err error) {
	p := &probe{TB: t}
	defer func() {
		if r := recover(); r != nil && r != (stop{}) {
			p.class = cmp.Or(p.class, "panic")
			fmt.Fprintf(&p.said, "panic: %v\n%s", r, debug.Stack())
		}
		if p.class != "" {
			err = &Failure{Class: p.class, Err: errors.New(strings.TrimSpace(p.said.String()))}
		}
	}()
	judge(p)
	return nil
}

// probe is a test that keeps what its judge says instead of failing.
type probe struct {
	testing.TB
	mu    sync.Mutex
	class string // where it failed first; "": it has not
	said  strings.Builder
}

// stop is what a probe panics with where a test would end.
type stop struct{}

// helpers are the packages that fail on a test's behalf: a class is the line of the test itself.
var helpers = map[string]bool{"must": true, "diff": true}

func (p *probe) fail(message string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.class == "" {
		_, file, line, _ := runtime.Caller(2)
		for i := 3; helpers[path.Base(path.Dir(file))]; i++ {
			_, file, line, _ = runtime.Caller(i)
		}
		p.class = fmt.Sprintf("%s:%d", filepath.Base(file), line)
	}
	p.said.WriteString(strings.TrimSuffix(message, "\n") + "\n")
}

func (p *probe) Helper()                           {}
func (p *probe) Log(args ...any)                   {}
func (p *probe) Logf(format string, args ...any)   {}
func (p *probe) Failed() bool                      { p.mu.Lock(); defer p.mu.Unlock(); return p.class != "" }
func (p *probe) Fail()                             { p.fail("failed") }
func (p *probe) FailNow()                          { p.fail("failed"); panic(stop{}) }
func (p *probe) Error(args ...any)                 { p.fail(fmt.Sprintln(args...)) }
func (p *probe) Errorf(format string, args ...any) { p.fail(fmt.Sprintf(format, args...)) }
func (p *probe) Fatal(args ...any)                 { p.fail(fmt.Sprintln(args...)); panic(stop{}) }
func (p *probe) Fatalf(format string, args ...any) {
	p.fail(fmt.Sprintf(format, args...))
	panic(stop{})
}
