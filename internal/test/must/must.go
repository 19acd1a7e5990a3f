// Package must has what tests ask of each call that is no part of what they test: that it works.
//
// A test program that imports it collects its garbage less often: the heaps of tests are small, and the collector takes
// up to a third of their processor time by its default. Benchmarks, and programs that a test starts, keep the default.
package must

import (
	"os"
	"runtime/debug"
	"slices"
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

// OK ends a test where a call failed.
func OK(t testing.TB, err error) {
	if err != nil {
		t.Helper() // here, as it costs time
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
