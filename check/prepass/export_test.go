package prepass

import "isovet/history"

// RunCounted is RunWith for histories without predicates, and tells how many writes candidates looked at.
func RunCounted(h *history.History, o Options) (*View, int) {
	p := newPass(h, o)
	p.run()
	return p.v, p.looks
}
