package bench

import (
	"fmt"
	"slices"
	"strings"

	"isovet/check"
	"isovet/internal/slice"
	"isovet/level"
)

// Contender is a checker with a solver and settings. Solver is "" if it uses none. Settings are those choices of its
// pipeline that differ from the default, such as "closure=purdom,encoding=order", or "".
type Contender struct{ Checker, Solver, Settings string }

func (c Contender) String() string {
	s := c.Checker
	if c.Settings != "" {
		s += ":" + strings.ReplaceAll(c.Settings, ",", ":")
	}
	if c.Solver != "" {
		s += ":" + c.Solver
	}
	return s
}

// Pipeline returns the pipeline that the settings describe.
func (c Contender) Pipeline() (p check.Pipeline) {
	for _, w := range strings.Split(c.Settings, ",") {
		name, value, _ := strings.Cut(w, "=")
		p.Set(name, value)
	}
	return p
}

// Variation lists values for the choices that contenders leave open, by the choices' names. "all" means every value; no
// values mean only the checker's default. A contender is varied only in choices that it has, in all combinations of
// them that make a difference; with OneAtATime only one of its choices has another value than the first of its list.
type Variation struct {
	Values     map[string][]string
	OneAtATime bool
}

// VariedChoices returns the names of the choices that a Variation can have.
func VariedChoices() []string {
	names := slice.Map(check.Settings(), func(s check.Setting) string { return s.Name })
	return append(names, check.ChoiceSolver, check.ChoiceTheory)
}

// Contenders reads a list like that of --checkers. "all" is every checker that decides the level, with its default
// solver; "vbox" is one checker, "vbox:gini" with another solver ("vbox:external:minisat" too), "vbox:all" with each
// of its solvers, "all:all" every checker with each of its solvers. "vbox:order" or "vbox:encoding=order" has another
// encoding, and so on for closures, theories and the other settings of isovet checkers;
// "vbox:encoding=cobra,theory=lazy" has two. "cobra" uses Purdom's closure, "cobra:warshall" its paper's, which is for
// a GPU. Hidden and partial checkers must be named. "timestamps" is all checkers that trust timestamps, which "all"
// does not include.
func Contenders(list string, l level.Level) ([]Contender, error) {
	return ContendersWith(list, l, Variation{})
}

