package certify_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"isovet/certify"
	"isovet/evidence"
	"isovet/history"
	"isovet/level"
)

// histories keeps certificates and changes the history, with the hash of the changed one.
func (f *forgery) histories(genuine []*evidence.Result) string {
	f.what = "a changed history"
	if len(genuine) == 0 {
		return ""
	}
	old := []byte(evidence.ContentHash(f.s.h))
	var all [][]byte
	for _, r := range genuine {
		var b bytes.Buffer
		if err := evidence.WriteCertificate(&b, r); err != nil {
			return err.Error()
		}
		all = append(all, b.Bytes())
	}
	before := f.s
	for range 6 {
		s := specOf(before.h)
		for range 1 + f.rng.IntN(2) {
			s.mutate(f.rng)
		}
		h, err := s.build()
		if err != nil || h.NumTxns() == 0 {
			continue
		}
		now := newScene(h, before.skew)
		hash := []byte(evidence.ContentHash(h))
		counts := fmt.Appendf(nil, `"txns":%d,"ops":%d,"sha256"`, before.h.NumTxns(), before.h.NumOps())
		f.s = now
		for _, text := range all {
			f.cert = bytes.Replace(bytes.Replace(text, old, hash, 1), counts, fmt.Appendf(nil,
				`"txns":%d,"ops":%d,"sha256"`, h.NumTxns(), h.NumOps()), 1)
			r, err := certify.Verify(bytes.NewReader(f.cert), h, f.options())
			if why := f.judge(now, r, err); why != "" {
				return why
			}
		}
	}
	f.s = before
	return ""
}

// madeUp tries proofs made of whatever edges the certifier takes for true, of operations at random, and of both.
func (f *forgery) madeUp([]*evidence.Result) string {
	f.what = "a proof made up"
	rng, h := f.rng, f.s.h
	all := append(likely(h), likelyPredicates(h)...)
	for _, l := range level.All() {
		ok := f.taken(l, all)
		for range 12 {
			r := &evidence.Result{Verdict: evidence.Violated, Level: l, H: h}
			a := evidence.Anomaly{Kind: level.G0}
			switch {
			case len(ok) > 0 && rng.IntN(3) > 0:
				for range 1 + rng.IntN(1+rng.IntN(30)) {
					if c := closed(rng, ok); c != nil {
						a.Cycles = append(a.Cycles, c)
					}
				}
				if len(a.Cycles) > 1 && rng.IntN(3) == 0 {
					a.Cycle, a.Cycles = a.Cycles[0], a.Cycles[1:]
				}
			default:
				a.Kind = pick(rng, append(level.Anomalies(), level.Session, level.Int, level.Ext, level.NoConflict,
					level.Timestamps))
				for range 1 + rng.IntN(2) {
					a.Ops = append(a.Ops, f.number(h.NumOps()))
				}
				if rng.IntN(2) == 0 && h.NumKeys() > 0 {
					a.Key = uint32(rng.IntN(h.NumKeys()))
				}
				if a.Kind == level.G1a && rng.IntN(2) == 0 {
					a.Ops = a.Ops[:1]
					for range 1 + rng.IntN(3) {
						a.Dead = append(a.Dead, []uint32{f.number(h.NumOps()), f.number(h.NumOps())}[:1+rng.IntN(2)])
					}
				}
				r.Timestamps = rng.IntN(2) == 0 || !slices.Contains(level.Anomalies(), a.Kind)
				r.ReadOnlyAtStart = rng.IntN(3) == 0
				a.Why = pick(rng, []string{"", "never written", "own", "aborted", "intermediate", "before",
					"uncommitted", "after", "phantom"})
			}
			if a.Txns = involved(h, &a); r.Timestamps && rng.IntN(2) == 0 {
				a.Ops = nil
				a.Txns = []uint32{f.number(h.NumTxns()), f.number(h.NumTxns())}[:1+rng.IntN(2)]
			}
			r.Anomalies = []evidence.Anomaly{a}
			names, err := certify.Names(r, f.options())
			if err == nil && names != nil {
				r.Anomalies[0].Kind = names[0]
				err = certify.Check(r, f.options())
			}
			if why := f.judge(f.s, r, err); why != "" {
				return why
			}
		}
	}
	return ""
}

