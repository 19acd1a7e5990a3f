package linear

import "slices"

// List is the output of a read of several values. For a set it is sorted.
type List []string

// collection completes the model of a collection that values are put in and taken out of. A group has all operations on
// one value, except those that may have taken any value.
func collection(m Model[[]string], take string) *Model[[]string] {
	if step := m.Step; step != nil { // it appends to its state
		m.inPlace = step
		m.Step = func(s []string, input, output any) (bool, []string) { return step(slices.Clip(s), input, output) }
	}
	m.Init = func() []string { return nil }
	m.Equal = slices.Equal[[]string]
	m.Observes = func(_, output any) bool { return output == Empty }
	m.Group = func(input, output any) string {
		a := input.(Action)
		switch v, known := output.(string); {
		case output == Empty:
			return ""
		case a.F != take:
			return "v" + a.Value
		case known:
			return "v" + v
		}
		return ""
	}
	m.Partition, m.Describe = byKey, Describe
	return &m
}

// Queue is first in, first out. The output of a dequeue is the value or [Empty].
func Queue() *Model[[]string] {
	return collection(Model[[]string]{Step: func(s []string, input, output any) (bool, []string) {
		if a := input.(Action); a.F == "enqueue" {
			return true, append(s, a.Value)
		}
		if len(s) == 0 {
			return is(output, Empty), s
		}
		return is(output, s[0]), s[1:]
	}}, "dequeue")
}

// Stack is last in, first out. The output of a pop is the value or [Empty].
func Stack() *Model[[]string] {
	return collection(Model[[]string]{Step: func(s []string, input, output any) (bool, []string) {
		if a := input.(Action); a.F == "push" {
			return true, append(s, a.Value)
		}
		if len(s) == 0 {
			return is(output, Empty), s
		}
		return is(output, s[len(s)-1]), s[:len(s)-1]
	}}, "pop")
}

// Bag is a queue without order: a dequeue takes any of its values. If its outcome is unknown, it may have taken any.
func Bag() *Model[[]string] {
	m := collection(Model[[]string]{Steps: func(s []string, input, output any) (to [][]string) {
		if a := input.(Action); a.F == "enqueue" {
			return [][]string{with(s, a.Value)}
		}
		if len(s) == 0 {
			if is(output, Empty) {
				to = append(to, s)
			}
			return to
		}
		for i, v := range s {
			if is(output, v) && (i == 0 || s[i-1] != v) {
				to = append(to, slices.Delete(slices.Clone(s), i, i+1))
			}
		}
		return to
	}}, "dequeue")
	m.Partition = byValue
	return m
}

// byValue splits the operations of a bag by value. Values are independent if no dequeue finds the bag empty, and each
// says what it took.
func byValue(ops []Op) [][]int {
	named := slices.Clone(ops)
	for i := range named {
		a, value := named[i].Input.(Action), named[i].Input.(Action).Value
		if a.F == "dequeue" {
			v, known := named[i].output().(string)
			if !known {
				return byKey(ops)
			}
			value = v
		}
		named[i].Input = Action{Key: a.Key + "\x00" + value}
	}
	return byKey(named)
}

// with returns a sorted list with one more value.
func with(s []string, v string) []string {
	at, _ := slices.BinarySearch(s, v)
	return slices.Insert(slices.Clone(s), at, v)
}

