package console

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/mattn/go-isatty"
	"golang.org/x/term"

	"isovet/internal/escape"
)

const (
	// logEvery is how often long work says on a stream that is no terminal how far it is, so that a CI system does not
	// take a silent job for a dead one.
	logEvery = 10 * time.Second
	// drawEvery is how often a terminal shows it, so that what has nothing to say is seen to move.
	drawEvery = 100 * time.Millisecond
	// drawAfter is when it begins to: what is done at once needs no line.
	drawAfter = 200 * time.Millisecond
)

// Progress tells how far long work is, by stages: with a line that is drawn over itself on a terminal, with a line
// every logEvery elsewhere, not at all if quiet. Its methods are safe from any goroutine, cheap, and work on nil.
type Progress struct {
	W     io.Writer
	Start time.Time

	mu          sync.Mutex
	what, stage string
	done, total int
	Began       time.Time // the stage
	first       int       // of it, done
	drawn       bool
	frame       int
	stop        chan struct{}
	stopped     sync.WaitGroup
}

// Interactive reports whether w is a terminal that shows what moves. No library looks at CI, TERM and --quiet.
func Interactive(w io.Writer, getenv func(string) string) bool {
	f, ok := escape.Unwrap(w).(*os.File)
	return ok && getenv("CI") == "" && getenv("TERM") != "dumb" && (isatty.IsTerminal(f.Fd()) ||
		isatty.IsCygwinTerminal(f.Fd()))
}

// TerminalWidth returns the number of columns of a terminal; 0: w is none, or does not tell.
func TerminalWidth(w io.Writer) int {
	f, ok := escape.Unwrap(w).(*os.File)
	if !ok || !isatty.IsTerminal(f.Fd()) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width < 20 {
		return 0
	}
	return width
}

// NewProgress starts the clock. Close must be called.
func NewProgress(w io.Writer, quiet, json bool) *Progress {
	if quiet {
		return nil
	}
	p := &Progress{W: escape.Unwrap(w), Start: time.Now(), stop: make(chan struct{})}
	if !json && Interactive(w, os.Getenv) {
		p.stopped.Go(func() { p.every(drawEvery, p.Draw) })
	} else {
		p.stopped.Go(func() { p.every(logEvery, p.log) })
	}
	return p
}

// every calls tell, with the lock held, until the end.
func (p *Progress) every(d time.Duration, tell func(now time.Time)) {
	tick := time.NewTicker(d)
	defer tick.Stop()
	for {
		select {
		case <-p.stop:
			return
		case now := <-tick.C:
			p.mu.Lock()
			tell(now)
			p.mu.Unlock()
		}
	}
}

func (p *Progress) log(now time.Time) {
	fmt.Fprintf(p.W, "%s, %.0f s\n", p.Line(now), now.Sub(p.Start).Seconds())
}

// Draw draws the line over the last one. On a narrow terminal it shortens the name of the work, not the bar.
func (p *Progress) Draw(now time.Time) {
	if now.Sub(p.Start) < drawAfter || p.what == "" && p.stage == "" {
		return
	}
	p.frame++
	fmt.Fprintf(p.W, "\r\x1b[K%s", p.within(TerminalWidth(p.W), now))
	p.drawn = true
}

// within is the line with its spinner and the time, on a terminal of so many columns; 0: as long as it gets.
func (p *Progress) within(columns int, now time.Time) string {
	name, line := p.said(), p.Line(now)
	text := fmt.Sprintf("%c %s, %s", []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")[p.frame%10], line, Clock(now.Sub(p.Start)))
	over := utf8.RuneCountInString(text) - columns + 1
	if columns == 0 || over <= 0 {
		return text
	}
	if r := []rune(name); len(r) > over { // its end says the most: the file's name and the stage
		return strings.Replace(text, name, "…"+string(r[over+1:]), 1)
	}
	return string(append([]rune(text)[:columns-2], '…'))
}

// barWidth is that of a bar, in characters.
const barWidth = 20

// Line is what is worked on, at which stage, and where that is known how far it is, how fast and how long it takes yet.
func (p *Progress) Line(now time.Time) string {
	s := p.said()
	if p.total > 1 {
		done := min(max(p.done, 0), p.total)
		full := barWidth * done / p.total
		s += fmt.Sprintf(" %s%s %d/%d", strings.Repeat("█", full), strings.Repeat("░", barWidth-full), p.done, p.total)
	} else if p.total == 0 && p.done > 0 {
		s += fmt.Sprintf(" %d", p.done)
	}
	took := now.Sub(p.Began)
	n := p.done - p.first
	if n <= 0 || took < time.Second {
		return s
	}
	rate := float64(n) / took.Seconds()
	s += fmt.Sprintf(", %s/s", short(rate))
	if left := p.total - p.done; left > 0 {
		s += ", " + Clock(time.Duration(float64(left)/rate*float64(time.Second))) + " left"
	}
	return s
}

// short writes a number with three digits at most.
func short(x float64) string {
	for _, u := range []struct {
		n    float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if x >= u.n {
			return fmt.Sprintf("%.3g%s", x/u.n, u.name)
		}
	}
	return fmt.Sprintf("%.3g", x)
}

// Clock writes a time as minutes and seconds.
func Clock(d time.Duration) string {
	s := int(d.Seconds() + 0.5)
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// said is what is being worked on and at which stage of it.
func (p *Progress) said() string {
	if p.what == "" || p.stage == "" {
		return escape.Line(p.what + p.stage)
	}
	return escape.Line(p.what + ": " + p.stage)
}

// Begin names what is being worked on, such as a file.
func (p *Progress) Begin(what string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	p.what, p.stage, p.done, p.total, p.Began, p.first = what, "", 0, 0, time.Now(), 0
}

// Step says how far a stage is; total 0 means that nobody knows. What stands behind a colon in its name may change
// while it lasts.
func (p *Progress) Step(stage string, done, total int) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if stageName(stage) != stageName(p.stage) || total != p.total || done < p.done {
		p.Began, p.first = time.Now(), done
	}
	p.stage, p.done, p.total = stage, done, total
}

func stageName(stage string) string {
	name, _, _ := strings.Cut(stage, ":")
	return name
}

// Hide takes the line off the terminal before something else is printed.
func (p *Progress) Hide() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}

// clear takes the line away; what comes next has its own time to begin.
func (p *Progress) clear() {
	if p.drawn {
		fmt.Fprint(p.W, "\r\x1b[K")
		p.drawn = false
	}
}

// Close ends it.
func (p *Progress) Close() {
	if p == nil {
		return
	}
	close(p.stop)
	p.stopped.Wait()
	p.Hide()
}
