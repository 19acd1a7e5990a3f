// Package bounds knows the bounds of the algorithms by name, so that tests can set each as low as it can be: what a
// stage leaves out when it stops early must never be what the next one takes for done.
package bounds

import (
	"fmt"
	"maps"
	"slices"
)

var all = map[string]*int{}

// Register names a bound, "package.name". It is called while packages are initialized.
func Register(name string, bound *int) {
	if all[name] != nil {
		panic("bounds: registered twice: " + name)
	}
	all[name] = bound
}

// Names lists them in order.
func Names() []string { return slices.Sorted(maps.Keys(all)) }

// Set sets a bound, and returns what sets it back. It is for tests, one at a time: nothing is locked.
func Set(name string, to int) (restore func()) {
	b := all[name]
	if b == nil {
		panic(fmt.Sprintf("bounds: no %q", name))
	}
	old := *b
	*b = to
	return func() { *b = old }
}
