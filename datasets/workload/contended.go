package workload

func newContended(p Params) (Workload, error) {
	return &plain{table: Table{Rows: p.Keys}, next: func(t *Txn, c *plainClient) {
		t.Name = "contended"
		c.draw(t, p.Ops, Uniform(p.Keys))
		for i := max(p.Ops/5, 1); i < p.Ops; i++ {
			t.Args[i] = ^t.Args[i]
		}
	}}, needKeys(p, p.Ops)
}
