package pattern

import "testing"

func TestLazy(t *testing.T) {
	digits, wrong := Lazy(`\d+`), Lazy(`(`)
	first, second := digits(), digits()
	if got := first.FindString("a12b"); got != "12" || first != second {
		t.Errorf("%q; compiled once: %v", got, first == second)
	}
	defer func() {
		if recover() == nil {
			t.Error("a wrong expression does not panic")
		}
	}()
	wrong()
}
