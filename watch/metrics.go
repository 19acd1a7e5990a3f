package watch

import (
	"sync"
	"time"
)

// Snapshot has the counts and the state of a watch.
type Snapshot struct {
	Txns, Late int64 // transactions taken; late ones among them
	Window     int   // not final
	Lines      int64 // lines of the log, judged
	Arrived    int64 // lines of the log, read or written
	Bad        int64 // lines not understood
	Keys       int
	LogBytes   int64
	Watermark  int64 // timestamp, or client time; meaningless before the first transaction
	Violations map[string]int64
	Label      string // the meaning of Violations' keys
	Proved     int64  // proved violations of mechanisms
	// The latest checkpoint of this run: its begin, the judge's wait for it, its size.
	CheckpointAt    time.Time
	CheckpointPause time.Duration
	CheckpointBytes int64
	// Incidents is the number of incidents, OpenIncidents that of open ones that are accusations; Kinds has the
	// violations by kind.
	Incidents, OpenIncidents int64
	Kinds                    []KindCount
	// Suspects are the first few suspect reads, as of a second ago.
	Suspects []Suspect
	// The disk is full, and no lines are taken.
	DiskFull    bool
	More        []Count
	Rectified   Rectified // of this run
	LastArrival time.Time // of this run; zero: nothing has arrived
	// WatermarkAt is the watermark as a time; zero if it is none.
	WatermarkAt time.Time
	// Waiting is the arrival of the oldest line that is not judged; zero: all are.
	Waiting time.Time
	// Busy is the begin of the judge's current work; zero: it waits.
	Busy time.Time
	// Ready says that the whole log is judged and the source is open.
	Ready bool
}

// Count is a count of one judge.
type Count struct {
	Name, Kind, Help string // for Prometheus
	Short            string // for the table
	N                int64
}

// Metrics hold the latest Snapshot. They are safe for concurrent use.
type Metrics struct {
	mu      sync.Mutex
	s       Snapshot
	arrived time.Time
	lines   int64 // in the log
	ready   bool
	busy    time.Time
	waiting []arrival // lines of the log that are not known to be judged
}

// arrival is the arrival time of lines up to number upTo-1.
type arrival struct {
	upTo int64
	at   time.Time
}

// came notes that lines are in the log.
func (m *Metrics) came(upTo int64, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.arrived, m.lines = at, upTo
	m.waiting = append(m.waiting, arrival{upTo, at})
}

// setReady sets Snapshot.Ready.
func (m *Metrics) setReady(on bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ready = on
}

func (m *Metrics) set(s Snapshot) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s.DiskFull = m.s.DiskFull
	m.s = s
	n := 0
	for n < len(m.waiting) && m.waiting[n].upTo <= s.Lines-int64(s.Window) { // lines that are not final wait
		n++
	}
	m.waiting = m.waiting[:copy(m.waiting, m.waiting[n:])]
}

// works sets the begin of the judge's current work; zero: it waits.
func (m *Metrics) works(since time.Time) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.busy = since
}

func (m *Metrics) halt(on bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.s.DiskFull = on
}

// Get returns the latest snapshot.
func (m *Metrics) Get() Snapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.s
	s.Busy = m.busy
	s.LastArrival, s.Ready, s.Arrived = m.arrived, m.ready, max(m.lines, s.Lines)
	if len(m.waiting) > 0 {
		s.Waiting = m.waiting[0].at
	}
	return s
}
