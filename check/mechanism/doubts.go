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

	// when, and since when it waits, for who has the doubts of several verifiers
	stage, since uint64
	at, place    uint32
}

// NoTxn is no transaction.
const NoTxn = none

// Doubting has doubts be told; who calls it calls TakeDoubts too.
func (x *Online) Doubting() {
	for v := range x.all {
		v.suspects.doubting = true
	}
}

// TakeDoubts hands over what was told of doubts since it was last called. Nobody works.
func (x *Online) TakeDoubts() (all []Doubt) {
	for v := range x.all {
		all = append(all, v.suspects.doubts...)
		v.suspects.doubts = v.suspects.doubts[:0]
	}
	if x.team != nil {
		sorts.Func(all, compareDoubts)
	}
	return all
}

// Doubts lists reads that wait for a writer, those that have waited longest. Nobody works.
//
// Cost: all that wait.
func (x *Online) Doubts(most int) (all []Doubt) {
	for v := range x.all {
		for _, ss := range v.suspects.of {
			for i := range ss {
				all = append(all, ss[i].doubt(ss[i].stage, ss[i].at))
			}
		}
	}
	sorts.Func(all, compareDoubts)
	return all[:min(most, len(all))]
}

func compareDoubts(a, b Doubt) int {
	return cmp.Or(cmp.Compare(a.stage, b.stage), cmp.Compare(a.at, b.at), cmp.Compare(a.since, b.since),
		cmp.Compare(a.place, b.place), cmp.Compare(a.Reader, b.Reader), cmp.Compare(a.Op, b.Op))
}

// doubt is what is told of a suspect at a step, at a place among its operations.
func (s *suspect) doubt(stage uint64, at uint32) Doubt {
	return Doubt{Reader: s.x.Txns[0], Key: s.x.Key, Op: s.x.Ops[0], Writer: none, stage: stage, at: at, since: s.stage,
		place: s.at}
}

// doubted tells that a read waits.
func (v *Verifier) doubted(s *suspect) {
	if v.suspects.doubting {
		v.suspects.doubts = append(v.suspects.doubts, s.doubt(s.stage, s.at))
	}
}

// place is where among the operations one that is one of several verifiers is.
func (v *Verifier) place() uint32 {
	if v.part == nil {
		return 0
	}
	return v.part.at
}

// resolved tells that one waits no longer.
func (v *Verifier) resolved(s *suspect, at uint32, isViolation bool, writer uint64) {
	if !v.suspects.doubting {
		return
	}
	d := s.doubt(v.stage, at)
	d.Settled, d.Confirmed, d.Writer = true, isViolation, writer
	v.suspects.doubts = append(v.suspects.doubts, d)
}
