package collect_test

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"isovet/collect/sqlwork"
	"isovet/history"
	"isovet/internal/sqlstmt"
	"isovet/internal/test/must"
	"isovet/record"
)

// Package sqlwork is tested here, since each test program that parses SQL compiles the parser: 2.6 s of CPU.

const head = "tables:\n  a: {key: id, version: v}\nparameters:\n  k: {int: [1, 3]}\n  u: unique\n"

func one(t *testing.T, step string, postgres bool) *sqlwork.Step {
	t.Helper()
	w, err := sqlwork.Parse([]byte(head+"transactions:\n  - steps:\n      - "+step+"\n"), postgres)
	must.OK(t, err, "%s", step)
	return w.Transactions[0].Steps[0]
}

// says is what an answer says that a statement read and wrote, where the table held the rows 2 and 3 of version 5.
func says(t *testing.T, s *sqlwork.Step, values map[string]any, isolation string, res sqlstmt.Result) string {
	t.Helper()
	rec := record.New(record.Options{})
	must.OK(t, errors.Join(rec.Initial("a/2", int64(5)), rec.Initial("a/3", int64(5))))
	log := sqlstmt.Own(rec, map[bool]string{true: "postgres"}[isolation != ""], isolation)
	x := rec.Session().Begin("")
	p, args, _ := s.Plan(values)
	log.Tell(x, p, args, &res)
	must.OK(t, x.Commit(nil))
	h := must.Get(rec.History())(t)
	var out []string
	for op := range uint32(h.NumOps()) {
		if h.TxnOf(op) != h.Init {
			what := map[history.OpKind]string{history.Read: "r", history.Write: "w"}[h.Ops.Kind[op]]
			out = append(out, what+" "+strings.Trim(h.KeyString(h.OpKey(op)), `"`)+" "+h.ValueString(h.Ops.Ver[op]))
		}
	}
	for _, m := range log.Stats().Missed {
		out = append(out, "("+m.Why+")")
	}
	return strings.Join(out, ", ")
}

// TestEffects: what statements and their answers say that was read and written.
func TestEffects(t *testing.T) {
	values := map[string]any{"k": int64(2), "u": int64(77)}
	columns := []string{"id", "v"}
	rows := func(rows ...[]any) sqlstmt.Result {
		return sqlstmt.Result{Columns: columns, Rows: rows, Affected: int64(len(rows)), All: true}
	}
	row, other, none := rows([]any{int64(2), int64(5)}), rows([]any{int64(3), int64(77)}), rows()
	changed, lost := sqlstmt.Result{Affected: 1, All: true}, sqlstmt.Result{Affected: -1, Unclear: true}
	for _, c := range []struct {
		sql    string
		answer sqlstmt.Result
		want   string
	}{
		{"select id, v from a where id = :k", row, "r a/2 5"},
		{"select id, v from a where id = :k", none, "r a/2 null"},
		{"select v from a where id = :k for update", rows([]any{"5.00"}), "r a/2 5"},
		{"select v as id, id as v from a", rows([]any{int64(5), "3"}), "r a/3 5"},
		{"select id, v from a where id = :k and v > 3", none, ""},
		{"select id, v from a where id >= :k", row, "r a/2 5"},
		{"select id, v from a where id >= :k", none, ""},
		{"select id, v from a where id in (:k, 7)", row, "r a/2 5, r a/7 null"},
		{"select id, v from a", rows([]any{int64(2), nil}), "r a/2 null"},
		{"select id, v from a", other, "(" + foreign + ")"},
		{"select x.id, x.v from b left join a x on x.id = b.a", rows([]any{nil, nil}, []any{int64(3), "5"}), "r a/3 5"},
		{"select * from (select id, v from a where id = :k) s", row, "r a/2 5"},
		{"update a set v = :u where id = :k", changed, "w a/2 77"},
		{"update a set v = :u where id = :k", lost, "w a/2 77"},
		{"update a set v = :u where id = :k", none, "r a/2 null"},
		{"update a set v = :u where id = :k and x > 1", none, ""},
		{"update a set v = :u where id > :k returning id", lost, ""},
		{"update a set x = 1, v = :u where id > :k returning id", rows([]any{int64(3)}, []any{int64(4)}),
			"w a/3 77, w a/4 77"},
		{"update a set v = :u where id = :k returning id", none, "r a/2 null"},
		{"insert into a (x, id, v) values ('a''b', :k, :u)", changed, "w a/2 77"},
		{"insert into a (id, v) values (:k, :u), (7, :u) returning id", rows([]any{int64(2)}, []any{int64(7)}),
			"w a/2 77, w a/7 77"},
		{"insert into a (id, v) values (:k, :u) on conflict do nothing", none, ""},
		{"insert into a (id, x, v) values (:k, 1, :u) on conflict (x) do update set v = :u returning id",
			rows([]any{int64(3)}), "w a/3 77"},
		{"delete from a where id = :k", changed, "w a/2 null"},
		{"delete from a where id = :k", none, "r a/2 null"},
		{"{sql: update a set v = :u where id < :k, key: k}", sqlstmt.Result{Affected: 2}, "(more rows are written " +
			"than it names: the key does not tell rows apart)"},
		{"{sql: 'select b.id, b.v from b where x = :k', table: a}", row, "r a/2 5"},
		{"{sql: 'replace a set id = :k, v = :u', table: a, key: k, version: u}", changed, "w a/2 77"},
		{"{sql: 'update a join b on a.id = b.a set v = :u where b.x = 1', table: a, key: k, version: u}", none, ""},
	} {
		must.Equal(t, says(t, one(t, c.sql, false), values, "", c.answer), c.want, "%s", c.sql)
	}
	call := one(t, "{sql: 'call touch(:k, :u)', table: a, key: k, version: u, unrecorded: true}", false)
	if p, _, _ := call.Plan(values); p != nil {
		t.Error("what is not to be recorded is")
	}
	// PostgreSQL's read committed: one that waited does not find the row that came in the place of another.
	for isolation, want := range map[string]string{"read committed": "", "repeatable read": "r a/2 null"} {
		for _, sql := range []string{"delete from a where id = :k", "select v from a where id = :k for update"} {
			got := says(t, one(t, sql, true), values, isolation, none)
			must.Equal(t, got, want, "%s at %s", sql, isolation)
		}
	}
	s := one(t, "{sql: 'select id, v from a', keep: {x: y}}", false)
	if err := s.KeepFrom(values, columns, nil); err == nil || !strings.Contains(err.Error(), "expected y") {
		t.Errorf("%v; expected an error that says what was expected", err)
	}
}

