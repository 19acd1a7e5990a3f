package replay

import (
	"isovet/check/prepass"
	"isovet/predicates"
)

// matcher answers a replay's questions about predicates: whether one is true for a version, and for how many current
// versions.
type matcher = *predicates.State

// newMatcher returns the matcher of a view's predicates, or nil if it has none.
func newMatcher(v *prepass.View) (matcher, error) {
	if !v.H.HasPredicates() {
		return nil, nil
	}
	if v.Bad != nil {
		return nil, v.Bad
	}
	x := v.Index
	if x == nil {
		var err error
		if x, err = predicates.NewIndex(v.H); err != nil {
			return nil, err
		}
	}
	return x.NewState(), nil
}
