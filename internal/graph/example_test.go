package graph_test

import (
	"fmt"

	"isovet/internal/graph"
)

func ExampleWindows() {
	// 1 reads from 0, yet 1 ended before 0 began.
	g := graph.Build(2, []graph.Edge{{From: 0, To: 1}})
	topo, _ := graph.Topological(g)
	path, ok := graph.Windows(g, topo, []int64{5, 1}, []int64{9, 3})
	fmt.Println(ok, path)
	// Output: false [0 1]
}
