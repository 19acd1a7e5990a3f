package dbcop

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/diff"
	"isovet/internal/test/histtest/randtest"
)

// same compares the two ways of reading JSON, histories and errors, and reports whether there was a history.
func same(t testing.TB, data []byte) bool {
	t.Helper()
	var h [2]*history.History
	var err [2]error
	for i, slow := range []bool{false, true} {
		h[i], err[i] = readJSON(data, "f", slow)
	}
	if fmt.Sprint(err[0]) != fmt.Sprint(err[1]) {
		t.Fatalf("%q\nplain: %v\n twin: %v", data, err[0], err[1])
	}
	if err[0] != nil {
		return false
	}
	if d := diff.Histories(h[1], h[0]); d != "" {
		t.Fatalf("%q\n%s", data, d)
	}
	return true
}

func FuzzPlain(f *testing.F) {
	f.Add([]byte(`[[{"events":[{"Write":{"variable":0,"version":1}},["r","x",null]],"committed":true}],[]]`))
	f.Fuzz(func(t *testing.T, data []byte) { same(t, data) })
}

// TestPlain: plain JSON is read as the scanner reads it, errors and all.
func TestPlain(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	parts := []string{"[", "]", "{", "}", `"`, ",", ":", "0", "-", "null", "true", `"x"`, `"\n"`, "é", " ", "\n", ";", "1.5",
		`"events":[]`, `"committed":false`, `"version":2`, `"variable":"y"`, `"Read":{}`, "99999999999999999999"}
	good, n := 0, histtest.Long(8_000, 400_000)
	for range n {
		blank := [...]string{"", " ", "\n        "}[rnd.IntN(3)]
		data := []byte("[")
		for s := range rnd.IntN(4) {
			if s > 0 {
				data = append(data, ',')
			}
			data = append(data, '[')
			for i := range rnd.IntN(3) {
				if i > 0 {
					data = append(data, ',')
				}
				data = fmt.Appendf(data, `{"events":%s[`, blank)
				for j := range rnd.IntN(4) {
					if j > 0 {
						data = append(data, ',')
					}
					key := [...]string{"0", "1", `"x"`, `"y"`}[rnd.IntN(4)]
					version := [...]string{"0", "1", "2", "null"}[rnd.IntN(4)]
					if rnd.IntN(2) == 0 {
						data = fmt.Appendf(data, `{"%s":{"variable":%s,%s"version":%s}}`,
							[...]string{"Read", "Write"}[rnd.IntN(2)], key, blank, version)
					} else {
						data = fmt.Appendf(data, `["%c",%s,%s]`, "rw"[rnd.IntN(2)], key, version)
					}
				}
				data = fmt.Appendf(data, `],"committed":%v%s}`, rnd.IntN(3) > 0, blank)
			}
			data = append(data, ']')
		}
		data = append(data, ']')
		for range rnd.IntN(3) {
			data = randtest.Garble(rnd, data, parts)
		}
		if same(t, data) {
			good++
		}
	}
	if good < n/8 || good == n {
		t.Errorf("%d of %d texts were histories", good, n)
	}
}
