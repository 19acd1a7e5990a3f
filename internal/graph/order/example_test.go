package order_test

import (
	"fmt"

	"isovet/internal/graph/order"
)

func Example() {
	o := order.New(3)
	o.AddEdge(2, 1, 10)
	mark := o.Mark()
	o.AddEdge(1, 0, 11)
	fmt.Println(o.Topological())

	if o.AddEdge(0, 2, 12) {
		path, _ := o.Path(2, 0, nil)
		fmt.Println("cycle with", path)
	}
	o.Undo(mark)
	fmt.Println(o.AddEdge(0, 2, 12), o.Topological())
	// Output:
	// [2 1 0]
	// cycle with [{2 1 10} {1 0 11}]
	// false [0 2 1]
}
