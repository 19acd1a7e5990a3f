package mechanism

import (
	"cmp"

	"isovet/internal/sorts"
)

// A read of a value without a known writer waits, since the writer may come late (late.go). The caller may ask for a
// report when such a wait begins and when it ends, each once. No other finding can be overturned by a late transaction:
// it is certain of the transactions that it names.

// Doubt is a read that waits for a writer, or waited; it names transactions as their traces do.
type Doubt struct {
	Reader    uint64
	Key, Op   uint32
	Settled   bool   // the wait is over
	Confirmed bool   // it is a violation; else its writer came late
	Writer    uint64 // once settled: the writer of the value; NoTxn: nobody

	// The read is named by the pass in which its wait began, and by its place in that pass.
	stage uint64
	at    uint32
}

// NoTxn stands for no transaction.
const NoTxn = none

// Doubting turns on the reports of waiting reads; the caller then calls TakeDoubts too.
func (x *Online) Doubting() { x.v.suspects.doubting = true }

// TakeDoubts returns the reports since its last call. They are valid until the next report.
func (x *Online) TakeDoubts() []Doubt {
	all := x.v.suspects.doubts
	x.v.suspects.doubts = all[:0]
	return all
}

// Doubts lists reads that wait for a writer, longest wait first.
//
// Cost: all waiting reads.
func (x *Online) Doubts(most int) (all []Doubt) {
	for _, ss := range x.v.suspects.of {
		for i := range ss {
			all = append(all, ss[i].doubt())
		}
	}
	sorts.Func(all, func(a, b Doubt) int {
		return cmp.Or(cmp.Compare(a.stage, b.stage), cmp.Compare(a.at, b.at), cmp.Compare(a.Reader, b.Reader),
			cmp.Compare(a.Op, b.Op))
	})
	return all[:min(most, len(all))]
}

// doubt returns the report of a suspect.
func (s *suspect) doubt() Doubt {
	return Doubt{Reader: s.x.Txns[0], Key: s.x.Key, Op: s.x.Ops[0], Writer: none, stage: s.stage, at: s.at}
}

// doubted reports that a read waits.
func (v *Verifier) doubted(s *suspect) {
	if v.suspects.doubting {
		v.suspects.doubts = append(v.suspects.doubts, s.doubt())
	}
}

// resolved reports that a read waits no longer.
func (v *Verifier) resolved(s *suspect, isViolation bool, writer uint64) {
	if !v.suspects.doubting {
		return
	}
	d := s.doubt()
	d.Settled, d.Confirmed, d.Writer = true, isViolation, writer
	v.suspects.doubts = append(v.suspects.doubts, d)
}
