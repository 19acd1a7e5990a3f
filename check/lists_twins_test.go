package check_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"isovet/certify"
	"isovet/check/lists"
	"isovet/check/prepass"
	"isovet/check/weak"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
	"isovet/internal/test/oracle"
	"isovet/level"
	"isovet/polygraph"
)

// verdict is brute force's, over all orders; ok: it has one.
func verdict(h *history.History, l level.Level) (holds, ok bool) {
	if _, missing := polygraph.MissingTime(h); missing && l.RealTime() {
		return false, false
	}
	r, err := oracle.Check(h, oracle.Options{Level: l, VerdictOnly: true})
	return err == nil && r.Verdict == evidence.Holds, err == nil && r.Verdict != evidence.Unknown
}

// proof has an anomaly completed and certified, under the name that certify finds it to have.
func proof(h *history.History, l level.Level, a evidence.Anomaly) error {
	a.Complete(h, l, 0)
	r := &evidence.Result{Verdict: evidence.Violated, Level: l, H: h, Anomalies: []evidence.Anomaly{a}}
	names, err := certify.Names(r, certify.Options{})
	if err == nil {
		r.Anomalies[0].Kind = names[0]
		err = certify.Check(r, certify.Options{})
	}
	if err != nil {
		return &histtest.Failure{Class: "proof", Err: fmt.Errorf("%s: %w\n%+v", l, err, a)}
	}
	return nil
}

func search(t *testing.T, n uint64, judge func(h *history.History, turn int) error) (tried uint64) {
	t.Helper()
	return histtest.Search{N: n, Long: 40 * n,
		Make: func(seed uint64) []byte {
			return histtest.Random(seed, histtest.Shape{Txns: 6, Kinds: []histtest.Kind{histtest.Lists}})
		},
		Judge: func(text []byte) error {
			if len(text) == 0 {
				return nil
			}
			h, err := histtest.Read(text)
			if err != nil {
				return nil // a shrunk text may be none
			}
			return judge(h, len(text))
		},
	}.Run(t)
}

// registersBeside tells whether a key of the history is no list; then the lists' order alone says nothing.
func registersBeside(v *lists.View) bool { return v.Mixed }

// TestListsGraph: where all keys are lists, the graph's order explains the history, its violations are proofs, and one
// of the two is there unless the order of what nobody read is open; by brute force and certified.
func TestListsGraph(t *testing.T) {
	yes, no := 0, 0
	kinds := map[level.Anomaly]int{}
	tried := search(t, 6000, func(h *history.History, turn int) error {
		v := lists.Read(h)
		l := six[turn%6]
		holds, ok := verdict(h, l)
		if !ok || v.Ambiguous != "" || registersBeside(v) {
			return nil
		}
		for _, a := range v.Anomalies {
			if kinds[a.Kind]++; holds {
				return fmt.Errorf("%s holds by brute force, and %+v", l, a)
			}
			if err := proof(h, l, a); err != nil {
				return err
			}
		}
		if len(v.Anomalies) > 0 {
			return nil
		}
		g := lists.NewGraph(v, l, 0)
		order, unsure := g.Order()
		switch {
		case order != nil:
			if yes++; !holds {
				return fmt.Errorf("%s: an order, and none by brute force", l)
			}
			return certify.Check(&evidence.Result{Verdict: evidence.Holds, Level: l, Order: order, H: h},
				certify.Options{})
		case unsure: // it rests on the order of what nobody read
			return nil
		}
		if no++; holds {
			return fmt.Errorf("%s holds by brute force", l)
		}
		found, _ := g.Violations()
		if len(found) == 0 {
			return fmt.Errorf("%s: neither an order nor a violation", l)
		}
		for _, a := range found {
			if err := proof(h, l, a); err != nil {
				return err
			}
		}
		return nil
	})
	if !t.Failed() && tried >= 6000 && (yes < 500 || no < 100 || len(kinds) < 7) {
		t.Errorf("%d orders, %d violations, anomalies %v", yes, no, kinds)
	}
}

// TestListsRegistersBack: a violation of the history told with registers is one of the lists when it is brought back.
func TestListsRegistersBack(t *testing.T) {
	back, mixed := 0, 0
	tried := search(t, 5000, func(h *history.History, turn int) error {
		v := lists.Read(h)
		l := six[turn%6]
		if _, ok := verdict(h, l); !ok || v.Ambiguous != "" || len(v.Anomalies) > 0 {
			return nil
		}
		g := v.Registers()
		r, err := oracle.Check(g.H, oracle.Options{Level: l})
		if err != nil || r.Verdict != evidence.Violated {
			return err
		}
		for _, a := range r.Anomalies {
			a, ok := g.Anomaly(a, l, 0)
			if !ok {
				return fmt.Errorf("%s: nothing is left of %+v", l, r.Anomalies[0])
			}
			if back++; v.Mixed {
				mixed++
			}
			if err := proof(h, l, a); err != nil {
				return err
			}
		}
		return nil
	})
	if !t.Failed() && tried >= 5000 && (back < 100 || mixed < 20) {
		t.Errorf("%d violations, %d of them with registers beside lists", back, mixed)
	}
}

