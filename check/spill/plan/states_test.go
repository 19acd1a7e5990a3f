package plan

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"isovet/history"
	"isovet/internal/test/must"
	"isovet/level"
)

// chunksOf writes transactions, each one write of a key, to chunks of some of them, which may overlap.
func chunksOf(r *rand.Rand, at []Pos, keys, values []int64, moving bool) (all []Chunk) {
	var w chunkWriter
	w.seq, w.moving = 1, moving
	emit := func() {
		b, info := w.take(nil)
		all = append(all, Chunk{ChunkInfo: info, Bytes: len(b), Moving: moving,
			Read: func(buf []byte) ([]byte, error) { return append(buf, b...), nil }})
	}
	last := First
	known := map[int64]uint32{}
	for i, p := range at {
		if w.info.Ops > 0 && (p.Less(last) || r.IntN(6) == 0) {
			emit()
			clear(known)
		}
		last = p
		w.begin(p, p.N)
		k, ok := known[keys[i]]
		if !ok {
			k = w.key(history.Int, keys[i], nil)
			known[keys[i]] = k
		}
		w.op(Install, k, history.Int, values[i], nil)
	}
	if w.info.Ops > 0 {
		emit()
	}
	return all
}

// What keys hold, and who wrote it, by a look at all writes is the naive twin of passes that read few chunks.
func TestFewChunks(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 9))
		n := 1 + r.IntN(300)
		at, keys, values := make([]Pos, n), make([]int64, n), make([]int64, n)
		for i := range at {
			at[i] = Pos{T: int64(i + r.IntN(1+int(seed%5)*3)), N: uint64(i)}
			keys[i], values[i] = int64(r.IntN(1+r.IntN(12))), int64(i)<<(seed%3*20)
			if seed%7 == 0 {
				values[i] = r.Int64N(9)
			}
		}
		if seed%2 == 0 {
			at[0].T = First.T // the initial transaction
		}
		chunks := chunksOf(r, at, keys, values, false)
		order := make([]int, n)
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(i, j int) int { return at[i].Compare(at[j]) })
		var asked []At
		var wants []Want
		for range 1 + r.IntN(6) {
			asked = append(asked, At{Value{Kind: history.Int, N: r.Int64N(12)},
				Pos{T: r.Int64N(int64(n) + 10), N: r.Uint64N(uint64(n))}})
			i := r.IntN(n)
			wants = append(wants, Want{Value{Kind: history.Int, N: keys[i]}, Value{Kind: history.Int, N: values[i]}})
		}
		nobody := Value{Kind: history.Int, N: -1}
		got := must.Get(States(context.Background(), chunks, Filter{}, nobody, asked))(t)
		for j, a := range asked {
			want := nobody
			for _, i := range order {
				if keys[i] == a.Key.N && at[i].Less(a.Before) {
					want.N = values[i]
				}
			}
			if got[j] != want {
				t.Fatalf("seed %d: key %d holds %v before %v; expected %v", seed, a.Key.N, got[j], a.Before, want)
			}
		}
		by := must.Get(Writers(context.Background(), chunks, Filter{}, nobody, wants, false))(t)
		alone := must.Get(Writers(context.Background(), chunks, Filter{}, nobody, wants, true))(t)
		for _, w := range wants {
			var all []Writer
			for o, i := range order {
				if keys[i] != w.Key.N || values[i] != w.Value.N {
					continue
				}
				x := Writer{Kind: Install, Place: at[i].N, Pos: at[i], Next: NoPlace, NextPos: Last}
				for _, j := range order[o+1:] {
					if keys[j] == keys[i] {
						x.Next, x.NextPos = at[j].N, at[j]
						break
					}
				}
				all = append(all, x)
			}
			if len(all) > MaxWriters {
				all = all[:MaxWriters]
			}
			if !slices.Equal(by[w], all) {
				t.Fatalf("seed %d: %v was written by\n%v; expected\n%v", seed, w, by[w], all)
			}
			for i := range all {
				all[i].Next, all[i].NextPos = NoPlace, Last
			}
			if !slices.Equal(alone[w], all) {
				t.Fatalf("seed %d: %v was written, said alone, by\n%v; expected\n%v", seed, w, alone[w], all)
			}
		}
	}
}

