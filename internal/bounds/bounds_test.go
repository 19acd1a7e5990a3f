package bounds

import (
	"slices"
	"testing"
)

func TestSet(t *testing.T) {
	x := 5
	Register("test.x", &x)
	restore := Set("test.x", 1)
	if x != 1 || !slices.Contains(Names(), "test.x") {
		t.Errorf("set to %d, names %v", x, Names())
	}
	if restore(); x != 5 {
		t.Errorf("set back to %d", x)
	}
	for name, f := range map[string]func(){"twice": func() { Register("test.x", &x) }, "unknown": func() {
		Set("test.y", 1)
	}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}
