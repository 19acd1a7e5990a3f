package predicates

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"isovet/history"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// number is mostly one of few, at times one far off.
func number(r *rand.Rand) int64 {
	switch r.IntN(30) {
	case 0:
		return math.MaxInt64
	case 1:
		return math.MinInt64
	}
	return r.Int64N(7) - 1
}

// randomPredicate writes a predicate over the columns of randomIndexed.
func randomPredicate(r *rand.Rand, depth int) string {
	constant := func() string {
		switch r.IntN(12) {
		case 0:
			return "null"
		case 1:
			return []string{"true", "false"}[r.IntN(2)]
		case 2, 3:
			return fmt.Sprintf("%q", []string{"a", "b", "é\"", "k1"}[r.IntN(4)])
		}
		return fmt.Sprint(number(r))
	}
	parts := func() string {
		var list []string
		for range r.IntN(4) {
			list = append(list, randomPredicate(r, depth-1))
		}
		return strings.Join(list, ",")
	}
	column := []string{"v", "w", "v", "w", "s", "", "key"}[r.IntN(7)]
	switch n := r.IntN(12); {
	case depth > 0 && n == 0:
		return `{"and":[` + parts() + `]}`
	case depth > 0 && n == 1:
		return `{"or":[` + parts() + `]}`
	case depth > 0 && n < 4:
		return `{"not":` + randomPredicate(r, depth-1) + `}`
	case n == 4:
		var list []string
		for range r.IntN(4) {
			list = append(list, constant())
		}
		return fmt.Sprintf(`{%q:{"in":[%s]}}`, column, strings.Join(list, ","))
	case n < 7:
		return fmt.Sprintf(`{%q:{">=":%d,"<":%d}}`, column, r.IntN(4), 2+r.IntN(5))
	case n == 7:
		return fmt.Sprintf(`{"v":{"<":%d},"w":{">":%d}}`, 2+r.IntN(5), r.IntN(4))
	}
	return fmt.Sprintf(`{%q:{%q:%s}}`, column, comparisons[r.IntN(6)], constant())
}

// randomIndexed makes a history of versions of all kinds, and predicates.
func randomIndexed(seed uint64) *history.History {
	r := rand.New(rand.NewPCG(seed, 7))
	b := history.NewBuilder()
	value := func() history.Value {
		switch n := r.IntN(10); {
		case n == 0:
			return history.Value{}
		case n < 3:
			return history.IntValue(r.Int64N(6))
		case n == 3:
			return history.BoolValue(r.IntN(2) == 0)
		case n == 4:
			return b.StringValue([]byte([]string{"a", "b", "é\""}[r.IntN(3)]))
		}
		var cols []string
		for _, c := range []string{"", "key", "s", "v", "w"} {
			var x string
			switch n := r.IntN(12); {
			case n < 3 || c <= "key" && n < 10:
				continue
			case n == 3:
				x = "null"
			case n == 4:
				x = []string{"true", "false"}[r.IntN(2)]
			case c == "s" || n == 5:
				x = []string{`"a"`, `"b"`, `"é\""`, `""`}[r.IntN(4)]
			default:
				x = fmt.Sprint(number(r))
			}
			cols = append(cols, fmt.Sprintf("%q:%s", c, x))
		}
		return b.RowValue([]byte("{" + strings.Join(cols, ",") + "}"))
	}
	if r.IntN(2) == 0 {
		b.Initial = value()
	}
	key := func() uint32 {
		if r.IntN(3) == 0 {
			return b.Key(history.IntValue(r.Int64N(5)))
		}
		return b.Key(b.StringValue(fmt.Appendf(nil, "k%d", r.IntN(5))))
	}
	if r.IntN(2) == 0 {
		for range r.IntN(6) {
			b.Write(key(), value())
		}
		head := history.NewTxnHead()
		head.Init = true
		b.EndTxn(head)
	}
	list := b.Key(b.StringValue([]byte("list")))
	if r.IntN(2) == 0 {
		b.Append(list, history.IntValue(3))
		b.ReadList(list, []history.Value{history.IntValue(3)})
	}
	for range 1 + r.IntN(30) {
		b.Write(key(), value())
	}
	b.EndTxn(history.NewTxnHead())
	for range 1 + r.IntN(12) {
		b.Predicate(history.PredRead, []byte(randomPredicate(r, 3)), nil)
	}
	b.EndTxn(history.NewTxnHead())
	return must.Have(b.Build())
}

