package workloads

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"isovet/evidence"
	"isovet/history/operations"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// judged is a workload's answer on a file.
func judged(t testing.TB, name, file string) *Answer {
	t.Helper()
	h := must.Get(operations.Read([]byte(file), "h.edn"))(t)
	w, settings, err := Lookup(name)
	must.OK(t, err)
	a := must.Get(w.Check(t.Context(), h, Options{Settings: settings}))(t)
	return a
}

// edn writes events of a history: process, type, f, value, a line each.
type edn struct {
	strings.Builder
	n int
}

func (b *edn) op(process int, kind, f string, value any) {
	fmt.Fprintf(b, "{:index %d, :time %d, :process %d, :type :%s, :f :%s, :value %v}\n", b.n, 700_000*b.n, process,
		kind, f, value)
	b.n++
}

// run draws the events of a few clients: ask gives what a client invokes, answer what its operation returns when it
// completes.
func run(r *rand.Rand, ask func() (f, value string), answer func(f, value string, took bool) string) string {
	var b edn
	type open struct{ f, value string }
	at := map[int]open{}
	for range 6 + r.IntN(10) {
		p := r.IntN(3)
		o, is := at[p]
		if !is {
			f, v := ask()
			at[p] = open{f, v}
			b.op(p, "invoke", f, v)
			continue
		}
		delete(at, p)
		switch kind := []string{"ok", "ok", "ok", "info", "fail"}[r.IntN(5)]; kind {
		case "ok":
			b.op(p, kind, o.f, answer(o.f, o.value, true))
		default:
			answer(o.f, o.value, kind == "info" && r.IntN(2) == 0)
			b.op(p, kind, o.f, o.value)
		}
	}
	return b.String()
}

// events reads a file again in the plainest way: what each rule's twin goes by.
type plain struct {
	process        int64
	kind, f        string
	value          any
	invoked, index int
}

func events(t testing.TB, file string) (all []plain) {
	last := map[int64]int{}
	for i, line := range strings.Split(strings.TrimSpace(file), "\n") {
		var e plain
		var value string
		var n, at int
		if _, err := fmt.Sscanf(strings.NewReplacer(":", "", ",", "", "}", "").Replace(line),
			"{index %d time %d process %d type %s f %s value", &n, &at, &e.process, &e.kind, &e.f); err != nil {
			t.Fatal(err)
		}
		_, value, _ = strings.Cut(strings.TrimSuffix(line, "}"), ":value ")
		e.value, e.index, e.invoked = value, i, i
		if e.kind == "invoke" {
			last[e.process] = i
		} else {
			e.invoked = last[e.process]
		}
		all = append(all, e)
	}
	return all
}

// verdicts counts what a random test saw, and fails where it saw one verdict only.
type verdicts map[evidence.Verdict]int

func (v verdicts) mixed(t *testing.T) {
	t.Helper()
	must.Hold(t, v[evidence.Holds] != 0 && v[evidence.Violated] != 0, "%v: the histories say nothing", v)
}

func want(bad bool) evidence.Verdict {
	return map[bool]evidence.Verdict{true: evidence.Violated, false: evidence.Holds}[bad]
}

