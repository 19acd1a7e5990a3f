package workloads

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"isovet/evidence"
	"isovet/internal/slice"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// kafkaOp is an operation as the test draws it: [key, offset, value] of what it sends and polls, offset -1 unknown.
type kafkaOp struct {
	process, call, ret int
	kind               string
	sent, polled       [][3]int
	assign             []int // an assignment of keys, where not nil
	empty              int   // a key polled without a message, if not negative
}

// text is the operation's value; answered: with offsets.
func (o *kafkaOp) text(answered bool) string {
	if o.assign != nil {
		return fmt.Sprint(o.assign)
	}
	var b strings.Builder
	b.WriteString("[")
	for _, m := range o.sent {
		if answered && m[1] >= 0 {
			fmt.Fprintf(&b, "[:send %d [%d %d]]", m[0], m[1], m[2])
		} else {
			fmt.Fprintf(&b, "[:send %d %d]", m[0], m[2])
		}
	}
	for _, m := range o.polled {
		if answered {
			fmt.Fprintf(&b, "[:poll {%d [[%d %d]]}]", m[0], m[1], m[2])
		} else {
			b.WriteString("[:poll]")
		}
	}
	if answered && o.empty >= 0 {
		fmt.Fprintf(&b, "[:poll {%d []}]", o.empty)
	}
	return b.String() + "]"
}

// kafkaFile draws operations on two keys, and their history.
func kafkaFile(r *rand.Rand) (ops []*kafkaOp, file string) {
	open, value, at := map[int]*kafkaOp{}, 0, []int{0, 0}
	type sent struct{ key, offset, value int }
	var log []sent
	calm := r.IntN(2) == 0
	var b edn
	for range 8 + r.IntN(12) {
		p := r.IntN(3)
		o := open[p]
		f := func() string {
			if o.assign != nil {
				return "assign"
			}
			return "txn"
		}
		if o == nil {
			o = &kafkaOp{process: p, call: b.n, kind: "none", empty: r.IntN(9) - 7}
			if r.IntN(8) == 0 {
				o.assign = [][]int{{0}, {1}, {0, 1}}[r.IntN(3)]
			}
			for n := r.IntN(3); o.assign == nil && n > 0; n-- {
				key := r.IntN(2)
				o.sent = append(o.sent, [3]int{key, -1, value})
				value++
			}
			for _, m := range o.sent {
				if early := r.IntN(3) == 0; early { // what is sent is seen before it is answered
					log = append(log, sent{m[0], at[m[0]], m[2]})
					at[m[0]]++
				}
			}
			ops, open[p] = append(ops, o), o
			b.op(p, "invoke", f(), o.text(false))
			continue
		}
		delete(open, p)
		o.kind = []string{"ok", "ok", "ok", "ok", "info", "fail"}[r.IntN(6)]
		for i, m := range o.sent {
			if n := slices.IndexFunc(log, func(s sent) bool { return s.value == m[2] }); n >= 0 &&
				(calm || r.IntN(8) > 0) {
				o.sent[i][1] = log[n].offset
				continue
			}
			offset := at[m[0]]
			if !calm && r.IntN(8) == 0 && offset > 0 {
				offset = r.IntN(offset)
			} else {
				at[m[0]] += 1 + r.IntN(2)
			}
			if o.kind != "fail" || !calm && r.IntN(4) == 0 {
				log = append(log, sent{m[0], offset, m[2]})
			}
			if o.kind == "ok" && r.IntN(5) > 0 {
				o.sent[i][1] = offset
			}
		}
		from := len(log)
		if from > 0 && o.assign == nil {
			from = r.IntN(from)
		}
		for _, m := range log[from:] {
			own := slices.ContainsFunc(o.sent, func(s [3]int) bool { return s[2] == m.value })
			if r.IntN(6) > 0 && (!own || r.IntN(8) == 0) {
				o.polled = append(o.polled, [3]int{m.key, m.offset, m.value})
			}
		}
		o.ret = b.n
		b.op(p, o.kind, f(), o.text(true))
	}
	return ops, b.String()
}

