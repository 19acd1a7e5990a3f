package linear

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Action is the input of the built-in models: the request to the object.
type Action struct {
	F     string // read, write, cas, add, enqueue, …
	Key   string // of a store
	Value string // written, added, the new one of a cas
	Old   string // that a cas compares with
	N     int64  // added to a counter, or the place in a log that is read
	Txn   []Access
}

// Access is one read or write in an action on several registers. The Value of a read is ignored.
type Access struct {
	Write      bool
	Key, Value string
}

// Empty is the output of a dequeue or pop that finds nothing.
var Empty any = empty{}

type empty struct{}

func (empty) String() string { return "empty" }

// Object is a built-in model without its type parameter.
type Object struct {
	Name, About string
	Check       func(ctx context.Context, ops []Op, o Options) (Answer, error)
}

// object hides the type parameter of a model. first, unless it is nil, decides what it can in polynomial time.
func object[S any](name, about string, m *Model[S], first decider) Object {
	return Object{name, about, func(ctx context.Context, ops []Op, o Options) (Answer, error) {
		return m.check(ctx, ops, o, first)
	}}
}

// Objects returns the built-in models.
func Objects() []Object {
	return []Object{
		object("register", "read, write", plainRegister(), nil),
		object("cas-register", "read, write, cas", Register(""), nil),
		object("multi-register", "reads and writes of several registers at once", MultiRegister(), nil),
		object("queue", "enqueue, dequeue: first in, first out", Queue(), fifo),
		object("unordered-queue", "enqueue, dequeue in any order", Bag(), nil),
		object("stack", "push, pop: last in, first out", Stack(), lifo),
		object("linear-set", "add, remove, contains, read", Set(), members),
		object("linear-counter", "add, read", Counter(), bounds),
		object("mutex", "acquire, release", Semaphore(1), permits(1)),
		object("semaphore", "acquire, release of several permits", Semaphore(2), permits(2)),
		object("kv", "get, put, append of strings by key", KV(), nil),
		object("log", "append, read", Log(), nil),
	}
}

// SemaphoreOf returns the built-in semaphore with n permits.
func SemaphoreOf(n int) Object {
	return object("semaphore", "acquire, release of several permits", Semaphore(n), permits(n))
}

// Describe says an action and its output in words.
func Describe(input, output any) string {
	a := input.(Action)
	words := []string{a.F}
	add := func(w string) {
		if w != "" {
			words = append(words, w)
		}
	}
	add(a.Key)
	add(a.Old)
	add(a.Value)
	if a.N != 0 {
		add(fmt.Sprint(a.N))
	}
	for _, x := range a.Txn {
		if x.Write {
			add(x.Key + ":=" + x.Value)
		} else {
			add(x.Key)
		}
	}
	s := strings.Join(words, " ")
	if output == nil {
		return s
	}
	return fmt.Sprintf("%s → %v", s, output)
}

// is reports whether an output is the object's answer. An unknown one may be.
func is(output, answer any) bool { return output == Unknown || output == answer }

func reads(names ...string) func(input, output any) bool {
	return func(input, _ any) bool { return slices.Contains(names, input.(Action).F) }
}

// byKey splits operations by key.
func byKey(ops []Op) (parts [][]int) {
	at := map[string]int{}
	for i := range ops {
		k := ops[i].Input.(Action).Key
		p, known := at[k]
		if !known {
			p = len(parts)
			at[k], parts = p, append(parts, nil)
		}
		parts[p] = append(parts[p], i)
	}
	return parts
}

// Register is one register per key: read returns the value, write sets it, and cas sets it if it has the old value. The
// output of a cas is nil if it succeeded, and false if it did not.
func Register(initial string) *Model[string] {
	return &Model[string]{
		Init: func() string { return initial },
		Step: func(s string, input, output any) (bool, string) {
			switch a := input.(Action); {
			case a.F == "write":
				return true, a.Value
			case a.F == "read":
				return is(output, s), s
			case output == false:
				return s != a.Old, s
			case s == a.Old:
				return true, a.Value
			}
			return output == Unknown, s
		},
		Observes:  func(input, output any) bool { return input.(Action).F == "read" || output == false },
		Partition: byKey,
		Describe:  Describe,
	}
}

// RegisterOf returns the built-in register, or cas-register, with an initial value.
func RegisterOf(name, initial string) Object {
	m := plainRegister()
	if name != "register" {
		m = Register(initial)
	}
	m.Init = func() string { return initial }
	return object(name, "read, write", m, nil)
}

// plainRegister is a register without cas. Its operations on one value form a group.
func plainRegister() *Model[string] {
	m := Register("")
	m.Group = func(input, output any) string {
		a := input.(Action)
		if v, known := output.(string); a.F == "read" && known {
			return "v" + v
		}
		if a.F == "write" {
			return "v" + a.Value
		}
		return ""
	}
	return m
}

// MultiRegister is several registers that one action reads and writes together. The output has the results of the
// reads, in their order; a result that is Unknown matches any value.
func MultiRegister() *Model[map[string]string] {
	return &Model[map[string]string]{
		Init: func() map[string]string { return nil },
		Step: func(s map[string]string, input, output any) (bool, map[string]string) {
			seen, _ := output.([]any)
			to, n := s, 0
			for _, x := range input.(Action).Txn {
				if x.Write {
					next := make(map[string]string, len(to)+1)
					maps.Copy(next, to)
					next[x.Key] = x.Value
					to = next
					continue
				}
				if n < len(seen) && !is(seen[n], to[x.Key]) {
					return false, s
				}
				n++
			}
			return true, to
		},
		Equal: maps.Equal[map[string]string, map[string]string],
		Observes: func(input, _ any) bool {
			return !slices.ContainsFunc(input.(Action).Txn, func(x Access) bool { return x.Write })
		},
		Describe: Describe,
	}
}

// Counter starts at 0. The output of a read is its int64.
func Counter() *Model[int64] {
	return &Model[int64]{
		Init: func() int64 { return 0 },
		Step: func(s int64, input, output any) (bool, int64) {
			if a := input.(Action); a.F == "add" {
				return true, s + a.N
			}
			return is(output, s), s
		},
		Observes: reads("read"), Partition: byKey, Describe: Describe,
	}
}

// Semaphore has n permits to acquire and release; any client may release. With one permit it is a mutex.
func Semaphore(n int) *Model[int] {
	return &Model[int]{
		Init: func() int { return 0 },
		Step: func(held int, input, _ any) (bool, int) {
			if input.(Action).F == "acquire" {
				return held < n, held + 1
			}
			return held > 0, held - 1
		},
		Partition: byKey, Describe: Describe, proves: tooMany(n),
	}
}

// KV is a store of strings, empty at first: get gives a key's, put sets it, append adds to its end.
func KV() *Model[string] {
	return &Model[string]{
		Init: func() string { return "" },
		Step: func(s string, input, output any) (bool, string) {
			switch a := input.(Action); a.F {
			case "put":
				return true, a.Value
			case "append":
				return true, s + a.Value
			}
			return is(output, s), s
		},
		Observes: reads("get"), Partition: byKey, Describe: Describe,
	}
}
