package workload

import "testing"

// TestReferences: alone, every child has its parent, a slot has one parent at most, and all that is done there comes.
func TestReferences(t *testing.T) {
	for _, variant := range []string{"default", "locking"} {
		kinds, inserted := map[string]int{}, 0
		state := drive(t, build(t, "references", variant, 10, 0), 2000, func(x *Txn) {
			if last := x.Last(); last.Kind != ReadWhere {
				kinds[x.Name]++
			}
			for _, op := range x.Ops {
				if op.Kind == Write && op.Key.Table() == parents {
					inserted++
				}
				if op.ForUpdate != (variant == "locking" && op.Kind == ReadWhere && op.Key.Table() == parents) {
					t.Fatalf("%s: %+v", variant, op)
				}
			}
		})
		if len(kinds) != 5 || inserted < 100 { // Count writes only where it has found a slot empty
			t.Errorf("%s: %v wrote, %d parents came; expected all five", variant, kinds, inserted)
		}
		slots := map[int64]bool{}
		n := 0
		for k, row := range state.row {
			switch {
			case row == nil:
			case k.Table() == parents:
				if slots[row[parentSlot]] {
					t.Errorf("%s: slot %d has two parents", variant, row[parentSlot])
				}
				slots[row[parentSlot]] = true
			default:
				if n++; state.row[MakeKey(parents, row[childOf])] == nil {
					t.Errorf("%s: child %v has no parent", variant, row)
				}
			}
		}
		if n == 0 || n > 200 {
			t.Errorf("%s: %d children", variant, n)
		}
	}
}
