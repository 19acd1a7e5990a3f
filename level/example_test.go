package level_test

import (
	"fmt"

	"isovet/level"
)

// Levels are found by their names and short names; the lattice says which implies which, and which anomalies it
// forbids.
func Example() {
	l, err := level.Parse("SI")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(l, "-", l.About())
	fmt.Println(level.Serializable.Implies(l), l.Implies(level.Serializable))
	fmt.Println(l.Forbids("lost-update"), l.Forbids("write-skew"))
	_, err = level.Parse("chaos")
	fmt.Println(err != nil)
	// Output:
	// snapshot-isolation - every transaction reads a snapshot; of two concurrent writers of a key one aborts
	// true false
	// true false
	// true
}