// TestCounter compares the bounds with those that a loop over all events gives for each read.
func TestCounter(t *testing.T) {
	seen := verdicts{}
	randtest.Seeds(t, 3000, func(t testing.TB, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		sum := 0
		file := run(r, func() (string, string) {
			if r.IntN(2) == 0 {
				return "read", "nil"
			}
			return "add", fmt.Sprint(r.IntN(4))
		}, func(f, v string, took bool) string {
			if f == "read" {
				return fmt.Sprint(sum + r.IntN(5)/4)
			}
			if took {
				sum += number(v)
			}
			return v
		})
		all := events(t, file)
		bad, reads := false, false
		for i, e := range all {
			if e.kind != "ok" || e.f != "read" {
				continue
			}
			reads = true
			low, high, got := 0, 0, 0
			fmt.Sscan(e.value.(string), &got)
			for k, a := range all {
				n := number(a.value.(string))
				if a.f != "add" {
					continue
				}
				if a.kind == "ok" && k < e.invoked {
					low += n
				}
				failed := slices.ContainsFunc(all, func(c plain) bool { return c.kind == "fail" && c.invoked == k })
				if a.kind == "invoke" && k < i && !failed {
					high += n
				}
			}
			bad = bad || got < low || got > high
		}
		a := judged(t, "counter", file)
		if seen[a.Verdict]++; reads && a.Verdict != want(bad) || !reads && a.Verdict != evidence.Unknown {
			t.Fatalf("%v %s, expected a violation: %t\n%s", a.Verdict, a.Reason, bad, file)
		}
	})
	seen.mixed(t)
}

// TestTotalQueue compares with the multisets counted value by value.
func TestTotalQueue(t *testing.T) {
	seen := verdicts{}
	randtest.Seeds(t, 3000, func(t testing.TB, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 2))
		var queue []string
		file := run(r, func() (string, string) {
			return []string{"enqueue", "dequeue"}[r.IntN(2)], fmt.Sprint(r.IntN(6))
		}, func(f, v string, took bool) string {
			if f == "enqueue" {
				if took && r.IntN(8) > 0 {
					queue = append(queue, v)
				}
				return v
			}
			if !took || len(queue) == 0 {
				return fmt.Sprint(r.IntN(8))
			}
			v = queue[0]
			queue = queue[1:]
			return v
		})
		b := edn{n: 100}
		b.op(9, "invoke", "drain", "nil")
		b.op(9, "ok", "drain", "["+strings.Join(queue, " ")+"]")
		file += b.String()
		tried, acked, out := map[string]int{}, map[string]int{}, map[string]int{}
		for _, e := range events(t, file) {
			v := e.value.(string)
			switch {
			case e.f == "enqueue" && e.kind == "invoke":
				tried[v]++
			case e.f == "enqueue" && e.kind == "ok":
				acked[v]++
			case e.f == "dequeue" && e.kind == "ok":
				out[v]++
			case e.f == "drain" && e.kind == "ok":
				for _, w := range strings.Fields(strings.Trim(v, "[]")) {
					out[w]++
				}
			}
		}
		lost, unexpected := 0, 0
		for v := range 20 {
			k := fmt.Sprint(v)
			lost += max(0, acked[k]-out[k])
			if tried[k] == 0 {
				unexpected += out[k]
			}
		}
		a := judged(t, "total-queue", file)
		if seen[a.Verdict]++; a.Verdict != want(lost+unexpected > 0) || a.Counts["lost"] != lost ||
			a.Counts["unexpected"] != unexpected {
			t.Fatalf("%v %v, expected %d lost and %d unexpected\n%s", a.Verdict, a.Counts, lost, unexpected, file)
		}
	})
	seen.mixed(t)
}

