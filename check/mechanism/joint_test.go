package mechanism

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"isovet/internal/test/histtest/randtest"
)

// apart has parts take transactions each in an order of its own, by another number in each, and the rest run over what
// they tell. It returns what the rest finds, by names, how much the parts find, and whether some transaction was late
// in some part.
func apart(t testing.TB, r *drawn, seed uint64, orders []uint64,
	o OnlineOptions) (found []string, own int, late bool) {
	t.Helper()
	base := r.arrivals(rand.New(rand.NewPCG(seed, 0xe1)))
	parts := len(orders)
	pieces, names := make([][][]byte, parts), make([][]uint64, parts)
	for part, order := range orders {
		rng := rand.New(rand.NewPCG(seed, order))
		type arrival struct {
			traces []Trace
			at     int64
		}
		var all []arrival
		for _, traces := range base {
			all = append(all, arrival{slices.Clone(traces), traces[len(traces)-1].Bef + rng.Int64N(40)})
		}
		slices.SortStableFunc(all, func(a, b arrival) int { return cmp.Compare(a.at, b.at) })
		x := NewOnline(o)
		x.Portion()
		name := func(key uint32) string { return strconv.Itoa(int(key)) }
		for n, a := range all {
			begin, end := &a.traces[0], &a.traces[len(a.traces)-1]
			names[part] = append(names[part], begin.Val)
			end.SetName(begin.Val)
			begin.Val, end.Val = uint64(n), uint64(n)
			for i := range a.traces {
				op := &a.traces[i]
				if k := op.Kind; (k == Read || k == LockedRead || k == Write) && int(op.Key)%parts != part {
					op.Key = Foreign
				}
			}
			late = x.Add(a.traces) || late
			vs, _ := x.Take()
			own += len(vs)
			if rng.IntN(4) == 0 {
				pieces[part] = append(pieces[part], x.AppendFacts(nil, name))
			}
		}
		x.Settle()
		vs, _ := x.Take()
		own += len(vs)
		pieces[part] = append(pieces[part], x.AppendFacts(nil, name))
		pieces[part] = slices.DeleteFunc(pieces[part], func(b []byte) bool { return len(b) == 0 })
	}
	j, stream := jointOf(t, parts, o, seed, pieces)
	for _, v := range j.Take() {
		text := v.Kind
		for _, id := range v.Txns {
			part, n := JointID(id)
			text += fmt.Sprint(" ", names[part][n])
		}
		if v.Kind != Cycle && v.Kind != LostUpdate && len(v.Ops) > 0 { // of two keys either may show it
			text += fmt.Sprint(" ", v.Ops, stream.Key(v.Key))
		}
		found = append(found, text)
	}
	slices.Sort(found)
	if n, _ := j.Partial(); n > 0 && !late {
		t.Errorf("seed %d: %d transactions are not in all parts, and none was late", seed, n)
	}
	return found, own, late
}

// TestJointApart: parts that take transactions in different orders, and call them by different numbers, find together
// what they find in each of those orders, and nothing that they find in none, as long as no transaction is late; of a
// cycle another dependency may close it. Where some are late in some parts, nothing is found where nothing is found,
// of a key or of several, with all in time.
func TestJointApart(t *testing.T) {
	same, cycles, lates, less := 0, 0, 0, 0
	randtest.Seeds(t, seeds()/2, func(t testing.TB, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 0xe0))
		r := draw(seed, 2+rng.IntN(5), 30+rng.IntN(90), 2+rng.IntN(6))
		o := OnlineOptions{Options: Options{Profile: drawnProfile(rng), Skew: rng.Int64N(3), every: 1 + rng.IntN(40)},
			Lateness: 200}
		o.Profile.StaleReads = false
		orders := make([]uint64, 2+rng.IntN(3))
		for i := range orders {
			orders[i] = uint64(i)
		}
		split := func(all []string) (others []string, cyclic bool) {
			for _, x := range all {
				if len(x) >= len(Cycle) && x[:len(Cycle)] == Cycle {
					cyclic = true
				} else {
					others = append(others, x)
				}
			}
			return others, cyclic
		}
		in, cyclic, wrong := map[string]int{}, 0, 0 // in how many orders
		for _, order := range orders {
			found, own, _ := apart(t, r, seed, slices.Repeat([]uint64{order}, len(orders)), o)
			wrong += own
			others, is := split(found)
			for _, x := range others {
				in[x]++
			}
			if is {
				cyclic++
			}
		}
		if seed%2 == 0 {
			o.Lateness = 20
		}
		got, _, late := apart(t, r, seed, orders, o)
		others, is := split(got)
		if late {
			if len(got) > 0 && wrong+len(in)+cyclic == 0 {
				t.Fatalf("seed %d, late, %+v:\n%q\n%v", seed, o.Profile, got, in)
			}
			if lates++; len(others) < len(in) {
				less++
			}
			return
		}
		for _, x := range others {
			if in[x] == 0 {
				t.Errorf("seed %d, %+v: %s, in no order:\n%v", seed, o.Profile, x, in)
			}
		}
		for x, n := range in {
			if n == len(orders) && !slices.Contains(others, x) {
				t.Errorf("seed %d, %+v: not found: %s\n%q", seed, o.Profile, x, others)
			}
		}
		if is && cyclic == 0 || !is && cyclic == len(orders) {
			t.Errorf("seed %d, %+v: cycles %v, in %d of %d orders", seed, o.Profile, is, cyclic, len(orders))
		}
		if same += len(others); is {
			cycles++
		}
	})
	if randtest.Whole() && (same < 50 || cycles < 20 || lates < 50) {
		t.Errorf("%d the same, %d with cycles, %d with late ones, of which %d find less", same, cycles, lates, less)
	}
	t.Logf("%d the same, %d with cycles, %d with late ones, of which %d find less", same, cycles, lates, less)
}

