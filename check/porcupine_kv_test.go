package check

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"isovet/evidence"
	"isovet/history/format"
	"isovet/internal/histtest"
	"isovet/level"
)

// kvEvent is an operation of a key-value store's log.
type kvEvent struct {
	f, value   string
	start, end int // end 0: never completed
	process    int
}

// Logs of a key-value store get the verdict of the definition: an order of the operations on strings, each between its
// invocation and its answer.
func TestKeyValueLogs(t *testing.T) {
	seeds := histtest.Long[uint64](1000, 100000)
	counts := map[string]int{}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 0xcafe))
		ops, text := kvLog(rng)
		path := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		h, err := format.Read(t.Context(), path, format.Options{})
		if err != nil {
			if !strings.Contains(err.Error(), "either could be what gets saw") {
				t.Fatalf("seed %d: %v\n%s", seed, err, text)
			}
			counts["refused"]++
			continue
		}
		c, ok := Auto(h, level.Linearizable)
		if !ok {
			t.Fatalf("seed %d: no checker", seed)
		}
		r, err := Run(t.Context(), c, h, Options{Level: level.Linearizable})
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
		want := evidence.Violated
		if kvOrder(ops, 0, "") {
			want = evidence.Holds
		}
		if r.Verdict != want {
			t.Fatalf("seed %d: %v; want %v\n%s", seed, r.Verdict, want, text)
		}
		counts[want.String()]++
	}
	if counts["valid"] < int(seeds/5) || counts["violation"] < int(seeds/30) || counts["refused"] > int(seeds/3) {
		t.Error(counts)
	}
	t.Log(counts)
}

// kvLog makes a log of one key: an order of operations, sometimes a little wrong.
func kvLog(rng *rand.Rand) ([]kvEvent, string) {
	type event struct{ at, op int }
	var ops []kvEvent
	state, at := "", 0
	n := 3 + rng.IntN(6)
	reuse := rng.IntN(3) == 0
	for i := range n {
		at += 10
		o := kvEvent{start: at - rng.IntN(25), end: at + rng.IntN(25), process: i}
		token := fmt.Sprintf("x%dy", i)
		if reuse {
			token = fmt.Sprintf("x%dy", rng.IntN(3))
		}
		switch k := rng.IntN(6); {
		case k < 2:
			o.f, o.value = "append", token
			state += token
		case k == 2:
			o.f, o.value = "put", token
			state = token
		default:
			o.f, o.value = "get", state
		}
		if rng.IntN(8) == 0 && o.f != "get" {
			o.end = 0
		}
		ops = append(ops, o)
	}
	if rng.IntN(3) == 0 { // a get that saw something else
		var gets []int
		for i := range ops {
			if ops[i].f == "get" {
				gets = append(gets, i)
			}
		}
		if len(gets) > 1 {
			a, b := gets[rng.IntN(len(gets))], gets[rng.IntN(len(gets))]
			ops[a].value, ops[b].value = ops[b].value, ops[a].value
		}
	}
	// Positions: one event a line.
	var all []event
	for i, o := range ops {
		all = append(all, event{o.start*100 + i, i})
		if o.end > 0 {
			all = append(all, event{o.end*100 + 50 + i, i + n})
		}
	}
	for i := range all { // insertion sort: few
		for j := i; j > 0 && all[j-1].at > all[j].at; j-- {
			all[j-1], all[j] = all[j], all[j-1]
		}
	}
	var b strings.Builder
	for pos, e := range all {
		o := &ops[e.op%n]
		value, kind := fmt.Sprintf("%q", o.value), ":ok"
		if e.op < n {
			kind, o.start = ":invoke", pos
			if o.f == "get" {
				value = "nil"
			}
		} else {
			o.end = pos
		}
		fmt.Fprintf(&b, "{:process %d, :type %s, :f :%s, :key \"0\", :value %s}\n", o.process, kind, o.f, value)
	}
	return ops, b.String()
}

// kvOrder tries all orders of what is not in done.
func kvOrder(ops []kvEvent, done uint, state string) bool {
	first := 1 << 30 // the earliest end of what must still come
	left := false
	for i, o := range ops {
		if done&(1<<i) == 0 && o.end > 0 {
			first, left = min(first, o.end), true
		}
	}
	if !left {
		return true
	}
	for i, o := range ops {
		if done&(1<<i) != 0 || o.start > first {
			continue
		}
		next := state
		switch o.f {
		case "get":
			if o.value != state {
				continue
			}
		case "append":
			next += o.value
		case "put":
			next = o.value
		}
		if kvOrder(ops, done|1<<i, next) {
			return true
		}
	}
	return false
}
