package workload

func newCounters(p Params) (Workload, error) {
	const read = 4 // counters that a read-only transaction reads
	each := 1
	if p.Variant == "pairs" {
		each = 2
	}
	return &plain{table: Table{Rows: p.Keys, Counter: true}, adds: "count", lock: p.Variant == "locking",
		next: func(t *Txn, c *plainClient) {
			t.Name = "count"
			n := each
			if c.rng.IntN(5) == 0 {
				t.Name, n = "read", read
			}
			c.draw(t, n, Uniform(p.Keys))
		}}, needKeys(p, read)
}
