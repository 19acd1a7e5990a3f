package duckdb

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/marcboeker/go-duckdb"

	"isovet/check"
	"isovet/collect"
	"isovet/collect/driver"
	"isovet/evidence"
	"isovet/level"
)

// TestClasses: a conflict is the transaction's, a fatal error the database's, whichever statement is told of it.
func TestClasses(t *testing.T) {
	const since = "Failed: database has been invalidated because of a previous fatal error."
	for _, x := range []struct {
		err    error
		class  driver.Class
		breaks bool
	}{
		{&duckdb.Error{Type: duckdb.ErrorTypeTransaction, Msg: "TransactionContext Error: Conflict on update!"},
			driver.Aborted, false},
		{&duckdb.Error{Type: duckdb.ErrorTypeFatal, Msg: "FATAL Error: " + since}, driver.Fatal, true},
		{&duckdb.Error{Type: duckdb.ErrorTypeTransaction, Msg: "TransactionContext Error: " + since},
			driver.Fatal, true},
		{errors.New("could not connect to database: FATAL Error: " + since), driver.Fatal, true},
		{&duckdb.Error{Type: duckdb.ErrorTypeInternal, Msg: "INTERNAL Error: no transaction"}, driver.Fatal, true},
		{errors.New("no such driver"), driver.Fatal, false},
	} {
		if err := fmt.Errorf("commit: %w", x.err); classify(err) != x.class || breaks(err) != x.breaks {
			t.Errorf("%v: %v, breaks %v; expected %v, %v", err, classify(err), breaks(err), x.class, x.breaks)
		}
	}
}

// TestGroundTruth: DuckDB keeps snapshot isolation, and no more. The violation must be there in one of some rounds.
func TestGroundTruth(t *testing.T) {
	Register()
	skewed := false
	for seed := range uint64(10) {
		for _, w := range []string{"smallbank", "mix"} {
			r, err := collect.Run(context.Background(), collect.Config{DB: []string{"duckdb:"}, Workload: w, Txns: 300,
				Sessions: 8, Seed: seed, Keys: 20})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s, %s: %d committed, %d aborted in %.1f s", r.Summary.DB, w, r.Summary.Committed,
				r.Summary.Aborted, r.Summary.Elapsed.Seconds())
			for _, l := range []level.Level{level.SnapshotIsolation, level.Serializable} {
				c, _ := check.Auto(r.History, l)
				res, err := check.Run(context.Background(), c, r.History, check.Options{Level: l})
				if err != nil {
					t.Fatal(err)
				}
				if l == level.SnapshotIsolation && res.Verdict != evidence.Holds {
					t.Fatalf("%v: %v", l, res.Verdict)
				}
				skewed = skewed || res.Verdict == evidence.Violated
			}
		}
		if skewed {
			return
		}
	}
	t.Error("no round has shown write skew")
}
