package workload

func newRmw(p Params) (Workload, error) {
	pairs := max(p.Ops/2, 1)
	if p.Variant == "counters" {
		pairs = 1
	}
	return &plain{table: Table{Rows: p.Keys}, adds: "rmw", lock: p.Variant == "locking",
		next: func(t *Txn, c *plainClient) {
			t.Name = "rmw"
			c.draw(t, pairs, Uniform(p.Keys))
			if p.Variant == "subtransactions" && c.rng.IntN(4) == 0 {
				t.Name = deep
			}
			if p.Variant != "autocommit" {
				return
			}
			t.Access = ReadWrite
			kind := c.rng.IntN(3)
			if kind > 0 {
				t.Name, t.Access, t.Args = "read", Alone, t.Args[:1]
			}
			if kind == 2 {
				t.Name, t.Args[0] = "write", ^t.Args[0]
			}
		}}, needKeys(p, pairs)
}