// TestListsBlind: at the weak levels the history told without reads that nobody made, with its order of versions, is
// decided as brute force decides the lists; the order and the proof that are brought back are certified. Ranks and
// Orders are what the longest read shows.
func TestListsBlind(t *testing.T) {
	yes, no, ranked := 0, 0, 0
	tried := search(t, 5000, func(h *history.History, turn int) error {
		l := weak.Levels()[turn%len(weak.Levels())]
		o := lists.Options{Blind: true, EachRead: l == level.ReadCommitted}
		v := lists.ReadWith(h, o)
		holds, ok := verdict(h, l)
		if !ok || v.Ambiguous != "" || len(v.Anomalies) > 0 {
			return nil
		}
		g := v.Blind()
		n, err := shownOrder(h, v, g)
		if err != nil {
			return err
		}
		ranked += n
		p := prepass.RunWith(g.H, prepass.Options{EachRead: o.EachRead, Count: v.Counts})
		if len(p.Open) > 0 {
			return nil
		}
		if len(p.Anomalies) > 0 {
			if holds {
				return fmt.Errorf("%s holds by brute force, and %+v", l, p.Anomalies[0])
			}
			return proof(h, l, g.Retold(p.Anomalies[0]))
		}
		a := weak.Check(context.Background(), p, l, weak.Options{Known: weak.Known{Rank: g.Ranks(), Orders: g.Orders}})
		switch a.Status {
		case weak.Holds:
			if yes++; !holds {
				return fmt.Errorf("%s: an order, and none by brute force", l)
			}
			for i := range a.Sources {
				a.Sources[i].Op = g.Op(a.Sources[i].Op)
			}
			return certify.Check(&evidence.Result{Verdict: evidence.Holds, Level: l, Order: a.Order, Sources: a.Sources,
				H: h}, certify.Options{})
		case weak.Violated:
			if no++; holds {
				return fmt.Errorf("%s holds by brute force", l)
			}
			if !a.Twice {
				return proof(h, l, g.Retold(a.Anomaly))
			}
		}
		return nil
	})
	if !t.Failed() && tried >= 5000 && (yes < 500 || no < 10 || ranked < 500) {
		t.Errorf("%d hold, %d do not, %d ranks", yes, no, ranked)
	}
}

// shownOrder holds Ranks and Orders of a blind view against the longest list that a transaction that counts read of
// each key.
func shownOrder(h *history.History, v *lists.View, g *lists.Registers) (n int, err error) {
	_, longest, bad := naive(h)
	if bad {
		return 0, nil // as repeated reads that differ, which the weak levels may allow
	}
	type pair struct{ t, u int32 }
	want, got := map[pair]bool{}, map[pair]bool{}
	place := map[[2]uint32]uint32{} // transaction and key → its place in the list, from 1
	for k, list := range longest {
		last := history.None
		at := uint32(0)
		for _, e := range list {
			t := writer(h, e)
			if t == h.Init || t == last {
				continue
			}
			at++
			place[[2]uint32{t, k}] = at
			if last != history.None {
				want[pair{int32(last), int32(t)}] = true
			}
			last = t
		}
		if last == history.None {
			continue
		}
		for op, kind := range h.Ops.Kind {
			t := h.TxnOf(uint32(op))
			if kind == history.Append && h.OpKey(uint32(op)) == k && v.Counts[t] && place[[2]uint32{t, k}] == 0 {
				want[pair{int32(last), int32(t)}] = true
			}
		}
	}
	g.Orders(func(t, u int32) { got[pair{t, u}] = true })
	if fmt.Sprint(got) != fmt.Sprint(want) {
		return 0, fmt.Errorf("transactions in order %v; by definition %v", got, want)
	}
	ranks := g.Ranks()
	for op, kind := range g.H.Ops.Kind {
		o := uint32(op)
		ver := g.H.Ops.Ver[op]
		t, k := g.H.TxnOf(o), g.H.VerKey[ver]
		if kind != history.Write || t == h.Init || g.Op(o) != history.None {
			continue // of a register
		}
		rank := place[[2]uint32{t, k}]
		if rank == 0 {
			rank = lists.Unshown
		}
		if n++; ranks[ver] != rank {
			return n, fmt.Errorf("the version of transaction %d at key %d has rank %d; by definition %d", t, k,
				ranks[ver], rank)
		}
	}
	return n, nil
}

