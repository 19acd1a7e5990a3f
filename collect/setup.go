package collect

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"isovet/collect/driver"
	"isovet/datasets/workload"
)

// Setup has the set-up of a script as statements of the database: those that make and load its tables, and the plans
// of its sessions' statements.
type Setup struct {
	Tables, Rows []string
	// After are statements that follow the load, such as analyze.
	After []string
	Plans []StatementPlan
}

// StatementPlan is the answer of the database's EXPLAIN for a statement.
type StatementPlan struct {
	Statement string   `json:"statement"`
	Plan      []string `json:"plan"`
}

// explains has, for each dialect, the statement that returns a plan.
var explains = map[string]string{"postgres": "explain ", "mysql": "explain ", "sqlite": "explain query plan "}

// mostPlans bounds the statements that are explained.
const mostPlans = 24

// Setup loads the tables of a script and asks the database for the plans of the events' statements. It returns the
// zero Setup if the database has no SQL. c is the Config for the script's runs.
func (t *Target) Setup(ctx context.Context, c Config, s *Schedule, events []Event) (Setup, error) {
	r, err := t.loaded(ctx, c, s)
	if err != nil {
		return Setup{}, err
	}
	x := r.setup()
	explain := explains[r.info.Dialect]
	if explain == "" || len(x.Tables) == 0 {
		return x, nil
	}
	sess, err := t.DB.Connect(ctx, 0)
	if err != nil {
		return x, err
	}
	defer sess.Close()
	speaker, ok := sess.(driver.Speaker)
	if !ok {
		return x, nil
	}
	seen := map[string]bool{}
	for _, e := range events {
		for _, q := range e.Statements {
			verb, _, _ := strings.Cut(q, " ")
			if !slices.Contains([]string{"select", "insert", "update", "delete", "merge"}, verb) || seen[q] ||
				len(x.Plans) == mostPlans || ctx.Err() != nil {
				continue
			}
			seen[q] = true
			if a, err := speaker.Say(explain + q); err == nil {
				x.Plans = append(x.Plans, StatementPlan{q, planLines(&a)})
			}
		}
	}
	return x, nil
}

// planLines returns the rows of an answer as lines. If there are several columns, it shows those that are not null,
// with their names.
func planLines(a *driver.Answer) (lines []string) {
	detail := slices.Index(a.Columns, "detail") // SQLite's; its other columns are internal numbers
	for _, row := range a.Rows {
		var cells []string
		for i, v := range row {
			switch {
			case len(row) == 1, i == detail:
				cells = []string{fmt.Sprint(v)}
			case v != nil && detail < 0:
				cells = append(cells, fmt.Sprintf("%s=%v", a.Columns[i], v))
			}
		}
		lines = append(lines, strings.Split(strings.Join(cells, ", "), "\n")...)
	}
	return lines
}

// setup returns the statements that made a run's tables, or the zero Setup if the database has no SQL.
func (r *run) setup() Setup {
	w := r.words()
	if w.st == nil {
		return Setup{}
	}
	d := r.data()
	plain := slices.ContainsFunc(r.tables, func(t workload.Table) bool { return t.Columns == nil && !t.List })
	tables := slices.DeleteFunc(slices.Clone(w.st.Tables), func(q string) bool { // unused tables
		return !d.Lists && strings.HasPrefix(q, "create table isovet_list") ||
			!plain && strings.HasPrefix(q, "create table isovet_kv")
	})
	return Setup{Tables: tables, Rows: w.st.Insert(d), After: w.st.After}
}

// planWords are words in the answer of EXPLAIN that show a plan, by the product's first word. % stands for the index's
// name. A word after ! must be missing.
var planWords = map[string]map[workload.Plan][]string{
	"PostgreSQL": {workload.Sequential: {"Seq Scan"}, workload.ByIndex: {"Index Scan using %"},
		workload.IndexOnly: {"Index Only Scan"}, workload.Bitmap: {"Bitmap Index Scan on %"},
		workload.Hash: {"Index Scan using %"}, workload.GIN: {"Bitmap Index Scan on %"},
		workload.GiST: {"Bitmap Index Scan on %"}, workload.BRIN: {"Bitmap Index Scan on %"}},
	"SQLite": {workload.Sequential: {"SCAN "}, workload.ByIndex: {"SEARCH ", "USING INDEX %"},
		workload.IndexOnly: {"COVERING INDEX"}},
	"MariaDB": {workload.Sequential: {"!key=%"}, workload.ByIndex: {"key=%"}, workload.IndexOnly: {"Using index"}},
	"MySQL":   {workload.Sequential: {"!key=%"}, workload.ByIndex: {"key=%"}, workload.IndexOnly: {"Using index"}},
}

// otherPlan describes the database's plan for a table that requires another one. It returns "" if the database uses
// the required plan, or isovet cannot tell.
func (r *run) otherPlan() string {
	product, _, _ := strings.Cut(r.info.Name, " ")
	w := r.words()
	speaker, ok := r.clients[0].sess.(driver.Speaker)
	if !ok || w.st == nil {
		return ""
	}
	for i := range r.tables {
		t := &r.tables[i]
		at := slices.IndexFunc(t.Columns, func(c workload.Column) bool { return c.Index })
		words := planWords[product][t.Plan]
		if at < 0 || words == nil {
			continue
		}
		q := w.st.Where(i, []workload.Range{workload.Equal(at, 0)}, driver.Change{}, nil)[0]
		a, err := speaker.Say(explains[r.info.Dialect] + q)
		if err != nil {
			return ""
		}
		plan := strings.Join(planLines(&a), "; ")
		if differs(words, driver.IndexName(i, t.Columns[at]), plan) {
			return fmt.Sprintf("%s asks for the plan %v, but %s chose another plan: %s", r.what, t.Plan, product, plan)
		}
	}
	return ""
}

// differs reports whether a plan lacks one of the words, or has a word that must be missing.
func differs(words []string, index, plan string) bool {
	return slices.ContainsFunc(words, func(word string) bool {
		word, not := strings.CutPrefix(strings.Replace(word, "%", index, 1), "!")
		return strings.Contains(plan, word) == not
	})
}
