package workloads

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"isovet/evidence"
	"isovet/internal/test/histtest/randtest"
)

// done is a file of operations that succeeded one after the other, each "f in → out", with more members behind a |.
func done(ops ...string) string {
	var b edn
	for _, op := range ops {
		op, more, _ := strings.Cut(op, " | ")
		f, value, _ := strings.Cut(op, " ")
		in, out, _ := strings.Cut(value, " → ")
		if out == "" {
			out = in
		}
		kind := "ok"
		if out == "fail" {
			kind, out = "fail", in
		}
		b.op(0, "invoke", f, in)
		b.op(0, kind, f, strings.TrimSpace(out+" "+more))
	}
	return b.String()
}

// TestTransactional has the rules of the workloads whose anomalies are ones of transactions, each kept and broken.
func TestTransactional(t *testing.T) {
	read := func(a, b string) string {
		return fmt.Sprintf("read [[:r 2 nil] [:r 3 nil]] → [[:r 2 %s] [:r 3 %s]]", a, b)
	}
	for _, c := range []struct {
		name, kind string // "": it holds; "?": unknown
		ops        []string
	}{
		{"long-fork", "long-fork", []string{"write [[:w 2 1]]", read("1", "nil"), read("nil", "1")}},
		{"long-fork", "", []string{"write [[:w 3 1]]", read("1", "nil"), read("1", "1"), read("nil", "nil")}},
		{"long-fork", "?", []string{"write [[:w 2 1]]", "write [[:w 2 1]]", read("1", "nil")}},
		{"long-fork", "?", []string{"read [[:r 2 nil]] → [[:r 2 1]]"}},
		{"long-fork", "?", []string{read("1", "nil"), read("2", "nil")}},
		{"long-fork:group=1", "", []string{"read [[:r 2 nil]] → [[:r 2 1]]"}},
		{"causal", "", []string{"read-init [0 nil] → [0 0] | :link :init :position 1",
			"write [0 1] | :link 1 :position 2",
			"read [0 nil] → [0 1] | :link 2 :position 3", "write [0 2] | :link 3 :position 4"}},
		{"causal", "wrong-read", []string{"write [0 1] | :link :init :position 2",
			"read [0 nil] → [0 0] | :link 2 :position 3"}},
		{"causal", "broken-link", []string{"write [0 1] | :link :init :position 2",
			"read [0 nil] → [0 1] | :link 1 :position 3"}},
		{"causal", "wrong-write", []string{"write [0 2] | :link :init :position 2", "read [0 nil] → [0 2] | :link 2"}},
		{"causal", "wrong-read", []string{"read-init [0 nil] → [0 1] | :link :init :position 1"}},
		{"causal-reverse", "missing", []string{"write [5 1]", "write [5 2]", "read [5 nil] → [5 #{2}]"}},
		{"causal-reverse", "", []string{"write [5 1]", "write [5 2]", "read [5 nil] → [5 #{1}]",
			"read [5 nil] → [5 #{1 2}]"}},
		{"g2", "G2", []string{"insert [5 [1 nil]]", "insert [5 [nil 2]]"}},
		{"g2", "", []string{"insert [5 [1 nil]]", "insert [5 [nil 2]] → fail", "insert [6 [nil 3]]"}},
		{"sequential", "bad", []string{`read 5 → [5 ["5_1" nil]]`}},
		{"sequential", "", []string{"write 5", `read 5 → [5 [nil "5_0"]]`, `read 5 → [5 ["5_1" "5_0"]]`,
			`read 6 → [6 [nil nil]]`}},
		{"monotonic", "", []string{"add nil → {:val 1 :sts 5}", "add nil → {:val 2 :sts 6}",
			"read nil → [{:val 1 :sts 5} {:val 2 :sts 6}]"}},
		{"monotonic", "lost", []string{"add nil → {:val 1 :sts 5}", "read nil → []"}},
		{"monotonic", "value-reorder", []string{"read nil → [{:val 2 :sts 5} {:val 1 :sts 6}]"}},
		{"monotonic", "order-by-error", []string{"read nil → [{:val 1 :sts 5} {:val 2 :sts 4}]"}},
		{"monotonic", "duplicate", []string{"read nil → [{:val 1 :sts 5} {:val 1 :sts 5}]"}},
		{"monotonic", "revived", []string{"add {:val 1} → fail", "read nil → [{:val 1 :sts 5}]"}},
		{"monotonic", "", []string{"add 1 → fail", "read nil → [{:val 1 :sts 5}]"}},
		{"monotonic", "order-by-error", []string{"read nil → [{:val 1 :sts 14795844348765432100000000000001N} " +
			"{:val 2 :sts 14795844348765432100000000000000N}]"}},
		{"monotonic", "?", []string{"add nil → {:val 1 :sts 5}"}},
		{"dirty-reads", "dirty-read", []string{"write 7 → fail", "read nil → [7 7]"}},
		{"dirty-reads", "", []string{"write 7", "read nil → [7 1]"}},
		{"dirty-read", "", []string{"write 7", "read 7", "strong-read nil → [7 8 8]", "strong-read nil → #{8 7}"}},
		{"cas-register", "", []string{"write [0 0]", "cas [0 [0 1]]"}},
		{"set", "", []string{"add [1 7]", "read [1 nil] → [1 #{7}]", "add [2 7] → fail"}},
		{"dirty-read", "dirty", []string{"read 7", "strong-read nil → #{8}"}},
		{"dirty-read", "lost", []string{"write 7", "strong-read nil → #{8}"}},
		{"dirty-read", "nodes-disagree", []string{"write 7", "strong-read nil → #{7 8}", "strong-read nil → #{7}"}},
		{"dirty-read", "?", []string{"write 7"}},
		{"kafka", "", []string{"send [[:send 1 5]] → [[:send 1 [0 5]]]", "poll [[:poll]] → [[:poll {1 [[0 5]]}]]"}},
		{"kafka", "", []string{"send [[:send 1 5]] → [[:send 1 [nil 5]]]", "poll [[:poll]] → [[:poll {1 [[3 5]]}]]"}},
		{"kafka", "?", []string{"assign [1]", "poll [[:poll]] → [[:poll {}]]"}},
		{"kafka", "?", []string{"send [[:send 1 5]] → [[:send 1 [0 5]]]", "send [[:send 1 5]] → [[:send 1 [1 5]]]",
			"poll [[:poll]] → [[:poll {1 [[0 5]]}]]"}},
		{"kafka", "", []string{"send [[:send 1 5]] → [[:send 1 [0 5]]]", "subscribe [1]",
			"poll [[:poll]] → [[:poll {1 [[0 5]]}]]", "poll [[:poll]] → [[:poll {1 [[0 5]]}]]"}},
		{"kafka", "?", []string{"send [[:send 1 7]] → [[:send 1 [0 7]]]",
			"poll [[:poll]] → [[:poll {1 [[0 7] [1 9]]}]]"}},
		{"kafka", "", []string{"send [[:send 1 1]] → [[:send 1 [1 1]]]", "assign [2]",
			"send [[:send 1 2]] → [[:send 1 [0 2]]]", "poll [[:poll]] → [[:poll {1 [[0 2] [1 1]]}]]"}},
		{"kafka", "int-nonmonotonic-poll", []string{"poll [[:poll]] → [[:poll {1 [[1 6] [0 5]]}]]"}},
		{"kafka", "", []string{"send [[:send 1 5] [:send 1 6]] → [[:send 1 [0 5]] [:send 1 [1 6]]]",
			"poll [[:poll]] → [[:poll {1 [[1 6] [0 5]]}]] | :rebalance-log [{:keys [1]}]"}},
	} {
		a := judged(t, c.name, done(c.ops...))
		expected := want(c.kind != "")
		if c.kind == "?" {
			expected = evidence.Unknown
		}
		if a.Verdict != expected || expected == evidence.Violated && a.Counts[c.kind] == 0 {
			t.Errorf("%s of %q: %v %s %v, expected %q", c.name, c.ops, a.Verdict, a.Reason, a.Counts, c.kind)
		}
	}
}

