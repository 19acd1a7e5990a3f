package check

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"testing"

	"isovet/check/run"
	"isovet/evidence"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/internal/test/solvertest/fake"
	"isovet/level"
)

func TestMain(m *testing.M) {
	fake.Main()
	flag.Parse()
	// a quarter less time: the tests' heaps are tiny, and collected all the while
	if flag.Lookup("test.bench").Value.String() == "" {
		debug.SetGCPercent(-1)
		debug.SetMemoryLimit(512 << 20)
	}
	code := m.Run()
	if n, of := misnamed.Load(), proofs.Load(); of > 10_000 && 200*n > of { // of fewer, one history may make many
		fmt.Printf("%d of %d proofs had another name than that of what they show\nFAIL\n", n, of)
		code = 1
	}
	if n := disagreements.Load(); n > 0 {
		fmt.Printf("the kernel refuses %d answers that package certify accepts\nFAIL\n", n)
		code = 1
	}
	os.Exit(code)
}

// TestExternalSolvers: vbox and cobra with another program, by DIMACS, by GNF and by SMT-LIB, say what they say with
// our own solver. Programs that lie are found out: their answers are unknown, and no fault of ours.
func TestExternalSolvers(t *testing.T) {
	self := must.Get(os.Executable())(t)
	gnf, dimacs, smt := "external:"+self, "external-dimacs:"+self, "external-smt2:"+self
	t.Setenv(fake.Variable, "competition")
	asked, no, found := 0, 0, map[string]int{}
	most, wrong := histtest.Long(5, 25), histtest.Long(1, 5)
	for seed := uint64(0); seed < 4000 && (asked < most || no < wrong); seed++ {
		h := random.Medium(seed, random.Options{Txns: 12, Keys: 3, NoTimes: true})
		own := answer(t, run.Vbox{}, h, Options{Level: level.Serializable})
		if own.Stats.Left == 0 || asked >= most && own.Verdict == evidence.Holds {
			continue // nothing for a solver to do
		}
		asked++
		if own.Verdict == evidence.Violated {
			no++
		}
		for _, c := range []Checker{run.Vbox{}, called("cobra")} {
			for _, s := range []string{gnf, dimacs, smt} {
				r := answer(t, c, h, Options{Level: level.Serializable, Solver: s})
				agree(t, r, own.Verdict)
			}
		}
		if asked%5 > 0 {
			continue
		}
		for _, mode := range []string{"all-false", "unsat", "crash"} {
			t.Setenv(fake.Variable, mode)
			for _, c := range []Checker{run.Vbox{}, called("cobra")} {
				for _, s := range []string{gnf, dimacs, smt} {
					r := answer(t, c, h, Options{Level: level.Serializable, Solver: s})
					if r.Verdict == evidence.Unknown && strings.HasPrefix(r.Reason, "external") {
						found[mode]++
					} else if r.Verdict != own.Verdict {
						t.Fatalf("seed %d, %s, %s, %s: %v (%s); want %v or unknown", seed, c.Info().Name, s, mode,
							r.Verdict, r.Reason, own.Verdict)
					}
				}
			}
		}
		t.Setenv(fake.Variable, "competition")
	}
	must.Be(t, asked >= most && no >= wrong && found["all-false"] != 0 && found["unsat"] != 0 && found["crash"] != 0,
		"asked %d times, %d violations, lies found: %v", asked, no, found)
}

// TestInstalledSolvers: what Debian has, by the names that users write, says what our own solver says.
func TestInstalledSolvers(t *testing.T) {
	for _, program := range []string{"minisat", "cadical -q", "cvc5", "z3", "z3 -dimacs"} {
		t.Run(program, func(t *testing.T) {
			name := "external:" + program
			if _, err := exec.LookPath(strings.Fields(program)[0]); err != nil {
				if os.Getenv("ISOVET_SOLVERS") != "" {
					t.Fatal(err)
				}
				t.Skipf("not installed: %s", program)
			}
			verdicts := map[evidence.Verdict]int{}
			few := func() bool { return verdicts[evidence.Holds] < 2 || verdicts[evidence.Violated] < 2 }
			for seed := uint64(0); seed < 1000 && few(); seed++ {
				h := random.Medium(seed, random.Options{Txns: 12, Keys: 3, NoTimes: true})
				own := answer(t, run.Vbox{}, h, Options{Level: level.Serializable})
				if own.Stats.Left == 0 || verdicts[own.Verdict] == 2 {
					continue // nothing for a solver to do, or enough of it
				}
				verdicts[own.Verdict]++
				agree(t, answer(t, run.Vbox{}, h, Options{Level: level.Serializable, Solver: name}), own.Verdict)
			}
			must.Be(t, !few(), "asked for %v only", verdicts)
		})
	}
}

func TestNoSuchExternalSolver(t *testing.T) {
	h := random.Tiny(1, random.Options{})
	_, err := Run(t.Context(), run.Vbox{}, h, Options{Solver: "external:no-such-program"})
	if err == nil || !strings.Contains(err.Error(), "no such program on the PATH: no-such-program") {
		t.Error(err)
	}
	must.Be(t, !HasSolver("external:no-such-program") && HasSolver("gini") && !HasSolver("nope"), "HasSolver")
}
