package driver

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	_ "modernc.org/sqlite"
)

// TestTimeoutOfAdapters: a statement of a database inside this program ends when its time is up, and the connection
// counts as lost; the session before and behind works.
func TestTimeoutOfAdapters(t *testing.T) {
	file := filepath.Join(t.TempDir(), "db")
	RegisterSQL(SQL{Scheme: "slow", Isolations: []string{"serializable"}, Embedded: true,
		Open: func(string) (*sql.DB, error) { return sql.Open("sqlite", "file:"+file) }})
	db, err := Open(t.Context(), []string{"slow:"}, Options{Timeout: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows := func(yield func(int64, Row) bool) { yield(7, Row{Version: 1, Payload: 2}) }
	if err := db.Load(t.Context(), Data{Rows: rows, Mark: 5}); err != nil {
		t.Fatal(err)
	}
	try := func(statement string) error {
		s, err := db.Connect(context.Background(), 0)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err := s.Begin(); err != nil {
			t.Fatal(err)
		}
		if r, found, err := s.Get(7, false); err != nil || !found || r.Payload != 2 {
			t.Fatalf("%+v, %v, %v", r, found, err)
		}
		if _, err = s.(Speaker).Say(statement); err != nil {
			return err
		}
		return s.Commit()
	}
	err = try("with recursive c(n) as (select 1 union all select n+1 from c where n < 1e12) select count(*) from c")
	if err == nil || db.Classify(err) != Lost {
		t.Errorf("%v; expected a lost connection", err)
	}
	if err := try("select 1"); err != nil {
		t.Error(err)
	}
}
