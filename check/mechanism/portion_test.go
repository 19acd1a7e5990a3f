package mechanism

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"isovet/internal/freeze"
	"isovet/internal/test/histtest/randtest"
)

// portions runs n parts, each alone, over what arrives, and the rest over what they tell; all that they find.
func portions(t testing.TB, n int, o OnlineOptions, seed uint64, run func(x *Online, own func(uint32) bool,
	found func([]Violation, []Unjudged))) (out []string) {
	t.Helper()
	pieces := make([][][]byte, n)
	add := func(vs []Violation, us []Unjudged) {
		for i := range vs {
			out = append(out, fmt.Sprintf("%+v", vs[i]))
		}
		for i := range us {
			out = append(out, fmt.Sprintf("%+v", us[i]))
		}
	}
	for part := range n {
		x := NewOnline(o)
		x.Portion()
		name := func(key uint32) string { return strconv.Itoa(int(key)) }
		rng := rand.New(rand.NewPCG(seed, uint64(part)))
		run(x, func(key uint32) bool { return int(key)%n == part }, func(vs []Violation, us []Unjudged) {
			add(vs, us)
			if rng.IntN(4) == 0 {
				if b := x.AppendFacts(nil, name); b != nil {
					pieces[part] = append(pieces[part], b)
				}
			}
		})
		if b := x.AppendFacts(nil, name); b != nil {
			pieces[part] = append(pieces[part], b)
		}
	}
	j, stream := jointOf(t, n, o, seed, pieces)
	defer func() {
		if n, _ := j.Partial(); n > 0 {
			t.Errorf("seed %d: %d transactions are not in all parts", seed, n)
		}
	}()
	back := func(k uint32) uint32 {
		if int(k) >= stream.Keys() {
			return k
		}
		n, err := strconv.Atoi(stream.Key(k))
		if err != nil {
			t.Fatal(err)
		}
		return uint32(n)
	}
	vs := j.Take()
	for i := range vs {
		if x := &vs[i]; x.Kind != NoSnapshot || len(x.Ops) > 0 {
			x.Key = back(x.Key)
		}
		for k := range vs[i].Cycle {
			vs[i].Cycle[k].Key = back(vs[i].Cycle[k].Key)
		}
	}
	add(vs, nil)
	slices.Sort(out)
	return out
}

// jointOf runs the rest over what parts tell. Sometimes it is written and read back, and parts give again what was not
// taken, and some of what was; and sometimes keys that nothing names any more are forgotten.
func jointOf(t testing.TB, n int, o OnlineOptions, seed uint64, pieces [][][]byte) (*Joint, *Stream) {
	t.Helper()
	stream := NewStream()
	j := NewJoint(n, o.Options, stream)
	rng := rand.New(rand.NewPCG(seed, 0xd5))
	at := make([]int, n)
	dir, stop := "", 1<<30
	for n := 0; ; n++ {
		if seed%16 == 0 {
			if stop = 1 + rng.IntN(40); n == 0 {
				dir = t.TempDir()
			}
		}
		path := filepath.Join(dir, strconv.Itoa(n))
		err := j.Run(func(part int) (b []byte, err error) {
			if stop--; at[part] < len(pieces[part]) && stop > 0 {
				b = pieces[part][at[part]]
				at[part]++
			}
			if rng.IntN(8) == 0 {
				j.Compact()
			}
			return b, nil
		})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if stop > 0 {
			return j, stream
		}
		if err := freeze.Save(path, j, stream); err != nil {
			t.Fatal(err)
		}
		is := NewStream()
		k := NewJoint(len(at), o.Options, is)
		if err := freeze.Load(path, k, is); err != nil {
			t.Fatal(err)
		}
		j, stream = k, is
		for i := range at {
			at[i] = max(at[i]-1-rng.IntN(3), 0)
		}
	}
}

