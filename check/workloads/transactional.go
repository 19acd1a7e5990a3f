package workloads

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"isovet/history/operations"
	"isovet/internal/plural"
)

// transactional returns the workloads that look for anomalies of transactions; they name the level that forbids each.
func transactional() []Workload {
	return []Workload{
		{"long-fork", "two reads that order two writes differently (parallel snapshot isolation allows it)",
			fs("write", "read", "txn"), fs("group"), longFork},
		{"causal", "a register's causal order: each operation after the one that it links to",
			fs("read-init", "write", "read"), nil, causal},
		{"causal-reverse", "a later write seen without an earlier one (serializable allows it, strictly not)",
			fs("write", "read"), nil, causalReverse},
		{"g2", "at most one of two inserts that exclude each other (serializable forbids both)", fs("insert"), nil, g2},
		{"sequential", "keys written in order, and read in the reverse order", fs("write", "read"), nil, sequential},
		{"monotonic", "rows whose values rise with their timestamps", fs("add", "read"), nil, monotonic},
		{"dirty-reads", "no read of what a failed transaction wrote (read committed forbids it)", fs("write", "read"),
			nil, dirtyReads},
		{"dirty-read", "the strong reads at the end return every value that was read or acknowledged",
			fs("write", "read", "strong-read", "refresh"), nil, dirtyRead},
	}
}

// longFork is Jepsen's long-fork: of two reads of one group of keys, each sees a write that the other misses. Each key
// is written once.
func longFork(_ context.Context, j *judge) error {
	size := 2
	if n, is := j.o.Settings["group"]; is {
		size, _ = strconv.Atoi(n) // parsed before
	}
	once := writtenOnce{written: map[string]bool{}, value: map[string]string{}}
	groups := map[string][]int{}
	values := map[int]map[string]string{}
	early, late := 0, 0
	for i, op := range j.each("") {
		reads, keys, why, ok := once.reads(op)
		switch {
		case why != "":
			j.unknown("%s: line %d", why, op.Line)
			return nil
		case !ok:
			return j.bad(op, "value", op.In, "micro-operations, as in [[:w 1 1]] or [[:r 1 nil] [:r 2 nil]]")
		case len(keys) == 0 || op.Status != operations.OK:
			continue
		case len(keys) != size:
			j.unknown("the read of line %d is of %s; expected a group of %d (setting group)", op.Line,
				plural.Of(len(keys), "key"), size)
			return nil
		}
		slices.Sort(keys)
		g := strings.Join(keys, " ")
		groups[g], values[i] = append(groups[g], i), reads
		nils := 0
		for _, v := range reads {
			if v == "nil" {
				nils++
			}
		}
		if nils == size {
			early++
		} else if nils == 0 {
			late++
		}
	}
	for _, g := range slices.Sorted(maps.Keys(groups)) {
		j.forks(groups[g], values)
	}
	slices.SortStableFunc(j.a.Findings, func(a, b Finding) int { return slices.Compare(a.Ops, b.Ops) })
	j.stats(Stat{"reads-count", len(values)}, Stat{"early-read-count", early}, Stat{"late-read-count", late})
	return nil
}

// writtenOnce has the keys that are written once each, and the one value that each may be read with.
type writtenOnce struct {
	written map[string]bool
	value   map[string]string
}

// reads returns the values that an operation reads, by key, and its keys, one entry for each read. ok is false if the
// operation is not made of micro-operations. why is not "" if it breaks the rule that a key is written once.
func (s *writtenOnce) reads(op *operations.Op) (reads map[string]string, keys []string, why string, ok bool) {
	micros, ok := operations.Items(op.In)
	if out, is := operations.Items(op.Out); is && op.Status == operations.OK {
		micros = out
	}
	reads = map[string]string{}
	for _, v := range micros {
		m, is := operations.Items(v)
		if !is || len(m) != 3 {
			return nil, nil, "", false
		}
		k := operations.Text(m[1])
		if f := operations.Text(m[0]); f == "w" {
			if s.written[k] {
				return nil, nil, fmt.Sprintf("key %s is written more than once", k), ok
			}
			s.written[k] = true
			continue
		}
		reads[k] = operations.Text(m[2])
		keys = append(keys, k)
		if reads[k] == "nil" || op.Status != operations.OK {
			continue
		}
		if was, is := s.value[k]; is && was != reads[k] {
			return nil, nil, fmt.Sprintf("key %s is read with two values, %s and %s", k, was, reads[k]), ok
		}
		s.value[k] = reads[k]
	}
	return reads, keys, "", ok
}

