package workloads

import (
	"slices"

	"isovet/history/operations"
)

// goWords are the words by which Go programs call a workload's functions.
var goWords = map[string][]string{
	"read": {"get", "load"}, "write": {"put", "set", "store"}, "get": {"read"}, "put": {"write", "set"},
	"cas": {"compareandset", "compareandswap"}, "enqueue": {"enq", "put", "push", "send", "offer", "add"},
	"dequeue": {"deq", "get", "pop", "take", "poll", "recv", "receive"}, "acquire": {"lock"}, "release": {"unlock"},
	"add": {"insert", "inc", "increment"}, "remove": {"delete"}, "contains": {"has"},
}

// goNumbers are the functions that the models of Porcupine's tests number; there false means a write.
var goNumbers = map[string][]string{"register": {"read", "write"}, "cas-register": {"read", "write", "cas"},
	"kv": {"get", "put", "append"}}

// goName returns the workload's function for a word of a Go program; failing that, the word.
func (w *Workload) goName(word string) string {
	if slices.Contains(w.Operations, word) {
		return word
	}
	for i, f := range goNumbers[w.Name] {
		if word == string(rune('0'+i)) || w.Name != "kv" && word == []string{"true", "false", ""}[i] {
			return f
		}
	}
	for _, f := range w.Operations {
		if slices.Contains(goWords[f], word) {
			return f
		}
	}
	return word
}

// fromGo translates a Go program's history into this workload's words: a compare-and-set has both of its values, and
// says whether it took place.
func (w *Workload) fromGo(h *operations.History) *operations.History {
	to := *h
	to.Ops = slices.Clone(h.Ops)
	for i := range to.Ops {
		op := &to.Ops[i]
		op.F = w.goName(op.F)
		ok := op.Extra.Get("ok")
		if op.F == "cas" || op.F == "contains" || op.F == "add" || op.F == "remove" {
			if ok != nil {
				op.Out = ok
			}
		}
		old, to := op.Extra.Get("old"), op.Extra.Get("new")
		switch _, both := operations.Items(op.In); {
		case op.F != "cas" || both || old == nil && to == nil:
		case old != nil && op.In != nil:
			op.In = []any{old, op.In}
		case old != nil:
			op.In = []any{old, to}
		default:
			op.In = []any{op.In, to}
		}
	}
	return &to
}
