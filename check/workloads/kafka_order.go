package workloads

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"isovet/history/operations"
	"isovet/internal/graph"
)

// report counts a finding of a kind, as a violation or as something that Jepsen's checker allows.
func (k *kafkaRun) report(allowed bool, kind string, ops []int, format string, args ...any) {
	if allowed {
		k.allowed[kind]++
		return
	}
	k.found(kind, ops, format, args...)
}

// step returns how many places in the log separate two values of a key; 1 if one of them has no place.
func (k *kafkaRun) step(key, a, b string) int {
	t := k.topics[key]
	if t == nil {
		return 1
	}
	from, is := t.first[a]
	to, also := t.first[b]
	if !is || !also {
		return 1
	}
	return to - from
}

// inside judges successive values of a key within one operation, polled or sent.
func (k *kafkaRun) inside() {
	for i := range k.moved {
		op := &k.h.Ops[i]
		calm := rebalanced(op.Extra)
		pairs(k.moved[i].polled, func(a, b message) {
			if calm[a.key] {
				return
			}
			switch n := k.step(a.key, a.value, b.value); {
			case n > 1:
				k.found("int-poll-skip", []int{i}, "an operation polls %s of key %s and then %s, and skips %d between "+
					"them", a.value, a.key, b.value, n-1)
			case n < 1:
				k.found("int-nonmonotonic-poll", []int{i}, "an operation polls %s of key %s and then %s, which is "+
					"not behind it in the log", a.value, a.key, b.value)
			}
		})
		if op.Status == operations.Failed {
			continue
		}
		pairs(k.moved[i].sent, func(a, b message) {
			switch n := k.step(a.key, a.value, b.value); {
			case n > 1:
				k.report(true, "int-send-skip", nil, "")
			case n < 1:
				k.found("int-nonmonotonic-send", []int{i}, "an operation sends %s to key %s and then %s, which is "+
					"not behind it in the log", a.value, a.key, b.value)
			}
		})
	}
}

// pairs calls f with each two successive messages of one key.
func pairs(list []message, f func(a, b message)) {
	last := map[string]message{}
	for _, m := range list {
		if was, is := last[m.key]; is {
			f(was, m)
		}
		last[m.key] = m
	}
}

// rebalanced returns the keys that were reassigned between clients during an operation.
func rebalanced(extra operations.Map) map[string]bool {
	keys := map[string]bool{}
	log, _ := operations.Items(extra.Get("rebalance-log"))
	for _, e := range log {
		m, _ := e.(operations.Map)
		list, _ := operations.Items(m.Get("keys"))
		for _, key := range list {
			keys[keyText(key)] = true
		}
	}
	return keys
}

// lastMessage is the last message of a key that a process has seen, and the operation that had it.
type lastMessage struct {
	m  message
	op int
}

// between judges values of a key in successive operations of a process, polled or sent.
func (k *kafkaRun) between() {
	polled, sent := map[int64]map[string]lastMessage{}, map[int64]map[string]lastMessage{}
	for i, op := range k.each("") {
		ok, failed := op.Status == operations.OK, op.Status == operations.Failed
		if polled[op.Process] == nil {
			polled[op.Process], sent[op.Process] = map[string]lastMessage{}, map[string]lastMessage{}
		}
		if op.F == "assign" || op.F == "subscribe" {
			list, _ := operations.Items(cmp.Or(op.Out, op.In))
			other := func(key string, _ lastMessage) bool {
				return !failed && !slices.ContainsFunc(list, func(v any) bool { return keyText(v) == key })
			}
			maps.DeleteFunc(polled[op.Process], other)
			maps.DeleteFunc(sent[op.Process], other)
			if ok && op.Extra.Get("seek-to-beginning?") == true {
				clear(polled[op.Process])
			}
			continue
		}
		// A poll without an answer, or one that failed, may show messages, but does not move the process.
		successive(polled[op.Process], k.moved[i].polled, i, ok, func(was lastMessage, m message) {
			switch n := k.step(m.key, was.m.value, m.value); {
			case n > 1:
				k.report(k.sub, "poll-skip", []int{was.op, i}, "process %d polls %s of key %s and next %s, and skips "+
					"%d between them", op.Process, was.m.value, m.key, m.value, n-1)
			case n < 1:
				k.report(k.sub, "nonmonotonic-poll", []int{was.op, i}, "process %d polls %s of key %s and next "+
					"%s, which is not behind it in the log", op.Process, was.m.value, m.key, m.value)
			}
		})
		if failed {
			continue
		}
		successive(sent[op.Process], k.moved[i].sent, i, true, func(was lastMessage, m message) {
			if k.step(m.key, was.m.value, m.value) < 1 {
				k.found("nonmonotonic-send", []int{was.op, i}, "process %d sends %s to key %s and next %s, "+
					"which is not behind it in the log", op.Process, was.m.value, m.key, m.value)
			}
		})
	}
}

