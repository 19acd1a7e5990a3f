package certify

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"isovet/history"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
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
			p := must.Have(predicates.Parse([]byte(text)))
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
	return must.Have(b.Build())
}

// read reads a row's text by definition.
func read(s string) predicates.Row {
	b := history.NewBuilder()
	b.Write(b.Key(history.IntValue(1)), b.RowValue([]byte(s)))
	b.EndTxn(history.NewTxnHead())
	h := must.Have(b.Build())
	row, _ := predicates.RowOfValue(h, 0, h.VerValue(0))
	return row
}

// refusedAt replays an order, of events or not, and says at which entry it is refused. Which row is found first is left
// open.
func refusedAt(t testing.TB, h *history.History, order []uint32, events bool) error {
	s := must.Get(newTables(h, Options{}))(t)
	for i, e := range order {
		switch {
		case !events || e&1 == 0:
			u := e
			if events {
				u = e >> 1
			}
			if s.run(u) != nil {
				return fmt.Errorf("refused at %d", i)
			}
			if events {
				s.takeBack()
			}
		default:
			for op, hi := h.TxnOps(e >> 1); op < hi; op++ {
				wrote(h, op, func(v uint32) { s.set(v, false) })
			}
		}
	}
	return nil
}

// plainRefusedAt is refusedAt by definition: every row is looked at for every predicate.
func plainRefusedAt(t testing.TB, h *history.History, order []uint32, events bool) error {
	truths := must.Get(predicates.NewTruths(h))(t)
	state := slices.Clone(h.InitVer)
	for i, e := range order {
		u, cur := e, state
		if events {
			u, cur = e>>1, slices.Clone(state)
		}
		if events && e&1 == 1 {
			cur = state
		}
		for op, hi := h.TxnOps(u); op < hi; op++ {
			v := h.Ops.Ver[op]
			if kind := h.Ops.Kind[op]; events && e&1 == 1 {
			} else if kind == history.Read && cur[h.VerKey[v]] != v {
				return fmt.Errorf("refused at %d", i)
			} else if kind == history.PredRead || kind == history.PredWrite {
				matched := map[uint32]bool{}
				for r := h.Preds.Off[v]; r < h.Preds.Off[v+1]; r++ {
					k := h.RowKey(r)
					matched[k] = true
					if old := h.Preds.Old[r]; old != history.None && old != cur[k] {
						return fmt.Errorf("refused at %d", i)
					}
				}
				for k, ver := range cur {
					if is := truths.Of(v, uint32(k), ver); is == predicates.True && !matched[uint32(k)] ||
						is == predicates.False && matched[uint32(k)] {
						return fmt.Errorf("refused at %d", i)
					}
				}
			}
			wrote(h, op, func(v uint32) { cur[h.VerKey[v]] = v })
		}
	}
	return nil
}

// TestRowsTwin: rows looked up by the index are those that all rows looked at one by one give, in serial orders and in
// orders of events.
func TestRowsTwin(t *testing.T) {
	var serial, snapshot both
	randtest.Seeds(t, randtest.Long[uint64](300, 12_000), func(t testing.TB, seed uint64) {
		h := rowsAt(seed)
		if !h.HasPredicates() {
			return
		}
		rng := rand.New(rand.NewPCG(seed, 4))
		order := make([]uint32, h.NumTxns())
		for i := range order {
			order[i] = uint32(i)
		}
		if n := len(order); rng.IntN(4) == 0 {
			i := rng.IntN(n - 1)
			order[i], order[i+1] = order[i+1], order[i]
		}
		serial.compare(t, "a serial order", seed, refusedAt(t, h, order, false), plainRefusedAt(t, h, order, false))
		events := twinEvents(rng, order)
		snapshot.compare(t, "an order of events", seed, refusedAt(t, h, events, true),
			plainRefusedAt(t, h, events, true))
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
	s, err := newTables(h, Options{Stop: func() bool { return true }})
	must.OK(t, err)
	s.work = 1 << 12
	must.Equal(t, s.run(0), ErrStopped, "stopped")
}

// TestInTime: with clocks that may each be off by the skew, one comes before the other by more than twice that.
func TestInTime(t *testing.T) {
	for _, c := range []struct {
		end, start, skew int64
		want             bool
	}{
		{10, 11, 0, true}, {10, 10, 0, false}, {11, 10, 0, false}, {10, 21, 5, true}, {10, 20, 5, false},
		{history.NoTime, 20, 0, false}, {10, history.NoTime, 0, false}, {-math.MaxInt64, math.MaxInt64, 1, true},
	} {
		must.Equal(t, history.InTime(c.end, c.start, c.skew), c.want, "InTime(%d, %d, %d)", c.end, c.start, c.skew)
	}
}