const foreign = "a version that nobody wrote in the recording: a trigger, another program, or the column rounds it"

// TestText: parameters are written out, but for what stands in quotes, and casts.
func TestText(t *testing.T) {
	s := one(t, `"select id, v, ':k' || v::text from a where id = :k and x = :u"`, true)
	if got := s.Text(map[string]any{"k": `o'\n`, "u": nil}, true); got !=
		`select id, v, ':k' || v::text from a where id = 'o''\\n' and x = null` {
		t.Error(got)
	}
	s = one(t, `{sql: 'call f($$:k$$, $a$ :k $a$, :k -- :k', unrecorded: true}`, true)
	must.Equal(t, s.Text(map[string]any{"k": int64(1)}, true), "call f($$:k$$, $a$ :k $a$, 1 -- :k", "call")
}

// TestBadFiles: an error names the place of what is wrong, and what was expected.
func TestBadFiles(t *testing.T) {
	step := func(s string) string { return head + "transactions:\n  - steps:\n      - " + s + "\n" }
	for text, want := range map[string]string{
		"":        "the file is empty",
		"foo: 1":  "field foo not found",
		"tables:": "tables is missing",
		"tables:\n  a: {key: id}\ntransactions:\n": "such as account: {key: id, version: ver}",
		head:                                               "transactions is missing; expected at least one",
		step("{sq: x}"):                                    `line 8: field "sq"`,
		step("select 1"):                                   "isovet does not understand",
		step("truncate a"):                                 "isovet does not understand",
		step("select * from b"):                            `table "b" is not among tables`,
		step("update a set x = 1 where id = :k"):           "which version it writes",
		step("update a set v = :u where x = 1"):            "which rows it writes",
		step("delete from a"):                              "which rows it writes",
		step("insert into a (v) values (:u)"):              "which rows it writes",
		step("select v from a where id = :nobody"):         "no parameter :nobody",
		step("{sql: 'select id, v from a', keep: {k: v}}"): "k is a parameter already",
		strings.Replace(step("select v from a"), "[1, 3]", "[3, 1]", 1):                   "the least and the most",
		strings.Replace(step("select v from a"), "unique", "uniq", 1):                     "expected unique",
		strings.Replace(step("select v from a"), "{int: [1, 3]}", "{choice: []}", 1):      "the list is empty",
		strings.Replace(step("select v from a"), "{int: [1, 3]}", "{choice: [1.5]}", 1):   "integers and texts",
		strings.Replace(step("select v from a"), "[1, 3]}", "[1, 3], zipf: 0.5}", 1):      "exponent above 1",
		strings.Replace(step("select v from a"), "[1, 3]}", "[1, 3], differs: k}", 1):     "another parameter",
		strings.Replace(step("select v from a"), "- steps", "- weight: -1\n    steps", 1): "a positive weight",
	} {
		if _, err := sqlwork.Parse([]byte(text), true); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; expected %q", text, err, want)
		}
	}
}

// TestDraw: parameters keep to their ranges, differ where they must, and the same seed draws the same.
func TestDraw(t *testing.T) {
	w, err := sqlwork.Parse([]byte("tables:\n  a: {key: id, version: v}\nparameters:\n  k: {int: [1, 3]}\n"+
		"  other: {int: [1, 3], differs: k}\n  z: {int: [10, 99], zipf: 1.3}\n  c: {choice: [x, 7]}\n  u: unique\n"+
		"transactions:\n  - {name: many, weight: 9, steps: [select v from a where id = :k]}\n"+
		"  - {name: few, steps: [select v from a where id = :other]}\n"), true)
	must.OK(t, err)
	names := map[string]int{}
	low := 0
	a, b := rand.New(rand.NewPCG(1, 2)), rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		x, values := w.Draw(a)
		y, again := w.Draw(b)
		if x != y || !reflect.DeepEqual(values, again) {
			t.Fatal("the same seed draws another transaction")
		}
		names[x.Name]++
		if values["k"] == values["other"] || values["u"] != nil {
			t.Fatalf("%v", values)
		}
		if z := values["z"].(int64); z < 10 || z > 99 {
			t.Fatalf("z = %d", z)
		} else if z < 20 {
			low++
		}
		if c := values["c"]; c != "x" && c != int64(7) {
			t.Fatalf("c = %v", c)
		}
	}
	if names["few"] < 100 || names["few"] > 300 || low < 1000 {
		t.Errorf("%v, %d of 2000 in the lowest tenth", names, low)
	}
}
