package check

import (
	"testing"

	"isovet/evidence"
	"isovet/internal/test/histtest/notation"
	"isovet/level"
)

// The histories of errata §1 on which a checker that follows the letter of the Vbox paper errs.
func TestVboxErrata(t *testing.T) {
	const (
		ok = evidence.Holds
		no = evidence.Violated
	)
	for _, c := range []struct {
		name, h              string
		ser, session, strict evidence.Verdict
		skew                 int64
		strictSkewed         evidence.Verdict
	}{
		{name: "V1: an edge means must precede",
			h: "init=0: s1: w(x,1) @[0,1] | s2: r(x,1) @[2,3]", ser: ok, session: ok, strict: ok},
		{name: "V2: a reader that overwrites what it read is no loop",
			h: "init=0: s1: r(x,0) w(x,1) @[0,1]", ser: ok, session: ok, strict: ok},
		{name: "V2, between transactions",
			h: "init=0: s1: w(x,1) @[0,5] | s2: r(x,1) w(x,2) @[1,6]", ser: ok, session: ok, strict: ok},
		{name: "V4: the initial versions have an installer (write skew on them)",
			h: "init=0: s1: r(x,0) w(y,1) @[0,5] | s2: r(y,0) w(x,1) @[1,6]", ser: no, session: no, strict: no},
		{name: "V4, of keys that were never there",
			h: "s1: r(x,null) w(y,1) @[0,5] | s2: r(y,null) w(x,1) @[1,6]", ser: no, session: no, strict: no},
		{name: "V4, loaded by a transaction",
			h: "init: w(x,8) w(y,9) | s1: r(x,8) w(y,1) @[0,5] | s2: r(y,9) w(x,1) @[1,6]", ser: no, session: no,
			strict: no},
		{name: "V7: reader to overwriter, by time (stale read)",
			h: "init=0: s1: w(x,1) @[0,1] | s2: w(x,2) @[2,3] | s3: r(x,1) @[4,5]", ser: ok, session: ok, strict: no},
		{name: "V8: plain SI, serializable, not strictly",
			h: "init=0: s1: w(x,1) @[2,3] | s2: r(y,0) @[4,5] | s3: r(x,0) w(y,1) @[1,6]", ser: ok, session: ok,
			strict: no},
		{name: "V8: causal reverse",
			h: "init=0: s1: w(x,1) @[0,1] | s2: w(y,1) @[2,3] | s3: r(x,0) r(y,1) @[0,4]", ser: ok, session: ok,
			strict: no},
		{name: "V8: the same in one session",
			h: "init=0: s1: w(x,1) @[0,1] | s1: w(y,1) @[2,3] | s3: r(x,0) r(y,1) @[0,4]", ser: ok, session: no,
			strict: no},
		{name: "V9: a transaction of no length does not precede itself",
			h: "init=0: s1: r(x,0) w(x,1) @[5,5]", ser: ok, session: ok, strict: ok},
		{name: "V9: two at one instant do not precede each other",
			h: "init=0: s1: w(x,1) @[5,5] | s2: w(x,2) @[5,5] | s3: r(x,1) @[5,5]", ser: ok, session: ok, strict: ok},
		{name: "V9: touching intervals overlap",
			h: "init=0: s1: w(x,1) @[5,6] | s2: r(x,0) @[6,7]", ser: ok, session: ok, strict: ok},
		{name: "V9: a gap of one does not",
			h: "init=0: s1: w(x,1) @[5,6] | s2: r(x,0) @[7,8]", ser: ok, session: ok, strict: no, skew: 1,
			strictSkewed: ok},
		{name: "V9: the skew widens both, gap two",
			h: "init=0: s1: w(x,1) @[5,6] | s2: r(x,0) @[8,9]", ser: ok, session: ok, strict: no, skew: 1,
			strictSkewed: ok},
		{name: "V9: the skew widens both, gap three",
			h: "init=0: s1: w(x,1) @[5,6] | s2: r(x,0) @[9,10]", ser: ok, session: ok, strict: no, skew: 1,
			strictSkewed: no},
		{name: "V10: reads against time (skewed clocks)",
			h: "init=0: s1: w(x,1) @[10,11] | s2: r(x,1) @[1,2]", ser: ok, session: ok, strict: no, skew: 4,
			strictSkewed: ok},
		{name: "V10: reads in a circle",
			h: "init=0: s1: w(x,1) r(y,1) @[0,5] | s2: w(y,1) r(x,1) @[1,6]", ser: no, session: no, strict: no},
		{name: "V11: a transaction that reads against its own write",
			h: "init=0: s1: w(x,1) r(x,0) @[0,1]", ser: no, session: no, strict: no},
		{name: "V11: a transaction that reads its own later write",
			h: "init=0: s1: r(x,1) w(x,1) @[0,1]", ser: no, session: no, strict: no},
		{name: "V11: a read of one's own write that is not the last",
			h: "init=0: s1: w(x,1) r(x,1) w(x,2) @[0,1] | s2: r(x,2) @[3,4]", ser: ok, session: ok, strict: ok},
		{name: "V26: three-cycles count",
			h: "init=0: s1: r(x,0) r(y,2) | s2: w(x,1) w(y,1) | s3: w(y,2) r(x,1)", ser: no, session: no},
		{name: "V27: an unknown outcome that somebody saw",
			h: "init=0: s1: w(x,1) @[0,1] ? | s2: r(x,1) @[8,9] | s3: r(x,0) @[5,6]", ser: ok, session: ok, strict: ok},
		{name: "V27: an unknown outcome that nobody saw",
			h: "init=0: s1: w(x,1) @[0,1] ? | s2: r(x,0) @[8,9]", ser: ok, session: ok, strict: ok},
		{name: "two overlapping blind writers, read in both orders of time",
			h: "init=0: s1: w(x,1) @[0,9] | s2: w(x,2) @[1,8] | s3: r(x,1) @[10,11]", ser: ok, session: ok, strict: ok},
		{name: "two overlapping blind writers, read one after the other",
			h: "init=0: s1: w(x,1) @[0,9] | s2: w(x,2) @[1,8] | s3: r(x,1) @[10,11] | s4: r(x,2) @[12,13]", ser: ok,
			session: ok, strict: no},
	} {
		h := notation.MustParse(c.h)
		for l, want := range map[level.Level]evidence.Verdict{level.Serializable: c.ser,
			level.SessionSerializable: c.session, level.StrictSerializable: c.strict} {
			mustBe(t, h, Options{Level: l}, want)
		}
		if c.skew > 0 {
			mustBe(t, h, Options{Level: level.StrictSerializable, ClockSkew: c.skew}, c.strictSkewed)
		}
		if t.Failed() {
			t.Fatal(c.name)
		}
	}
}
