package online

import (
	"fmt"
	"math"

	"isovet/history"
)

// Verify replays what is remembered of the order, naively, and says what is wrong with it: reads that are constraints
// and see something else, versions out of their chains, real time or sessions that are not kept, and at the snapshot
// levels writers of a key that overlap. Contradicting reads that wait or were reported are none. For tests. Cost:
// linear, but for real time and sessions.
func (e *Engine) Verify() error {
	n := naiveOrder{e: e, state: map[uint32]uint64{}, at: map[uint32]int64{}, head: map[uint32]ref{},
		sess: map[uint32]*txn{}, latest: math.MinInt64}
	count := 0
	for i, v := range e.order {
		if v&3 == 0 {
			continue
		}
		p := e.first + int64(i)
		if v&begins != 0 {
			if err := n.begin(v.slot(), p); err != nil {
				return err
			}
		}
		if v&commits != 0 {
			count++
			if err := n.commit(v.slot(), p); err != nil {
				return err
			}
		}
	}
	for k := range e.cells {
		if h, ok := n.head[uint32(k)]; ok && h != e.cells[k].head || !ok && e.cells[k].head != none {
			return fmt.Errorf("key %d: its last version is not the one of the order", k)
		}
	}
	if count != e.placed {
		return fmt.Errorf("%d transactions, %d were counted", count, e.placed)
	}
	return nil
}

// naiveOrder is what Verify has replayed so far.
type naiveOrder struct {
	e      *Engine
	state  map[uint32]uint64 // key → what it holds
	at     map[uint32]int64  // key → place of its last write
	head   map[uint32]ref    // key → its last version
	sess   map[uint32]*txn
	latest int64 // start of those so far
}

func (n *naiveOrder) begin(t uint32, place int64) error {
	e, x := n.e, &n.e.slots[t]
	if x.begin != place {
		return fmt.Errorf("line %d begins at %d; its transaction says %d", x.line, place, x.begin)
	}
	for j := range x.reads {
		r := &x.reads[j]
		val, ok := n.state[r.key]
		if !ok {
			val = e.cells[r.key].val
		}
		if r.state == counts && val != r.val {
			return fmt.Errorf("line %d, operation %d: reads a version that the order does not have there", x.line, r.at)
		}
	}
	if l := n.sess[x.sess]; l != nil && e.o.Level.Sessions() && x.sess != NoSession && l.seq > x.seq &&
		x.status == history.Committed && !e.putOff(t) {
		return fmt.Errorf("line %d comes behind line %d of its session", x.line, l.line)
	}
	return nil
}

func (n *naiveOrder) commit(t uint32, place int64) error {
	e, x := n.e, &n.e.slots[t]
	if x.commit != place {
		return fmt.Errorf("line %d commits at %d; its transaction says %d", x.line, place, x.commit)
	}
	if e.o.Level.RealTime() && x.status == history.Committed &&
		satAdd(x.end, e.o.Skew) < satAdd(n.latest, -e.o.Skew) {
		return fmt.Errorf("line %d ended before another began that stands before it", x.line)
	}
	for j := range x.writes {
		w := &x.writes[j]
		last, ok := n.at[w.key]
		if ok && last > x.begin && e.o.Level.Snapshot() {
			return fmt.Errorf("line %d overlaps with another writer of a key", x.line)
		}
		if ok && w.prev != n.head[w.key] || !ok && w.prev != none {
			return fmt.Errorf("line %d: a version is not behind the one before", x.line)
		}
		if w.prev != none {
			if _, y := e.at(w.prev); y.next != refOf(t, j) {
				return fmt.Errorf("line %d: a version is not before the one behind", x.line)
			}
		}
		n.state[w.key], n.at[w.key], n.head[w.key] = w.val, place, refOf(t, j)
	}
	if x.status == history.Committed {
		n.latest = max(n.latest, x.start)
	}
	if l := n.sess[x.sess]; l == nil || l.seq < x.seq {
		n.sess[x.sess] = x
	}
	return nil
}

// putOff reports whether a transaction's place in its session is to be looked at later.
func (e *Engine) putOff(t uint32) bool {
	for _, p := range e.out.later {
		if p.slot == t && p.i < 0 {
			return true
		}
	}
	return false
}
