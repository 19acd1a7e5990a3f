package operations

import (
	"bytes"
	"slices"

	"isovet/internal/pattern"
)

// marks are functions that only operations of workloads have. A file with one of them may be such a history; the first
// is also one of sets, which another reader knows.
var marks = [][]byte{[]byte("add"), []byte("enqueue"), []byte("dequeue"), []byte("transfer"), []byte("generate"),
	[]byte("push"), []byte("pop"), []byte("poll"), []byte("read-init"), []byte("strong-read"), []byte("insert"),
	[]byte("assign"), []byte("subscribe")}

// Is reports by its beginning whether a file may have operations: in isovet's own form, or with a function that only
// workloads have.
func Is(head []byte) bool {
	if stored(head) {
		return marked(head, marks)
	}
	line, _, _ := bytes.Cut(beginning(head), []byte("\n"))
	_, text := notation(head)
	return Own(head) || !text && bytes.Contains(line, []byte("type")) && marked(head, marks)
}

// Own reports whether a file begins with operations that no other reader knows: in isovet's own form, of a Go program,
// or with functions of their own.
func Own(head []byte) bool {
	if stored(head) {
		return false
	}
	if json, table := beginsGo(head); json || table {
		return true
	}
	json, text := notation(head)
	line, _, _ := bytes.Cut(beginning(head), []byte("\n"))
	has := func(s string) bool { return bytes.Contains(line, []byte(s)) }
	return json && !text && bytes.HasPrefix(line, []byte("{")) && !has(`"type"`) && !has(`"ops"`) && has(`"f"`) &&
		has(`"start"`) || !text && has("type") && marked(head, marks[1:])
}

// isEtcd reports whether operations are requests of etcd's robustness tests.
func (h *History) isEtcd() bool {
	if !h.Go || len(h.Ops) == 0 {
		return false
	}
	in, is := h.Ops[0].In.(Map)
	return is && in.isEtcd()
}

// functions are the words before a function, in all notations.
var functions = pattern.Lazy(`(?:\bf|:invoke|:ok|:fail|:info)[\s":]+([a-z-]+)`)

// marked reports whether one of some functions occurs.
func marked(head []byte, marks [][]byte) bool {
	if !slices.ContainsFunc(marks, func(mark []byte) bool { return bytes.Contains(head, mark) }) {
		return false // quickly
	}
	for _, m := range functions().FindAllSubmatch(head, -1) {
		if slices.ContainsFunc(marks, func(mark []byte) bool { return bytes.HasPrefix(m[1], mark) }) {
			return true
		}
	}
	return false
}

// Tell returns the workload that a history's functions show. It returns "" if they show none, or one that other
// readers handle: registers, mutexes and sets of Jepsen.
func Tell(h *History) string {
	has := map[string]bool{}
	number, collection, rows := false, false, false
	keyed := true // all gets and puts name a key
	pairs := true // all additions and reads are of keys: [k v]
	for i := range h.Ops {
		op := &h.Ops[i]
		has[op.F] = true
		keyed = keyed && (op.F != "get" && op.F != "put" || op.Extra.Get("key") != nil)
		out := op.Out
		if op.F == "add" || op.F == "read" {
			in, is := op.In.([]any)
			if pairs = pairs && is && len(in) == 2 && (op.F == "add" || in[1] == nil); pairs {
				if p, is := out.([]any); is && len(p) == 2 {
					out = p[1]
				}
			}
		}
		m, _ := out.(Map)
		rows = rows || op.F == "add" && m.Get("val") != nil && m.Get("sts") != nil
		if op.F == "read" && op.Status == OK {
			_, n := out.(int64)
			_, c := Items(out)
			number, collection = number || n, collection || c
		}
	}
	own := h.Times
	for _, t := range []struct {
		is   bool
		name string
	}{
		{h.isEtcd(), "etcd"}, {has["transfer"], "bank"}, {has["drain"], "total-queue"},
		{has["enqueue"] || has["dequeue"], "unordered-queue"}, // nothing says that its order is first in, first out
		{has["push"] || has["pop"], "stack"}, {has["generate"], "unique-ids"},
		{has["poll"] || has["send"] || has["subscribe"] || has["assign"], "kafka"},
		{has["read-init"], "causal"}, {has["strong-read"], "dirty-read"}, {rows, "monotonic"},
		{len(has) == 1 && has["insert"], "g2"},
		{has["add"] && !has["txn"] && !has["write"] && number && !collection, "counter"},
		{own && (has["remove"] || has["contains"]), "linear-set"}, {own && has["add"] && collection, "set-full"},
		{own && has["acquire"], "mutex"}, {own && keyed && (has["get"] || has["put"]), "kv"},
		{own && has["append"], "log"},
		{own && has["cas"], "cas-register"}, {own && has["txn"], "multi-register"}, {own && has["write"], "register"},
	} {
		if t.is {
			return t.name
		}
	}
	return ""
}
