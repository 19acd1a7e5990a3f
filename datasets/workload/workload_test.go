package workload

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// drive runs one client's transactions against a map, as a database without concurrency would, and hands each to check.
func drive(t *testing.T, w Workload, n int, check func(*Txn)) map[Key]int64 {
	t.Helper()
	state := map[Key]int64{}
	for i, tab := range w.Tables() {
		for pk := range tab.Rows {
			state[MakeKey(i, int64(pk))] = tab.Payload
		}
	}
	c := w.Client(0, rand.New(rand.NewPCG(1, 2)))
	var x Txn
	for range n {
		c.Next(&x)
		var first []Op
		for attempt := range 2 { // a retry must ask for the same keys
			x.Reset()
			for {
				from := len(x.Ops)
				c.Step(&x)
				x.Stage++
				if len(x.Ops) == from {
					break
				}
				for j := from; j < len(x.Ops); j++ {
					op := &x.Ops[j]
					if op.Key.Table() >= len(w.Tables()) || op.Key.PK() < 0 {
						t.Fatalf("key %d of table %d", op.Key.PK(), op.Key.Table())
					}
					if op.Kind == Read {
						v, ok := state[op.Key]
						op.Payload, op.Absent = v, !ok
					} else if attempt == 1 {
						state[op.Key] = op.Payload
					}
				}
			}
			if attempt == 0 {
				first = append(first, x.Ops...)
				continue
			}
			for j, op := range first {
				if op.Key != x.Ops[j].Key || op.Kind != x.Ops[j].Kind {
					t.Fatalf("%s: the second attempt differs at operation %d", x.Name, j)
				}
			}
		}
		check(&x)
	}
	return state
}

