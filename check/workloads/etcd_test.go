package workloads

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"isovet/evidence"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// small is a request of the naive twin: a get, put or delete of a key, perhaps if it is of a revision, or a get of an
// earlier revision.
type small struct {
	f, key, value  string
	rev            int // of the condition, or of the get; 0: none
	call, ret      int
	maybe          bool
	seen           cell // what a get has, or a failed condition's
	failed         bool
	deleted, revis int
}

type cell struct {
	value    string
	mod, ver int
	held     bool // by the lease
}

// tried is etcd of the twin: cells by key, those of each revision, and the events. due are, by revision, the latest
// calls of requests up to the one that made it. The lease exists if a grant was last.
type tried struct {
	rev, late int
	cells     map[string]cell
	at        map[int]map[string]cell
	log       []etcdEvent
	due       map[int]int
	lease     bool
	watches   []*watching
}

// watching is a watch of the twin.
type watching struct {
	Request   etcdWatch
	Responses []etcdResponse
}

func (w *watching) of(key string) bool {
	return key == w.Request.Key || w.Request.WithPrefix && strings.HasPrefix(key, w.Request.Key)
}

// holds judges a watch by etcd's guarantees, given all events.
func (w *watching) holds(e *tried) bool {
	from, last, mark := w.Request.Revision, int64(0), int64(0)
	var got []etcdEvent
	for _, r := range w.Responses {
		for i, h := range r.Events {
			if from = cmp.Or(from, h.Revision); h.Revision <= mark || h.Revision < last+1-int64(min(i, 1)) {
				return false
			}
			got, last = append(got, h), h.Revision
		}
		if r.IsProgressNotify && r.Revision < max(last, mark) {
			return false
		} else if r.IsProgressNotify {
			from, mark = cmp.Or(from, r.Revision+1), r.Revision
		}
		if to := max(last, mark); to > int64(e.rev) || int64(e.due[int(to)]) > r.Time {
			return false
		}
	}
	for _, h := range e.log {
		if h.Revision < from || h.Revision > max(last, mark) || !w.of(h.Key) {
			continue
		}
		i := slices.IndexFunc(got, func(g etcdEvent) bool {
			same := g.PrevValue == nil || h.PrevValue != nil && *g.PrevValue == *h.PrevValue
			g.PrevValue = h.PrevValue
			return same && g == h
		})
		if i < 0 {
			return false
		}
		got = slices.Delete(got, i, i+1)
	}
	return len(got) == 0
}

// watch draws a watch of what happened, unless calm perhaps with a fault; when has the time of each revision.
func (e *tried) watch(r *rand.Rand, when []int, calm bool) *watching {
	q := etcdWatch{Key: []string{"", "", "a", "b"}[r.IntN(4)], Revision: int64(r.IntN(4)), WithPrefix: r.IntN(2) == 0}
	q.WithPrefix = q.WithPrefix || q.Key == ""
	w := &watching{Request: q}
	var ready []etcdEvent
	next, time := 2+r.IntN(e.rev), 0
	if q.Revision > 0 {
		next = max(2, int(q.Revision))
	}
	for rev := next; rev <= e.rev; rev++ {
		for _, h := range e.log {
			if bare := r.IntN(2) == 0; int(h.Revision) == rev && w.of(h.Key) {
				if ready = append(ready, h); bare {
					ready[len(ready)-1].PrevValue = nil
				}
			}
		}
		if time = max(time, when[rev]+r.IntN(12)); r.IntN(1+max(1, 2-len(ready))) == 0 {
			w.Responses = append(w.Responses, etcdResponse{ready, ready == nil, int64(rev), int64(time), nil})
			ready = nil
		}
	}
	if calm || len(w.Responses) == 0 || r.IntN(2) > 0 {
		return w
	}
	n := r.IntN(len(w.Responses))
	x := &w.Responses[n]
	if r.IntN(8) == 0 || x.IsProgressNotify {
		x.Revision, x.Time = x.Revision+int64(r.IntN(5))-2, max(1, x.Time-int64(r.IntN(20)))
		return w
	}
	i, rest := r.IntN(len(x.Events)), *x
	h := &x.Events[i]
	rest.Events = x.Events[i:]
	[]func(){
		func() { x.Events = slices.Delete(x.Events, i, i+1) },
		func() { x.Events = append(x.Events, *h) },
		func() { x.Events[0], *h = *h, x.Events[0] },
		func() { x.Events = x.Events[:i]; w.Responses = slices.Insert(w.Responses, n+1, rest) },
		func() { h.Revision += int64(r.IntN(3)) - 1 },
		func() { h.IsCreate = !h.IsCreate },
		func() { h.PrevValue = &etcdKV{"", etcdValue{Value: "v1"}, 2, 1} },
		func() { h.Value.Value = "v9" },
		func() { h.Key, h.Type = "a", "delete-operation" },
	}[r.IntN(9)]()
	return w
}

