package workloads

import (
	"fmt"
	"math/rand/v2"
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
		{"long-fork", "long-fork", []string{"write [[:w 2 1]]", "write [[:w 3 1]]", read("1", "nil"), read("nil",
			"1")}},
		{"long-fork", "", []string{"write [[:w 2 1]]", "write [[:w 3 1]]", read("1", "nil"), read("1", "1"),
			read("nil", "nil")}},
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
		{"monotonic", "revived", []string{"add 1 → fail", "read nil → [{:val 1 :sts 5}]"}},
		{"monotonic", "?", []string{"add nil → {:val 1 :sts 5}"}},
		{"dirty-reads", "dirty-read", []string{"write 7 → fail", "read nil → [7 7]"}},
		{"dirty-reads", "", []string{"write 7", "read nil → [7 1]"}},
		{"dirty-read", "", []string{"write 7", "read 7", "strong-read nil → #{7 8}", "strong-read nil → #{8 7}"}},
		{"dirty-read", "dirty", []string{"read 7", "strong-read nil → #{8}"}},
		{"dirty-read", "lost", []string{"write 7", "strong-read nil → #{8}"}},
		{"dirty-read", "nodes-disagree", []string{"write 7", "strong-read nil → #{7 8}", "strong-read nil → #{7}"}},
		{"dirty-read", "?", []string{"write 7"}},
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

// TestCausalReverse compares with the rule said write by write.
func TestCausalReverse(t *testing.T) {
	seen := verdicts{}
	randtest.Seeds(t, 2000, func(t testing.TB, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 6))
		next := 0
		var in []string
		file := run(r, func() (string, string) {
			if r.IntN(2) == 0 {
				return "read", "nil"
			}
			next++
			return "write", fmt.Sprint(next)
		}, func(f, v string, took bool) string {
			if f == "write" {
				if took {
					in = append(in, v)
				}
				return v
			}
			var have []string
			for _, v := range in {
				if r.IntN(6) > 0 {
					have = append(have, v)
				}
			}
			return "#{" + strings.Join(have, " ") + "}"
		})
		all := events(t, file)
		bad, any := false, false
		for _, e := range all {
			any = any || e.kind == "ok"
			if e.kind != "ok" || e.f != "read" {
				continue
			}
			has := map[string]bool{}
			for _, v := range strings.Fields(strings.Trim(e.value.(string), "#{}")) {
				has[v] = true
			}
			for i, w := range all {
				if w.f != "write" || w.kind != "invoke" || !has[w.value.(string)] {
					continue
				}
				for _, before := range all[:i] {
					bad = bad || before.f == "write" && before.kind == "ok" && !has[before.value.(string)]
				}
			}
		}
		a := judged(t, "causal-reverse", file)
		if seen[a.Verdict]++; any && a.Verdict != want(bad) {
			t.Fatalf("%v, expected a violation: %t\n%s", a.Verdict, bad, file)
		}
	})
	seen.mixed(t)
}
