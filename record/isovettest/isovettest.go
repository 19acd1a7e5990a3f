// Package isovettest lets go test check a recording of package record. If the database broke its promise, the test
// fails, explains the violation in words, and writes the smallest history that shows it, with its proof and a page.
//
//	func TestTransfers(t *testing.T) {
//		rec := isovettest.Recorder(t, record.Options{})
//		… // your program, on your database, records what its clients see
//		isovettest.Check(t, rec, level.Serializable)
//	}
//
// Artifacts go to t.ArtifactDir with go test -artifacts, to the folder that ISOVET_ARTIFACTS names, or else to a new
// temporary folder, which the failing test names and which is not removed:
//
//   - small.jsonl: the smallest history found that still violates the level (package shrink), for a bug report
//   - small.cert: its proof; isovet verify small.cert small.jsonl checks it
//   - small.html: a page that draws the violation and needs no other file
//   - whole.jsonl: the whole recording
//
// Stable: this package's API changes only with a new major version.
package isovettest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"isovet/check"
	_ "isovet/check/papers" // a checker may be named
	"isovet/check/shrink"
	"isovet/evidence"
	"isovet/history"
	"isovet/history/format/jsonl"
	"isovet/internal/plural"
	"isovet/level"
	"isovet/record"
)

// Options are the options of a check. The zero value checks serializability with the checker that suits the history.
type Options struct {
	// Level is the level that the database promises. No other option sets it.
	Level level.Level
	// Checker and Solver are names that isovet checkers and isovet solvers list. "" lets isovet choose.
	Checker, Solver string
	// Timeout bounds the check; after it the verdict is unknown. 0 means the time of the test or the context.
	Timeout time.Duration
	// Shrink bounds the time for finding a smaller history with the violation; 0 means 20 s, negative none.
	Shrink time.Duration
	// Further are further options of the checker. Their Level and Solver are replaced by those of these options.
	Further check.Options
	// AllowUnknown lets a test pass if the verdict is unknown, which is logged. Without it the test fails, since
	// nothing was shown.
	AllowUnknown bool
	// Initial sets the values that keys had before the recording; nil means the recorded ones.
	// format.InitialValue("stock=7").Apply does the same as check's --initial.
	Initial func(*history.History) error
	// Names keeps original values and times in the smallest history. Without it, only keys keep their names.
	Names bool
	// Seed is the seed of the run's random choices, for the message; 0 means the recorder's.
	Seed uint64
}

// Run checks a history at o.Level and certifies the answer, like isovet check. If no checker decides it, or not in
// time, or nothing in it was committed or read, the verdict is unknown, with the reason. Errors are wrong input or a
// fault of isovet.
func Run(ctx context.Context, h *history.History, o Options) (*evidence.Result, error) {
	if o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.Timeout)
		defer cancel()
	}
	name := cmp.Or(o.Checker, check.AutoName)
	c, why := check.Choose(name, o.Solver, h, o.Level)
	if c == nil {
		return &evidence.Result{Level: o.Level, Checker: name, Reason: why, H: h}, nil
	}
	how := o.Further
	how.Level, how.Solver = o.Level, o.Solver
	run := check.Run
	if name == check.AutoName && o.Solver == "" {
		run = check.Decide
	}
	r, err := run(ctx, c, h, how)
	if err == nil {
		r.Weigh()
	}
	return r, err
}

// Seed returns a seed for the test's random choices and logs it: a new one or, to repeat a failing test, that in
// ISOVET_SEED.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := rand.Uint64N(1<<53-1) + 1
	if s := os.Getenv("ISOVET_SEED"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatalf("isovettest: ISOVET_SEED=%s; expected a number", s)
		}
		seed = n
	}
	t.Logf("isovettest: seed %d", seed)
	return seed
}

// Recorder returns a recorder in memory. If an operation cannot be recorded, the test fails at that call.
func Recorder(t testing.TB, o record.Options) *record.Recorder {
	t.Helper()
	o.Meta.Name = cmp.Or(o.Meta.Name, t.Name())
	before := o.OnError
	o.OnError = func(err error) {
		t.Errorf("isovettest: %v", err)
		if before != nil {
			before(err)
		}
	}
	return record.New(o)
}

