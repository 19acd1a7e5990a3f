// Package objects makes histories of objects that are not databases: queues, sets, counters, banks, as clients of a
// Jepsen test saw them, in EDN. Each operation takes effect at one instant between its call and its return. A faulty
// object breaks its promise once.
//
// Experimental: this package may still change.
package objects

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// Spec says which history to make.
type Spec struct {
	Workload string
	Ops      int // operations
	Clients  int
	Seed     uint64
	Unknown  float64 // share of operations without an answer
	Faulty   bool
}

// object is the object of a workload. ask draws what a client invokes, do answers it. If broken is set, do breaks the
// promise if this answer can, and returns broke. failed says that the operation did nothing.
type object struct {
	about string
	ask   func(r *rand.Rand, n int) (f, in string)
	do    func(r *rand.Rand, f, in string, broken bool) (out string, failed, broke bool)
	// told, if set, is called with each answer that a client gets.
	told func(f, in, out string)
	// last is the last operation of a client, after all other operations have returned, or "".
	last   string
	client int // who asks
}

// kinds are the objects that [Generate] knows.
var kinds = map[string]func() *object{
	"bank": bank, "counter": counter, "linear-counter": counter, "set": set, "set-full": set, "linear-set": set,
	"queue":       func() *object { return list("enqueue", "dequeue", first) },
	"total-queue": func() *object { return drained(list("enqueue", "dequeue", first)) },
	"unordered-queue": func() *object {
		return list("enqueue", "dequeue", func(r *rand.Rand, n int) (int, int) { return r.IntN(n), -1 })
	},
	"stack": func() *object {
		return list("push", "pop", func(_ *rand.Rand, n int) (int, int) { return n - 1, 0 })
	},
	"unique-ids": ids, "register": register, "cas-register": casRegister,
	"mutex": func() *object { return semaphore(1) }, "semaphore": func() *object { return semaphore(2) },
	"kafka": kafka, "long-fork": longFork, "causal": causal, "g2": claims, "sequential": parts, "monotonic": rising,
	"dirty-read": dirty,
}

// Names returns the workloads that [Generate] knows.
func Names() []string { return slices.Sorted(maps.Keys(kinds)) }

// About returns one line about a workload's histories.
func About(name string) string { return kinds[name]().about + ", as operations in EDN; variant faulty" }

// Generate makes a history. broke is the line of the invocation whose answer breaks the promise, or 0.
func Generate(spec Spec) (text string, broke int) {
	r := rand.New(rand.NewPCG(spec.Seed, 0x0b7ec7))
	x := kinds[spec.Workload]()
	type op struct {
		client           int
		call, point, ret int64
		f, in, out       string
		kind             string
	}
	ops := make([]op, spec.Ops)
	free := make([]int64, spec.Clients)
	for i := range ops {
		c := i % spec.Clients
		call := free[c] + 1 + r.Int64N(200_000)
		ret := call + 1_000 + r.Int64N(1_000_000)
		ops[i] = op{client: c, call: call, point: call + r.Int64N(ret-call), ret: ret, kind: "ok"}
		free[c] = ret
	}
	if x.last != "" {
		at := slices.Max(free) + 1_000_000
		ops = append(ops, op{client: 0, call: at, point: at + 1, ret: at + 2, f: x.last, in: "nil", kind: "ok"})
	}
	slices.SortStableFunc(ops, func(a, b op) int { return cmp.Compare(a.point, b.point) })
	broken := -1
	for i := range ops {
		o := &ops[i]
		if x.client = o.client; o.f == "" {
			o.f, o.in = x.ask(r, i)
		}
		if o.f != x.last && r.Float64() < spec.Unknown {
			if o.kind = "info"; r.IntN(2) == 0 || o.f == "dequeue" && x.last == "drain" {
				continue // it never took effect; by Jepsen's total-queue, a value that it took would be lost
			}
		}
		out, failed, broke := x.do(r, o.f, o.in, spec.Faulty && broken < 0 && o.kind == "ok" && i >= spec.Ops/2)
		if o.out = out; failed && o.kind == "ok" {
			o.kind = "fail"
		}
		if broke {
			broken = i
		}
		if x.told != nil && o.kind == "ok" {
			x.told(o.f, o.in, out)
		}
	}
	return write(len(ops), func(i int) (client int, call, ret int64, f, in, out, kind string) {
		o := &ops[i]
		return o.client, o.call, o.ret, o.f, o.in, o.out, o.kind
	}, broken)
}