// kafkaTwin are the kinds of anomalies of a history, each by its rule, word for word; loose are cycles with ww-deps.
func kafkaTwin(ops []*kafkaOp) (kinds, loose map[string]bool) {
	kinds = map[string]bool{}
	oks := func(key, value int) (list []int) { // the ok operations that poll a value
		for i, o := range ops {
			if o.kind == "ok" && slices.ContainsFunc(o.polled, func(m [3]int) bool {
				return m[0] == key && m[2] == value
			}) {
				list = append(list, i)
			}
		}
		return list
	}
	took := func(o *kafkaOp) bool {
		return o.kind == "ok" || o.kind != "fail" && slices.ContainsFunc(o.sent, func(m [3]int) bool {
			return len(oks(m[0], m[2])) > 0
		})
	}
	places := map[[3]int]bool{} // key, offset, value
	for _, o := range ops {
		for _, m := range o.polled {
			places[m] = true
		}
		for _, m := range o.sent {
			if m[1] >= 0 && took(o) {
				places[m] = true
			}
		}
	}
	place := func(key, value int, last bool) int { // how many offsets are smaller than the value's
		own := -1
		for m := range places {
			if m[0] == key && m[2] == value && (own < 0 || last == (m[1] > own)) {
				own = m[1]
			}
		}
		less := map[int]bool{}
		for m := range places {
			if m[0] == key && m[1] < own {
				less[m[1]] = true
			}
		}
		if own < 0 {
			return -1
		}
		return len(less)
	}
	for a := range places {
		for b := range places {
			if a[0] == b[0] && a[1] == b[1] && a[2] != b[2] {
				kinds["inconsistent-offsets"] = true
			}
			if a[0] == b[0] && a[1] != b[1] && a[2] == b[2] {
				kinds["duplicate"] = true
			}
		}
	}
	step := func(a, b [3]int, skip, back string) {
		p, q := place(a[0], a[2], false), place(b[0], b[2], false)
		if p >= 0 && q >= 0 && q > p+1 && skip != "" {
			kinds[skip] = true
		}
		if p >= 0 && q >= 0 && q <= p {
			kinds[back] = true
		}
	}
	of := func(list [][3]int, key int) [][3]int {
		return slice.Filter(list, func(m [3]int) bool { return m[0] == key })
	}
	for key := range 2 {
		reached := -1
		for m := range places {
			if m[0] == key && len(oks(key, m[2])) > 0 {
				reached = max(reached, place(key, m[2], false))
			}
		}
		for i, o := range ops {
			polled, sent := of(o.polled, key), of(o.sent, key)
			for n := 1; n < len(polled); n++ {
				step(polled[n-1], polled[n], "int-poll-skip", "int-nonmonotonic-poll")
			}
			for n := 1; n < len(sent) && o.kind != "fail"; n++ {
				step(sent[n-1], sent[n], "", "int-nonmonotonic-send")
			}
			for _, m := range sent {
				readers, at := oks(key, m[2]), place(key, m[2], true)
				kinds["G1a"] = kinds["G1a"] || o.kind == "fail" && len(readers) > 0
				kinds["unseen"] = kinds["unseen"] || o.kind == "ok" && len(readers) == 0
				kinds["lost-write"] = kinds["lost-write"] || took(o) && len(readers) == 0 && at >= 0 && at <= reached
				kinds["precommitted-read"] = kinds["precommitted-read"] ||
					slices.ContainsFunc(polled, func(p [3]int) bool { return p[2] == m[2] })
			}
			if o.kind == "fail" {
				sent = nil
			}
			for n := i - 1; n >= 0 && (len(polled) > 0 || len(sent) > 0); n-- {
				was := ops[n]
				if was.process != o.process || was.kind == "fail" {
					continue
				}
				if before := of(was.sent, key); len(before) > 0 && len(sent) > 0 {
					step(before[len(before)-1], sent[0], "", "nonmonotonic-send")
					sent = nil
				}
				if was.assign != nil && !slices.Contains(was.assign, key) {
					polled, sent = nil, nil
				}
				if before := of(was.polled, key); len(before) > 0 && len(polled) > 0 && was.kind == "ok" {
					step(before[len(before)-1], polled[0], "poll-skip", "nonmonotonic-poll")
					polled = nil
				}
			}
		}
	}
	maps.DeleteFunc(kinds, func(_ string, is bool) bool { return !is })
	var at [][3]int // key, offset, writer
	for m := range places {
		for i, o := range ops {
			if took(o) && slices.ContainsFunc(o.sent, func(s [3]int) bool { return s[0] == m[0] && s[2] == m[2] }) {
				at = append(at, [3]int{m[0], m[1], i})
			}
		}
	}
	slices.SortFunc(at, func(a, b [3]int) int { return slices.Compare(a[:], b[:]) })
	logs := map[[2]int]bool{}
	for n := 1; n < len(at); n++ {
		if a, b := at[n-1], at[n]; a[0] == b[0] && a[2] != b[2] {
			logs[[2]int{a[2], b[2]}] = true
		}
	}
	maps.Copy(kinds, kafkaCycles(ops, took, nil))
	return kinds, kafkaCycles(ops, took, logs)
}

