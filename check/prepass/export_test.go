package prepass

import "isovet/history"

// RunCounted is RunWith for histories without predicates, and tells how many writes candidates looked at.
func RunCounted(h *history.History, o Options) (*View, int) {
	p := newPass(h, o)
	p.run()
	return p.v, p.looks
}

// AllLarge has every transaction's writes looked up in a table, until back is called.
func AllLarge() (back func()) {
	was := largeTxn
	largeTxn = 0
	return func() { largeTxn = was }
}
