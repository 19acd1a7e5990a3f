package check

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
	"isovet/level"
)

// mixable are the levels that a history may mix.
var mixable = slices.DeleteFunc(level.All(), func(l level.Level) bool { return l == level.Linearizable })

// tinyMixed is a small history whose transactions name levels: each its own, or all the same, of, where that is given.
func tinyMixed(seed uint64, of ...level.Level) *history.History {
	rnd := rand.New(rand.NewPCG(seed, 39))
	o := random.Options{Txns: 5, Keys: 3, Aborted: seed%3 == 0, Unknown: seed%4 == 1,
		Duplicates: seed/5%3 == 0, Deletes: seed/5%3 > 0}
	var h *history.History
	switch seed % 5 {
	case 0:
		h = random.Few(seed)
	case 1, 2:
		h = random.Lagging(seed, o, seed%2 == 0)
	default:
		h = random.Tiny(seed, o)
	}
	some := mixable
	if seed%3 == 0 { // as programs do
		some = []level.Level{mixable[rnd.IntN(len(mixable))], mixable[rnd.IntN(len(mixable))]}
	}
	if of != nil {
		some = of
	}
	h.Txns.Level = make([]uint32, h.NumTxns())
	for t := range h.Txns.Level {
		h.Txns.Level[t] = history.None
		if of != nil || rnd.IntN(8) > 0 {
			h.Txns.Level[t] = h.Texts.Intern([]byte(some[rnd.IntN(len(some))].String()))
		}
	}
	return h
}

// TestMixedAgainstDefinition compares levels mixed with every order of begins and commits, and Run certifies each
// answer on the way.
func TestMixedAgainstDefinition(t *testing.T) {
	verdicts := map[evidence.Verdict]int{}
	n := histtest.Long[uint64](4000, 100_000)
	histtest.Each(t, n, func(seed uint64) *history.History { return tinyMixed(seed) }, func(t testing.TB, seed uint64,
		h *history.History) {
		l := level.Mixed(mixable[int(seed)%len(mixable)])
		skew := int64(seed % 3)
		got := answer(t, mixedLevels{}, h, Options{Level: l, ClockSkew: skew})
		if got.Verdict == evidence.Unknown {
			if !strings.Contains(got.Reason, "evidence cannot tell") && !strings.Contains(got.Reason, "start and end") {
				t.Fatalf("seed %d: unknown: %s", seed, got.Reason)
			}
		} else if want := newDefinition(h, l, skew).holds(); want != (got.Verdict == evidence.Holds) {
			t.Fatalf("seed %d: %s, by the definition %v\n%s", seed, got.Verdict, want, notation.Format(h))
		}
		verdicts[got.Verdict]++
	})
	histtest.Mix(t, verdicts[evidence.Holds] < int(n)/5 || verdicts[evidence.Violated] < int(n)/5,
		"the mix is lopsided: %v", verdicts)
}

// TestMixedOfOneLevel: where every transaction names one level, the verdict is that of the level.
func TestMixedOfOneLevel(t *testing.T) {
	histtest.Each(t, histtest.Long[uint64](3000, 50_000), func(seed uint64) *history.History {
		return tinyMixed(seed, mixable[int(seed/7)%len(mixable)])
	}, func(t testing.TB, seed uint64, h *history.History) {
		l := mixable[int(seed/7)%len(mixable)]
		got, err := Run(context.Background(), mixedLevels{}, h, Options{Level: level.Mixed(0)})
		if err != nil || got.Verdict == evidence.Unknown {
			return // the other test's matter
		}
		c, _ := Auto(h, l)
		agree(t, answer(t, c, h, Options{Level: l}), got.Verdict)
	})
}

// definition is docs/levels.md on levels mixed, by trial of every order. Of transactions of unknown outcome any may
// take part.
type definition struct {
	h    *history.History
	skew int64
	at   []level.Level
	in   []bool
	// In an order so far: the places of events, -1 for those to come, and what is current.
	begin, commit []int
	events        int
	cur           []int
	src           [][]int // transaction → the writers of its external reads: -1 is the initial state
}

func newDefinition(h *history.History, l level.Level, skew int64) *definition {
	n := h.NumTxns()
	d := &definition{h: h, skew: skew, at: make([]level.Level, n), in: make([]bool, n), begin: make([]int, n),
		commit: make([]int, n), cur: slices.Repeat([]int{-1}, h.NumKeys()), src: make([][]int, n)}
	for t := range n {
		d.at[t] = l.Of(h.LevelName(uint32(t)))
		d.begin[t], d.commit[t] = -1, -1
	}
	return d
}

func (d *definition) holds() bool { return d.choose(0) }

// choose tries who takes part.
func (d *definition) choose(t int) bool {
	switch {
	case t == len(d.in):
		return d.pick(0)
	case uint32(t) == d.h.Init || d.h.Txns.Status[t] == history.Aborted:
		return d.choose(t + 1)
	}
	d.in[t] = true
	if d.choose(t + 1) {
		return true
	}
	d.in[t] = false
	return d.h.Txns.Status[t] == history.Unknown && d.choose(t+1)
}

// pick tries every writer of every read, from transaction t on.
func (d *definition) pick(t int) bool {
	if t == len(d.in) {
		return d.order()
	}
	vers, ok := d.external(t)
	if len(d.src[t]) == len(vers) || !d.in[t] || !ok {
		return (ok || !d.in[t]) && d.pick(t+1)
	}
	v := vers[len(d.src[t])]
	k := d.h.VerKey[v]
	for u := -1; u < len(d.in); u++ {
		if u < 0 && d.h.InitVer[k] != v || u >= 0 && (!d.in[u] || u == t || d.last(u, k) != v) {
			continue
		}
		d.src[t] = append(d.src[t], u)
		if d.pick(t) {
			return true
		}
		d.src[t] = d.src[t][:len(d.src[t])-1]
	}
	return false
}

