package sqlwork

import (
	"isovet/internal/test/must"
	"reflect"
	"strings"
	"testing"
)

// TestUnderstood: what a statement is about, in the many ways to write it; and an answer without rows says that a row
// is absent only where nothing but its key can have kept it away.
func TestUnderstood(t *testing.T) {
	for _, c := range []struct {
		sql          string
		key, version string
		exact        bool
	}{
		{"select v from a where id = :k for update", "k", "", true},
		{"select v from a where id = :k for update skip locked", "k", "", false},
		{"select v from a where id = :k limit 1", "k", "", true},
		{"select v from a where id = :k limit 0", "k", "", false},
		{"select v from a where id = :k limit :k", "k", "", false},
		{"select v from a where :k = id", "k", "", true},
		{"select v from a as x where x.id = :k order by v", "k", "", true},
		{"SELECT v\nFROM a\nWHERE id = :k -- and v > :nobody\n", "k", "", true},
		{"select v /* from b where :x */ from a where id = :k;", "k", "", true},
		{"select a.id, a.v from a join b on b.a = a.id where a.id = :k", "k", "", false},
		{"select a.id, a.v from a, b where b.id = :k", "", "", false},
		{"select id, v from a where id = :k and v > 3", "k", "", false},
		{"select id, v from a where id = :k or v > 3", "", "", false},
		{"select id, v from a where not id = :k", "", "", false},
		{"select id, v from a where x between 1 and id = :k", "", "", false},
		{"select id, v from a where x in (select x from a where id = :k)", "", "", false},
		{"select id, v from (select id, v from a where v > 1) s where id = :k", "", "", false},
		{"select (select max(x) from b), id, v from a where id = :k", "k", "", true},
		{"select v from a where id = :k group by v having count(*) > 1", "k", "", false},
		{"select v from a where id = :k union select 1", "", "", false},
		{"with x as (select id, v from a where id = :k) select id, v from x", "", "", false},
		{"with x as (select id, v from a where id = :k for update) select id, v from x", "", "", false},
		{"update a set v = :u\nwhere id = :k\nand v = :k", "k", "u", false},
		{"update a as x set v = :u, x = x + 1 where x.id = :k", "k", "u", true},
		{"update a set x = '\u0130, v = 1 where', v = :u where id = :k", "k", "u", true},
		{"update a set x = case when id = :k then 1 else 2 end, v = :u::bigint where id = :k", "k", "u", true},
		{"insert into a (x, id, v) values (coalesce(1, :k), :k, :u)", "k", "u", true},
		{"insert into a (\"id\", `v`) values (:k, :u) on conflict (id) do update set v = excluded.v", "k", "u", true},
		{"insert into a (id, v) values (:k, :u) on duplicate key update v = values(v)", "k", "u", true},
		{"insert into a (id, v) values (:k, :u) on conflict (id) do update set v = :u", "k", "u", true},
		{"insert into a (id, v) values (1, :u), (2, :u) returning id", "", "u", false},
		{"delete from a where id = :k and x = (select max(id) from a)", "k", "", false},
	} {
		s := one(t, "|-\n          "+strings.ReplaceAll(c.sql, "\n", "\n          "))
		if w := s.what; w.key != c.key || w.version != c.version || w.exact != c.exact {
			t.Errorf("%s: key %q, version %q, exact %v; expected %+v", c.sql, w.key, w.version, w.exact, c)
		}
	}
}

// TestNotUnderstood: what would be recorded wrongly is refused before anything runs.
func TestNotUnderstood(t *testing.T) {
	for sql, want := range map[string]string{
		"with x as (update a set v = :u where id = :k returning id, v) select id, v from x": "not understood",
		"with x as (select 1) update a set v = :u where id = :k":                            "not understood",
		"update a set v = :u where other.id = :k":                                           "which rows it writes",
		"update a set v = :u where x > (select x from a where id = :k)":                     "which rows it writes",
		"update a set v = :u where id = :k or x = 2":                                        "which rows it writes",
		"update a set x = 1 where v = :u":                                                   "which version it writes",
		"update a set x = 1\nwhere v = :u and id = :k":                                      "which version it writes",
		"update a set v = :u + 1 where id = :k":                                             "which version it writes",
		"update a set v = :k where id = :k":                                                 "that is unique",
		"update a set id = :k, v = :u where id = :k":                                        "changes the key",
		"update a join b on a.id = b.id set a.v = :u where a.id = :k":                       "of one table",
		"delete a from a join b on a.id = b.id where a.id = :k":                             "not understood",
		"insert into a (id, v) values (:k, :u), (7, :u)":                                    "several rows",
		"insert into a (id, x, v) values (:k, f(1, :u), 2)":                                 "which version it writes",
		"insert into a (id, v) values (:k, :u) on conflict (id) do update set x = 1":        "another version",
		"insert into a (id, v) values (:k, :u) on conflict (id) do update set v = a.v":      "another version",
		"select v from a where id = :k; delete from a":                                      "several statements",
		"select v from a where x = '\\' and id = :k":                                        "a backslash before",
		"select v from a where x = 'a and id = :k":                                          "not closed",
		"select v from a where (id = :k":                                                    "is missing",
		"select v from a where id) = :k":                                                    "nothing opens",
		"select v from a /* where id = :k":                                                  "not closed",
		"insert a values (:k, :u)":                                                          "not understood",
		"insert into a values (:k, :u)":                                                     "which version it writes",
		"with":                                                                              "not understood",
		"select":                                                                            "not understood",
		"update":                                                                            "not understood",
		"delete from":                                                                       "not understood",
		"-- nothing":                                                                        "without sql",
		";":                                                                                 "without sql",
	} {
		step := "|-\n          " + strings.ReplaceAll(sql, "\n", "\n          ")
		_, err := Parse([]byte(head + "transactions:\n  - steps:\n      - " + step + "\n"))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "line 8") {
			t.Errorf("%s: %v; expected line 8 and %q", sql, err, want)
		}
	}
}

