package oracle

// serial tries every sequence of transactions. Sequences that placed the same transactions and left the same state have
// the same futures, so each such pair is tried once.
func (w *world) serial() (order []uint32, ok bool) {
	failed := map[string]bool{}
	var try func(placed uint32, s state) bool
	try = func(placed uint32, s state) bool {
		if placed&w.sure == w.sure {
			return true
		}
		k := s.key(placed)
		if failed[k] {
			return false
		}
		for i, t := range w.txns {
			if placed>>i&1 == 1 || t.before&^placed != 0 {
				continue
			}
			next := s.clone()
			if !next.replay(w, t.id) {
				continue
			}
			order = append(order, t.id)
			if try(placed|1<<i, next) {
				return true
			}
			order = order[:len(order)-1]
		}
		failed[k] = true
		return false
	}
	ok = try(0, w.initial())
	return order, ok
}
