// Package pattern has regular expressions that cost a process nothing before it asks for one: to compile the program's
// own at its start took a tenth of that.
package pattern

import (
	"regexp"
	"sync"
)

// Lazy is a function that compiles the expression when it is first called; it panics where regexp.MustCompile does.
func Lazy(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
