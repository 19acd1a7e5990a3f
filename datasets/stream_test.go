package datasets

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"isovet/datasets/workload"
	"isovet/history"
	"isovet/history/format/jsonl"
	"isovet/internal/bounds"
	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
)

var seqField = regexp.MustCompile(`,"seq":\d+`)

// lines are the transactions of a history, without their places in sessions.
func lines(t *testing.T, h *history.History) []string {
	t.Helper()
	var b bytes.Buffer
	must.OK(t, jsonl.Write(&b, h))
	all := strings.Split(strings.TrimSpace(b.String()), "\n")[1:]
	for i := range all {
		all[i] = seqField.ReplaceAllString(all[i], "")
	}
	return all
}

// Every workload's history is the same as a whole and streamed, at every isolation, with faults and without; and a
// shard ends where it should.
func TestStream(t *testing.T) {
	defer bounds.Set("store.sink-txns", 100)()
	for i, info := range workload.All() {
		for v, variant := range info.Variants {
			if variant.SQL {
				continue // TestForSQL
			}
			spec := Spec{Workload: info.Name, Variant: variant.Name, Txns: histtest.Long(60, 1200), Sessions: 9,
				Seed:      uint64(i + v),
				Isolation: Isolations()[(i+v)%len(Isolations())], AbortRate: 0.05, UnknownRate: 0.03, Skew: 1000,
				DBTimes: i%2 == 0, NoAborted: i%3 == 0, UnknownOld: 0.2, LongTxn: i%4 == 1}
			if why, _, err := Streams(spec); err != nil || why != "" {
				t.Fatalf("%s %s: %q, %v", info.Name, variant.Name, why, err)
			}
			if _, params, err := info.New(workload.Params{Variant: variant.Name, Sessions: 9}); err != nil {
				t.Fatal(err)
			} else if params.Values == 0 && spec.Isolation != "read-uncommitted" {
				spec.Fault, spec.Faults = "write-skew,lost-update,stale-read", 5
				if _, err := LookupFault("stale-read"); err != nil {
					spec.Fault = "write-skew,lost-update"
				}
			}
			whole, err := Run(t.Context(), spec)
			if err != nil {
				spec.Fault, spec.Faults = "", 0
				if whole, err = Run(t.Context(), spec); err != nil {
					t.Fatalf("%s %s: %v", info.Name, variant.Name, err)
				}
			}
			var got, first []string
			committed := map[int]int{}
			last := 1
			r, err := Stream(t.Context(), spec, 4, nil, func(shard int, h *history.History) error {
				if shard == 0 {
					first = append(first, lines(t, h)...)
					return nil
				}
				must.Be(t, shard >= last, "shard %d behind %d", shard, last)
				last = shard
				for _, s := range h.Txns.Status {
					if s == history.Committed {
						committed[shard]++
					}
				}
				got = append(got, lines(t, h)...)
				return nil
			})
			must.OK(t, err, "%s %s", info.Name, variant.Name)
			want := lines(t, whole.History)
			got = append(first, got...)
			if i := slices.Index(want, ""); i >= 0 || !slices.Equal(got, want) {
				for i := range min(len(got), len(want)) {
					must.Same(t, got[i], want[i], "%s %s, streamed", info.Name, variant.Name)
				}
				t.Fatalf("%s %s: %d transactions streamed, %d as a whole", info.Name, variant.Name, len(got), len(want))
			}
			a, _ := json.Marshal(whole.Faults)
			if b, _ := json.Marshal(r.Faults); string(a) != string(b) || !slices.Equal(whole.Planted, r.Planted) {
				t.Errorf("%s: planted %s, streamed %s", info.Name, a, b)
			}
			for shard := 1; shard < 4; shard++ {
				if n := committed[shard]; n < spec.Txns/4 || n > spec.Txns/4+1 {
					t.Errorf("%s: shard %d has %d committed transactions of %d", info.Name, shard, n, spec.Txns)
				}
			}
		}
	}
}

// Many faults are all there, each with its own transactions.
func TestManyFaults(t *testing.T) {
	spec := Spec{Workload: "blindw", Txns: 5000, Seed: 4, Fault: "write-skew, lost-update", Faults: 10}
	r := must.Get(Run(context.Background(), spec))(t)
	name := map[int64]string{}
	for i, id := range r.History.Txns.ID {
		if n := r.History.Txns.Name[i]; n != history.None {
			name[id] = string(r.History.Texts.Text(n))
		}
	}
	seen := map[int64]bool{}
	for i, f := range r.Faults {
		if want := []string{"write-skew", "lost-update"}[i%2]; f.Fault != want || len(f.Txns) != 2 {
			t.Errorf("fault %d is %s of %v", i, f.Fault, f.Txns)
		}
		for _, id := range f.Txns {
			if seen[id] || name[id] != "planted "+f.Fault {
				t.Errorf("transaction %d of fault %d is %q", id, i, name[id])
			}
			seen[id] = true
		}
		if at := f.Txns[0]; at < int64(i*480) || at > int64(i*500+700) {
			t.Errorf("fault %d stands at transaction %d", i, at)
		}
	}
	if len(r.Faults) != 10 || len(r.Planted) != 20 {
		t.Errorf("%d faults, %d transactions", len(r.Faults), len(r.Planted))
	}
	if note := r.History.Meta.Note; !strings.Contains(note, "10 in all") {
		t.Error(note)
	}
	for _, bad := range []Spec{{Faults: 3}, {Fault: "none", Faults: 1}, {Fault: "write-skew", Faults: -1},
		{Fault: "write-skew", Faults: 600, Txns: 1000}} {
		if _, err := Run(context.Background(), bad); err == nil {
			t.Errorf("no error for %v", fmt.Sprint(bad.Fault, bad.Faults))
		}
	}
}
