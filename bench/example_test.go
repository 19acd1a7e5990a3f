package bench_test

import (
	"context"
	"fmt"
	"os"

	"isovet/bench"
	"isovet/datasets"
	"isovet/encode"
	"isovet/evidence"
	"isovet/polygraph"
	"isovet/solver"
)

// twoWay makes two variables of each choice, "A before B" and "B before A", of which at least one must hold: Vbox's
// Eq. 3 without its exclusive half, which never matters (docs/errata.md, V3). It is worse than vbox's one variable a
// choice; by how much, Compare says.
func twoWay(p *polygraph.Polygraph) *encode.Problem {
	q := &encode.Problem{P: p}
	var first []solver.Lit // by choice: true if "A before B", false if "B before A"
	for _, c := range p.Choices {
		sooner := p.Sooner(c.A, c.B)
		either, or := solver.Pos(q.NewVar(sooner)), solver.Pos(q.NewVar(!sooner))
		first = append(first, either)
		q.Clauses = append(q.Clauses, []solver.Lit{either, or})
		p.Side(c.A, c.B0, func(e polygraph.Edge) bool { q.When(either, e); return true })
		p.Side(c.B, c.A0, func(e polygraph.Edge) bool { q.When(or, e); return true })
	}
	q.Predicates(first, q.When)
	return q
}

// A new encoding is measured against others, with several solvers and theories, without being listed anywhere.
func ExampleCompare() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "compare")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	var histories []bench.Source
	for _, spec := range []datasets.Spec{
		{Workload: "blindw", Variant: "WH", Txns: 50, Keys: 20, Seed: 1},
		{Workload: "blindw-pred", Txns: 15, Keys: 20, Seed: 1}, // predicate operations
	} {
		h, err := bench.Generate(ctx, spec, dir)
		if err != nil {
			panic(err)
		}
		histories = append(histories, h)
	}
	o := bench.Options{Extra: []encode.Encoding{{Name: "two-way", About: "two variables a choice", Encode: twoWay}}}
	for _, encoding := range []string{"two-way", "vbox", "cobra"} {
		for _, pruning := range []string{"edges", "none"} {
			for _, solver := range []string{"cdcl", "cdcl-closure", "cdcl-lazy", "gini", "gophersat"} {
				o.Contenders = append(o.Contenders, bench.Contender{Checker: "vbox", Solver: solver,
					Settings: "encoding=" + encoding + ",pruning=" + pruning})
			}
		}
	}
	rows, err := bench.Compare(ctx, histories, o)
	if err != nil {
		panic(err)
	}
	valid := map[string]int{}
	for _, r := range rows {
		if r.Verdict == evidence.Holds {
			valid[r.Contender().Pipeline().Encoding]++
		}
	}
	fmt.Println("combinations that say valid:", valid)
	fmt.Println("disagreements:", len(bench.Disagreements(rows)))
	// bench.WriteTable(os.Stdout, rows, false) prints the table.

	// Output:
	// combinations that say valid: map[cobra:20 two-way:20 vbox:20]
	// disagreements: 0
}
