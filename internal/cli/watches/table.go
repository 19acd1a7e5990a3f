package watches

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"isovet/internal/cli/console"
	"isovet/internal/escape"
	"isovet/watch"
)

// watchTable redraws the counts at the bottom of a terminal. Other output goes above it.
type watchTable struct {
	w     io.Writer
	get   func() watch.Snapshot
	shown bool
	width func() int // of the terminal; 0: unknown
	stop  chan struct{}

	mu    sync.Mutex
	lines int // lines drawn
	rate  float64
}

func newWatchTable(w io.Writer, m *watch.Metrics, quiet bool) *watchTable {
	return &watchTable{w: escape.Unwrap(w), get: m.Get, shown: !quiet && console.Interactive(w, os.Getenv),
		width: func() int { return console.TerminalWidth(w) }, stop: make(chan struct{})}
}

func (t *watchTable) close() { close(t.stop) }

func (t *watchTable) run() {
	if !t.shown {
		return
	}
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	was, at := int64(0), time.Now()
	for {
		select {
		case <-t.stop:
			t.draw(0)
			return
		case now := <-tick.C:
			n := t.get().Txns
			t.draw(float64(n-was) / now.Sub(at).Seconds())
			was, at = n, now
		}
	}
}

// draw draws the table over the last one.
func (t *watchTable) draw(rate float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rate = rate
	t.redraw()
}

// redraw is draw with the lock held.
func (t *watchTable) redraw() {
	s := t.get()
	rows := watchRows(&s, t.rate, t.width())
	fmt.Fprint(t.w, t.cleared()+strings.Join(rows, "\n")+"\n")
	t.lines = len(rows)
}

// cleared returns the codes that remove the table from the terminal.
func (t *watchTable) cleared() (s string) {
	if t.lines > 0 {
		s = fmt.Sprintf("\x1b[%dA\r\x1b[J", t.lines) // to its first line, and clear all below
	}
	t.lines = 0
	return s
}

// above returns a writer to the same terminal whose lines appear above the table.
func (t *watchTable) above(w io.Writer) io.Writer {
	if !t.shown || console.TerminalWidth(w) == 0 {
		return w
	}
	return aboveTable{t, w}
}

type aboveTable struct {
	t *watchTable
	w io.Writer
}

func (a aboveTable) Write(b []byte) (int, error) {
	a.t.mu.Lock()
	defer a.t.mu.Unlock()
	drawn := a.t.lines > 0
	fmt.Fprint(a.t.w, a.t.cleared())
	n, err := a.w.Write(b)
	if drawn && strings.HasSuffix(string(b), "\n") {
		a.t.redraw()
	}
	return n, err
}

// watchRows returns the lines of the table, none wider than the terminal.
func watchRows(s *watch.Snapshot, rate float64, width int) []string {
	total := int64(0)
	var by []string
	for _, class := range slices.Sorted(maps.Keys(s.Violations)) {
		if n := s.Violations[class]; n > 0 {
			total += n
			by = append(by, fmt.Sprintf("%s %d", class, n))
		}
	}
	if s.Proved > 0 {
		by = append(by, fmt.Sprintf("proved %d", s.Proved))
	}
	counts := []string{fmt.Sprintf("keys         %12d", s.Keys), fmt.Sprintf("log %.1f MB", float64(s.LogBytes)/1e6),
		fmt.Sprintf("final up to %d", s.Watermark)}
	for _, c := range s.More {
		counts = append(counts, fmt.Sprintf("%s %d", c.Short, c.N))
	}
	indent := strings.Repeat(" ", utf8.RuneCountInString(counts[0]))
	if width < 2*len(indent) {
		indent = " "
	}
	var rows []string
	for _, cells := range [][]string{
		{fmt.Sprintf("transactions %12d", s.Txns), fmt.Sprintf("%.0f a second", rate),
			fmt.Sprintf("window %d", s.Window), fmt.Sprintf("late %d", s.Late)},
		counts,
		append([]string{fmt.Sprintf("violations   %12d", total)}, by...),
	} {
		line := cells[0]
		for _, cell := range cells[1:] {
			if width > 0 && utf8.RuneCountInString(line)+3+utf8.RuneCountInString(cell) >= width {
				rows = append(rows, line)
				line = indent
			}
			line += "   " + cell
		}
		rows = append(rows, line)
	}
	return rows
}