// ContendersWith is Contenders with each contender in all variations of the choices that the list leaves open.
func ContendersWith(list string, l level.Level, v Variation) ([]Contender, error) {
	var out []Contender
	used := map[string]bool{}
	for _, word := range entries(list) {
		name, settings, _ := strings.Cut(word, ":")
		several := name == "all" || name == "timestamps"
		chosen, err := named(name, l)
		if err != nil {
			return nil, err
		}
		for _, c := range chosen {
			in := c.Info()
			values, err := in.ParseChoices(settings)
			var more []Contender
			if err == nil {
				e := (entry{in, values}).with(v, used)
				if in.Name == "cobra" && len(values[check.SettingClosure]) == 0 {
					values[check.SettingClosure] = []string{"purdom"} // Warshall's is for the paper's GPU
				}
				more, err = e.contenders(v.OneAtATime)
			}
			if out = slice.Union(out, more...); err != nil && !several {
				return nil, err
			}
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%q names no checker that decides %s", list, l)
	}
	for _, choice := range VariedChoices() {
		for _, value := range v.Values[choice] {
			if !used[choice+"="+value] {
				if choice == check.ChoiceSolver && check.IsExternal(value) {
					if err := check.SolverError(value); err != nil {
						return nil, err // there is no such program
					}
				}
				return nil, fmt.Errorf("no checker of %q has %s %q; isovet checkers lists what each has", list, choice,
					value)
			}
		}
	}
	return out, nil
}

// entries splits a list into entries. A word that sets a value belongs to the entry before it, as in
// vbox:encoding=cobra,theory=lazy.
func entries(list string) (out []string) {
	for i, word := range strings.Split(list, ",") {
		word = strings.TrimSpace(word)
		if name, _, ok := strings.Cut(word, "="); ok && i > 0 && !strings.Contains(name, ":") {
			out[len(out)-1] += "," + word
			continue
		}
		out = append(out, word)
	}
	return out
}

// named returns the checkers that a name in a list means.
func named(name string, l level.Level) ([]check.Checker, error) {
	if name != "all" && name != "timestamps" {
		c, err := check.ByName(name)
		if err != nil {
			return nil, fmt.Errorf("unknown checker %q; expected all, timestamps, or some of %s", name,
				strings.Join(check.Names(check.All()), ", "))
		}
		if in := c.Info(); !in.Decides(l) {
			return nil, fmt.Errorf("checker %s does not decide %s", name, l)
		}
		return []check.Checker{c}, nil
	}
	chosen := slice.Filter(check.Deciding(l), func(c check.Checker) bool {
		in := c.Info()
		return !in.Hidden && !in.Partial && in.Timestamps == (name == "timestamps")
	})
	if chosen == nil {
		return nil, fmt.Errorf("no checker decides %s", l)
	}
	return chosen, nil
}

// entry is a checker with the values that a list gives its choices. "" is the checker's default.
type entry struct {
	in     check.Info
	values map[string][]string
}

// with sets the choices that the entry leaves open to the variation's values, if it has these choices, and marks them
// in used.
func (e entry) with(v Variation, used map[string]bool) entry {
	for _, choice := range e.in.Choices() {
		open := len(e.values[choice.Name]) == 0
		for _, value := range v.Values[choice.Name] {
			if value == "all" || slices.Contains(choice.Values, value) ||
				choice.Name == check.ChoiceSolver && check.TakesSolver(e.in, value) == nil {
				used[choice.Name+"="+value] = true
				if open {
					e.values[choice.Name] = append(e.values[choice.Name], value)
				}
			}
		}
	}
	return e
}

// contenders returns all combinations of the entry's values, or with one those that have at most one value that is not
// the first of its list. A theory is combined with the solvers that have it. A value that is not the first is left out
// where it makes no difference: see check.Pipeline.Idle.
func (e entry) contenders(one bool) ([]Contender, error) {
	type draft struct {
		Contender
		moved []string // choices with another value than the first
	}
	out := []draft{{Contender: Contender{Checker: e.in.Name}}}
	for _, s := range e.in.Settings {
		values := e.values[s.Name]
		if len(values) == 0 {
			continue
		}
		if slices.Contains(values, "all") {
			values = s.Values
		}
		var next []draft
		for _, c := range out {
			for i, v := range values {
				d := draft{c.Contender, slices.Clip(c.moved)}
				if i > 0 {
					d.moved = append(d.moved, s.Name)
				}
				// The first value is the checker's own, and has no need of a name, but where the history decides.
				if v != s.Values[0] || s.Name == check.SettingClosure || s.Name == check.SettingPruning {
					d.Settings = strings.TrimPrefix(c.Settings+","+s.Name+"="+v, ",")
				}
				next = append(next, d)
			}
		}
		out = next
	}
	solvers, err := []string{""}, error(nil)
	if len(e.in.Solvers) > 0 {
		solvers, err = e.solvers(one)
	}
	var all []Contender
	for _, c := range out {
		for i, s := range solvers {
			moved := len(c.moved)
			if c.Solver = s; i > 0 {
				moved++
			}
			idle := c.Pipeline().Idle(s)
			vain := slices.ContainsFunc(c.moved, func(name string) bool { return slices.Contains(idle, name) })
			if !vain && (!one || moved < 2) {
				all = append(all, c.Contender)
			}
		}
	}
	return all, err
}

// solvers returns the solvers of the entry's solvers and theories; with one, of the first solver with each theory, and
// of each other solver with one theory.
func (e entry) solvers(one bool) ([]string, error) {
	names, theories := e.values[check.ChoiceSolver], e.values[check.ChoiceTheory]
	if slices.Contains(names, "all") {
		names = e.in.Solvers
	}
	if len(theories) == 0 {
		if len(names) == 0 {
			return e.in.Solvers[:1], nil
		}
		return names, nil
	}
	if slices.Contains(theories, "all") {
		theories = check.Theories()
	}
	var out []string
	if len(names) == 0 {
		names = e.in.Solvers[:1]
	}
	for i, n := range names {
		for _, t := range theories {
			s, err := check.WithTheory(n, t)
			if err == nil && check.TakesSolver(e.in, s) == nil && !slices.Contains(out, s) {
				if out = append(out, s); one && i > 0 {
					break
				}
			}
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("checker %s: no solver of %s has theory %s", e.in.Name, strings.Join(names, ", "),
			strings.Join(theories, ", "))
	}
	return out, nil
}

// Cobra's first closure is Warshall's by default, as in its paper, which computes it on a GPU. Purdom's takes a small
// part of this time here. So figures show both, and claims about Cobra are compared with both.

// byPurdom ends the names of Cobra's series whose first closure is Purdom's.
const byPurdom = ", Purdom"

// rival returns the run that a series' name means: a checker, perhaps with byPurdom.
func rival(series string) Run {
	checker, purdom := strings.CutSuffix(series, byPurdom)
	run := Run{Checker: checker}
	if purdom {
		run.Pipeline = check.Pipeline{Closure: "purdom"}
	}
	return run
}

// purdomNote explains these series.
const purdomNote = "Cobra's first closure is Warshall's, as in its paper, which uses a GPU; the series with " +
	"\"Purdom\" use Purdom's (cobra:purdom), which is faster without a GPU."

// warshallTakes measures the least factor by which Warshall's closure slows Cobra down.
func warshallTakes(r *Report) Found {
	var all []Found
	for _, p := range r.Points {
		whole := strings.Replace(p.Series, byPurdom, "", 1)
		if whole == p.Series || p.Metric == "memory" || p.Metric == "parts" { // the solver's part does not grow
			continue
		}
		if f, beyond, ok := r.factor(p.Metric, p.Group, p.Series, whole); ok {
			all = append(all, Found{f, beyond, r.place(p.Group) + ", the least", ""})
		}
	}
	return leastOf("Cobra by both closures", all)
}

// underPurdom measures a claim about Cobra on the series with Purdom's closure.
func underPurdom(find finder) finder {
	return func(r *Report) Found { return find(r.byPurdoms()) }
}

// shownUnderPurdom does the same for a reason.
func shownUnderPurdom(of showing) showing {
	return func(r *Report) (string, bool) { return of(r.byPurdoms()) }
}

// byPurdoms returns the report with Cobra's series by Purdom's closure instead of those by Warshall's.
func (r *Report) byPurdoms() *Report {
	replaced := map[string]bool{}
	for _, p := range r.Points {
		if strings.Contains(p.Series, byPurdom) {
			replaced[strings.Replace(p.Series, byPurdom, "", 1)] = true
		}
	}
	out := *r
	out.Points = slices.DeleteFunc(slices.Clone(r.Points), func(p Point) bool {
		return replaced[p.Series] || len(replaced) == 0 && strings.Contains(p.Series, "cobra")
	})
	for i := range out.Points {
		out.Points[i].Series = strings.Replace(out.Points[i].Series, byPurdom, "", 1)
	}
	return &out
}

// solvers says which solver and theory the checkers with such a choice used, or returns "" if the figure has none of
// them.
func (r *Report) solvers() string {
	var names []string
	for _, c := range check.All() {
		in := c.Info()
		if len(in.Solvers) > 0 && slices.ContainsFunc(r.Points, func(p Point) bool {
			return hasWord(p.Series, in.Name) || hasWord(p.Group, in.Name)
		}) {
			names = append(names, in.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	cdcl := check.Solvers()[0].Name
	if !r.OrderFirst {
		return fmt.Sprintf("%s, %s is asked with the solver %s, whose theory was the closure, or, where no client "+
			"times keep that small and its graph has more than 2000 nodes, the order of Pearce and Kelly", unnamed,
			strings.Join(names, " or "), cdcl)
	}
	text := ""
	if i := slices.Index(names, papersOwn.checker); i >= 0 && !r.fig.Own {
		names = slices.Delete(names, i, i+1)
		text = fmt.Sprintf("%s, %s is asked with the solver %s, as in Vbox's paper", unnamed, papersOwn.checker,
			papersOwn.solver)
		if len(names) > 0 {
			text += fmt.Sprintf(", and %s with the solver %s", strings.Join(names, " or "), cdcl)
		}
	} else {
		text = fmt.Sprintf("%s, %s is asked with the solver %s", unnamed, strings.Join(names, " or "), cdcl)
	}
	if len(names) > 0 || slices.ContainsFunc(r.Points, func(p Point) bool { return hasWord(p.Series, cdcl) }) {
		text += ". " + solverChoice
	}
	return text
}

// unnamed begins the text of solvers.
const unnamed = "Where a row names no other solver or theory"

// solverChoice describes the solver cdcl (encode.OrderFirst).
const solverChoice = "The theory of cdcl is the order of Pearce and Kelly, and after many conflicts, if it costs no " +
	"more than they did, the closure"

// papersOwn is the checker whose paper uses another solver than the default. Figures of papers use the paper's solver.
var papersOwn = struct{ checker, solver string }{"vbox", "cdcl-closure"}

// hasWord reports whether a text contains a word, the name of a checker.
func hasWord(text, name string) bool {
	words := strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(" ,:()", c) })
	return slices.Contains(words, name)
}
