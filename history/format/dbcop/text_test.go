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

func FuzzText(f *testing.F) {
	f.Add([]byte("[x1:=1 x2==?] [y==0]!\n---\n// c\n[x1==1]\n"))
	f.Fuzz(func(t *testing.T, data []byte) { same(t, data, readText) })
}

// TestPlainText: plain text is read as the parser reads it, errors and all.
func TestPlainText(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 9))
	parts := []string{"[", "]", "!", " ", "\t", "\r", "\n", "x", "0", "7", "==", ":=", "?", "-", "---", "// c", "é",
		"_", "9999999999999999999", "1048576", "[x1==1]"}
	pick := func(of ...string) string { return of[rnd.IntN(len(of))] }
	good, n := 0, histtest.Long(20_000, 1_000_000)
	for range n {
		var data []byte
		for range rnd.IntN(6) {
			for i := range 1 + rnd.IntN(8)/7 {
				if i > 0 {
					data = append(data, ' ')
				}
				data = append(data, '[')
				for j := range 1 + rnd.IntN(3) {
					if j > 0 {
						data = append(data, ' ')
					}
					data = append(data, pick("x1", "x2", "x0", "x12", "Y3", "x", "x01", "a_b", "x5000000")...)
					data = append(data, pick("==1", "==2", ":=1", ":=2", ":=0", "==0", "==?", "==0", "==1")...)
				}
				data = append(data, pick("]", "]", "]", "]!")...)
			}
			data = append(data, pick("\n", "\n", "\n", "\r\n", "\n---\n", " \n", "")...)
		}
		for range rnd.IntN(3) / 2 {
			data = randtest.Garble(rnd, data, parts)
		}
		if same(t, data, readText) {
			good++
		}
	}
	if good < n/8 || good == n {
		t.Errorf("%d of %d texts were histories", good, n)
	}
}

// same compares the two ways of reading JSON or text, histories and errors, and reports whether there was a history.
func same(t testing.TB, data []byte, read func([]byte, string, bool) (*history.History, error)) bool {
	t.Helper()
	var h [2]*history.History
	var err [2]error
	for i, slow := range []bool{false, true} {
		h[i], err[i] = read(data, "f", slow)
	}
	if fmt.Sprint(err[0]) != fmt.Sprint(err[1]) {
		t.Fatalf("%q\nplain: %v\n twin: %v", data, err[0], err[1])
	}
	if err[0] != nil {
		return false
	}
	diff.Same(t, h[1], h[0], "%q", data)
	return true
}

func FuzzPlain(f *testing.F) {
	f.Add([]byte(`[[{"events":[{"Write":{"variable":0,"version":1}},["r","x",null]],"committed":true}],[]]`))
	f.Fuzz(func(t *testing.T, data []byte) { same(t, data, readJSON) })
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
		if same(t, data, readJSON) {
			good++
		}
	}
	if good < n/8 || good == n {
		t.Errorf("%d of %d texts were histories", good, n)
	}
}
