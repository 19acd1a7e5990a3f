package collect_test

import (
	"context"
	"fmt"
	"testing"

	"isovet/check"
	"isovet/collect"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/must"
	"isovet/level"
)

// A whole run against a database inside this program.
func ExampleRun() {
	r, err := collect.Run(context.Background(), collect.Config{DB: []string{"sqlite:"}, Workload: "smallbank",
		Txns: 500, Sessions: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Summary.Committed, "transactions,", r.Summary.Isolation)
	// Output: 500 transactions, serializable
}

// verdict checks a history as isovet check does.
func verdict(t *testing.T, h *history.History, l level.Level, want evidence.Verdict) *evidence.Result {
	t.Helper()
	c, ok := check.Auto(h, l)
	if !ok {
		t.Fatalf("no checker for %v", l)
	}
	r := must.Get(check.Run(context.Background(), c, h, check.Options{Level: l}))(t)
	must.Equal(t, r.Verdict, want, "%s %s at %v: %s", h.Meta.DB, h.Meta.Isolation, l, r.Reason)
	return r
}
