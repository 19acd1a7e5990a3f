package prepass_test

import (
	"fmt"
	"slices"
	"testing"

	"isovet/certify"
	"isovet/check/prepass"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/oracle"
	"isovet/level"
	"isovet/predicates"
)

// event is what an operation does to one key: of a predicate operation each row that matched a known version is a
// read, and each row that it wrote a write, after the reads.
type event struct {
	op, key, ver uint32
	write        bool
}

func events(h *history.History, t uint32) (out []event) {
	lo, hi := h.TxnOps(t)
	for op := lo; op < hi; op++ {
		q := h.Ops.Ver[op]
		switch h.Ops.Kind[op] {
		case history.Read:
			out = append(out, event{op, h.VerKey[q], q, false})
		case history.Write:
			out = append(out, event{op, h.VerKey[q], q, true})
		case history.PredRead, history.PredWrite:
			p := &h.Preds
			for r := p.Off[q]; r < p.Off[q+1]; r++ {
				if v := p.Old[r]; v != history.None {
					out = append(out, event{op, h.VerKey[v], v, false})
				}
			}
			for r := p.Off[q]; r < p.Off[q+1] && h.Ops.Kind[op] == history.PredWrite; r++ {
				out = append(out, event{op, h.VerKey[p.New[r]], p.New[r], true})
			}
		}
	}
	return out
}

// installs returns t's last write of each key.
func installs(h *history.History, t uint32) map[uint32]uint32 {
	out := map[uint32]uint32{}
	for _, e := range events(h, t) {
		if e.write {
			out[e.key] = e.ver
		}
	}
	return out
}

// externals returns t's reads that others must explain: the first of each key, each: all, before its own write of the
// key.
func externals(h *history.History, t uint32, each bool) (out []event) {
	wrote, read := map[uint32]bool{}, map[uint32]bool{}
	for _, e := range events(h, t) {
		if e.write {
			wrote[e.key] = true
		} else if !wrote[e.key] && (each || !read[e.key]) {
			read[e.key] = true
			out = append(out, e)
		}
	}
	return out
}

// matches reports whether a predicate operation has a row of the key.
func matches(h *history.History, op, key uint32) bool {
	q := h.Ops.Ver[op]
	for r := h.Preds.Off[q]; r < h.Preds.Off[q+1]; r++ {
		if h.RowKey(r) == key {
			return true
		}
	}
	return false
}

// agrees holds a view against these definitions. all: every outcome is known.
func agrees(h *history.History, v *prepass.View, each, all bool) error {
	var txns []uint32
	for t := range uint32(h.NumTxns()) {
		if t != h.Init && h.Txns.Status[t] == history.Committed != v.Counts[t] && all {
			return fmt.Errorf("transaction %d counts: %v", t, v.Counts[t])
		}
		if !v.Counts[t] {
			continue
		}
		txns = append(txns, t)
		mine := installs(h, t)
		for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
			if ver, ok := mine[v.WKey[w]]; !ok || ver != v.WVer[w] || v.WTxn[w] != t {
				return fmt.Errorf("transaction %d installs %d at key %d; by definition %v", t, v.WVer[w], v.WKey[w],
					mine)
			}
		}
		if n := int(v.WOff[t+1] - v.WOff[t]); n != len(mine) {
			return fmt.Errorf("transaction %d has %d writes; by definition %v", t, n, mine)
		}
		var got []event
		for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
			got = append(got, event{v.ROp(r), v.RKey[r], v.RVer(r), false})
			if !all {
				continue
			}
			var from []uint32 // who could have written it, None: the initial version
			if h.InitVer[v.RKey[r]] == v.RVer(r) {
				from = append(from, history.None)
			}
			for u := range uint32(h.NumTxns()) {
				ver, ok := installs(h, u)[v.RKey[r]]
				if u != t && u != h.Init && h.Txns.Status[u] != history.Aborted && ok && ver == v.RVer(r) {
					from = append(from, u)
				}
			}
			var said []uint32
			if w := v.RW[r]; w != history.None {
				said = append(said, v.WTxn[w])
			} else if i, ok := slices.BinarySearch(v.Amb, r); ok {
				for _, w := range v.Cand[v.CandOff[i]:v.CandOff[i+1]] {
					said = append(said, v.WTxn[w])
				}
			}
			slices.Sort(said)
			slices.Sort(from)
			if !slices.Equal(said, from) && len(v.Anomalies) == 0 {
				return fmt.Errorf("read %d of transaction %d saw one of %v; by definition %v", r, t, said, from)
			}
		}
		if want := externals(h, t, each); !slices.Equal(got, want) && len(v.Anomalies) == 0 {
			return fmt.Errorf("transaction %d has the external reads %v; by definition %v", t, got, want)
		}
	}
	return readers(v, txns)
}

// readers holds Readers against looking at every read for every write.
func readers(v *prepass.View, txns []uint32) error {
	off, got := v.Readers(txns)
	for w := range uint32(len(v.WKey)) {
		var want []int32
		for i, t := range txns {
			for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
				if v.RW[r] == w {
					want = append(want, int32(i))
				}
			}
		}
		if !slices.Equal(got[off[w]:off[w+1]], want) {
			return fmt.Errorf("write %d was read by %v; by definition %v", w, got[off[w]:off[w+1]], want)
		}
	}
	return nil
}