// do is the answer of a request, and etcd afterwards.
func (e tried) do(q small) (small, tried) {
	q.seen, q.failed, q.deleted = cell{}, false, 0
	old := e.cells[q.key]
	old.held = false
	switch {
	case q.f == "get" && q.rev > 0:
		q.seen, q.revis = e.at[q.rev][q.key], e.rev
		q.seen.held = false
		return q, e
	case q.f == "get":
		q.seen, q.revis = old, e.rev
		return q, e
	case (q.f == "cas" || q.f == "lput") && old.mod != q.rev:
		q.failed, q.seen, q.revis = true, old, e.rev
		return q, e
	}
	to := e
	to.rev, to.cells, to.at, to.log = e.rev+1, maps.Clone(e.cells), maps.Clone(e.at), slices.Clip(e.log)
	q.revis = e.rev
	put := q.f != "delete" && q.f != "Revoke"
	for _, key := range []string{"a", "b"} {
		old := e.cells[key]
		event := etcdEvent{"put-operation", key, etcdValue{Value: q.value}, int64(to.rev), old.mod == 0, nil}
		if old.mod > 0 {
			event.PrevValue = &etcdKV{"", etcdValue{Value: old.value}, int64(old.mod), int64(old.ver)}
		}
		switch {
		case q.f == "Grant" || q.f == "lput" && !e.lease || q.f != "two" && q.f != "Revoke" && key != q.key,
			!put && old.mod == 0, q.f == "Revoke" && !old.held:
		case put:
			to.cells[key] = cell{q.value, to.rev, old.ver + 1, q.f == "lput"}
			to.log = append(to.log, event)
		default:
			delete(to.cells, key)
			event.Type, event.Value = "delete-operation", etcdValue{}
			to.log = append(to.log, event)
		}
	}
	if to.lease = q.f == "Grant" || e.lease && q.f != "Revoke"; len(to.log) == len(e.log) {
		to.rev, to.cells, to.at = e.rev, e.cells, e.at
		return q, to
	}
	to.at[to.rev], q.revis = to.cells, to.rev
	if q.f == "delete" {
		q.deleted = 1
	}
	return q, to
}

// ordered reports whether requests have an order, by trying all.
func ordered(e tried, left []small) bool {
	must := false
	for i, q := range left {
		first := true
		for _, other := range left {
			first = first && (other.maybe || other.ret >= q.call)
		}
		must = must || !q.maybe
		if !first || q.f == "get" && q.rev > e.rev {
			continue
		}
		got, to := e.do(q)
		if to.late = max(e.late, q.call); to.rev > e.rev {
			to.due = maps.Clone(e.due)
			to.due[to.rev] = to.late
		}
		if q.f == "get" && q.rev > 0 {
			got.revis = q.revis // of the latest revision, it is not looked at
		}
		if q.maybe || got == q {
			rest := append(append([]small{}, left[:i]...), left[i+1:]...)
			if ordered(to, rest) {
				return true
			}
		}
	}
	return !must && !slices.ContainsFunc(e.watches, func(w *watching) bool { return !w.holds(&e) })
}