// TestPortionsForget: parts that forget the reads from which nothing follows any more, as the rest says, find with it
// what one verifier finds.
func TestPortionsForget(t *testing.T) {
	forgotten := 0
	randtest.Seeds(t, seeds()/2, func(t testing.TB, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 0xe3))
		r := draw(seed, 2+rng.IntN(5), 60+rng.IntN(90), 2+rng.IntN(6))
		o := OnlineOptions{Options: Options{Profile: drawnProfile(rng), every: 1 + rng.IntN(20)}, Lateness: 20}
		o.Profile.Certifier = CycleCheck
		one := NewOnline(o)
		parts, pieces := make([]*Online, 3), make([][][]byte, 3)
		for i := range parts {
			parts[i] = NewOnline(o)
			parts[i].Portion()
		}
		j := NewJoint(len(parts), o.Options, NewStream())
		var want, got []string
		say := func(to *[]string, vs []Violation) {
			for i := range vs {
				*to = append(*to, fmt.Sprint(vs[i].Kind, vs[i].Txns, vs[i].Ops))
			}
		}
		join := func() {
			for i, x := range parts {
				vs, _ := x.Take()
				say(&got, vs)
				piece := x.AppendFacts(nil, func(key uint32) string { return strconv.Itoa(int(key)) })
				if len(piece) > 0 {
					pieces[i] = append(pieces[i], piece)
				}
			}
			err := j.Run(func(part int) (b []byte, err error) {
				if len(pieces[part]) > 0 {
					b, pieces[part] = pieces[part][0], pieces[part][1:]
				}
				return b, nil
			})
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			say(&got, j.Take())
			for i, x := range parts {
				x.Forgotten(j.Forgotten(i))
				for k := range x.v.keys {
					for n := range x.v.keys[k].vers {
						w := &x.v.keys[k].vers[n]
						before := 0
						for at := w.readers; at >= 0; at = x.v.readers[at].next {
							before++
						}
						forgotten += before - x.v.liveReaders(w, &x.v.g)
					}
				}
			}
		}
		for _, traces := range r.arrivals(rng) {
			one.Add(slices.Clone(traces))
			for i, x := range parts {
				own := slices.Clone(traces)
				own[len(own)-1].SetName(own[0].Val)
				for k := range own {
					op := &own[k]
					if (op.Kind == Read || op.Kind == LockedRead || op.Kind == Write) && int(op.Key)%len(parts) != i {
						op.Key = Foreign
					}
				}
				x.Add(own)
			}
			if rng.IntN(10) == 0 {
				join()
			}
		}
		one.Settle()
		for _, x := range parts {
			x.Settle()
		}
		join()
		vs, _ := one.Take()
		say(&want, vs)
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d, %+v:\n%q\n%q", seed, o.Profile, got, want)
		}
	})
	if randtest.Whole() && forgotten < 50 {
		t.Errorf("%d reads were forgotten", forgotten)
	}
	t.Logf("%d reads were forgotten", forgotten)
}
