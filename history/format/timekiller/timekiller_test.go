package timekiller

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"isovet/history/format/jsonl"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/diff"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

func FuzzRead(f *testing.F) {
	f.Add([]byte(`[{"tid":1,"sid":"2","sts":{"p":"5","l":0},"cts":{"p":6,"l":1},"ops":[{"t":"w","k":1,"v":2}]}]`))
	f.Add([]byte(`[{"tid":"a","sid":2,"sts":5,"cts":6,"ops":[{"t":"R","k":"1","v":[1,"b"]},{"t":"append","k":1,"v":3}]}]`))
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = Read(data, "f") })
}

// TestRead: a file is read as the JSON lines are that were made with it. What garbled text says does not matter, but it
// is read or refused.
func TestRead(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	parts := []string{"[", "]", "{", "}", `"`, ",", ":", "0", "-", "null", "true", `"x"`, `"\n"`, "é", " ", "\n",
		"9999999999999999999", `"v":1`, `"ops":[]`, `"sts":3`, `"k":"7"`, `"t":"W"`, ".5", ";", "NaN"}
	for range histtest.Long(2_000, 100_000) {
		data, lines := made(rnd)
		got, want := must.Get(Read(data, "f"))(t), must.Get(jsonl.Read(lines, "f"))(t)
		diff.Same(t, want, got, "%s\n%s", data, lines)
		_, err := Read(randtest.Garble(rnd, data, parts), "f")
		if err != nil && !strings.HasPrefix(err.Error(), "f:") {
			t.Error(err)
		}
	}
}

// TestLeast: the least physical part is a timestamp like others if a logical part goes with it.
func TestLeast(t *testing.T) {
	h := must.Get(Read([]byte(`[{"tid":1,"sid":1,"sts":{"p":-9223372036854775808,"l":1},"cts":{"p":1,"l":1},"ops":[]}]`),
		"f"))(t)
	must.Equal(t, fmt.Sprint(h.Txns.StartTS, h.Txns.CommitTS), "[1] [2]", "ranks")
}

// made makes a small file, and the same history as JSON lines.
func made(rnd *rand.Rand) (text, lines []byte) {
	blank := [...]string{"", "", " ", "\n        "}[rnd.IntN(4)]
	pick := func(of ...string) string { return of[rnd.IntN(len(of))] }
	number := func(n any) string { return pick(fmt.Sprint(n), fmt.Sprint(n), fmt.Sprintf("%q", fmt.Sprint(n))) }
	object := func(fields ...string) string {
		rnd.Shuffle(len(fields), func(a, b int) { fields[a], fields[b] = fields[b], fields[a] })
		return "{" + strings.Join(fields, ","+blank) + "}"
	}
	logical, lists := rnd.IntN(3), rnd.IntN(3) == 0
	stamps := make([][2]stamp, 1+rnd.IntN(5))
	var all []stamp
	for i := range stamps {
		stamps[i][0] = stamp{int64(10 * i), int64(rnd.IntN(logical + 1))}
		stamps[i][1] = stamp{stamps[i][0].p + rnd.Int64N(15), stamps[i][0].l + int64(rnd.IntN(logical+1))}
		all = append(all, stamps[i][:]...)
	}
	slices.SortFunc(all, func(a, b stamp) int { return cmp.Or(cmp.Compare(a.p, b.p), cmp.Compare(a.l, b.l)) })
	all = slices.Compact(all)
	ranked := slices.ContainsFunc(all, func(s stamp) bool { return s.l != 0 })
	model := "register"
	var txns []string
	reads, writes := "", "" // the values of registers
	for i, s := range stamps {
		var ops, made []string
		for range rnd.IntN(4) {
			key, kind := rnd.IntN(3), pick("r", "w")
			value := pick("null", "0", "1", "2", `"x"`, `"yy"`)
			switch {
			case lists && kind == "r":
				if value = pick("[]", "[1]", `[1,2,"x"]`); rnd.IntN(3) == 0 {
					value = "null"
				} else {
					model = "list"
				}
			case lists:
				kind, value, model = "a", pick("0", "1", `"x"`), "list"
			case kind == "w":
				writes += value
			}
			if kind == "r" {
				reads += value + ";"
			}
			name := map[string]string{"r": pick("r", "R", "read"), "w": pick("w", "write"),
				"a": pick("a", "append")}[kind]
			ops = append(ops, object(fmt.Sprintf(`"t":%q`, name), `"k":`+number(key), `"v":`+value, `"other":[{}]`))
			made = append(made, fmt.Sprintf(`[%q,%d,%s]`, kind, key, value))
		}
		var times [2]string
		for j, name := range [...]string{"sts", "cts"} {
			times[j] = fmt.Sprintf(`"%s":{"p":%s,"l":%s}`, name, number(s[j].p), number(s[j].l))
			if s[j].l == 0 && rnd.IntN(3) == 0 {
				times[j] = fmt.Sprintf(`"%s":%d`, name, s[j].p)
			}
		}
		session, said := rnd.IntN(2), ""
		if said = number(session); rnd.IntN(3) == 0 {
			session, said = -1, `"s"`
		}
		txns = append(txns, object(`"tid":`+number(i), `"sid":`+said, times[0], times[1], `"ops":[`+strings.Join(ops, ",")+"]"))
		at := [2]int64{s[0].p, s[1].p}
		for j := range at {
			if ranked {
				at[j] = int64(slices.Index(all, s[j])) + 1
			}
		}
		lines = fmt.Appendf(lines, `{"id":%d,"session":%d,"start_ts":%d,"commit_ts":%d,"ops":[%s]}`+"\n", i, session, at[0],
			at[1], strings.Join(made, ","))
	}
	initial := "null"
	if strings.Contains(";"+reads, ";0;") && !strings.Contains(writes, "0") && !strings.Contains(reads, "null") {
		initial = "0"
	}
	head := fmt.Sprintf(`{"format":"isovet-history","version":1,"model":%q,"initial":%s}`+"\n", model, initial)
	return []byte("[" + strings.Join(txns, ",") + "]"), bytes.Join([][]byte{[]byte(head), lines}, nil)
}
