package certify_test

import (
	"isovet/certify"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest/notation"
	"isovet/level"
)

type badResult struct {
	r    *evidence.Result
	o    certify.Options
	want string
}

// badResults are false claims made by hand, beside those of testdata/refused.txt.
func badResults() (out []badResult) {
	add := func(r *evidence.Result, want string) { out = append(out, badResult{r: r, want: want}) }
	add(&evidence.Result{}, "the result names no history")
	h := notation.MustParse("s1: w(0,1) | s2: w(0,2)")
	out = append(out, badResult{&evidence.Result{H: h}, certify.Options{ClockSkew: -1}, "clock skew -1 is negative"})
	add(&evidence.Result{H: h}, "the verdict is unknown, but has no reason")
	add(&evidence.Result{H: h, Verdict: 9}, "there is no verdict 9")

	add(&evidence.Result{H: h, Verdict: evidence.Holds, Level: 99}, "cannot certify an order at level 99")

	const none = history.None
	claim := func(text string, l level.Level, want string, a func(ver func(string) uint32) evidence.Anomaly) {
		h := notation.MustParse(text)
		of := a(func(value string) uint32 { // the version of that value
			for v := range uint32(h.NumVersions()) {
				if h.ValueString(v) == value {
					return v
				}
			}
			return none
		})
		if of.Txns == nil {
			of.Complete(h, l, 0)
		}
		add(&evidence.Result{H: h, Level: l, Verdict: evidence.Violated, Anomalies: []evidence.Anomaly{of}}, want)
	}
	cycle := func(text string, l level.Level, want string, c func(ver func(string) uint32) []evidence.Edge) {
		claim(text, l, want, func(ver func(string) uint32) evidence.Anomaly {
			a := evidence.Anomaly{Kind: level.G2Item, Cycle: c(ver)}
			for _, e := range a.Cycle {
				for _, t := range []uint32{e.From, e.To, e.Writer} {
					known := t == none
					for _, u := range a.Txns {
						known = known || t == u
					}
					if !known {
						a.Txns = append(a.Txns, t)
					}
				}
			}
			return a
		})
	}
	// there is the edge in question, and back the one that closes the cycle.
	back := func(e evidence.Edge) []evidence.Edge {
		return []evidence.Edge{e, {From: e.To, To: e.From, Dep: evidence.SO, Key: none, Ver: none, Writer: none}}
	}
	cycle("init: w(0,1) | s1: r(0,1)", level.SessionSerializable, "transaction 0, the initial one, precedes all others",
		func(func(string) uint32) []evidence.Edge {
			return back(evidence.Edge{From: 1, To: 0, Dep: evidence.SO, Key: none, Ver: none, Writer: none})
		})

	dead := func(text, want string, a evidence.Anomaly) {
		a.Kind = level.G1a
		claim(text, level.Serializable, want, func(func(string) uint32) evidence.Anomaly { return a })
	}
	dead("s1: w(0,1) w(0,2) r(0,3) ? | s2: r(0,2)", "operation 0 does not make operation 2 impossible",
		evidence.Anomaly{Ops: []uint32{3}, Dead: [][]uint32{{0, 2}}, Txns: []uint32{0, 1}})
	dead(`s1: r(0,9) ? | s2: pr{"":{">=":5}}[]`, "operation 1 matched no version of another transaction",
		evidence.Anomaly{Ops: []uint32{1}, Dead: [][]uint32{{0}}, Txns: []uint32{0, 1}})

	edge := func(text string, l level.Level, want string, e evidence.Edge, value string) {
		cycle(text, l, want, func(ver func(string) uint32) []evidence.Edge {
			if e.Ver = none; value != "" {
				e.Ver = ver(value)
			}
			return back(e)
		})
	}
	const ser, rc = level.SessionSerializable, level.ReadCommitted
	wr := func(from, to uint32) evidence.Edge {
		return evidence.Edge{From: from, To: to, Dep: evidence.WR, Writer: none}
	}
	edge("init: a(0,1) | s1: a(0,2) | s2: a(0,2) | s3: r(0,[2])", ser, "a read of list 0 does not begin with the "+
		"initial elements",
		evidence.Edge{From: 1, To: 2, Dep: evidence.WW, Writer: none}, "2")
	edge("s1: a(0,2) | s2: a(0,2) | s3: r(0,[2]) | s4: r(0,[3]) ?", ser,
		"the read of transaction 4 of list 0 is not a prefix of the committed reads", wr(0, 3), "2")
	edge("s1: a(0,2) | s2: a(0,2) | s3: r(0,[2]) | s4: a(0,5)", ser, "transaction 1 does not append 5 last", wr(0, 2),
		"5")
	edge("s1: a(0,2) | s2: a(0,2) | s3: r(0,[2]) | s4: a(0,7)", ser,
		"transaction 3 did not read the elements that transaction 4 appended", wr(3, 2), "7")
	edge("s1: a(0,1) r(0,[]) | s2: a(0,2)", ser, "the list that transaction 1 read does not end with its own appends",
		evidence.Edge{From: 0, To: 1, Dep: evidence.RW, Writer: none}, "")
	edge("s1: a(0,1) | s2: a(0,2) | s3: r(0,[1]) | s4: a(0,4)", ser,
		"the writer that the certificate names did not append the last element that transaction 3 read",
		evidence.Edge{From: 2, To: 1, Dep: evidence.RW, Writer: 3}, "1")
	claim("s1: a(0,1) a(0,2) | s2: a(0,1) | s3: r(0,[1])", ser,
		"transaction 1 is not the only transaction that appended 1",
		func(func(string) uint32) evidence.Anomaly {
			return evidence.Anomaly{Kind: level.G1b, Ops: []uint32{3, 0}, Txns: []uint32{0, 2}}
		})
	edge("s1: w(0,1) | s2: w(0,1) | s3: r(0,1) r(0,1)", rc,
		"cannot certify the writers of two reads at read-committed: transaction 3 reads 1 twice, and each read may "+
			"have its own writer", wr(0, 2), "1")

	const rows = `s1: w(0,4) | s2: pr{"":{">=":5}}[] | s3: w(0,7) | s4: pr{"":{">=":5}}[0=7] | s5: r(0,4) | s6: w(0,3)`
	pwr := func(from, to, op, writer uint32) evidence.Edge {
		return evidence.Edge{From: from, To: to, Dep: evidence.PWR, Op: op, Writer: writer}
	}
	prw := func(to uint32) evidence.Edge {
		return evidence.Edge{From: 1, To: to, Dep: evidence.PRW, Op: 1, Writer: 0}
	}
	edge(rows, ser, "the edge names a writer besides the transaction that it starts at", pwr(0, 1, 1, 0), "4")
	edge(rows, ser, "the predicate operation cannot have seen this version of 0", pwr(2, 1, 1, none), "7")
	edge(rows, ser, "version 4294967295 differs from the one that the certificate gives the predicate operation",
		pwr(0, 1, 1, none), "")
	edge(rows, ser, "transaction 5 does not overwrite 0", prw(4), "4")
	edge(rows, ser, "the predicate operation may have seen transaction 6's version of 0", prw(5), "4")
	edge(rows, ser, "the operation matched a known version of 0", pwr(0, 3, 3, none), "4")

	stamped := func(text string, r evidence.Result, want string) {
		r.H, r.Timestamps = notation.MustParse(text), true
		add(&r, want)
	}
	const si, ssi = level.SnapshotIsolation, level.SessionSnapshotIsolation
	stamped("s1: w(0,1) ts[_,3]", evidence.Result{Level: si, Verdict: evidence.Holds, Order: []uint32{0, 1}},
		"transaction 1 has no start timestamp, or one after its commit")
	stamped("s1: w(0,1) ts[_,3]", evidence.Result{Level: si, Verdict: evidence.Violated,
		Anomalies: []evidence.Anomaly{{Kind: level.Session, Txns: []uint32{0}}}},
		"transaction 1 has no start timestamp, or one after its commit")
	stamped("s1: w(0,1) ? ts[5,6] | s1: w(1,1) ts[1,2]", evidence.Result{Level: ssi, Verdict: evidence.Holds,
		Order: []uint32{2, 3, 0, 1}}, "transaction 2 starts before its predecessor in the session, transaction 1, ends")
	stamped(`s1: w(0,7) ts[1,2] | s2: pr{"":{">=":5}}[0=7] ts[3,4]`, evidence.Result{Level: si,
		Verdict:   evidence.Violated,
		Anomalies: []evidence.Anomaly{{Kind: level.Ext, Txns: []uint32{1}, Ops: []uint32{1}}}},
		"the read shows the row in the version that its snapshot has, as it should")
	return out
}
