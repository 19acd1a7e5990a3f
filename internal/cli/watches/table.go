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

// Table redraws the counts at the bottom of a terminal. Other output goes above it.
type Table struct {
	W     io.Writer
	Get   func() watch.Snapshot
	Shown bool
	Width func() int // of the terminal; 0: unknown
	stop  chan struct{}

	mu    sync.Mutex
	lines int // lines drawn
	rate  float64
}

func newTable(w io.Writer, m *watch.Metrics, quiet bool) *Table {
	return &Table{W: escape.Unwrap(w), Get: m.Get, Shown: !quiet && console.Interactive(w, os.Getenv),
		Width: func() int { return console.TerminalWidth(w) }, stop: make(chan struct{})}
}

func (t *Table) close() { close(t.stop) }

func (t *Table) run() {
	if !t.Shown {
		return
	}
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	was, at := int64(0), time.Now()
	for {
		select {
		case <-t.stop:
			t.Draw(0)
			return
		case now := <-tick.C:
			n := t.Get().Txns
			t.Draw(float64(n-was) / now.Sub(at).Seconds())
			was, at = n, now
		}
	}
}

// Draw draws the table over the last one.
func (t *Table) Draw(rate float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rate = rate
	t.redraw()
}

// redraw is Draw with the lock held.
func (t *Table) redraw() {
	s := t.Get()
	rows := Rows(&s, t.rate, t.Width())
	fmt.Fprint(t.W, t.cleared()+strings.Join(rows, "\n")+"\n")
	t.lines = len(rows)
}

// cleared returns the codes that remove the table from the terminal.
func (t *Table) cleared() (s string) {
	if t.lines > 0 {
		s = fmt.Sprintf("\x1b[%dA\r\x1b[J", t.lines) // to its first line, and clear all below
	}
	t.lines = 0
	return s
}

// above returns a writer to the same terminal whose lines appear above the table.
func (t *Table) above(w io.Writer) io.Writer {
	if !t.Shown || console.TerminalWidth(w) == 0 {
		return w
	}
	return AboveTable{t, w}
}

// AboveTable writes lines above a table.
type AboveTable struct {
	T  *Table
	To io.Writer
}

func (a AboveTable) Write(b []byte) (int, error) {
	a.T.mu.Lock()
	defer a.T.mu.Unlock()
	drawn := a.T.lines > 0
	fmt.Fprint(a.T.W, a.T.cleared())
	n, err := a.To.Write(b)
	if drawn && strings.HasSuffix(string(b), "\n") {
		a.T.redraw()
	}
	return n, err
}

// Rows returns the lines of the table, none wider than the terminal.
func Rows(s *watch.Snapshot, rate float64, width int) []string {
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
