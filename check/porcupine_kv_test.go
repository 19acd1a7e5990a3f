package check

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"isovet/evidence"
	"isovet/history/format"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
	"isovet/level"
)

// kvEvent is an operation of a key-value store's log.
type kvEvent struct {
	F, Value   string
	Start, End int // End 0: never completed
}

// Logs of a key-value store get the verdict of the definition: an order of the operations on strings, each between its
// invocation and its answer.
func TestKeyValueLogs(t *testing.T) {
	seeds := histtest.Long[uint64](165, 100000)
	counts := map[string]int{}
	randtest.Values(t, seeds, kvLog, func(t testing.TB, seed uint64, ops kvEvents) {
		ops, text := ops.written()
		path := filepath.Join(t.TempDir(), "log")
		must.OK(t, os.WriteFile(path, []byte(text), 0o644))
		h, err := format.Read(t.Context(), path, format.Options{})
		if err != nil {
			must.Hold(t, strings.Contains(err.Error(), "a get may have seen either"),
				"seed %d: %v\n%s", seed, err, text)
			counts["refused"]++
			return
		}
		c, ok := Auto(h, level.Linearizable)
		must.Hold(t, ok, "seed %d: no checker", seed)
		r := answer(t, c, h, Options{Level: level.Linearizable})
		want := evidence.Violated
		if kvOrder(ops, 0, "") {
			want = evidence.Holds
		}
		agree(t, r, want)
		counts[want.String()]++
	})
	randtest.Mix(t, counts["valid"] < int(seeds/5) || counts["violation"] < int(seeds/30) ||
		counts["refused"] > int(seeds/3), "%v", counts)
}

// kvLog makes a log of one key: an order of operations, sometimes a little wrong.
func kvLog(seed uint64) (ops kvEvents) {
	rng := rand.New(rand.NewPCG(seed, 0xcafe))
	state, at := "", 0
	n := 3 + rng.IntN(6)
	reuse := rng.IntN(3) == 0
	for i := range n {
		at += 10
		o := kvEvent{Start: at - rng.IntN(25), End: at + rng.IntN(25)}
		token := fmt.Sprintf("x%dy", i)
		if reuse {
			token = fmt.Sprintf("x%dy", rng.IntN(3))
		}
		switch k := rng.IntN(6); {
		case k < 2:
			o.F, o.Value = "append", token
			state += token
		case k == 2:
			o.F, o.Value = "put", token
			state = token
		default:
			o.F, o.Value = "get", state
		}
		if rng.IntN(8) == 0 && o.F != "get" {
			o.End = 0
		}
		ops = append(ops, o)
	}
	if rng.IntN(3) == 0 { // a get that saw something else
		var gets []int
		for i := range ops {
			if ops[i].F == "get" {
				gets = append(gets, i)
			}
		}
		if len(gets) > 1 {
			a, b := gets[rng.IntN(len(gets))], gets[rng.IntN(len(gets))]
			ops[a].Value, ops[b].Value = ops[b].Value, ops[a].Value
		}
	}
	return ops
}

// kvEvents are the operations of a log.
type kvEvents []kvEvent

// Valid reports whether the operations are ones that a log can have.
func (ops kvEvents) Valid() bool {
	for _, o := range ops {
		if !slices.Contains([]string{"append", "put", "get"}, o.F) || o.End < o.Start && o.End > 0 ||
			o.F == "get" && o.End <= 0 {
			return false
		}
	}
	return true
}

// written is the log as a file, one event a line, with the operations' times as lines.
func (ops kvEvents) written() (kvEvents, string) {
	type event struct{ at, op int }
	ops = slices.Clone(ops)
	n := len(ops)
	var all []event
	for i, o := range ops {
		all = append(all, event{o.Start*100 + i, i})
		if o.End > 0 {
			all = append(all, event{o.End*100 + 50 + i, i + n})
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
		value, kind := fmt.Sprintf("%q", o.Value), ":ok"
		if e.op < n {
			kind, o.Start = ":invoke", pos
			if o.F == "get" {
				value = "nil"
			}
		} else {
			o.End = pos
		}
		fmt.Fprintf(&b, "{:process %d, :type %s, :f :%s, :key \"0\", :value %s}\n", e.op%n, kind, o.F, value)
	}
	return ops, b.String()
}

// kvOrder tries all orders of what is not in done.
func kvOrder(ops []kvEvent, done uint, state string) bool {
	first := 1 << 30 // the earliest end of what must still come
	left := false
	for i, o := range ops {
		if done&(1<<i) == 0 && o.End > 0 {
			first, left = min(first, o.End), true
		}
	}
	if !left {
		return true
	}
	for i, o := range ops {
		if done&(1<<i) != 0 || o.Start > first {
			continue
		}
		next := state
		switch o.F {
		case "get":
			if o.Value != state {
				continue
			}
		case "append":
			next += o.Value
		case "put":
			next = o.Value
		}
		if kvOrder(ops, done|1<<i, next) {
			return true
		}
	}
	return false
}
