package bench

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"isovet/check"
	"isovet/datasets"
	"isovet/encode"
	"isovet/evidence"
)

// vboxTheoryFigure is ours: which theory of our own solver is the fastest where, and what the solver chooses by itself.
func vboxTheoryFigure() Figure {
	f := Figure{ID: "vbox/theory", Title: "theories of our own solver, and what it chooses by itself",
		Where: "ours; Vbox, §4.6, has the closure alone", Axis: "transactions", Axes: map[string]string{},
		Numeric: true, LogX: true, Own: true, Bounds: theoryBounds, Measure: vboxTheory,
		Timeouts: map[Scale]time.Duration{DefaultScale: 3 * time.Second, FullScale: 8 * time.Second}}
	for _, p := range theoryPanels {
		f.Metrics = append(f.Metrics, Metric{p.key, "check time, " + p.about, "ms"})
		f.Axes[p.key], f.Axes[p.conflicts()] = p.axis(), p.axis()
	}
	for _, p := range theoryPanels {
		f.Metrics = append(f.Metrics, Metric{p.conflicts(), "conflicts, " + p.about, ""})
	}
	f.Metrics = append(f.Metrics, Metric{theoryFastest, "the fastest theory, and how much slower the next one is",
		""})
	f.Axes[theoryFastest] = "history"
	return f
}

// theoryPanel is a chart: histories of a workload, with client times or without, by their transactions or their keys.
type theoryPanel struct {
	key, about string
	spec       datasets.Spec
	keys       bool // the groups are numbers of keys
	small      bool // hard from some hundred transactions on
}

func (p *theoryPanel) conflicts() string { return p.key + "-conflicts" }

func (p *theoryPanel) axis() string {
	if p.keys {
		return "keys"
	}
	return "transactions"
}

const (
	theoryFastest = "fastest"
	theoryOfOwn   = "auto"
	theoryKeys    = 200 // of the panels by transactions
	// Of the panel whose writes repeat values: what a read saw has several writers.
	repeatedKeys, repeatedValues = 100, 20
	// timeoutSparser is the reason of a point that was not run.
	timeoutSparser = "timeout with more keys"

	theoryTie   = 1.15 // times the fastest: as fast
	theoryLeast = 5    // ms, below which worstChoice compares nothing
)

var theoryPanels = []theoryPanel{
	{"txns", fmt.Sprintf("contended, %d keys, no times", theoryKeys), datasets.Spec{Workload: "contended",
		Keys: theoryKeys, Times: datasets.NoTimes}, false, false},
	{"txns-timed", fmt.Sprintf("contended, %d keys, times", theoryKeys), datasets.Spec{Workload: "contended",
		Keys: theoryKeys}, false, false},
	{"keys", "contended by keys, no times", datasets.Spec{Workload: "contended", Times: datasets.NoTimes}, true, false},
	{"keys-timed", "contended by keys, times", datasets.Spec{Workload: "contended"}, true, false},
	{"blindw", "BlindW-WR, no times", datasets.Spec{Workload: "blindw", Variant: "WR", Times: datasets.NoTimes}, false,
		false},
	{"repeated", fmt.Sprintf("contended, %d keys of %d values, no times", repeatedKeys, repeatedValues),
		datasets.Spec{Workload: "contended", Keys: repeatedKeys, Values: repeatedValues, Times: datasets.NoTimes},
		false, true},
}

// at is the panel's history at a group.
func (p *theoryPanel) at(lab *Lab, n int) datasets.Spec {
	spec := p.spec
	spec.NoAborted = true
	if p.keys {
		spec.Keys, spec.Txns = n, theoryTxns(lab)
	} else {
		spec.Txns = n
	}
	return spec
}

// theoryTxns is the size of histories by keys.
func theoryTxns(lab *Lab) int { return lab.Pick(300, 2100, 2500) }

// groups are the panel's groups, from the smallest history or the least dense one on.
func (p *theoryPanel) groups(lab *Lab) []int {
	if p.keys {
		return [...][]int{QuickScale: {100, 50}, DefaultScale: {1000, 300, 100},
			FullScale: {2000, 1000, 500, 200, 100, 20}}[lab.Scale]
	}
	if p.small {
		return [...][]int{QuickScale: {100}, DefaultScale: {300, 500, 700},
			FullScale: {200, 300, 500, 700, 1000}}[lab.Scale]
	}
	return [...][]int{QuickScale: {100, 200}, DefaultScale: {500, 1000, 2000, 4000},
		FullScale: {500, 1000, 2000, 4000, 10_000}}[lab.Scale]
}

