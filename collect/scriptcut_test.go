package collect

import (
	"fmt"
	"strings"
	"testing"

	"isovet/datasets/workload"
	"isovet/internal/slice"
	"isovet/internal/test/must"
)

// scriptIn is a script of steps such as "b1 r1 c1", on one row.
func scriptIn(text string) *Script {
	s := &Script{Level: "serializable", Tables: []ScriptTable{{Rows: [][]int64{{0, 0}}}}}
	do := map[byte]string{'b': "begin", 'r': "read", 'w': "write", 'c': "commit"}
	for _, w := range strings.Fields(text) {
		s.Steps = append(s.Steps, ScriptStep{Session: int(w[1] - '0'), Do: do[w[0]]})
	}
	return s
}

func textOf(s *Script) string {
	if s == nil {
		return "none"
	}
	words := slice.Map(s.Steps, func(st ScriptStep) string { return fmt.Sprintf("%c%d", st.Do[0], st.Session) })
	return strings.Join(words, " ")
}

// TestScriptCuts: transactions are put one after the other, one of them is put in one place, and two sessions become
// one where their transactions do not overlap.
func TestScriptCuts(t *testing.T) {
	s := scriptIn("b1 r1 b2 r2 w1 c1 b3 w3 c3 w2 c2")
	must.Equal(t, textOf(s.serial()), "b1 r1 w1 c1 b3 w3 c3 b2 r2 w2 c2", "one after the other")
	all := s.transactions()
	if got := s.inOne(all[1]); got != nil {
		t.Errorf("the transaction of session 3 is in one place: %d scripts", len(got))
	}
	places := slice.Map(s.inOne(all[0]), textOf)
	if len(places) != 8 || places[0] != "b1 r1 w1 c1 b2 r2 b3 w3 c3 w2 c2" ||
		places[2] != "b2 r2 b1 r1 w1 c1 b3 w3 c3 w2 c2" {
		t.Errorf("the transaction of session 1 in each place: %q", places)
	}
	for in, want := range map[[2]int]string{{3, 1}: "b1 r1 b2 r2 w1 c1 b1 w1 c1 w2 c2", {2, 1}: "none"} {
		must.Equal(t, textOf(s.inSession(in[0], in[1])), want, "session %d in session %d", in[0], in[1])
	}
	s.Nodes = []int{0, 1, 1}
	must.Equal(t, textOf(s.inSession(3, 1)), "none", "sessions of two nodes as one")
	r := &run{tables: []workload.Table{{Columns: make([]workload.Column, 1)}}}
	rows := map[workload.Key][]int64{}
	for k := range workload.Key(3000) {
		rows[k] = nil
	}
	txns := []txnScript{{steps: []ScriptStep{{Key: 1200}}}}
	must.Equal(t, len(r.needed(rows, txns)), 3*neighbours, "rows of a large table beside those that are named")
}

// TestSetup: a script's tables are told with their first rows, each of its statements has a plan, and a plan that is
// not the one asked for is told.
func TestSetup(t *testing.T) {
	_, x, err := ReadScript(strings.NewReader(`{"format":"isovet-schedule","version":1,"level":"serializable",
 "tables":[{"name":"t","columns":[{"name":"a","index":true}],"rows":[[1,2]],"plan":"index"}],
 "steps":[{"session":1,"do":"begin"},{"session":1,"do":"select","where":[{"column":0,"min":2,"max":3}]},
  {"session":1,"do":"commit"}]}`))
	must.OK(t, err)
	c := Config{DB: []string{"sqlite:"}}
	d := must.Get(Open(t.Context(), c))(t)
	defer d.Close()
	p := must.Get(d.Play(t.Context(), c, x))(t)
	s := must.Get(d.Setup(t.Context(), c, x, p.Events()))(t)
	if len(s.Tables) != 2 || !strings.HasPrefix(s.Tables[0], "create table isovet_t0(") || len(s.Rows) != 1 ||
		s.Rows[0] != "insert into isovet_t0 values (1,0,2)" {
		t.Errorf("tables %q, rows %q", s.Tables, s.Rows)
	}
	if len(s.Plans) != 1 || !strings.HasPrefix(s.Plans[0].Statement, "select ") ||
		!strings.HasPrefix(s.Plans[0].Plan[0], "SEARCH isovet_t0 USING INDEX isovet_t0_c_a") {
		t.Errorf("plans %q", s.Plans)
	}
	for variant, want := range map[string]string{"index": "", "bitmap": ""} { // SQLite has no bitmaps: nobody can tell
		r, err := d.Collect(t.Context(), Config{DB: c.DB, Workload: "claim", Variant: variant, Txns: 10, Sessions: 1})
		if err != nil || r.Summary.OtherPlan != want {
			t.Errorf("%s: %v, %q; expected %q", variant, err, r.Summary.OtherPlan, want)
		}
	}
	for lines, other := range map[string]bool{"Index Scan using isovet_t0_c_a on isovet_t0": false,
		"Index Scan using isovet_t0_pkey on isovet_t0": true} {
		if got := differs(planWords["PostgreSQL"][p.run.tables[0].Plan], "isovet_t0_c_a", lines); got != other {
			t.Errorf("%s is another plan: %v; expected %v", lines, got, other)
		}
	}
}
