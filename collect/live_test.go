package collect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"isovet/datasets/workload"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/safego"
	"isovet/internal/test/must"
	"isovet/level"
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
		{DB: []string{"sqlite:"}, Workload: "rmw", Keys: 8, Txns: 80},
		{DB: []string{"badger:"}, Workload: "list-append", Txns: 80},
		{DB: []string{"badger:"}, Workload: "smallbank", Txns: 120, Sessions: 40},
	} {
		k := &kept{t: t}
		c.Live = k
		r := must.Get(Run(t.Context(), c))(t)
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

// TestPast: of a run on a database that keeps its promise no moment violates it, predicates and lists included; behind
// the end, the moment is the whole history.
func TestPast(t *testing.T) {
	for _, c := range []Config{
		{DB: []string{"badger:"}, Workload: "smallbank", Keys: 8},
		{DB: []string{"badger:"}, Workload: "list-append"},
		{DB: []string{"sqlite:"}, Workload: "booking"},
		{DB: []string{"sqlite:"}, Workload: "claim"},
		{DB: []string{"badger:"}, Isolation: "no-conflicts", Workload: "rmw", Keys: 5},
	} {
		c.Seed, c.Ahead, c.Think = 3, &Ahead{}, 200*time.Microsecond // of which nothing but the recording is used
		c.Txns, c.Sessions = 100, 12
		c = c.WithDefaults()
		target := must.Get(Open(t.Context(), c))(t)
		defer target.Close()
		r := &run{cfg: c, target: target, info: target.DB.Info()}
		r.cfg.Ahead.Until = time.Now().Add(time.Hour)
		must.OK(t, errors.Join(r.prepare(), target.DB.Load(t.Context(), r.data()), r.connect(t.Context())))
		var g safego.Group
		done := make(chan struct{})
		g.Go(func() {
			defer close(done)
			r.drive(t.Context())
		})
		past := func() *evidence.Result {
			h := must.Get(r.past())(t)
			if h == nil {
				return nil
			}
			return must.Get(Examine(t.Context(), h, level.Serializable, time.Minute))(t)
		}
		moments := 0
		for over := false; !over; {
			select {
			case <-done:
				over = true
			case <-time.After(20 * time.Millisecond):
			}
			if x := past(); x != nil {
				moments++
				if x.Verdict == evidence.Violated && c.Isolation == "" {
					t.Fatalf("%s %s: a moment with %d transactions is violated: %s", c.DB[0], c.Workload, x.H.NumTxns(),
						evidence.Describe(&x.Anomalies[0], x.H))
				}
			}
		}
		g.Wait()
		whole := must.Get(r.build(context.Background()))(t)
		last := past()
		if last.H.NumTxns() != whole.NumTxns() || last.H.NumOps() != whole.NumOps() {
			t.Errorf("%s: %d transactions at the end, %d in the history", c.Workload, last.H.NumTxns(), whole.NumTxns())
		}
		if c.Isolation != "" && last.Verdict != evidence.Violated {
			t.Errorf("%s: %v; expected lost updates", c.Workload, last.Verdict)
		}
		t.Logf("%s %s: %d moments", c.DB[0], c.Workload, moments)
	}
}

// TestMark: who ended before the oldest open transaction began is unchanged; who ended when it did has its writes and
// an unknown outcome; who began when it did is missing.
func TestMark(t *testing.T) {
	a, b := &client{}, &client{}
	var l log
	for _, at := range []int64{13, 14, 15} {
		l.add(opRec{kind: history.Read, value: history.IntValue(at)})
		l.add(opRec{kind: history.Write, value: history.IntValue(at)})
		l.end(txnRec{start: at, commit: at, end: at + 1, status: history.Committed})
	}
	a.published.Store(&l)
	a.since.Store(never)
	b.since.Store(15)
	r := &run{clients: []*client{a, b}, tables: []workload.Table{{}}}
	h := must.Get(r.past())(t)
	first := h.NumTxns() - 2
	if st := h.Txns.Status[first:]; h.NumOps() != 3+first || st[0] != history.Committed || st[1] != history.Unknown {
		t.Errorf("%d operations, outcomes %v", h.NumOps(), st)
	}
}

// TestNeed: a check of more transactions takes more than linear time.
func TestNeed(t *testing.T) {
	a := Ahead{}
	a.Took(2*time.Second, 1000)
	must.Equal(t, a.need(2000), 6*time.Second, "the time for 2000 transactions, twice 1.5 times that for 1000")
}