// forks finds pairs of reads of one group of keys, each of which sees a write that the other misses.
func (j *judge) forks(list []int, values map[int]map[string]string) {
	var firsts []int // the first read of each that sees the same keys written
	alike := map[int]int{}
	for _, a := range list {
		n := slices.IndexFunc(firsts, func(b int) bool {
			return firstOf(values[a], values[b]) == "" && firstOf(values[b], values[a]) == ""
		})
		if n < 0 {
			n, firsts = len(firsts), append(firsts, a)
		}
		alike[firsts[n]]++
	}
	for n, a := range firsts {
		for _, b := range firsts[:n] {
			if x, y := firstOf(values[b], values[a]), firstOf(values[a], values[b]); x != "" && y != "" {
				j.found("long-fork", []int{b, a}, "one read sees %s written and %s not, the other the reverse", x, y)
				j.a.Counts["long-fork"] += alike[a]*alike[b] - 1
			}
		}
	}
}

// firstOf returns the smallest key that a sees written and b does not; "" if there is none.
func firstOf(a, b map[string]string) (key string) {
	for k, v := range a {
		if v != "nil" && b[k] == "nil" && (key == "" || k < key) {
			key = k
		}
	}
	return key
}

// causal is Jepsen's causal register: it applies the successful operations in the file's order, each after the one it
// links to.
func causal(_ context.Context, j *judge) error {
	value, writes, last := "0", int64(0), "nil"
	for _, i := range j.byReturn() {
		op := &j.h.Ops[i]
		link, at := operations.Text(op.Extra.Get("link")), operations.Text(op.Extra.Get("position"))
		if link != "init" && link != last {
			j.found("broken-link", []int{i}, "it links to position %s, but the position before it is %s", link, last)
			return nil
		}
		out := operations.Text(op.Out)
		switch {
		case op.F == "write":
			if writes++; out != fmt.Sprint(writes) {
				j.found("wrong-write", []int{i}, "it writes %s; expected %d", out, writes)
				return nil
			}
			value = out
		case op.F == "read-init" && writes == 0 && out != "0" || out != "nil" && out != value:
			j.found("wrong-read", []int{i}, "it reads %s; expected %s", out, value)
			return nil
		}
		last = at
	}
	return nil
}

// byReturn returns the successful operations in the order of their returns.
func (j *judge) byReturn() (list []int) {
	for i := range j.each("", operations.OK) {
		list = append(list, i)
	}
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(j.h.Ops[a].Return, j.h.Ops[b].Return) })
	return list
}

// causalReverse is Jepsen's: a read that sees a value sees all that had been acknowledged before that value's write was
// called.
func causalReverse(_ context.Context, j *judge) error {
	var writes, reads []int
	for i, op := range j.each("") {
		switch {
		case op.F == "write":
			writes = append(writes, i)
		case op.Status == operations.OK && op.Out != nil:
			if _, is := operations.Items(op.Out); !is {
				return j.bad(op, "value", op.Out, "a collection of all values")
			}
			reads = append(reads, i)
		}
	}
	called := map[string]int{} // value → its write that was called last
	for _, w := range writes {
		v := operations.Text(j.h.Ops[w].In)
		if was, is := called[v]; !is || j.h.Ops[w].Call > j.h.Ops[was].Call {
			called[v] = w
		}
	}
	acked := j.byReturn()
	for _, r := range reads {
		items, _ := operations.Items(j.h.Ops[r].Out)
		has := map[string]bool{}
		latest, at := -1, int64(0) // of the writes seen, the one called last
		for _, v := range items {
			text := operations.Text(v)
			has[text] = true
			if w, is := called[text]; is && (latest < 0 || j.h.Ops[w].Call > at) {
				latest, at = w, j.h.Ops[w].Call
			}
		}
		for _, w := range acked {
			op := &j.h.Ops[w]
			if latest < 0 || op.Return >= at {
				break
			}
			if op.F == "write" && !has[operations.Text(op.In)] {
				j.found("missing", []int{w, latest, r}, "a read shows %s but lacks %s, which was acknowledged "+
					"before the write of %s was called", operations.Text(j.h.Ops[latest].In), operations.Text(op.In),
					operations.Text(j.h.Ops[latest].In))
				break
			}
		}
	}
	j.stat("read-count", len(reads))
	return nil
}

