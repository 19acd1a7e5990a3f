package workloads

import (
	"cmp"
	"math"
	"reflect"
	"slices"
	"strings"

	"isovet/check/linear"
	"isovet/history/operations"
	"isovet/internal/slice"
)

// etcdLog replays the answers in the order of their revisions.
type etcdLog struct {
	j     *judge
	ops   []linear.Op
	at    []int            // of the history
	made  map[int64]int    // revision → the operation that surely made it
	shown map[int64]string // revision → an item that an answer shows at it
	// state has the items that are certain at the revision reached, unsure those that are not.
	state  map[string]*etcdItem
	unsure map[string]bool
	// revoked is set once a lease may have been revoked.
	revoked bool
	watches []*etcdWatching
	events  map[int64][]*etcdSeen // by revision
	seen    map[etcdAt]*etcdSeen
	looks   map[int64]linear.Op // of watches, that a revision exists; Client is the watch's index in the history
}

func (l *etcdLog) request(i int) *etcdRequest { return l.ops[i].Input.(*etcdRequest) }

// answer returns the answer of an operation, nil if it is unknown.
func (l *etcdLog) answer(i int) *etcdAnswer {
	a, _ := l.ops[i].Output.(*etcdAnswer)
	return a
}

// read parses an operation's request and answer.
func (l *etcdLog) read(i int) error {
	op := &l.j.h.Ops[i]
	if op.F == "watch" {
		return l.watch(i)
	}
	q, a := &etcdRequest{}, &etcdAnswer{}
	x := linear.Op{Client: op.Process, Input: q, Call: op.Call, Return: op.Return,
		Maybe: op.Status == operations.Unknown}
	if err := l.j.fill(op, reflect.ValueOf(q).Elem(), op.In, "Input"); err != nil {
		return err
	}
	if !x.Maybe {
		if err := l.j.fill(op, reflect.ValueOf(a).Elem(), op.Out, "Output"); err != nil {
			return err
		}
		x.Output = a
	}
	if err := l.j.sound(op, q, a, x.Maybe); err != nil {
		return err
	}
	if x.Maybe && !q.writes(nil) || a.ClientError != "" && (q.Compact == nil ||
		!strings.Contains(a.ClientError, "compacted") && !strings.Contains(a.ClientError, "future")) {
		return nil // it shows nothing, or nothing happened
	}
	n := len(l.ops)
	l.ops, l.at = append(l.ops, x), append(l.at, i)
	results := []etcdResult{}
	if a.Range != nil {
		results = append(results, *a.Range)
	}
	if a.Txn != nil {
		results = append(results, a.Txn.Results...)
		if other, is := l.made[a.Revision]; q.makes(a) && is {
			l.found("two requests created the same revision", other, n)
		} else if q.makes(a) {
			l.made[a.Revision] = n
		}
	}
	for _, r := range results {
		for _, kv := range r.KVs {
			l.shown[kv.ModRevision] = "k" + kv.Key
		}
	}
	return nil
}

// found reports a violation shown by the operations of core.
func (l *etcdLog) found(why string, core ...int) {
	l.j.shows("non-linearizable", why, slice.Pick(l.ops, core), slice.Pick(l.at, core), etcdText)
}

// branch returns the operations of the transaction's branch that was executed.
func (q *etcdRequest) branch(a *etcdAnswer) []etcdOperation {
	if a.Txn.Failure {
		return q.Txn.OperationsOnFailure
	}
	return q.Txn.OperationsOnSuccess
}

// makes reports whether a transaction surely made the revision in its answer: not if it puts with a lease, since nobody
// knows whether the lease existed.
func (q *etcdRequest) makes(a *etcdAnswer) bool {
	for i, op := range q.branch(a) {
		if op.Type == "put-operation" && op.Put.LeaseID == 0 || i < len(a.Txn.Results) && a.Txn.Results[i].Deleted > 0 {
			return true
		}
	}
	return false
}

// revision returns the revision that an answer is of; ok is false if it gives none.
func (l *etcdLog) revision(i int) (rev int64, ok bool) {
	q, a := l.request(i), l.answer(i)
	if a == nil || q.Defragment != nil || q.Compact != nil {
		return 0, false
	}
	if q.Range != nil && q.Range.Revision != 0 {
		return q.Range.Revision, true
	}
	return a.Revision, true
}

