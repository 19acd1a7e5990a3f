package certify_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"isovet/certify"
	"isovet/check"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/histtest/notation"
	"isovet/level"
)

// TestMutants tries to have false certificates accepted: certificates of every kind are taken from the checkers on
// small random histories or made up, and changed as structures, as text, or by changing the history; whatever isovet
// verify accepts then must be true by brute force, and nothing may panic. ISOVET_MUTANTS is how many are tried,
// ISOVET_MUTANT_SEED the first seed: each seed is a history, and says the same again.
func TestMutants(t *testing.T) {
	number := func(name string, or uint64) uint64 {
		n, err := strconv.ParseUint(os.Getenv(name), 10, 64)
		if err != nil {
			return or
		}
		return n
	}
	most, first := number("ISOVET_MUTANTS", 6000), number("ISOVET_MUTANT_SEED", 0)
	var next, tried, failed atomic.Uint64
	next.Store(first)
	var mu sync.Mutex
	total := map[string]int{}
	said := time.Now()
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for tried.Load() < most && failed.Load() < 10 {
				seed := next.Add(1) - 1
				f := forgery{seed: seed, rng: rand.New(rand.NewPCG(seed, 0xdead)), count: map[string]int{}}
				if why := f.run(); why != "" {
					failed.Add(1)
					t.Errorf("seed %d: %s", seed, why)
				}
				tried.Add(uint64(f.tried))
				mu.Lock()
				for k, n := range f.count {
					total[k] += n
				}
				if time.Since(said) > time.Minute {
					said = time.Now()
					fmt.Printf("seeds %d to about %d: %d mutants\n", first, seed, tried.Load())
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	var lines []string
	for _, k := range slices.Sorted(maps.Keys(total)) {
		lines = append(lines, fmt.Sprintf("%s %d", k, total[k]))
	}
	t.Logf("seeds %d to %d: %d mutants: %s", first, next.Load()-1, tried.Load(), strings.Join(lines, ", "))
	for _, k := range []string{"accepted valid", "accepted violation", "refused valid", "refused violation"} {
		if total[k] == 0 {
			t.Errorf("no mutant was %s", k)
		}
	}
}

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
	var wrongName *certify.NameError
	ok := "refused"
	switch {
	case err == nil:
		ok = "accepted"
	case errors.As(err, &wrongName): // the proof is said to be right
		ok = "misnamed"
		c := *r
		c.Anomalies = slices.Clone(r.Anomalies)
		for i := range c.Anomalies {
			if &r.Anomalies[i] == wrongName.Of {
				c.Anomalies[i].Kind = wrongName.Shows
			}
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

// texts changes certificates as JSON and as bytes.
func (f *forgery) texts(genuine []*evidence.Result) string {
	f.what = "a changed text"
	rng := f.rng
	var all [][]byte
	for _, r := range genuine {
		var b bytes.Buffer
		if err := evidence.WriteCertificate(&b, r); err != nil {
			return err.Error()
		}
		all = append(all, b.Bytes())
	}
	for _, text := range all {
		for i := range 12 {
			if f.cert = f.changedText(text, all); i%3 == 0 {
				f.cert = slices.Clone(text)
				for range 1 + rng.IntN(2) {
					f.cert = changedBytes(rng, f.cert)
				}
			}
			r, err := certify.Verify(bytes.NewReader(f.cert), f.s.h, f.options())
			if why := f.judge(f.s, r, err); why != "" {
				return why
			}
		}
	}
	return ""
}

// changedBytes replaces, inserts, deletes or repeats some bytes.
func changedBytes(rng *rand.Rand, text []byte) []byte {
	if len(text) == 0 {
		return text
	}
	from := bytes.IndexByte(text, '\n')
	if from < 0 || from == len(text)-1 || rng.IntN(3) == 0 {
		from = 0
	}
	i := from + rng.IntN(len(text)-from)
	const letters = `0123456789[]{},:"-enwrstop. ` + "\n"
	switch rng.IntN(4) {
	case 0:
		text[i] = letters[rng.IntN(len(letters))]
		return text
	case 1:
		return slices.Insert(text, i, letters[rng.IntN(len(letters))])
	case 2:
		return slices.Delete(text, i, min(i+1+rng.IntN(3), len(text)))
	}
	j := min(i+rng.IntN(40), len(text))
	return slices.Insert(text, i, slices.Clone(text[i:j])...)
}

// changedText changes parts of a certificate's JSON: a scalar for another, an element away, twice, or in another's
// place.
func (f *forgery) changedText(text []byte, all [][]byte) []byte {
	rng := f.rng
	lines := decode(text)
	others := decode(pick(rng, all))
	for range 1 + rng.IntN(3) {
		f.changeNode(lines, others)
	}
	if rng.IntN(3) > 0 && len(lines) > 0 { // the counts right
		if head, ok := lines[0].(map[string]any); ok {
			if _, ok := head["anomalies"]; ok {
				head["anomalies"] = len(lines) - 1
			} else if len(lines) > 1 && head["order"] != nil {
				if l, ok := lines[1].([]any); ok {
					head["order"] = len(l)
				}
			}
		}
	}
	var b bytes.Buffer
	for _, l := range lines {
		line, err := json.Marshal(l)
		if err != nil {
			panic(err)
		}
		b.Write(append(line, '\n'))
	}
	return b.Bytes()
}

func decode(text []byte) (lines []any) {
	for line := range bytes.Lines(text) {
		d := json.NewDecoder(bytes.NewReader(line))
		d.UseNumber()
		var x any
		if d.Decode(&x) == nil {
			lines = append(lines, x)
		}
	}
	return lines
}

// A place is where something stands in JSON.
type place struct {
	list []any
	dict map[string]any
	at   int
	name string
}

func (p place) get() any {
	if p.dict != nil {
		return p.dict[p.name]
	}
	return p.list[p.at]
}

func (p place) set(x any) {
	if p.dict != nil {
		p.dict[p.name] = x
	} else {
		p.list[p.at] = x
	}
}

func places(x any, name string, out *[]place) {
	switch x := x.(type) {
	case []any:
		for i := range x {
			*out = append(*out, place{list: x, at: i, name: name})
			places(x[i], name, out)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(x)) {
			if k == "history" || k == "format" || k == "version" || k == "text" || k == "checker" {
				continue
			}
			*out = append(*out, place{dict: x, name: k})
			places(x[k], k, out)
		}
	}
}

func (f *forgery) changeNode(lines, others []any) {
	rng := f.rng
	var ps, qs []place
	places(lines, "", &ps)
	places(others, "", &qs)
	p := pick(rng, ps)
	var same []place
	for _, q := range append(ps, qs...) {
		if q.name == p.name {
			same = append(same, q)
		}
	}
	l, isList := p.get().([]any)
	switch n := rng.IntN(8); {
	case n < 3 && len(same) > 0:
		p.set(copied(pick(rng, same).get()))
	case n == 3 && isList && len(l) > 0:
		i := rng.IntN(len(l))
		p.set(slices.Delete(slices.Clone(l), i, i+1))
	case n == 4 && isList && len(l) > 0:
		p.set(slices.Insert(slices.Clone(l), rng.IntN(len(l)), copied(pick(rng, l))))
	case n == 5 && isList && len(l) > 1:
		i, j := rng.IntN(len(l)), rng.IntN(len(l))
		l[i], l[j] = l[j], l[i]
	case n == 6 && p.dict != nil:
		delete(p.dict, p.name)
	default:
		h := f.s.h
		switch {
		case p.name == "dep":
			p.set(pick(rng, deps).String())
		case p.name == "kind":
			p.set(string(pick(rng, level.Anomalies())))
		case p.name == "level":
			p.set(pick(rng, []string{"", "ts:", "items:"}) + pick(rng, level.All()).String())
		case p.name == "verdict":
			p.set(pick(rng, []string{"valid", "violation", "unknown"}))
		case p.name == "value" || p.name == "key":
			p.set(json.RawMessage(h.ValueString(uint32(rng.IntN(max(h.NumVersions(), 1))))))
		case rng.IntN(10) == 0:
			p.set(pick(rng, []any{nil, true, "x", -1, int64(math.MaxInt64), uint64(math.MaxUint64), 1.5, []any{},
				map[string]any{}}))
		default:
			p.set(h.Txns.ID[rng.IntN(h.NumTxns())])
		}
	}
}

func copied(x any) any {
	switch x := x.(type) {
	case []any:
		out := make([]any, len(x))
		for i := range x {
			out[i] = copied(x[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(x))
		for k := range x {
			out[k] = copied(x[k])
		}
		return out
	}
	return x
}

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
			err := certify.Check(r, f.options())
			var wrong *certify.NameError
			if errors.As(err, &wrong) {
				r.Anomalies[0].Kind = wrong.Shows
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
