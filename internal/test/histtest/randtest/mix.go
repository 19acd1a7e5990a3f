package randtest

import "testing"

// Mix fails a test whose random inputs were a bad mix, by which it shows nothing. That is known only where it has all
// its seeds ([Whole]).
func Mix(t testing.TB, bad bool, format string, args ...any) {
	t.Helper()
	t.Logf(format, args...)
	if bad && Whole() {
		t.Fail()
	}
}
