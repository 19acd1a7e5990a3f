package bench

import "testing"

// TestWords: demands and findings are reported so that they can be read.
func TestWords(t *testing.T) {
	for _, c := range []struct {
		claim          Claim
		demanded, here string
	}{
		{Claim{Sense: AtLeast, Number: 1, Unit: all, Here: 1. / 3, At: "2 of 6 steps"}, "all 6 steps", "2 of 6 steps"},
		{Claim{Sense: AtLeast, Number: 1, Unit: all, At: "0 of 1 histories"}, "1 of 1 histories", "0 of 1 histories"},
		{Claim{Sense: MoreThan, Number: 1, Unit: "times as long as theirs", Here: 1.24}, "longer than theirs",
			"1.24 times as long as theirs"},
		{Claim{Sense: AtMost, Number: 1, Roughly: true, Unit: "times the growth of the size", Here: 1.2},
			"at most about the growth of the size", "1.2 times the growth of the size"},
		{Claim{Sense: LessThan, Number: 1, Unit: "times the highest", Here: 0.9}, "less than the highest",
			"0.9 times the highest"},
		{Claim{Sense: AtMost, Number: 1, Roughly: true, Unit: spread, Here: 1.10008, At: "over 5"},
			"the greatest is about the least", "the greatest is 1.1001 times the least over 5"},
		{Claim{Sense: EqualTo, Number: 1, Unit: "times as much", Here: 3, Beyond: true}, "about as much",
			"more than 3 times as much"},
		{Claim{Sense: AtMost, Number: 1.5, Unit: "s", Here: 1.50004}, "at most 1.5 s", "1.50004 s"},
	} {
		c.claim.Measured, c.claim.Holds = true, c.claim.verdict()
		if d, h := c.claim.demanded(), c.claim.here(); d != c.demanded || h != c.here {
			t.Errorf("%q, %q; not %q, %q", d, h, c.demanded, c.here)
		}
	}
}
