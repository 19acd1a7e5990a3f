package sqlwork

import (
	"isovet/internal/test/must"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

const head = "tables:\n  a: {key: id, version: v}\nparameters:\n  k: {int: [1, 3]}\n  u: unique\n"

func one(t *testing.T, step string) *Step {
	t.Helper()
	w, err := Parse([]byte(head + "transactions:\n  - steps:\n      - " + step + "\n"))
	if err != nil {
		t.Fatalf("%s: %v", step, err)
	}
	return w.Transactions[0].Steps[0]
}

// TestEffects: what statements and their answers say that was read and written.
func TestEffects(t *testing.T) {
	values := map[string]any{"k": int64(2), "u": int64(77)}
	row := Answer{Columns: []string{"id", "v"}, Rows: [][]any{{int64(2), int64(5)}}, Affected: 1}
	none, changed := Answer{Columns: []string{"id", "v"}}, Answer{Affected: 1}
	for _, c := range []struct {
		sql    string
		answer Answer
		want   []Effect
	}{
		{"select id, v from a where id = :k", row, []Effect{{Key: "a/2", Value: int64(5)}}},
		{"select id, v from a where id = :k", none, []Effect{{Key: "a/2"}}},
		{"select v from a where id = :k for update", Answer{Columns: []string{"V"}, Rows: [][]any{{"x"}}},
			[]Effect{{Key: "a/2", Value: "x"}}},
		{"select id, v from a where id = :k and v > 3", none, nil},
		{"select id, v from a where id >= :k", row, []Effect{{Key: "a/2", Value: int64(5)}}},
		{"select id, v from a where id >= :k", none, nil},
		{"select id, v from a", none, nil},
		{"update a set v = :u where id = :k", changed, []Effect{{Write: true, Key: "a/2", Value: int64(77)}}},
		{"update a set v = :u where id = :k", Answer{}, []Effect{{Key: "a/2"}}},
		{"update a set v = :u where id = :k and x > 1", Answer{}, nil},
		{"update a set x = 1, v = :u where id > :k returning id", Answer{Columns: []string{"id"},
			Rows: [][]any{{int64(3)}, {int64(4)}}, Affected: 2}, []Effect{{Write: true, Key: "a/3", Value: int64(77)},
			{Write: true, Key: "a/4", Value: int64(77)}}},
		{"update a set v = :u where id = :k returning id", none, []Effect{{Key: "a/2"}}},
		{"insert into a (x, id, v) values ('a''b', :k, :u)", changed, []Effect{{Write: true, Key: "a/2",
			Value: int64(77)}}},
		{"insert into a (id, v) values (:k, :u) on conflict do nothing", Answer{}, nil},
		{"delete from a where id = :k", changed, []Effect{{Write: true, Key: "a/2"}}},
		{"delete from a where id = :k", Answer{}, []Effect{{Key: "a/2"}}},
		{"{sql: 'call touch(:k, :u)', table: a, key: k, version: u, unrecorded: true}", changed, nil},
	} {
		got, err := one(t, c.sql).Effects(values, c.answer)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, %v; expected %v", c.sql, got, err, c.want)
		}
	}
	for sql, answer := range map[string]Answer{
		"select id, x from a where id = :k": {Columns: []string{"id", "x"},
			Rows: [][]any{{int64(1), nil}}},
		"select v from a": {Columns: []string{"v"}, Rows: [][]any{{int64(1)}}},
		"{sql: update a set v = :u where id < :k, key: k}": {Affected: 2},
		"update a set v = :u where id = :k returning v":    {Columns: []string{"v"}, Rows: [][]any{{int64(1)}}},
		"{sql: select id from a, keep: {x: y}}":            {Columns: []string{"id"}},
	} {
		s := one(t, sql)
		_, err := s.Effects(values, answer)
		if err == nil {
			err = s.KeepFrom(values, answer)
		}
		if err == nil || !strings.Contains(err.Error(), "expected") {
			t.Errorf("%s: %v; expected an error that says what was expected", sql, err)
		}
	}
}

// TestText: parameters are written out, but for what stands in quotes, and casts.
func TestText(t *testing.T) {
	s := one(t, `"select id, v, ':k' || v::text from a where id = :k and x = :u"`)
	if got := s.Text(map[string]any{"k": `o'\n`, "u": nil}, true); got !=
		`select id, v, ':k' || v::text from a where id = 'o''\\n' and x = null` {
		t.Error(got)
	}
}

// TestBadFiles: what is wrong is said with its place and what was expected.
func TestBadFiles(t *testing.T) {
	step := func(s string) string { return head + "transactions:\n  - steps:\n      - " + s + "\n" }
	for text, want := range map[string]string{
		"":        "the file is empty",
		"foo: 1":  "field foo not found",
		"tables:": "tables is missing",
		"tables:\n  a: {key: id}\ntransactions:\n": "such as account: {key: id, version: ver}",
		head:                                         "transactions is missing; expected at least one",
		step("{sq: x}"):                              `line 8: field "sq"`,
		step("select 1"):                             "is not understood",
		step("truncate a"):                           "is not understood",
		step("select * from b"):                      `table "b" is not among tables`,
		step("update a set x = 1 where id = :k"):     "which version it writes",
		step("update a set v = :u where x = 1"):      "which rows it writes",
		step("delete from a"):                        "which rows it writes",
		step("insert into a (v) values (:u)"):        "which rows it writes",
		step("select v from a where id = :nobody"):   "no parameter :nobody",
		step("{sql: select v from a, keep: {k: v}}"): "k is a parameter already",
		strings.Replace(step("select v from a"), "[1, 3]", "[3, 1]", 1):                   "the least and the most",
		strings.Replace(step("select v from a"), "unique", "uniq", 1):                     "expected unique",
		strings.Replace(step("select v from a"), "{int: [1, 3]}", "{choice: []}", 1):      "nothing to choose",
		strings.Replace(step("select v from a"), "{int: [1, 3]}", "{choice: [1.5]}", 1):   "integers and texts",
		strings.Replace(step("select v from a"), "[1, 3]}", "[1, 3], zipf: 0.5}", 1):      "exponent above 1",
		strings.Replace(step("select v from a"), "[1, 3]}", "[1, 3], differs: k}", 1):     "another parameter",
		strings.Replace(step("select v from a"), "- steps", "- weight: -1\n    steps", 1): "a positive weight",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; expected %q", text, err, want)
		}
	}
}

// TestDraw: parameters keep to their ranges, differ where they must, and the same seed draws the same.
func TestDraw(t *testing.T) {
	w, err := Parse([]byte("tables:\n  a: {key: id, version: v}\nparameters:\n  k: {int: [1, 3]}\n" +
		"  other: {int: [1, 3], differs: k}\n  z: {int: [10, 99], zipf: 1.3}\n  c: {choice: [x, 7]}\n  u: unique\n" +
		"transactions:\n  - {name: many, weight: 9, steps: [select v from a where id = :k]}\n" +
		"  - {name: few, steps: [select v from a where id = :other]}\n"))
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
