// Package bounds registers the bounds of algorithms by name, so that tests can set each as low as possible: if a stage
// stops early, the next one must never take its incomplete result for complete.
package bounds

import (
	"fmt"
	"maps"
	"slices"
)

var all = map[string]*int{}

// Register registers a bound under the name "package.name". Packages call it while they are initialized.
func Register(name string, bound *int) {
	if all[name] != nil {
		panic("bounds: registered twice: " + name)
	}
	all[name] = bound
}

// Names returns all names, sorted.
func Names() []string { return slices.Sorted(maps.Keys(all)) }

// Set sets a bound and returns a function that restores it. It is for tests, one at a time, since it does not lock.
func Set(name string, to int) (restore func()) {
	b := all[name]
	if b == nil {
		panic(fmt.Sprintf("bounds: no %q", name))
	}
	old := *b
	*b = to
	return func() { *b = old }
}