// g2 is Jepsen's test of Adya's G2: of the inserts of a key, at most one succeeds.
func g2(_ context.Context, j *judge) error {
	by := map[string][]int{}
	var keys []string
	for i, op := range j.each("") {
		pair, is := operations.Items(op.In)
		if !is || len(pair) != 2 {
			return j.bad(op, "value", op.In, "a key and the ids of its rows, as in [5 [1 nil]]")
		}
		k := operations.Text(pair[0])
		if by[k] == nil {
			keys, by[k] = append(keys, k), []int{}
		}
		if op.Status == operations.OK {
			by[k] = append(by[k], i)
		}
	}
	inserted := 0
	for _, k := range keys {
		if len(by[k]) > 0 {
			inserted++
		}
		if len(by[k]) > 1 {
			j.found("G2", by[k], "key %s: %d inserts succeeded, and none of them saw another", k, len(by[k]))
		}
	}
	j.stat("key-count", len(keys))
	j.stat("legal-count", inserted-j.a.Counts["G2"])
	j.stat("illegal-count", j.a.Counts["G2"])
	return nil
}

// sequential is Jepsen's: a process writes the parts of a key in order, and a read lists them from the last to the
// first. If the read sees a part, it must see all parts after it in the list, which were written earlier.
func sequential(_ context.Context, j *judge) error {
	all, some, none := 0, 0, 0
	for i, op := range j.each("read", operations.OK) {
		pair, is := operations.Items(op.Out)
		var keys []any
		if is && len(pair) == 2 {
			keys, is = operations.Items(pair[1])
		}
		if !is {
			return j.bad(op, "value", op.Out, "a key with its parts, the last first, as in [5 [nil \"5_0\"]]")
		}
		seen, nils, hole := 0, 0, false
		for _, k := range keys {
			if k == nil {
				nils++
				hole = hole || seen > 0
			} else {
				seen++
			}
		}
		switch {
		case nils == 0:
			all++
		case seen == 0:
			none++
		default:
			some++
		}
		if hole {
			j.found("bad", []int{i}, "a read of key %s sees a later part but not an earlier one",
				operations.Text(pair[0]))
		}
	}
	j.stats(Stat{"all-count", all}, Stat{"some-count", some}, Stat{"none-count", none},
		Stat{"bad-count", j.a.Counts["bad"]})
	return nil
}

