package certify

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"isovet/history"
	"isovet/internal/test/histtest/randtest"
	"isovet/predicates"
)

// rowsAt makes a history of an execution, one transaction at a time, of writes of rows and predicate operations over
// several columns of integers, strings and booleans; now and then a row is missed or matched falsely.
func rowsAt(seed uint64) *history.History {
	r := rand.New(rand.NewPCG(seed, 17))
	value := func() string { return []string{"0", "1", "2", "3", `"a"`, `"b"`, "true", "null"}[r.IntN(8)] }
	pick := func(n int) string { // mostly integers
		if r.IntN(4) > 0 {
			return fmt.Sprint(r.IntN(n))
		}
		return value()
	}
	unique := 0
	row := func() string {
		unique++
		s := fmt.Sprintf(`{"a":%s,"b":%s,"u":%d}`, pick(4), pick(6), unique)
		if r.IntN(6) == 0 {
			s = fmt.Sprintf(`{"b":%s,"u":%d}`, pick(6), unique)
		}
		return s
	}
	cmp := func() string { return []string{"=", "<", "<=", ">", ">="}[r.IntN(5)] }
	predicate := func() string {
		switch r.IntN(6) {
		case 0:
			return fmt.Sprintf(`{"a":{"%s":%s},"b":{"%s":%s}}`, cmp(), pick(4), cmp(), pick(6))
		case 1:
			return fmt.Sprintf(`{"or":[{"a":{"=":%s}},{"b":{"%s":%s}}]}`, pick(4), cmp(), pick(6))
		case 2:
			return fmt.Sprintf(`{"a":{"in":[%s,%s]},"not":{"b":{"=":%s}}}`, pick(4), pick(4), pick(6))
		case 3:
			return fmt.Sprintf(`{"u":{">=":%d,"<":%d}}`, r.IntN(unique+1), r.IntN(unique+9))
		}
		return fmt.Sprintf(`{"b":{"%s":%s}}`, cmp(), pick(6))
	}
	b := history.NewBuilder()
	keys := 2 + r.IntN(8)
	state := make([]string, keys)
	val := func(s string) history.Value {
		if s == "" {
			return history.Value{}
		}
		return b.RowValue([]byte(s))
	}
	for range 8 + r.IntN(20) {
		for range 1 + r.IntN(4) {
			k := r.IntN(keys)
			if r.IntN(2) == 0 {
				if state[k] = row(); r.IntN(6) == 0 {
					state[k] = ""
				}
				b.Write(b.Key(history.IntValue(int64(k))), val(state[k]))
				continue
			}
			text := strings.ReplaceAll(predicate(), "null", "1")
			p, err := predicates.Parse([]byte(text))
			if err != nil {
				panic(err)
			}
			var rows []history.PredRow
			kind := history.PredRead
			if r.IntN(3) == 0 {
				kind = history.PredWrite
			}
			for k, s := range state {
				is := s != "" && p.Eval(read(s)) == predicates.True
				if r.IntN(300) == 0 && s != "" {
					is = !is
				}
				if !is {
					continue
				}
				x := history.PredRow{Key: b.Key(history.IntValue(int64(k))), Old: val(s)}
				if kind == history.PredWrite {
					x.OldUnknown = r.IntN(8) == 0
					state[k] = row()
					x.New = val(state[k])
				}
				rows = append(rows, x)
			}
			b.Predicate(kind, []byte(text), rows)
		}
		b.EndTxn(history.NewTxnHead())
	}
	h, err := b.Build()
	if err != nil {
		panic(err)
	}
	return h
}

// read reads a row's text by definition.
func read(s string) predicates.Row {
	b := history.NewBuilder()
	b.Write(b.Key(history.IntValue(1)), b.RowValue([]byte(s)))
	b.EndTxn(history.NewTxnHead())
	h, err := b.Build()
	if err != nil {
		panic(err)
	}
	row, _ := predicates.RowOfValue(h, 0, h.VerValue(0))
	return row
}

