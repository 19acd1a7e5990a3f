package mechanism

import (
	"cmp"
	"slices"

	"isovet/internal/bounds"
	"isovet/internal/slice"
	"isovet/internal/sorts"
)

// A transaction is late if transactions that ended after it have been dispatched before it arrives. It is not verified,
// and must not make others look wrong. So its versions are installed like those of a transaction of unknown outcome:
// they can be read, and nothing is deduced from them. And a read of a value without a known writer waits
// (Options.Late), since the writer may be late. If the writer arrives in time, the read is a violation, for its
// snapshot could not see the write. If the writer is late, the read is not judged. If it never arrives, the read is a
// violation in the end.

// suspects are possible violations that wait for a writer.
type suspects struct {
	of map[wanted][]suspect
	n  int
	// Unjudged are reads of late transactions' writes, since the last call of Take.
	unjudged  []Unjudged
	reporting bool          `freeze:"as=doubting"` // the caller takes reports of waiting reads (suspect_reports.go)
	reports   []SuspectRead `freeze:"-"`           // since the last call of TakeSuspects
}

type wanted struct {
	val uint64
	key uint32
}

type suspect struct {
	stage uint64
	at    uint32
	x     Violation
}

// maxSuspects bounds the reads that wait; more are not judged.
var maxSuspects = 1 << 16

// Unjudged is a read that was not verified because its writer came late; it names transactions as their traces do.
type Unjudged struct {
	Reader, Writer uint64
	Key, Op        uint32
	None           bool // no writer is known: too many reads were waiting
}

func (v *Verifier) suspect(x Violation, at uint32) {
	s := &v.suspects
	if s.n >= maxSuspects {
		s.unjudged = append(s.unjudged, Unjudged{Reader: x.Txns[0], Key: x.Key, Op: x.Ops[0], None: true})
		return
	}
	slice.MakeMap(&s.of)
	w := wanted{x.Val, x.Key}
	is := suspect{v.stage, at, x}
	s.of[w] = append(s.of[w], is)
	s.n++
	if s.reporting {
		s.reports = append(s.reports, is.report())
	}
}

// appeared settles the reads that waited for a value which a transaction has written in time.
func (v *Verifier) appeared(key uint32, val uint64, writer uint64) {
	if v.suspects.n == 0 {
		return
	}
	for _, s := range v.settled(key, val) {
		s.x.Uninstalled = []uint64{writer}
		v.resolved(&s, true, writer)
		v.violation(s.x)
	}
}

func (v *Verifier) settled(key uint32, val uint64) []suspect {
	w := wanted{val, key}
	out := v.suspects.of[w]
	if len(out) > 0 {
		delete(v.suspects.of, w)
		v.suspects.n -= len(out)
	}
	return out
}

// convict ends all waits: nobody wrote these values.
func (v *Verifier) convict() { v.convictFirst(v.stage + 1) }

// convictFirst ends the waits that began before a stage.
func (v *Verifier) convictFirst(n uint64) {
	v.stage++
	if v.suspects.n == 0 {
		return
	}
	var all []suspect
	for w, ss := range v.suspects.of {
		left := slices.DeleteFunc(ss, func(s suspect) bool {
			if s.stage < n {
				all = append(all, s)
			}
			return s.stage < n
		})
		if v.suspects.of[w] = left; len(left) == 0 {
			delete(v.suspects.of, w)
		}
	}
	v.suspects.n -= len(all)
	sorts.Func(all, func(a, b suspect) int { return cmp.Or(cmp.Compare(a.stage, b.stage), cmp.Compare(a.at, b.at)) })
	for _, s := range all {
		v.resolved(&s, !v.lost, none)
		if !v.lost {
			v.violation(s.x)
		}
	}
}

// Late takes a whole transaction, with begin and end, that came too late to be verified: another one with a later end
// has been dispatched.
func (v *Verifier) Late(traces []Trace) {
	v.number++
	end := &traces[len(traces)-1]
	traces = traces[1 : len(traces)-1]
	v.stage++
	for i := range traces {
		op := &traces[i]
		if op.Kind != Write {
			continue
		}
		k := v.key(op.Key)
		k.wrote, k.wroteAt = v.number, int32(i)
		for _, s := range v.settled(op.Key, op.Val) {
			v.resolved(&s, false, end.Txn())
			v.suspects.unjudged = append(v.suspects.unjudged,
				Unjudged{Reader: s.x.Txns[0], Writer: end.Txn(), Key: op.Key, Op: s.x.Ops[0]})
		}
	}
	v.stage++
	for i := range traces {
		op := &traces[i]
		if op.Kind != Write {
			continue
		}
		k := v.key(op.Key)
		if k.wroteAt != int32(i) || end.Kind == Abort {
			v.buryUninstalled(k, op, end.Txn())
			continue
		}
		d := int64(Forever)
		if end.Kind == Commit {
			d = later(end.Aft, v.o.Skew)
		}
		k.install(&version{c: earlier(end.Bef, v.o.Skew), d: d, acqBef: -Forever, acqAft: Forever, snapBef: -Forever,
			snapAft: Forever, val: op.Val, txn: none, succ: none, id: end.Txn(), op: op.Op, readers: -1, open: true})
		v.versions++
		v.pruneVersions(k)
		v.dropOpen(k)
	}
}

// Advance says that no trace before t will come any more, except of late transactions, and verifies what waited for
// that moment.
func (v *Verifier) Advance(t int64) {
	v.now = max(v.now, earlier(t, v.o.Skew))
	if v.head < len(v.queue) {
		v.verify(v.now)
	}
}

// Take returns the findings since its last call.
func (v *Verifier) Take() ([]Violation, []Unjudged) {
	vs, us := v.r.Violations, v.suspects.unjudged
	v.r.Violations, v.suspects.unjudged = nil, nil
	return vs, us
}

// init lets the tests lower these bounds.
func init() {
	bounds.Register("mechanism.maxSuspects", &maxSuspects)
}