// bases holds what predicate operations may have been based on against the definition.
func bases(h *history.History, v *prepass.View) error {
	for i, op := range v.POp {
		t := h.TxnOf(op)
		k := h.Ops.Kind[op]
		if k != history.PredRead && k != history.PredWrite || uint32(i) < v.POff[t] || uint32(i) >= v.POff[t+1] {
			return fmt.Errorf("operation %d is no predicate operation of transaction %d", op, t)
		}
		for key := range uint32(h.NumKeys()) {
			m := prepass.Miss{Op: op, Key: key}
			missed := !matches(h, op, key)
			if v.Missed(m) != missed {
				return fmt.Errorf("operation %d missed key %d: %v", op, key, !missed)
			}
			fits := func(ver uint32) bool {
				truth := v.Index.Truth(h.Ops.Ver[op], key, ver)
				return truth == predicates.Unknown || (truth == predicates.False) == missed
			}
			count := map[uint32]bool{history.None: fits(h.InitVer[key])} // transaction → its version fits
			left := false
			for u := range uint32(h.NumTxns()) {
				ver, ok := installs(h, u)[key]
				if !ok || u == h.Init {
					continue
				}
				left = left || slices.Contains(v.LeftOut, u) && fits(ver)
				if u != t && (v.Counts[u] || slices.Contains(v.Open, u)) {
					count[u] = fits(ver)
				}
			}
			may, others, free := v.Bases(m)
			if free != left || len(may)+len(others) != len(count) {
				return fmt.Errorf("operation %d, key %d: %v %v %v; by definition %v %v", op, key, may, others, free,
					count, left)
			}
			for _, w := range slices.Concat(may, others) {
				if is, ok := count[v.WTxn[w]]; !ok || is != slices.Contains(may, w) || v.WKey[w] != key {
					return fmt.Errorf("operation %d, key %d: %v %v; by definition %v", op, key, may, others, count)
				}
			}
		}
	}
	for _, m := range v.Blind {
		if !matches(h, m.Op, m.Key) {
			return fmt.Errorf("%+v is blind and has no row", m)
		}
		for _, e := range events(h, h.TxnOf(m.Op)) {
			if e.key == m.Key && (e.op < m.Op || !e.write && e.op == m.Op) {
				return fmt.Errorf("%+v is blind, and event %+v says what it saw", m, e)
			}
		}
	}
	return nil
}

// TestPredicateViews: of histories with predicate operations the view is the one by definition; an anomaly of single
// reads is one of which brute force over all orders, and the certificate, say so too.
func TestPredicateViews(t *testing.T) {
	kinds := map[level.Anomaly]int{}
	based, blind, left := 0, 0, 0
	tried := histtest.Search{N: 3000, Long: 300_000,
		Make: func(seed uint64) []byte {
			return histtest.Random(seed, histtest.Shape{Txns: 5, Kinds: []histtest.Kind{histtest.Predicates,
				histtest.Predicates,
				histtest.Single, histtest.Registers}})
		},
		Judge: func(text []byte) error {
			if len(text) == 0 {
				return nil
			}
			h, err := histtest.Read(text)
			if err != nil {
				return nil // a shrunk text may be none
			}
			all := true
			for t := range h.NumTxns() {
				all = all && h.Txns.Status[t] != history.Unknown
			}
			for _, o := range []prepass.Options{{}, {Closed: true}, {EachRead: true}} {
				v := prepass.RunWith(h, o)
				if v.Bad != nil {
					return v.Bad
				}
				if err := agrees(h, v, o.EachRead, all); err != nil {
					return &histtest.Failure{Class: "view", Err: fmt.Errorf("%+v: %w", o, err)}
				}
				if v.Index != nil && !o.EachRead && len(v.Anomalies) == 0 {
					if err := bases(h, v); err != nil {
						return &histtest.Failure{Class: "bases", Err: fmt.Errorf("%+v: %w", o, err)}
					}
					based, blind, left = based+len(v.POp), blind+len(v.Blind), left+len(v.LeftOut)
				}
				l := level.Serializable
				if o.EachRead {
					l = level.ReadCommitted
				}
				for _, a := range v.Anomalies {
					kinds[a.Kind]++
					if err := anomalous(h, l, a); err != nil {
						return &histtest.Failure{Class: "anomaly", Err: fmt.Errorf("%+v: %s: %+v: %w", o, a.Kind, a,
							err)}
					}
				}
			}
			return nil
		},
	}.Run(t)
	if !t.Failed() && tried >= 6000 && (min(based, blind, left) < 50 || len(kinds) < 8) {
		t.Errorf("%d predicate operations, %d blind rows, %d left out, anomalies %v", based, blind, left, kinds)
	}
}

func anomalous(h *history.History, l level.Level, a evidence.Anomaly) error {
	r, err := oracle.Check(h, oracle.Options{Level: l, VerdictOnly: true})
	if err != nil {
		return err
	}
	if r.Verdict == evidence.Holds {
		return fmt.Errorf("brute force finds an order at %s", l)
	}
	a.Complete(h, l, 0)
	r = &evidence.Result{Verdict: evidence.Violated, Level: l, H: h, Anomalies: []evidence.Anomaly{a}}
	return certify.Check(r, certify.Options{})
}