// TestPortions: parts that are each alone, and a rest that only hears what they have written down, find together what
// one verifier finds.
func TestPortions(t *testing.T) {
	kinds := map[string]int{}
	randtest.Seeds(t, seeds(), func(t testing.TB, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 0xd3))
		r := draw(seed, 2+rng.IntN(5), 30+rng.IntN(90), 2+rng.IntN(6))
		o := OnlineOptions{Options: Options{Profile: drawnProfile(rng), Skew: rng.Int64N(3), Attach: rng.IntN(3) == 0,
			every: 1 + rng.IntN(40)}, Lateness: rng.Int64N(60)}
		arrivals := r.arrivals(rng)
		run := func(x *Online, own func(uint32) bool, found func([]Violation, []Unjudged)) {
			rng := rand.New(rand.NewPCG(seed, 0xd4))
			since := 0
			for _, traces := range arrivals {
				traces = slices.Clone(traces)
				for i := range traces {
					if k := traces[i].Kind; (k == Read || k == LockedRead || k == Write) && !own(traces[i].Key) {
						traces[i].Key = Foreign
					}
				}
				traces[len(traces)-1].SetName(traces[0].Val * 0x9e3779b97f4a7c15)
				x.Add(traces)
				if rng.IntN(30) == 0 {
					x.Foreign(slices.Clone(traces))
				}
				if rng.IntN(20) == 0 {
					x.Convict(since)
					since = x.Suspects()
				}
				found(x.Take())
			}
			x.Settle()
			found(x.Take())
		}
		var want []string
		run(NewOnline(o), func(uint32) bool { return true }, func(vs []Violation, us []Unjudged) {
			for i := range vs {
				kinds[vs[i].Kind]++
				want = append(want, fmt.Sprintf("%+v", vs[i]))
			}
			for i := range us {
				kinds["unjudged"]++
				want = append(want, fmt.Sprintf("%+v", us[i]))
			}
		})
		slices.Sort(want)
		for _, n := range []int{1, 2, 5} {
			got := portions(t, n, o, seed, run)
			for i := range max(len(got), len(want)) {
				if i >= len(got) || i >= len(want) || got[i] != want[i] {
					t.Fatalf("seed %d, %d parts, %+v: finding %d:\n%s\n%s", seed, n, o.Profile, i, slices.Concat(got,
						[]string{"none"})[min(i, len(got))], slices.Concat(want, []string{"none"})[min(i, len(want))])
				}
			}
		}
	})
	if !randtest.Whole() {
		return
	}
	for _, k := range []string{Overwritten, NoSnapshot, Fractured, TwoHolders, LostUpdate, Cycle, "unjudged"} {
		if kinds[k] < 100 {
			t.Errorf("%d of kind %s are too few: %v", kinds[k], k, kinds)
		}
	}
	t.Log(kinds)
}

// drawnProfile draws which mechanisms there are.
func drawnProfile(rng *rand.Rand) Profile {
	p := Profile{Reads: []Reads{TransactionReads, TransactionReads, StatementReads, NoReads}[rng.IntN(4)],
		WriteLocks: rng.IntN(2) == 0, ReadLocks: rng.IntN(3) == 0,
		Certifier: []Certifier{CycleCheck, SSICertifier, NoCertifier}[rng.IntN(3)]}
	if p.Reads == TransactionReads {
		p.Snapshot = []Snapshot{AtFirstStatement, AtFirstRead, AtBegin}[rng.IntN(3)]
		p.FirstUpdaterWins = rng.IntN(2) == 0
	}
	p.StaleReads = p.Reads != NoReads && rng.IntN(6) == 0
	return p
}

// TestJointWrong: parts that are not of one stream are told, and so are facts that are missing or damaged.
func TestJointWrong(t *testing.T) {
	piece := func(ids ...uint64) []byte {
		x := NewOnline(OnlineOptions{Options: Options{Profile: Profile{Certifier: CycleCheck}}})
		x.Portion()
		for i, id := range ids {
			at := int64(i) * 10
			all := []Trace{{Kind: Begin, Bef: at, Aft: at, Val: id}, {Kind: Write, Bef: at + 1, Aft: at + 2, Val: id},
				{Kind: Commit, Bef: at + 3, Aft: at + 4, Val: id}}
			all[2].SetName(id)
			x.Add(all)
		}
		x.Settle()
		return x.AppendFacts(nil, func(uint32) string { return "0" })
	}
	run := func(pieces ...[]byte) error {
		return NewJoint(len(pieces), Options{Profile: Profile{Certifier: CycleCheck}}, NewStream()).Run(
			func(part int) (b []byte, err error) {
				b, pieces[part] = pieces[part], nil
				return b, nil
			})
	}
	if err := run(piece(1, 2, 3), piece(1, 2, 3)); err != nil {
		t.Error(err)
	}
	var stranger *StrangerError
	if err := run(piece(1, 2, 3), piece(1, 3, 2)); !errors.As(err, &stranger) || stranger.Txns != [2]uint64{3, 3} {
		t.Error(err)
	}
	var gap *GapError
	if err := run(append([]byte{7}, piece(1, 2, 3)[1:]...)); !errors.As(err, &gap) || gap.Got != 7 || gap.Has != 0 {
		t.Error(err)
	}
	whole := piece(1, 2, 3)
	for n := 1; n < len(whole); n++ {
		if err := run(whole[:n:n]); !errors.Is(err, ErrFacts) {
			t.Errorf("cut at %d of %d: %v", n, len(whole), err)
		}
	}
}
