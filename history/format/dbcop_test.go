package format_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"isovet/history"
	"isovet/history/format/dbcop"
	"isovet/history/format/jsonl"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/diff"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

func FuzzDbcopText(f *testing.F) {
	f.Add([]byte("[x1:=1 x2==?] [y==0]!\n---\n// c\n[x1==1]\n"))
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = dbcop.ReadText(data, "f") })
}

func FuzzDbcopJSON(f *testing.F) {
	f.Add([]byte(`[[{"events":[{"Write":{"variable":0,"version":1}},["r","x",null]],"committed":true}],[]]`))
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = dbcop.ReadJSON(data, "f") })
}

// TestDbcopRead: both forms are read as the JSON lines are that were made with them. Garbled text is read or refused.
func TestDbcopRead(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	for _, c := range []struct {
		read  func(data []byte, file string) (*history.History, error)
		made  func(rnd *rand.Rand, sessions [][]txn) string
		parts []string
	}{
		{dbcop.ReadText, madeText, []string{"[", "]", "!", " ", "\t", "\r", "\n", "x", "0", "7", "==", ":=", "?", "-",
			"---", "// c", "é", "_", "9999999999999999999", "1048576", "[x1==1]"}},
		{dbcop.ReadJSON, madeJSON, []string{"[", "]", "{", "}", `"`, ",", ":", "0", "-", "null", "true", `"x"`, `"\n"`, "é", " ",
			"\n", ";", "1.5", `"events":[]`, `"committed":false`, `"version":2`, `"variable":"y"`, `"Read":{}`,
			"99999999999999999999"}},
	} {
		for range histtest.Long(4_000, 200_000) {
			sessions := random(rnd)
			data := c.made(rnd, sessions)
			got, want := must.Get(c.read([]byte(data), "f"))(t), must.Get(jsonl.Read(lines(sessions), "f"))(t)
			diff.Same(t, want, got, "%s", data)
			_, err := c.read(randtest.Garble(rnd, []byte(data), c.parts), "f")
			if err != nil && !strings.HasPrefix(err.Error(), "f:") {
				t.Error(err)
			}
		}
	}
}

type txn struct {
	committed bool
	events    []step
}

// step is an event; version -1 is the initial one.
type step struct {
	write   bool
	key     string
	version int
}

// random makes a history; its first session has a transaction.
func random(rnd *rand.Rand) [][]txn {
	sessions := make([][]txn, 1+rnd.IntN(3))
	for s := range sessions {
		for range rnd.IntN(4) + max(0, 1-s) {
			x := txn{committed: rnd.IntN(4) > 0}
			for range 1 + rnd.IntN(3) {
				keys := [...]string{"x1", "x2", "x0", "Y3", "x", "x01", "a_b", "x5000000"}
				e := step{rnd.IntN(2) == 0, keys[rnd.IntN(len(keys))], rnd.IntN(3)}
				if !e.write && rnd.IntN(3) == 0 {
					e.version = -1
				}
				x.events = append(x.events, e)
			}
			sessions[s] = append(sessions[s], x)
		}
	}
	return sessions
}

// lines has the history as JSON lines: a read of 0 is of the initial version unless 0 is written, and an aborted read
// has no content.
func lines(sessions [][]txn) (b []byte) {
	zero := map[string]bool{}
	for _, s := range sessions {
		for _, x := range s {
			for _, e := range x.events {
				zero[e.key] = zero[e.key] || e.write && e.version == 0
			}
		}
	}
	for i, s := range sessions {
		for _, x := range s {
			var ops []string
			for _, e := range x.events {
				version := fmt.Sprint(e.version)
				if !e.write && (e.version < 0 || e.version == 0 && !zero[e.key]) {
					version = "null"
				}
				if e.write {
					ops = append(ops, fmt.Sprintf(`["w",%q,%s]`, e.key, version))
				} else if x.committed {
					ops = append(ops, fmt.Sprintf(`["r",%q,%s]`, e.key, version))
				}
			}
			status := map[bool]string{true: "committed", false: "aborted"}[x.committed]
			b = fmt.Appendf(b, `{"session":%d,"status":%q,"ops":[%s]}`+"\n", i, status, strings.Join(ops, ","))
		}
	}
	return b
}

// madeText makes the text form.
func madeText(rnd *rand.Rand, sessions [][]txn) string {
	var b strings.Builder
	for i, s := range sessions {
		if i > 0 {
			b.WriteString("---\n")
		}
		for _, x := range s {
			var events []string
			for _, e := range x.events {
				op, version := map[bool]string{true: ":=", false: "=="}[e.write], fmt.Sprint(e.version)
				if e.version < 0 {
					version = "?"
				}
				events = append(events, e.key+op+version)
			}
			b.WriteString("[" + strings.Join(events, [...]string{" ", "  "}[rnd.IntN(2)]) + "]")
			if !x.committed {
				b.WriteString("!")
			}
			b.WriteString([...]string{"\n", "\n", " ", "\r\n// c\n\n", " \n"}[rnd.IntN(5)])
		}
		if rnd.IntN(2) == 0 {
			b.WriteString("\n")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// madeJSON makes the form in JSON.
func madeJSON(rnd *rand.Rand, sessions [][]txn) string {
	blank := [...]string{"", " ", "\n        "}[rnd.IntN(3)]
	var all []string
	for _, s := range sessions {
		var txns []string
		for _, x := range s {
			var events []string
			for _, e := range x.events {
				kind, version := map[bool]string{true: "Write", false: "Read"}[e.write], fmt.Sprint(e.version)
				if e.version < 0 {
					version = "null"
				}
				event := fmt.Sprintf(`{"%s":{"variable":%q,%s"version":%s}}`, kind, e.key, blank, version)
				if rnd.IntN(2) == 0 {
					event = fmt.Sprintf(`["%c",%q,%s]`, kind[0]|0x20, e.key, version)
				}
				events = append(events, event)
			}
			fields := []string{fmt.Sprintf(`"events":%s[%s]`, blank, strings.Join(events, ",")),
				fmt.Sprintf(`"committed":%v`, x.committed), `"other":{"a":[1.5]}`}
			rnd.Shuffle(3, func(a, b int) { fields[a], fields[b] = fields[b], fields[a] })
			txns = append(txns, "{"+strings.Join(fields, ","+blank)+"}")
		}
		all = append(all, "["+strings.Join(txns, ",")+"]")
	}
	text := "[" + strings.Join(all, ",") + "]"
	if rnd.IntN(3) == 0 {
		return `{"params":{"n_transaction":1},"data":` + text + "}"
	}
	return text
}
