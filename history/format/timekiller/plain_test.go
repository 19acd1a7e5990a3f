package timekiller

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/diff"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// same compares the two ways of reading and reports whether the text was plain.
func same(t testing.TB, data []byte) (isPlain bool) {
	t.Helper()
	h, isPlain := readPlain(data, "f")
	if !isPlain {
		return false
	}
	want := must.Get(read(data, "f"))(t)
	diff.Same(t, want, h, "%q", data)
	must.Equal(t, fmt.Sprint(h.Notes), fmt.Sprint(want.Notes), "%q: notes", data)
	return true
}

func FuzzPlain(f *testing.F) {
	f.Add([]byte(`[{"tid":1,"sid":"2","sts":{"p":"5","l":0},"cts":{"p":6,"l":1},"ops":[{"t":"w","k":1,"v":2}]}]`))
	f.Add([]byte(`[{"tid":"a","sid":2,"sts":5,"cts":6,"ops":[{"t":"R","k":"1","v":[1,"b"]},{"t":"append","k":1,"v":3}]}]`))
	f.Fuzz(func(t *testing.T, data []byte) { same(t, data) })
}

// TestPlain: files that are plain are read as the scanner reads them, and files that are not are not taken for plain.
func TestPlain(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	parts := []string{"[", "]", "{", "}", `"`, ",", ":", "0", "-", "null", "true", `"x"`, `"\n"`, "é", " ", "\n", "9999999999999999999",
		`"v":1`, `"ops":[]`, `"sts":3`, `"k":"7"`, `"t":"W"`, ".5", ";", "NaN"}
	plain, n := 0, histtest.Long(10_000, 500_000)
	for range n {
		data := made(rnd)
		for range rnd.IntN(3) {
			data = randtest.Garble(rnd, data, parts)
		}
		if same(t, data) {
			plain++
		}
	}
	if plain < n/4 || plain == n {
		t.Errorf("%d of %d files were plain", plain, n)
	}
}

// made makes a small file.
func made(rnd *rand.Rand) (text []byte) {
	blank := [...]string{"", "", " ", "\n        "}[rnd.IntN(4)]
	put := func(s string) { text = append(append(text, blank...), s...) }
	number := func(n int) string {
		if rnd.IntN(5) == 0 {
			return fmt.Sprintf("%q", fmt.Sprint(n))
		}
		return fmt.Sprint(n)
	}
	logical, lists := rnd.IntN(3) == 0, rnd.IntN(3) == 0
	stamp := func(n int) string {
		l := 0
		if logical {
			l = rnd.IntN(2)
		}
		if !logical && rnd.IntN(4) == 0 {
			return fmt.Sprint(n)
		}
		return fmt.Sprintf(`{"p":%s,"l":%s}`, number(n), number(l))
	}
	put("[")
	for i := range rnd.IntN(5) {
		if i > 0 {
			put(",")
		}
		ops := `"ops":[`
		for j := range rnd.IntN(4) {
			if j > 0 {
				ops += ","
			}
			kind, value := [...]string{"r", "w", "R", "write"}[rnd.IntN(4)], [...]string{"null", "0", "1", "2", `"x"`,
				`"yy"`}[rnd.IntN(6)]
			if lists {
				if kind, value = "append", fmt.Sprint(rnd.IntN(4)); rnd.IntN(2) == 0 {
					kind, value = "r", [...]string{"null", "[]", "[1]", `[1,2,"x"]`}[rnd.IntN(4)]
				}
			}
			fields := []string{`"t":"` + kind + `"`, `"k":` + number(rnd.IntN(3)), `"v":` + value}
			rnd.Shuffle(3, func(a, b int) { fields[a], fields[b] = fields[b], fields[a] })
			ops += "{" + fields[0] + "," + blank + fields[1] + "," + fields[2] + "}"
		}
		fields := []string{`"tid":` + number(i), `"sid":` + []string{number(rnd.IntN(2)), `"s"`}[rnd.IntN(2)],
			`"sts":` + stamp(10*i), `"cts":` + stamp(10*i+rnd.IntN(15)), ops + "]"}
		rnd.Shuffle(5, func(a, b int) { fields[a], fields[b] = fields[b], fields[a] })
		put("{")
		for j, f := range fields {
			if j > 0 {
				put(",")
			}
			put(f)
		}
		put("}")
	}
	put("]")
	return text
}