// theoryCheckers are the checkers whose solvers are asked: their problems differ in what pruning and encoding leave.
func theoryCheckers() []Contender {
	return []Contender{{Checker: "vbox"}, {Checker: "cobra", Settings: check.SettingClosure + "=purdom"}}
}

// theoriesCompared are the theories, the solver's own choice last.
var theoriesCompared = []string{encode.TheoryClosure, encode.TheoryOrder, encode.TheoryLazy, theoryOfOwn}

// theoryChecker is a checker's name as --checkers takes it.
func theoryChecker(c Contender) string {
	if v := c.Pipeline().Closure; v != "" {
		return c.Checker + ":" + v
	}
	return c.Checker
}

func theorySeries(c Contender, theory string) string { return theoryChecker(c) + ", " + theory }

// vboxTheory measures every panel. A theory that ran into the time-out is not asked about larger histories, or
// ones with fewer keys.
func vboxTheory(ctx context.Context, lab *Lab, r *Report) error {
	for i := range theoryPanels {
		p := &theoryPanels[i]
		late := map[string]bool{}
		for _, n := range p.groups(lab) {
			src, err := lab.Source(ctx, p.at(lab, n))
			if err != nil {
				return err
			}
			for _, c := range theoryCheckers() {
				if err := p.measure(ctx, lab, r, src, strconv.Itoa(n), c, late); err != nil {
					return err
				}
			}
		}
	}
	for i := range theoryPanels {
		for _, c := range theoryCheckers() {
			r.Note("%s", theoryChanges(r, &theoryPanels[i], c))
		}
	}
	r.Note("In brackets: the theory that the solver cdcl chose by itself (auto); none: nothing was left to solve. %s.",
		solverChoice)
	r.Note("Histories by keys have %d transactions.", theoryTxns(lab))
	r.Note("A cycle in a model of lazy is no conflict: it adds a clause, and the solver goes on.")
	return nil
}

// measure measures a checker with each theory at one group, and says which was the fastest.
func (p *theoryPanel) measure(ctx context.Context, lab *Lab, r *Report, src Source, group string, c Contender,
	late map[string]bool) error {
	for _, theory := range theoriesCompared {
		series := theorySeries(c, theory)
		m := Measured{Reason: timeoutBefore}
		if p.keys {
			m.Reason = timeoutSparser
		}
		if !late[series] {
			run := Run{Checker: c.Checker, Pipeline: c.Pipeline(), Solver: "cdcl"}
			if theory != theoryOfOwn {
				run.Solver, _ = check.SolverFor("cdcl", theory)
			}
			var err error
			if m, err = lab.Run(ctx, src, vboxLevel, run); err != nil {
				return err
			}
		}
		t := point(p.key, group, series, &m, m.Stats.CheckMS)
		late[series] = late[series] || t.TimedOut
		if m.Verdict == evidence.Violated {
			t.Fault, t.Reason = true, "it says violation of a history that the store ran serially"
		}
		if t.Decided() && theory == theoryOfOwn {
			t.Text = fmt.Sprintf("%s (%s)", number(sixDigits(t.Value)), cmp.Or(m.Stats.Theory, "none"))
		}
		r.Add(t)
		r.Add(point(p.conflicts(), group, series, &m, float64(m.Stats.Conflicts)))
	}
	if f := fastestTheory(r, p.key, group, c); f.names != nil {
		at := fmt.Sprintf("%s %s, %s", group, p.axis(), p.about)
		r.Add(Point{Metric: theoryFastest, Group: at, Series: theoryChecker(c),
			Value: f.next, Text: f.String(), Verdict: evidence.Holds})
	}
	return nil
}

// fastTheory is who was the fastest: names, which are several where others were as fast, and how many times the
// fastest's time the next one took, at least that where it was stopped.
type fastTheory struct {
	names  []string
	next   float64
	beyond bool
}

func (f fastTheory) String() string {
	s := strings.Join(f.names, " or ")
	if f.next > 0 {
		s += fmt.Sprintf(" (next: %s%.3g times)", map[bool]string{true: "over "}[f.beyond], f.next)
	}
	return s
}

