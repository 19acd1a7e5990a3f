package workloads

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"isovet/check/linear"
	"isovet/evidence"
)

// etcdItem is a key, a lease or, with an empty name, the present revision together with the last compacted one.
type etcdItem struct {
	name                string // k and the key, or a zero and the lease
	value               string
	mod, version, lease int64
}

// etcdState is the state of the database: its items sorted by name. A state is never modified.
type etcdState []*etcdItem

func (s etcdState) find(name string) (at int, is bool) {
	return slices.BinarySearchFunc(s, name, func(i *etcdItem, name string) int { return cmp.Compare(i.name, name) })
}

func (s etcdState) get(name string) *etcdItem {
	if i, is := s.find(name); is {
		return s[i]
	}
	return nil
}

func (s etcdState) with(item *etcdItem) etcdState {
	i, is := s.find(item.name)
	if s = slices.Clone(s); is {
		s[i] = item
		return s
	}
	return slices.Insert(s, i, item)
}

func (s etcdState) revised() etcdState {
	return s.with(&etcdItem{mod: s[0].mod + 1, version: s[0].version})
}

func leaseName(id int64) string { return fmt.Sprintf("\x00%d", id) }

// within reports whether a range request has this answer in this state.
func (s etcdState) within(r *etcdRange, got *etcdResult) bool {
	n, first := int64(0), "k"+r.Start
	i, is := s.find(first)
	for ; i < len(s); i++ {
		item := s[i]
		if r.End == "" && (!is || item.name != first) || r.End != "" && r.End != "\x00" && item.name >= "k"+r.End {
			break
		}
		if n++; r.Limit != 0 && n > r.Limit {
			continue
		}
		if int(n) > len(got.KVs) {
			return false
		}
		kv := &got.KVs[n-1]
		if "k"+kv.Key != item.name || kv.ModRevision != item.mod || kv.Version != 0 && kv.Version != item.version ||
			!r.KeysOnly && kv.Value.text() != item.value {
			return false
		}
	}
	listed := n
	if r.Limit != 0 {
		listed = min(n, r.Limit)
	}
	return got.Count == n && int(listed) == len(got.KVs)
}

// txn applies a transaction; fits tells whether got, which is nil if unknown, is its answer in this state.
func (s etcdState) txn(q *etcdTxn, got *etcdResults) (fits bool, to etcdState) {
	failure := false
	for _, c := range q.Conditions {
		item := s.get("k" + c.Key)
		if item == nil {
			item = &etcdItem{}
		}
		failure = failure || c.ExpectedVersion > 0 && item.version != c.ExpectedVersion ||
			c.ExpectedVersion == 0 && item.mod != c.ExpectedRevision
	}
	list := q.OperationsOnSuccess
	if failure {
		list = q.OperationsOnFailure
	}
	if got != nil && (got.Failure != failure || len(got.Results) != len(list)) {
		return false, s
	}
	to = s
	changed := false
	for i := range list {
		op, gone := &list[i], false
		var r etcdResult
		if got != nil {
			r = got.Results[i]
		}
		switch op.Type {
		case "range-operation":
			if got != nil && !to.within(&op.Range, &r) {
				return false, s
			}
		case "put-operation":
			item := &etcdItem{"k" + op.Put.Key, op.Put.Value.text(), s[0].mod + 1, 1, op.Put.LeaseID}
			if item.lease != 0 && to.get(leaseName(item.lease)) == nil {
				break
			}
			if old := to.get(item.name); old != nil {
				item.version += old.version
			}
			to, changed = to.with(item), true
		case "delete-operation":
			if to, gone = to.without("k" + op.Delete.Key); got != nil && (r.Deleted == 1) != gone {
				return false, s
			}
			changed = changed || gone
		}
	}
	if changed {
		to = to.revised()
	}
	return true, to
}

func (s etcdState) without(name string) (etcdState, bool) {
	i, is := s.find(name)
	if !is {
		return s, false
	}
	return slices.Delete(slices.Clone(s), i, i+1), true
}

