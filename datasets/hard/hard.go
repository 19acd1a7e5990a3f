// Package hard makes histories that are hard to judge, or large in some respect. They serve isovet gen --hard, tests
// and benchmarks.
//
// Experimental: this package may still change.
package hard

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"

	"isovet/datasets"
	"isovet/history"
	"isovet/internal/slice"
	"isovet/level"
)

// Instance is a kind of histories that are hard, or large in some respect. Verdicts are for Level.
type Instance struct {
	Name, About string
	Level       level.Level
	// Valid and Violates give the verdict that follows from the construction. If both are false, the verdict is not
	// known.
	Valid, Violates bool
	spec            datasets.Spec
	formula         func(size int, seed uint64) Formula
	unit            string // what size counts, where there is a formula
	sizes           func(n float64) (vars, literals float64)
	size            int
	mini            bool // as mini-transactions
	build           func(size int, seed uint64) (*history.History, error)
}

// Instances returns all instances, each with a size at which it is hard.
func Instances() []Instance {
	threeSAT := func(planted bool) func(int, uint64) Formula {
		return func(vars int, seed uint64) Formula {
			return RandomFormula(seed, vars, (vars*426+50)/100, planted)
		}
	}
	variables := func(n float64) (float64, float64) { return n, 3 * math.Floor((n*426+50)/100) }
	holes := func(n float64) (float64, float64) { return n * (n + 1), n * (n + 1) * (n + 1) }
	elements := func(n float64) (float64, float64) { return n * (n - 1) / 2, n * (n - 1) * (n - 1) }
	return []Instance{
		{Name: "contended", About: "blind writes on few keys, little session order, no times", Valid: true, size: 20000,
			spec: datasets.Spec{Workload: "contended", Sessions: 100, Keys: 200, Times: datasets.NoTimes,
				NoAborted: true}},
		{Name: "contended-fault", About: "contended with a long fork in the middle", Violates: true, size: 20000,
			spec: datasets.Spec{Workload: "contended", Sessions: 100, Keys: 200, Times: datasets.NoTimes,
				NoAborted: true, Fault: "long-fork"}},
		{Name: "3sat", About: "random 3-SAT at 4.26 clauses a variable, as a history", size: 20,
			formula: threeSAT(false), unit: "variables", sizes: variables},
		{Name: "3sat-satisfiable", About: "random 3-SAT at 4.26 with a hidden solution", Valid: true, size: 20,
			formula: threeSAT(true), unit: "variables", sizes: variables},
		{Name: "pigeonhole", About: "size+1 pigeons in size holes: refutations are long", Violates: true, size: 4,
			formula: func(n int, _ uint64) Formula { return pigeonhole(n) }, unit: "holes", sizes: holes},
		{Name: "order", About: "size elements in a total order without a first one: refutations are long",
			Violates: true, size: 4, formula: func(n int, _ uint64) Formula { return noFirst(n) },
			unit: "elements", sizes: elements},
		{Name: "mini-3sat", About: "random 3-SAT at 4.26 as mini-transactions without unique values, all concurrent: " +
			"serializable, strict and snapshot isolation alike iff satisfiable", size: 20, formula: threeSAT(false),
			unit: "variables", sizes: variables, mini: true},
		{Name: "mini-3sat-satisfiable", About: "mini-3sat with a hidden solution",
			Level: level.StrictSerializable, Valid: true, size: 20, formula: threeSAT(true),
			unit: "variables", sizes: variables, mini: true},
		{Name: "mini-pigeonhole", About: "size+1 pigeons in size holes as mini-transactions: refutations are long",
			Level: level.SnapshotIsolation, Violates: true, size: 3, mini: true,
			formula: func(n int, _ uint64) Formula { return pigeonhole(n) }, unit: "holes", sizes: holes},
		{Name: "duplicates", About: "blind writes of three values per key, no times: reads have many possible writers",
			Valid: true, size: 60,
			spec: datasets.Spec{Workload: "mix", Variant: "uniform", Sessions: 20, Keys: 20, Values: 3,
				Times: datasets.NoTimes, NoAborted: true}},
		{Name: "long-transaction", About: "one transaction open through the whole run", Level: level.StrictSerializable,
			Valid: true, size: 20000,
			spec: datasets.Spec{LongTxn: true}},
		{Name: "many-sessions", About: "five thousand sessions of a few transactions each",
			Level: level.StrictSerializable, Valid: true, size: 20000,
			spec: datasets.Spec{Sessions: 5000, Keys: 200000}},
		{Name: "one-key", About: "every transaction reads and writes the same key", Valid: true, size: 20000,
			spec: datasets.Spec{Workload: "rmw", Variant: "counters", Keys: 1, Times: datasets.NoTimes,
				NoAborted: true}},
		{Name: "one-key-blind", About: "every transaction reads or writes the same key, no times", Valid: true,
			size: 20000,
			spec: datasets.Spec{Workload: "mix", Variant: "uniform", Keys: 1, Ops: 1, Times: datasets.NoTimes,
				NoAborted: true}},
		{Name: "busy-register", About: "80 clients on one register of five values; a fifth compares and sets",
			Level: level.Linearizable, Valid: true, size: 1000, build: busyRegister},
		{Name: "million-keys", About: "a million keys, few of them used twice", Valid: true, size: 200000,
			spec: datasets.Spec{Keys: 1000000}},
		{Name: "thousand-operations", About: "transactions of a thousand operations", Valid: true, size: 1000,
			spec: datasets.Spec{Ops: 1000, Keys: 100000}},
		{Name: "reversed-times", About: "client times run backwards: a hint that is always wrong", Valid: true,
			size: 20000,
			spec: datasets.Spec{Hint: datasets.ReversedTimes}},
		{Name: "random-times", About: "client times shuffled among transactions: a hint worth nothing", Valid: true,
			size: 20000,
			spec: datasets.Spec{Hint: datasets.RandomTimes}},
	}
}

