package watch

import (
	"sync"
	"time"
)

// Snapshot is what the loop has done.
type Snapshot struct {
	Txns, Late int64 // taken; of them late
	Window     int   // not final
	Lines      int64 // in the log, judged
	Arrived    int64 // in the log, as far as it has been read or written
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
	// Incidents is the number of incidents, OpenIncidents that of open ones that say something against the
	// database; Kinds has violations by kind.
	Incidents, OpenIncidents int64
	Kinds                    []KindCount
	// Suspects are the first few reads that are wrong by what has arrived, and not final, as of a second ago.
	Suspects []Suspect
	// The disk is full, and nothing is taken.
	DiskFull    bool
	More        []Count
	Rectified   Rectified // of this run
	LastArrival time.Time // of this run; zero: nothing has come
	// WatermarkAt is the watermark as a time; zero where it does not tell time.
	WatermarkAt time.Time
	// Waiting is when the oldest line came that is in the log and not judged; zero: all are.
	Waiting time.Time
	// Busy is when the judge began with what it does now; zero: it waits.
	Busy time.Time
	// Ready: the state is that of the end of the log, and the source is there.
	Ready bool
}

// Count is a number of one judge's.
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
	waiting []arrival // in the log, and not judged as far as is known
}

// arrival is when lines came, the last of which is number upTo-1.
type arrival struct {
	upTo int64
	at   time.Time
}

// came says that lines are in the log.
func (m *Metrics) came(upTo int64, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.arrived, m.lines = at, upTo
	m.waiting = append(m.waiting, arrival{upTo, at})
}

// setReady says whether the watch is up to the log's end and has its source.
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
	for n < len(m.waiting) && m.waiting[n].upTo <= s.Lines-int64(s.Window) { // what is not final waits
		n++
	}
	m.waiting = m.waiting[:copy(m.waiting, m.waiting[n:])]
}

// works says since when the judge does what it does; zero: it waits.
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

// Get returns the latest.
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
