package watches

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"isovet/internal/cli/console"
	"isovet/internal/escape"
	"isovet/internal/plural"
	"isovet/internal/safego"
	"isovet/level"
	"isovet/watch"
)

// Beside judges a recording while it is made, without slowing it down. If the judge is too slow, transactions are left
// out, and it continues as for a stream that begins in the middle.
type Beside struct {
	Level   level.Level
	Metrics string // address of the live page; "": none
	Dir     string // folder of the recording; findings go to folders in it
	Header  []byte // of the stream
	Quiet   bool
	Room    int           // bytes of lines that wait; 0: 64 MiB
	Bound   time.Duration // time for the rest when the recording has ended; 0: a minute

	queue  *watch.Queue
	cancel context.CancelFunc
	work   safego.Group
	status int
}

// Begin starts judging the lines of Add.
func (b *Beside) Begin(ctx context.Context, e *console.Env) {
	b.queue = watch.NewQueue(cmp.Or(b.Room, 64<<20))
	b.queue.Anew(b.Header)
	ctx, b.cancel = context.WithCancel(context.WithoutCancel(ctx))
	b.work.Go(func() { b.run(ctx, e) })
}

// Add adds the line of a transaction that has ended.
func (b *Beside) Add(line []byte) { b.queue.Add(line) }

// End ends judging and returns the exit status for the findings.
func (b *Beside) End() int {
	b.queue.End()
	late := time.AfterFunc(cmp.Or(b.Bound, time.Minute), b.cancel)
	b.work.Wait()
	late.Stop()
	b.cancel()
	return b.status
}

func (b *Beside) run(ctx context.Context, e *console.Env) {
	say := func(format string, args ...any) {
		b.status = console.Worse(b.status, console.StatusUnknown)
		fmt.Fprintf(e.Stderr, "isovet: "+format+"\n", args...)
	}
	whole := escape.Shell("isovet check " + b.Dir + " --level " + b.Level.String())
	for n, gone := 1, int64(0); ; n++ {
		f, _ := newWatch(e)
		f.level, f.metric, f.quiet, f.lines, f.history = b.Level, b.Metrics, b.Quiet, b.queue, b.Dir
		f.state = filepath.Join(b.Dir, fmt.Sprintf("watch-%d", n))
		// All times are from one clock, and lines arrive as soon as transactions end.
		f.gate.lateness, f.gate.jump, f.gate.attach = "1s", 0, watch.AttachAlways.String()
		own := console.Env{Stdin: e.Stdin, Stdout: e.Stdout, Stderr: e.Stderr, Data: e.Data}
		err := runWatch(ctx, &own, f)
		var quiet *console.ExitError
		switch {
		case ctx.Err() != nil:
			say("watch did not judge all transactions; %s does", whole)
			return
		case err == nil || errors.As(err, &quiet) && quiet.Err == nil:
			b.status = console.Worse(b.status, console.StatusOf(err))
			return
		case !errors.Is(err, watch.ErrDropped):
			say("watch judges no more transactions; programs go on: %s", escape.Line(err.Error()))
			b.status = console.Worse(b.status, console.StatusOf(err))
			return
		}
		if quiet = nil; errors.As(err, &quiet) {
			b.status = console.Worse(b.status, quiet.Status)
		} else if err := os.RemoveAll(f.state); err != nil { // no findings, and the recording has the lines
			say("%s", escape.Line(err.Error()))
		}
		dropped := b.queue.Anew(b.Header)
		say("watch did not keep up and skipped %s; %s judges all", plural.Of(dropped-gone, "transaction"), whole)
		gone = dropped
	}
}
