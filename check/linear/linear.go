// Package linear decides linearizability of any object (Herlihy and Wing 1990): whether its operations can take effect
// one after the other as its sequential [Model] says, each at one moment between its call and its return. A "yes" comes
// with an order, a "no" with a few operations that have none.
//
// An operation of unknown outcome took effect at any time after its call, or never. If an object has independent parts,
// such as the keys of a store, each part is decided by itself. If one operation returns at the moment at which another
// is called, either may come first.
//
// # Files
//
//   - linear.go: models, operations and answers, and how an answer is found and certified
//   - search.go: the search for an order
//   - sweep.go: the second opinion on a "no", by all possible states over time
//   - core.go: a small set of operations without an order
//   - models.go, collections.go: the models of registers, counters, locks, queues, stacks, sets and logs
//   - counters_sets.go: counters and sets that one read refutes
//   - add_only_set.go: sets of distinct values from which nothing is removed, in polynomial time
//   - fifo.go, lifo.go, permits.go: queues and stacks of distinct values, and semaphores, in polynomial time
//   - porcupine.go: models and operations of Porcupine
//
// Experimental: this package may still change.
package linear

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"isovet/evidence"
	"isovet/internal/slice"
)

// Model is a sequential object with states S. Init and Step are required. Step must not change its argument.
type Model[S any] struct {
	Init func() S
	// Step reports whether an operation may take effect in a state with this output, and returns the next state. The
	// output [Unknown], of an operation of unknown outcome, matches any.
	Step func(state S, input, output any) (bool, S)
	// Steps, if set, replaces Step for objects with several possible next states.
	Steps func(state S, input, output any) []S
	// inPlace, if set, is Step for a state that nobody else holds: it may change it.
	inPlace func(state S, input, output any) (bool, S)
	// Equal compares states; nil means ==.
	Equal func(a, b S) bool
	// Observes reports whether an operation never changes the state, which saves choices; nil means that all may.
	Observes func(input, output any) bool
	// Partition splits a history (as indices) into parts that are linearizable iff the whole is; nil: one part.
	Partition func(ops []Op) [][]int
	// Group names the group of an operation, such as its value in a queue; "" means that the operation is in none. If a
	// history is linearizable, it must stay so without all operations of a group. A core then consists of whole groups,
	// and has no order whatever else happened.
	Group func(input, output any) string
	// Describe says an operation in words, DescribeState a state; nil means as fmt does.
	Describe      func(input, output any) string
	DescribeState func(state S) string
	// narrow, if set, returns fewer and smaller operations that have an order if the given ones have one: the
	// operations that matter to those that surely took effect.
	narrow func(ops []Op) []Op
	// foresee, if set, returns the model without those steps after which no order of these operations is possible.
	foresee func(ops []Op) *Model[S]
	// proves, if set, is the second opinion on a decider's core: no order whatever the others did.
	proves func(ops []Op, a *Answer) bool
}

// Unknown is the output of an operation whose outcome is unknown.
var Unknown any = unknown{}

type unknown struct{}

func (unknown) String() string { return "?" }

// Op is an operation.
type Op struct {
	Client        int64
	Input, Output any
	Call, Return  int64
	// Maybe says that it took effect once, at any time after Call, or never. Return and Output are then ignored.
	Maybe bool
	// ghost says that it may have taken effect before Return, with any answer, or never.
	ghost bool
}

func (o *Op) until() int64 {
	if o.Maybe {
		return math.MaxInt64
	}
	return o.Return
}

func (o *Op) output() any {
	if o.Maybe {
		return Unknown
	}
	return o.Output
}

// Options bound the work. The zero value means the defaults.
type Options struct {
	// MaxStates bounds the states that a search remembers; 0 means two million. One over 200 bytes counts as several.
	MaxStates int
}

// defaultStates is the default of MaxStates: with one key each, some 400 MB.
const defaultStates = 2_000_000

// Answer says whether the operations are linearizable.
type Answer struct {
	Verdict evidence.Verdict
	Reason  string // of Unknown
	// Order, with Holds, has the operations that took effect, as indices, in an order that explains all. The parts of
	// an object follow each other.
	Order []int
	// Core, with Violated, has a few operations without an order, as indices in the order of their calls.
	Core []int
	// Others says what Core assumes about the operations that it leaves out. If false, they were never called; if true,
	// each took effect at any time while it ran, with any answer, or never.
	Others bool
	// Why names the condition that the core violates, if it has a name.
	Why string
}

// errBudget ends a search that exceeds MaxStates.
var errBudget = errors.New("the search visited more states than its memory bound allows")

// Check decides a history. It certifies each answer: it replays an order, and refutes a core by a second search that
// shares no code with the first. Errors: operations that return before they are called. Cost: exponential in the number
// of concurrent operations at worst, linear without overlap.
func Check[S any](ctx context.Context, m *Model[S], ops []Op, o Options) (Answer, error) {
	return m.check(ctx, ops, o, nil)
}

// decider decides a part of a history by another method than search. known is false if it cannot, or stop returns true.
type decider func(stop func() bool, ops []Op) (a Answer, known bool)