// TestQuotedNames: names that a database wants in quotes, and those of a schema.
func TestQuotedNames(t *testing.T) {
	w, err := Parse([]byte("tables:\n  '\"Account\"': {key: '\"Id\"', version: '\"Ver\"'}\n" +
		"  'my.`größe`': {key: id, version: '`order`'}\nparameters:\n  k: {int: [1, 3]}\n  u: unique\n" +
		"transactions:\n  - steps:\n    - select \"Ver\" from \"Account\" where \"Id\" = :k\n" +
		"    - update my.`größe` set `order` = :u where id = :k\n"))
	must.OK(t, err)
	values := map[string]any{"k": int64(2), "u": int64(9)}
	for i, want := range []Effect{{Key: "Account/2"}, {Write: true, Key: "my.größe/2", Value: int64(9)}} {
		s := w.Transactions[0].Steps[i]
		got, err := s.Effects(values, Answer{Columns: []string{"Ver"}, Affected: int64(i)})
		if err != nil || !reflect.DeepEqual(got, []Effect{want}) {
			t.Errorf("%s: %v, %v; expected %v", s.SQL, got, err, want)
		}
	}
}

// TestValues: an integer that was written is the one that is read, whatever the column's type makes of it.
func TestValues(t *testing.T) {
	for _, c := range []struct{ in, want any }{{"7", int64(7)}, {"7.00", int64(7)}, {"-7", int64(-7)}, {"07", "07"},
		{"7.5", "7.5"}, {"7 ", "7 "}, {"", ""}, {"99999999999999999999", "99999999999999999999"}, {nil, nil}} {
		if got := plain(c.in); got != c.want {
			t.Errorf("%#v: %#v; expected %#v", c.in, got, c.want)
		}
	}
	s := one(t, "insert into a (id, v) values (:k, :u) on duplicate key update v = :u")
	got, err := s.Effects(map[string]any{"k": "x", "u": int64(4)}, Answer{Affected: 2})
	if want := []Effect{{Write: true, Key: "a/x", Value: int64(4)}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v; expected %v", got, err, want)
	}
	s = one(t, "select a.id, b.id, v from a join b on b.a = a.id")
	if _, err := s.Effects(nil, Answer{Columns: []string{"id", "id", "v"}, Rows: [][]any{{1, 2, 3}}}); err == nil {
		t.Error("an answer with two columns of the key's name is read by one of them")
	}
}

// TestBadWorkloads: files that were once read, or took the program down.
func TestBadWorkloads(t *testing.T) {
	const steps = "transactions:\n  - steps: [select v from a where id = :k]\n"
	for text, want := range map[string]string{
		head + "transactions: [null]\n":                                              "transaction 1 is empty",
		head + "transactions:\n  - steps: [null]\n":                                  "step 1 is empty",
		head + "transactions:\n  - steps: [[a]]\n":                                   "expected a statement",
		strings.Replace(head, "[1, 3]", "[0, 9223372036854775807]", 1) + steps:       "less than 2^63",
		head + strings.Replace(steps, "- steps", "- weight: .nan\n    steps", 1):     "weight NaN",
		head + strings.Replace(steps, "- steps", "- weight: .inf\n    steps", 1):     "weight +Inf",
		head + strings.Replace(steps, "- steps", "- rollback: .nan\n    steps", 1):   "rollback NaN",
		head + strings.Replace(steps, "- steps", "- rollback: 1\n    steps", 1):      "expected one that may commit",
		head + steps + "---\nfoo: bar\n":                                             "behind its first document",
		strings.Replace(head, "{key", "{key: id, version: v}\n  A: {key", 1) + steps: "differs from",
		strings.Replace(head, "version: v", "version: ID", 1) + steps:                "of two columns",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; expected %q", text, err, want)
		}
	}
	if _, err := Parse([]byte(head + steps)); err != nil {
		t.Error(err)
	}
}