func build(t *testing.T, name, variant string, keys, ops int) Workload {
	t.Helper()
	in, err := Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	w, _, err := in.New(Params{Variant: variant, Keys: keys, Ops: ops})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestRegistry(t *testing.T) {
	seen := map[string]bool{}
	for _, in := range All() {
		if seen[in.Name] || in.About == "" || in.Paper == "" || len(in.Variants) == 0 {
			t.Errorf("%s: named twice, or something is missing", in.Name)
		}
		seen[in.Name] = true
		for _, v := range in.Variants {
			w := build(t, in.Name, v.Name, 0, 0)
			drive(t, w, 200, func(x *Txn) {
				if len(x.Ops) == 0 || x.Name == "" {
					t.Errorf("%s %s: an empty transaction or one without name", in.Name, v.Name)
				}
			})
		}
		if _, _, err := in.New(Params{Variant: "nope"}); err == nil || !strings.Contains(err.Error(), in.Variants[0].Name) {
			t.Errorf("%s: error %v names no choices", in.Name, err)
		}
	}
	in, _ := Lookup("BLINDW")
	if _, p, _ := in.New(Params{Variant: "rw+"}); p.Keys != 2000 || p.Variant != "RW+" {
		t.Errorf("parameters %+v; expected Leopard's 2,000 keys", p)
	}
}

// TestBlindW: shares of read-only transactions, eight distinct keys, one kind a transaction.
func TestBlindW(t *testing.T) {
	for _, c := range []struct {
		variant string
		reads   float64
	}{{"RH", 0.8}, {"WR", 0.5}, {"WH", 0.2}, {"W", 0}, {"RW", 0.5}, {"RW+", 0.5}} {
		const n = 4000
		reads, ranges := 0, 0
		drive(t, build(t, "blindw", c.variant, 0, 0), n, func(x *Txn) {
			seen := map[Key]bool{}
			for _, op := range x.Ops {
				if (op.Kind == Read) != (x.Ops[0].Kind == Read) {
					t.Fatalf("%s: reads and writes in one transaction", c.variant)
				}
				seen[op.Key] = true
			}
			if x.Ops[0].Kind == Read {
				reads++
			}
			if c.variant == "RW+" && x.Ops[0].Kind == Read {
				ranges += (len(x.Ops) - 8) / 9
			} else if len(seen) != 8 || len(x.Ops) != 8 {
				t.Fatalf("%s: %d operations on %d keys", c.variant, len(x.Ops), len(seen))
			}
		})
		if got := float64(reads) / n; math.Abs(got-c.reads) > 0.03 {
			t.Errorf("%s: %.3f read-only", c.variant, got)
		}
		if c.variant == "RW+" && math.Abs(float64(ranges)/float64(8*reads)-0.5) > 0.03 {
			t.Errorf("%d ranges among %d reads", ranges, 8*reads)
		}
	}
}

// TestSmallBank: money is made and destroyed only by the templates that do so, by the amounts drawn.
func TestSmallBank(t *testing.T) {
	w := build(t, "smallbank", "", 20, 0)
	want := int64(2 * 20 * 10000)
	count := map[string]int{}
	const n = 4000
	state := drive(t, w, n, func(x *Txn) {
		count[x.Name]++
		switch x.Name {
		case "DepositChecking", "TransactSavings":
			want += x.Args[2]
		case "WriteCheck":
			want += x.Ops[2].Payload - x.Ops[1].Payload
			if paid := x.Ops[1].Payload - x.Ops[2].Payload; paid != x.Args[2] && paid != x.Args[2]+1 {
				t.Fatalf("a check of %d costs %d", x.Args[2], paid)
			}
		case "Amalgamate":
			if x.Ops[3].Payload != 0 || x.Ops[4].Payload != 0 {
				t.Fatal("Amalgamate leaves something")
			}
		}
	})
	got := int64(0)
	for _, v := range state {
		got += v
	}
	if got != want {
		t.Errorf("the bank holds %d; expected %d", got, want)
	}
	for name, c := range count {
		share := 0.15
		if name == "WriteCheck" {
			share = 0.25
		}
		if math.Abs(float64(c)/n-share) > 0.03 {
			t.Errorf("%s: %d of %d", name, c, n)
		}
	}
}

// TestMini: MTC's Definition 8.
func TestMini(t *testing.T) {
	drive(t, build(t, "mini", "", 10, 0), 2000, func(x *Txn) {
		reads, writes := map[Key]bool{}, 0
		for _, op := range x.Ops {
			if op.Kind == Read {
				reads[op.Key] = true
			} else if writes++; !reads[op.Key] {
				t.Fatalf("%s writes a key that it has not read", x.Name)
			}
		}
		if len(reads) > 2 || writes > 2 {
			t.Fatalf("%s: %d reads, %d writes", x.Name, len(reads), writes)
		}
	})
}

func TestDist(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const draws = 400000
	count := func(d Dist, n int) []float64 {
		c := make([]float64, n)
		for range draws {
			c[d.Draw(rng)] += 1.0 / draws
		}
		return c
	}
	const n, theta = 50, 0.99
	sum := 0.0
	for k := range n {
		sum += math.Pow(float64(k+1), -theta)
	}
	for k, got := range count(NewZipf(n, theta), n) {
		if want := math.Pow(float64(k+1), -theta) / sum; math.Abs(got-want) > 0.004 {
			t.Errorf("Zipf: key %d has share %.4f; expected %.4f", k, got, want)
		}
	}
	hot := 0.0
	for k, got := range count(Hotspot(n), n) {
		if k < n/5 {
			hot += got
		}
	}
	if math.Abs(hot-0.8) > 0.01 {
		t.Errorf("hotspot: a fifth of the keys has %.3f of the draws", hot)
	}
	for k, got := range count(Uniform(n), n) {
		if math.Abs(got-1.0/n) > 0.004 {
			t.Errorf("uniform: key %d has share %.4f", k, got)
		}
	}
	if NewZipf(1, 1).Draw(rng) != 0 || Hotspot(1).Draw(rng) != 0 {
		t.Error("one key only, and another one drawn")
	}
}

func TestDistinct(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var x distinct
	for _, m := range []int{1, 8, 16, 17, 100, 1000, 20} {
		for range 20 {
			keys := x.draw(nil, m, Uniform(m+m/10), rng)
			seen := map[int64]bool{}
			for _, k := range keys {
				seen[k] = true
			}
			if len(seen) != m || len(keys) != m {
				t.Fatalf("%d keys asked for, %d drawn, %d different", m, len(keys), len(seen))
			}
		}
	}
}