// TestListsReadCases: a history whose lists have elements appended twice is explained if and only if one of its cases
// is, of each of which an append shows at most one of its elements; by brute force.
func TestListsReadCases(t *testing.T) {
	doubled, several, yes, no, shown := 0, 0, 0, 0, 0
	tried := search(t, 12000, func(h *history.History, turn int) error {
		v := lists.Read(h)
		if v.Ambiguous == "" || len(v.Anomalies) > 0 || registersBeside(v) {
			return nil
		}
		l := six[turn%6]
		holds, ok := verdict(h, l)
		if !ok {
			return nil
		}
		doubled++
		c, a, reason := lists.ReadCases(h)
		if reason != "" {
			return nil
		}
		if a != nil {
			if shown++; holds {
				return fmt.Errorf("%s holds by brute force, and %+v", l, a)
			}
			return proof(h, l, *a)
		}
		if c.More() {
			several++
		}
		some := false
		for more := true; more; more = c.Next() {
			one := c.History()
			if got := lists.Read(one).Ambiguous; got != "" {
				return fmt.Errorf("a case is ambiguous: %s", got)
			}
			for i, e := range one.Lists.Elem {
				if c.Orig(e) != h.Lists.Elem[i] {
					return fmt.Errorf("a case shows %s for %s", one.ValueString(e), h.ValueString(h.Lists.Elem[i]))
				}
			}
			r, ok := verdict(one, l)
			if !ok {
				return nil
			}
			some = some || r
		}
		if some {
			yes++
		} else {
			no++
		}
		if c.Whole && some != holds || some && !holds {
			return fmt.Errorf("%s: in some case %v; by brute force %v", l, some, holds)
		}
		return nil
	})
	if !t.Failed() && tried >= 12000 && (doubled < 100 || several < 5 || yes < 20 || no < 5 || shown == 0) {
		t.Errorf("%d ambiguous, %d of several cases, %d hold, %d do not, %d shown", doubled, several, yes, no, shown)
	}
}

// TestListsShows: a view shows the edges that its lists give, and no others.
func TestListsShows(t *testing.T) {
	h := must.Get(histtest.Read([]byte(`{"id":0,"ops":[["a","x",1]]}
{"id":1,"ops":[["a","x",2],["w","y",1]]}
{"id":2,"ops":[["r","x",[1]]]}
{"id":3,"ops":[["r","x",[1,2]],["r","y",1]]}
{"id":4,"ops":[["a","x",3]]}
`)))(t)
	v := lists.Read(h)
	x, y := h.OpKey(0), h.OpKey(2)
	edge := func(from uint32, dep evidence.Dep, to, key uint32) evidence.Edge {
		return evidence.Edge{From: from, To: to, Dep: dep, Key: key, Ver: history.None, Writer: history.None}
	}
	for _, c := range []struct {
		e    evidence.Edge
		want bool
	}{
		{edge(0, evidence.WW, 1, x), true}, {edge(1, evidence.WW, 0, x), false}, {edge(0, evidence.WW, 2, x), false},
		{edge(1, evidence.WW, 4, x), true}, {edge(4, evidence.WW, 0, x), false},
		{edge(0, evidence.WR, 2, x), true}, {edge(1, evidence.WR, 2, x), false}, {edge(1, evidence.WR, 3, x), true},
		{edge(4, evidence.WR, 3, x), false}, {edge(2, evidence.WR, 3, x), false}, {edge(0, evidence.WR, 1, x), false},
		{edge(2, evidence.RW, 1, x), true}, {edge(2, evidence.RW, 0, x), false}, {edge(3, evidence.RW, 4, x), true},
		{edge(0, evidence.RW, 1, x), false}, {edge(1, evidence.WR, 3, y), false},
		{edge(0, evidence.SO, 1, history.None), true},
		{edge(0, evidence.TS, 1, x), false},
	} {
		must.Equal(t, v.Shows([]evidence.Edge{c.e}), c.want, "T%d %s T%d", c.e.From, c.e.Dep, c.e.To)
	}
	both := []evidence.Edge{edge(0, evidence.WW, 1, x), edge(1, evidence.WW, 0, x)}
	must.Be(t, !v.Shows(both) && v.Shows(slices.Clone(both[:1])), "one edge of a cycle that is not shown")
}