// revisions looks for a violation in the revisions of answers, without a search: that they go back in real time, that
// nobody made one, or that an answer differs from what the requests up to its revision, as far as answered, imply.
func (l *etcdLog) revisions() {
	var calls, returns, maybe, all []int
	for i := range l.ops {
		_, is := l.revision(i)
		q := l.request(i)
		if !is && l.answer(i) == nil || q.LeaseRevoke != nil || q.leased() {
			maybe = append(maybe, i)
		}
		if is {
			all = append(all, i)
		}
		if is && (q.Range == nil || q.Range.Revision == 0) {
			calls, returns = append(calls, i), append(returns, i)
		}
	}
	slices.SortStableFunc(calls, func(a, b int) int { return cmp.Compare(l.ops[a].Call, l.ops[b].Call) })
	slices.SortStableFunc(returns, func(a, b int) int { return cmp.Compare(l.ops[a].Return, l.ops[b].Return) })
	slices.SortStableFunc(maybe, func(a, b int) int { return cmp.Compare(l.ops[a].Call, l.ops[b].Call) })
	last := -1 // of the returned operations, one with the latest revision
	for _, i := range calls {
		for ; len(returns) > 0 && l.ops[returns[0]].Return < l.ops[i].Call; returns = returns[1:] {
			if last < 0 || l.answer(returns[0]).Revision > l.answer(last).Revision {
				last = returns[0]
			}
		}
		if last < 0 {
			continue
		}
		rev, before := l.answer(i).Revision, l.answer(last).Revision
		if maker, is := l.made[rev]; rev < before || rev == before && is && maker == i {
			l.found("the second request was called after the first returned, but has no later revision", last, i)
		}
	}
	slices.SortStableFunc(all, func(a, b int) int {
		x, _ := l.revision(a)
		y, _ := l.revision(b)
		made := func(i int, rev int64) int {
			if n, is := l.made[rev]; is && n == i {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(made(a, x), made(b, y)), cmp.Compare(l.ops[a].Call, l.ops[b].Call))
	})
	l.replay(all, maybe)
}

// leased reports whether a request puts something with a lease.
func (q *etcdRequest) leased() bool {
	return q.Txn != nil && slices.ContainsFunc(slices.Concat(q.Txn.OperationsOnSuccess, q.Txn.OperationsOnFailure),
		func(op etcdOperation) bool { return op.Put.LeaseID != 0 })
}

// replay goes through the answers by revision, up to the first that does not fit. maybe has the requests that may have
// made a revision.
func (l *etcdLog) replay(all, maybe []int) {
	l.state, l.unsure = map[string]*etcdItem{}, map[string]bool{}
	ends := make([]int64, len(all)+1) // the earliest return of the requests from here on
	ends[len(all)] = math.MaxInt64
	for n, i := range slices.Backward(all) {
		ends[n] = min(ends[n+1], l.ops[i].Return)
	}
	touched := map[string]bool{} // by those that may have taken effect by now
	now, gaps, may := int64(1), int64(0), 0
	for n, i := range all {
		rev, _ := l.revision(i)
		for ; may < len(maybe) && l.ops[maybe[may]].Call <= ends[n]; may++ {
			l.touches(maybe[may], touched)
		}
		missed := rev - now
		if maker, is := l.made[rev]; rev > now && is && maker == i {
			missed--
		}
		if missed > 0 {
			if gaps += missed; gaps > int64(may) || gaps < 0 {
				l.found("there are more revisions by then than requests that may have created them", i)
				return
			}
			for name := range touched {
				delete(l.state, name)
				l.unsure[name] = true
			}
		}
		if rev > now && !l.fit(rev) {
			return
		}
		now = max(now, rev)
		if why, core := l.fits(i, rev); why != "" {
			l.found(why, append(core, i)...)
			return
		}
	}
}

// touches notes the items that a request may change; with the first revoked lease, all items put with a lease.
func (l *etcdLog) touches(i int, touched map[string]bool) {
	q := l.request(i)
	if q.LeaseRevoke != nil && !l.revoked {
		l.revoked = true
		for n := range l.ops {
			if l.request(n).leased() {
				l.touches(n, touched)
			}
		}
	}
	if q.Txn != nil {
		for _, op := range slices.Concat(q.Txn.OperationsOnSuccess, q.Txn.OperationsOnFailure) {
			if op.Type != "range-operation" {
				touched["k"+cmp.Or(op.Put.Key, op.Delete.Key)] = true
			}
		}
	}
}

// fits compares an answer with what is certain at its revision, and applies what the request writes. why is "" if it
// fits; otherwise core has the operations whose writes it contradicts.
func (l *etcdLog) fits(i int, rev int64) (why string, core []int) {
	q, a := l.request(i), l.answer(i)
	switch {
	case q.Range != nil:
		return l.agrees(q.Range, a.Range, rev)
	case q.Txn == nil:
		return "", nil
	}
	list := q.branch(a)
	if len(list) != len(a.Txn.Results) {
		return "the answer and the request differ in their number of operations", nil
	}
	holds, sure := true, true
	for _, c := range q.Txn.Conditions {
		name := "k" + c.Key
		item := l.state[name]
		if l.unsure[name] || item != nil && item.version == 0 && c.ExpectedVersion > 0 {
			sure = false
			continue
		}
		if item == nil {
			item = &etcdItem{}
		}
		core = append(core, l.maker(item)...)
		if c.ExpectedVersion > 0 && item.version != c.ExpectedVersion ||
			c.ExpectedVersion == 0 && item.mod != c.ExpectedRevision {
			holds = false
		}
	}
	if !holds && !a.Txn.Failure || holds && sure && a.Txn.Failure {
		return "the answer is wrong about whether the conditions held", core
	}
	for n := range list {
		op, r := &list[n], &a.Txn.Results[n]
		switch op.Type {
		case "range-operation":
			if why, core := l.agrees(&op.Range, r, rev); why != "" {
				return why, core
			}
		case "delete-operation":
			name := "k" + op.Delete.Key
			if item := l.state[name]; !l.unsure[name] && (item != nil) != (r.Deleted > 0) {
				return "the answer is wrong about whether the deleted key existed", l.maker(item)
			}
			delete(l.state, name)
			delete(l.unsure, name)
		case "put-operation":
			l.put(op, rev)
		}
	}
	return "", nil
}

func (l *etcdLog) put(op *etcdOperation, rev int64) {
	name := "k" + op.Put.Key
	if op.Put.LeaseID != 0 { // the lease may not exist
		delete(l.state, name)
		l.unsure[name] = true
		return
	}
	item := &etcdItem{name: name, value: op.Put.Value.text(), mod: rev}
	if old := l.state[name]; old != nil && old.version > 0 {
		item.version = old.version + 1
	} else if !l.unsure[name] && old == nil {
		item.version = 1
	}
	l.state[name] = item
	delete(l.unsure, name)
}

// maker returns the operation that wrote an item, if known.
func (l *etcdLog) maker(item *etcdItem) []int {
	if item == nil {
		return nil
	}
	if i, is := l.made[item.mod]; is {
		return []int{i}
	}
	return nil
}

// agrees compares a range's answer with what is certain.
func (l *etcdLog) agrees(r *etcdRange, got *etcdResult, rev int64) (why string, core []int) {
	in := func(key string) bool {
		return key == r.Start || r.End != "" && key > r.Start && (r.End == "\x00" || key < r.End)
	}
	seen := map[string]bool{}
	for _, kv := range got.KVs {
		name := "k" + kv.Key
		item := l.state[name]
		seen[name] = true
		switch {
		case !in(kv.Key):
			return "the answer has a key outside the requested range", nil
		case kv.ModRevision > rev:
			return "the answer has a value of a later revision", nil
		case l.unsure[name]:
		case item == nil:
			return "the answer has a key that did not exist at its revision", nil
		case item.mod != kv.ModRevision || !r.KeysOnly && item.value != kv.Value.text() ||
			kv.Version != 0 && item.version != 0 && kv.Version != item.version:
			return "the answer has another value, revision or version than was written", l.maker(item)
		}
	}
	lacks := func(item *etcdItem) bool {
		return item != nil && !seen[item.name] && in(strings.TrimPrefix(item.name, "k"))
	}
	if r.End == "" && lacks(l.state["k"+r.Start]) {
		return "the answer lacks a key that existed at its revision", l.maker(l.state["k"+r.Start])
	}
	if r.End != "" && r.Limit == 0 {
		var first *etcdItem
		for _, item := range l.state {
			if lacks(item) && (first == nil || item.name < first.name) {
				first = item
			}
		}
		if first != nil {
			return "the answer lacks a key that existed at its revision", l.maker(first)
		}
	}
	return "", nil
}