// Place keeps the order that it is given, whatever stands where by the rule: no two events share a place, and each
// stands behind the one before it. Some transactions were brought aside, behind another's place.
func TestPlaceKeepsTheOrder(t *testing.T) {
	for seed := range uint64(20_000) {
		r := rand.New(rand.NewPCG(seed, 5))
		var txns []*Txn
		for i := range 2 + r.IntN(8) {
			x := &Txn{Place: uint64(i), Status: history.Committed, Rule: Pos{T: r.Int64N(6), N: uint64(i)}}
			if i > 0 && r.IntN(3) == 0 {
				x.Rule = txns[r.IntN(i)].Rule
				x.Rule.Sub, x.Counts = uint32(3<<30+i), true
			}
			txns = append(txns, x)
		}
		slices.SortFunc(txns, func(a, b *Txn) int { return a.Rule.Compare(b.Rule) })
		var events []int32
		for i := range txns {
			events = append(events, int32(i)<<1, int32(i)<<1|1)
		}
		for range r.IntN(6) { // some transactions elsewhere, some of these open for a while
			i := int32(r.IntN(len(txns)))
			events = slices.DeleteFunc(events, func(e int32) bool { return e>>1 == i })
			b := r.IntN(len(events) + 1)
			events = slices.Insert(events, b, i<<1)
			c := b + 1
			if r.IntN(2) == 0 {
				c += r.IntN(len(events) - b)
			}
			events = slices.Insert(events, c, i<<1|1)
		}
		for _, x := range txns {
			x.Now = Move{Begin: x.Rule, Commit: x.Rule}
		}
		Place(txns, events, nil)
		last, of := First, int32(-1)
		for i, e := range events {
			x := txns[e>>1]
			at := x.Now.Begin
			if e&1 == 1 {
				at = x.Now.Commit
			}
			if one := e&1 == 1 && of == e>>1 && at == last; !one && !last.Less(at) {
				t.Fatalf("seed %d: event %d of %v is at %v, the one before it at %v", seed, i, events, at, last)
			}
			last, of = at, e>>1
		}
	}
}

// TestSplit: they leave a slice who read what nobody in it leaves there, or come behind one that left; and the longest
// beginning has whole transactions.
func TestSplit(t *testing.T) {
	for seed := range uint64(600) {
		r := rand.New(rand.NewPCG(seed, 7))
		number := func() Value { return Value{Kind: history.Int, N: r.Int64N(3)} }
		l := []level.Level{level.Serializable, level.SessionSerializable, level.StrictSerializable}[seed%3]
		state := map[Value]Value{number(): number(), number(): number()}
		var txns, stay, later []*Txn
		for _, p := range r.Perm(6) {
			x := &Txn{Place: uint64(p), Session: r.Int64N(3), Start: r.Int64N(9), Status: history.Committed}
			x.End = x.Start + r.Int64N(4)
			x.Ops = []Op{{history.Read, number(), number()}, {history.Write, number(), number()}}
			txns = append(txns, x)
		}
		gone := make([]bool, len(txns))
		for range txns {
			for i, x := range txns {
				v, is := state[x.Ops[0].Key]
				out := !is || v != x.Ops[0].Value
				for j, y := range txns {
					out = out && (gone[j] || y.Ops[1].Key != x.Ops[0].Key || y.Ops[1].Value != x.Ops[0].Value)
				}
				for j, y := range txns {
					out = out || gone[j] && (l.RealTime() && y.End < x.Start ||
						l.Sessions() && y.Session == x.Session && y.Place < x.Place)
				}
				gone[i] = gone[i] || out
			}
		}
		for i, x := range txns {
			if gone[i] {
				later = append(later, x)
			} else {
				stay = append(stay, x)
			}
		}
		if a, b := Split(txns, state, l); !slices.Equal(a, stay) || !slices.Equal(b, later) {
			t.Fatalf("seed %d, %s: %d stay and %d leave; expected %d and %d", seed, l, len(a), len(b), len(stay),
				len(later))
		}
		var events []int32
		for _, i := range r.Perm(2 * len(txns)) {
			e := int32(i) &^ 1
			if slices.Contains(events, e) {
				e++
			}
			events = append(events, e)
		}
		n, q := r.IntN(len(txns)+1), len(events)
		for ; slices.ContainsFunc(events[:q], func(e int32) bool {
			return int(e>>1) >= n || !slices.Contains(events[:q], e^1)
		}); q-- {
		}
		if got := Prefix(txns, events, n); len(got) != q {
			t.Fatalf("seed %d: of %v below %d, the beginning has %d; expected %d", seed, events, n, len(got), q)
		}
	}
}