// monotonic is Jepsen's of CockroachDB: in the last read, which is ordered by timestamp, each row occurs once, values
// rise, no acknowledged row is missing and no failed one is there.
func monotonic(_ context.Context, j *judge) error {
	last := -1
	val := func(v any) string {
		if m, is := v.(operations.Map); is {
			return operations.Text(m.Get("val"))
		}
		return operations.Text(v)
	}
	for _, i := range j.byReturn() {
		if j.h.Ops[i].F == "read" {
			last = i
		}
	}
	if last < 0 {
		j.unknown("the rows were never read")
		return nil
	}
	rows, is := operations.Items(j.h.Ops[last].Out)
	if !is {
		return j.bad(&j.h.Ops[last], "value", j.h.Ops[last].Out, "rows, as in [{:val 1, :sts 10}]")
	}
	has := map[string]int{}
	var before operations.Map
	for _, r := range rows {
		m, is := r.(operations.Map)
		v, number := m.Get("val").(int64)
		if !is || !number {
			return j.bad(&j.h.Ops[last], "value", r, "a row, as in {:val 1, :sts 10}")
		}
		if has[val(m)]++; has[val(m)] == 2 {
			j.found("duplicate", []int{last}, "the last read has %d more than once", v)
		}
		if before != nil {
			if was := before.Get("val").(int64); v <= was {
				j.found("value-reorder", []int{last}, "%d comes after %d", v, was)
			}
			a, is := integer(before.Get("sts"))
			if b, also := integer(m.Get("sts")); is && also && b.Cmp(a) < 0 {
				j.found("order-by-error", []int{last}, "timestamp %d comes after %d", b, a)
			}
		}
		before = m
	}
	for i, op := range j.each("add") {
		v := val(op.In)
		if op.Out != nil {
			v = val(op.Out)
		}
		_, row := cmp.Or(op.Out, op.In).(operations.Map) // a number is not yet the value of a row
		switch {
		case op.Status == operations.OK && has[v] == 0:
			j.found("lost", []int{i, last}, "%s was added, but the last read lacks it", v)
		case op.Status == operations.Failed && row && has[v] > 0:
			j.found("revived", []int{i, last}, "the addition of %s failed, but the last read has it", v)
		}
	}
	j.stat("row-count", len(rows))
	return nil
}

// integer returns an integer of any size; CockroachDB's timestamps have 96 bits.
func integer(v any) (*big.Int, bool) {
	return new(big.Int).SetString(strings.TrimSuffix(fmt.Sprint(v), "N"), 10)
}

// dirtyReads is Jepsen's of Galera: a write sets all rows to one value, and no read sees the value of a failed write.
func dirtyReads(_ context.Context, j *judge) error {
	failed := map[string]int{}
	for i, op := range j.each("write", operations.Failed) {
		failed[operations.Text(op.In)] = i
	}
	differ := 0
	for i, op := range j.each("read", operations.OK) {
		rows, is := operations.Items(op.Out)
		if !is && op.Out != nil {
			return j.bad(op, "value", op.Out, "the values of all rows")
		}
		for _, v := range rows {
			if w, is := failed[operations.Text(v)]; is {
				j.found("dirty-read", []int{w, i}, "a read sees %s, which a failed transaction wrote",
					operations.Text(v))
				break
			}
		}
		if slices.ContainsFunc(rows, func(v any) bool { return operations.Text(v) != operations.Text(rows[0]) }) {
			differ++
		}
	}
	j.stat("inconsistent-read-count", differ)
	return nil
}

// dirtyRead is Jepsen's of Elasticsearch: the strong reads at the end agree, and have everything read or written
// before.
func dirtyRead(_ context.Context, j *judge) error {
	var strong []int
	set, all := "", map[string]bool{}
	for i, op := range j.each("strong-read", operations.OK) {
		items, is := operations.Items(op.Out)
		if !is {
			return j.bad(op, "value", op.Out, "a collection of all values")
		}
		text := operations.Text(operations.Set(items))
		if set = cmp.Or(set, text); text != set {
			j.found("nodes-disagree", []int{strong[0], i}, "two strong reads differ")
		}
		for _, v := range items {
			all[operations.Text(v)] = true
		}
		strong = append(strong, i)
	}
	if len(strong) == 0 {
		j.unknown("inconclusive: there is no strong read")
		return nil
	}
	for i, op := range j.each("", operations.OK) {
		switch {
		case op.F == "read" && op.Out != nil && !all[operations.Text(op.Out)]:
			j.found("dirty", []int{i}, "%s was read, but no strong read has it", operations.Text(op.Out))
		case op.F == "write" && !all[operations.Text(op.In)]:
			j.found("lost", []int{i}, "%s was written, but no strong read has it", operations.Text(op.In))
		}
	}
	j.stat("strong-read-count", len(strong))
	return nil
}
