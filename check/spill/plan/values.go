package plan

import (
	"slices"

	"isovet/history"
)

// valueSet is the values of wanted versions. A chunk that cannot have one of them is not read.
type valueSet struct {
	ints  []int64 // sorted
	kinds []history.ValueKind
}

func newValueSet(wants []Want) *valueSet {
	s := &valueSet{}
	for i := range wants {
		if v := &wants[i].Value; v.Kind == history.Int {
			s.ints = append(s.ints, v.N)
		} else if !slices.Contains(s.kinds, v.Kind) {
			s.kinds = append(s.kinds, v.Kind)
		}
	}
	slices.Sort(s.ints)
	s.ints = slices.Compact(s.ints)
	return s
}

// in reports whether a chunk may have written one of the values.
func (s *valueSet) in(w *Written) bool {
	for _, k := range s.kinds {
		if w.has(k, 0) {
			return true
		}
	}
	if !w.Known {
		return true
	}
	i, _ := slices.BinarySearch(s.ints, w.Min)
	for ; i < len(s.ints) && s.ints[i] <= w.Max; i++ {
		if w.has(history.Int, s.ints[i]) {
			return true
		}
	}
	return w.Initialize
}
