package watches

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"isovet/internal/cli/console"
	"isovet/internal/escape"
	"isovet/watch"
)

// watchTable draws the counts on a terminal, over and over in one place.
type watchTable struct {
	w     io.Writer
	m     *watch.Metrics
	shown bool
	stop  chan struct{}
	drawn int
}

func newWatchTable(w io.Writer, m *watch.Metrics, quiet bool) *watchTable {
	return &watchTable{w: escape.Unwrap(w), m: m, shown: !quiet && console.Interactive(w, os.Getenv),
		stop: make(chan struct{})}
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
			n := t.m.Get().Txns
			t.draw(float64(n-was) / now.Sub(at).Seconds())
			was, at = n, now
		}
	}
}

func (t *watchTable) draw(rate float64) {
	s := t.m.Get()
	var b strings.Builder
	if t.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\x1b[J", t.drawn) // back to where it began
	}
	total := int64(0)
	var by []string
	for _, class := range slices.Sorted(maps.Keys(s.Violations)) {
		if n := s.Violations[class]; n > 0 {
			total += n
			by = append(by, fmt.Sprintf("%s %d", class, n))
		}
	}
	if s.Proved > 0 {
		by = append(by, fmt.Sprintf("(proved %d)", s.Proved))
	}
	var more strings.Builder
	for _, c := range s.More {
		fmt.Fprintf(&more, "   %s %d", c.Short, c.N)
	}
	fmt.Fprintf(&b, "transactions %12d   a second %10.0f   in the window %8d   late %6d\n", s.Txns, rate, s.Window,
		s.Late)
	fmt.Fprintf(&b, "keys         %12d   log %12.1f MB   final up to %d%s\n", s.Keys, float64(s.LogBytes)/1e6,
		s.Watermark, more.String())
	fmt.Fprintf(&b, "violations   %12d   %s\n", total, strings.Join(by, "   "))
	t.drawn = 3
	fmt.Fprint(t.w, b.String())
}