// write writes the events of operations sorted by time. After an operation without an answer, its client goes on as
// another process.
func write(n int, op func(i int) (client int, call, ret int64, f, in, out, kind string), broken int) (string, int) {
	type event struct {
		at  int64
		end bool
		op  int
	}
	var events []event
	for i := range n {
		_, call, ret, _, _, _, _ := op(i)
		events = append(events, event{call, false, i}, event{ret, true, i})
	}
	slices.SortStableFunc(events, func(a, b event) int {
		if c := cmp.Compare(a.at, b.at); c != 0 || a.end == b.end {
			return c
		}
		if a.end {
			return -1
		}
		return 1
	})
	process, next := map[int]int{}, 0
	var b strings.Builder
	line := 0
	for index, e := range events {
		client, _, _, f, in, out, kind := op(e.op)
		if _, is := process[client]; !is {
			process[client] = next
			next++
		}
		value := in
		switch {
		case !e.end:
			if kind = "invoke"; e.op == broken {
				line = index + 1
			}
		case kind == "ok":
			value = out
		}
		fmt.Fprintf(&b, "{:index %d, :time %d, :type :%s, :process %d, :f :%s, :value %s}\n", index, e.at, kind,
			process[client], f, value)
		if kind == "info" {
			delete(process, client)
		}
	}
	return b.String(), line
}

func first(_ *rand.Rand, n int) (at, wrong int) { return 0, n - 1 }

// far is how many values apart the wrong and the right answer of a faulty queue or stack are at least.
const far = 30

// list is a queue or stack of distinct values. which returns the indices of the value to take and of the value that a
// faulty one takes. A wrong index of -1 stands for a value that was never put in.
func list(put, take string, which func(r *rand.Rand, n int) (at, wrong int)) *object {
	var in []string
	return &object{about: "a queue or stack of distinct values", ask: func(r *rand.Rand, n int) (string, string) {
		if r.IntN(5) < 2 {
			return take, "nil"
		}
		return put, fmt.Sprint(n)
	}, do: func(r *rand.Rand, f, v string, broken bool) (string, bool, bool) {
		switch {
		case f == put:
			in = append(in, v)
			return v, false, false
		case f == "drain":
			return "[" + strings.Join(in, " ") + "]", false, false
		case len(in) == 0:
			return "nil", true, false
		}
		at, wrong := which(r, len(in))
		if broken = broken && len(in) > far; broken {
			if at = wrong; at < 0 {
				return "-1", false, true
			}
		}
		v = in[at]
		in = slices.Delete(in, at, at+1)
		return v, false, broken
	}}
}

// drained is a queue that is emptied at the end. A faulty one loses a value.
func drained(x *object) *object {
	x.last = "drain"
	do := x.do
	x.do = func(r *rand.Rand, f, v string, broken bool) (string, bool, bool) {
		if f == "enqueue" && broken {
			return v, false, true // it is lost
		}
		return do(r, f, v, false)
	}
	return x
}

func counter() *object {
	sum := 0
	return &object{about: "a counter", ask: func(r *rand.Rand, n int) (string, string) {
		if r.IntN(2) == 0 {
			return "read", "nil"
		}
		return "add", fmt.Sprint(1 + r.IntN(5))
	}, do: func(_ *rand.Rand, f, v string, broken bool) (string, bool, bool) {
		if f == "read" && broken {
			return fmt.Sprint(sum + 1_000_000), false, true
		}
		if f == "read" {
			return fmt.Sprint(sum), false, false
		}
		var n int
		_, _ = fmt.Sscan(v, &n)
		sum += n
		return v, false, false
	}}
}