// TestSets compares set and set-full with their rules said element by element.
func TestSets(t *testing.T) {
	seen, full := verdicts{}, verdicts{}
	randtest.Seeds(t, 3000, func(t testing.TB, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 3))
		in := map[string]bool{}
		next := 0
		file := run(r, func() (string, string) {
			if r.IntN(2) == 0 {
				return "read", "nil"
			}
			next++
			return "add", fmt.Sprint(next)
		}, func(f, v string, took bool) string {
			if f == "add" {
				in[v] = in[v] || took
				return v
			}
			var have []string
			for n := range next + 2 {
				if k := fmt.Sprint(n); in[k] && r.IntN(8) > 0 || r.IntN(40) == 0 {
					have = append(have, k)
				}
			}
			return "#{" + strings.Join(have, " ") + "}"
		})
		all := events(t, file)
		has := func(e plain, v string) bool {
			return slices.Contains(strings.Fields(strings.Trim(e.value.(string), "#{}")), v)
		}
		tried, acked := map[string]bool{}, map[string]bool{}
		last := -1
		for i, e := range all {
			tried[e.value.(string)] = tried[e.value.(string)] || e.f == "add"
			if e.f == "read" && e.kind == "ok" {
				last = i
			}
		}
		for _, e := range all[:all[max(last, 0)].invoked] { // what returned before the read was called
			acked[e.value.(string)] = acked[e.value.(string)] || e.f == "add" && e.kind == "ok"
		}
		bad := false
		for n := 0; last >= 0 && n < next+2; n++ {
			k := fmt.Sprint(n)
			bad = bad || acked[k] && !has(all[last], k) || has(all[last], k) && !tried[k]
		}
		a := judged(t, "set", file)
		if seen[a.Verdict]++; last < 0 && a.Verdict != evidence.Unknown || last >= 0 && a.Verdict != want(bad) {
			t.Fatalf("set: %v %s, expected a violation: %t\n%s", a.Verdict, a.Reason, bad, file)
		}
		stable, lost, stale := 0, 0, 0
		for i, e := range all {
			if e.f != "add" || e.kind != "invoke" {
				continue
			}
			known, present, absent := -1, -1, -1
			for k := i + 1; k < len(all); k++ {
				x := all[k]
				if x.kind != "ok" {
					continue
				}
				if known < 0 && (x.f == "add" && x.invoked == i || x.f == "read" && has(x, e.value.(string))) {
					known = k
				}
				if x.f == "read" && has(x, e.value.(string)) {
					present = max(present, x.invoked)
				} else if x.f == "read" {
					absent = max(absent, x.invoked)
				}
			}
			switch {
			case present >= 0 && present > absent:
				stable++
				if absent >= 0 && (700_000*absent+1-700_000*known)/1e6 > 0 {
					stale++
				}
			case known >= 0 && absent > present && absent > known:
				lost++
			}
		}
		for _, name := range []string{"set-full", "set-full:linearizable=yes"} {
			b := judged(t, name, file)
			expected := want(lost > 0)
			switch {
			case lost > 0:
			case stable == 0:
				expected = evidence.Unknown
			case name != "set-full":
				expected = want(stale > 0)
			}
			if full[b.Verdict]++; b.Verdict != expected || b.Counts["lost"] != lost {
				t.Fatalf("%s: %v %v, expected %v, %d lost, %d stable, %d stale\n%s", name, b.Verdict, b.Counts,
					expected, lost, stable, stale, file)
			}
		}
	})
	seen.mixed(t)
	full.mixed(t)
}

// TestUniqueIDs compares with all pairs.
func TestUniqueIDs(t *testing.T) {
	seen := verdicts{}
	randtest.Seeds(t, 1000, func(t testing.TB, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 4))
		file := run(r, func() (string, string) { return "generate", "nil" },
			func(_, _ string, _ bool) string { return fmt.Sprint(r.IntN(12)) })
		bad, any := false, false
		all := events(t, file)
		for i, x := range all {
			any = any || x.kind == "ok"
			for _, y := range all[:i] {
				bad = bad || x.kind == "ok" && y.kind == "ok" && x.value == y.value
			}
		}
		a := judged(t, "unique-ids", file)
		if seen[a.Verdict]++; any && a.Verdict != want(bad) {
			t.Fatalf("%v, expected a violation: %t\n%s", a.Verdict, bad, file)
		}
	})
	seen.mixed(t)
}

