// Package pattern has regular expressions that are compiled at their first use: compiling all of the program's took a
// tenth of its start.
package pattern

import (
	"regexp"
	"sync"
)

// Lazy returns a function that compiles the expression at its first call. It panics like regexp.MustCompile.
func Lazy(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