// rule is a workload's rule said in the plainest way: whether what succeeded breaks it. open: the rule says nothing.
type rule struct {
	name   string
	ask    func(r *rand.Rand, n int) (f, value string)
	answer func(r *rand.Rand, f, value string) string
	breaks func(all, done []plain) (bad, open bool)
}

// words are those of a value, without brackets.
func words(e plain) []string {
	return strings.Fields(strings.NewReplacer("[", " ", "]", " ", "{", " ", "}", " ", "#", "", ",", "").
		Replace(e.value.(string)))
}

// some are some of the numbers below n, as words.
func some(r *rand.Rand, n int) string {
	var have []string
	for v := range n {
		if r.IntN(5) > 0 {
			have = append(have, fmt.Sprint(v))
		}
	}
	return strings.Join(have, " ")
}

// rules are those that TestRules compares.
func rules() []rule {
	drawn := func(r *rand.Rand, n int) string { return []string{"nil", fmt.Sprint(n)}[r.IntN(2)] }
	position := 0
	return []rule{{"long-fork", func(r *rand.Rand, n int) (string, string) {
		if n < 4 && r.IntN(3) > 0 {
			return "write", fmt.Sprintf("[[:w %d 1]]", n)
		}
		k := r.IntN(2) * 2
		return "read", fmt.Sprintf("[[:r %d nil] [:r %d nil]]", k, k+1)
	}, func(r *rand.Rand, f, v string) string {
		if f == "write" {
			return v
		}
		return strings.NewReplacer("nil]]", drawn(r, 1)+"]]", "nil] [", drawn(r, 1)+"] [").Replace(v)
	}, func(_, done []plain) (bad, open bool) {
		for _, a := range done {
			for _, b := range done {
				x, y := words(a), words(b)
				bad = bad || a.f == "read" && b.f == "read" && x[1] == y[1] && x[2] == "1" && y[2] == "nil" &&
					x[5] == "nil" && y[5] == "1"
			}
		}
		return bad, false
	}}, {"causal", func(r *rand.Rand, n int) (string, string) {
		if n == 0 {
			position = 0
		}
		return []string{"read-init", "write", "read"}[min(n, 1+r.IntN(2))], "[0 nil]"
	}, func(r *rand.Rand, f, v string) string {
		position++
		link := []string{fmt.Sprint(position - 1), ":init", fmt.Sprint(r.IntN(5))}[r.IntN(24)/11]
		return fmt.Sprintf("[0 %d], :link %s, :position %d", position/2+r.IntN(8)/7, link, position)
	}, func(_, done []plain) (bad, open bool) {
		value, writes, last := "0", 0, "nil"
		for _, e := range done {
			w := words(e)
			bad = bad || w[3] != ":init" && w[3] != last
			if e.f == "write" {
				writes++
				value = w[1]
				bad = bad || w[1] != fmt.Sprint(writes)
			}
			bad = bad || w[1] != value || e.f == "read-init" && writes == 0 && w[1] != "0"
			last = w[5]
		}
		return bad, false
	}}, {"causal-reverse", func(r *rand.Rand, n int) (string, string) {
		return []string{"read", "write"}[r.IntN(2)], fmt.Sprint(n)
	}, func(r *rand.Rand, f, v string) string {
		if f == "write" {
			return v
		}
		return "#{" + some(r, 8) + "}"
	}, func(all, done []plain) (bad, open bool) {
		for _, e := range done {
			for i, w := range all {
				if e.f != "read" || w.f != "write" || w.kind != "invoke" || !slices.Contains(words(e), words(w)[0]) {
					continue
				}
				for _, before := range all[:i] {
					bad = bad || before.f == "write" && before.kind == "ok" &&
						!slices.Contains(words(e), words(before)[0])
				}
			}
		}
		return bad, false
	}}, {"g2", func(r *rand.Rand, n int) (string, string) {
		return "insert", fmt.Sprintf("[%d [nil %d]]", r.IntN(12), n)
	}, func(_ *rand.Rand, _, v string) string { return v }, func(_, done []plain) (bad, open bool) {
		for i, a := range done {
			for _, b := range done[:i] {
				bad = bad || words(a)[0] == words(b)[0]
			}
		}
		return bad, false
	}}, {"sequential", func(r *rand.Rand, n int) (string, string) {
		return []string{"read", "write"}[r.IntN(2)], fmt.Sprint(n)
	}, func(r *rand.Rand, f, v string) string {
		if f == "write" {
			return v
		}
		return fmt.Sprintf("[%s [%s %s %s]]", v, drawn(r, 2), drawn(r, 1), []string{"0", "0", "nil"}[r.IntN(3)])
	}, func(_, done []plain) (bad, open bool) {
		for _, e := range done {
			for w, i := words(e), 1; e.f == "read" && i < 4; i++ {
				bad = bad || w[i] == "nil" && slices.ContainsFunc(w[1:i], func(v string) bool { return v != "nil" })
			}
		}
		return bad, false
	}}, {"monotonic", func(r *rand.Rand, n int) (string, string) {
		if r.IntN(4) == 0 {
			return "read", "nil"
		}
		return "add", fmt.Sprintf("{:val %d}", n)
	}, func(r *rand.Rand, f, v string) string {
		if f == "add" {
			return v
		}
		var rows []string
		for i, v := range strings.Fields(some(r, 9)) {
			rows = append(rows, fmt.Sprintf("{:val %s, :sts %d}", v, i-2*(r.IntN(30)/29)))
			if r.IntN(40) == 0 {
				rows = append(rows, rows[r.IntN(len(rows))])
			}
		}
		return "[" + strings.Join(rows, " ") + "]"
	}, func(all, done []plain) (bad, open bool) {
		reads := slices.DeleteFunc(slices.Clone(done), func(e plain) bool { return e.f != "read" })
		if len(reads) == 0 {
			return false, true
		}
		rows := words(reads[len(reads)-1]) // :val v :sts s
		var has []string
		for i := 1; i < len(rows); i += 4 {
			if n := len(has); n > 0 {
				bad = bad || number(rows[i]) <= number(has[n-1]) || number(rows[i+2]) < number(rows[i-2])
			}
			bad = bad || slices.Contains(has, rows[i])
			has = append(has, rows[i])
		}
		for _, e := range all {
			if e.f == "add" && (e.kind == "ok" || e.kind == "fail") {
				bad = bad || slices.Contains(has, words(e)[1]) != (e.kind == "ok")
			}
		}
		return bad, false
	}}, {"dirty-reads", func(r *rand.Rand, n int) (string, string) {
		return []string{"read", "write"}[r.IntN(2)], fmt.Sprint(n)
	}, func(r *rand.Rand, f, v string) string {
		return fmt.Sprintf("[%d %d]", r.IntN(10), r.IntN(10))
	}, func(all, done []plain) (bad, open bool) {
		for _, e := range done {
			for _, w := range all {
				bad = bad || e.f == "read" && w.f == "write" && w.kind == "fail" &&
					slices.Contains(words(e), words(w)[0])
			}
		}
		return bad, false
	}}, {"dirty-read", func(r *rand.Rand, n int) (string, string) {
		return []string{"read", "write", "write", "strong-read"}[r.IntN(4)], fmt.Sprint(n)
	}, func(r *rand.Rand, f, v string) string {
		if f != "strong-read" {
			return fmt.Sprint(r.IntN(10))
		}
		return "#{" + []string{some(r, 16), "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15"}[min(1, r.IntN(9))] + "}"
	}, func(all, done []plain) (bad, open bool) {
		strong, in := map[string]bool{}, map[string]bool{}
		for _, e := range done {
			if e.f == "strong-read" {
				strong[strings.Join(words(e), " ")] = true
				for _, v := range words(e) {
					in[v] = true
				}
			}
		}
		for _, e := range done {
			if e.f == "write" { // what it invoked
				e = all[e.invoked]
			}
			bad = bad || e.f != "strong-read" && !in[words(e)[0]]
		}
		return len(strong) > 0 && bad || len(strong) > 1, len(strong) == 0
	}}}
}

func number(s string) (n int) {
	_, _ = fmt.Sscan(s, &n)
	return n
}

// TestRules compares the rules of the workloads whose anomalies are ones of transactions with themselves, said
// plainly.
func TestRules(t *testing.T) {
	for _, c := range rules() {
		t.Run(c.name, func(t *testing.T) {
			seen := verdicts{}
			randtest.Seeds(t, randtest.Long[uint64](1000, 2000), func(t testing.TB, seed uint64) {
				r := rand.New(rand.NewPCG(seed, 6))
				n := -1
				file := run(r, func() (string, string) {
					n++
					return c.ask(r, n)
				}, func(f, v string, _ bool) string { return c.answer(r, f, v) })
				all := events(t, file)
				done := slices.DeleteFunc(slices.Clone(all), func(e plain) bool { return e.kind != "ok" })
				bad, open := c.breaks(all, done)
				expected := want(bad)
				if !bad && (open || len(done) == 0) {
					expected = evidence.Unknown
				}
				a := judged(t, c.name, file)
				if seen[a.Verdict]++; a.Verdict != expected {
					t.Fatalf("%v %s %v, expected %v\n%s", a.Verdict, a.Reason, a.Counts, expected, file)
				}
			})
			seen.mixed(t)
		})
	}
}
