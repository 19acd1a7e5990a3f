package check

import (
	"sync/atomic"

	"isovet/certify"
	"isovet/evidence"
)

// certified is named for an answer that is to be given, and counts.
func certified(r *evidence.Result, how certify.Options) error {
	wrong, err := named(r, how)
	proofs.Add(int64(len(r.Anomalies)))
	misnamed.Add(wrong)
	return err
}

// named certifies an answer and gives each proof by cycles its name: what certify says that its cycles show. What
// producers called it before is a hint, for questions that cannot wait: which anomalies are one divergence, whether a
// level that asks for fewer orders is worth a try. It returns how many hints were wrong, but for the orders that the
// proof needs.
func named(r *evidence.Result, how certify.Options) (wrong int64, err error) {
	names, err := certify.Names(r, how)
	if err != nil {
		return 0, err
	}
	for i, kind := range names {
		a := &r.Anomalies[i]
		if kind == a.Kind {
			continue
		}
		if a.Kind.Base() != kind.Base() {
			wrong++
		}
		a.Kind = kind
		a.Text = evidence.Describe(a, r.H)
	}
	return wrong, nil
}

// proofs counts the proofs of violations that were certified, and misnamed those whose hint was wrong. Package
// evidence names a proof by its shape; certify replays it at each level that forbids the name, which may fail where
// versions have several writers. That must stay rare, as the tests demand.
var proofs, misnamed atomic.Int64

// disagreements counts the answers that the kernel refuses. There must be none that package certify accepts, as the
// tests demand.
var disagreements atomic.Int64
