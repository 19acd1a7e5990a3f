package collect_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"isovet/collect"
	"isovet/history"
	"isovet/internal/test/must"
)

// TestScriptPlans: what a script says of plans, unique indexes and locking selects is kept when it is read and written,
// and what cannot be is refused.
func TestScriptPlans(t *testing.T) {
	const text = `{"format": "isovet-schedule", "version": 1, "level": "serializable",
 "tables": [
  {"name":"t","columns":[{"name":"a","index":true,"unique":true},{"name":"b"}],"rows":[[1,2,3]],"plan":"index-only","direct":true}
 ],
 "steps": [
  {"session":1,"do":"begin"},
  {"session":1,"do":"select-for-update","where":[{"column":0,"min":2,"max":3}]},
  {"session":1,"do":"select-for-share","where":[{"column":1,"min":2}]},
  {"session":1,"do":"select-first","where":[{"column":0,"max":3}]},
  {"session":1,"do":"select-max","where":[{"column":0}]},
  {"session":1,"do":"insert","key":7,"row":[2,9]},
  {"session":1,"do":"commit"}
 ]
}`
	s, x, err := collect.ReadScript(strings.NewReader(text))
	must.OK(t, err)
	again := collect.ScriptOf(x, "", s.Level)
	var b bytes.Buffer
	must.OK(t, again.Write(&b))
	for _, want := range []string{`"unique":true`, `"plan":"index-only"`, `"do":"select-for-update"`,
		`"do":"select-for-share"`, `"do":"select-first"`, `"do":"select-max"`, `"do":"insert"`, `"direct":true`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("written again it lacks %s:\n%s", want, b.String())
		}
	}
	for from, to := range map[string]string{"index-only": "heap", `"index":true,"unique"`: `"unique"`,
		"select-for-share": "select-for-keeps", `"row":[2,9]`: `"row":[2]`} {
		if _, _, err := collect.ReadScript(strings.NewReader(strings.Replace(text, from, to, 1))); err == nil ||
			!strings.Contains(err.Error(), "expected") {
			t.Errorf("%s in the place of %s: error %v; expected one that says what was expected", to, from, err)
		}
	}
	d := open(t, collect.Config{DB: []string{"sqlite:"}})
	p := must.Get(d.Play(t.Context(), collect.Config{DB: []string{"sqlite:"}}, x))(t)
	if i := slices.IndexFunc(p.Events(), func(e collect.Event) bool {
		return strings.HasPrefix(e.Got, "not inserted")
	}); i < 0 {
		t.Errorf("a row with the unique value 2 is there, and another one was inserted: %v", p.Events())
	}
	if r := run(t, collect.Config{DB: []string{"sqlite:"}, Workload: "claim", Variant: "unique", Txns: 300,
		Sessions: 8}); r.Summary.Committed < 300 {
		t.Errorf("%d committed; expected 300", r.Summary.Committed)
	}
}

// TestDeleteOfNothing: a delete that finds no row is a read of its absence. Another transaction may have put the row
// there, behind the snapshot: then nothing of it was deleted, and a write would be a lost update that never was.
func TestDeleteOfNothing(t *testing.T) {
	_, x, err := collect.ReadScript(strings.NewReader(`{"format":"isovet-schedule","version":1,"level":"serializable",
 "tables":[{"name":"t","columns":[{"name":"a","index":true}],"rows":[[1,2]]}],
 "steps":[{"session":1,"do":"begin"},{"session":1,"do":"delete","key":7},{"session":1,"do":"delete","key":1},
  {"session":1,"do":"delete","key":1},{"session":1,"do":"commit"}]}`))
	must.OK(t, err)
	c := collect.Config{DB: []string{"sqlite:"}, Timeout: 5 * time.Second, KeepCalls: true}
	p := must.Get(open(t, c).Play(t.Context(), c, x))(t)
	h := p.History
	lo, hi := h.TxnOps(h.Init + 1)
	if h.Init == history.None {
		lo, hi = h.TxnOps(0)
	}
	var kinds []history.OpKind
	for ; lo < hi; lo++ {
		kinds = append(kinds, h.Ops.Kind[lo])
	}
	if want := []history.OpKind{history.Read, history.Write, history.Read}; !slices.Equal(kinds, want) {
		t.Errorf("operations %v; expected %v", kinds, want)
	}
	var said []string
	for _, e := range p.Events() {
		said = append(said, e.Statements...)
	}
	must.Equal(t, strings.Count(strings.Join(said, "\n"), "delete from"), 1, "deletes told:\n%s",
		strings.Join(said, "\n"))
}
