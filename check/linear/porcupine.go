package linear

// operation is Porcupine's Operation, field by field.
type operation = struct {
	//lint:ignore ST1003 the field is named as Porcupine names it
	ClientId int
	Input    any
	Call     int64
	Output   any
	Return   int64
	Metadata any
}

// Untyped are the fields of a Porcupine model, by Porcupine's names and with its types: one runs here as it is, without
// a dependency on Porcupine. A NondeterministicModel is given by its ToModel. O is porcupine.Operation.
type Untyped[O ~operation] struct {
	Partition         func(history []O) [][]O
	Init              func() any
	Step              func(state, input, output any) (bool, any)
	Equal             func(a, b any) bool
	DescribeOperation func(input, output any) string
	DescribeState     func(state any) string
}

// Model is the model, as Porcupine takes it: intervals are closed, and an operation that returns at the largest time
// took effect. Partition is given places as Metadata, and returns the operations that it is given.
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

// Operations are Porcupine's as this package has them.
func Operations[O ~operation](history []O) []Op {
	ops := make([]Op, len(history))
	for i, h := range history {
		o := operation(h)
		ops[i] = Op{Client: int64(o.ClientId), Input: o.Input, Output: o.Output, Call: o.Call, Return: o.Return}
	}
	return ops
}