func (m *Model[S]) check(ctx context.Context, ops []Op, o Options, first decider) (Answer, error) {
	for i := range ops {
		if ops[i].until() < ops[i].Call {
			return Answer{}, fmt.Errorf("operation %d returns before it is called", i)
		}
	}
	o.MaxStates = cmp.Or(o.MaxStates, defaultStates)
	parts := [][]int{slice.Numbers[int](len(ops))}
	if m.Partition != nil {
		parts = m.Partition(ops)
	}
	all := Answer{Verdict: evidence.Holds, Order: make([]int, 0, len(ops))}
	for _, part := range parts {
		a := m.part(ctx, slice.Pick(ops, part), o, first)
		a.Order, a.Core = slice.Pick(part, a.Order), slice.Pick(part, a.Core)
		switch a.Verdict {
		case evidence.Violated:
			return a, nil
		case evidence.Unknown:
			if all.Verdict == evidence.Holds {
				all = a
			}
		default:
			all.Order = append(all.Order, a.Order...)
		}
	}
	return all, nil
}

func (m *Model[S]) part(ctx context.Context, ops []Op, o Options, first decider) Answer {
	if first != nil {
		if a, known := first(func() bool { return ctx.Err() != nil }, ops); known {
			switch {
			case a.Verdict == evidence.Holds && m.replay(ops, a.Order) == nil:
				return a
			case a.Verdict == evidence.Violated && m.proves != nil && m.proves(ops, &a):
				slices.SortStableFunc(a.Core, func(i, j int) int { return cmp.Compare(ops[i].Call, ops[j].Call) })
				return a
			case a.Verdict == evidence.Violated && m.proves == nil && m.confirms(ctx, ops, &a, o.MaxStates) == nil:
				return a
			}
		}
	}
	order, ok, err := m.search(ctx, ops, o.MaxStates)
	switch {
	case err != nil:
		return unknownFor(err)
	case ok:
		if err := m.replay(ops, order); err != nil {
			panic(fmt.Sprintf("linear: the search's order does not explain the operations: %v", err))
		}
		return Answer{Verdict: evidence.Holds, Order: order}
	}
	a := m.core(ctx, ops, o.MaxStates)
	if err := m.confirms(ctx, ops, &a, o.MaxStates); err != nil {
		if errors.Is(err, errHolds) {
			panic("linear: the search reports a violation, but an order explains the operations")
		}
		return unknownFor(fmt.Errorf("the search found no order, but the second search that confirms it did not "+
			"end: %w", err))
	}
	return a
}

// confirms is the second opinion on a core. It first tries the narrowed operations.
func (m *Model[S]) confirms(ctx context.Context, ops []Op, a *Answer, most int) error {
	relaxed := m.relaxed(ops, a)
	if m.narrow != nil && m.refutes(ctx, m.narrow(relaxed), most) == nil {
		return nil
	}
	return m.refutes(ctx, relaxed, most)
}

// unknownFor returns the answer of work that err stopped.
func unknownFor(err error) Answer {
	if errors.Is(err, context.DeadlineExceeded) {
		err = errors.New("timeout")
	}
	return Answer{Verdict: evidence.Unknown, Reason: err.Error()}
}

// relaxed returns the operations that a core is about: its own and, if Others is set, the other ones as ghosts. Ghosts
// that only observe are dropped.
func (m *Model[S]) relaxed(ops []Op, a *Answer) []Op {
	if !a.Others {
		return slice.Pick(ops, a.Core)
	}
	out, core := make([]Op, 0, len(ops)), make([]bool, len(ops))
	mark(core, a.Core, true)
	for i, op := range ops {
		if !core[i] {
			op.Output = Unknown
			if op = ghost(op); m.observes(&op) {
				continue
			}
		}
		out = append(out, op)
	}
	return out
}

// next returns the states that may follow an operation.
func (m *Model[S]) next(s S, op *Op) []S {
	if m.Steps != nil {
		return m.Steps(s, op.Input, op.output())
	}
	if ok, to := m.Step(s, op.Input, op.output()); ok {
		return []S{to}
	}
	return nil
}

func (m *Model[S]) equal(a, b S) bool {
	if m.Equal != nil {
		return m.Equal(a, b)
	}
	return any(a) == any(b)
}

func (m *Model[S]) observes(op *Op) bool {
	return m.Observes != nil && m.Observes(op.Input, op.output())
}

// Text says an operation in words.
func (m *Model[S]) Text(op *Op) string {
	if m.Describe != nil {
		return m.Describe(op.Input, op.output())
	}
	return fmt.Sprintf("%v → %v", op.Input, op.output())
}

// replay checks an order: it has each operation at most once, has all operations that must take effect, keeps real
// time, and the model explains it.
func (m *Model[S]) replay(ops []Op, order []int) error {
	placed := make([]bool, len(ops))
	object := *m
	if m.inPlace != nil { // the only possible state is held here
		object.Step = m.inPlace
	}
	states := []S{m.Init()}
	latest := int64(math.MinInt64) // the latest call of those placed
	for _, i := range order {
		if placed[i] {
			return fmt.Errorf("operation %d occurs twice", i)
		}
		placed[i] = true
		if ops[i].until() < latest {
			return fmt.Errorf("operation %d follows an operation that was called after it had returned", i)
		}
		latest = max(latest, ops[i].Call)
		var to []S
		for _, s := range states {
			for _, t := range object.next(s, &ops[i]) {
				if !slices.ContainsFunc(to, func(have S) bool { return m.equal(have, t) }) {
					to = append(to, t)
				}
			}
		}
		if states = to; len(states) == 0 {
			return fmt.Errorf("operation %d, %s, is impossible at its place in the order", i, m.Text(&ops[i]))
		}
	}
	for i := range ops {
		if !placed[i] && !ops[i].Maybe {
			return fmt.Errorf("operation %d is missing", i)
		}
	}
	return nil
}
