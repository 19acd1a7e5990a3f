package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"isovet/check"
	"isovet/encode"
	"isovet/evidence"
	"isovet/history"
	"isovet/level"
)

// Grid lists, for each choice of vbox's pipeline, the values that an ablation tries; an empty list means all. With
// OneAtATime, a choice keeps the first value of its list while another choice varies.
type Grid struct {
	Closures, Prunings, Encodings, Theories, Phases, Backends []string
	// AtMostOnes is a choice only for histories with predicates. If it is empty, the first value is used.
	AtMostOnes []string
	// Techniques are the techniques to leave out or exchange (check.Techniques). If it is empty, OneAtATime tries
	// each; otherwise none is tried.
	Techniques []string
	// Extra are encodings besides encode.Encodings. They can only be measured in this process (AblateOptions.Self).
	Extra []encode.Encoding
	// OneAtATime varies one choice at a time, with the first value for all others, instead of trying all combinations.
	OneAtATime bool
}

// Cell is one combination of values.
type Cell struct {
	Closure  string `json:"closure"` // "" where none is built
	Pruning  string `json:"pruning"`
	Encoding string `json:"encoding"`
	Theory   string `json:"theory"`
	Phase    string `json:"phase"`
	Backend  string `json:"solver"`
	// AtMostOne is "" if it is not used.
	AtMostOne string `json:"at_most_one,omitempty"`
	// Technique is "" if no technique is changed.
	Technique string `json:"technique,omitempty"`
}

func (c Cell) String() string {
	return strings.Join([]string{cmp.Or(c.Closure, "-"), c.Pruning, c.encoding(), c.Theory, c.Phase, c.Backend}, " ")
}

// encoding returns the names of the encoding, its clauses, and the technique that is left out.
func (c Cell) encoding() string {
	s := c.clauses()
	if c.Technique != "" {
		s += " " + c.Technique
	}
	return s
}

// clauses returns the names of the encoding and its clauses.
func (c Cell) clauses() string {
	if c.AtMostOne != "" {
		return c.Encoding + " at-most-one"
	}
	return c.Encoding
}

// axes returns the choices in the order of Cell's fields.
func (g Grid) axes() []struct {
	what       string
	known, got []string
} {
	p := check.Pipeline{Extra: g.Extra}
	ones := g.AtMostOnes
	if len(ones) == 0 {
		ones = check.AtMostOnes()[:1]
	}
	techniques := g.Techniques
	if len(techniques) == 0 && !g.OneAtATime {
		techniques = check.Techniques()[:1]
	}
	return []struct {
		what       string
		known, got []string
	}{
		{"closure", check.Closures(), g.Closures},
		{"pruning", check.Prunings(), g.Prunings},
		{"encoding", p.EncodingNames(), g.Encodings},
		{"theory", check.Theories(), g.Theories},
		{"phase", check.Phases(), g.Phases},
		{"solver", check.Backends(), g.Backends},
		{"at-most-one", check.AtMostOnes(), ones},
		{"technique", check.Techniques(), techniques},
	}
}

