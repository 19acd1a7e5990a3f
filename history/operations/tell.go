package operations

import "bytes"

// marks are what the operations of workloads have that no other history has: those of a file that may be such.
var marks = [][]byte{[]byte("enqueue"), []byte("dequeue"), []byte("transfer"), []byte("generate"), []byte("push"),
	[]byte("pop"), []byte("poll"), []byte("add")}

// Is reports whether a file may be of operations, by its beginning: of the form of its own, or with a function that
// only workloads have.
func Is(head []byte) bool {
	json, text := notation(head)
	if text {
		return false
	}
	line, _, _ := bytes.Cut(beginning(head), []byte("\n"))
	if json && bytes.HasPrefix(line, []byte("{")) && !bytes.Contains(line, []byte(`"type"`)) &&
		!bytes.Contains(line, []byte(`"ops"`)) && bytes.Contains(line, []byte(`"f"`)) &&
		bytes.Contains(line, []byte(`"start"`)) {
		return true
	}
	if !bytes.Contains(line, []byte("type")) {
		return false
	}
	for _, m := range marks {
		if bytes.Contains(head, m) {
			return true
		}
	}
	return false
}

// Tell is the workload that a history's functions name; "" where they do not, or where it is one that other readers
// take: registers, mutexes and sets of Jepsen's.
func Tell(h *History) string {
	has := map[string]bool{}
	number, collection := false, false
	for i := range h.Ops {
		op := &h.Ops[i]
		has[op.F] = true
		if op.F == "read" && op.Status == OK {
			_, n := op.Out.(int64)
			_, c := Items(op.Out)
			number, collection = number || n, collection || c
		}
	}
	own := h.Times
	for _, t := range []struct {
		is   bool
		name string
	}{
		{has["transfer"], "bank"}, {has["drain"], "total-queue"},
		{has["enqueue"] || has["dequeue"], "unordered-queue"}, // nothing says that its order is first in, first out
		{has["push"] || has["pop"], "stack"}, {has["generate"], "unique-ids"}, {has["poll"] || has["send"], "kafka"},
		{has["add"] && !has["txn"] && number && !collection, "counter"},
		{own && (has["remove"] || has["contains"]), "linear-set"}, {own && has["add"] && collection, "set-full"},
		{own && has["acquire"], "mutex"}, {own && (has["get"] || has["put"]), "kv"}, {own && has["append"], "log"},
		{own && has["cas"], "cas-register"}, {own && has["txn"], "multi-register"}, {own && has["write"], "register"},
	} {
		if t.is {
			return t.name
		}
	}
	return ""
}
