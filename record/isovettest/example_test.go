package isovettest_test

import (
	"context"
	"fmt"
	"testing"

	"isovet/level"
	"isovet/record"
	"isovet/record/isovettest"
)

// In a test, Check is all that it takes; docs/recording.md has one that fails.
func ExampleCheck() {
	_ = func(t *testing.T) {
		rec := isovettest.Recorder(t, record.Options{Seed: isovettest.Seed(t)})
		tx := rec.Session().Begin("deposit")
		_ = tx.Write("alice", 1) // beside the write itself
		_ = tx.Commit(func() error { return nil })
		isovettest.Check(t, rec, level.Serializable)
	}
	// Output:
}

// Without a test: the level is said once.
func ExampleRun() {
	rec := record.New(record.Options{})
	for i := range 2 {
		tx := rec.Session().Begin("")
		_ = tx.Read("x", nil)
		_ = tx.Write("x", i)
		_ = tx.Commit(nil)
	}
	h, err := rec.History()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, l := range []level.Level{level.SnapshotIsolation, level.ReadCommitted} {
		r, err := isovettest.Run(context.Background(), h, isovettest.Options{Level: l})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(r.Level, r.Verdict)
	}
	// Output:
	// snapshot-isolation violation
	// read-committed valid
}
