package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"isovet/check"
	"isovet/history"
	"isovet/internal/guard"
	"isovet/internal/test/must"
)

func TestStatusOfErrors(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{Status(2), 2},
		{Usagef("x"), 254},
		{&history.InputError{Msg: "x"}, 254},
		{fmt.Errorf("wrapped: %w", &check.Fault{Checker: "x", Err: errors.New("y")}), 255},
		{Faultf("x"), 255},
		{guard.ErrInterrupted, 130},
		{errors.New("whatever else"), 254},
	} {
		must.Equal(t, StatusOf(c.err), c.want, "statusOf(%v)", c.err)
	}
}

// TestWorst: with several histories 255, 254, 1, 2, 0 is the order (docs/output.md).
func TestWorst(t *testing.T) {
	order := []int{0, 2, 1, 254, 255, 130}
	for i, a := range order {
		for j, b := range order {
			must.Equal(t, Worse(a, b), order[max(i, j)], "worse(%d, %d)", a, b)
		}
	}
}

func text(s string) func() string { return func() string { return s } }

func TestGuardTurnsPanicsIntoFaults(t *testing.T) {
	_, err := guard.Run(context.Background(), guard.Limits{}, text("testing"), func(context.Context) (int,
		error) {
		panic("boom")
	})
	if StatusOf(err) != StatusFault || !strings.Contains(err.Error(), "boom") {
		t.Fatalf("%v has status %d", err, StatusOf(err))
	}
}

// TestGuardLeavesTheDeafBehind: work that does not look at its context cannot hold up the answer, for longer than the
// grace.
func TestGuardLeavesTheDeafBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		start := time.Now() // of a clock that goes on while all wait
		guard.LeftBehind.Store(false)
		Cleaned(make(chan struct{})) // of work that never began
		_, err := guard.Run(context.Background(), guard.Limits{Timeout: 10 * time.Millisecond}, text("testing"),
			func(context.Context) (int, error) {
				<-release
				return 1, nil
			})
		var s *guard.StoppedError
		if !errors.As(err, &s) || !errors.Is(err, guard.ErrTimeout) || s.Text != "timeout: 10ms passed while testing" {
			t.Fatalf("got %v", err)
		}
		must.Same(t, time.Since(start), 10*time.Millisecond+guard.Grace, "time taken")
	})
}

func TestGuardMemory(t *testing.T) {
	hold := [][]byte{}
	_, err := guard.Run(context.Background(), guard.Limits{Memory: 64 << 20}, text("testing"),
		func(ctx context.Context) (int,
			error) {
			for ctx.Err() == nil {
				if len(hold) < 256 {
					b := make([]byte, 1<<20)
					for i := range b {
						b[i] = 1
					}
					hold = append(hold, b)
				}
				time.Sleep(100 * time.Microsecond)
			}
			return 0, context.Cause(ctx)
		})
	if !errors.Is(err, guard.ErrMemory) {
		t.Fatalf("got %v after %d MB", err, len(hold))
	}
}

func TestGuardKeepsAnswersGivenInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, err := guard.Run(context.Background(), guard.Limits{Timeout: 5 * time.Millisecond}, text("testing"),
			func(ctx context.Context) (int, error) {
				<-ctx.Done()
				time.Sleep(guard.Grace / 2)
				return 7, nil // an unknown verdict with what was known by then
			})
		if v != 7 || err != nil {
			t.Fatalf("got %d, %v", v, err)
		}
	})
}

func TestSizes(t *testing.T) {
	for s, want := range map[string]int64{"1": 1, "512MB": 512e6, "2GiB": 2 << 30, "2g": 2 << 30, "1.5 kB": 1500,
		"10K": 10240, "7B": 7} {
		var n int64
		if err := (SizeValue{&n}).Set(s); err != nil || n != want {
			t.Errorf("%q = %d, %v; want %d", s, n, err, want)
		}
	}
	for _, s := range []string{"", "0", "-1", "x", "1XB", "1e30", "NaN", "Inf"} {
		var n int64
		if err := (SizeValue{&n}).Set(s); err == nil {
			t.Errorf("%q is %d; want an error", s, n)
		}
	}
}