// Check ends the recording and fails the test if it violates the level, or if the verdict is unknown.
func Check(t testing.TB, rec *record.Recorder, l level.Level) {
	t.Helper()
	CheckWith(t, rec, Options{Level: l})
}

// CheckWith is Check with further options.
func CheckWith(t testing.TB, rec *record.Recorder, o Options) {
	t.Helper()
	h, err := recorded(rec)
	if err != nil {
		t.Errorf("isovettest: %v", err)
		return
	}
	o.Seed = cmp.Or(o.Seed, rec.Seed())
	CheckHistory(t, h, o)
}

// recorded returns a recorder's history. If it streams to a file, recorded reads the file.
func recorded(rec *record.Recorder) (*history.History, error) {
	if rec.Path() == "" {
		return rec.History()
	}
	if err := rec.Close(); err != nil {
		return nil, err
	}
	b, err := os.ReadFile(rec.Path())
	if err != nil {
		return nil, err
	}
	return jsonl.ReadPartial(context.Background(), b, rec.Path(), 1)
}

// CheckHistory is CheckWith for a history from any source.
func CheckHistory(t testing.TB, h *history.History, o Options) {
	t.Helper()
	ctx := context.Background()
	if x, ok := t.(interface{ Context() context.Context }); ok {
		ctx = x.Context()
	}
	if x, ok := t.(interface{ Deadline() (time.Time, bool) }); ok && o.Timeout == 0 {
		if end, ok := x.Deadline(); ok {
			o.Timeout = max(time.Until(end)*3/4, time.Second)
		}
	}
	if committed(h) == 0 {
		t.Errorf("isovettest: no committed transaction was recorded, which shows nothing%s", seed(o))
		return
	}
	if o.Initial != nil {
		if err := o.Initial(h); err != nil {
			t.Errorf("isovettest: Options.Initial: %v", err)
			return
		}
	}
	r, err := Run(ctx, h, o)
	switch {
	case err != nil:
		t.Errorf("isovettest: %v%s", err, seed(o))
	case r.Verdict == evidence.Violated:
		failed(ctx, t, r, o)
	case r.Verdict == evidence.Unknown && o.AllowUnknown:
		t.Logf("isovettest: whether the database kept %s is unknown: %s%s", o.Level, r.Reason, seed(o))
	case r.Verdict == evidence.Unknown:
		t.Errorf("isovettest: whether the database kept %s is unknown: %s%s", o.Level, r.Reason, seed(o))
	default:
		t.Logf("isovettest: %s %s", plural.Phrase(h.NumTxns(), "transaction is", "transactions are"), o.Level)
	}
}

func committed(h *history.History) (n int) {
	for i, s := range h.Txns.Status {
		if s == history.Committed && uint32(i) != h.Init {
			n++
		}
	}
	return n
}

// seed returns the end of a message: how to repeat the run.
func seed(o Options) string {
	if o.Seed == 0 {
		return ""
	}
	return fmt.Sprintf("\nseed %d: ISOVET_SEED=%d go test … runs it again", o.Seed, o.Seed)
}

// smallest returns the smallest violation found in the time for shrinking, and a note if it may not be the smallest.
func smallest(ctx context.Context, r *evidence.Result, o Options) (*evidence.Result, string) {
	if o.Shrink < 0 {
		return r, ""
	}
	o.Shrink = cmp.Or(o.Shrink, 20*time.Second)
	ctx, cancel := context.WithTimeout(ctx, o.Shrink)
	defer cancel()
	names := shrink.Numbered
	if o.Names {
		names = shrink.Original
	}
	s, err := shrink.History(ctx, r.H, o.Level, shrink.Options{Checker: o.Checker, Solver: o.Solver, Check: o.Further,
		First: r, Names: names})
	switch {
	case err != nil:
		return r, fmt.Sprintf(" (it could not be made smaller: %v)", err)
	case errors.Is(s.Ended, context.DeadlineExceeded):
		return s.Answer, fmt.Sprintf(" (the smallest found in %v)", o.Shrink)
	}
	return s.Answer, ""
}