// order tries every next event.
func (d *definition) order() bool {
	done := true
	for t := range d.in {
		if !d.in[t] || d.commit[t] >= 0 {
			continue
		}
		done = false
		starts := d.begin[t] < 0
		if starts && (!d.mayBegin(t) || !d.reads(t)) {
			continue
		}
		d.events++
		if starts {
			d.begin[t] = d.events
		}
		if !starts || !d.at[t].Snapshot() {
			if d.commits(t) {
				return true
			}
		} else if d.order() {
			return true
		}
		d.events--
		if starts {
			d.begin[t] = -1
		}
	}
	return done
}

// mayBegin: those before it in its session, and those that had ended, must have committed where its level says so.
func (d *definition) mayBegin(t int) bool {
	for u := range d.in {
		if d.in[u] && d.commit[u] < 0 && (d.at[t].Sessions() && d.session(u, t) || d.at[t].RealTime() &&
			d.h.Txns.Status[u] == history.Committed && d.h.End(uint32(u)) < d.h.Start(uint32(t))-2*d.skew) {
			return false
		}
	}
	return true
}

// session: both in one session, u earlier and committed.
func (d *definition) session(u, t int) bool {
	s := d.h.Txns.Sess[t]
	of := d.h.SessTxn[d.h.SessOff[s]:d.h.SessOff[s+1]]
	return u != t && d.h.Txns.Sess[u] == s && d.h.Txns.Status[u] == history.Committed &&
		slices.Index(of, uint32(u)) < slices.Index(of, uint32(t))
}

// commits goes on after the commit of t, unless it conflicts.
func (d *definition) commits(t int) bool {
	was := slices.Clone(d.cur)
	for k := range d.writes(t) {
		for u := range d.in {
			if _, both := d.writes(u)[k]; both && d.at[t].Snapshot() && d.commit[u] > d.begin[t] {
				return false
			}
		}
		d.cur[k] = t
	}
	d.commit[t] = d.events
	found := d.order()
	d.commit[t] = -1
	d.cur = was
	return found
}

// writes are the last writes of t by key.
func (d *definition) writes(t int) map[uint32]uint32 {
	out := map[uint32]uint32{}
	lo, hi := d.h.TxnOps(uint32(t))
	for op := lo; op < hi; op++ {
		if v := d.h.Ops.Ver[op]; d.h.Ops.Kind[op] == history.Write {
			out[d.h.VerKey[v]] = v
		}
	}
	return out
}

// external are the versions that t reads before it writes the key; ok: what it wrote or read itself before it sees.
func (d *definition) external(t int) (vers []uint32, ok bool) {
	wrote, read := map[uint32]uint32{}, map[uint32]uint32{}
	lo, hi := d.h.TxnOps(uint32(t))
	for op := lo; op < hi; op++ {
		v := d.h.Ops.Ver[op]
		k := d.h.VerKey[v]
		if d.h.Ops.Kind[op] == history.Write {
			wrote[k] = v
			continue
		}
		own, is := wrote[k]
		again, twice := read[k]
		switch {
		case is && own != v, !is && twice && again != v && d.at[t] != level.ReadCommitted:
			return nil, false
		case !is:
			vers = append(vers, v)
			read[k] = v
		}
	}
	return vers, true
}

// last is the version of key k that u installs.
func (d *definition) last(u int, k uint32) uint32 {
	if v, ok := d.writes(u)[k]; ok {
		return v
	}
	return history.None
}

// reads: t may read what it does where it begins now.
func (d *definition) reads(t int) bool {
	vers, _ := d.external(t)
	for i, w := range d.src[t] {
		k := d.h.VerKey[vers[i]]
		if w >= 0 && d.commit[w] < 0 {
			return false
		}
		if at := d.at[t]; at.Serial() || at.Snapshot() {
			if d.cur[k] != w {
				return false
			}
			continue
		}
		for u := range d.in {
			if _, writes := d.writes(u)[k]; writes && d.in[u] && u != w && u != t && d.visible(u, t, d.src[t][:i]) &&
				(w < 0 || d.commit[u] > d.commit[w]) {
				return false
			}
		}
	}
	return true
}

// visible: u is visible to t, which has read from those before.
func (d *definition) visible(u, t int, before []int) bool {
	if d.at[t] == level.ReadCommitted {
		return slices.Contains(before, u)
	}
	if d.step(u, t) || d.at[t] == level.ReadAtomic {
		return d.step(u, t)
	}
	for m := range d.in {
		if d.in[m] && m != t && m != u && d.commit[m] >= 0 && d.step(m, t) && d.past(u, m) {
			return true
		}
	}
	return false
}

// past: u is before m by reads and the sessions that levels ask for.
func (d *definition) past(u, m int) bool {
	if d.step(u, m) {
		return true
	}
	for x := range d.in {
		if d.in[x] && d.commit[x] >= 0 && x != m && d.step(x, m) && d.past(u, x) {
			return true
		}
	}
	return false
}

// step: t reads from u, or follows it in its session and asks for that.
func (d *definition) step(u, t int) bool {
	return d.at[t].Sessions() && d.session(u, t) || slices.Contains(d.src[t], u)
}