// successive calls f, for each key, with the last message that a process saw and the first in its next operation,
// which moves the process or not.
func successive(last map[string]lastMessage, list []message, i int, moves bool, f func(was lastMessage, m message)) {
	seen := map[string]bool{}
	for _, m := range list {
		if was, is := last[m.key]; is && !seen[m.key] {
			f(was, m)
		}
		seen[m.key] = true
	}
	for _, m := range list {
		if moves {
			last[m.key] = lastMessage{m, i}
		}
	}
}

// cycleStep is a graph of operations, in which a cycle is of a kind; that one exists rules out a level, as in Elle.
type cycleStep struct {
	kind, exists string
	reads        bool // not only the order of the logs
	order        int  // 1: of processes, 2: of real time
}

// cycleSteps are the graphs, smaller ones first.
var cycleSteps = []cycleStep{
	{"G0", "PL-1-cycle-exists", false, 0}, {"G1c", "PL-2-cycle-exists", true, 0},
	{"G0-process", "strong-session-PL-1-cycle-exists", false, 1},
	{"G1c-process", "strong-session-PL-2-cycle-exists", true, 1},
	{"G0-realtime", "strong-PL-1-cycle-exists", false, 2}, {"G1c-realtime", "strong-PL-2-cycle-exists", true, 2},
}

// cycles looks, in each component of the graph with all edges, for cycles of operations in each of which one polls what
// the one before it sends, or else follows it in its process, or else in real time. With setting ww-deps the order of
// the logs counts too; such cycles are then allowed. As Jepsen's checker does, it reports a cycle and that one exists.
func (k *kafkaRun) cycles() {
	var reads, logs []graph.Edge
	for id, readers := range k.pollers {
		if w, is := k.writer[id]; is && k.committed(w) {
			for _, r := range readers {
				if r != w {
					reads = append(reads, graph.Edge{From: int32(w), To: int32(r)})
				}
			}
		}
	}
	if k.set("ww-deps") {
		logs = k.written()
	}
	slices.SortFunc(reads, func(a, b graph.Edge) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	sessions, time, aux := k.orders()
	n := len(k.moved) + aux
	comp, _ := graph.Components(graph.Build(n, slices.Concat(logs, reads, sessions, time)))
	found, search := map[int32][]*cycleStep{}, graph.NewSearcher(n)
	for i := range cycleSteps {
		step := &cycleSteps[i]
		edges := slices.Concat(logs, [][]graph.Edge{nil, sessions, time}[step.order])
		if step.reads {
			edges = append(edges, reads...)
		}
		g := graph.Build(n, edges)
		parts := graph.Cyclic(g)
		slices.SortStableFunc(parts, func(a, b []int32) int { return cmp.Compare(len(a), len(b)) })
		for _, part := range parts { // the first of a component is the smallest
			c := comp[part[0]]
			says := func(s *cycleStep) bool { return !s.reads || step.reads } // as much as step
			if !slices.ContainsFunc(found[c], says) {
				found[c] = append(found[c], step)
				cycle, _ := search.ShortestCycle(g, part, 1<<22)
				k.cyclic(step, cycle, part)
			}
		}
	}
}

// cyclic reports a cycle of a component, and the component.
func (k *kafkaRun) cyclic(step *cycleStep, cycle, part []int32) {
	ops := func(nodes []int32) (list []int) {
		for _, v := range nodes {
			if int(v) < len(k.moved) {
				list = append(list, int(v))
			}
		}
		return list
	}
	loose, short, all := k.set("ww-deps"), ops(cycle), ops(part)
	k.report(loose, step.kind, short, "%d operations form a cycle: each polls a value that the one before it "+
		"sent, or follows it", len(short))
	k.report(loose, step.exists, all[:min(len(all), 6)], "each of %d operations comes before all others of them, "+
		"which %s excludes", len(all), strings.TrimSuffix(step.exists, "-cycle-exists"))
}

// orders returns the edges between operations that follow each other in their process, and in real time with aux
// further nodes.
func (k *kafkaRun) orders() (sessions, time []graph.Edge, aux int) {
	n := len(k.moved)
	rel, due := make([]int64, n), make([]int64, n)
	last := map[int64]int{}
	for i, op := range k.each("") {
		rel[i], due[i] = op.Call, graph.NoEnd
		if op.Status != operations.OK {
			if !k.committed(i) {
				rel[i] = graph.NoStart
			}
			continue
		}
		due[i] = op.Return
		if was, is := last[op.Process]; is {
			sessions = append(sessions, graph.Edge{From: int32(was), To: int32(i)})
		}
		last[op.Process] = i
	}
	aux, time = graph.TimeChain(rel, due)
	return sessions, time, aux
}

// written returns edges between the operations that send successive values of a log.
func (k *kafkaRun) written() (edges []graph.Edge) {
	for _, key := range k.keys {
		t := k.topics[key]
		before := -1
		for place, offset := range slices.Sorted(maps.Keys(t.at)) {
			v := t.at[offset][0] // as in Jepsen's checker, the first value that an offset shows
			w, is := k.writer[[2]string{key, v}]
			if !is || t.first[v] != place || !k.committed(w) {
				continue
			}
			if before >= 0 && w != before {
				edges = append(edges, graph.Edge{From: int32(before), To: int32(w)})
			}
			before = w
		}
	}
	return edges
}
