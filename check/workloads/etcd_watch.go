package workloads

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"isovet/check/linear"
	"isovet/internal/slice"
)

// etcdWatching is a watch with its events. It says that from revision from to revision to there are no others.
type etcdWatching struct {
	*etcdRequest
	op                       int // of the history
	from, to, last, bookmark int64
	has                      map[etcdAt]bool
}

// etcdAt is a place that has one event at most.
type etcdAt struct {
	revision int64
	key      string
}

// etcdSeen is an event that a watch shows or, if by is nil, an answer.
type etcdSeen struct {
	*etcdEvent
	by *etcdWatching
}

// of reports whether a watch is of a key.
func (w *etcdWatching) of(key string) bool {
	return key == w.Watch.Key || w.Watch.WithPrefix && strings.HasPrefix(key, w.Watch.Key)
}

// report adds a violation that a watch shows at a revision, perhaps together with some operations.
func (l *etcdLog) report(kind string, w *etcdWatching, rev int64, core []int, format string, args ...any) {
	why := fmt.Sprintf("the watch's event of revision %d %s", rev, fmt.Sprintf(format, args...))
	ops := append(slice.Pick(l.ops, core), linear.Op{Input: w.etcdRequest, Output: &etcdAnswer{Revision: rev}})
	l.j.shows(kind, why, ops, append(slice.Pick(l.at, core), w.op), etcdText)
}

func etcdText(op *linear.Op) string { return describeEtcd(op.Input, op.Output) }

// watch reads a watch and judges it by itself.
//
// Source: etcd's guarantees of watches: ordered, unique, atomic, bookmarkable, and that they begin where asked.
func (l *etcdLog) watch(i int) error {
	op, q := &l.j.h.Ops[i], &etcdRequest{}
	var responses []etcdResponse
	err := l.j.fill(op, reflect.ValueOf(q).Elem(), op.In, "Input")
	if err == nil {
		err = l.j.fill(op, reflect.ValueOf(&responses).Elem(), op.Extra.Get("Responses"), "Responses")
	}
	if err == nil && q.Watch == nil {
		err = l.j.bad(op, "Request", nil, "an object")
	}
	w := &etcdWatching{etcdRequest: q, op: i, has: map[etcdAt]bool{}}
	l.watches, l.j.given = append(l.watches, w), "; the revisions have the events that watches show"
	for n := 0; err == nil && n < len(responses); n++ {
		r := &responses[n]
		w.from = cmp.Or(w.from, q.Watch.Revision)
		for k, e := range slice.Refs(r.Events) {
			if e.Type != "put-operation" && e.Type != "delete-operation" {
				return l.j.bad(op, "Responses: Type", e.Type, "put-operation or delete-operation")
			}
			if w.from = cmp.Or(w.from, e.Revision); !l.follows(w, e, k == 0) {
				return nil
			}
		}
		if r.IsProgressNotify {
			if w.from = cmp.Or(w.from, r.Revision+1); r.Revision < w.to {
				l.report("watch-bookmarkable", w, w.to, nil, "precedes a notification of progress to %d", r.Revision)
				return nil
			}
			w.to, w.bookmark = r.Revision, r.Revision
		}
		x := linear.Op{Input: q, Output: &etcdAnswer{Revision: w.to}, Call: math.MinInt64, Client: int64(i)}
		x.Return = cmp.Or(r.Time, math.MaxInt64)
		if old, is := l.looks[w.to]; !is || x.Return < old.Return {
			l.looks[w.to] = x
		}
	}
	return err
}

// follows adds an event to a watch; ok is false, after a report, if a guarantee forbids it there.
func (l *etcdLog) follows(w *etcdWatching, e *etcdEvent, first bool) (ok bool) {
	at := etcdAt{e.Revision, e.Key}
	switch {
	case !w.of(e.Key) || e.Revision < max(w.Watch.Revision, 2):
		l.report("watch-filter", w, e.Revision, nil, "of key %q was not asked for", e.Key)
	case e.Revision <= w.bookmark:
		l.report("watch-bookmarkable", w, e.Revision, nil, "follows a notification of progress to %d", w.bookmark)
	case e.Revision < w.last:
		l.report("watch-ordered", w, e.Revision, nil, "follows one of revision %d", w.last)
	case w.has[at]:
		l.report("watch-unique", w, e.Revision, nil, "of key %q appears twice", e.Key)
	case e.Revision == w.last && first:
		l.report("watch-atomic", w, e.Revision, nil, "is in another response than the first of that revision")
	default:
		w.last, w.to, w.has[at] = e.Revision, e.Revision, true
		return l.see(e, w)
	}
	return false
}

