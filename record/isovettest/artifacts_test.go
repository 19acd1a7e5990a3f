package isovettest

import "testing"

// TestCount: the artifacts of a test that fails again, by go test -count, do not take the place of the first.
func TestCount(t *testing.T) {
	t.Setenv("ISOVET_ARTIFACTS", t.TempDir())
	first, err := folder(t)
	second, err2 := folder(t)
	if err != nil || err2 != nil || first == second {
		t.Errorf("%s, %s: %v, %v; expected two folders", first, second, err, err2)
	}
}
