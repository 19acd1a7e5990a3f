package linear

import (
	"cmp"
	"math"
	"slices"

	"isovet/evidence"
)

const never = math.MaxInt64

// span is the life of a value in a queue or stack: the operations that put it in and take it out, and when they ran.
type span struct {
	put, take        int   // -1: none
	putCall, putRet  int64 // never: of unknown outcome
	takeCall, takeRt int64 // never: not taken out
}

// distinct has the operations on a queue or stack into which each value is put at most once.
type distinct struct {
	ops     []Op
	spans   []span
	empty   []int // operations that found nothing
	unknown []int // operations of unknown outcome that may have taken a value
	bad     *Answer
}

// spansOf computes the spans. ok is false if a value is put in twice; bad is a violation by one value.
func spansOf(ops []Op, put string) (d *distinct, ok bool) {
	d = &distinct{ops: ops}
	at := map[string]int{}
	of := func(v string) *span {
		i, is := at[v]
		if !is {
			i = len(d.spans)
			at[v] = i
			d.spans = append(d.spans, span{-1, -1, never, never, never, never})
		}
		return &d.spans[i]
	}
	for i := range ops {
		op := &ops[i]
		a := op.Input.(Action)
		v, known := op.output().(string)
		switch {
		case a.F == put:
			s := of(a.Value)
			if s.put >= 0 {
				return nil, false
			}
			s.put, s.putCall, s.putRet = i, op.Call, op.until()
		case op.Maybe:
			d.unknown = append(d.unknown, i)
		case op.Output == Empty:
			d.empty = append(d.empty, i)
		case !known:
			return nil, false
		default:
			s := of(v)
			if s.take >= 0 {
				d.violated("repeat", s.put, s.take, i)
				continue
			}
			s.take, s.takeCall, s.takeRt = i, op.Call, op.Return
		}
	}
	for i := range d.spans {
		switch s := &d.spans[i]; {
		case s.put < 0:
			d.violated("fresh", s.take)
		case s.takeRt < s.putCall:
			d.violated("fresh", s.put, s.take)
		default: // its put precedes its take
			s.putRet = min(s.putRet, s.takeRt)
		}
	}
	return d, true
}

// violated records the first violation: operations that have no order. Negative indices are no operation.
func (d *distinct) violated(why string, core ...int) {
	if d.bad != nil {
		return
	}
	core = slices.DeleteFunc(slices.Clone(core), func(i int) bool { return i < 0 })
	slices.Sort(core)
	core = slices.Compact(core)
	slices.SortStableFunc(core, func(a, b int) int { return cmp.Compare(d.ops[a].Call, d.ops[b].Call) })
	d.bad = &Answer{Verdict: evidence.Violated, Core: core, Why: why}
}

// covered finds, for each operation that found nothing, an instant at which no value is surely in. If there is none, it
// records as a violation the values that cover the whole time of the operation.
func (d *distinct) covered() (free []int64) {
	sure := slices.DeleteFunc(slices.Clone(d.spans), func(s span) bool { return s.putRet >= s.takeCall })
	slices.SortFunc(sure, func(a, b span) int { return cmp.Compare(a.putRet, b.putRet) })
	last := make([]int, len(sure)) // of the spans up to here, the one that is taken out last
	for i := range sure {
		if last[i] = i; i > 0 && sure[last[i-1]].takeCall > sure[i].takeCall {
			last[i] = last[i-1]
		}
	}
	for _, e := range d.empty {
		at, core := d.ops[e].Call, []int{e}
		for at <= d.ops[e].Return {
			n, _ := slices.BinarySearchFunc(sure, at, func(s span, at int64) int { return cmp.Compare(s.putRet, at) })
			if n == 0 || sure[last[n-1]].takeCall <= at {
				break
			}
			s := &sure[last[n-1]]
			at, core = s.takeCall, append(core, s.put, s.take)
		}
		if at > d.ops[e].Return {
			d.violated("empty", core...)
			return nil
		}
		free = append(free, at)
	}
	return free
}
