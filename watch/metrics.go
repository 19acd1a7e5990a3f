package watch

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Snapshot is what the loop has done.
type Snapshot struct {
	Txns, Late int64 // taken; of them late
	Window     int   // not final
	Lines      int64 // in the log
	Bad        int64 // of them not understood
	Keys       int
	LogBytes   int64
	Watermark  int64 // timestamp, or client time; meaningless before the first transaction
	Violations map[string]int64
	Label      string // what the keys of Violations are
	Proved     int64  // of the violations of mechanisms
	// The latest checkpoint, of this run: when it was begun, how long judging waited for it, its size.
	CheckpointAt    time.Time
	CheckpointPause time.Duration
	CheckpointBytes int64
	// The disk is full, and nothing is taken.
	DiskFull bool
	More     []Count
}

// Count is a number of one judge's.
type Count struct {
	Name, Kind, Help string // for Prometheus
	Short            string // for the table
	N                int64
}

// Metrics hold the latest Snapshot. They are safe for concurrent use.
type Metrics struct {
	mu sync.Mutex
	s  Snapshot
}

func (m *Metrics) set(s Snapshot) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s.DiskFull = m.s.DiskFull
	m.s = s
}

func (m *Metrics) halt(on bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.s.DiskFull = on
}

// Get returns the latest.
func (m *Metrics) Get() Snapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.s
}

// ServeHTTP writes them as Prometheus reads them.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	m.Get().write(w)
}

func (s Snapshot) write(w io.Writer) {
	one := func(name, kind, help string, v int64) {
		fmt.Fprintf(w, "# HELP isovet_watch_%s %s\n# TYPE isovet_watch_%s %s\nisovet_watch_%s %d\n", name, help, name,
			kind, name, v)
	}
	one("lines_total", "counter", "Lines in the segment log.", s.Lines)
	one("bad_lines_total", "counter", "Lines that are no transaction.", s.Bad)
	one("transactions_total", "counter", "Transactions taken.", s.Txns)
	one("late_total", "counter", "Transactions below the watermark when they arrived.", s.Late)
	one("window_transactions", "gauge", "Transactions that are not final.", int64(s.Window))
	one("keys", "gauge", "Keys seen.", int64(s.Keys))
	one("log_bytes", "gauge", "Size of the segment log.", s.LogBytes)
	one("watermark", "gauge", "Time up to which verdicts are final.", s.Watermark)
	for _, c := range s.More {
		one(c.Name, c.Kind, c.Help, c.N)
	}
	fmt.Fprint(w, "# HELP isovet_watch_violations_total Final violations.\n# TYPE isovet_watch_violations_total "+
		"counter\n")
	var axioms []string
	for a := range s.Violations {
		axioms = append(axioms, a)
	}
	slices.Sort(axioms)
	for _, a := range axioms {
		fmt.Fprintf(w, "isovet_watch_violations_total{%s=%q} %d\n", s.Label, a, s.Violations[a])
	}
}
