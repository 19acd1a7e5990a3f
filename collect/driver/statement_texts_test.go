package driver

import (
	"strings"
	"testing"

	"isovet/datasets/workload"
)

// TestLockingWhere: what stands behind a predicate read that takes locks, and behind none that does not.
func TestLockingWhere(t *testing.T) {
	st := &Statements{Columns: ColumnsSQL{Tables: []Table{{Columns: []workload.Column{{Name: "a", Index: true}}}},
		Lock: " for update", Share: " for share"}}
	for _, c := range []struct {
		change Change
		want   string
	}{{Change{}, "order by k"}, {Change{Lock: true}, "order by k for update"},
		{Change{Share: true}, "order by k for share"}, {Change{Delete: true}, "order by k for update"}} {
		q := st.Where(0, []workload.Range{workload.Equal(0, 7)}, c.change, nil)
		if len(q) != 1 || !strings.HasSuffix(q[0], c.want) {
			t.Errorf("%+v: %q, expected one that ends with %q", c.change, q, c.want)
		}
	}
}
