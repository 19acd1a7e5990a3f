package jepsen

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/diff"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// slowly is Read, or for a log ReadLog, by way of the scanner alone: the twin of what reads plain text.
func slowly(data []byte, o Options, lines bool) (*history.History, error) {
	r := newReader(data, "f", o)
	r.plain = false
	if lines {
		return r.log()
	}
	if err := r.file(); err != nil {
		return nil, err
	}
	return r.build()
}

// same compares the two ways of reading, histories, notes and errors, and reports whether there was a history.
func same(t testing.TB, data []byte) (good bool) {
	t.Helper()
	for _, c := range []struct {
		o     Options
		lines bool
	}{{Options{}, false}, {Options{JSON: true}, false}, {Options{}, true}, {Options{Nil: "unknown"}, false},
		{Options{JSON: true, Nil: "absent", TextNumbers: true}, false}} {
		want, wantErr := slowly(data, c.o, c.lines)
		var h *history.History
		var err error
		if c.lines {
			h, err = ReadLog(data, "f", c.o)
		} else {
			h, err = Read(data, "f", c.o)
		}
		must.Same(t, fmt.Sprint(err), fmt.Sprint(wantErr), "%+v: %q", c, data)
		if err != nil {
			continue
		}
		good = true
		diff.Same(t, want, h, "%+v: %q", c, data)
		// Keys are numbered as they are met, which is the order in which results name them.
		must.Same(t, h.NumKeys(), want.NumKeys(), "%+v: %q: keys", c, data)
		for k := range want.Keys {
			must.Same(t, h.KeyString(uint32(k)), want.KeyString(uint32(k)), "%+v: %q\nkey %d", c, data, k)
		}
		must.Hold(t, fmt.Sprint(h.Notes) == fmt.Sprint(want.Notes) && h.Positions == want.Positions,
			"%+v: %q\nplain: %v\n twin: %v", c, data, h.Notes, want.Notes)
	}
	return good
}

func FuzzPlain(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) { same(t, data) })
}

// TestPlain: plain text that is read as such is read as the scanner reads it, errors and all, also where something in
// it is not so plain or wrong.
func TestPlain(t *testing.T) {
	rnd := rand.New(rand.NewPCG(11, 12))
	parts := []string{":r", ":w", ":append", " nil", "null", "[", "]", "{", "}", "(", ")", "#{", `"`, `"a"`, `\a`, ":", ",",
		";", "\n", "\t", " ", "-", "7", "12345678901234567890", "9223372036854775807", "1N", "0x1f", "1.5", ":x",
		"x/y", "é",
		"\x00", "\xff", "#_ 1 ", "#a ", ":type :ok", ":f :read", ":f :cas", ":process nil", ":process :nemesis",
		":client 3 ",
		"[1 2]", "[1 [2 3]]", ":key 3 ", ":time nil ", ":index 3", "true", ":value [[:r 1 [2]]] ", `"type":"ok",`, "invoke"}
	good := 0
	n := histtest.Long(6_000, 400_000)
	for range n {
		data := made(rnd)
		for range rnd.IntN(4) {
			data = randtest.Garble(rnd, data, parts)
		}
		if same(t, data) {
			good++
		}
	}
	must.Be(t, good >= n/4 && good != n, "%d of %d texts were histories", good, n)
}

// made makes the text of a small history, in a random notation.
func made(rnd *rand.Rand) (text []byte) {
	json, lines, lists := rnd.IntN(3) == 0, rnd.IntN(4) == 0, rnd.IntN(2) == 0
	shape := rnd.IntN(4) // 0, 1: transactions; 2: one register; 3: several
	if !json && !lines && rnd.IntN(4) == 0 {
		text = append(text, '[')
		defer func() { text = append(text, ']') }()
	}
	word := func(s string) string {
		if json {
			return `"` + s + `"`
		}
		return ":" + s
	}
	null := "nil"
	if json {
		null = "null"
	}
	comma := func() string {
		if json {
			return ","
		}
		return [...]string{" ", ", ", "  ", "\n"}[rnd.IntN(4)]
	}
	if lines {
		comma = func() string { return " " }
	}
	number := func() string {
		if rnd.IntN(20) == 0 {
			return [...]string{word("x"), "-3", "true", `"é"`, `"a\"b"`, null, "1.5"}[rnd.IntN(7)]
		}
		return fmt.Sprint(rnd.IntN(4))
	}
	type micro struct{ op, key, v string }
	var asked []micro // of the invocation, which its completion repeats, but seldom
	var askedF, askedKey, askedValue string
	for i := range 2 * (1 + rnd.IntN(4)) {
		kind := [...]string{"invoke", "ok", "fail", "info"}[i%2*(1+max(0, rnd.IntN(8)-5))]
		ok := i%2 == 1
		f, value := "txn", ""
		said := func() string {
			switch {
			case !ok && rnd.IntN(4) > 0:
				return null
			case lists:
				l := "["
				for j := range rnd.IntN(4) {
					if j > 0 {
						l += comma()
					}
					l += number()
				}
				return l + "]"
			}
			return number()
		}
		again := ok && rnd.IntN(8) > 0
		if shape < 2 {
			if !again {
				asked = nil
				for range rnd.IntN(4) {
					m := micro{"r", number(), ""}
					if rnd.IntN(2) == 0 {
						if m.op, m.v = "w", number(); lists {
							m.op = "append"
						}
					}
					asked = append(asked, m)
				}
			}
			value = "["
			for j, m := range asked {
				if j > 0 {
					value += comma()
				}
				if m.op == "r" {
					m.v = said()
				}
				value += "[" + word(m.op) + comma() + m.key + comma() + m.v + "]"
			}
			value += "]"
		} else {
			if !again {
				askedF, askedKey, askedValue = "read", number(), number()
				if rnd.IntN(2) == 0 {
					askedF = "write"
				}
			}
			f, value = askedF, askedValue
			if f == "read" && !ok {
				value = null
			}
			if shape == 3 {
				value = "[" + askedKey + comma() + value + "]"
			}
		}
		if lines {
			text = fmt.Appendf(text, "%d\t:%s\t:%s\t%s\n", i/2%2, kind, f, value)
			continue
		}
		colon := " "
		if json {
			colon = ":"
		}
		fields := []string{word("type") + colon + word(kind), word("f") + colon + word(f),
			word("value") + colon + value, word("process") + colon + fmt.Sprint(i/2%3),
			word("time") + colon + fmt.Sprint(i),
			word("index") + colon + fmt.Sprint(i), word("extra") + colon + `{}`}
		rnd.Shuffle(len(fields), func(a, b int) { fields[a], fields[b] = fields[b], fields[a] })
		text = append(text, '{')
		for j, field := range fields {
			if j > 0 {
				text = append(text, comma()...)
			}
			text = append(text, field...)
		}
		text = append(text, "}\n"...)
	}
	return text
}
