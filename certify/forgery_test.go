package certify_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"isovet/certify"
	"isovet/check"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest/notation"
	"isovet/level"
)

// forgery is what is tried on one history.
type forgery struct {
	seed  uint64
	rng   *rand.Rand
	s     *scene
	tried int
	count map[string]int
	what  string // what is being tried
	cert  []byte
}

// run returns what is wrong, "" if nothing is.
func (f *forgery) run() (why string) {
	defer func() {
		if p := recover(); p != nil {
			why = fmt.Sprintf("panic: %v\n%s\n%s", p, f.about(), debug.Stack())
		}
	}()
	f.s = randomScene(f.seed)
	if n := f.s.h.NumTxns(); n == 0 || n > maxOracle+1 {
		return ""
	}
	genuine := f.genuine()
	for _, try := range []func(genuine []*evidence.Result) string{f.structures, f.texts, f.histories, f.madeUp,
		f.orders} {
		if why := try(genuine); why != "" {
			return why
		}
	}
	return ""
}

func (f *forgery) about() string {
	if f.s == nil {
		return "while the history was made"
	}
	return fmt.Sprintf("%s, with clocks off by %d:\n%s\n%s", f.what, f.s.skew, notation.Format(f.s.h), f.cert)
}

func (f *forgery) options() certify.Options {
	return certify.Options{ClockSkew: f.s.skew, MaxConflicts: 2000}
}

// judge looks at an answer of the certifier.
func (f *forgery) judge(s *scene, r *evidence.Result, err error) string {
	f.tried++
	ok := "refused"
	switch {
	case err == nil:
		ok = "accepted"
	case strings.Contains(err.Error(), "its cycles show "): // the proof claims to be right
		ok = "misnamed"
		names, err := certify.Names(r, f.options())
		if err != nil { // another of its anomalies is wrong
			ok = "refused"
			break
		}
		c := *r
		c.Anomalies = slices.Clone(r.Anomalies)
		for i := range c.Anomalies {
			c.Anomalies[i].Kind = names[i]
		}
		r = &c
	}
	if r == nil {
		f.count["unreadable"]++
		return ""
	}
	f.count[ok+" "+r.Verdict.String()]++
	if ok == "refused" || r.Verdict == evidence.Unknown {
		return ""
	}
	if ok == "misnamed" { // the other anomalies have not been looked at
		v, _ := s.truth(question{r.Level, r.Timestamps, r.ReadOnlyAtStart})
		if v != evidence.Holds {
			return ""
		}
	}
	if why := s.false(r); why != "" {
		var b bytes.Buffer
		if werr := evidence.WriteCertificate(&b, r); werr == nil {
			f.cert = b.Bytes()
		}
		f.s = s
		return fmt.Sprintf("a false certificate is %s: %s\n%s", ok, why, f.about())
	}
	return ""
}

// genuine returns what some checkers say, at every level.
func (f *forgery) genuine() (out []*evidence.Result) {
	h := f.s.h
	f.what = "checking"
	all := check.All()
	for _, l := range level.All() {
		for range 2 {
			c := pick(f.rng, all)
			in := c.Info()
			if !slices.Contains(in.Levels, l) || in.Hidden {
				continue
			}
			o := check.Options{Level: l, ClockSkew: f.s.skew, ReadOnlyAtStart: in.Timestamps && l.Serial() &&
				f.rng.IntN(2) == 0}
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			r, err := safely(func() (*evidence.Result, error) { return check.Run(ctx, c, h, o) })
			cancel()
			if err != nil || r == nil || r.Verdict == evidence.Unknown {
				continue
			}
			f.count["from "+in.Name]++
			out = append(out, r)
		}
	}
	return out
}

// safely has a checker's panic be an error: other tests are about those.
func safely(f func() (*evidence.Result, error)) (r *evidence.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			r, err = nil, fmt.Errorf("%v", p)
		}
	}()
	return f()
}