// by is a predicate's truth of a key at a version, by definition.
func by(p *Predicate, h *history.History, key, ver uint32) Truth {
	for op, k := range h.Ops.Kind {
		if (k == history.Append || k == history.ReadList) && h.OpKey(uint32(op)) == key {
			return False
		}
	}
	if ver == history.None {
		ver = h.InitVer[key]
	}
	v := h.Initial
	if ver != history.None {
		v = h.VerValue(ver)
	}
	row, present := RowOfValue(h, key, v)
	if !present {
		return False
	}
	return p.Eval(row)
}

type at struct{ key, ver uint32 }

func order(a, b at) int {
	if a.key != b.key {
		return int(a.key) - int(b.key)
	}
	return int(int64(a.ver) - int64(b.ver))
}

// TestIndex holds the index, and states of random versions, against evaluation of all versions.
func TestIndex(t *testing.T) {
	seen := map[Truth]int{}
	simple := 0
	randtest.Seeds(t, 500, func(t testing.TB, seed uint64) {
		h := randomIndexed(seed)
		x, err := NewIndex(h)
		must.OK(t, err, "seed %d", seed)
		r := rand.New(rand.NewPCG(seed, 8))
		versions := make([][]uint32, h.NumKeys()) // None: the initial value
		var all []at
		for v, k := range h.VerKey {
			versions[k] = append(versions[k], uint32(v))
			all = append(all, at{k, uint32(v)})
		}
		s := x.NewState()
		cur := make([]uint32, h.NumKeys())
		for k := range versions {
			cur[k] = h.InitVer[k]
			if cur[k] == history.None {
				versions[k] = append(versions[k], history.None)
				all = append(all, at{uint32(k), history.None})
			}
		}
		slices.SortFunc(all, order)
		for step := range 12 {
			for range r.IntN(8) * min(step, 1) {
				k := r.IntN(len(cur))
				cur[k] = versions[k][r.IntN(len(versions[k]))]
				s.Set(uint32(k), cur[k])
			}
			if step == 9 {
				s.Reset()
				copy(cur, h.InitVer)
			}
			for i, text := range h.Preds.Pred {
				p := must.Get(Parse(h.Texts.Text(text)))(t)
				fail := func(what string, got, want any) {
					t.Helper()
					t.Fatalf("seed %d, step %d: %s of %s: %v; expected %v", seed, step, what, h.Texts.Text(text), got,
						want)
				}
				q := uint32(i)
				for k, v := range cur {
					if got, want := x.Truth(q, uint32(k), v), by(p, h, uint32(k), v); got != want {
						fail("truth", got, want)
					}
				}
				var want, got []at
				for k, v := range cur {
					if by(p, h, uint32(k), v) == True {
						want = append(want, at{uint32(k), v})
					}
				}
				s.Each(q, func(k uint32) { got = append(got, at{k, cur[k]}) })
				slices.SortFunc(got, order)
				if n := s.Count(q); n != len(want) || !slices.Equal(got, want) {
					fail("current", []any{n, got}, want)
				}
				if step > 0 {
					continue
				}
				want, got = nil, nil
				for _, a := range all {
					truth := by(p, h, a.key, a.ver)
					if seen[truth]++; truth == True {
						want = append(want, a)
					}
				}
				x.Each(q, func(k, v uint32) { got = append(got, at{k, v}) })
				slices.SortFunc(got, order)
				if !slices.Equal(got, want) {
					fail("versions", got, want)
				}
				if x.simple(x.pred[q]) {
					simple++
				}
			}
		}
	})
	t.Log(seen, simple)
	if randtest.Whole() && (seen[True] < 5000 || seen[Unknown] < 5000) {
		t.Errorf("truth values seen: %v", seen)
	}
}

