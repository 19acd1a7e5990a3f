package operations

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
)

// etcdTypes are the requests of etcd's robustness tests.
var etcdTypes = []string{"range", "txn", "leaseGrant", "leaseRevoke", "defragment", "compact", "watch"}

// isEtcd reports whether an input is a request of etcd's robustness tests: it has a type, and a member with the type's
// name.
func (m Map) isEtcd() bool {
	f, _ := m.Get("Type").(string)
	return slices.Contains(etcdTypes, f) && slices.ContainsFunc(m, func(p Pair) bool {
		name, _ := p.Key.(string)
		return name != "Type" && strings.EqualFold(name, f)
	})
}

// etcd reads a request and its answer; the workload etcd interprets them. If there is an error, the outcome is
// unknown, and there is no time of return.
func (r *goReader) etcd(in Map, at map[string]any, name map[string]string) error {
	r.e.f, r.e.value, r.e.result = in.Get("Type").(string), in, at["output"]
	out, is := at["output"].(Map)
	if !is {
		return r.fail(name["output"], at["output"], "an object, the answer to the request")
	}
	text, is := out.Get("Error").(string)
	if !is && out.Get("Error") != nil {
		return r.fail(name["output"]+".Error", out.Get("Error"), "a text")
	}
	if text != "" {
		at["return"], r.e.status, r.e.result = nil, "unknown", nil
	}
	return r.times(at, name)
}

// watchEvent reads a watch of etcd's robustness tests, with its responses in Extra; it lasts from first to last.
func watchEvent(m Map, line int) event {
	e := event{own: true, golang: true, f: "watch", value: Map{{"Type", "watch"}, {"Watch", m.Get("Request")}},
		extra: Map{{"Responses", m.Get("Responses")}}, line: line}
	list, _ := Items(m.Get("Responses"))
	for _, r := range list {
		response, _ := r.(Map)
		t, _ := response.Get("Time").(int64)
		e.start, e.end = cmp.Or(e.start, t), max(e.end, t)
	}
	return e
}

// EtcdFiles returns the files in which etcd's robustness tests report operations, client-N/operations.json, and then
// those with watches, client-N/watch.json. It returns nil if there are only watches.
func EtcdFiles(dir string) []string {
	dir = strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]", `\`, `\\`).Replace(dir)
	files, _ := filepath.Glob(filepath.Join(dir, "client-*", "operations.json")) // the pattern is good
	if watches, _ := filepath.Glob(filepath.Join(dir, "client-*", "watch.json")); files != nil {
		files = append(files, watches...)
	}
	return files
}

// Join adds the operations of another file of the same history.
func (h *History) Join(other *History) {
	for _, op := range other.Ops {
		op.File = other.File
		h.Ops = append(h.Ops, op)
	}
	if len(other.Ops) > 0 {
		h.Times, h.Go = other.Times, other.Go
	}
	slices.SortStableFunc(h.Ops, func(a, b Op) int { return cmp.Compare(a.Call, b.Call) })
}
