package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"isovet/check/mechanism"
	"isovet/collect"
	"isovet/internal/slice"
	"isovet/internal/test/must"
	"isovet/watch"
)

// TestLiveIsVerify: what is found while Badger runs without conflict detection is what Verify finds in the history, and
// is told soon.
func TestLiveIsVerify(t *testing.T) {
	p := must.Get(mechanism.LookupProfile("badger:serializable-snapshot"))(t)
	var got []string
	var first time.Duration
	begin := time.Now()
	live := watch.NewLive(watch.LeopardOptions{Profile: p}, func(line []byte) {
		var v watch.MechanismViolation
		if err := json.Unmarshal(line, &v); err != nil {
			t.Error(err)
		}
		if first == 0 {
			first = time.Since(begin)
		}
		slices.Sort(v.Txns)
		got = append(got, fmt.Sprint(v.Mechanism, v.Kind, v.Txns, string(v.Key)))
	})
	r := must.Get(collect.Run(t.Context(), collect.Config{DB: []string{"badger:"}, Isolation: "no-conflicts",
		Workload: "rmw", Keys: 200, Txns: 1000, Sessions: 8, Think: 100 * time.Microsecond, Live: live}))(t)
	took := time.Since(begin)
	must.OK(t, live.Close())
	rep := must.Get(mechanism.Verify(t.Context(), r.History, mechanism.Options{Profile: *p, MaxViolations: 1 << 20}))(t)
	var want []string
	for _, v := range rep.Violations {
		txns := slice.Map(v.Txns, func(x uint64) int64 { return r.History.Txns.ID[x] })
		slices.Sort(txns)
		want = append(want, fmt.Sprint(v.Mechanism, v.Kind, txns, r.History.KeyString(v.Key)))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) || len(want) == 0 {
		t.Errorf("%d violations live, %d in the history, or they differ", len(got), len(want))
	}
	t.Logf("%d violations, the first after %v of %v", len(got), first, took)
}
