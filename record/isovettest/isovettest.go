// Package isovettest has go test check what package record has recorded: a test in which the database broke its promise
// fails, says why in words, and leaves the smallest history that shows it, with its proof and a page.
//
//	func TestTransfers(t *testing.T) {
//		rec := isovettest.Recorder(t, record.Options{})
//		… // your program, on your database, records what its clients see
//		isovettest.Check(t, rec, level.Serializable)
//	}
//
// Artifacts go to t.ArtifactDir with go test -artifacts, to the folder that ISOVET_ARTIFACTS names, or else to a new
// folder for temporary files, which the failing test names and which stays:
//
//   - small.jsonl: the smallest history found that still violates the level (package shrink), for a bug report
//   - small.cert: its proof; isovet verify small.cert small.jsonl checks it
//   - small.html: the violation drawn, on a page that stands alone
//   - whole.jsonl: all that was recorded
//
// Stable: this package's API changes only with a new major version.
package isovettest

import (
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

// Options of a check. The zero value asks for serializability, of the checker that suits the history.
type Options struct {
	// Level is the promise, said once: nothing else of the options decides it.
	Level level.Level
	// Checker and Solver are names that isovet checkers and isovet solvers list; "": chosen.
	Checker, Solver string
	// Timeout is how long the check may take; 0: as long as the test, or the context. The answer is unknown then.
	Timeout time.Duration
	// Shrink is how long a violation may be made smaller; 0: 20 s; negative: not at all.
	Shrink time.Duration
	// Further are a checker's further choices; Level and Solver of it are set from these options.
	Further check.Options
	// AllowUnknown lets a test pass whose answer is unknown; it is logged. Without it the test fails: nothing has been
	// shown.
	AllowUnknown bool
	// Initial gives the history's keys what they held before the recording; nil: what was recorded.
	// format.InitialValue("stock=7").Apply does what check's --initial does.
	Initial func(*history.History) error
	// Names keeps values and times in the smallest history as they are, not only keys.
	Names bool
	// Seed is what the run's random choices came from, for the message; 0: the recorder's.
	Seed uint64
}

// Run decides a history at o.Level, and certifies the answer, as isovet check does. A history that nothing decides, or
// not in time, is an unknown verdict with its reason, and so is one that shows nothing, because nothing was committed
// or nothing read; errors are bad input or a fault of isovet's.
func Run(ctx context.Context, h *history.History, o Options) (*evidence.Result, error) {
	if o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.Timeout)
		defer cancel()
	}
	name := o.Checker
	if name == "" {
		name = check.AutoName
	}
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

// Seed is a new seed for the test's random choices, or the one that ISOVET_SEED says, to run a failing test again. It
// is logged.
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

// Recorder returns a recorder in memory that fails the test, at the call, over what it cannot record.
func Recorder(t testing.TB, o record.Options) *record.Recorder {
	t.Helper()
	if o.Meta.Name == "" {
		o.Meta.Name = t.Name()
	}
	before := o.OnError
	o.OnError = func(err error) {
		t.Errorf("isovettest: %v", err)
		if before != nil {
			before(err)
		}
	}
	return record.New(o)
}

// Check fails the test if what was recorded violates the level, or if that cannot be told. It ends the recording.
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
	if o.Seed == 0 {
		o.Seed = rec.Seed()
	}
	CheckHistory(t, h, o)
}

// recorded is the history of a recorder, from its file where it streams to one.
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

// CheckHistory is CheckWith for a history from anywhere.
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

// seed is the end of a message.
func seed(o Options) string {
	if o.Seed == 0 {
		return ""
	}
	return fmt.Sprintf("\nseed %d: ISOVET_SEED=%d go test … runs it again", o.Seed, o.Seed)
}

// smallest is the smallest violation found in that time, and what keeps it from being smaller.
func smallest(ctx context.Context, r *evidence.Result, o Options) (*evidence.Result, string) {
	if o.Shrink < 0 {
		return r, ""
	}
	if o.Shrink == 0 {
		o.Shrink = 20 * time.Second
	}
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