// fastestTheory compares the theories of a checker at a group; without names: none came to an end.
func fastestTheory(r *Report, metric, group string, c Contender) (f fastTheory) {
	best := 0.0
	for _, theory := range theoriesCompared[:len(theoriesCompared)-1] {
		if p := r.Find(metric, group, theorySeries(c, theory)); p != nil && (best == 0 || p.Value < best) {
			best = p.Value
		}
	}
	if best == 0 {
		return f
	}
	for _, theory := range theoriesCompared[:len(theoriesCompared)-1] {
		v, beyond, ok := r.timed(metric, group, theorySeries(c, theory))
		switch {
		case ok && !beyond && v <= theoryTie*best:
			f.names = append(f.names, theory)
		case ok && (f.next == 0 || v/best < f.next):
			f.next, f.beyond = v/best, beyond
		}
	}
	return f
}

// theoryChanges says where the fastest theory of a checker changes along a panel.
func theoryChanges(r *Report, p *theoryPanel, c Contender) string {
	groups := slices.Clone(r.Groups(p.key))
	slices.SortFunc(groups, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	var parts []string
	was := ""
	for _, g := range groups {
		is := cmp.Or(strings.Join(fastestTheory(r, p.key, g, c).names, " or "), "none in time")
		if is != was {
			parts = append(parts, is+" from "+g)
		}
		was = is
	}
	return fmt.Sprintf("The fastest of %s by %s (%s): %s.", theoryChecker(c), p.axis(), p.about,
		strings.Join(parts, ", "))
}

// theoryBounds: which theory is the faster where, and that the solver's own choice is a good one.
func theoryBounds(*Report) []Saying {
	vbox, cobra := theoryCheckers()[0], theoryCheckers()[1]
	out := []Saying{{Says: "of what Cobra's pruning leaves of contended histories with times, the order is faster " +
		"than the closure, at every size", Sense: AtLeast, Number: 1, Unit: all, Find: shortest("txns-timed", "sizes",
		theorySeries(cobra, encode.TheoryOrder), theorySeries(cobra, encode.TheoryClosure))}}
	for _, x := range []struct {
		says, panel  string
		of           Contender
		fast, slower string
	}{
		{"and without times, on the largest history", "txns", cobra, encode.TheoryOrder, encode.TheoryClosure},
		{"and of what Vbox's own leaves of them", "txns", vbox, encode.TheoryOrder, encode.TheoryClosure},
		{"BlindW-WR without times, where few choices are left, is faster by the order, on the largest history",
			"blindw", cobra, encode.TheoryOrder, encode.TheoryClosure},
		{"where values are repeated, so that a read has several possible writers, the closure is faster than the " +
			"order, on the largest history", "repeated", vbox, encode.TheoryClosure, encode.TheoryOrder},
		{"and of what Cobra's pruning leaves", "repeated", cobra, encode.TheoryClosure, encode.TheoryOrder},
	} {
		out = append(out, Saying{Says: x.says, Sense: MoreThan, Number: 1, Unit: "times as fast",
			Find: largestFactor(x.panel, theorySeries(x.of, x.fast), theorySeries(x.of, x.slower))})
	}
	return append(out, Saying{Says: "what the solver chooses by itself takes at most twice the time of the fastest " +
		"theory, wherever that takes 5 ms or more", Sense: AtMost, Number: 2, Unit: "times its time", Find: worstChoice,
		Why: "it learns which theory is the faster by beginning with the order, and turns late"})
}

// largestFactor is by how much slow is more than fast at the last, the largest group at which fast came to an end.
func largestFactor(metric, fast, slow string) finder {
	return func(r *Report) Found {
		all := r.factors(metric, anyGroup, fast, slow)
		return last(append([]Found{notMeasured(slow + " beside " + fast)}, all...)...)
	}
}

// worstChoice is the most that the solver's own choice took, as a multiple of the fastest theory's time.
func worstChoice(r *Report) Found {
	worst, late := Found{None: "no theory took so long"}, false
	for i := range theoryPanels {
		p := &theoryPanels[i]
		for _, g := range r.Groups(p.key) {
			for _, c := range theoryCheckers() {
				own, beyond, ok := r.timed(p.key, g, theorySeries(c, theoryOfOwn))
				for _, theory := range theoriesCompared[:len(theoriesCompared)-1] {
					q := r.Find(p.key, g, theorySeries(c, theory))
					if !ok || q == nil || q.Value < theoryLeast {
						continue // where no theory came to an end, there is nothing to compare with
					}
					late = late || beyond
					if worst.None == "" && own/q.Value <= worst.Value {
						continue
					}
					worst = Found{own / q.Value, false, fmt.Sprintf("(%s beside %s at %s %s, %s)", theoryChecker(c),
						theory, g, p.axis(), p.about), ""}
				}
			}
		}
	}
	worst.Beyond = late
	return worst
}
