package recordsql_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"isovet/internal/slice"
	"isovet/internal/sqltext"
	"isovet/internal/test/must"
)

// Packages sqltext and sqlstmt are tested here, too: each test program that parses compiles the parser, 2.6 s of CPU.

// say is a statement in short.
func say(s sqltext.Stmt) string {
	names := func(ts []sqltext.Table) []string {
		return slice.Map(ts, func(t sqltext.Table) string { return t.Name + ":" + t.Ref })
	}
	out := fmt.Sprintf("%d %s rows %v where %v", s.Kind, s.Target.Ref, names(s.Rows), s.Where)
	for i, is := range []bool{s.Plain, s.Cut, s.Writes, s.Why != ""} {
		if is {
			out += []string{" plain", " cut", " writes", ": " + s.Why}[i]
		}
	}
	return out
}

// cases are the lines of a file in testdata, in parts. The first line says what they are.
func cases(t *testing.T, name string) (all [][]string) {
	file := must.Get(os.ReadFile("testdata/" + name))(t)
	for _, line := range strings.Split(strings.TrimSpace(string(file)), "\n")[1:] {
		all = append(all, strings.Split(line, "\t"))
	}
	return all
}

// TestParse: what PostgreSQL's statements do.
func TestParse(t *testing.T) {
	for _, c := range cases(t, "parse.txt") {
		all, err := sqltext.Parse(c[0])
		must.Equal(t, err != nil || len(all) != 1 || say(all[0]) != c[1], false,
			"%s: %v\n%s\nwant\n%s", c[0], err, say(append(all, sqltext.Stmt{})[0]), c[1])
	}
	all, err := sqltext.Parse("begin isolation level repeatable read; select /* x */ a.b, 2 from a order by 2, 1;\n" +
		"--end")
	must.Equal(t, err == nil && len(all) == 2 && all[0].Level == "repeatable-read" && all[1].At == 54 &&
		fmt.Sprint(all[1].Ordinals) == "[{77 78 2} {80 81 1}]", true, "%v %+v", err, all)
	for _, bad := range []string{"selec 1", "select \x00", "update t set a = 1 returning with (old as o) o.a"} {
		_, err := sqltext.Parse(bad)
		must.Equal(t, err != nil, true, "%q is not understood", bad)
	}
}

// TestOuter: which aggregates may be the statement's, what else it may call, and which numbers mean columns.
func TestOuter(t *testing.T) {
	for _, c := range cases(t, "outer.txt") {
		s := must.Get(sqltext.Parse(c[0]))(t)[0]
		slices.Sort(s.Calls)
		got := strings.TrimSpace(fmt.Sprint(append(s.Outer, s.Nested...), " ", s.Calls, " ", s.Of, " ", s.Why))
		must.Equal(t, got, c[1], "%s", c[0])
	}
}

// TestParseDialect: SQLite's and MySQL's parameters, quotes and phrases.
func TestParseDialect(t *testing.T) {
	for _, c := range [][3]string{
		{"SELECT `v` FROM [a b] WHERE id = ? -- ?", "[a b:a b]", "[]"},
		{"select v from a where id = :k and w = @k for update", "[a:a]", "[k]"},
		{"replace into a (id, v) values (?, ?)", "a", "[id v]"},
		{"insert into a (id, v) values (?, ?) on duplicate key update v = values(v)", "a", "[v]"},
		{"BEGIN IMMEDIATE", "", "[]"},
		{"select v from a where id = ? lock in share mode", "[a:a]", "[]"},
		{"select v from user where s = 'limit 1, 2' and t = 'a\\n' and id = @k", "{s = [{0 limit 1, 2 true}]}", "[k]"},
		{"update ignore a set v = ? where id = ?", "plain cut", "[]"},
		{"delete from a where id = ? order by v limit 1", "plain writes", "[]"},
		{"delete from a where id > 3 limit 1", "plain cut writes", "[]"},
		{"update a set v = 1 where id = ? # it's\n or v = 2 and id < 3 # it's", "where [] writes", "[]"},
		{"update a set v = 1, v = 2 where binary s = 'a' || id = 7", "where [] writes", "[{0 <nil> false} {0 2 true}]"},
		{"insert into a (id, v) values (1, 2) on duplicate key update v = values(v), v = 3", "a", "[]"},
		{"insert into a (id, v) select id, w from b on duplicate key update v = 3", "a", "[]"},
	} {
		all, names, err := sqltext.ParseDialect(c[0], true)
		must.Equal(t, fmt.Sprint(err), "<nil>", "%s", c[0])
		s, got := say(all[0]), fmt.Sprint(names, all[0].Overwrite, all[0].Assigned)
		must.Equal(t, strings.Contains(s, c[1]) && strings.Contains(got, c[2]), true, "%s: %s, %s", c[0], s, got)
	}
	for _, bad := range []string{`select '\' from a`, "select /*! 1 */ 2", "insert or rollback into a (id) values (?)",
		"select v from a where id = ? and x = :k", "delete from a where id = 5--1", "update a set v = 0x10, w = 1_0"} {
		_, _, err := sqltext.ParseDialect(bad, true)
		must.Equal(t, err != nil, true, "%q is not understood", bad)
	}
}
