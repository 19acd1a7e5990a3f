// Package sorts sorts slices with one body of code for all types. slices.SortFunc is compiled again for every type,
// some 10 kB each, and is twice as fast. Use it if a check's time depends on the sort, and this package otherwise.
package sorts

import "sort"

// Func sorts a slice by cmp, as slices.SortFunc does.
func Func[T any](s []T, cmp func(a, b T) int) { sort.Sort(by[T]{s, cmp}) }

// Stable sorts a slice by cmp and keeps the order of equal elements, like slices.SortStableFunc.
func Stable[T any](s []T, cmp func(a, b T) int) { sort.Stable(by[T]{s, cmp}) }

type by[T any] struct {
	s   []T
	cmp func(a, b T) int
}

func (b by[T]) Len() int           { return len(b.s) }
func (b by[T]) Less(i, j int) bool { return b.cmp(b.s[i], b.s[j]) < 0 }
func (b by[T]) Swap(i, j int)      { b.s[i], b.s[j] = b.s[j], b.s[i] }
