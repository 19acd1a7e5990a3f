package linear_test

import (
	"context"
	"fmt"

	"isovet/check/linear"
)

// A model of one's own, a register: the second read does not see what the first saw.
func ExampleCheck() {
	m := &linear.Model[int]{
		Init: func() int { return 0 },
		Step: func(now int, input, output any) (bool, int) {
			if n, write := input.(int); write {
				return true, n
			}
			return output == linear.Unknown || output == now, now
		},
	}
	a, err := linear.Check(context.Background(), m, []linear.Op{
		{Input: 5, Call: 1, Return: 2}, {Input: "read", Output: 5, Call: 3, Return: 4},
		{Input: "read", Output: 0, Call: 5, Return: 6},
	}, linear.Options{})
	fmt.Println(a.Verdict, a.Core, err)
	// Output: violation [1 2] <nil>
}
