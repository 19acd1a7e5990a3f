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
