package workload

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"isovet/internal/slice"
	"isovet/internal/test/must"
)

func TestRegistry(t *testing.T) {
	seen := map[string]bool{}
	for _, in := range All() {
		if seen[in.Name] || in.About == "" || in.Paper == "" || len(in.Variants) == 0 {
			t.Errorf("%s: named twice, or something is missing", in.Name)
		}
		seen[in.Name] = true
		for _, v := range in.Variants {
			keys := 0
			if in.Name == "blindw-pred" || in.Name == "ycsb" {
				keys = 300 // conditions are evaluated on every row
			}
			w := build(t, in.Name, v.Name, keys, 0)
			drive(t, w, 200, func(x *Txn) {
				if len(x.Ops) == 0 || x.Name == "" {
					t.Errorf("%s %s: an empty transaction or one without name", in.Name, v.Name)
				}
			})
		}
		if _, _, err := in.New(Params{Variant: "nope"}); err == nil || !strings.Contains(err.Error(),
			in.Variants[0].Name) {
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
				must.Same(t, op.Kind == Read, x.Ops[0].Kind == Read, "%s: reads only, in a transaction", c.variant)
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
	for _, v := range state.payload {
		got += v
	}
	must.Equal(t, got, want, "the bank holds")
	for name, c := range count {
		share := 0.15
		if name == "WriteCheck" {
			share = 0.25
		}
		must.Be(t, !(math.Abs(float64(c)/n-share) > 0.03), "%s: %d of %d", name, c, n)
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
	must.Be(t, !(math.Abs(hot-0.8) > 0.01), "hotspot: a fifth of the keys has %.3f of the draws", hot)
	for k, got := range count(Uniform(n), n) {
		must.Be(t, !(math.Abs(got-1.0/n) > 0.004), "uniform: key %d has share %.4f", k, got)
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
			seen := slice.Set(keys)
			if len(seen) != m || len(keys) != m {
				t.Fatalf("%d keys asked for, %d drawn, %d different", m, len(keys), len(seen))
			}
		}
	}
}

func overlap(a, b []int64) bool { return a[0] == b[0] && a[1] < b[2] && b[1] < a[2] }

// TestBooking: alone, a client never books a room twice nor lets a customer owe too much.
func TestBooking(t *testing.T) {
	for _, v := range []string{"default", "rush"} {
		found := map[string]int{}
		state := drive(t, build(t, "booking", v, 5, 0), 3000, func(x *Txn) {
			for _, op := range x.Ops {
				found[x.Name] += len(op.Found)
			}
			if x.Name == "Book" && len(x.Ops) == 4 {
				found["booked"]++
			}
		})
		owed := map[int64]int64{}
		for k, a := range state.row {
			if k.Table() == invoices {
				if a[invoicePaid] == 0 {
					owed[a[invoiceCustomer]] += a[1]
				}
				continue
			}
			for l, b := range state.row {
				if l != k && l.Table() == bookings && overlap(a, b) {
					t.Errorf("%s: bookings %v and %v overlap", v, a, b)
				}
			}
		}
		for c, n := range owed {
			must.Be(t, n <= creditLimit, "%s: customer %d owes %d", v, c, n)
		}
		for _, name := range []string{"Book", "Cancel", "booked"} {
			must.Be(t, found[name] != 0, "%s: %s never finds anything", v, name)
		}
		if v == "default" && (found["Move"] == 0 || found["Agenda"] == 0 || found["Pay"] == 0 ||
			found["Archive"] == 0) {
			t.Errorf("some templates never find anything: %v", found)
		}
	}
}

// TestBlindWPred: ranges keep finding ten rows, however long the run is.
func TestBlindWPred(t *testing.T) {
	var sum, square, n float64
	i := 0
	drive(t, build(t, "blindw-pred", "", 1000, 0), 2000, func(x *Txn) {
		if i++; i < 1000 {
			return
		}
		for _, op := range x.Ops {
			m := float64(len(op.Found))
			sum, square, n = sum+m, square+m*m, n+1
		}
	})
	mean := sum / n
	if variance := square/n - mean*mean; math.Abs(mean-10) > 0.5 || variance > 45 {
		t.Errorf("%.2f rows an operation, variance %.2f; expected 10 and about 30", mean, variance)
	}
}

// TestBlindWPredOnDatabases: there the default has few short ranges, of one column and in order, and its index; an
// explicit variant is taken as it is, and without a database the draw is the paper's.
func TestBlindWPredOnDatabases(t *testing.T) {
	in := must.Get(Lookup("blindw-pred"))(t)
	w, p, err := in.New(Params{Database: true})
	if err != nil || p.Variant != "sparse" || p.Keys != 50000 || p.Ops != 3 {
		t.Fatalf("parameters %+v, error %v; expected sparse", p, err)
	}
	if tab := w.Tables()[0]; !tab.Roomy || tab.Plan != ByIndex {
		t.Errorf("table %+v; expected one with room, by index", tab)
	}
	for _, given := range []Params{{}, {Database: true, Variant: "default"}} {
		if _, p, err := in.New(given); err != nil || p.Variant != "default" || p.Keys != 10000 || p.Ops != 8 {
			t.Errorf("%+v: parameters %+v, error %v; expected the paper's", given, p, err)
		}
	}
	w, _, err = in.New(Params{Variant: "sparse", Keys: 1000})
	must.OK(t, err)
	found, n := 0, 0
	drive(t, w, 2000, func(x *Txn) {
		last := int64(-1)
		for _, op := range x.Ops {
			r := op.Where[0]
			if r.Column != x.Ops[0].Where[0].Column || r.Min < last {
				t.Fatalf("ranges %v and before %d; expected one column, in order", r, last)
			}
			last = r.Min
			found, n = found+len(op.Found), n+1
		}
	})
	if mean := float64(found) / float64(n); n < 5000 || math.Abs(mean-2) > 0.2 {
		t.Errorf("%d operations find %.2f rows each; expected 6,000, 2", n, mean)
	}
}

// TestTPCC: the mix, the sizes of its transactions, and the consistency conditions of clause 3.3.2 that the model
// keeps.
func TestTPCC(t *testing.T) {
	const n = 4000
	count, rollbacks := map[string]float64{}, 0
	delivered := 0
	w := build(t, "tpcc", "", 300, 0)
	state := drive(t, w, n, func(x *Txn) {
		count[x.Name]++
		if x.Rollback {
			rollbacks++
		}
		switch x.Name {
		case "NewOrder":
			if m := len(x.Ops); m < 8+4*5 || m > 8+1+4*15 {
				t.Fatalf("NewOrder of %d operations", m)
			}
		case "Payment":
			if m := len(x.Ops); m < 7 {
				t.Fatalf("Payment of %d operations", m)
			}
		case "OrderStatus":
			if m := len(x.Ops); m < 3+5 {
				t.Fatalf("OrderStatus of %d operations", m)
			}
		case "StockLevel":
			if m := len(x.Ops); m < 21+100 {
				t.Fatalf("StockLevel of %d operations", m)
			}
		case "Delivery":
			for _, op := range x.Ops {
				if op.Kind == Delete {
					delivered++
				}
			}
		}
		for _, op := range x.Ops {
			if op.Kind == Read && op.Absent {
				t.Fatalf("%s reads an absent row of table %s", x.Name, w.Tables()[op.Key.Table()].Name)
			}
		}
	})
	for name, share := range map[string]float64{"NewOrder": 0.45, "Payment": 0.43, "OrderStatus": 0.04,
		"Delivery": 0.04, "StockLevel": 0.04} {
		if math.Abs(count[name]/n-share) > 0.03 {
			t.Errorf("%s: %v of %d", name, count[name], n)
		}
	}
	must.Be(t, rollbacks != 0 && delivered >= 500, "%d rollbacks, %d orders delivered", rollbacks, delivered)
	for d := range int64(tpccDistricts) {
		next := state.payload[MakeKey(tpccDistrict, d)]
		first, last := unpackPair(state.payload[MakeKey(tpccNewOrders, d)])
		if last != next-1 || first > last+1 {
			t.Errorf("district %d: next order %d, undelivered %d to %d", d, next, first, last)
		}
	}
}

// TestCTwitter: what lists and newest tweets say is so.
func TestCTwitter(t *testing.T) {
	const users = 50
	state := drive(t, build(t, "ctwitter", "", users, 0), 5000, func(x *Txn) {
		if x.Name == "ShowTweets" && len(x.Ops) < 2 || x.Name == "Follow" && len(x.Ops) != 4 {
			t.Fatalf("%s of %d operations", x.Name, len(x.Ops))
		}
		for _, op := range x.Ops {
			if (x.Name == "ShowTweets" || x.Name == "Timeline") && op.Absent {
				t.Fatalf("%s reads an absent tweet", x.Name)
			}
		}
	})
	edges := 0
	for u := range int64(users) {
		if tw := state.payload[MakeKey(lastTweet, u)]; state.payload[MakeKey(tweets, tw)] != u {
			t.Errorf("user %d's newest tweet %d is another's", u, tw)
		}
		for _, d := range state.row[MakeKey(followList, u)] {
			if d == u {
				continue // from the load: no edge
			}
			edges++
			if _, ok := state.payload[MakeKey(following, u*users+d)]; !ok {
				t.Errorf("user %d follows %d in the list only", u, d)
			}
		}
	}
	if edges == 0 {
		t.Error("nobody follows anybody")
	}
}

// TestYCSB: shares of the operations by variant.
func TestYCSB(t *testing.T) {
	for variant, want := range map[string][4]float64{ // reads, writes, scans; read-modify-write counts as both
		"A": {0.5, 0.5, 0}, "B": {0.95, 0.05, 0}, "C": {1, 0, 0}, "D": {0.95, 0.05, 0}, "E": {0, 0.05, 0.95},
		"F": {1, 0.5, 0},
	} {
		var got [3]float64
		const n = 3000
		drive(t, build(t, "ycsb", variant, 200, 0), n, func(x *Txn) {
			for _, op := range x.Ops {
				switch op.Kind {
				case Read:
					got[0]++
				case ReadWhere:
					got[2]++
				default:
					got[1]++
				}
			}
		})
		for i := range got {
			if math.Abs(got[i]/(4*n)-want[i]) > 0.02 {
				t.Errorf("%s: shares %v of %d; expected %v", variant, got, 4*n, want)
			}
		}
	}
}

// TestZipf: the exponent is the workload's or it is refused.
func TestZipf(t *testing.T) {
	in, _ := Lookup("blindw")
	if _, _, err := in.New(Params{Zipf: 1}); err == nil || !strings.Contains(err.Error(), "no exponent") {
		t.Errorf("blindw takes a Zipf exponent: %v", err)
	}
	hottest := func(theta float64) float64 {
		in, _ := Lookup("gt")
		w, _, err := in.New(Params{Zipf: theta})
		must.OK(t, err)
		n, all := 0.0, 0.0
		drive(t, w, 500, func(x *Txn) {
			for _, op := range x.Ops {
				if all++; op.Key == 0 {
					n++
				}
			}
		})
		return n / all
	}
	if a, b := hottest(0.5), hottest(1.5); a > 0.05 || b < 0.3 {
		t.Errorf("hottest key has %.3f at exponent 0.5, %.3f at 1.5", a, b)
	}
}

// TestShapes: --shape takes mini-transactions alone, and "all" is all of them.
func TestShapes(t *testing.T) {
	must.Equal(t, len(allShapes()), 3+6+11, "shapes of one read, of two of a key, of two keys")
	in, _ := Lookup("mini")
	for shape, ok := range map[string]bool{"rxwx, rxwxrx": true, "all": true, "wx": false, "rxryrx": false} {
		_, _, err := in.New(Params{Shape: shape})
		must.Equal(t, err == nil, ok, "shape %s is accepted: %v", shape, err)
	}
	in, _ = Lookup("blindw")
	_, _, err := in.New(Params{Shape: "rx"})
	must.Equal(t, err != nil, true, "blindw has no shapes")
}
