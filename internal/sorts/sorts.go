// Package sorts sorts slices with one body of code for all types. slices.SortFunc is compiled anew for every type, some
// 10 kB each, and twice as fast: it is for what a check's time depends on, this package for the rest.
package sorts

import "sort"

// Func sorts a slice by cmp, as slices.SortFunc does.
func Func[T any](s []T, cmp func(a, b T) int) { sort.Sort(by[T]{s, cmp}) }

// Stable sorts a slice by cmp and leaves what is equal in its order, as slices.SortStableFunc does.
func Stable[T any](s []T, cmp func(a, b T) int) { sort.Stable(by[T]{s, cmp}) }

type by[T any] struct {
	s   []T
	cmp func(a, b T) int
}

func (b by[T]) Len() int           { return len(b.s) }
func (b by[T]) Less(i, j int) bool { return b.cmp(b.s[i], b.s[j]) < 0 }
func (b by[T]) Swap(i, j int)      { b.s[i], b.s[j] = b.s[j], b.s[i] }
