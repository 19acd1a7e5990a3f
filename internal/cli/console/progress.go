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
	// logEvery is how often long work reports progress on a stream that is no terminal, so that a CI system does not
	// consider a silent job dead.
	logEvery = 10 * time.Second
	// drawEvery is how often a terminal is updated, so that the user sees movement.
	drawEvery = 100 * time.Millisecond
	// drawAfter is the time before the line appears. Shorter work needs none.
	drawAfter = 200 * time.Millisecond
)

// Progress shows the progress of long work, by stages: a line that is redrawn on a terminal, a line every logEvery
// elsewhere, nothing if quiet. All goroutines may call its methods. They are cheap, and do nothing on nil.
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

// Interactive reports whether w is a terminal that can show movement. No library looks at CI, TERM and --quiet.
func Interactive(w io.Writer, getenv func(string) string) bool {
	f, ok := escape.Unwrap(w).(*os.File)
	return ok && getenv("CI") == "" && getenv("TERM") != "dumb" && (isatty.IsTerminal(f.Fd()) ||
		isatty.IsCygwinTerminal(f.Fd()))
}

// TerminalWidth returns the number of columns of a terminal, or 0 if w is none or does not say.
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

// NewProgress starts the clock. The caller must call Close.
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

// every calls tell periodically, with the lock held, until the end.
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

// Draw draws the line over the previous one. On a narrow terminal it shortens the name of the work instead of the bar.
func (p *Progress) Draw(now time.Time) {
	if now.Sub(p.Start) < drawAfter || p.what == "" && p.stage == "" {
		return
	}
	p.frame++
	fmt.Fprintf(p.W, "\r\x1b[K%s", p.within(TerminalWidth(p.W), now))
	p.drawn = true
}

// within returns the line with its spinner and the time, for a terminal of so many columns; 0 means any length.
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

// Line returns the name of the work, the stage and, if known, its progress, its speed and the remaining time.
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

// short writes a number with at most three digits.
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

// said returns the name and the stage of the work.
func (p *Progress) said() string {
	if p.what == "" || p.stage == "" {
		return escape.Line(p.what + p.stage)
	}
	return escape.Line(p.what + ": " + p.stage)
}

// Begin sets the name of the work, such as a file.
func (p *Progress) Begin(what string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	p.what, p.stage, p.done, p.total, p.Began, p.first = what, "", 0, 0, time.Now(), 0
}

// Step sets the progress of a stage. total 0 means that it is not known. The text after a colon in the stage's name
// may change during the stage.
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

// Hide removes the line from the terminal before other output.
func (p *Progress) Hide() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}

// clear removes the line. The next one appears after drawAfter again.
func (p *Progress) clear() {
	if p.drawn {
		fmt.Fprint(p.W, "\r\x1b[K")
		p.drawn = false
	}
}

// Close ends the progress.
func (p *Progress) Close() {
	if p == nil {
		return
	}
	close(p.stop)
	p.stopped.Wait()
	p.Hide()
}
