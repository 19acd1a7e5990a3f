package replay

import (
	"isovet/check/prepass"
	"isovet/predicates"
)

// matcher is what a replay uses of predicates: the truth of a predicate for a version, and the number of present
// versions for which it is true.
type matcher = *predicates.State

// newMatcher returns the matcher of a view's predicates; nil if it has none.
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
