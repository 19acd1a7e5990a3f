package workload

import "testing"

// TestCounters: alone, a client counts each counter as often as it says, and half of its operations are reads of what
// it writes one higher.
func TestCounters(t *testing.T) {
	for _, v := range []struct {
		name  string
		pairs int
	}{{"default", 1}, {"pairs", 2}, {"locking", 1}} {
		counted, reads, n := int64(0), 0, 2000
		state := drive(t, build(t, "counters", v.name, 0, 0), n, func(x *Txn) {
			if x.Name == "read" {
				reads++
				return
			}
			if len(x.Ops) != 2*v.pairs {
				t.Fatalf("%s: %d operations, expected %d", v.name, len(x.Ops), 2*v.pairs)
			}
			for i := 0; i < len(x.Ops); i += 2 {
				r, w := x.Ops[i], x.Ops[i+1]
				if r.Key != w.Key || w.Payload != r.Payload+1 || r.ForUpdate != (v.name == "locking") {
					t.Fatalf("%s: %+v, then %+v", v.name, r, w)
				}
				counted++
			}
		})
		sum := int64(0)
		for _, p := range state.payload {
			sum += p
		}
		if sum != counted || reads < n/10 || reads > n/3 {
			t.Errorf("%s: the sum is %d, expected %d; %d of %d only read", v.name, sum, counted, reads, n)
		}
	}
}