// kafkaCycles are the kinds of cycles, by the closure of who polls whose sends, of logs, processes, and real time.
func kafkaCycles(ops []*kafkaOp, took func(*kafkaOp) bool, logs map[[2]int]bool) map[string]bool {
	closure := func(s *cycleStep) [][]bool {
		to := make([][]bool, len(ops))
		for i, o := range ops {
			to[i] = make([]bool, len(ops))
			for k, x := range ops {
				to[i][k] = logs[[2]int{i, k}] || o.kind == "ok" && o.ret < x.call && (s.order == 1 &&
					o.process == x.process && x.kind == "ok" || s.order == 2 && took(x))
				for _, m := range o.sent {
					to[i][k] = to[i][k] || s.reads && took(o) && i != k && slices.ContainsFunc(x.polled,
						func(p [3]int) bool { return p[0] == m[0] && p[2] == m[2] })
				}
			}
		}
		for m := range ops {
			for a := range ops {
				for b := range ops {
					to[a][b] = to[a][b] || to[a][m] && to[m][b]
				}
			}
		}
		return to
	}
	kinds, whole := map[string]bool{}, closure(&cycleStep{reads: true, order: 2})
	on := make([][]*cycleStep, len(ops)) // of each component
	for i := range cycleSteps {
		s := &cycleSteps[i]
		for k, row := range closure(s) {
			smaller := func(x *cycleStep) bool { return x != s && (s.reads || !x.reads) && x.order <= s.order }
			first := 0 // of its component
			for row[k] && !(whole[k][first] && whole[first][k]) {
				first++
			}
			if row[k] && !slices.ContainsFunc(on[first], smaller) {
				on[first], kinds[s.kind], kinds[s.exists] = append(on[first], s), true, true
			}
		}
	}
	return kinds
}

// kafkaWorst is the worst lag in real time, in positions of the file, by its definition.
func kafkaWorst(ops []*kafkaOp) (worst int) {
	for key := range 2 {
		shown := func(o *kafkaOp) (most int) { // the latest offset, plus one
			for _, m := range slices.Concat(o.sent, o.polled) {
				if m[0] == key {
					most = max(most, m[1]+1)
				}
			}
			return most
		}
		for i, o := range ops {
			latest, measured := 0, false
			for _, was := range ops[:i+1] {
				switch {
				case was.process != o.process || was.kind != "ok":
				case was.assign != nil && !slices.Contains(was.assign, key):
					latest, measured = 0, false
				default:
					measured = measured || was.assign != nil || was.empty == key || shown(was) > 0
					latest = max(latest, shown(was))
				}
			}
			for _, x := range ops {
				if measured && o.kind == "ok" && o.assign == nil && x.ret > 0 && x.kind != "fail" && shown(x) > latest {
					worst = max(worst, o.call-x.ret)
				}
			}
		}
	}
	return worst
}

// TestKafka compares with the rules in their plainest form, on small logs, right and faulty.
func TestKafka(t *testing.T) {
	seen, kinds := verdicts{}, map[string]int{}
	randtest.Seeds(t, 3000, func(t testing.TB, seed uint64) {
		ops, file := kafkaFile(rand.New(rand.NewPCG(seed, 9)))
		if file == "" {
			return
		}
		want, loose := kafkaTwin(ops)
		for _, s := range judged(t, "kafka:sub-via=assign,ww-deps=yes", file).Stats {
			kind := strings.TrimPrefix(s.Name, "allowed-")
			if kinds[s.Name]++; strings.HasSuffix(kind, "-cycle-exists") != (kind != s.Name && kind[0] == 'G') {
				loose[kind] = !loose[kind]
			}
			if lag, is := s.Value.(kafkaLag); is && math.Round(lag.Lag/0.0007) != float64(kafkaWorst(ops)) {
				t.Fatalf("seed %d: lag %v, expected %d positions\n%s", seed, lag, kafkaWorst(ops), file)
			}
		}
		for kind, differs := range loose {
			if differs && !want["inconsistent-offsets"] && !want["duplicate"] {
				t.Fatalf("seed %d: with ww-deps, only one has %s\n%s", seed, kind, file)
			}
		}
		a := judged(t, "kafka:sub-via=assign", file)
		got := map[string]bool{}
		for k := range a.Counts {
			kinds[k]++
			got[k] = true
		}
		seen[a.Verdict]++
		must.Hold(t, maps.Equal(got, want) && (a.Verdict == evidence.Violated) == (len(want) > 0),
			"seed %d: %v %v, expected %v\n%s", seed, a.Verdict, got, want, file)
	})
	seen.mixed(t)
	for _, k := range strings.Fields("inconsistent-offsets duplicate G1a lost-write unseen precommitted-read " +
		"int-poll-skip int-nonmonotonic-poll int-nonmonotonic-send poll-skip nonmonotonic-poll nonmonotonic-send " +
		"G1c G1c-process G1c-realtime PL-2-cycle-exists strong-session-PL-2-cycle-exists strong-PL-2-cycle-exists " +
		"allowed-G0 allowed-strong-PL-1-cycle-exists") {
		must.Be(t, kinds[k] != 0, "no history has %s: %v", k, kinds)
	}
}