// Cells lists the meaningful combinations without repetition. A theory needs its back end; eager clauses need the
// encoding that has them. Without pruning and without a theory that needs one, no closure is built. If only other
// solvers than isovet's are used, a phase has no effect.
func (g Grid) Cells() ([]Cell, error) {
	axes := g.axes()
	values := make([][]string, len(axes))
	for i, a := range axes {
		for _, v := range a.got {
			if !slices.Contains(a.known, v) && !(a.what == "solver" && check.HasSolver(v)) {
				return nil, fmt.Errorf("unknown %s %q; expected all or some of %s", a.what, v, strings.Join(a.known,
					", "))
			}
		}
		if values[i] = a.got; len(a.got) == 0 {
			values[i] = a.known
		}
	}
	var out []Cell
	add := func(at []int) {
		if c, ok := cell(values, at); ok && !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	at := make([]int, len(values))
	if g.OneAtATime {
		add(at)
		for i := range values {
			for at[i] = range values[i] {
				add(at)
			}
			at[i] = 0
		}
		// Some values go only with others: each solver and each theory is tried with whatever it takes.
		for at[5] = range values[5] {
			for at[3] = range values[3] {
				for at[2] = range values[2] {
					add(at)
				}
			}
		}
		at[5], at[2] = 0, 0
		for at[3] = range values[3] {
			for at[7] = range values[7] {
				add(at)
			}
		}
		return out, nil
	}
	for {
		add(at)
		i := len(at) - 1
		for ; i >= 0; i-- {
			if at[i]++; at[i] < len(values[i]) {
				break
			}
			at[i] = 0
		}
		if i < 0 {
			return out, nil
		}
	}
}

// cell returns the combination with value at[i] of axis i. It returns false if this combination is impossible.
func cell(values [][]string, at []int) (Cell, bool) {
	c := Cell{values[0][at[0]], values[1][at[1]], values[2][at[2]], values[3][at[3]], values[4][at[4]],
		values[5][at[5]], "", ""}
	if one := values[6][at[6]]; one != check.AtMostOnes()[0] {
		c.AtMostOne = one
	}
	if t := values[7][at[7]]; t != check.Techniques()[0] {
		if !check.TechniqueMatters(t, c.Backend, c.Theory) {
			return c, false
		}
		c.Technique = t
	}
	if _, ok := check.SolverFor(c.Backend, c.Theory); !ok || c.Theory == "eager" && c.Encoding != "order" {
		return c, false
	}
	if c.Pruning == "none" && c.Theory != "closure" {
		c.Closure = ""
	}
	if c.Backend != "cdcl" {
		c.Phase = ""
	}
	return c, true
}

// AblateOptions are the parameters of Ablate.
type AblateOptions struct {
	Level   level.Level
	Grid    Grid
	Repeat  int
	Timeout time.Duration
	// Self is the program and the arguments after which it accepts ChildCommand. If it is nil, every run is in this
	// process, and its peak memory is not known.
	Self     []string
	Progress func(what string, done, total int)
}

// AblateRow is a row of an ablation. Result.Solver is the name in check.Solvers for back end and theory together.
type AblateRow struct {
	Cell `json:"choices"`
	Row  `json:"result"`
}

// Ablate runs vbox with every combination of the grid on every history. It returns the rows sorted by history and
// time, undecided ones last, and ctx's error if that ended. AblateDisagreements finds different verdicts.
func Ablate(ctx context.Context, sources []Source, o AblateOptions) ([]AblateRow, error) {
	cells, err := o.Grid.Cells()
	if err != nil {
		return nil, err
	}
	repeat := max(o.Repeat, 1)
	var rows []AblateRow
	for i, src := range sources {
		begin := len(rows)
		var h *history.History
		for j, c := range cells {
			if o.Progress != nil {
				o.Progress(fmt.Sprintf("%s on %s", c, src.Name()), i*len(cells)+j, len(sources)*len(cells))
			}
			name, _ := check.SolverFor(c.Backend, c.Theory)
			r := Run{Checker: "vbox", Solver: name, Level: o.Level, History: src.Path, Timeout: o.Timeout,
				Pipeline: check.Pipeline{Closure: c.Closure, Pruning: c.Pruning, Encoding: c.Encoding, Phase: c.Phase,
					AtMostOne: c.AtMostOne, Technique: c.Technique, Extra: o.Grid.Extra}}
			var runs []Measured
			for range repeat {
				var m Measured
				if o.Self != nil {
					m, err = runChild(ctx, o.Self, r)
				} else {
					m, h, err = runHere(ctx, r, h)
				}
				if err == nil && m.BadInput != "" {
					err = &BadHistory{m.BadInput}
				}
				if err != nil {
					sortAblation(rows[begin:])
					return rows, err
				}
				runs = append(runs, m)
			}
			rows = append(rows, AblateRow{c, newRow(src, Contender{Checker: "vbox", Solver: name}, o.Level, runs)})
		}
		sortAblation(rows[begin:])
	}
	return rows, nil
}

func sortAblation(rows []AblateRow) {
	slices.SortStableFunc(rows, func(a, b AblateRow) int {
		if x, y := a.Verdict == evidence.Unknown, b.Verdict == evidence.Unknown; x != y {
			if x {
				return 1
			}
			return -1
		}
		return cmp.Compare(a.CheckMS, b.CheckMS)
	})
}

// AblateDisagreements says, for each history with different verdicts, which combinations gave which. There must be
// none.
func AblateDisagreements(rows []AblateRow) []string {
	var out []string
	said := map[string]bool{}
	for i := range rows {
		on := rows[i].source().Name()
		if said[on] {
			continue
		}
		said[on] = true
		var by [3][]string
		for j := range rows {
			if r := &rows[j]; r.source().Name() == on {
				by[r.Verdict] = append(by[r.Verdict], r.Cell.String())
			}
		}
		if v, w := by[evidence.Holds], by[evidence.Violated]; len(v) > 0 && len(w) > 0 {
			out = append(out, fmt.Sprintf("on %s %d combinations say valid, as (%s), and %d say violation, as (%s)", on,
				len(v), v[0], len(w), w[0]))
		}
	}
	return out
}

// ablateTable returns the header and the cells of an ablation's table. Times are in milliseconds.
func ablateTable(rows []AblateRow) (header []string, cells [][]string) {
	several := slices.ContainsFunc(rows, func(r AblateRow) bool { return r.source() != rows[0].source() })
	header = []string{"closure", "pruning", "encoding", "theory", "phase", "solver", "verdict", "check ms",
		"closure+pruning", "encoding+solving", "peak MB", "left", "variables", "clauses", "conflicts"}
	if several {
		header = append([]string{"history"}, header...)
	}
	for i := range rows {
		r := &rows[i]
		verdict := r.Verdict.String()
		if r.Reason != "" {
			verdict += " (" + short(&r.Row) + ")"
		}
		memory := ""
		if r.PeakMB > 0 {
			memory = strconv.FormatFloat(r.PeakMB, 'f', 0, 64)
		}
		row := []string{cmp.Or(r.Cell.Closure, "-"), r.Pruning, r.encoding(), r.Cell.Theory,
			cmp.Or(r.Phase, "-"), r.Backend, verdict, number(r.CheckMS),
			number(r.Stages["closure"] + r.Stages["pruning"]), number(r.Stages["encoding"] + r.Stages["solving"]),
			memory, strconv.Itoa(r.Left), strconv.Itoa(r.Variables), strconv.Itoa(r.Clauses),
			strconv.FormatInt(r.Conflicts, 10)}
		if several {
			row = append([]string{r.source().Name()}, row...)
		}
		cells = append(cells, row)
	}
	return header, cells
}

// WriteAblation writes the rows for people, as ASCII or Markdown.
func WriteAblation(w io.Writer, rows []AblateRow, markdown bool) error {
	if len(rows) == 0 {
		return nil
	}
	header, cells := ablateTable(rows)
	return writeTable(w, header, cells, markdown)
}

// WriteAblationJSON writes the rows as one array.
func WriteAblationJSON(w io.Writer, rows []AblateRow) error {
	if rows == nil {
		rows = []AblateRow{}
	}
	b, err := json.MarshalIndent(rows, "", " ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// WriteAblationCSV writes the rows with the names of the JSON fields as header. A generated history is identified by
// its workload and variant, as in tidy data.
func WriteAblationCSV(w io.Writer, rows []AblateRow) error {
	stage := func(name string) func(*AblateRow) any { return func(r *AblateRow) any { return r.Stages[name] } }
	return writeFields(w, rows, "json", strings.Fields(`workload variant history txns level closure pruning encoding
		theory phase solver verdict reason check_ms check_ms_min check_ms_max closure_ms pruning_ms encoding_ms
		solving_ms peak_mb constraints constraints_left variables clauses decisions conflicts repeat technique`),
		map[string]func(*AblateRow) any{
			"history":    func(r *AblateRow) any { return r.source().Name() },
			"encoding":   func(r *AblateRow) any { return r.clauses() },
			"technique":  func(r *AblateRow) any { return cmp.Or(r.Technique, "default") },
			"closure_ms": stage("closure"), "pruning_ms": stage("pruning"), "encoding_ms": stage("encoding"),
			"solving_ms": stage("solving"),
		})
}

// WriteAblationResults writes raw results with the machine into a folder: ablate-WORKLOAD.json.
func WriteAblationResults(dir, command string, seed uint64, complete bool, rows []AblateRow) (string, error) {
	if len(rows) == 0 {
		return "", fmt.Errorf("there are no results to write")
	}
	type part struct {
		AblateRow
		Runs []Measured `json:"runs"`
	}
	file := struct {
		Results
		Parts []part `json:"rows"`
	}{Results: newResults(command, seed, complete)}
	for _, r := range rows {
		file.Parts = append(file.Parts, part{r, r.Runs})
	}
	b, err := json.MarshalIndent(file, "", " ")
	if err != nil {
		return "", err
	}
	first := rows[0].source()
	name := "ablate-files"
	if first.File == "" {
		name = strings.Join([]string{"ablate", first.Workload, cmp.Or(first.Variant, "default"),
			strconv.Itoa(first.Txns), rows[0].Level.String()}, "-")
	}
	return writeResults(dir, strings.ToLower(name)+".json", append(b, '\n'))
}
