// Package slice has the loops over lists that package slices lacks, and the making of maps when they are needed.
package slice

import (
	"iter"
	"slices"
)

// Map returns f of each element; nil for an empty list.
func Map[E, T any](list []E, f func(E) T) []T {
	if len(list) == 0 {
		return nil
	}
	out := make([]T, len(list))
	for i, x := range list {
		out[i] = f(x)
	}
	return out
}

// Try is Map with a function that can fail. It ends at the first error.
func Try[E, T any](list []E, f func(E) (T, error)) (out []T, err error) {
	for _, x := range list {
		y, err := f(x)
		if err != nil {
			return nil, err
		}
		out = append(out, y)
	}
	return out, nil
}

// Each calls f with one element after the other. It ends at the first error.
func Each[E any](list []E, f func(E) error) error {
	for _, x := range list {
		if err := f(x); err != nil {
			return err
		}
	}
	return nil
}

// Filter returns the elements for which keep is true; nil if there is none.
func Filter[E any](list []E, keep func(E) bool) (out []E) {
	for _, x := range list {
		if keep(x) {
			out = append(out, x)
		}
	}
	return out
}

// Places returns the places at which keep is true, in order; nil if there is none.
func Places[I ~int | ~int32 | ~uint32, E any](list []E, keep func(E) bool) (at []I) {
	for i, x := range list {
		if keep(x) {
			at = append(at, I(i))
		}
	}
	return at
}

// Pick returns the elements at the given places; nil for no place.
func Pick[I ~int | ~int32 | ~uint32 | ~uint64, E any](list []E, at []I) []E {
	if len(at) == 0 {
		return nil
	}
	out := make([]E, len(at))
	for i, j := range at {
		out[i] = list[j]
	}
	return out
}

// Union appends those elements of more that the list does not have yet.
func Union[E comparable](list []E, more ...E) []E {
	for _, x := range more {
		if !slices.Contains(list, x) {
			list = append(list, x)
		}
	}
	return list
}

// Set returns the elements as a set.
func Set[E comparable](list []E) map[E]bool {
	set := make(map[E]bool, len(list))
	for _, x := range list {
		set[x] = true
	}
	return set
}

// Sum returns the sum of numbers.
func Sum[N int | int64 | float64](numbers iter.Seq[N]) (sum N) {
	for n := range numbers {
		sum += n
	}
	return sum
}

// Numbers returns 0 to n-1.
func Numbers[N ~uint8 | ~int | ~int32 | ~int64 | ~uint32 | ~uint64](n int) []N {
	out := make([]N, n)
	for i := range out {
		out[i] = N(i)
	}
	return out
}

// Count returns the number of elements for which is holds.
func Count[E any](list []E, is func(E) bool) (n int) {
	for _, x := range list {
		if is(x) {
			n++
		}
	}
	return n
}

// Refs yields each element's place and a pointer to it.
func Refs[E any](list []E) iter.Seq2[int, *E] {
	return func(yield func(int, *E) bool) {
		for i := range list {
			if !yield(i, &list[i]) {
				return
			}
		}
	}
}

// MakeMap makes a map that is nil.
func MakeMap[M ~map[K]V, K comparable, V any](m *M) {
	if *m == nil {
		*m = make(M)
	}
}
