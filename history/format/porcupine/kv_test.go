package porcupine

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/diff"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// randomKV makes a log of a store that is linearizable but for some answers: tokens that end as none begins, some of
// them used again, or ones that run into each other.
func randomKV(rnd *rand.Rand) []byte {
	var data []byte
	type pending struct{ f, key, value string }
	open := make([]*pending, 1+rnd.IntN(4))
	store := map[string]string{}
	last := map[string]string{}
	mixed, again := rnd.IntN(3) == 0, rnd.IntN(3)
	for n := range rnd.IntN(60) {
		p := rnd.IntN(len(open))
		line := func(kind, f, key, value string) {
			data = fmt.Appendf(data, "{:process %d, :type :%s, :f :%s, :key %q, :value %s}\n", p, kind, f, key, value)
		}
		if o := open[p]; o != nil {
			open[p] = nil
			kind := "ok"
			if rnd.IntN(10) == 0 {
				kind = [...]string{"fail", "info"}[rnd.IntN(2)]
			}
			value := fmt.Sprintf("%q", o.value)
			switch {
			case kind == "fail":
			case o.f == "put":
				store[o.key] = o.value
			case o.f == "append":
				store[o.key] += o.value
			default:
				answer := store[o.key]
				switch rnd.IntN(12) {
				case 0:
					answer = last[o.key]
				case 1:
					answer += "x 1 y"
				case 2:
					answer = answer[:rnd.IntN(len(answer)+1)]
				}
				last[o.key] = answer
				value = fmt.Sprintf("%q", answer)
			}
			line(kind, o.f, o.key, value)
			continue
		}
		o := &pending{f: [...]string{"get", "get", "put", "append", "append", "append"}[rnd.IntN(6)],
			key: fmt.Sprint(rnd.IntN(2))}
		value := "nil"
		if o.f != "get" {
			o.value = fmt.Sprintf("x %d y", n)
			if rnd.IntN(10) < again {
				o.value = fmt.Sprintf("x %d y", rnd.IntN(6))
			}
			if mixed {
				o.value = [...]string{"a", "ab", "b", "ba", "cc", "@"}[rnd.IntN(6)]
				o.value += [...]string{"", fmt.Sprint(n)}[rnd.IntN(2)]
			}
			value = fmt.Sprintf("%q", o.value)
		}
		open[p] = o
		line("invoke", o.f, o.key, value)
	}
	return data
}

// TestKV: a log is read as the naive reader reads it, errors and all.
func TestKV(t *testing.T) {
	rnd := rand.New(rand.NewPCG(4, 4))
	parts := []string{"[", "]", "{", "}", `"`, ",", ":", "0", "-", "nil", ":time 3 ", `"x"`, `\n`, "é", " ", "; no\n", "#_1 ",
		":process :nemesis ", ":ok", "invoke", "99999999999999999999"}
	good, bad, twice, unsaid := 0, 0, 0, 0
	for range histtest.Long(500, 100_000) {
		data := randomKV(rnd)
		for range rnd.IntN(4) / 2 {
			data = randtest.Garble(rnd, data, parts)
		}
		want, wantRepeated, wantErr := naiveKV(data, "f")
		h, repeated, err := ReadKV(data, "f")
		must.Hold(t, fmt.Sprint(err) == fmt.Sprint(wantErr) && repeated == wantRepeated,
			"%d %v\n twin: %d %v\n%s", repeated, err, wantRepeated, wantErr, data)
		if wantErr != nil {
			bad++
			if bytes.Contains([]byte(wantErr.Error()), []byte("a get may have seen either")) {
				unsaid++
			}
			continue
		}
		good++
		diff.Same(t, want, h, "%s", data)
		if wantRepeated > 0 {
			twice++
		}
	}
	t.Logf("%d good, %d of them with repeated tokens, %d bad, %d of them open", good, twice, bad, unsaid)
	must.Be(t, good >= bad/2 && twice >= good/20 && unsaid != 0,
		"%d good, %d of them with repeated tokens, %d bad, %d of them open", good, twice, bad, unsaid)
}