// TestNoBarWithoutTerminal: neither a buffer nor a file is a terminal, and the log line is the only thing said.
func TestNoBarWithoutTerminal(t *testing.T) {
	f := must.Get(os.Create(t.TempDir() + "/log"))(t)
	defer f.Close()
	for _, w := range []io.Writer{&bytes.Buffer{}, f} {
		if Interactive(w, func(string) string { return "" }) {
			t.Errorf("%T is taken for a terminal", w)
		}
	}
	var b bytes.Buffer
	p := NewProgress(&b, false, false)
	p.Begin("x")
	p.Step("y", 1, 2)
	p.Hide()
	p.Close()
	if b.Len() > 0 {
		t.Errorf("said %q", b.String())
	}
	var none *Progress // --quiet
	none.Begin("x")
	none.Step("y", 1, 2)
	none.Hide()
	none.Close()
}

// TestWholeOrNotAtAll: a file that cannot be finished is not there, nor is its temporary one.
func TestWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	e := &Env{Stdout: io.Discard}
	err := e.WriteFile(dir+"/x", func(w io.Writer) error {
		if _, err := io.WriteString(w, "half"); err != nil {
			return err
		}
		return errors.New("no more")
	})
	if err == nil {
		t.Fatal("no error")
	}
	in, err := os.ReadDir(dir)
	if err != nil || len(in) > 0 {
		t.Fatalf("left behind: %v, %v", in, err)
	}
}

// TestNumbered: one file a history.
func TestNumbered(t *testing.T) {
	for _, c := range []struct {
		path string
		i, n int
		want string
	}{{"a.html", 0, 1, "a.html"}, {"a.html", 1, 3, "a-2.html"}, {"dir.d/a", 0, 2, "dir.d/a-1"}, {"-", 1, 2, "-"}} {
		must.Equal(t, Numbered(c.path, c.i, c.n), c.want, "numbered(%q, %d, %d)", c.path, c.i, c.n)
	}
}

// TestProgressNarrow: on a narrow terminal the name is shortened, and the bar, the rate and the time are whole.
func TestProgressNarrow(t *testing.T) {
	now := time.Now()
	p := &Progress{W: io.Discard, Start: now.Add(-90 * time.Second)}
	p.Begin("checking " + strings.Repeat("folder/", 9) + "h.jsonl")
	p.Step("running", 0, 1000)
	p.Step("running", 250, 1000)
	p.Began = now.Add(-2 * time.Second)
	for _, columns := range []int{0, 200, 120, 100, 80} {
		got := p.within(columns, now)
		n := len([]rune(got))
		const whole = "running █████░░░░░░░░░░░░░░░ 250/1000, 125/s, 0:06 left, 1:30"
		if columns > 0 && n >= columns || !strings.HasSuffix(got, whole) {
			t.Errorf("%d columns: %d: %s", columns, n, got)
		}
	}
	if got := p.within(30, now); len([]rune(got)) >= 30 {
		t.Errorf("30 columns: %s", got)
	}
}

// TestFoldedLines: sentences are folded between words, whatever else is copied stays whole.
func TestFoldedLines(t *testing.T) {
	long := "    T153 < T154, because T153 read 1408 = 360 before T154 overwrote it with 401, and more\n"
	for _, x := range []struct {
		text    string
		columns int
		want    string
	}{
		{long, 0, long},
		{"short\n", 40, "short\n"},
		{long, 50,
			"    T153 < T154, because T153 read 1408 = 360\n      before T154 overwrote it with 401, and more\n"},
		{"  overlap              100 % of transactions begin before their predecessor has ended\n", 60,
			"  overlap              100 % of transactions begin before\n" + strings.Repeat(" ", 23) +
				"their predecessor has ended\n"},
		{`{"a":"` + strings.Repeat("b ", 40) + "\"}\n", 40, `{"a":"` + strings.Repeat("b ", 40) + "\"}\n"},
		{"  again: isovet hunt --db sqlite: --level ser\n", 30, "  again: isovet hunt --db sqlite: --level ser\n"},
	} {
		must.Equal(t, foldedLines(x.text, x.columns), x.want, "%d columns", x.columns)
	}
}
