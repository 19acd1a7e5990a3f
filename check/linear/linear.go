// Package linear decides linearizability of any object (Herlihy and Wing 1990): whether its operations, each at one
// moment between its call and its return, happened as its sequential [Model] says. A "yes" comes with an order, a "no"
// with the few operations that have none.
//
// Operations of unknown outcome took effect at any time after their call, or never. Objects that fall into parts, such
// as the keys of a store, are judged part by part. Of two operations that touch, the one that returns and the one that
// is called at the same moment, either may come first.
//
// # Files
//
//   - linear.go: models, operations, the answer, and how it is found and certified
//   - search.go: the search for an order
//   - sweep.go: the second opinion on a "no": all states by time, forward
//   - core.go: the smallest set of operations without an order
//   - models.go, collections.go: the models of registers, counters, locks, queues, stacks, sets and logs
//   - simple.go: counters and sets that one read refutes
//   - growing.go: sets of distinct values from which nothing is removed, in polynomial time
//   - porcupine.go: models and operations of Porcupine's
//   - fifo.go, lifo.go, permits.go: queues and stacks of distinct values, and semaphores, in polynomial time
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
)

// Model is a sequential object with states S. Init and Step are needed. A Step must not change the state it is given.
type Model[S any] struct {
	Init func() S
	// Step reports whether an operation may take effect in a state with this output, and the state then. The output of
	// an operation of unknown outcome is [Unknown]: any.
	Step func(state S, input, output any) (bool, S)
	// Steps, if set, stands for Step where several states may follow.
	Steps func(state S, input, output any) []S
	// Equal compares states; nil: ==.
	Equal func(a, b S) bool
	// Observes reports whether an operation changes no state at all, which saves choices; nil: all may.
	Observes func(input, output any) bool
	// Partition parts a history into parts that are linearizable exactly if the whole is, as indices; nil: one part.
	Partition func(ops []Op) [][]int
	// Group names what an operation is about, where all operations of a group can be left out of a linearizable history
	// and what is left is linearizable: those of one value in a queue. "": the operation cannot be left out. It makes a
	// violation's set of operations one that has no order whatever else happened.
	Group func(input, output any) string
	// Describe says an operation, and DescribeState a state, in words; nil: as fmt does.
	Describe      func(input, output any) string
	DescribeState func(state S) string
	// narrow, if set, returns fewer and smaller operations that have an order if these have: what matters to those that
	// must take effect.
	narrow func(ops []Op) []Op
	// proves, if set, is the second opinion on a core that a decider has: it has no order whatever the others did.
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
	// Maybe: it took effect once at any time after Call, or never. Return and Output are not looked at.
	Maybe bool
	// ghost: nothing is believed of it but that it took effect, if at all, before Return.
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

// Options bound the work. The zero value is the default.
type Options struct {
	// MaxStates are the states that a search remembers; 0: two million. One of more than 200 bytes counts as several.
	MaxStates int
}

// defaultStates is how many states a search remembers: with a key each, some 400 MB.
const defaultStates = 2_000_000

// Answer says whether the operations are linearizable.
type Answer struct {
	Verdict evidence.Verdict
	Reason  string // of Unknown
	// Order are the operations that took effect, as indices, in one order that explains all: of Holds. Parts follow
	// each other.
	Order []int
	// Core are few operations without an order, as indices in the order of their calls: of Violated.
	Core []int
	// Others says what Core leaves open: false, that what is left out was never called; true, that the other operations
	// took effect at any time while they were under way, with any answer, or never.
	Others bool
	// Why is the condition that the core violates, where there is a name for it; else "".
	Why string
}

// errBudget ends a search that remembers more states than it may.
var errBudget = errors.New("the search visited more states than its memory bound allows")

// Check decides a history. Each answer is certified: an order is replayed, and a core is refuted by a second search
// that shares no code with the first. Errors: operations that return before they are called. Cost: exponential in the
// number of operations under way at once at worst, linear where nothing overlaps.
func Check[S any](ctx context.Context, m *Model[S], ops []Op, o Options) (Answer, error) {
	return m.check(ctx, ops, o, nil)
}

// decider decides a part by other means: known is false where it cannot.
type decider func(ops []Op) (a Answer, known bool)

func (m *Model[S]) check(ctx context.Context, ops []Op, o Options, first decider) (Answer, error) {
	for i := range ops {
		if ops[i].until() < ops[i].Call {
			return Answer{}, fmt.Errorf("operation %d returns before it is called", i)
		}
	}
	if o.MaxStates == 0 {
		o.MaxStates = defaultStates
	}
	parts := [][]int{nil}
	if m.Partition != nil {
		parts = m.Partition(ops)
	} else {
		for i := range ops {
			parts[0] = append(parts[0], i)
		}
	}
	all := Answer{Verdict: evidence.Holds, Order: make([]int, 0, len(ops))}
	for _, part := range parts {
		a := m.part(ctx, Pick(ops, part), o, first)
		back(a.Order, part)
		back(a.Core, part)
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

// part decides one part of a history.
func (m *Model[S]) part(ctx context.Context, ops []Op, o Options, first decider) Answer {
	if first != nil {
		if a, known := first(ops); known {
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

// confirms is the second opinion on a core, first on what matters to it alone.
func (m *Model[S]) confirms(ctx context.Context, ops []Op, a *Answer, most int) error {
	relaxed := m.relaxed(ops, a)
	if m.narrow != nil && m.refutes(ctx, m.narrow(relaxed), most) == nil {
		return nil
	}
	return m.refutes(ctx, relaxed, most)
}

// unknownFor is the answer of work that was stopped.
func unknownFor(err error) Answer {
	if errors.Is(err, context.DeadlineExceeded) {
		err = errors.New("timeout")
	}
	return Answer{Verdict: evidence.Unknown, Reason: err.Error()}
}

// relaxed is what a core says: its operations, and the others, if they matter, as such that need not have happened.
// Those that only observe say nothing then.
func (m *Model[S]) relaxed(ops []Op, a *Answer) []Op {
	if !a.Others {
		return Pick(ops, a.Core)
	}
	out := make([]Op, 0, len(ops))
	for i, op := range ops {
		if !slices.Contains(a.Core, i) {
			op.Output = Unknown
			if op = ghost(op); m.observes(&op) {
				continue
			}
		}
		out = append(out, op)
	}
	return out
}

// Pick returns some of a list, by their places.
func Pick[T any](list []T, at []int) []T {
	out := make([]T, len(at))
	for i, j := range at {
		out[i] = list[j]
	}
	return out
}

// back turns indices of a part into those of the whole.
func back(list, part []int) {
	for i, j := range list {
		list[i] = part[j]
	}
}

// next are the states that may follow an operation.
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

// replay judges an order: each operation at most once, all that must, in real time, explained by the model.
func (m *Model[S]) replay(ops []Op, order []int) error {
	placed := make([]bool, len(ops))
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
			for _, t := range m.next(s, &ops[i]) {
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
