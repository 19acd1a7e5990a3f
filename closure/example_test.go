package closure_test

import (
	"fmt"

	"isovet/closure"
	"isovet/internal/graph"
)

func Example() {
	// Three transactions: 0 and 1 overlap, 2 starts after both. 0 is known to precede 1.
	in := closure.Input{
		N:     3,
		Start: []int64{0, 1, 9},
		End:   []int64{5, 6, 12},
		Known: graph.Build(3, []graph.Edge{{From: 0, To: 1}}),
	}
	c, cycle, err := closure.PurdomPlus(in, closure.Options{})
	if err != nil || cycle != nil {
		fmt.Println(cycle, err)
		return
	}
	fmt.Println(c.Reaches(0, 2), c.Reaches(1, 0))

	if _, cycle := c.AddEdge(2, 0, 7); cycle {
		path, _ := c.Path(0, 2, nil)
		for _, s := range path {
			fmt.Printf("%d before %d: %s\n", s.From, s.To, s.Kind)
		}
	}
	// Output:
	// true false
	// 0 before 2: time
}