// structures changes results one to three times and hands them to the certifier as they are, numbers out of all ranges
// included.
func (f *forgery) structures(genuine []*evidence.Result) string {
	f.what = "a changed structure"
	for _, r := range genuine {
		f.what = "a checker's answer"
		if why := f.judge(f.s, r, certify.Check(r, f.options())); why != "" {
			return why
		}
		f.what = "a changed structure"
		for range 15 {
			c := f.changed(r, genuine)
			if why := f.judge(f.s, c, certify.Check(c, f.options())); why != "" {
				return why
			}
		}
	}
	return ""
}

// changed returns a copy of an answer with some things changed.
func (f *forgery) changed(r *evidence.Result, genuine []*evidence.Result) *evidence.Result {
	rng := f.rng
	c := own(r)
	for range 1 + rng.IntN(3) {
		switch n := rng.IntN(10); {
		case n == 0:
			c.Level = pick(rng, level.All())
		case n == 1:
			c.Timestamps = rng.IntN(2) == 0
			c.ReadOnlyAtStart = rng.IntN(2) == 0
		case n == 2:
			o := own(pick(rng, genuine))
			c.Verdict, c.Order, c.Sources = o.Verdict, o.Order, o.Sources
			c.Anomalies = append(c.Anomalies, o.Anomalies...)
			if c.Verdict == evidence.Holds {
				c.Anomalies = nil
			}
		case n == 3 && len(c.Sources) > 0:
			i := rng.IntN(len(c.Sources))
			c.Sources[i].Writer = f.number(f.s.h.NumTxns())
			c.Sources[rng.IntN(len(c.Sources))].Op = f.number(f.s.h.NumOps())
		case len(c.Order) > 0:
			f.permute(&c)
		case len(c.Anomalies) > 0:
			f.mangle(&c.Anomalies[rng.IntN(len(c.Anomalies))])
		}
	}
	if rng.IntN(2) == 0 {
		for i := range c.Anomalies {
			c.Anomalies[i].Txns = involved(f.s.h, &c.Anomalies[i])
		}
	}
	return &c
}

// own returns a copy that shares nothing.
func own(r *evidence.Result) evidence.Result {
	c := *r
	c.Order, c.Sources = slices.Clone(r.Order), slices.Clone(r.Sources)
	c.Anomalies = slices.Clone(r.Anomalies)
	for i := range c.Anomalies {
		a := &c.Anomalies[i]
		a.Txns, a.Ops, a.Cycle = slices.Clone(a.Txns), slices.Clone(a.Ops), slices.Clone(a.Cycle)
		a.Cycles, a.Dead = slices.Clone(a.Cycles), slices.Clone(a.Dead)
		for j := range a.Cycles {
			a.Cycles[j] = slices.Clone(a.Cycles[j])
		}
		for j := range a.Dead {
			a.Dead[j] = slices.Clone(a.Dead[j])
		}
	}
	return c
}

// number is one below n most often.
func (f *forgery) number(n int) uint32 {
	if f.rng.IntN(12) == 0 || n == 0 {
		return pick(f.rng, []uint32{history.None, history.None - 1, uint32(n), 1 << 31, uint32(n) + 1})
	}
	return uint32(f.rng.IntN(n))
}

func (f *forgery) permute(c *evidence.Result) {
	rng := f.rng
	i, j := rng.IntN(len(c.Order)), rng.IntN(len(c.Order))
	switch rng.IntN(4) {
	case 0, 1:
		c.Order[i], c.Order[j] = c.Order[j], c.Order[i]
	case 2:
		c.Order = slices.Delete(c.Order, i, i+1)
	default:
		c.Order = slices.Insert(c.Order, i, f.number(2*f.s.h.NumTxns()))
	}
}

var deps = []evidence.Dep{evidence.SO, evidence.RT, evidence.WR, evidence.WW, evidence.RW, evidence.PWR, evidence.PRW,
	evidence.TS}

