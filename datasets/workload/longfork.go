package workload

func newLongFork(p Params) (Workload, error) {
	return &plain{table: Table{Rows: p.Keys}, next: func(t *Txn, c *plainClient) {
		if c.rng.IntN(3) > 0 {
			t.Name = "read"
			c.draw(t, max(2*p.Keys/3, 2), Uniform(p.Keys))
			return
		}
		t.Name = "write"
		c.draw(t, 1, Uniform(p.Keys))
		t.Args[0] = ^t.Args[0]
	}}, needKeys(p, 2)
}
