package collect_test

import (
	"fmt"
	"strings"
	"testing"

	"isovet/collect/sqlwork"
	"isovet/internal/sqlstmt"
	"isovet/internal/test/must"
)

// block is a statement of several lines as a step.
func block(sql string) string {
	return "|-\n          " + strings.ReplaceAll(sql, "\n", "\n          ")
}

// TestUnderstood: what a statement is about, in the many ways to write it; and an answer without rows says that a row
// is absent only where nothing but its key can have kept it away. Of a statement that writes, one row is changed.
func TestUnderstood(t *testing.T) {
	const absent, wrote = "r a/2 null", "w a/2 77"
	for _, c := range []struct{ databases, sql, want string }{
		{"PostgreSQL others", "select v from a where id = :k for update", absent},
		{"PostgreSQL others", "select v from a where id = :k for update skip locked", ""},
		{"PostgreSQL others", "select v from a where id = :k limit 1", absent},
		{"PostgreSQL others", "select v from a where id = :k limit 0", ""},
		{"PostgreSQL others", "select v from a where id = :k limit :k", ""},
		{"PostgreSQL others", "select v from a where (:k = id)", absent},
		{"PostgreSQL others", "select v from a as x where x.id = :k order by v", absent},
		{"PostgreSQL others", "SELECT v\nFROM a\nWHERE id = :k -- and v > :nobody\n", absent},
		{"PostgreSQL others", "select v /* from b where :x */ from a where id = :k;", absent},
		{"PostgreSQL others", "select a.id, a.v from a join b on b.a = a.id where a.id = :k", ""},
		{"PostgreSQL others", "select a.id, a.v from a left join b using (id) where a.id = :k", ""},
		{"PostgreSQL others", "select a.id, a.v from a, b where b.id = :k", ""},
		{"PostgreSQL others", "select id, v from a where id = :k and v > 3", ""},
		{"PostgreSQL others", "select id, v from a where id = :k or v > 3", ""},
		{"PostgreSQL others", "select id, v from a where not id = :k", ""},
		{"PostgreSQL others", "select id, v from a where x between 1 and id = :k", ""},
		{"PostgreSQL others", "select id, v from a where x in (select x from a where id = :k)", ""},
		{"PostgreSQL others", "select id, v from (select id, v from a where v > 1) s where id = :k", ""},
		{"PostgreSQL others", "select (select max(x) from b), id, v from a where id = :k", absent},
		{"PostgreSQL others", "select distinct v from a where id = :k", absent},
		{"PostgreSQL", "select distinct on (x) id, v from a where id = :k", ""},
		{"PostgreSQL others", "select v from a where id = :k group by v having count(*) > 1", ""},
		{"PostgreSQL others", "with x as (select id, v from a where id = :k for update) select id, v from x", ""},
		{"PostgreSQL others", "with x as (select * from a) select y.* from x y", ""},
		{"PostgreSQL", "select v from a where id = :k and tags[1] = 'x\\y'", ""},
		{"others", "select sql_no_cache `v` from [a] use index (primary) where \"id\" = :k lock in share mode", absent},
		{"others", "select a.id, v from a straight_join b on b.a = a.id where id = :k limit 0, 3", ""},
		{"others", "select v from a where ts > now() - interval 1 day and x regexp 'a\\d' and id = :k", ""},
		{"others", "select id, v, group_concat(x separator '|') from a where x is 3 && x is not :k group by id", ""},
		{"PostgreSQL others", "update a set v = :u\nwhere id = :k\nand v = :k", wrote},
		{"PostgreSQL others", "update a as x set v = :u, x = x + 1 where x.id = :k", wrote},
		{"PostgreSQL others", "update a set x = '\u0130, v = 1 where', v = :u where id = :k", wrote},
		{"PostgreSQL others", "update a set x = case when id = :k then 1 end, v = :u::bigint where id = :k", wrote},
		{"PostgreSQL", "update a set v = :u from b where b.a = a.id and id = :k", wrote},
		{"PostgreSQL others", "with x as (select 1) update a set v = :u where id = :k", wrote},
		{"others", "update low_priority a set v = :u where id = :k order by x limit 1", wrote},
		{"PostgreSQL others", "insert into a (x, id, v) values (coalesce(1, :k), :k, :u)", wrote},
		{"others", "insert into a (\"id\", `v`) values (:k, :u) on conflict (id) do update set v = excluded.v", wrote},
		{"others", "insert into a (id, v) values (:k, :u) on duplicate key update v = values(v)", wrote},
		{"others", "insert into a (id, v) value (:k, :u) as n on duplicate key update v = n.v", wrote},
		{"PostgreSQL others", "insert into a (id, v) values (:k, :u) on conflict (id) do update set v = :u", wrote},
		{"others", "insert or ignore into a (id, v) values (:k, :u)", wrote},
		{"others", "replace into a (id, v) values (:k, :u)", wrote},
		{"PostgreSQL others", "delete from a where id = :k and x = (select max(id) from a)", "w a/2 null"},
		{"others", "delete quick ignore from a where id = :k limit 1", "w a/2 null"},
	} {
		for name := range strings.FieldsSeq(c.databases) {
			res := sqlstmt.Result{Columns: []string{"v"}, All: true}
			if strings.HasPrefix(c.want, "w") {
				res.Affected = 1
			}
			got := says(t, one(t, block(c.sql), name == "PostgreSQL"), map[string]any{"k": int64(2), "u": int64(77)},
				map[bool]string{true: "serializable"}[name == "PostgreSQL"], res)
			must.Equal(t, got, c.want, "%s on %s", c.sql, name)
		}
	}
	for _, sql := range []string{"update ignore a set v = :u where id = :k", "delete from a where id = :k limit 0"} {
		must.Equal(t, says(t, one(t, sql, false), map[string]any{"k": int64(2)}, "", sqlstmt.Result{All: true}), "",
			"%s", sql)
	}
}