// step applies a request; a is nil if its answer is unknown.
func (s etcdState) step(q *etcdRequest, a *etcdAnswer) (fits bool, to etcdState) {
	fits, to = true, s
	switch {
	case q.Range != nil && q.Range.Revision != 0: // of an old revision; the answer still has the latest one
		return a == nil || s[0].mod == q.Range.Revision && s.within(q.Range, a.Range), s
	case q.Range != nil:
		fits = a == nil || s.within(q.Range, a.Range)
	case q.Txn != nil:
		var got *etcdResults
		if a != nil {
			got = a.Txn
		}
		fits, to = s.txn(q.Txn, got)
	case q.LeaseGrant != nil:
		to = s.with(&etcdItem{name: leaseName(q.LeaseGrant.LeaseID)})
	case q.LeaseRevoke != nil:
		id := q.LeaseRevoke.LeaseID
		left, _ := s.without(leaseName(id))
		to = slices.DeleteFunc(slices.Clone(left), func(i *etcdItem) bool { return i.lease == id && id != 0 })
		if len(to) < len(left) {
			to = to.revised()
		}
	case q.Compact != nil: // its answer has the revision of one member only
		n := q.Compact.Revision
		done, late := n > s[0].version && n <= s[0].mod, n > s[0].mod
		if done {
			to = s.with(&etcdItem{mod: s[0].mod, version: n})
		}
		return a == nil || done == (a.ClientError == "") && late == strings.Contains(a.ClientError, "future"), to
	case q.Watch != nil: // it shows that the revision existed
		return a == nil || s[0].mod >= a.Revision, s
	default: // a defragmentation, of a member
		return true, s
	}
	return fits && (a == nil || a.Revision == to[0].mod), to
}

// model is etcd as the model of its robustness tests has it: keys, revisions, leases, compaction. A request without an
// answer may make neither a revision that another surely made, nor one at which an answer shows another value. All make
// the events that watches show.
func (l *etcdLog) model() *linear.Model[etcdState] {
	equal := func(a, b etcdState) bool {
		return slices.EqualFunc(a, b, func(x, y *etcdItem) bool { return x == y || *x == *y })
	}
	return &linear.Model[etcdState]{
		Init: func() etcdState { return etcdState{{mod: 1, version: -1}} },
		Step: func(s etcdState, input, output any) (bool, etcdState) {
			q := input.(*etcdRequest)
			a, known := output.(*etcdAnswer)
			rev := s[0].mod + 1
			_, sure := l.made[rev]
			if sure && !known && q.Txn != nil {
				return false, s
			}
			fits, to := s.step(q, a)
			if to[0].mod != rev {
				return fits && (known || !equal(s, to)), to // one that changes nothing may as well never happen
			}
			if name, is := l.shown[rev]; is && !known {
				item := to.get(name)
				fits = !sure && item != nil && item.mod == rev
			}
			return fits && l.agreed(s, to, rev), to
		},
		Equal: equal,
		Observes: func(input, output any) bool {
			a, _ := output.(*etcdAnswer)
			return !input.(*etcdRequest).writes(a)
		},
		Describe: describeEtcd,
	}
}

// writes reports whether a request with answer a may change something.
func (q *etcdRequest) writes(a *etcdAnswer) bool {
	if q.Txn == nil {
		return q.Range == nil && q.Defragment == nil && q.Watch == nil
	}
	list := slices.Concat(q.Txn.OperationsOnSuccess, q.Txn.OperationsOnFailure)
	if a != nil {
		list = q.branch(a)
	}
	return slices.ContainsFunc(list, func(op etcdOperation) bool { return op.Type != "range-operation" })
}

// etcd judges the operations and watches that etcd's robustness tests report: first by the revisions that answers and
// events give, then by a search for an order. A range of an old revision must have the answer that it had when that
// revision was the last.
func etcd(ctx context.Context, j *judge) error {
	l := etcdLog{j: j, made: map[int64]int{}, shown: map[int64]string{}, events: map[int64][]*etcdSeen{},
		seen: map[etcdAt]*etcdSeen{}, looks: map[int64]linear.Op{}}
	for i := range j.h.Ops {
		if err := l.read(i); err != nil {
			return err
		}
	}
	j.stat("not-judged", len(j.h.Ops)-len(l.ops)-len(l.watches))
	requests := len(l.ops)
	if l.merge(); j.a.Verdict == evidence.Holds {
		l.revisions()
	}
	if j.a.Verdict == evidence.Violated {
		j.stat("operation-count", requests)
		return nil
	}
	for i := range l.ops {
		if q := l.request(i); q.Range != nil && q.Range.Revision != 0 {
			call := int64(math.MinInt64)
			if n, is := l.made[q.Range.Revision]; is {
				call = l.ops[n].Call
			}
			l.ops[i].Call = min(l.ops[i].Call, call)
		}
	}
	ops, at := l.ops[:requests], l.at[:requests]
	for i, seen := range l.ops[requests:] { // what surely made a revision was done when a watch showed it
		if n, is := l.made[seen.Output.(*etcdAnswer).Revision]; is {
			ops[n].Return = min(ops[n].Return, seen.Return)
		} else {
			ops, at = append(ops, seen), append(at, l.at[requests+i])
		}
	}
	m := l.model()
	search := func(ctx context.Context, ops []linear.Op, o linear.Options) (linear.Answer, error) {
		return linear.Check(ctx, m, ops, o)
	}
	return j.linear(ctx, linear.Object{Check: search}, ops, at, m.Text)
}
