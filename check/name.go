package check

import (
	"sync/atomic"

	"isovet/certify"
	"isovet/check/run"
	"isovet/evidence"
)

// certified is named for an answer that is to be given, and counts.
func certified(r *evidence.Result, how certify.Options) error {
	wrong, err := run.Named(r, how)
	proofs.Add(int64(len(r.Anomalies)))
	misnamed.Add(wrong)
	return err
}

// proofs counts the proofs of violations that were certified, and misnamed those whose hint was wrong. Package
// evidence names a proof by its shape; certify replays it at each level that forbids the name, which may fail where
// versions have several writers. That must stay rare, as the tests demand.
var proofs, misnamed atomic.Int64

// disagreements counts the answers that the kernel refuses. There must be none that package certify accepts, as the
// tests demand.
var disagreements atomic.Int64