// Set has each value once. add and remove return nil, or a bool that says whether the set changed; contains returns a
// bool, read a sorted [List].
func Set() *Model[[]string] {
	return &Model[[]string]{
		Init: func() []string { return nil },
		Step: func(s []string, input, output any) (bool, []string) {
			a := input.(Action)
			if a.F == "read" {
				want, known := output.(List)
				return !known || slices.Equal(s, []string(want)), s
			}
			at, in := slices.BinarySearch(s, a.Value)
			fits := func(answer bool) bool { return output == nil || is(output, answer) }
			switch {
			case a.F == "contains":
				return is(output, in), s
			case a.F == "add" && in || a.F == "remove" && !in:
				return fits(false), s
			case a.F == "add":
				return fits(true), with(s, a.Value)
			}
			return fits(true), slices.Delete(slices.Clone(s), at, at+1)
		},
		Equal: slices.Equal[[]string],
		Observes: func(input, output any) bool {
			f := input.(Action).F
			return f == "read" || f == "contains" || output == false
		},
		// Values are independent if no operation reads them all.
		Partition: func(ops []Op) [][]int {
			if slices.ContainsFunc(ops, func(o Op) bool { return o.Input.(Action).F == "read" }) {
				return byKey(ops)
			}
			named := slices.Clone(ops)
			for i := range named {
				a := named[i].Input.(Action)
				named[i].Input = Action{Key: a.Key + "\x00" + a.Value}
			}
			return byKey(named)
		},
		narrow:   fewValues,
		Describe: Describe,
	}
}

// fewValues returns the operations on the values that matter to those that surely took effect: their own values, and
// for each read or pair of reads a value that contradicts it, because only one of the two reads has it, or no earlier
// add. Reads are cut down to these values. If the operations on all values have an order, so do those on any subset.
func fewValues(ops []Op) (out []Op) {
	in, added := map[string]bool{}, map[string]int64{}
	var lists []List
	for i := range ops {
		a := ops[i].Input.(Action)
		if call, is := added[a.Value]; a.F == "add" && (!is || ops[i].Call < call) {
			added[a.Value] = ops[i].Call
		}
		in[a.Value] = in[a.Value] || a.F != "read" && !ops[i].Maybe
	}
	first := func(list List, is func(v string) bool) {
		if n := slices.IndexFunc(list, is); n >= 0 {
			in[list[n]] = true
		}
	}
	for i := range ops {
		list, known := ops[i].Output.(List)
		if !known || ops[i].Maybe {
			continue
		}
		first(list, func(v string) bool {
			call, is := added[v]
			return !is || call > ops[i].Return
		})
		for _, other := range lists {
			for _, both := range [][2]List{{list, other}, {other, list}} {
				first(both[0], func(v string) bool {
					_, has := slices.BinarySearch(both[1], v)
					return !has
				})
			}
		}
		lists = append(lists, list)
	}
	for _, op := range ops {
		list, known := op.Output.(List)
		if known {
			op.Output = slices.DeleteFunc(slices.Clone(list), func(v string) bool { return !in[v] })
		}
		if known || in[op.Input.(Action).Value] {
			out = append(out, op)
		}
	}
	return out
}

// Log is a list that grows at its end. append returns nil or the int64 place of the value, read (of all) the [List],
// and get (of place N) the value or [Empty].
func Log() *Model[[]string] {
	return &Model[[]string]{
		Init: func() []string { return nil },
		Step: func(s []string, input, output any) (bool, []string) {
			switch a := input.(Action); a.F {
			case "append":
				return output == nil || is(output, int64(len(s))), append(s[:len(s):len(s)], a.Value)
			case "get":
				if a.N < 0 || a.N >= int64(len(s)) {
					return is(output, Empty), s
				}
				return is(output, s[a.N]), s
			}
			want, known := output.(List)
			return !known || slices.Equal(s, []string(want)), s
		},
		Equal:    slices.Equal[[]string],
		Observes: reads("read", "get"), Partition: byKey, Describe: Describe, foresee: grownTo,
	}
}

// grownTo returns the log without those appends that exclude the longest read that surely took effect.
func grownTo(ops []Op) *Model[[]string] {
	var longest List
	for i := range ops {
		if list, known := ops[i].output().(List); known && len(list) > len(longest) {
			longest = list
		}
	}
	m := Log()
	step := m.Step
	m.Step = func(s []string, input, output any) (bool, []string) {
		if a := input.(Action); a.F == "append" && len(s) < len(longest) && longest[len(s)] != a.Value {
			return false, s
		}
		return step(s, input, output)
	}
	return m
}
