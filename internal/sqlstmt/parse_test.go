package sqlstmt

import (
	"strings"
	"testing"
)

var declared = []Table{{Name: "accounts", Key: "id", Version: "v"}, {Name: "Odd Name", Key: "Key", Version: "u"}}

// TestParse: what is understood of a statement, and why another is not.
func TestParse(t *testing.T) {
	for _, c := range []struct {
		sql    string
		verb   Verb
		writes bool
		why    string // "-": it has nothing to do with the tables
	}{
		{"", Other, false, "-"},
		{"SELECT 1", Other, false, "-"},
		{"select v from other where id = 1", Other, false, "-"},
		{"CREATE TABLE accounts (id int)", Other, false, "-"},
		{"begin isolation level serializable", Begin, false, "-"},
		{"START TRANSACTION READ WRITE", Begin, false, "-"},
		{"COMMIT;", Commit, false, "-"},
		{"rollback", Rollback, false, "-"},
		{"ROLLBACK TO SAVEPOINT a", Update, true, "savepoint"},
		{"SELECT v FROM accounts WHERE id = $1 FOR UPDATE", Select, false, ""},
		{"select V from public.ACCOUNTS where ID=?", Select, false, ""},
		{`SELECT u FROM "Odd Name" WHERE "Key" = 'it''s' -- by hand`, Select, false, ""},
		{"SELECT id, v, count(*) FROM accounts /* all */", Select, false, ""},
		{"SELECT v FROM accounts WHERE id BETWEEN $1 AND $2 AND v <> -3 ORDER BY id DESC LIMIT 5", Select, false, ""},
		{"SELECT v FROM accounts WHERE id = 1 OR id = 2", Select, false, "OR"},
		{"SELECT DISTINCT v FROM accounts", Select, false, "DISTINCT"},
		{"SELECT v FROM accounts JOIN other ON true", Select, false, "JOIN"},
		{"SELECT v FROM accounts, other", Select, false, `"," behind`},
		{"SELECT v FROM accounts WHERE id = 1 + 1", Select, false, "expression"},
		{"SELECT v FROM accounts WHERE id = (SELECT 1)", Select, false, "expression"},
		{"SELECT v FROM accounts WHERE lower(id) = 'a'", Select, false, "condition ( on lower"},
		{"SELECT v FROM accounts UNION SELECT 1", Select, false, "UNION"},
		{"SELECT v FROM accounts WHERE name = E'x'", Update, true, "dialect"},
		{"INSERT INTO accounts (v, id, name) VALUES (1, 2, lower($1))", Insert, true, ""},
		{"INSERT INTO accounts VALUES (1, 2)", Insert, true, "expected"},
		{"INSERT INTO accounts (id, v) VALUES (1, $1 + 1)", Insert, true, "expression for the key"},
		{"INSERT INTO accounts (id, v) VALUES (1, 2) ON CONFLICT (id) DO NOTHING", Insert, true, ""},
		{"INSERT INTO accounts (id, v) VALUES (1, 2) ON CONFLICT DO UPDATE SET v = accounts.v+1", Insert, true,
			"upsert"},
		{"INSERT INTO accounts (id, v) VALUES (1, 2) ON DUPLICATE KEY UPDATE v = VALUES(v)", Insert, true, ""},
		{"INSERT OR IGNORE INTO accounts (id, v) VALUES (1, 2)", Insert, true, "INSERT OR"},
		{"UPDATE accounts SET v = $1, name = name || 'x' WHERE id = $2", Update, true, ""},
		{"UPDATE accounts SET name = 'x' WHERE id = $2", Update, true, "leaves the version"},
		{"UPDATE accounts SET id = 3, v = 4 WHERE id = $2", Update, true, "key"},
		{"DELETE FROM accounts WHERE id IN ($1, $2) RETURNING *", Delete, true, ""},
		{"DELETE FROM accounts USING other", Delete, true, "USING"},
		{"TRUNCATE accounts", Update, true, "TRUNCATE"},
		{"WITH x AS (SELECT 1) SELECT v FROM accounts", Update, true, "WITH"},
		{"MERGE INTO accounts USING x ON true", Update, true, "MERGE"},
	} {
		s := Parse(c.sql, declared)
		if c.why == "-" {
			if s.Table != nil || s.Verb != c.verb {
				t.Errorf("%s: %+v", c.sql, s)
			}
			continue
		}
		if s.Verb != c.verb || s.Writes != c.writes || s.Table == nil || (s.Why == "") != (c.why == "") ||
			!strings.Contains(s.Why, c.why) {
			t.Errorf("%s: verb %d, writes %v, table %v: %q; want %d, %v, %q", c.sql, s.Verb, s.Writes, s.Table, s.Why,
				c.verb, c.writes, c.why)
		}
	}
}

// FuzzParse: no text ends the program, and one that names no declared table is nobody's.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"SELECT v FROM accounts WHERE id = $1", "INSERT INTO accounts (id,v) VALUES (1,?)",
		"UPDATE accounts SET v = 1 WHERE id = 'x' RETURNING *", "DELETE FROM \"Odd Name\"", "ROLLBACK TO x", "(",
		"SELECT"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		s := Parse(sql, declared)
		if s.Table == nil && s.Why != "" {
			t.Errorf("%q: nobody's, and not understood: %s", sql, s.Why)
		}
		if low := strings.ToLower(sql); s.Table != nil && !strings.Contains(low, "accounts") &&
			!strings.Contains(low, "odd name") && !strings.Contains(low, "to") && !strings.ContainsAny(low, `"[`+"`") {
			t.Errorf("%q is said to be about %s", sql, s.Table.Name)
		}
	})
}
