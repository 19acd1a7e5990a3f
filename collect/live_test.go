package collect

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"isovet/history"
)

// kept is a Live that writes down what it is told.
type kept struct {
	t      *testing.T
	meta   history.Meta
	txns   []string
	init   map[string]string
	starts []int64 // of txns
	marks  []int64 // before each of txns came
	mark   int64
	fail   error
}

func (k *kept) Begin(meta history.Meta) error {
	k.meta, k.init, k.mark = meta, map[string]string{}, -1
	return nil
}

func (k *kept) Ended(h *history.History, mark int64) error {
	for t := range uint32(h.NumTxns()) {
		if t == h.Init {
			for op := h.Txns.OpOff[t]; op < h.Txns.OpOff[t+1]; op++ {
				key := h.KeyString(h.OpKey(op))
				if _, twice := k.init[key]; twice {
					k.t.Errorf("key %s has its initial version twice", key)
				}
				k.init[key] = h.ValueString(h.Ops.Ver[op])
			}
			continue
		}
		k.txns = append(k.txns, describe(h, t))
		k.starts, k.marks = append(k.starts, h.Start(t)), append(k.marks, k.mark)
	}
	k.mark = mark
	return k.fail
}

func describe(h *history.History, t uint32) string {
	var b strings.Builder
	fmt.Fprint(&b, h.Txns.ID[t], h.Txns.Status[t], h.Start(t), h.Commit(t), h.End(t))
	for op := h.Txns.OpOff[t]; op < h.Txns.OpOff[t+1]; op++ {
		fmt.Fprint(&b, h.Ops.Kind[op], h.OpStart(op), h.OpEnd(op))
		if k := h.OpKey(op); k != history.None && h.Ops.Kind[op] != history.ReadList {
			fmt.Fprint(&b, h.KeyString(k), h.ValueString(h.Ops.Ver[op]))
		}
	}
	return b.String()
}

// TestLiveIsTheHistory: the pieces together are the history, no transaction begins before the time up to which all had
// arrived, and an error ends the run.
func TestLiveIsTheHistory(t *testing.T) {
	for _, c := range []Config{
		{DB: []string{"sqlite:"}, Workload: "rmw", Keys: 8, Txns: 600},
		{DB: []string{"badger:"}, Workload: "list-append", Txns: 600},
		{DB: []string{"badger:"}, Workload: "smallbank", Txns: 600, Sessions: 40},
	} {
		k := &kept{t: t}
		c.Live = k
		r, err := Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		h := r.History
		var want []string
		for x := range uint32(h.NumTxns()) {
			if x != h.Init {
				want = append(want, describe(h, x))
			} else if n := int(h.Txns.OpOff[x+1] - h.Txns.OpOff[x]); n != len(k.init) {
				t.Errorf("%d initial versions, %d in the history", len(k.init), n)
			}
		}
		if !slices.Equal(k.txns, want) || k.meta != h.Meta {
			t.Errorf("%s: %d transactions live, %d in the history, or they differ; header %+v and %+v", c.Workload,
				len(k.txns), len(want), k.meta, h.Meta)
		}
		for i, at := range k.starts {
			if at < k.marks[i] {
				t.Fatalf("%s: transaction %d begins at %d, before %d", c.Workload, i, at, k.marks[i])
			}
		}
	}
	full := errors.New("full")
	if r, err := Run(t.Context(), Config{DB: []string{"sqlite:"}, Txns: 100_000, Live: &kept{t: t,
		fail: full}}); !errors.Is(err, full) || r == nil || r.History == nil {
		t.Errorf("%v, %v; expected the history so far and the error", r, err)
	}
}