// taken returns those of the edges that the certifier takes for true, or as an assumption: the next edge is what it
// minds.
func (f *forgery) taken(l level.Level, all []evidence.Edge) (out []evidence.Edge) {
	for _, i := range f.rng.Perm(len(all)) {
		if e := all[i]; len(out) < 60 {
			a := evidence.Anomaly{Kind: level.G0, Cycle: []evidence.Edge{e, {From: e.To, To: e.From, Dep: evidence.TS,
				Key: history.None, Ver: history.None, Writer: history.None}}}
			a.Txns = involved(f.s.h, &a)
			err := certify.Check(&evidence.Result{Verdict: evidence.Violated, Level: l, H: f.s.h,
				Anomalies: []evidence.Anomaly{a}}, f.options())
			if err != nil && strings.Contains(err.Error(), "edges of kind ts") {
				out = append(out, e)
			}
		}
	}
	return out
}

// closed finds a short closed walk.
func closed(rng *rand.Rand, edges []evidence.Edge) []evidence.Edge {
	c := []evidence.Edge{pick(rng, edges)}
	for range 4 {
		var next []evidence.Edge
		for _, e := range edges {
			if e.From == c[len(c)-1].To {
				if e.To == c[0].From && rng.IntN(2) == 0 {
					return append(c, e)
				}
				next = append(next, e)
			}
		}
		if len(next) == 0 {
			return nil
		}
		c = append(c, pick(rng, next))
		if c[len(c)-1].To == c[0].From {
			return c
		}
	}
	return nil
}

// likelyPredicates lists edges of predicate operations, and of items that they read or wrote.
func likelyPredicates(h *history.History) (out []evidence.Edge) {
	if !h.HasPredicates() {
		return nil
	}
	n := uint32(h.NumTxns())
	wrote := make([]map[uint32]uint32, n) // transaction → key → the version that it wrote last
	read := make([]map[uint32]bool, n)    // versions
	for t := range n {
		wrote[t], read[t] = map[uint32]uint32{}, map[uint32]bool{}
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi; op++ {
			v := h.Ops.Ver[op]
			switch h.Ops.Kind[op] {
			case history.Write:
				wrote[t][h.VerKey[v]] = v
			case history.Read:
				read[t][v] = true
			case history.PredRead, history.PredWrite:
				for r := h.Preds.Off[v]; r < h.Preds.Off[v+1]; r++ {
					if old := h.Preds.Old[r]; old != history.None {
						read[t][old] = true
					}
					if w := h.Preds.New[r]; w != history.None {
						wrote[t][h.VerKey[w]] = w
					}
				}
			}
		}
	}
	writers := []uint32{history.None}
	for t := range n {
		writers = append(writers, t)
	}
	for a := range n {
		for b := range n {
			if a == b {
				continue
			}
			for k, w := range wrote[b] {
				if _, also := wrote[a][k]; also {
					out = append(out, evidence.Edge{From: a, To: b, Dep: evidence.WW, Key: k, Ver: w,
						Writer: history.None})
				}
				for v := range read[a] {
					if h.VerKey[v] == k {
						for _, by := range writers {
							out = append(out, evidence.Edge{From: a, To: b, Dep: evidence.RW, Key: k, Ver: v,
								Writer: by})
						}
					}
				}
			}
			for v := range read[b] {
				out = append(out, evidence.Edge{From: a, To: b, Dep: evidence.WR, Key: h.VerKey[v], Ver: v,
					Writer: history.None})
			}
			for _, dep := range []evidence.Dep{evidence.PWR, evidence.PRW} {
				t, by := b, []uint32{history.None}
				if dep == evidence.PRW {
					t, by = a, writers
				}
				lo, hi := h.TxnOps(t)
				for op := lo; op < hi; op++ {
					if k := h.Ops.Kind[op]; k != history.PredRead && k != history.PredWrite {
						continue
					}
					for k := range uint32(h.NumKeys()) {
						for _, w := range by {
							ver := h.InitVer[k]
							from := w
							if dep == evidence.PWR {
								from = a
							}
							if from != history.None && from != h.Init {
								ver = wrote[from][k]
							}
							out = append(out, evidence.Edge{From: a, To: b, Dep: dep, Key: k, Ver: ver, Writer: w,
								Op: op})
						}
					}
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b evidence.Edge) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return out
}
