package cli

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/mattn/go-isatty"
)

// logEvery is how often long work says on a stream that is no terminal how far it is, so that a CI system does not take
// a silent job for a dead one.
const logEvery = 10 * time.Second

// progress tells how far long work is: with a bar on a terminal, with a line every logEvery elsewhere, not at all if
// quiet. Its methods are safe from any goroutine, and on nil.
type progress struct {
	w     io.Writer
	start time.Time

	mu          sync.Mutex
	what, stage string
	done, total int
	bar         bar
	barMax      int64
	lastDraw    time.Time
	interactive bool
	stop        chan struct{}
	stopped     sync.WaitGroup
}

// bar is drawn on a terminal.
type bar interface {
	Describe(what string)
	Set(done int) error
	Clear() error
	IsFinished() bool
}

// interactive reports whether w is a terminal that shows bars. The libraries look at none of CI, TERM and --quiet.
func interactive(w io.Writer, getenv func(string) string) bool {
	f, ok := w.(*os.File)
	return ok && getenv("CI") == "" && getenv("TERM") != "dumb" && (isatty.IsTerminal(f.Fd()) ||
		isatty.IsCygwinTerminal(f.Fd()))
}

// newProgress starts the clock. Close must be called.
func newProgress(w io.Writer, quiet, json bool) *progress {
	if quiet {
		return nil
	}
	p := &progress{w: w, start: time.Now(), interactive: !json && interactive(w, os.Getenv), stop: make(chan struct{})}
	if !p.interactive {
		p.stopped.Go(p.lines)
	}
	return p
}

// lines writes the log lines.
func (p *progress) lines() {
	tick := time.NewTicker(logEvery)
	defer tick.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-tick.C:
			p.mu.Lock()
			s := p.said()
			if p.total > 0 {
				s += fmt.Sprintf(" %d/%d", p.done, p.total)
			}
			fmt.Fprintf(p.w, "%s, %.0f s\n", s, time.Since(p.start).Seconds())
			p.mu.Unlock()
		}
	}
}

// said is what is being worked on and at which stage of it.
func (p *progress) said() string {
	if p.what == "" || p.stage == "" {
		return p.what + p.stage
	}
	return p.what + ": " + p.stage
}

// Begin names what is being worked on, such as a file.
func (p *progress) Begin(what string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	p.what, p.stage, p.done, p.total = what, "", 0, 0
}

// Step says how far a stage is; total 0 means that nobody knows.
func (p *progress) Step(stage string, done, total int) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stage, p.done, p.total = stage, done, total
	if !p.interactive || time.Since(p.lastDraw) < 50*time.Millisecond && done < total {
		return
	}
	p.lastDraw = time.Now()
	n := int64(total)
	if n <= 0 {
		n = -1 // a spinner
	}
	if p.bar == nil || p.bar.IsFinished() || p.barMax != n {
		p.clear()
		p.bar = newBar(p.w, n)
		p.barMax = n
	}
	p.bar.Describe(p.said())
	_ = p.bar.Set(done) // a bar that cannot be drawn is no reason to stop
}

// Hide takes the bar off the terminal before something else is printed.
func (p *progress) Hide() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}

func (p *progress) clear() {
	if p.bar != nil {
		_ = p.bar.Clear()
		p.bar = nil
	}
}

// Close ends it.
func (p *progress) Close() {
	if p == nil {
		return
	}
	close(p.stop)
	p.stopped.Wait()
	p.Hide()
}
