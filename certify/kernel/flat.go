package kernel

// Columns holds the operations of a history of registers: reads and writes of at most one element. Transaction t, from
// 1, has operations Off[t-1] up to Off[t]. Operation i is about version v = Ver[i] of key Keys[v], from 0; the key's
// content is then Held[v], 0 being absent. An operation of kind 0 is a read, any other a write.
type Columns[K ~uint8] struct {
	Off, Ver, Keys, Held []uint32
	Kind                 []K
}

// FlatSerial is CheckSerial of a history whose operations are in columns; h has the rest. Cost: some 3 ns an operation.
func FlatSerial[K ~uint8](l Level, h Txns, c *Columns[K], order []uint32) Answer {
	r := newReplay(l, h)
	if r.ill || !l.Serial {
		return Answer{IllFormed, r.bad}
	}
	held := r.one[1:]
	for n, i := range order {
		t := h.Txn(i)
		if t == nil || r.begins[i] != 0 {
			return Answer{FailsAt, uint32(n)}
		}
		r.latest = max(r.latest, t.Began)
		if r.late(t) {
			return Answer{FailsAt, uint32(n)}
		}
		lo, hi := c.Off[i-1], c.Off[i]
		vs := c.Ver[lo:hi]
		for j, kind := range c.Kind[lo:hi] {
			v := vs[j]
			x := &held[c.Keys[v]]
			if kind != 0 {
				*x = c.Held[v]
			} else if *x != c.Held[v] {
				return Answer{FailsAt, uint32(n)}
			}
		}
		r.begins[i] = uint32(n) + 1
	}
	r.commits = r.begins
	return r.complete()
}

// FlatSnapshot is CheckSnapshot of a history whose operations are in columns.
func FlatSnapshot[K ~uint8](l Level, h Txns, c *Columns[K], order []Event) Answer {
	r := newReplay(l, h)
	if r.ill || l.Serial {
		return Answer{IllFormed, r.bad}
	}
	r.commits = make([]uint32, len(r.begins))
	last := make([]uint32, len(r.one))
	held := r.one[1:]
	for n, e := range order {
		i, place := e.Txn, uint32(n)+1
		t := h.Txn(i)
		if t == nil {
			return Answer{FailsAt, uint32(n)}
		}
		lo, hi := c.Off[i-1], c.Off[i]
		vs := c.Ver[lo:hi]
		if !e.Commit {
			if r.begins[i] != 0 {
				return Answer{FailsAt, uint32(n)}
			}
			for j, kind := range c.Kind[lo:hi] {
				v := vs[j]
				k := c.Keys[v]
				if kind != 0 {
					r.undo = append(r.undo, undone{key: k, one: held[k]})
					held[k] = c.Held[v]
				} else if held[k] != c.Held[v] {
					return Answer{FailsAt, uint32(n)}
				}
			}
			for j := len(r.undo) - 1; j >= 0; j-- {
				held[r.undo[j].key] = r.undo[j].one
			}
			r.undo = r.undo[:0]
			r.begins[i] = place
			r.latest = max(r.latest, t.Began)
			continue
		}
		begin := r.begins[i]
		if begin == 0 || r.commits[i] != 0 || r.late(t) {
			return Answer{FailsAt, uint32(n)}
		}
		for j, kind := range c.Kind[lo:hi] {
			if kind == 0 {
				continue
			}
			v := vs[j]
			k := c.Keys[v]
			if last[k] > begin && last[k] != place {
				return Answer{FailsAt, uint32(n)}
			}
			last[k], held[k] = place, c.Held[v]
		}
		r.commits[i] = place
	}
	return r.complete()
}