// TestColumnsTwin: rows looked up in sorted columns are those that all rows looked at one by one give, in serial orders
// and in orders of events.
func TestColumnsTwin(t *testing.T) {
	defer SetBounds(maxBlocks, maxColumns, fewWriters, defaultConflicts)()
	var serial, snapshot both
	randtest.Seeds(t, randtest.Long[uint64](300, 12_000), func(t testing.TB, seed uint64) {
		h := rowsAt(seed)
		if !h.HasPredicates() {
			return
		}
		rng := rand.New(rand.NewPCG(seed, 4))
		maxColumns = rng.IntN(4)
		defer func(n int) { minItems = n }(minItems)
		if seed%2 == 0 {
			minItems = 4 // on several cores
		}
		order := make([]uint32, h.NumTxns())
		for i := range order {
			order[i] = uint32(i)
		}
		if n := len(order); rng.IntN(4) == 0 {
			i := rng.IntN(n - 1)
			order[i], order[i+1] = order[i+1], order[i]
		}
		run := func(plain bool) error {
			s, err := newTables(h, among(h, order, 0), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if plain {
				s.ranges = nil
			}
			for _, u := range order {
				if s.run(u) != nil {
					return fmt.Errorf("refused at %d", u) // which row is found first differs
				}
			}
			return nil
		}
		serial.compare(t, "a serial order", seed, run(false), run(true))
		events := twinEvents(rng, order)
		begins := func(plain bool) error {
			s, err := newTables(h, among(h, events, 1), Options{})
			if err != nil {
				t.Fatal(err)
			}
			s.kept = true
			if plain {
				s.ranges = nil
			}
			for i, e := range events {
				if e&1 == 0 {
					if s.run(e>>1) != nil {
						return fmt.Errorf("refused at %d", i)
					}
					s.takeBack()
					continue
				}
				lo, hi := h.TxnOps(e >> 1)
				for op := lo; op < hi; op++ {
					wrote(h, op, func(v uint32) { s.set(v, false) })
				}
			}
			return nil
		}
		snapshot.compare(t, "an order of events", seed, begins(false), begins(true))
	})
	serial.enough(t, "serial orders")
	snapshot.enough(t, "orders of events")
}

// TestReplayStops: a replay that is told to stop does.
func TestReplayStops(t *testing.T) {
	h := rowsAt(1)
	order := make([]uint32, h.NumTxns())
	for i := range order {
		order[i] = uint32(i)
	}
	s, err := newTables(h, among(h, order, 0), Options{Stop: func() bool { return true }})
	if err != nil {
		t.Fatal(err)
	}
	s.work = 1 << 12
	if err := s.run(0); err != ErrStopped {
		t.Errorf("%v; want %v", err, ErrStopped)
	}
}

// TestColumnFind: places found by way of each 64th number are those that a search over all finds.
func TestColumnFind(t *testing.T) {
	randtest.Seeds(t, 400, func(t testing.TB, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 19))
		var a holdings
		size := 1 << r.IntN(12)
		spread := int64(1) << (r.IntN(40) + 1)
		for i := range size + r.IntN(size) {
			switch v := r.Int64N(spread) - spread/2; r.IntN(40) {
			case 0:
				a.add(uint32(i), predicates.Scalar{Kind: history.Bool, N: v & 1})
			case 1:
				a.add(uint32(i), predicates.Scalar{Kind: history.String, S: fmt.Sprint(v)})
			case 2:
				a.add(uint32(i), predicates.Scalar{Kind: history.Int, N: []int64{math.MinInt64, math.MaxInt64}[v&1]})
			default:
				a.add(uint32(i), predicates.Scalar{Kind: history.Int, N: v})
			}
		}
		c := &column{place: nowhere(2 * size)}
		c.fill(&a)
		for range 200 {
			x := predicates.Range{Kind: history.Int, Lo: predicates.Scalar{Kind: history.Int, N: r.Int64N(spread) -
				spread/2}, Hi: predicates.Scalar{Kind: history.Int, N: r.Int64N(spread) - spread/2}}
			switch r.IntN(5) {
			case 0:
				x.Lo.N = math.MinInt64
			case 1:
				x.Hi.N = math.MaxInt64
			case 2:
				x.Kind, x.Lo.N, x.Hi.N = history.Bool, x.Lo.N&1, x.Hi.N&1
			}
			lo, hi := c.find(&x)
			in := c.of[x.Kind]
			for at := in.lo; at < in.hi; at++ {
				if v := c.nums[at]; (lo <= at && at < hi) != (x.Lo.N <= v && v <= x.Hi.N) {
					t.Fatalf("%d at place %d, %d to %d are %d to %d", v, at, x.Lo.N, x.Hi.N, lo, hi)
				}
			}
			if lo < hi && (lo < in.lo || hi > in.hi) {
				t.Fatalf("places %d to %d of %+v", lo, hi, in)
			}
		}
	})
}
