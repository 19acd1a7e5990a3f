package databases

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	_ "modernc.org/sqlite" // what rqlite keeps its data with

	"isovet/collect"
	"isovet/collect/driver"
	"isovet/level"
)

// fakeRqlite answers as rqlite does, with one SQLite.
type fakeRqlite struct {
	mu sync.Mutex
	db *sql.DB
}

func (f *fakeRqlite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all [][]any
	d := json.NewDecoder(r.Body)
	d.UseNumber()
	if err := d.Decode(&all); err != nil {
		http.Error(w, `{"error":"no JSON"}`, http.StatusBadRequest)
		return
	}
	type result map[string]any
	var results []result
	tx, err := f.db.Begin()
	if err != nil {
		http.Error(w, `{"error":"no transaction"}`, http.StatusInternalServerError)
		return
	}
	for _, s := range all {
		for i, a := range s[1:] {
			if n, ok := a.(json.Number); ok {
				s[1+i], _ = n.Int64()
			}
		}
		res := result{}
		if strings.HasPrefix(r.URL.Path, "/db/query") {
			rows, err := tx.Query(s[0].(string), s[1:]...)
			if err != nil {
				res["error"] = err.Error()
			} else {
				var values [][]any
				for rows.Next() {
					var v string
					var n int64
					if err := rows.Scan(&v, &n); err != nil {
						res["error"] = err.Error()
					}
					values = append(values, []any{v, n})
				}
				rows.Close()
				res["values"] = values
			}
		} else if _, err = tx.Exec(s[0].(string), s[1:]...); err != nil {
			res["error"] = err.Error()
		}
		results = append(results, res)
		if res["error"] != nil {
			break
		}
	}
	if len(results) > 0 && results[len(results)-1]["error"] != nil {
		_ = tx.Rollback()
	} else if err := tx.Commit(); err != nil {
		results = []result{{"error": err.Error()}}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"results": results})
}

// TestRqlite: with comparison the histories are serializable, without it updates are lost.
func TestRqlite(t *testing.T) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s := httptest.NewServer(&fakeRqlite{db: db})
	defer s.Close()
	url := strings.Replace(s.URL, "http:", "rqlite:", 1)
	lostUpdates := false
	for seed := range uint64(5) {
		for _, iso := range []string{"serializable", "none"} {
			r, err := collect.Run(context.Background(), collect.Config{DB: []string{url}, Isolation: iso,
				Workload: "rmw", Keys: 10, Txns: 150, Sessions: 8, Seed: seed})
			if err != nil {
				t.Fatal(err)
			}
			if iso == "serializable" {
				if !look(t, r, level.Serializable, holds) {
					t.Error("not serializable")
				}
			} else {
				lostUpdates = lostUpdates || look(t, r, level.SnapshotIsolation, violated)
			}
		}
		if lostUpdates {
			return
		}
	}
	t.Error("no update was lost without comparison")
}

// refusing is a store in which another transaction is always first.
type refusing struct{ applied int }

func (r *refusing) get(string) ([]byte, int64, error) { return []byte("v"), 7, nil }
func (r *refusing) apply(were map[string]int64, _ []string, _ map[string][]byte, _ int64) (bool, error) {
	r.applied++
	return len(were) == 0, nil
}

// TestCompared: a refused comparison is a conflict, one read alone needs none, and own writes are read.
func TestCompared(t *testing.T) {
	r := &refusing{}
	x := newCompared(r, false)
	if err := x.Put([]byte("a"), []byte("mine")); err != nil {
		t.Fatal(err)
	}
	if v, ok, err := x.Get([]byte("a")); string(v) != "mine" || !ok || err != nil {
		t.Errorf("own write reads as %q, %v, %v", v, ok, err)
	}
	if _, _, err := x.Get([]byte("b")); err != nil {
		t.Fatal(err)
	}
	if err := x.Commit(); !errors.Is(err, driver.ErrConflict) {
		t.Errorf("commit: %v", err)
	}
	one := newCompared(r, false)
	if _, _, err := one.Get([]byte("a")); err != nil {
		t.Fatal(err)
	}
	if err := one.Commit(); err != nil || r.applied != 1 {
		t.Errorf("one read alone: %v, %d comparisons", err, r.applied)
	}
}

// TestMongoProduct: FerretDB is not called MongoDB.
func TestMongoProduct(t *testing.T) {
	for _, x := range []struct {
		build bson.M
		want  string
	}{
		{bson.M{"version": "7.0.5"}, "MongoDB 7.0.5"},
		{bson.M{"version": "7.0.42", "ferretdbVersion": "v1.24.0"}, "FerretDB v1.24.0 (says MongoDB 7.0.42)"},
		{bson.M{"version": "7.0.42", "ferretdbVersion": "unknown"}, "FerretDB (says MongoDB 7.0.42)"},
		{bson.M{"version": "7.0.77", "ferretdb": bson.M{"version": "v2.5"}}, "FerretDB (says MongoDB 7.0.77)"},
	} {
		if got := mongoProduct(x.build); got != x.want {
			t.Errorf("%v is %s, expected %s", x.build, got, x.want)
		}
	}
}

// TestClasses: what the libraries' errors mean for a transaction.
func TestClasses(t *testing.T) {
	label := func(labels ...string) error { return mongo.CommandError{Code: 112, Labels: labels} }
	for _, x := range []struct {
		name string
		got  driver.Class
		want driver.Class
	}{
		{"MongoDB, write conflict", mongoClass(label("TransientTransactionError")), driver.Aborted},
		{"MongoDB, unknown commit", mongoClass(label("UnknownTransactionCommitResult")), driver.Unclear},
		{"MongoDB, unknown commit by network", mongoClass(label("NetworkError", "UnknownTransactionCommitResult")),
			driver.Unclear},
		{"MongoDB, network", mongoClass(label("NetworkError", "TransientTransactionError")), driver.Lost},
		{"MongoDB, no such command", mongoClass(label()), driver.Fatal},
		{"Cassandra, write timed out", cassandraClass(&gocql.RequestErrWriteTimeout{}), driver.Unclear},
		{"Cassandra, unknown CAS", cassandraClass(&gocql.RequestErrCASWriteUnknown{}), driver.Unclear},
		{"Cassandra, too few replicas", cassandraClass(&gocql.RequestErrUnavailable{}), driver.Aborted},
		{"Cassandra, closed", cassandraClass(gocql.ErrConnectionClosed), driver.Lost},
		{"Cassandra, syntax", cassandraClass(&gocql.RequestErrSyntax{}), driver.Fatal},
		{"rqlite, hung up", lost(io.ErrUnexpectedEOF), driver.Lost},
		{"rqlite, a mistake", lost(errors.New("syntax")), driver.Fatal},
	} {
		if x.got != x.want {
			t.Errorf("%s: %v, expected %v", x.name, x.got, x.want)
		}
	}
}
