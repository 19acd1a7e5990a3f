package histtest

import (
	"math"
	"strconv"
)

// assignSessions gives transactions their ids and sessions, and sometimes their places there.
func (r *run) assignSessions(txns []txn, sessions int) {
	named, placed, ids := !r.one(6), r.one(3), r.IntN(4)
	next := make([]int64, sessions)
	for i := range txns {
		t := &txns[i]
		t.session, t.place = -1, -1
		t.id, t.hasID = int64(i), ids > 0
		if ids == 1 {
			t.id = int64(50 - 7*i)
		}
		if t.init || !named || r.one(12) {
			continue
		}
		s := r.IntN(sessions)
		t.session = int64(s)
		if placed {
			t.place = next[s]
		}
		next[s]++
	}
}

// times gives the logical times their place among the 64 bits, and leaves some out.
func (r *run) times(txns []txn) {
	const span = 40
	var scale int64 = 1
	var base int64
	split := int64(math.MaxInt64) // logical times from here on stand at the upper end
	switch r.IntN(8) {
	case 0:
		base = math.MaxInt64 - span
	case 1:
		base = math.MinInt64 + 1
	case 2:
		base, scale = math.MinInt64+1, math.MaxInt64/span*2
	case 3:
		base, split = math.MinInt64+1, 1+r.Int64N(12)
	case 4:
		scale = math.MaxInt64 / span
	case 5:
		base = r.Int64N(10) - 5
	}
	place := func(n int64) int64 {
		n = max(0, min(n, span))
		if n >= split {
			return math.MaxInt64 - span + n
		}
		return base + n*scale
	}
	client, stamps := r.IntN(4), r.IntN(3)
	jitter, lag := 1+r.Int64N(6), 1+r.Int64N(3)
	if r.one(3) {
		jitter = 1
	}
	for i := range txns {
		t := &txns[i]
		if t.init && !r.one(8) {
			continue
		}
		start, commit := t.start, max(t.start, t.commit)
		if client > 0 {
			left := client == 1 && r.one(4)
			t.hasStart, t.hasEnd, t.hasCommit = !left, !(client == 1 && r.one(4)), r.one(4)
			from := start - r.Int64N(jitter)
			until := max(from, commit+r.Int64N(jitter)-r.Int64N(lag))
			t.start, t.commit, t.end = place(from), place(from+r.Int64N(until-from+1)), place(until)
			if t.status == "unknown" && r.one(2) {
				t.hasEnd = false
			}
		}
		if stamps > 0 {
			t.hasStartTS, t.hasTS = !(stamps == 1 && r.one(8)), !(stamps == 1 && r.one(8))
			if t.status != "" && r.one(2) {
				t.hasTS = false
			}
			s, c := start+1, commit
			if r.one(3) {
				c += r.Int64N(3)
			}
			if s = min(s, c); r.one(10) {
				s = c
			}
			t.startTS, t.commitTS = place(s), place(c)
		}
	}
}

func (t *txn) appendTo(out []byte) []byte {
	out = append(out, '{')
	field := func(name string, n int64, has bool) {
		if has {
			out = append(append(append(out, '"'), name...), `":`...)
			out = append(strconv.AppendInt(out, n, 10), ',')
		}
	}
	field("id", t.id, t.hasID)
	if t.init {
		out = append(out, `"init":true,`...)
	}
	field("session", t.session, t.session >= 0 && !t.init)
	field("seq", t.place, t.place >= 0 && t.session >= 0 && !t.init)
	if t.status != "" && !t.init {
		out = append(append(append(out, `"status":"`...), t.status...), `",`...)
	}
	field("start", t.start, t.hasStart)
	field("commit", t.commit, t.hasCommit)
	field("end", t.end, t.hasEnd)
	field("start_ts", t.startTS, t.hasStartTS)
	field("commit_ts", t.commitTS, t.hasTS)
	out = append(out, `"ops":[`...)
	for i, op := range t.ops {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, op...)
	}
	return append(out, "]}\n"...)
}