// text is a request as a report has it.
func (q *small) text(client int) string {
	kvs := func() string {
		if q.seen.mod == 0 {
			return `"KVs": [], "Count": 0`
		}
		return fmt.Sprintf(`"KVs": [{"Key": %q, "Value": {"Value": %q, "Hash": 0}, "ModRevision": %d, "Version": %d}], `+
			`"Count": 1`, q.key, q.seen.value, q.seen.mod, q.seen.ver)
	}
	in, out := "", fmt.Sprintf(`"Range": {%s}`, kvs())
	lease := map[string]int{"lput": 9}[q.f]
	put := func(key string) string {
		return fmt.Sprintf(`{"Type": "put-operation", "Put": {"Key": %q, "Value": {"Value": %q}, "LeaseID": %d}}`, key,
			q.value, lease)
	}
	read := fmt.Sprintf(`{"Type": "range-operation", "Range": {"Start": %q}}`, q.key)
	txn := `{"Type": "txn", "Txn": {"Conditions": %s, "OperationsOnSuccess": [%s], "OperationsOnFailure": %s}}`
	switch q.f {
	case "get":
		in = fmt.Sprintf(`{"Type": "range", "Range": {"Start": %q, "End": "", "Revision": %d}}`, q.key, q.rev)
	case "put":
		in = fmt.Sprintf(txn, "null", put(q.key), "null")
		out = `"Txn": {"Failure": false, "Results": [{"KVs": null, "Deleted": 0}]}`
	case "two":
		in = fmt.Sprintf(txn, "null", put("a")+", "+put("b"), "null")
		out = `"Txn": {"Results": [{}, {}]}`
	case "Grant", "Revoke":
		in, out = fmt.Sprintf(`{"Type": "lease%s", "Lease%[1]s": {"LeaseID": 9}}`, q.f), `"Lease`+q.f+`": {}`
	case "delete":
		in = fmt.Sprintf(txn, "[]", fmt.Sprintf(`{"Type": "delete-operation", "Delete": {"Key": %q}}`, q.key), "[]")
		out = fmt.Sprintf(`"Txn": {"Failure": false, "Results": [{"Deleted": %d}]}`, q.deleted)
	case "cas", "lput":
		in = fmt.Sprintf(txn, fmt.Sprintf(`[{"Key": %q, "ExpectedRevision": %d}]`, q.key, q.rev), put(q.key), "["+read+"]")
		out = fmt.Sprintf(`"Txn": {"Failure": %v, "Results": [{}]}`, q.failed)
		if q.failed {
			out = fmt.Sprintf(`"Txn": {"Failure": true, "Results": [{%s}]}`, kvs())
		}
	}
	out = fmt.Sprintf(`{%s, "ClientError": "", "Revision": %d, "Error": ""}`, out, q.revis)
	ret := q.ret
	if q.maybe {
		out, ret = `{"Revision": 0, "Error": "context deadline exceeded"}`, 0
	}
	return fmt.Sprintf("{\n \"ClientId\": %d,\n \"Input\": %s,\n \"Call\": %d,\n \"Output\": %s,\n \"Return\": %d,\n "+
		"\"Metadata\": %[4]s\n}\n", client, in, q.call, out, ret)
}

// TestEtcd compares the workload with the twin, on requests of which some took effect, some did not and some answers
// are wrong.
func TestEtcd(t *testing.T) {
	seen := verdicts{}
	randtest.Seeds(t, randtest.Long[uint64](3000, 6000), func(t testing.TB, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 38))
		empty := tried{rev: 1, cells: map[string]cell{}, at: map[int]map[string]cell{1: {}}, due: map[int]int{}}
		e, when, calm := empty, []int{0, 0}, seed%3 == 0
		var all []small
		for i := range 3 + r.IntN(4) {
			q := small{f: strings.Fields("get put put delete cas get two Grant lput Revoke")[r.IntN(6+4*(i%2))],
				key: string(rune('a' + r.IntN(2))), value: fmt.Sprint("v", r.IntN(4)), call: 100 + 10*i - r.IntN(25),
				ret: 10*i + 101 + r.IntN(25)}
			if q.f == "get" && r.IntN(3) == 0 || q.f == "cas" || q.f == "lput" {
				q.rev = r.IntN(e.rev + 1)
			}
			got, to := e.do(q)
			if got.maybe = q.f != "get" && r.IntN(4) == 0; !got.maybe || r.IntN(2) == 0 {
				if e = to; e.rev == len(when) {
					when = append(when, 100+10*i)
				}
			}
			if n := r.IntN(12); n == 0 && !calm {
				got.revis += r.IntN(3) - 1
			} else if n == 1 && got.seen.mod > 0 && !calm {
				got.seen.value = "v0"
			}
			all = append(all, got)
		}
		file := ""
		for i := range all {
			file += all[i].text(i)
		}
		for range r.IntN(4) {
			w := e.watch(r, when, calm)
			file, empty.watches = file+string(must.Get(json.Marshal(w))(t))+"\n", append(empty.watches, w)
		}
		want := want(!ordered(empty, all))
		a := judged(t, "etcd", file)
		if a.Reason == nothing {
			return
		}
		if seen[a.Verdict]++; a.Verdict != want || calm && want != evidence.Holds {
			t.Fatalf("%v %s; expected %v\n%s\n%v", a.Verdict, a.Reason, want, file, a.Findings)
		}
	})
	seen.mixed(t)
}

