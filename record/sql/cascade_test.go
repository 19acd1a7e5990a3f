package recordsql_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"isovet/evidence"
	"isovet/internal/test/must"
	"isovet/level"
	"isovet/record"
	"isovet/record/isovettest"
	"isovet/record/sql"
)

// TestVanished: rows that a trigger or a foreign key deletes are not recorded as absent.
func TestVanished(t *testing.T) {
	for name, schema := range map[string]string{
		"cascade": `CREATE TABLE users (id INTEGER PRIMARY KEY, v INTEGER, of INTEGER
			REFERENCES groups(id) ON DELETE CASCADE)`,
		"trigger": `CREATE TABLE users (id INTEGER PRIMARY KEY, v INTEGER, of INTEGER);
			CREATE TRIGGER gone AFTER DELETE ON groups BEGIN DELETE FROM users WHERE of = old.id; END`,
	} {
		for _, ranges := range []bool{false, true} {
			file := "file:" + filepath.Join(t.TempDir(), "db") + "?_pragma=foreign_keys(1)"
			plain := must.Get(sql.Open("sqlite", file))(t) // the schema is older than the recording
			_, err := plain.Exec("CREATE TABLE groups (id INTEGER PRIMARY KEY); " + schema)
			must.OK(t, errors.Join(err, plain.Close()))
			rec := record.New(record.Options{})
			log := recordsql.New(rec, recordsql.Table{Name: "users", Key: "id", Version: "v", Ranges: ranges})
			db := must.Get(log.Open("sqlite", file))(t)
			for _, q := range []string{"INSERT INTO groups (id) VALUES (7)",
				"INSERT INTO users (id, v, of) VALUES (1, 10, 7)", "DELETE FROM groups WHERE id = 7",
				"SELECT id, v FROM users WHERE id = 1", "SELECT id, v FROM users WHERE id < 5"} {
				rows := must.Get(db.Query(q))(t)
				for rows.Next() {
					t.Errorf("%s: there is a row", q)
				}
				must.OK(t, errors.Join(rows.Err(), rows.Close()))
			}
			h := must.Get(rec.History())(t)
			r, err := isovettest.Run(t.Context(), h, isovettest.Options{Level: level.StrictSerializable})
			must.Equal(t, err != nil || r.Verdict != evidence.Holds, false,
				"%s, %v: %v: %v\n%s\n%v", name, ranges, err, r.Verdict, ops(t, rec), log.Stats())
			must.OK(t, db.Close())
		}
	}
}
