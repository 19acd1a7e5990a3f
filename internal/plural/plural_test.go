package plural

import "testing"

func TestOf(t *testing.T) {
	for _, x := range []struct {
		n    int
		noun string
		want string
	}{{1, "round", "1 round"}, {2, "round", "2 rounds"}, {0, "history", "0 histories"}, {2, "key", "2 keys"},
		{3, "process", "3 processes"}, {2, "branch", "2 branches"}} {
		if got := Of(x.n, x.noun); got != x.want {
			t.Errorf("%q; want %q", got, x.want)
		}
	}
}
