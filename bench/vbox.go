package bench

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"isovet/check"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/level"
)

// The evaluation of [Vbox] §5. The paper's histories come from PostgreSQL at SERIALIZABLE. Ours come from the store in
// memory under two-phase locking. All checkers are asked for session-serializability: Cobra and BE decide it, and so
// does Vbox, which uses real time (errata §0: verdicts can only be compared for one fixed order).
const vboxLevel = level.SessionSerializable

// vboxWorkload is one of the paper's six workloads.
type vboxWorkload struct{ name, workload, variant string }

func vboxWorkloads() []vboxWorkload {
	return []vboxWorkload{
		{"BlindW-WH", "blindw", "WH"}, {"BlindW-WR", "blindw", "WR"}, {"BlindW-RH", "blindw", "RH"},
		{"BlindW-Pred", "blindw-pred", ""}, {"C-Twitter", "ctwitter", ""}, {"TPC-C", "tpcc", ""},
	}
}

// each calls f for each of the paper's workloads that the program has, at the scale's size.
func (l *Lab) each(ctx context.Context, r *Report, txns int, f func(name string, src Source) error) error {
	for _, w := range vboxWorkloads() {
		src, err := l.Source(ctx, datasets.Spec{Workload: w.workload, Variant: w.variant, Txns: txns})
		if errors.Is(err, ErrNoWorkload) {
			r.Note("%s is left out: the workload is not built in.", w.name)
			continue
		}
		if err == nil {
			err = f(w.name, src)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// vboxRivals returns the paper's checkers that the program has, and ours; Cobra with either closure.
func vboxRivals(r *Report) []string {
	return r.builtIn("vbox", "cobra", "cobra"+byPurdom, "be", "leopard", "replay")
}

// builtIn returns those of the rivals that the program has.
func (r *Report) builtIn(rivals ...string) (out []string) {
	for _, n := range rivals {
		if _, err := check.ByName(rival(n).Checker); err != nil {
			r.Note("%s is left out: the checker is not built in.", n)
			continue
		}
		out = append(out, n)
	}
	return out
}

func vboxFig6(ctx context.Context, lab *Lab, r *Report) error {
	rivals := vboxRivals(r)
	err := lab.each(ctx, r, lab.Pick(500, 10_000, 10_000), func(name string, src Source) error {
		m, err := lab.Run(ctx, src, vboxLevel, Run{Checker: "leopard", MechanismsOnly: true})
		if err != nil {
			return err
		}
		if m.refutesNothing() {
			r.Add(point("time", name, aloneLeopard, &m, checkMS))
		}
		for _, c := range rivals {
			m, err := lab.Run(ctx, src, vboxLevel, rival(c))
			if err != nil {
				return err
			}
			r.Add(point("time", name, c, &m, checkMS))
			r.Add(point("memory", name, c, &m, peakMB))
			if c == "be" && m.Verdict == evidence.Unknown && m.Stats.Decisions > 0 {
				r.Add(decided("memory", name, stoppedBE, m.Stats.PeakMB))
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.Note(purdomNote)
	return nil
}

const (
	// aloneLeopard is Leopard without its final search for an order.
	aloneLeopard = "leopard, mechanisms alone"
	// stoppedBE is BE's peak memory if it was stopped.
	stoppedBE = "be, until it was stopped"
)

// refutesNothing reports whether mechanisms alone, which prove nothing, finished and found nothing. It then sets a
// verdict, so that times can be compared.
func (m *Measured) refutesNothing() bool {
	if m.Fault != "" || m.Verdict == evidence.Violated || m.Mechanisms == nil || m.Mechanisms.Total() > 0 ||
		strings.HasPrefix(m.Reason, "timeout") {
		return false
	}
	m.Verdict = evidence.Holds
	return true
}

func vboxFig7(ctx context.Context, lab *Lab, r *Report) error {
	step, last := lab.Pick(500, 10_000, 10_000), lab.Pick(1500, 100_000, 100_000)
	late := map[string]bool{} // who has timed out on a smaller history is not asked again
	rivals := slices.DeleteFunc(vboxRivals(r), func(c string) bool { return c == "be" })
	r.Note(purdomNote)
	for n := step; n <= last; n += step {
		src, err := lab.Source(ctx, datasets.Spec{Workload: "blindw", Variant: "WR", Txns: n})
		if err != nil {
			return err
		}
		for _, c := range rivals {
			g := strconv.Itoa(n)
			m := Measured{Reason: timeoutBefore}
			if !late[c] {
				if m, err = lab.Run(ctx, src, vboxLevel, rival(c)); err != nil {
					return err
				}
			}
			t := point("time", g, c, &m, checkMS)
			late[c] = late[c] || t.TimedOut
			r.Add(t)
			r.Add(point("memory", g, c, &m, peakMB))
		}
		m, err := lab.Run(ctx, src, vboxLevel, Run{Checker: "leopard", MechanismsOnly: true})
		if err != nil {
			return err
		}
		if m.refutesNothing() {
			r.Add(point("time", strconv.Itoa(n), aloneLeopard, &m, checkMS))
			r.Add(point("memory", strconv.Itoa(n), aloneLeopard, &m, peakMB))
		}
	}
	return nil
}

func vboxFig8a(ctx context.Context, lab *Lab, r *Report) error {
	kinds := check.Closures()
	slices.Reverse(kinds)
	return lab.each(ctx, r, lab.Pick(500, 10_000, 10_000), func(name string, src Source) error {
		for _, k := range kinds {
			// The rest of the pipeline stays, so that nothing but a closure that a verdict rests on is measured.
			m, err := lab.typical(ctx, src, vboxLevel, Run{Checker: "vbox", Pipeline: check.Pipeline{Closure: k,
				Pruning: "edges"}}, stageMS("closure"))
			if err != nil {
				return err
			}
			r.Add(point("closure", name, k, &m, stageMS("closure")))
		}
		return nil
	})
}

// vboxUpdates are the variants of Figure 8(b): how the closure is updated after pruning adds edges.
var vboxUpdates = [...]struct{ name, closure, pruning string }{
	{"Warshall, anew each round", "warshall", "rounds"}, {"Purdom, anew each round", "purdom", "rounds"},
	{"Italiano, by edges", "purdom", "edges"}, {"Purdom+, anew each round", "purdom+", "rounds"},
	{"Italiano+, by edges", "purdom+", "edges"},
}

func vboxFig8b(ctx context.Context, lab *Lab, r *Report) error {
	return lab.each(ctx, r, lab.Pick(500, 10_000, 10_000), func(name string, src Source) error {
		for _, v := range vboxUpdates {
			m, err := lab.Run(ctx, src, vboxLevel, Run{Checker: "vbox", Pipeline: check.Pipeline{Closure: v.closure,
				Pruning: v.pruning}})
			if err != nil {
				return err
			}
			r.Add(point("time", name, v.name, &m, checkMS))
			r.Add(point("update", name, v.name, &m, stageMS("closure", "pruning")))
		}
		return nil
	})
}

// solverSet is a history on which solvers and encodings are compared, and how it is prepared for them.
type solverSet struct {
	name  string
	src   Source
	level level.Level
	p     check.Pipeline
}

// externalPrograms are other solvers, by the names of their programs.
var externalPrograms = []string{"monosat", "minisat", "kissat", "cadical", "z3", "cvc5"}

// comparedSolvers returns the built-in solvers, and the programs that are installed.
func comparedSolvers(r *Report) []string {
	solvers := slices.Clone(check.SolverNames())
	for _, bin := range externalPrograms {
		name := "external:" + bin
		if _, err := exec.LookPath(bin); err != nil || !check.HasSolver(name) {
			r.Note("%s is left out: no such program is on the PATH.", bin)
			continue
		}
		solvers = append(solvers, name)
	}
	return solvers
}

// compareSolvers measures each solver with each encoding that is not tied to another solver, and calls f.
func compareSolvers(ctx context.Context, lab *Lab, set solverSet, solvers []string,
	f func(series string, m *Measured)) error {
	for _, e := range []string{"vbox", "cobra"} {
		for _, s := range solvers {
			in := check.LookupSolver(s)
			if e != "vbox" && in.Theory == "eager" {
				continue // it has its own encoding
			}
			series := s + ", " + e
			if in.Theory == "eager" {
				series = s
			}
			p := set.p
			p.Encoding = e
			m, err := lab.typical(ctx, set.src, set.level, Run{Checker: "vbox", Solver: s, Pipeline: p}, solving)
			if err != nil {
				return err
			}
			f(series, &m)
		}
	}
	return nil
}

// solving is the time compared in Figure 9.
var solving = stageMS("encoding", "solving")

func vboxFig9(ctx context.Context, lab *Lab, r *Report) error {
	sets := []struct {
		name string
		txns int
		p    check.Pipeline
	}{
		{"pruned", lab.Pick(150, 1000, 2000), check.Pipeline{}},
		{"unpruned", lab.Pick(60, 250, 1000), check.Pipeline{Pruning: "none"}},
	}
	solvers := comparedSolvers(r)
	for _, set := range sets {
		// Few keys, so that constraints are many for the transactions.
		src, err := lab.Source(ctx, datasets.Spec{Workload: "blindw", Variant: "WR", Txns: set.txns,
			Keys: set.txns / 5})
		if err != nil {
			return err
		}
		group := fmt.Sprintf("%s, %d transactions", set.name, set.txns)
		err = compareSolvers(ctx, lab, solverSet{group, src, vboxLevel, set.p}, solvers,
			func(series string, m *Measured) {
				r.Add(point("time", series, group, m, solving))
				r.Add(point("clauses", series, group, m, fixed(float64(m.Stats.Clauses))))
			})
		if err != nil {
			return err
		}
	}
	return nil
}

func vboxTable2(ctx context.Context, lab *Lab, r *Report) error {
	return lab.each(ctx, r, lab.Pick(500, 10_000, 10_000), func(name string, src Source) error {
		for i, c := range []string{"vbox", "cobra"} {
			m, err := lab.Run(ctx, src, vboxLevel, Run{Checker: c})
			if err != nil {
				return err
			}
			if i == 0 {
				r.Add(point("constraints", name, "total", &m, fixed(float64(m.Stats.Constraints))))
			}
			r.Add(point("constraints", name, "left by "+c, &m, fixed(float64(m.Stats.Left))))
		}
		return nil
	})
}
