package linear

import (
	"slices"
)

// List is the output of a read of several values. Of a set they are sorted.
type List []string

// collection completes the model of values that are put in and taken out. Those of one value can be left out together,
// but for who may have taken any.
func collection(m Model[[]string], take string) *Model[[]string] {
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
			return true, append(s[:len(s):len(s)], a.Value)
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
			return true, append(s[:len(s):len(s)], a.Value)
		}
		if len(s) == 0 {
			return is(output, Empty), s
		}
		return is(output, s[len(s)-1]), s[:len(s)-1]
	}}, "pop")
}

// Bag is a queue without order: a dequeue gives any of the values. One of unknown outcome took any of them.
func Bag() *Model[[]string] {
	m := collection(Model[[]string]{Steps: func(s []string, input, output any) (to [][]string) {
		a := input.(Action)
		if a.F == "enqueue" {
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

// byValue parts the operations of a bag by their values, which are apart where nobody finds it empty and each dequeue
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

// with is a sorted list with one value more.
func with(s []string, v string) []string {
	at, _ := slices.BinarySearch(s, v)
	return slices.Insert(slices.Clone(s), at, v)
}

// Set has each value once. The output of add and remove is nil, or a bool: whether the set changed; of contains a bool,
// of a read a sorted [List].
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
		// Values are apart where nobody reads them all.
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

// fewValues are the operations of a set on the values that matter to those that must take effect: theirs, one that two
// reads do not share, and one that nobody adds before a read has it. Reads have only those then. A set of all values
// that has an order has one of any of them.
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

// Log is a list that grows at its end. The output of append is nil or the int64 place of the value, that of a read of
// all ("read") the [List], that of one place ("get", N) the value or [Empty].
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
		Observes: reads("read", "get"), Partition: byKey, Describe: Describe,
	}
}
