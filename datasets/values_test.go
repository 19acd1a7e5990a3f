package datasets

import (
	"context"
	"testing"

	"isovet/history"
)

// TestValues: the variants with few values have about as many that were written more than once as they are made to
// have; what a number of values cannot go with is refused.
func TestValues(t *testing.T) {
	for _, c := range []struct {
		spec   Spec
		lo, hi int
	}{
		{Spec{Workload: "mix", Variant: "blind"}, 1200, 1700},
		{Spec{Workload: "mix", Variant: "blind-heavy"}, 2300, 3100},
		{Spec{Workload: "mix", Variant: "duplicates"}, 6700, 8700},
		{Spec{Workload: "mix", Variant: "duplicates", Values: 1}, 3100, 3600},
		{Spec{Workload: "mix", Variant: "uniform"}, 0, 0},
	} {
		c.spec.Times, c.spec.Sessions, c.spec.NoAborted, c.spec.Seed = NoTimes, 25, true, 7
		h := generate(t, c.spec)
		times := make([]int, h.NumVersions())
		twice := 0
		for op, k := range h.Ops.Kind {
			if k == history.Write {
				if times[h.Ops.Ver[op]]++; times[h.Ops.Ver[op]] == 2 {
					twice++
				}
			}
		}
		if twice < c.lo || twice > c.hi {
			t.Errorf("%s with %d values: %d values were written more than once; want %d to %d", c.spec.Variant,
				c.spec.Values, twice, c.lo, c.hi)
		}
	}
	for _, s := range []Spec{
		{Workload: "blindw-pred", Values: 3},
		{Workload: "list-append", Values: 3},
		{Workload: "mix", Values: -1},
		{Workload: "mix", Values: 3, Fault: "lost-update"},
	} {
		if _, err := Generate(context.Background(), s); err == nil {
			t.Errorf("%+v is accepted", s)
		}
	}
}