// TestIndexErrors: a predicate that is none is named with its transaction and line.
func TestIndexErrors(t *testing.T) {
	b := history.NewBuilder()
	b.File = "h.jsonl"
	b.Predicate(history.PredRead, []byte(`{"v":{"=":1}}`), nil)
	b.Predicate(history.PredRead, []byte(`{"v":{"~":1}}`), nil)
	head := history.NewTxnHead()
	head.ID, head.HasID, head.Line = 7, true, 3
	b.EndTxn(head)
	h, err := b.Build()
	must.OK(t, err)
	_, err = NewIndex(h)
	var input *history.InputError
	if !errors.As(err, &input) || !strings.HasPrefix(err.Error(),
		`h.jsonl:3: field "ops": transaction 7: predicate.v: expected comparisons`) {
		t.Errorf("%v", err)
	}
}

// TestEmptyIndex: without rows, without predicates.
func TestEmptyIndex(t *testing.T) {
	b := history.NewBuilder()
	k := b.Key(history.IntValue(1))
	b.Write(k, history.Value{})
	b.Predicate(history.PredRead, []byte(`{}`), nil)
	b.EndTxn(history.NewTxnHead())
	h := must.Get(b.Build())(t)
	x := must.Get(NewIndex(h))(t)
	s := x.NewState()
	s.Set(k, 0)
	must.Be(t, s.Count(0) == 0 && x.Truth(0, k, 0) == False && len(x.root) == 1, "a row where there is none")
	if none := history.Restrict(h, nil, nil).H; none.HasPredicates() {
		t.Error("predicates of nobody")
	} else if x, err := NewIndex(none); err != nil || len(x.root) != 0 {
		t.Errorf("%v", err)
	}
}

// blind makes what a workload of range predicates leaves: rows (v1, v2), versions of each, and predicates on either
// column.
func blind(rows, versions, preds int, form func(col, lo, hi, max int) string) *history.History {
	r := rand.New(rand.NewPCG(1, 2))
	b := history.NewBuilder()
	n := rows * versions
	for v := range versions {
		for k := range rows {
			b.Write(b.Key(history.IntValue(int64(k))), b.RowValue(fmt.Appendf(nil, `{"v1":%d,"v2":%d}`, r.IntN(n),
				v*rows+k)))
		}
		b.EndTxn(history.NewTxnHead())
	}
	for range preds {
		at := r.IntN(n)
		b.Predicate(history.PredRead, []byte(form(1+r.IntN(2), at, at+n/10, r.IntN(n))), nil)
		b.EndTxn(history.NewTxnHead())
	}
	return must.Have(b.Build())
}

func compoundForm(col, lo, hi, most int) string {
	return fmt.Sprintf(`{"v%d":{">=":%d,"<":%d},"not":{"or":[{"v1":{">":%d}},{"v2":{"=":3}}]}}`, col, lo, hi, most)
}

// TestNoAllocation: questions allocate nothing.
func TestNoAllocation(t *testing.T) {
	h := blind(100, 10, 20, compoundForm)
	x := must.Get(NewIndex(h))(t)
	s := x.NewState()
	n := 0
	if a := testing.AllocsPerRun(10, func() {
		for p := range uint32(20) {
			n += s.Count(p)
			s.Set(p, p+200)
			s.Each(p, func(uint32) { n++ })
			x.Each(p, func(uint32, uint32) { n++ })
		}
	}); a != 0 {
		t.Errorf("%v allocations", a)
	}
	must.Be(t, n != 0, "nothing matches")
}
