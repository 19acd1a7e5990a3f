package replay_test

import (
	"context"
	"testing"
	"time"

	"isovet/certify"
	"isovet/check"
	"isovet/check/explain"
	"isovet/check/prepass"
	"isovet/check/replay"
	"isovet/datasets/hard"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
	"isovet/level"
	"isovet/solver"
)

// satisfiable asks a plain solver.
func satisfiable(t testing.TB, f hard.Formula) bool {
	t.Helper()
	s := solver.New(solver.Options{})
	s.NewVars(f.Vars)
	for _, c := range f.Clauses {
		var lits []solver.Lit
		for _, x := range c {
			if x > 0 {
				lits = append(lits, solver.Pos(solver.Var(x-1)))
			} else {
				lits = append(lits, solver.Neg(solver.Var(-x-1)))
			}
		}
		s.AddClause(lits...)
	}
	st := s.Solve(context.Background())
	must.Hold(t, st != solver.Unknown, "the plain solver gave up")
	return st == solver.Sat
}

// refuted certifies that the history is not serializable, by the cases of a refutation of the whole: no search for the
// fewest transactions goes before it.
func refuted(t testing.TB, h *history.History) {
	t.Helper()
	v := prepass.Run(h)
	proof, err := replay.Refute(context.Background(), v, level.Serializable, 0)
	must.Hold(t, err == nil && len(proof) != 0, "no refutation: %v", err)
	a := explain.Anomaly(explain.Core(context.Background(), proof, v, level.Serializable, 0))
	a.Complete(h, level.Serializable, 0)
	r := &evidence.Result{Checker: "replay", H: h, Verdict: evidence.Violated, Anomalies: []evidence.Anomaly{a}}
	must.OK(t, certify.Check(r, certify.Options{}))
}

// TestFormulas: histories made of random 3-SAT formulas at the hard ratio hold exactly if the formula is satisfiable.
func TestFormulas(t *testing.T) {
	answers := map[bool]int{}
	try := func(t testing.TB, seed uint64, f hard.Formula, whole bool) {
		want := satisfiable(t, f)
		answers[want]++
		h := must.Get(hard.FromFormula(f, seed))(t)
		a, err := replay.Run(context.Background(), prepass.Run(h), replay.Options{})
		if err != nil || (a.Status == solver.Sat) != want || a.Status == solver.Unknown {
			t.Fatalf("seed %d, %d variables: %v, %v; want satisfiable: %v", seed, f.Vars, a.Status, err, want)
		}
		if !want {
			refuted(t, h)
		}
		if !whole {
			return
		}
		holds := checked(t, h, level.Serializable).Verdict == evidence.Holds
		must.Same(t, holds, want, "seed %d, %d variables", seed, f.Vars)
	}
	randtest.Values(t, histtest.Long[uint64](30, 300), func(seed uint64) hard.Formula {
		vars := 3 + int(seed%6)
		return hard.RandomFormula(seed, vars, (vars*426+50)/100, false)
	}, func(t testing.TB, seed uint64, f hard.Formula) { try(t, seed, f, f.Vars == 3) })
	randtest.Values(t, histtest.Long[uint64](14, 140), func(seed uint64) hard.Formula {
		vars := 8 + 2*int(seed%7)
		return hard.RandomFormula(seed, vars, (vars*426+50)/100, seed%3 == 0)
	}, func(t testing.TB, seed uint64, f hard.Formula) { try(t, seed, f, seed%3 == 0) })
	// All eight clauses over three variables: no assignment, and no clause may be missing.
	var all hard.Formula
	all.Vars = 3
	for m := range 8 {
		c := []int{1, 2, 3}
		for i := range c {
			if m>>i&1 != 0 {
				c[i] = -c[i]
			}
		}
		all.Clauses = append(all.Clauses, c)
	}
	try(t, 1, all, true)
	for drop := range all.Clauses {
		f := hard.Formula{Vars: 3}
		for i, c := range all.Clauses {
			if i != drop {
				f.Clauses = append(f.Clauses, c)
			}
		}
		try(t, uint64(drop), f, true)
	}
	histtest.Mix(t, answers[true] < 5 || answers[false] < 5, "the mix is lopsided: %v", answers)
}

// TestHardFamily: the hard instances, small, are decided as their construction says, and certified.
func TestHardFamily(t *testing.T) {
	sizes := map[string]int{"3sat": 9, "3sat-satisfiable": 12, "pigeonhole": 2, "order": 3, "duplicates": 30,
		"mini-3sat": 9, "mini-3sat-satisfiable": 12, "mini-pigeonhole": 2,
		"thousand-operations": 30, "million-keys": 2000}
	for _, in := range hard.Instances() {
		if in.Name == "million-keys" && !histtest.Long(false, true) {
			continue // the store has them all
		}
		name := "replay"
		if in.Level == level.Linearizable {
			name = "lwt"
		}
		c := must.Get(check.ByName(name))(t)
		size := sizes[in.Name]
		if size == 0 {
			size = int(histtest.Long[uint64](165, 3000))
		}
		randtest.Seeds(t, 2, func(t testing.TB, seed uint64) {
			h := must.Get(in.Build(t.Context(), size, seed))(t)
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			r, err := check.Run(ctx, c, h, check.Options{Level: in.Level})
			cancel()
			switch {
			case err != nil:
				t.Fatalf("%s, seed %d: %v", in.Name, seed, err)
			case r.Verdict == evidence.Unknown:
				t.Errorf("%s, seed %d: %s", in.Name, seed, r.Reason)
			case in.Valid && r.Verdict != evidence.Holds || in.Violates && r.Verdict != evidence.Violated:
				t.Errorf("%s, seed %d: %s, against its construction", in.Name, seed, r.Verdict)
			}
			t.Logf("%s, seed %d: %s; %d rounds, %d variables, %d conflicts, %.0f ms", in.Name, seed, r.Verdict,
				r.Stats.Rounds, r.Stats.Variables, r.Stats.Conflicts, r.Stats.CheckMS)
		})
	}
}

// TestStopped: a run that is stopped says that it does not know, before it has begun to solve or in the middle of it.
func TestStopped(t *testing.T) {
	in := must.Get(hard.Lookup("contended"))(t)
	h := must.Get(in.Build(t.Context(), histtest.Long(1000, 3000), 1))(t)
	stopped, cancel := context.WithCancel(context.Background())
	cancel()
	for _, l := range levels {
		if l.RealTime() {
			continue // it has no times
		}
		a, err := replay.Run(stopped, prepass.Run(h), replay.Options{Level: l})
		must.Be(t, err == nil && a.Status == solver.Unknown && a.Order == nil && a.Seed == nil,
			"%s: %v, %v; want no answer", l, a, err)
	}
	hole := must.Get(hard.Lookup("pigeonhole"))(t)
	h = must.Get(hole.Build(t.Context(), 11, 1))(t)
	v := prepass.Run(h)
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Millisecond)
	defer cancel()
	done := make(chan replay.Answer)
	go func() {
		a, err := replay.Run(ctx, v, replay.Options{})
		if err != nil {
			t.Error(err)
		}
		done <- a
	}()
	select {
	case a := <-done:
		must.Equal(t, a.Status, solver.Unknown, "twelve pigeons in eleven holes, in 60 ms")
	case <-time.After(time.Minute):
		t.Fatal("it goes on long after its time")
	}
}