// TestNotUnderstood: what would be recorded wrongly is refused before anything runs.
func TestNotUnderstood(t *testing.T) {
	for _, c := range [][2]string{
		{"with x as (update a set v = :u returning id, v) select id, v from x", "WITH that writes"},
		{"update a set v = :u where other.id = :k", "which rows it writes"},
		{"update a set v = :u where x > (select x from a where id = :k)", "which rows it writes"},
		{"update a set v = :u where id = :k or x = 2", "which rows it writes"},
		{"update a set v = :u where id in (:k, 7)", "which rows it writes"},
		{"update a set v = :u from b where b.a = a.id returning b.id", "which rows it writes"},
		{"update a set x = 1 where v = :u", "which version it writes"},
		{"update a set x = 1\nwhere v = :u and id = :k", "which version it writes"},
		{"update a set v = :u + 1 where id = :k", "which version it writes"},
		{"update a set v = :k where id = :k", "that is unique"},
		{"update a set id = :k, v = :u where id = :k", "an update of the key"},
		{"update a join b on a.id = b.id set a.v = :u where a.id = :k", "table, key and version"},
		{"delete a from a join b on a.id = b.id where a.id = :k", "does not understand"},
		{"insert into a (id, v) values (:k, :u), (7, :u)", "several rows"},
		{"insert into a (id, x, v) values (:k, f(1, :u), 2)", "which version it writes"},
		{"insert into a (id, v) values (:k, :u) on conflict (id) do update set x = 1", "set it to EXCLUDED's"},
		{"insert into a (id, v) values (:k, :u) on conflict (id) do update set v = a.v", "set it to EXCLUDED's"},
		{"insert into a (id, x, v) values (:k, 1, :u) on conflict (x) do update set v = :u", "add RETURNING"},
		{"insert into a (id, v) values (:k, :u) on conflict do update set v = :u", "name the key as its target"},
		{"insert into a (id, v) values (:k, :u) on conflict (id) do update set id = 7, v = :u", "an update of the key"},
		{"insert into a (id, v, v) values (:k, :u, 7)", "the version twice"},
		{"update a set v = :u, v = 7 where id = :k", "the version twice"},
		{"update a set v = $5 where id = :k", "the parameter $5; expected :name"},
		{"update a set v = ? where id = 1", "the parameter ?; expected :name"},
		{"update a set v = @x where id = 1", "the parameter @x; expected :name"},
		{"select v from a where id != :k", "the key is not returned"},
		{"select v from a where id = :k; delete from a", "several statements"},
		{"select v from a where x = '\\' and id = :k", "a backslash before"},
		{"select v from a where x = 'a and id = :k", "unterminated quoted string"},
		{"select v from a where (id = :k", "syntax error at end of input"},
		{"select v from a where id) = :k", `at or near ")"`},
		{"select v from a /* where id = :k", "unterminated /* comment"},
		{"select v from a", "the key is not returned"},
		{"select id from a where id = :k", "the version is not returned"},
		{"select id, x as v from a", "the version is not returned"},
		{"select b.id, a.v from a join b on b.a = a.id", "the key is not returned"},
		{"select id, v from a right join b using (id)", "name them with their table"},
		{"select id, v from a union select id, v from b", "UNION"},
		{"select id, v from (select id, max(v) as v from a group by id) s", "the version is not returned"},
		{"select id, v from (select * from b) s", `table "b" is not among`},
		{"with x(v, id) as (select id, v from a) select id, v from x", "it selects no rows of a table"},
		{"with recursive x as (select id, v from x) select id, v from x", "it selects no rows of a table"},
		{"select count(*) from a", "an aggregate"},
		{"insert a values (:k, :u)", "does not understand"},
		{"insert into a (v, id) values (:u)", "which rows it writes"},
		{"insert into a values (:k, :u)", "which version it writes"},
		{"with", "does not understand"},
		{"select", "does not understand"},
		{"update", "does not understand"},
		{"delete from", "does not understand"},
		{"-- nothing", "without sql"},
		{";", "without sql"},
	} {
		_, err := sqlwork.Parse([]byte(head+"transactions:\n  - steps:\n      - "+block(c[0])+"\n"), true)
		if err == nil || !strings.Contains(err.Error(), c[1]) || !strings.Contains(err.Error(), "line 8") {
			t.Errorf("%s: %v; expected line 8 and %q", c[0], err, c[1])
		}
	}
}

