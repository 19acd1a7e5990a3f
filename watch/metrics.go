package watch

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"

	"isovet/timestamp"
)

// Snapshot is what the loop has done.
type Snapshot struct {
	Aion       timestamp.AionStats
	Lines      int64 // in the log
	Bad        int64 // of them not understood
	Keys       int
	LogBytes   int64
	Watermark  int64 // timestamp; meaningless before the first transaction
	Violations map[string]int64
}

// Metrics hold the latest Snapshot. They are safe for concurrent use.
type Metrics struct {
	mu sync.Mutex
	s  Snapshot
}

func (m *Metrics) set(s Snapshot) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.s = s
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
		fmt.Fprintf(w, "# HELP isovet_watch_%s %s\n# TYPE isovet_watch_%s %s\nisovet_watch_%s %d\n", name, help, name, kind, name, v)
	}
	one("lines_total", "counter", "Lines in the segment log.", s.Lines)
	one("bad_lines_total", "counter", "Lines that are no transaction.", s.Bad)
	one("transactions_total", "counter", "Transactions taken.", s.Aion.Txns)
	one("late_total", "counter", "Transactions below the watermark when they arrived.", s.Aion.Late)
	one("flips_total", "counter", "Tentative verdicts of reads that changed.", s.Aion.Flips)
	one("window_transactions", "gauge", "Transactions that are not final.", int64(s.Aion.Window))
	one("keys", "gauge", "Keys seen.", int64(s.Keys))
	one("log_bytes", "gauge", "Size of the segment log.", s.LogBytes)
	one("watermark", "gauge", "Timestamp up to which verdicts are final.", s.Watermark)
	fmt.Fprint(w, "# HELP isovet_watch_violations_total Final violations.\n# TYPE isovet_watch_violations_total counter\n")
	var axioms []string
	for a := range s.Violations {
		axioms = append(axioms, a)
	}
	slices.Sort(axioms)
	for _, a := range axioms {
		fmt.Fprintf(w, "isovet_watch_violations_total{axiom=%q} %d\n", a, s.Violations[a])
	}
}