func (f *forgery) mangle(a *evidence.Anomaly) {
	rng := f.rng
	h := f.s.h
	switch rng.IntN(8) {
	case 0:
		a.Kind = pick(rng, append(level.Anomalies(), level.Session, level.Int, level.Ext, level.NoConflict,
			level.Timestamps))
		if rng.IntN(4) == 0 {
			a.Kind += pick(rng, []level.Anomaly{"-session", "-realtime"})
		}
	case 1:
		a.Key = f.number(h.NumKeys())
	case 2:
		if len(a.Txns) > 0 {
			a.Txns[rng.IntN(len(a.Txns))] = f.number(h.NumTxns())
		}
	case 3:
		if len(a.Ops) > 0 {
			a.Ops[rng.IntN(len(a.Ops))] = f.number(h.NumOps())
		} else {
			a.Ops = append(a.Ops, f.number(h.NumOps()))
		}
		if rng.IntN(4) == 0 {
			a.Ops = append(a.Ops, f.number(h.NumOps()))
		}
		if rng.IntN(3) == 0 {
			a.Cycle, a.Cycles = nil, nil
		}
	case 4:
		if len(a.Dead) > 0 && rng.IntN(2) == 0 {
			i := rng.IntN(len(a.Dead))
			a.Dead = slices.Delete(a.Dead, i, i+1)
		} else {
			a.Dead = append(a.Dead, []uint32{f.number(h.NumOps()), f.number(h.NumOps())}[:rng.IntN(3)])
		}
	case 5:
		if len(a.Cycles) > 0 {
			i := rng.IntN(len(a.Cycles))
			a.Cycles = slices.Delete(a.Cycles, i, i+1)
		} else if len(a.Cycle) > 0 {
			a.Cycles = append(a.Cycles, slices.Clone(a.Cycle))
			slices.Reverse(a.Cycles[0])
		}
	default:
		c := a.Cycle
		if len(a.Cycles) > 0 && (len(c) == 0 || rng.IntN(2) == 0) {
			c = pick(rng, a.Cycles)
		}
		if len(c) == 0 {
			return
		}
		e := &c[rng.IntN(len(c))]
		switch rng.IntN(8) {
		case 0:
			e.From, e.To = e.To, e.From
		case 1:
			e.From = f.number(h.NumTxns())
		case 2:
			e.To = f.number(h.NumTxns())
		case 3:
			e.Key = f.number(h.NumKeys())
		case 4:
			e.Ver = f.number(h.NumVersions())
		case 5:
			e.Writer = f.number(h.NumTxns())
		case 6:
			e.Op = f.number(h.NumOps())
		default:
			e.Dep = pick(rng, deps)
		}
	}
}

// involved lists the transactions of an anomaly, as a certificate must.
func involved(h *history.History, a *evidence.Anomaly) (out []uint32) {
	add := func(t uint32) {
		if int(t) < h.NumTxns() && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	for _, ops := range append([][]uint32{a.Ops}, a.Dead...) {
		for _, op := range ops {
			if int(op) < h.NumOps() {
				add(h.TxnOf(op))
			}
		}
	}
	for _, c := range append([][]evidence.Edge{a.Cycle}, a.Cycles...) {
		for _, e := range c {
			add(e.From)
			add(e.To)
			if (e.Dep == evidence.RW || e.Dep == evidence.PRW) && e.Writer != h.Init {
				add(e.Writer)
			}
		}
	}
	return out
}

// orders tries orders at random, at each level and by timestamps.
func (f *forgery) orders([]*evidence.Result) string {
	f.what = "an order at random"
	h := f.s.h
	var part []uint32
	for t := range uint32(h.NumTxns()) {
		if t != h.Init && (h.Txns.Status[t] == history.Committed || h.Txns.Status[t] == history.Unknown &&
			f.rng.IntN(2) == 0) {
			part = append(part, t)
		}
	}
	for _, l := range level.All() {
		for range 4 {
			r := &evidence.Result{Verdict: evidence.Holds, Level: l, H: h, Timestamps: f.rng.IntN(4) == 0,
				ReadOnlyAtStart: f.rng.IntN(4) == 0}
			order := slices.Clone(part)
			f.rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
			if l.Snapshot() {
				for _, t := range order {
					r.Order = append(r.Order, t<<1)
				}
				for _, t := range order { // each commit somewhere behind its begin
					i := slices.Index(r.Order, t<<1)
					r.Order = slices.Insert(r.Order, i+1+f.rng.IntN(min(2, len(r.Order)-i)), t<<1|1)
				}
			} else {
				r.Order = order
			}
			if why := f.judge(f.s, r, certify.Check(r, f.options())); why != "" {
				return why
			}
		}
	}
	return ""
}
