package linear

// operation has the fields of Porcupine's Operation.
type operation = struct {
	//lint:ignore ST1003 the field is named as Porcupine names it
	ClientId int
	Input    any
	Call     int64
	Output   any
	Return   int64
	Metadata any
}

// Untyped has the fields of a Porcupine model, with Porcupine's names and types, so that such a model runs here without
// a dependency on Porcupine. O is porcupine.Operation. For a NondeterministicModel, use its ToModel.
type Untyped[O ~operation] struct {
	Partition         func(history []O) [][]O
	Init              func() any
	Step              func(state, input, output any) (bool, any)
	Equal             func(a, b any) bool
	DescribeOperation func(input, output any) string
	DescribeState     func(state any) string
}

// Model translates the model as Porcupine means it: intervals are closed, and an operation that returns at the largest
// time took effect. Partition gets places as Metadata, and must return the operations that it got.
func (u Untyped[O]) Model() *Model[any] {
	m := &Model[any]{Init: u.Init, Step: u.Step, Equal: u.Equal, Describe: u.DescribeOperation,
		DescribeState: u.DescribeState}
	if u.Partition == nil {
		return m
	}
	m.Partition = func(ops []Op) (parts [][]int) {
		history := make([]O, len(ops))
		for i, o := range ops {
			history[i] = O(operation{int(o.Client), o.Input, o.Call, o.Output, o.Return, i})
		}
		for _, list := range u.Partition(history) {
			part := make([]int, len(list))
			for n, o := range list {
				i, is := operation(o).Metadata.(int)
				if !is {
					panic("linear: Partition returns an operation of its own; expected those that it is given")
				}
				part[n] = i
			}
			parts = append(parts, part)
		}
		return parts
	}
	return m
}

// Operations translates Porcupine's operations.
func Operations[O ~operation](history []O) []Op {
	ops := make([]Op, len(history))
	for i, h := range history {
		o := operation(h)
		ops[i] = Op{Client: int64(o.ClientId), Input: o.Input, Output: o.Output, Call: o.Call, Return: o.Return}
	}
	return ops
}