// see notes an event, of an answer if w is nil; ok is false, after a report, if a watch shows another in its place.
func (l *etcdLog) see(e *etcdEvent, w *etcdWatching) (ok bool) {
	at := etcdAt{e.Revision, e.Key}
	switch old := l.seen[at]; {
	case old == nil:
		l.seen[at] = &etcdSeen{e, w}
		l.events[e.Revision] = append(l.events[e.Revision], l.seen[at])
	case w == nil && old.by != nil && !old.same(e):
		l.report("watch-event", old.by, e.Revision, []int{l.made[e.Revision]}, "of key %q is not what was done", e.Key)
	case w == nil:
	case !old.same(e) || old.IsCreate != e.IsCreate || *cmp.Or(old.PrevValue, e.PrevValue, &etcdKV{}) !=
		*cmp.Or(e.PrevValue, old.PrevValue, &etcdKV{}):
		l.report("watch-event", w, e.Revision, nil, "of key %q differs from another watch's", e.Key)
		return false
	case old.PrevValue == nil:
		old.etcdEvent = e
	}
	return true
}

// same reports whether two events do the same.
func (e *etcdEvent) same(other *etcdEvent) bool {
	return e.Type == other.Type && e.Value.text() == other.Value.text()
}

// merge compares what watches show with the requests that surely made a revision, and with each other. It adds
// operations that only look: what watches show at a revision, and by when.
func (l *etcdLog) merge() {
	for _, rev := range slices.Sorted(maps.Keys(l.made)) {
		results := l.answer(l.made[rev]).Txn.Results
		for n, op := range l.request(l.made[rev]).branch(l.answer(l.made[rev])) {
			if n < len(results) && (op.Type == "put-operation" && op.Put.LeaseID == 0 || // a lease may not exist
				op.Type == "delete-operation" && results[n].Deleted > 0) {
				l.see(&etcdEvent{Type: op.Type, Key: cmp.Or(op.Put.Key, op.Delete.Key), Value: op.Put.Value,
					Revision: rev}, nil)
			}
		}
	}
	revs := slices.Sorted(maps.Keys(l.events))
	for _, w := range l.watches {
		l.complete(w, revs)
	}
	for _, rev := range slices.Sorted(maps.Keys(l.looks)) {
		l.ops, l.at = append(l.ops, l.looks[rev]), append(l.at, int(l.looks[rev].Client))
	}
}

// complete judges whether a watch has all known events of its range.
//
// Source: etcd's guarantees that watches are reliable and resumable.
func (l *etcdLog) complete(w *etcdWatching, revs []int64) {
	n, _ := slices.BinarySearch(revs, max(w.from, 1))
	for ; w.from > 0 && n < len(revs) && revs[n] <= w.to; n++ {
		for _, s := range l.events[revs[n]] {
			if w.of(s.Key) && !w.has[etcdAt{s.Revision, s.Key}] {
				l.report("watch-reliable", w, revs[n], l.maker(&etcdItem{mod: revs[n]}), "of key %q is missing", s.Key)
				return
			}
		}
	}
}

// before reports whether an event can follow an item, nil if there was none.
func (s *etcdSeen) before(old *etcdItem) bool {
	prev := s.PrevValue
	return s.by == nil || s.IsCreate == (old == nil) && (s.Type == "put-operation" || old != nil) &&
		(prev == nil || old != nil && prev.Value.text() == old.value && prev.ModRevision == old.mod &&
			(prev.Version == 0 || old.version == 0 || prev.Version == old.version))
}

// fit reports whether the events of a revision fit the items before it; if not, after a report.
func (l *etcdLog) fit(rev int64) bool {
	for _, s := range l.events[rev] {
		if old := l.state["k"+s.Key]; !l.unsure["k"+s.Key] && !s.before(old) {
			l.report("watch-previous", s.by, rev, l.maker(old), "of key %q does not fit what was there before", s.Key)
			return false
		}
	}
	return true
}

// agreed reports whether the step from a state to one of a new revision has the events that watches show.
func (l *etcdLog) agreed(s, to etcdState, rev int64) bool {
	for _, e := range l.events[rev] {
		old, item := s.get("k"+e.Key), cmp.Or(to.get("k"+e.Key), &etcdItem{})
		if put := e.Type == "put-operation"; !e.before(old) || put != (item.mod == rev) || !put && item.mod > 0 ||
			item.value != e.Value.text() || !put && old == nil {
			return false
		}
	}
	hidden := func(item *etcdItem) bool {
		key, is := strings.CutPrefix(item.name, "k")
		return is && l.seen[etcdAt{rev, key}] == nil && slices.ContainsFunc(l.watches, func(w *etcdWatching) bool {
			return w.from > 0 && w.from <= rev && rev <= w.to && w.of(key)
		})
	}
	return !slices.ContainsFunc(to, func(i *etcdItem) bool { return i.mod == rev && hidden(i) }) &&
		!slices.ContainsFunc(s, func(i *etcdItem) bool { return to.get(i.name) == nil && hidden(i) })
}
