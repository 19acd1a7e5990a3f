package replay

import (
	"isovet/history"
	"isovet/predicates"
)

// newMatcher indexes a history's predicates; nil if it has none.
func newMatcher(h *history.History) (matcher, error) {
	if !h.HasPredicates() {
		return nil, nil
	}
	x, err := predicates.NewIndex(h)
	if err != nil {
		return nil, err
	}
	return x.NewState(), nil
}