// Names lists the instances.
func Names() []string { return slice.Map(Instances(), func(in Instance) string { return in.Name }) }

// Lookup finds an instance by name. "php" means pigeonhole.
func Lookup(name string) (*Instance, error) {
	if name == "php" {
		name = "pigeonhole"
	}
	for _, in := range Instances() {
		if strings.EqualFold(in.Name, name) {
			return &in, nil
		}
	}
	return nil, fmt.Errorf("unknown hard instance %q; expected one of %s", name, strings.Join(Names(), ", "))
}

// Build makes the history. size counts transactions, or a formula's variables; 0 means the instance's own size.
func (in *Instance) Build(ctx context.Context, size int, seed uint64) (*history.History, error) {
	size = cmp.Or(size, in.size)
	switch {
	case in.build != nil:
		return in.build(size, seed)
	case in.mini:
		return MiniFormula(in.formula(size, seed), seed)
	case in.formula != nil:
		return FromFormula(in.formula(size, seed), seed)
	}
	spec := in.spec
	spec.Txns, spec.Seed = size, seed
	return datasets.Generate(ctx, spec)
}

// Txns returns the number of transactions of an instance of a size (see Build), and what the size counts: "variables",
// "holes" or "elements" of a formula, or "transactions".
func (in *Instance) Txns(size int) (txns float64, unit string) {
	size = cmp.Or(size, in.size)
	if in.formula == nil {
		return float64(size), "transactions"
	}
	vars, literals := in.sizes(float64(size))
	txns = 2*vars + 5*literals
	if in.mini {
		txns *= 2
	}
	return txns, in.unit
}

// pigeonhole says that holes+1 pigeons are in so many holes, with no two in one. This is unsatisfiable.
func pigeonhole(holes int) Formula {
	f := Formula{Vars: holes * (holes + 1)}
	in := func(p, h int) int { return p*holes + h + 1 }
	for p := range holes + 1 {
		var c []int
		for h := range holes {
			c = append(c, in(p, h))
		}
		f.Clauses = append(f.Clauses, c)
	}
	for h := range holes {
		for p := range holes + 1 {
			for q := range p {
				f.Clauses = append(f.Clauses, []int{-in(p, h), -in(q, h)})
			}
		}
	}
	return f
}

// noFirst says that "before" is a total order of n elements, and that each element has one before it. This is
// unsatisfiable, with long refutations (the ordering principle).
func noFirst(n int) Formula {
	f := Formula{Vars: n * (n - 1) / 2}
	before := func(i, j int) int { // i before j
		if i < j {
			return i*(2*n-i-1)/2 + j - i
		}
		return -(j*(2*n-j-1)/2 + i - j)
	}
	for i := range n {
		var c []int
		for j := range n {
			if j != i {
				c = append(c, before(j, i))
			}
		}
		f.Clauses = append(f.Clauses, c)
		for j := i + 1; j < n; j++ {
			for k := j + 1; k < n; k++ {
				f.Clauses = append(f.Clauses, []int{-before(i, j), -before(j, k), before(i, k)},
					[]int{before(i, j), before(j, k), -before(i, k)})
			}
		}
	}
	return f
}