// TestQuotedNames: names that a database wants in quotes, and those of a schema.
func TestQuotedNames(t *testing.T) {
	w, err := sqlwork.Parse([]byte("tables:\n  '\"Account\"': {key: '\"Id\"', version: '\"Ver\"'}\n"+
		"  'my.`größe`': {key: id, version: '`order`'}\n  user: {key: id, version: v}\nparameters:\n"+
		"  k: {int: [1, 3]}\n  u: unique\ntransactions:\n  - steps:\n"+
		"    - select \"Ver\" from \"Account\" where \"Id\" = :k\n"+
		"    - update my.`größe` set `order` = :u where id = :k\n    - update user set v = :u where user.id = :k\n"), false)
	must.OK(t, err)
	values := map[string]any{"k": int64(2), "u": int64(9)}
	for i, want := range []string{"r Account/2 null", "w my.größe/2 9", "w user/2 9"} {
		got := says(t, w.Transactions[0].Steps[i], values, "", sqlstmt.Result{Columns: []string{"Ver"}, All: true,
			Affected: int64(min(i, 1))})
		must.Equal(t, got, want, "step %d", i)
	}
}

// TestValues: an integer that was written is the one that is read, whatever the column's type makes of it.
func TestValues(t *testing.T) {
	w := must.Get(sqlwork.Parse([]byte(head+"transactions:\n  - steps: [select v from a where id = :k]\n"), true))(t)
	for _, c := range []struct{ in, want any }{{"7", int64(7)}, {"7.00", int64(7)}, {"-7", int64(-7)}, {"07", "07"},
		{"7.5", "7.5"}, {"7 ", "7 "}, {"", ""}, {"99999999999999999999", "99999999999999999999"}, {nil, nil}} {
		if key, got := w.Tables["a"].Row(c.in, c.in); got != c.want || key != fmt.Sprintf("a/%v", c.want) {
			t.Errorf("%#v: %s, %#v; expected %#v", c.in, key, got, c.want)
		}
	}
	s := one(t, "insert into a (id, v) values (:k, :u) on duplicate key update v = :u", false)
	got := says(t, s, map[string]any{"k": "x", "u": int64(4)}, "", sqlstmt.Result{Affected: 2, All: true})
	if want := "w a/x 4"; got != want { // MySQL counts a row that is replaced twice
		t.Errorf("%s; expected %s", got, want)
	}
	got = says(t, one(t, "select * from a join b on b.a = a.id", false), nil, "", sqlstmt.Result{All: true,
		Columns: []string{"id", "v", "id"}, Rows: [][]any{{int64(1), int64(2), int64(3)}}})
	if strings.Contains(got, "r ") || !strings.Contains(got, "the key") {
		t.Errorf("%s: an answer with two columns of the key's name is read by one of them", got)
	}
}

// TestBadWorkloads: files that were once read, or took the program down.
func TestBadWorkloads(t *testing.T) {
	const steps = "transactions:\n  - steps: [select v from a where id = :k]\n"
	for text, want := range map[string]string{
		"operations: true\n" + head + steps:                                          "expected one of them",
		head + steps + "    value: '1'\n":                                            "expected operations: true",
		head + "transactions: [{steps: [{sql: a, some: true}]}]":                     "expected operations: true",
		"operations: true\ntransactions: [{steps: [a], value: ':k'}]":                "no parameter :k",
		"operations: true\ntransactions: [{steps: [a], value: '{'}]":                 "expected JSON",
		"operations: true\ntransactions: [{steps: [{sql: a, answer: b}]}]":           "expected map, list or value",
		head + "transactions: [null]\n":                                              "transaction 1 is empty",
		head + "transactions:\n  - steps: [null]\n":                                  "step 1 is empty",
		head + "transactions:\n  - steps: [[a]]\n":                                   "expected a statement",
		strings.Replace(head, "[1, 3]", "[0, 9223372036854775807]", 1) + steps:       "less than 2^63",
		head + strings.Replace(steps, "- steps", "- weight: .nan\n    steps", 1):     "weight NaN",
		head + strings.Replace(steps, "- steps", "- weight: .inf\n    steps", 1):     "weight +Inf",
		head + strings.Replace(steps, "- steps", "- rollback: .nan\n    steps", 1):   "rollback NaN",
		head + strings.Replace(steps, "- steps", "- rollback: 1\n    steps", 1):      "expected one that may commit",
		head + steps + "---\nfoo: bar\n":                                             "after its first document",
		strings.Replace(head, "{key", "{key: id, version: v}\n  A: {key", 1) + steps: "differs from",
		strings.Replace(head, "version: v", "version: ID", 1) + steps:                "of two columns",
	} {
		if _, err := sqlwork.Parse([]byte(text), true); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; expected %q", text, err, want)
		}
	}
	if _, err := sqlwork.Parse([]byte(head+steps), true); err != nil {
		t.Error(err)
	}
}
