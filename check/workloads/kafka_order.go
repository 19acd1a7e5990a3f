package workloads

import (
	"slices"

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
	for i := range k.h.Ops {
		op := &k.h.Ops[i]
		if op.Status != operations.OK {
			continue
		}
		if polled[op.Process] == nil {
			polled[op.Process], sent[op.Process] = map[string]lastMessage{}, map[string]lastMessage{}
		}
		if op.F == "assign" || op.F == "subscribe" {
			list, _ := operations.Items(op.Out)
			for key := range polled[op.Process] {
				if !slices.ContainsFunc(list, func(v any) bool { return keyText(v) == key }) {
					delete(polled[op.Process], key)
				}
			}
			if op.Extra.Get("seek-to-beginning?") == true {
				clear(polled[op.Process])
			}
			continue
		}
		successive(polled[op.Process], k.moved[i].polled, i, func(was lastMessage, m message) {
			switch n := k.step(m.key, was.m.value, m.value); {
			case n > 1:
				k.report(k.sub, "poll-skip", []int{was.op, i}, "process %d polls %s of key %s and next %s, and skips "+
					"%d between them", op.Process, was.m.value, m.key, m.value, n-1)
			case n < 1:
				k.report(k.sub, "nonmonotonic-poll", []int{was.op, i}, "process %d polls %s of key %s and next "+
					"%s, which is not behind it in the log", op.Process, was.m.value, m.key, m.value)
			}
		})
		successive(sent[op.Process], k.moved[i].sent, i, func(was lastMessage, m message) {
			if k.step(m.key, was.m.value, m.value) < 1 {
				k.found("nonmonotonic-send", []int{was.op, i}, "process %d sends %s to key %s and next %s, "+
					"which is not behind it in the log", op.Process, was.m.value, m.key, m.value)
			}
		})
	}
}

// successive calls f, for each key, with the last message that a process saw and the first in its next operation.
func successive(last map[string]lastMessage, list []message, i int, f func(was lastMessage, m message)) {
	for _, m := range list {
		if was, is := last[m.key]; is && was.op != i {
			f(was, m)
		}
		last[m.key] = lastMessage{m, i}
	}
}

// cycles looks for a cycle of operations in each of which one polls what the one before it sends, or else follows it in
// its process, or else in real time (three searches). With setting ww-deps the order of the logs counts too; such
// cycles are then allowed, as in Jepsen's checker.
func (k *kafkaRun) cycles() {
	loose := k.set("ww-deps")
	var reads, logs []graph.Edge
	for id, readers := range k.readers {
		if w, is := k.writer[id]; is && k.committed(w) {
			for _, r := range readers {
				if r != w {
					reads = append(reads, graph.Edge{From: int32(w), To: int32(r)})
				}
			}
		}
	}
	if loose {
		logs = k.written()
	}
	sortEdges(reads)
	sortEdges(logs)
	n := len(k.moved)
	rel, due := make([]int64, n), make([]int64, n)
	last := map[int64]int{}
	var sessions []graph.Edge
	for i := range k.h.Ops {
		op := &k.h.Ops[i]
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
	aux, time := graph.TimeChain(rel, due)
	for _, step := range []struct {
		kind string
		n    int
		by   [][]graph.Edge
	}{
		{"G0", n, [][]graph.Edge{logs}}, {"G1c", n, [][]graph.Edge{logs, reads}},
		{"G1c-process", n, [][]graph.Edge{logs, reads, sessions}},
		{"G1c-realtime", n + aux, [][]graph.Edge{logs, reads, time}},
	} {
		cycle := graph.ShortCycle(graph.Build(step.n, slices.Concat(step.by...)), 1<<22)
		if cycle == nil {
			continue
		}
		var ops []int
		for _, v := range cycle {
			if int(v) < n {
				ops = append(ops, int(v))
			}
		}
		k.report(loose, step.kind, ops, "%d operations form a cycle: each polls a value that the one before it "+
			"sent, or follows it", len(ops))
		return
	}
}

// written returns edges between the operations that send successive values of a log.
func (k *kafkaRun) written() (edges []graph.Edge) {
	for _, key := range k.keys {
		t := k.topics[key]
		at := make([]int, len(t.at))
		for v, place := range t.first {
			if w, is := k.writer[[2]string{key, v}]; is && k.committed(w) {
				at[place] = w + 1
			}
		}
		before := 0
		for _, w := range at {
			if w > 0 && before > 0 && w != before {
				edges = append(edges, graph.Edge{From: int32(before - 1), To: int32(w - 1)})
			}
			if w > 0 {
				before = w
			}
		}
	}
	return edges
}

func sortEdges(list []graph.Edge) {
	slices.SortFunc(list, func(a, b graph.Edge) int {
		if a.From != b.From {
			return int(a.From - b.From)
		}
		return int(a.To - b.To)
	})
}
