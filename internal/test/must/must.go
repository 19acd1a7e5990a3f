// Package must has what tests ask of each call that is no part of what they test: that it works.
package must

import "testing"

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