// TestEtcdReports has leases, compactions, ranges and hashes, and what is wrong in a report.
func TestEtcdReports(t *testing.T) {
	op := func(at int, in, out string) string {
		return fmt.Sprintf(`{"ClientId": 1, "Input": %s, "Call": %d, "Output": %s, "Return": %d}`+"\n", in, at, out, at+1)
	}
	put := func(at, rev int, key, value string) string {
		return op(at, fmt.Sprintf(`{"Type": "txn", "Txn": {"OperationsOnSuccess": [{"Type": "put-operation", "Put": `+
			`{"Key": %q, "Value": {"Value": %q}}}]}}`, key, value),
			fmt.Sprintf(`{"Txn": {"Results": [{}]}, "Revision": %d, "member-id": 7}`, rev))
	}
	get := func(at, rev, limit, count int, kvs ...string) string {
		return op(at, fmt.Sprintf(`{"Type": "range", "Range": {"Start": "k", "End": "l", "Limit": %d}}`, limit),
			fmt.Sprintf(`{"Range": {"KVs": [%s], "Count": %d}, "Revision": %d}`, strings.Join(kvs, ", "), count, rev))
	}
	compact := func(at, to int, text string) string {
		return op(at, fmt.Sprintf(`{"Type": "compact", "Compact": {"Revision": %d}}`, to),
			fmt.Sprintf(`{"Compact": {}, "ClientError": %q, "Revision": -1}`, text))
	}
	kv := func(key, value string, rev int) string {
		return fmt.Sprintf(`{"Key": %q, "Value": {%s}, "ModRevision": %d}`, key, value, rev)
	}
	two := put(1, 2, "k1", "a") + put(3, 3, "k2", "this is a long value")
	k1, k2 := kv("k1", `"Value": "a"`, 2), kv("k2", `"Hash": 1937847511`, 3)
	const gone = "etcdserver: mvcc: required revision has been compacted"
	for i, c := range []struct {
		want evidence.Verdict
		file string
	}{
		{evidence.Holds, two + get(5, 3, 0, 2, k1, k2)},
		{evidence.Holds, two + get(5, 3, 1, 2, k1)},
		{evidence.Violated, two + get(5, 3, 1, 1, k1)},
		{evidence.Violated, two + get(5, 3, 0, 1, k1)},
		{evidence.Violated, two + get(5, 3, 0, 2, k1, kv("k2", `"Hash": 1`, 3))},
		{evidence.Holds, two + compact(5, 2, "") + compact(7, 2, gone) + compact(9, 9, "in the future")},
		{evidence.Violated, two + compact(5, 2, "") + compact(7, 2, "")},
		{evidence.Violated, two + compact(5, 2, gone)},
		{evidence.Holds, op(1, `{"Type": "defragment", "Defragment": {}}`, `{"Defragment": {}, "Revision": -1}`)},
	} {
		if a := judged(t, "etcd", c.file); a.Verdict != c.want {
			t.Errorf("%d: %v %s; expected %v\n%s%v", i, a.Verdict, a.Reason, c.want, c.file, a.Findings)
		}
	}
	for file, want := range map[string]string{
		op(1, `{"Type": "txn", "Txn": {"OperationsOnSuccess": 5}}`, `{}`): `1: field ` +
			`"Input.Txn.OperationsOnSuccess": found 5`,
		op(1, `{"Type": "range", "Range": {"Prefix": true}}`, `{}`): `1: field "Input.Range.Prefix": found true`,
		op(1, `{"Type": "range", "Range": {"Start": 5}}`, `{}`):     `1: field "Input.Range.Start": found 5`,
		op(1, `{"Type": "range", "Range": {}}`, `{}`):               `1: field "Output.Range": found nil`,
		op(1, `{"Type": "range", "Range": null}`, `{}`):             `1: field "Input.Range": found nil`,
		op(1, `{"Type": "range", "Range": {}}`, `5`):                `1: field "Output": found 5`,
		op(1, `{"Type": "range", "Range": {}}`, `{"Range": {}, "Txn": {"Results": [{"Deleted": 1}]}}`): `1: field ` +
			`"Output.Txn": found {Results [{Deleted 1}]}; expected nothing, as the type is range`,
		op(1, `{"Type": "txn", "Txn": {}, "Range": {"Start": "a"}}`, `{"Txn": {}}`): `1: field "Input.Range": found {Start a}`,
		two + op(1, `{"Type": "txn", "Txn": {"OperationsOnSuccess": [{"Type": "jump"}]}}`, `{"Error": "x"}`): `3: field ` +
			`"Input.Txn: Type": found jump`,
		two[:len(two)-9]: `h.edn:2`,
	} {
		refused(t, "etcd", file, want)
	}
}