// randomConsole makes a console log of reads, writes and cas.
func randomConsole(rnd *rand.Rand) []byte {
	var data []byte
	open := make([]string, 1+rnd.IntN(4))
	for range rnd.IntN(40) {
		p := rnd.IntN(len(open))
		prefix := [...]string{"INFO  jepsen.util - ", "INFO  jepsen.util -", "12:00 ", ""}[max(0, rnd.IntN(40)-36)]
		sep := [...]string{"\t", "\t", " ", "  "}[rnd.IntN(4)]
		end := [...]string{"\n", "\n", "\r\n", " \n"}[rnd.IntN(4)]
		f, kind := open[p], ":invoke"
		if f == "" {
			f = [...]string{":read", ":write", ":cas"}[rnd.IntN(3)]
			open[p] = f
		} else {
			kind = [...]string{":ok", ":ok", ":fail", ":info"}[rnd.IntN(4)]
			open[p] = ""
		}
		value := fmt.Sprint(rnd.IntN(5))
		if f == ":cas" {
			value = fmt.Sprintf("[%d %d]", rnd.IntN(5), rnd.IntN(5))
		}
		if rnd.IntN(8) == 0 {
			value = [...]string{"nil", ":timed-out", "[nil 1]", "[1  nil]", "-7"}[rnd.IntN(5)]
		}
		data = fmt.Appendf(data, "%s%d%s%s%s%s%s%s%s", prefix, p, sep, kind, sep, f, sep, value, end)
		if rnd.IntN(8) == 0 {
			data = append(data, "INFO  jepsen.util - :nemesis\t:info\t:start\tnil\nnothing\n"...)
		}
	}
	return data
}

// naiveSplit is split, word by word.
func naiveSplit(line string) (e event, ok bool) {
	words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\r\n", r) })
	rest, last := line, ""
	for _, w := range words {
		at := len(line) - len(rest) + strings.Index(rest, w)
		rest = line[at+len(w):]
		if w != ":invoke" && w != ":ok" && w != ":fail" && w != ":info" {
			last, e.prefix = w, at
			continue
		}
		if last == "" || last[0] != ':' && (last[0] < '0' || last[0] > '9') {
			return e, false
		}
		e.process, e.kind = []byte(last), []byte(w)
		f := strings.Fields(rest)
		if len(f) == 0 {
			return e, true
		}
		e.name = []byte(f[0])
		value := strings.TrimSpace(rest[strings.Index(rest, f[0])+len(f[0]):])
		switch end := strings.Index(value, "]"); {
		case strings.HasPrefix(value, "[") && end > 0:
			value = value[:end+1]
		case strings.HasPrefix(value, "["):
		case value != "":
			value = strings.Fields(value)[0]
		}
		e.value = []byte(value)
		return e, true
	}
	return e, false
}

// TestSplit: a line's event is found as the naive reader finds it, whatever stands in the line.
func TestSplit(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 5))
	parts := []string{"[", "]", " ", "\t", "-", "nil", ":ok", ":info ", " :invoke ", "7", ":nemesis ", ":cas", "x"}
	events, n := 0, 0
	for range histtest.Long(3_000, 60_000) {
		for line := range bytes.Lines(randomConsole(rnd)) {
			for range rnd.IntN(3) / 2 {
				i := rnd.IntN(len(line) + 1)
				rest := line[min(len(line), i+rnd.IntN(3)):]
				line = slices.Concat(line[:i], []byte(parts[rnd.IntN(len(parts))]), rest)
			}
			n++
			got, ok := split(line)
			want, wantOK := naiveSplit(string(line))
			if ok != wantOK || ok && (got.prefix != want.prefix || string(got.process) != string(want.process) ||
				string(got.kind) != string(want.kind) || string(got.name) != string(want.name) ||
				string(got.value) != string(want.value)) {
				t.Fatalf("%q: %v %d %q\n twin: %v %d %q", line, ok, got.prefix, []string{string(got.process),
					string(got.kind), string(got.name), string(got.value)}, wantOK, want.prefix,
					[]string{string(want.process), string(want.kind), string(want.name), string(want.value)})
			}
			if ok {
				events++
			}
		}
	}
	must.Be(t, events >= n/2 && events != n, "%d of %d lines have events", events, n)
}
