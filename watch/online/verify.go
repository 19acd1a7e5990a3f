package online

import (
	"fmt"
	"math"

	"isovet/history"
)

// Verify replays what is remembered of the order, naively, and says what is wrong with it: reads that are constraints
// and see something else, versions out of their chains, real time or sessions that are not kept, and at the snapshot
// levels writers of a key that overlap. Misfits that wait or were told of are none. For tests. Cost: linear, but for
// real time and sessions.
func (e *Engine) Verify() error {
	state := map[uint32]uint64{}
	at := map[uint32]int64{}  // key → place of its last write
	head := map[uint32]ref{}  // key → its last version
	prev := map[uint32]bool{} // key → it has been written
	sess := map[uint32]*txn{}
	latest := int64(math.MinInt64) // start of those so far
	n := 0
	for i, v := range e.order {
		if v&3 == 0 {
			continue
		}
		p := e.first + int64(i)
		t := v.slot()
		x := &e.slots[t]
		if v&begins != 0 {
			if x.begin != p {
				return fmt.Errorf("line %d begins at %d, and is said to at %d", x.line, p, x.begin)
			}
			for j := range x.reads {
				r := &x.reads[j]
				val, ok := state[r.key]
				if !ok {
					val = e.cells[r.key].val
				}
				if r.state == counts && val != r.val {
					return fmt.Errorf("line %d, operation %d: reads what is not there", x.line, r.at)
				}
			}
			if l := sess[x.sess]; l != nil && e.o.Level.Sessions() && x.sess != NoSession && l.seq > x.seq &&
				x.status == history.Committed && !e.putOff(t) {
				return fmt.Errorf("line %d comes behind line %d of its session", x.line, l.line)
			}
		}
		if v&commits == 0 {
			continue
		}
		n++
		if x.commit != p {
			return fmt.Errorf("line %d commits at %d, and is said to at %d", x.line, p, x.commit)
		}
		if e.o.Level.RealTime() && x.status == history.Committed &&
			satAdd(x.end, e.o.Skew) < satAdd(latest, -e.o.Skew) {
			return fmt.Errorf("line %d ended before another began that stands before it", x.line)
		}
		for j := range x.writes {
			w := &x.writes[j]
			if q, ok := at[w.key]; ok && q > x.begin && e.o.Level.Snapshot() {
				return fmt.Errorf("line %d overlaps with another writer of a key", x.line)
			}
			if prev[w.key] && w.prev != head[w.key] || !prev[w.key] && w.prev != none {
				return fmt.Errorf("line %d: a version is not behind the one before", x.line)
			}
			if w.prev != none {
				if _, y := e.at(w.prev); y.next != refOf(t, j) {
					return fmt.Errorf("line %d: a version is not before the one behind", x.line)
				}
			}
			state[w.key], at[w.key], head[w.key], prev[w.key] = w.val, p, refOf(t, j), true
		}
		if x.status == history.Committed {
			if latest < x.start {
				latest = x.start
			}
		}
		if l := sess[x.sess]; l == nil || l.seq < x.seq {
			sess[x.sess] = x
		}
	}
	for k := range e.cells {
		if h, ok := head[uint32(k)]; ok && h != e.cells[k].head || !ok && e.cells[k].head != none {
			return fmt.Errorf("key %d: its last version is not the one of the order", k)
		}
	}
	if n != e.placed {
		return fmt.Errorf("%d transactions, %d were counted", n, e.placed)
	}
	return nil
}

// putOff reports whether a transaction's place in its session is to be looked at later.
func (e *Engine) putOff(t uint32) bool {
	for _, p := range e.later {
		if p.slot == t && p.i < 0 {
			return true
		}
	}
	return false
}