func set() *object {
	var in []string
	return &object{about: "a set", last: "read", ask: func(r *rand.Rand, n int) (string, string) {
		if r.IntN(3) == 0 {
			return "read", "nil"
		}
		return "add", fmt.Sprint(n)
	}, do: func(_ *rand.Rand, f, v string, broken bool) (string, bool, bool) {
		if f == "add" {
			if !broken {
				in = append(in, v)
			}
			return v, false, broken
		}
		return "#{" + strings.Join(in, " ") + "}", false, false
	}}
}

func bank() *object {
	of := slices.Repeat([]int{10}, 8)
	return &object{about: "transfers between eight accounts", ask: func(r *rand.Rand, n int) (string, string) {
		if r.IntN(2) == 0 || n == 0 {
			return "read", "nil"
		}
		from := r.IntN(8)
		return "transfer", fmt.Sprintf("{:from %d, :to %d, :amount %d}", from, (from+1+r.IntN(7))%8, 1+r.IntN(5))
	}, do: func(r *rand.Rand, f, v string, broken bool) (string, bool, bool) {
		if f == "read" {
			var b strings.Builder
			b.WriteString("{")
			if broken {
				of[r.IntN(8)]--
			}
			for i, n := range of {
				fmt.Fprintf(&b, "%d %d ", i, n)
			}
			return strings.TrimSpace(b.String()) + "}", false, broken
		}
		var from, to, amount int
		_, _ = fmt.Sscanf(v, "{:from %d, :to %d, :amount %d}", &from, &to, &amount)
		if of[from] < amount {
			return v, true, false
		}
		of[from], of[to] = of[from]-amount, of[to]+amount
		return v, false, false
	}}
}

func ids() *object {
	n := 0
	return &object{about: "ids", ask: func(*rand.Rand, int) (string, string) { return "generate", "nil" },
		do: func(_ *rand.Rand, _, _ string, broken bool) (string, bool, bool) {
			if !broken || n == 0 {
				n++
				broken = false
			}
			return fmt.Sprint(n), false, broken
		}}
}

func register() *object {
	value := "nil"
	return &object{about: "a register", ask: func(r *rand.Rand, n int) (string, string) {
		if r.IntN(2) == 0 {
			return "read", "nil"
		}
		return "write", fmt.Sprint(r.IntN(5))
	}, do: func(r *rand.Rand, f, v string, broken bool) (string, bool, bool) {
		if f == "read" && broken {
			return "99", false, true
		}
		if f == "write" {
			value = v
		}
		return value, false, false
	}}
}

func casRegister() *object {
	x := register()
	ask, do := x.ask, x.do
	x.ask = func(r *rand.Rand, n int) (string, string) {
		if r.IntN(3) == 0 {
			return "cas", fmt.Sprintf("[%d %d]", r.IntN(5), r.IntN(5))
		}
		return ask(r, n)
	}
	x.do = func(r *rand.Rand, f, v string, broken bool) (string, bool, bool) {
		if f != "cas" {
			return do(r, f, v, broken)
		}
		old, to, _ := strings.Cut(strings.Trim(v, "[]"), " ")
		if now, _, _ := do(r, "read", "nil", false); now != old {
			return v, true, false
		}
		_, _, _ = do(r, "write", to, false)
		return v, false, false
	}
	return x
}

func semaphore(permits int) *object {
	held := 0
	return &object{about: "a lock; a faulty one is given too often", ask: func(r *rand.Rand, n int) (string, string) {
		return []string{"acquire", "release"}[r.IntN(2)], "nil"
	}, do: func(_ *rand.Rand, f, _ string, broken bool) (string, bool, bool) {
		switch full := held == permits; {
		case f == "acquire" && full && broken:
			held, permits = held+1, math.MaxInt
			return "nil", false, true
		case f == "acquire" && full || f == "release" && held == 0:
			return "nil", true, false
		case f == "acquire":
			held++
		default:
			held--
		}
		return "nil", false, false
	}}
}
