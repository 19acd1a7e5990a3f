package mechanism

import (
	"cmp"

	"isovet/internal/sorts"
)

// A read of a value without a known writer waits, since the writer may come late (suspects.go). The caller may ask for
// a report when such a wait begins and when it ends, each once. No other finding can be overturned by a late
// transaction: it is certain of the transactions that it names.

// SuspectRead reports that a read waits for a writer, or waits no longer. It names transactions as their traces do.
type SuspectRead struct {
	Reader    uint64
	Key, Op   uint32
	Settled   bool   // the wait is over
	Confirmed bool   // it is a violation; else its writer came late
	Writer    uint64 // once settled: the writer of the value, or NoTxn

	// The read is named by the pass in which its wait began, and by its place in that pass.
	stage uint64
	at    uint32
}

// NoTxn means that there is no transaction.
const NoTxn = none

// ReportSuspects turns on the reports of waiting reads; the caller then calls TakeSuspects too.
func (x *Online) ReportSuspects() { x.v.suspects.reporting = true }

// TakeSuspects returns the reports since its last call. They are valid until the next report.
func (x *Online) TakeSuspects() []SuspectRead {
	all := x.v.suspects.reports
	x.v.suspects.reports = all[:0]
	return all
}

// Suspects lists the reads that wait for a writer, longest wait first.
//
// Cost: all waiting reads.
func (x *Online) Suspects(most int) (all []SuspectRead) {
	for _, ss := range x.v.suspects.of {
		for i := range ss {
			all = append(all, ss[i].report())
		}
	}
	sorts.Func(all, func(a, b SuspectRead) int {
		return cmp.Or(cmp.Compare(a.stage, b.stage), cmp.Compare(a.at, b.at), cmp.Compare(a.Reader, b.Reader),
			cmp.Compare(a.Op, b.Op))
	})
	return all[:min(most, len(all))]
}

func (s *suspect) report() SuspectRead {
	return SuspectRead{Reader: s.x.Txns[0], Key: s.x.Key, Op: s.x.Ops[0], Writer: none, stage: s.stage, at: s.at}
}

// resolved reports that a read waits no longer.
func (v *Verifier) resolved(s *suspect, isViolation bool, writer uint64) {
	if !v.suspects.reporting {
		return
	}
	d := s.report()
	d.Settled, d.Confirmed, d.Writer = true, isViolation, writer
	v.suspects.reports = append(v.suspects.reports, d)
}
