package linear_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"isovet/check/linear"
	"isovet/internal/slice"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// Operation is as Porcupine declares it.
type Operation struct {
	//lint:ignore ST1003 the field is named as Porcupine names it
	ClientId int
	Input    interface{}
	Call     int64
	Output   interface{}
	Return   int64
	Metadata interface{}
}

type input struct {
	write bool
	key   string
	value string
}

// model are the fields of a Porcupine model of registers by key.
var model = linear.Untyped[Operation]{
	Init: func() interface{} { return "" },
	Step: func(state, in, out interface{}) (bool, interface{}) {
		if i := in.(input); i.write {
			return true, i.value
		}
		return out == state, state
	},
	Partition: func(history []Operation) [][]Operation {
		by := map[string][]Operation{}
		for _, o := range history {
			by[o.Input.(input).key] = append(by[o.Input.(input).key], o)
		}
		return slice.Map([]string{"x", "y"}, func(k string) []Operation { return by[k] })
	},
}

// A model written for Porcupine: its fields go in as they are.
func ExampleUntyped() {
	a, err := linear.Check(context.Background(), model.Model(), linear.Operations([]Operation{
		{ClientId: 0, Input: input{true, "x", "1"}, Call: 1, Return: 2},
		{ClientId: 1, Input: input{key: "x"}, Output: "1", Call: 3, Return: 4},
		{ClientId: 1, Input: input{key: "x"}, Output: "", Call: 5, Return: 6},
	}), linear.Options{})
	fmt.Println(a.Verdict, a.Core, err)
	// Output: violation [1 2] <nil>
}

// TestUntyped compares a model of Porcupine's with the built-in register.
func TestUntyped(t *testing.T) {
	seen := map[any]int{}
	randtest.Seeds(t, 500, func(t testing.TB, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 38))
		var history []Operation
		var own []linear.Op
		now := int64(0)
		for range 2 + r.IntN(7) {
			now += r.Int64N(4)
			in := input{r.IntN(2) == 0, []string{"x", "y"}[r.IntN(2)], fmt.Sprint(r.IntN(2))}
			o := Operation{ClientId: r.IntN(3), Input: in, Call: now, Return: now + r.Int64N(8)}
			a := linear.Action{F: "write", Key: in.key, Value: in.value}
			if !in.write {
				a, o.Output = linear.Action{F: "read", Key: in.key}, []string{"", "0", "1"}[r.IntN(3)]
			}
			history = append(history, o)
			own = append(own, linear.Op{Client: int64(o.ClientId), Input: a, Output: o.Output, Call: o.Call,
				Return: o.Return})
		}
		want := must.Get(linear.Check(t.Context(), linear.Register(""), own, linear.Options{}))(t)
		seen[want.Verdict]++
		got, err := linear.Check(t.Context(), model.Model(), linear.Operations(history), linear.Options{})
		must.Hold(t, err == nil && got.Verdict == want.Verdict,
			"%v %v, expected %v: %+v", got.Verdict, err, want.Verdict, history)
	})
	must.Hold(t, len(seen) >= 2, "%v: the histories say nothing", seen)
}
