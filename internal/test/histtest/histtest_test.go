package histtest

import (
	"bytes"
	"strings"
	"testing"

	"isovet/history"
	"isovet/internal/test/histtest/diff"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// TestRandom: nearly all of the histories are legal, one seed makes one text, and what the package promises is drawn
// does occur.
func TestRandom(t *testing.T) {
	const n = 4000
	bad := 0
	has := map[string]int{}
	for seed := range uint64(n) {
		text := Random(seed, Shape{})
		must.Hold(t, bytes.Equal(text, Random(seed, Shape{})), "seed %d makes two histories", seed)
		h, err := Read(text)
		if err != nil {
			bad++
			continue
		}
		note := func(what string, is bool) {
			if is {
				has[what]++
			}
		}
		note("lists", h.HasLists())
		note("predicates", h.HasPredicates())
		note("initial", h.Initial.Kind != history.Null)
		note("init", h.Init != history.None)
		for _, field := range []string{`"seq":`, `"clock_skew":`, `"read_only_at_start":`, `"status":"aborted"`,
			`"status":"unknown"`, `"commit":`, `"start_ts":`,
			`"pw"`, `"not"`, `"or"`, `"ops":[]`, `:-92233720368547758`, `:92233720368547758`, `,null]`} {
			note(field, bytes.Contains(text, []byte(field)))
		}
		early, late := false, false
		for x := range uint32(h.NumTxns()) {
			if s := h.Start(x); s != history.NoTime {
				early, late = early || s < -1<<61, late || s > 1<<61
			}
		}
		note("both ends", early && late)
	}
	must.Be(t, bad <= n/20, "%d of %d histories are not legal", bad, n)
	for _, what := range []string{"lists", "predicates", "initial", "init", "both ends", `"seq":`, `"clock_skew":`,
		`"read_only_at_start":`, `"status":"aborted"`,
		`"status":"unknown"`, `"commit":`, `"start_ts":`, `"pw"`, `"not"`, `"or"`, `"ops":[]`, `:-92233720368547758`,
		`:92233720368547758`, `,null]`} {
		if has[what] < n/100 {
			t.Errorf("%s: in %d of %d histories", what, has[what], n)
		}
	}
}

// TestSame: where two histories differ a judge ends, and says what they are and where.
func TestSame(t *testing.T) {
	one, other := notation.MustParse("s1: w(x,1) | s2: r(x,1)"), notation.MustParse("s1: w(x,1) | s2: r(x,2)")
	err := randtest.Try(t, func(t testing.TB) { diff.Same(t, one, other, "told %d times", 2) })
	if err == nil || !strings.Contains(err.Error(), "told 2 times: transaction 2: operation 0: ") {
		t.Error(err)
	}
}

// TestShrink: nothing is left of a history but what makes it fail, and that with small times and values.
func TestShrink(t *testing.T) {
	text := `{"format":"isovet-history","version":1,"name":"long","clock_skew":3}
{"id":7,"session":4,"seq":0,"start":1000,"end":2000,"ops":[["w","x",30,1001,1002],["r","y",null]]}
{"id":8,"session":4,"seq":1,"start":3000,"end":9000,"ops":[["a","l",5],["r","l",[4,5]]]}
{"id":9,"session":4,"seq":2,"start":9500,"end":9700,"ops":[["pr",{"and":[{"":{">":5}},{"key":{"=":"x"}}]},[["x",30]]],["r","x",30]]}
`
	reads := func(text []byte) bool {
		h, err := Read(text)
		if err != nil {
			return false
		}
		for op := range uint32(h.NumOps()) {
			if h.Ops.Kind[op] == history.Read && h.KeyString(h.OpKey(op)) == `"x"` &&
				h.Start(h.TxnOf(op)) != history.NoTime {
				return true
			}
		}
		return false
	}
	want := `{"start":0,"ops":[["r","x",0]]}` + "\n"
	must.Equal(t, string(Shrink([]byte(text), reads)), want, "shrunk")
	elements := func(text []byte) bool {
		return strings.Contains(string(text), `[4,5]`) || strings.Contains(string(text), `[0,1]`)
	}
	want = `{"ops":[["r","l",[0,1]]]}` + "\n"
	must.Equal(t, string(Shrink([]byte(text), elements)), want, "shrunk")
}
