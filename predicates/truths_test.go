package predicates

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"isovet/history"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// TestTruths: what is read once and kept says what evaluation by definition says.
func TestTruths(t *testing.T) {
	seen := map[Truth]int{}
	randtest.Seeds(t, 500, func(t testing.TB, seed uint64) {
		h := randomIndexed(seed)
		x := must.Get(NewTruths(h))(t)
		for q, text := range h.Preds.Pred {
			p := must.Get(parseAny(h.Texts.Text(text)))(t)
			check := func(k, v uint32) {
				want := by(p, h, k, v)
				if got := x.Of(uint32(q), k, v); got != want {
					t.Fatalf("seed %d: %s of %s, version %d: %v; want %v", seed, h.Texts.Text(text), h.KeyString(k), v,
						got, want)
				}
				seen[want]++
			}
			for v, k := range h.VerKey {
				check(k, uint32(v))
			}
			for k, v := range h.InitVer {
				if v == history.None {
					check(uint32(k), v)
				}
			}
		}
	})
	must.Be(t, !randtest.Whole() || len(seen) == 3, "truths seen: %v", seen)
}

// scalars are values at the ends of what comparisons tell apart.
var scalars = []string{"null", "true", "false", "0", "1", "2", "-1", "3", "9223372036854775807", "-9223372036854775808",
	`""`, `"a"`, `"b"`, `"\u0061b"`, `"é"`}

// anyPredicate makes a predicate's text on columns a, b and key.
func anyPredicate(r *rand.Rand, depth int) string {
	switch n := r.IntN(12); {
	case depth > 0 && n < 3:
		var parts []string
		for range r.IntN(4) {
			parts = append(parts, anyPredicate(r, depth-1))
		}
		return fmt.Sprintf(`{"%s":[%s]}`, []string{"and", "or"}[r.IntN(2)], strings.Join(parts, ","))
	case depth > 0 && n == 3:
		return `{"not":` + anyPredicate(r, depth-1) + `}`
	case depth > 0 && n == 4:
		return `{"a":{"<=":2},"b":{">":"a"},"not":` + anyPredicate(r, depth-1) + `}`
	}
	value := func() string { return scalars[r.IntN(len(scalars))] }
	var list []string
	for range r.IntN(4) {
		list = append(list, value())
	}
	switch c := string("ab"[r.IntN(2)]); r.IntN(4) {
	case 0:
		return fmt.Sprintf(`{"%s":{"in":[%s]}}`, c, strings.Join(list, ","))
	case 1:
		return fmt.Sprintf(`{"%s":{"<":%s,">=":%s}}`, c, value(), value())
	case 2:
		return fmt.Sprintf(`{"%s":{"<=":%s,">":%s}}`, c, value(), value())
	default:
		return fmt.Sprintf(`{"%s":{"%s":%s}}`, c, comparisons[r.IntN(6)], value())
	}
}

// TestQuickParse: what is read at a glance is what any text is read as, and nothing wrong is read at all.
func TestQuickParse(t *testing.T) {
	quick := 0
	randtest.Seeds(t, 40000, func(t testing.TB, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 11))
		text := []byte(anyPredicate(r, 3))
		for range r.IntN(3) {
			switch i := r.IntN(len(text)); r.IntN(3) {
			case 0:
				text[i] = `{}[]",:0-1eabn\ <>=`[r.IntN(19)]
			case 1:
				text = append(text[:i], text[i+1:]...)
			case 2:
				text = append(text[:i+1], text[i:]...)
			}
		}
		n, rest, ok := quickNode(text, nil)
		if !ok || len(rest) > 0 {
			return
		}
		quick++
		p, err := parseAny(text)
		must.OK(t, err, "%s: read at a glance", text)
		for range 20 {
			row := Row{"a": Scalar{history.Int, r.Int64N(4) - 1, ""}, "b": Scalar{Kind: history.String,
				S: string("ab"[r.IntN(2)])}}
			if r.IntN(4) == 0 {
				delete(row, "a")
			}
			if got, want := n.eval(row), p.Eval(row); got != want {
				t.Fatalf("%s is %v of %v; want %v", text, got, row, want)
			}
		}
	})
	must.Be(t, !randtest.Whole() || quick >= 5000, "only %d are read at a glance", quick)
}

// TestQuickRow: a row read at a glance holds what a row read by definition holds.
func TestQuickRow(t *testing.T) {
	b := history.NewBuilder()
	b.Predicate(history.PredRead, []byte(`{"a":{"=":1},"b":{"=":1},"key":{"=":1}}`), nil)
	var rows []string
	r := rand.New(rand.NewPCG(1, 13))
	for i := range 3000 {
		var parts []string
		for _, c := range []string{`"":`, `"a":`, `"ab":`, `"b":`, `"c\"":`, `"key":`} {
			if r.IntN(3) == 0 {
				parts = append(parts, c+scalars[r.IntN(len(scalars))])
			}
		}
		rows = append(rows, "{"+strings.Join(parts, ",")+"}")
		b.Write(b.Key(history.IntValue(int64(i))), b.RowValue([]byte(rows[i])))
	}
	b.EndTxn(history.NewTxnHead())
	h := must.Get(b.Build())(t)
	x := must.Get(NewTruths(h))(t)
	row, quick := make([]Scalar, len(x.columns)), 0
	for v, k := range h.VerKey {
		want, _ := RowOfValue(h, k, h.VerValue(uint32(v)))
		if !x.readRow(k, uint32(v), row) {
			t.Fatalf("%s: no row", h.ValueString(uint32(v)))
		}
		for i, c := range x.columns {
			must.Equal(t, row[i], want[c], "%s: column %q", h.ValueString(uint32(v)), c)
		}
		if x.scan(h.Texts.Text(uint32(h.VerValue(uint32(v)).N)), row) {
			quick++
		}
	}
	must.Be(t, quick >= 300 && quick != len(rows), "%d of %d rows are read at a glance", quick, len(rows))
}