// TestBank has a bank whose reads see some transfers by half; which, is compared with what the bank did.
func TestBank(t *testing.T) {
	seen := verdicts{}
	named := 0
	randtest.Seeds(t, 2000, func(t testing.TB, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 5))
		of := []int{10, 10, 10}
		wrong := 0
		half := func() string { return fmt.Sprintf("{0 %d, 1 %d, 2 %d}", of[0], of[1], of[2]) }
		var b edn
		for range 10 {
			from, amount := r.IntN(3), 1+r.IntN(3)
			to := (from + 1 + r.IntN(2)) % 3
			value := fmt.Sprintf("{:from %d, :to %d, :amount %d}", from, to, amount)
			b.op(0, "invoke", "read", "nil")
			b.op(0, "ok", "read", half())
			b.op(1, "invoke", "transfer", value)
			b.op(0, "invoke", "read", "nil")
			of[from] -= amount
			seen := half()
			if of[to] += amount; r.IntN(20) == 0 {
				wrong++
			} else {
				seen = half()
			}
			b.op(0, "ok", "read", seen)
			b.op(1, "ok", "transfer", value)
		}
		a := judged(t, "bank:total=30,negative=yes", b.String())
		if seen[a.Verdict]++; a.Counts["wrong-total"] != wrong || a.Verdict != want(wrong > 0) {
			t.Fatalf("%v %v, expected %d wrong totals\n%s", a.Verdict, a.Counts, wrong, b.String())
		}
		for _, f := range a.Findings {
			if !strings.Contains(f.Text, "it saw the debit but not the credit of the transfer in line") {
				t.Fatalf("%s\n%s", f.Text, b.String())
			}
			named++
		}
	})
	if seen.mixed(t); named == 0 {
		t.Fatal("no transfer was named")
	}
	for _, c := range []struct{ name, value, kind string }{
		{"bank:accounts=0-1,total=10", "{0 5, 2 5}", "unexpected-key"}, {"bank:total=10", "{0 nil, 1 10}",
			"nil-balance"},
		{"bank:total=10", "nil", "wrong-total"}, {"bank:total=10", "{}", "wrong-total"},
		{"bank:total=10", "{0 -5, 1 15}", "negative-value"}, {"bank:total=10,negative=yes", "{0 -5, 1 15}", ""},
		{"bank:accounts=0-5,total=10", "{0 5, 1 5}", ""},
	} {
		var b edn
		b.op(0, "invoke", "read", "nil")
		b.op(0, "ok", "read", c.value)
		a := judged(t, c.name, b.String())
		if (c.kind == "") != (a.Verdict == evidence.Holds) || c.kind != "" && a.Counts[c.kind] != 1 {
			t.Errorf("%s of %s: %v %v, expected %q", c.name, c.value, a.Verdict, a.Counts, c.kind)
		}
	}
}

