package workloads

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"isovet/evidence"
	"isovet/history/operations"
	"isovet/internal/test/histtest/randtest"
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
}

// tried is etcd of the twin: cells by key, and those of each revision.
type tried struct {
	rev   int
	cells map[string]cell
	at    map[int]map[string]cell
}

// do is the answer of a request, and etcd afterwards.
func (e tried) do(q small) (small, tried) {
	q.seen, q.failed, q.deleted = cell{}, false, 0
	old := e.cells[q.key]
	switch {
	case q.f == "get" && q.rev > 0:
		q.seen, q.revis = e.at[q.rev][q.key], e.rev
		return q, e
	case q.f == "get":
		q.seen, q.revis = old, e.rev
		return q, e
	case q.f == "cas" && old.mod != q.rev:
		q.failed, q.seen, q.revis = true, old, e.rev
		return q, e
	}
	to := tried{e.rev + 1, maps.Clone(e.cells), maps.Clone(e.at)}
	if q.f != "delete" {
		to.cells[q.key] = cell{q.value, to.rev, old.ver + 1}
	} else if delete(to.cells, q.key); old.mod > 0 {
		q.deleted = 1
	} else {
		q.revis = e.rev
		return q, e
	}
	to.at[to.rev], q.revis = to.cells, to.rev
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
	return !must
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
	put := fmt.Sprintf(`{"Type": "put-operation", "Put": {"Key": %q, "Value": {"Value": %q}, "LeaseID": 0}}`, q.key, q.value)
	read := fmt.Sprintf(`{"Type": "range-operation", "Range": {"Start": %q}}`, q.key)
	txn := `{"Type": "txn", "Txn": {"Conditions": %s, "OperationsOnSuccess": [%s], "OperationsOnFailure": %s}}`
	switch q.f {
	case "get":
		in = fmt.Sprintf(`{"Type": "range", "Range": {"Start": %q, "End": "", "Revision": %d}}`, q.key, q.rev)
	case "put":
		in = fmt.Sprintf(txn, "null", put, "null")
		out = `"Txn": {"Failure": false, "Results": [{"KVs": null, "Deleted": 0}]}`
	case "delete":
		in = fmt.Sprintf(txn, "[]", fmt.Sprintf(`{"Type": "delete-operation", "Delete": {"Key": %q}}`, q.key), "[]")
		out = fmt.Sprintf(`"Txn": {"Failure": false, "Results": [{"Deleted": %d}]}`, q.deleted)
	case "cas":
		in = fmt.Sprintf(txn, fmt.Sprintf(`[{"Key": %q, "ExpectedRevision": %d}]`, q.key, q.rev), put, "["+read+"]")
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
	randtest.Seeds(t, 2000, func(t testing.TB, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 38))
		e := tried{1, map[string]cell{}, map[int]map[string]cell{1: {}}}
		var all []small
		for i := range 3 + r.IntN(4) {
			q := small{f: []string{"get", "put", "put", "delete", "cas", "get"}[r.IntN(6)],
				key: string(rune('a' + r.IntN(2))), value: fmt.Sprint("v", r.IntN(4)), call: 10*i - r.IntN(25),
				ret: 10*i + 1 + r.IntN(25)}
			if q.f == "get" && r.IntN(3) == 0 || q.f == "cas" {
				q.rev = r.IntN(e.rev + 1)
			}
			got, to := e.do(q)
			if got.maybe = q.f != "get" && r.IntN(4) == 0; !got.maybe || r.IntN(2) == 0 {
				e = to
			}
			if n := r.IntN(12); n == 0 {
				got.revis += r.IntN(3) - 1
			} else if n == 1 && got.seen.mod > 0 {
				got.seen.value = "v0"
			}
			all = append(all, got)
		}
		file := ""
		for i := range all {
			file += all[i].text(i)
		}
		want := evidence.Violated
		if ordered(tried{1, map[string]cell{}, map[int]map[string]cell{1: {}}}, all) {
			want = evidence.Holds
		}
		a := judged(t, "etcd", file)
		if a.Reason == nothing {
			return
		}
		if seen[a.Verdict]++; a.Verdict != want {
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
	put := func(at, rev int, key, value string, lease int) string {
		return op(at, fmt.Sprintf(`{"Type": "txn", "Txn": {"OperationsOnSuccess": [{"Type": "put-operation", "Put": `+
			`{"Key": %q, "Value": {"Value": %q}, "LeaseID": %d}}]}}`, key, value, lease),
			fmt.Sprintf(`{"Txn": {"Results": [{}]}, "Revision": %d, "member-id": 7}`, rev))
	}
	get := func(at, rev, limit, count int, kvs ...string) string {
		return op(at, fmt.Sprintf(`{"Type": "range", "Range": {"Start": "k", "End": "l", "Limit": %d}}`, limit),
			fmt.Sprintf(`{"Range": {"KVs": [%s], "Count": %d}, "Revision": %d}`, strings.Join(kvs, ", "), count, rev))
	}
	lease := func(at, rev int, f string) string {
		return op(at, fmt.Sprintf(`{"Type": "lease%s", "Lease%[1]s": {"LeaseID": 9}}`, f),
			fmt.Sprintf(`{"Lease%s": {}, "Revision": %d}`, f, rev))
	}
	compact := func(at, to int, text string) string {
		return op(at, fmt.Sprintf(`{"Type": "compact", "Compact": {"Revision": %d}}`, to),
			fmt.Sprintf(`{"Compact": {}, "ClientError": %q, "Revision": -1}`, text))
	}
	kv := func(key, value string, rev int) string {
		return fmt.Sprintf(`{"Key": %q, "Value": {%s}, "ModRevision": %d}`, key, value, rev)
	}
	two := put(1, 2, "k1", "a", 0) + put(3, 3, "k2", "this is a long value", 0)
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
		{evidence.Holds, lease(1, 1, "Grant") + put(3, 2, "k1", "a", 9) + lease(5, 3, "Revoke") + get(7, 3, 0, 0)},
		{evidence.Violated, lease(1, 1, "Grant") + put(3, 2, "k1", "a", 9) + lease(5, 3, "Revoke") +
			get(7, 3, 0, 1, k1)},
		{evidence.Holds, lease(1, 1, "Grant") + put(3, 2, "k1", "a", 9) + put(5, 3, "k1", "b", 0) +
			lease(7, 3, "Revoke")},
		{evidence.Violated, put(3, 2, "k1", "a", 9)}, // there is no such lease
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
		h, err := operations.Read([]byte(file), "h.edn")
		if w, _, bad := Lookup("etcd"); err == nil && bad == nil {
			_, err = w.Check(t.Context(), h, Options{})
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; expected %s\n%s", err, want, file)
		}
	}
}
