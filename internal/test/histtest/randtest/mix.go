package randtest

import "testing"

// Mix fails a test whose random inputs were a bad mix, by which it shows nothing. That is known only where it has all
// its seeds ([Whole]); else what came up is logged.
func Mix(t testing.TB, bad bool, format string, args ...any) {
	t.Helper()
	if bad && Whole() {
		t.Errorf(format, args...)
	} else if len(args) > 0 {
		t.Log(args...)
	}
}
