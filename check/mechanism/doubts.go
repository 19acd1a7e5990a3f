package mechanism

import (
	"cmp"

	"isovet/internal/sorts"
)

// A read of what nobody wrote who has come waits for a writer that may come late (late.go). Who watches a stream may be
// told of it when the wait begins, and when it ends, each once. Nothing else that is found can be overturned by what
// comes late: it is certain of the transactions that it names, whoever else comes.

// Doubt is a read that waits for a writer, or waited; transactions by what their traces say.
type Doubt struct {
	Reader    uint64
	Key, Op   uint32
	Settled   bool   // it waits no longer
	Confirmed bool   // it is a violation; else its writer came late
	Writer    uint64 // once settled: who wrote it; NoTxn: nobody

	// the read, by the pass in which the wait began and its place in it
	stage uint64
	at    uint32
}

// NoTxn is no transaction.
const NoTxn = none

// Doubting has doubts be told; who calls it calls TakeDoubts too.
func (x *Online) Doubting() { x.v.suspects.doubting = true }

// TakeDoubts hands over what was told of doubts since it was last called. It is valid until more is told.
func (x *Online) TakeDoubts() []Doubt {
	all := x.v.suspects.doubts
	x.v.suspects.doubts = all[:0]
	return all
}

// Doubts lists reads that wait for a writer, those that have waited longest.
//
// Cost: all that wait.
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

// doubt is what is known of a suspect.
func (s *suspect) doubt() Doubt {
	return Doubt{Reader: s.x.Txns[0], Key: s.x.Key, Op: s.x.Ops[0], Writer: none, stage: s.stage, at: s.at}
}

// doubted tells that a read waits.
func (v *Verifier) doubted(s *suspect) {
	if v.suspects.doubting {
		v.suspects.doubts = append(v.suspects.doubts, s.doubt())
	}
}

// resolved tells that one waits no longer.
func (v *Verifier) resolved(s *suspect, isViolation bool, writer uint64) {
	if !v.suspects.doubting {
		return
	}
	d := s.doubt()
	d.Settled, d.Confirmed, d.Writer = true, isViolation, writer
	v.suspects.doubts = append(v.suspects.doubts, d)
}
