package collect_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"isovet/collect"
	"isovet/history"
	"isovet/history/format"
	"isovet/internal/test/must"
)

// told is what a history says of its transactions but for their ids, in no order; the initial one's part that others
// touched.
func told(h *history.History) []string {
	var all []string
	for x := range uint32(h.NumTxns()) {
		s := ""
		if x != h.Init {
			s = fmt.Sprint(h.SessName[h.Txns.Sess[x]], h.Txns.Status[x], h.Start(x), h.Commit(x), h.End(x))
			if h.Txns.Name != nil && h.Txns.Name[x] != history.None {
				s += " " + string(h.Texts.Text(h.Txns.Name[x]))
			}
		}
		var ops []string
		lo, hi := h.TxnOps(x)
		for o := lo; o < hi; o++ {
			v := h.Ops.Ver[o]
			text := h.Ops.Kind[o].String()
			version := func(v uint32) {
				if v != history.None {
					text += " " + h.KeyString(h.VerKey[v]) + "=" + h.ValueString(v)
				}
			}
			switch h.Ops.Kind[o] {
			case history.ReadList:
				text += h.KeyString(h.Lists.Key[v])
				for _, e := range h.Lists.Elem[h.Lists.Off[v]:h.Lists.Off[v+1]] {
					version(e)
				}
			case history.PredRead, history.PredWrite:
				text += string(h.Texts.Text(h.Preds.Pred[v]))
				for i := h.Preds.Off[v]; i < h.Preds.Off[v+1]; i++ {
					version(h.Preds.Old[i])
					version(h.Preds.New[i])
				}
			default:
				version(v)
			}
			if h.Ops.Start != nil && x != h.Init {
				text += fmt.Sprint(" ", h.Ops.Start[o], h.Ops.End[o])
			}
			ops = append(ops, text)
		}
		if x == h.Init {
			slices.Sort(ops)
		}
		all = append(all, s+fmt.Sprint(ops))
	}
	slices.Sort(all)
	return all
}

// TestPartial: the recording in progress has in the end what the history has.
func TestPartial(t *testing.T) {
	for _, c := range []collect.Config{
		{DB: []string{"sqlite:"}, Workload: "smallbank"},
		{DB: []string{"badger:"}, Workload: "rmw", Keys: 10},
		{DB: []string{"badger:"}, Workload: "list-append", Keys: 5},
		{DB: []string{"sqlite:"}, Workload: "booking"},
		{DB: []string{"badger:"}, Workload: "claim"},
		{DB: []string{"badger:"}, Isolation: "no-conflicts", Workload: "tpcc", Keys: 60},
	} {
		c.Txns, c.Sessions, c.Seed = 50, 6, 3
		c.Partial = filepath.Join(t.TempDir(), "h.partial")
		r := run(t, c)
		h, err := format.Read(t.Context(), c.Partial, format.Options{})
		if err != nil {
			b, _ := os.ReadFile(c.Partial)
			t.Fatalf("%s: %v\n%.3000s", c.Workload, err, b)
		}
		got, want := told(h), told(r.History)
		if len(want) < c.Txns {
			t.Errorf("%s: %d transactions", c.Workload, len(want))
		}
		for i := range want {
			if i >= len(got) || got[i] != want[i] {
				t.Errorf("%s: %d lines, expected %d; %v, expected %v", c.Workload, len(got), len(want),
					got[min(i, len(got)-1)], want[i])
				break
			}
		}
		must.Equal(t, h.Meta, r.History.Meta, "%s", c.Workload)
	}
}