// TestEdges are histories of odd values that a rule could take wrongly.
func TestEdges(t *testing.T) {
	const huge = "9223372036854775807"
	for _, c := range []struct {
		name, workload, why string
		steps               [][4]string // f, value, outcome, its value
		want                evidence.Verdict
	}{
		{"accounts appear", "bank", "a transfer opens an account that the first read does not have", [][4]string{
			{"read", "nil", "ok", "{0 10}"}, {"transfer", "{:from 0, :to 1, :amount 5}", "ok", "nil"},
			{"read", "nil", "ok", "{0 5, 1 5}"}}, evidence.Holds},
		{"accounts unexpected", "bank", "no transfer names account 7", [][4]string{
			{"read", "nil", "ok", "{0 10}"}, {"transfer", "{:from 0, :to 1, :amount 5}", "ok", "nil"},
			{"read", "nil", "ok", "{0 5, 7 5}"}}, evidence.Violated},
		{"sums overflow", "counter", "the upper bound is more than 64 bits", [][4]string{{"add", huge, "ok", huge},
			{"add", huge, "fail", huge}, {"add", "1", "ok", "1"}, {"read", "nil", "ok", "5"}}, evidence.Unknown},
		{"sums overflow", "linear-counter", "the same", [][4]string{{"add", huge, "ok", huge}, {"add", "1", "ok", "1"},
			{"read", "nil", "ok", "5"}}, evidence.Unknown},
		{"failed additions", "counter", "what failed is in no sum", [][4]string{{"add", huge, "ok", huge},
			{"add", huge, "fail", huge}, {"read", "nil", "ok", huge}}, evidence.Holds},
		{"a value empty", "queue", "it was enqueued", [][4]string{{"enqueue", `"empty"`, "ok", "nil"},
			{"dequeue", "nil", "ok", `"empty"`}}, evidence.Holds},
		{"an answer empty", "stack", "nothing was pushed", [][4]string{{"pop", "nil", "ok", ":empty"}}, evidence.Holds},
		{"broadcast", "set-full", "Maelstrom's word for an addition", [][4]string{{"broadcast", "1", "ok", "1"},
			{"read", "nil", "ok", "[1]"}}, evidence.Holds},
		{"crashed drain", "total-queue", "no drain makes up a value", [][4]string{{"enqueue", "1", "ok", "1"},
			{"drain", "nil", "info", "nil"}, {"dequeue", "nil", "ok", "7"}}, evidence.Violated},
		{"nothing missing", "total-queue", "the crashed drain took nothing", [][4]string{{"enqueue", "1", "ok", "1"},
			{"dequeue", "nil", "ok", "1"}, {"drain", "nil", "info", "nil"}}, evidence.Holds},
		{"maybe drained", "total-queue", "the crashed drain may have it", [][4]string{{"enqueue", "1", "ok", "1"},
			{"drain", "nil", "info", "nil"}}, evidence.Unknown},
	} {
		var b edn
		for _, s := range c.steps {
			b.op(0, "invoke", s[0], s[1])
			b.op(0, s[2], s[0], s[3])
		}
		must.Equal(t, judged(t, c.workload, b.String()).Verdict, c.want, "%v\n%s", c, &b)
	}
	var b edn
	for i, step := range []string{"invoke add 1", "invoke add 1", "ok add 1", "invoke read nil", "ok read []"} {
		s := strings.Fields(step)
		b.op([]int{0, 1, 0, 0, 0}[i], s[0], s[1], s[2])
	}
	must.Equal(t, judged(t, "set-full", b.String()).Counts["lost"], 1, "the first of two concurrent additions ended")
}

// TestSteps bounds the work on histories for which looking at all pairs would take minutes.
func TestSteps(t *testing.T) {
	many := randtest.Long(4_000, 12_000)
	var forks, bank edn
	for k := range 2 {
		forks.op(k, "invoke", "write", fmt.Sprintf("[[:w %d 1]]", k))
	}
	for i := range many {
		seen := "[[:r 0 1] [:r 1 nil]]"
		if i%2 == 1 {
			seen = "[[:r 0 nil] [:r 1 1]]"
		}
		forks.op(2, "invoke", "read", "[[:r 0 nil] [:r 1 nil]]")
		forks.op(2, "ok", "read", seen)
	}
	if a := judged(t, "long-fork", forks.String()); a.Counts["long-fork"] != many/2*(many/2) || len(a.Findings) != 1 {
		t.Errorf("%d forks of %d reads, %d shown; expected one for each pair of different reads, and one shown",
			a.Counts["long-fork"], many, len(a.Findings))
	}
	bank.op(0, "invoke", "read", "nil")
	bank.op(0, "ok", "read", "{0 9000, 1 9000, 2 9000}")
	for i := range many / 4 {
		move := fmt.Sprintf("{:from %d, :to %d, :amount 3}", i%3, (i+1+i%2)%3)
		bank.op(1, "invoke", "transfer", move)
		bank.op(1, "ok", "transfer", move)
	}
	bank.op(0, "invoke", "read", "nil")
	bank.op(0, "ok", "read", "{0 9004, 1 8999, 2 9000}") // no transfers make this up
	must.Equal(t, judged(t, "bank", bank.String()).Counts["wrong-total"], 1, "wrong totals")
}
