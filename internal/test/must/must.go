// Package must has what tests ask in one line: that a call works, where that is no part of what they test, and that a
// value is the one expected.
//
// A test program that imports it collects its garbage less often: the heaps of tests are small, and the collector takes
// up to a third of their processor time by its default. Benchmarks, and programs that a test starts, keep the default.
package must

import (
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func init() {
	has := func(prefix string) bool {
		return slices.ContainsFunc(os.Args, func(arg string) bool { return strings.HasPrefix(arg, prefix) })
	}
	if os.Getenv("GOGC") == "" && has("-test.") && !has("-test.bench") {
		debug.SetGCPercent(400)
	}
}

// OK ends a test where a call failed. what, a format and its arguments, may say which call it is:
//
//	must.OK(t, certify.Check(r, certify.Options{}), "seed %d", seed)
func OK(t testing.TB, err error, what ...any) {
	if err != nil {
		t.Helper() // here, as it costs time
		if len(what) > 0 {
			t.Fatalf("%s: %v", fmt.Sprintf(what[0].(string), what[1:]...), err)
		}
		t.Fatal(err)
	}
}

// Get returns what a call gave, as a function of the test, which it ends where the call failed:
//
//	h := must.Get(notation.Parse("s1: w(x,1)"))(t)
func Get[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
		return v
	}
}

// Have returns what a call gave where there is no test to end: it panics where the call failed.
func Have[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Equal reports where a value is not the one expected; the test goes on. what says which value it is:
//
//	must.Equal(t, h.NumTxns(), 3, "transactions of %s", file)
func Equal[T comparable](t testing.TB, got, want T, what string, args ...any) {
	if got != want {
		t.Helper()
		t.Errorf("%s: %s; expected %s", fmt.Sprintf(what, args...), said(got), said(want))
	}
}

// Same is Equal, but ends the test where the value is not the one expected.
func Same[T comparable](t testing.TB, got, want T, what string, args ...any) {
	if got != want {
		t.Helper()
		t.Fatalf("%s: %s; expected %s", fmt.Sprintf(what, args...), said(got), said(want))
	}
}

// Be reports where something does not hold; the test goes on. The arguments are evaluated in any case:
//
//	must.Be(t, files >= 100, "%d files", files)
func Be(t testing.TB, holds bool, format string, args ...any) {
	if !holds {
		t.Helper()
		t.Errorf(format, args...)
	}
}

// Hold is Be, but ends the test where it does not hold.
func Hold(t testing.TB, holds bool, format string, args ...any) {
	if !holds {
		t.Helper()
		t.Fatalf(format, args...)
	}
}

// said is a value as a failure shows it: a text of one line in quotation marks, one of several lines below the line.
func said(v any) string {
	s, ok := v.(string)
	switch {
	case !ok:
		return fmt.Sprintf("%+v", v)
	case strings.Contains(s, "\n"):
		return "\n" + s
	}
	return strconv.Quote(s)
}
