package watch

import (
	"sync"
	"time"
)

// Snapshot has the counts and the state of a watch at a moment.
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
	Classes    []string // of violations that the judge may find
	Label      string   // the meaning of Violations' keys; "": axiom
	Proved     int64    // proved violations of mechanisms
	// The next fields describe the latest checkpoint of this run: its begin, how long the judge waited for it, its
	// size.
	CheckpointAt    time.Time
	CheckpointPause time.Duration
	CheckpointBytes int64
	// Incidents is the number of incidents, OpenIncidents the number of open ones that accuse the database. Kinds has
	// the number of violations of each kind.
	Incidents, OpenIncidents int64
	Kinds                    []KindCount
	// Suspects are the first few suspect reads. They are up to a second old.
	Suspects []Suspect
	// DiskFull says that the watch takes no lines because the disk is full.
	DiskFull    bool
	More        []Count
	Rectified   Rectified // of this run
	LastArrival time.Time // of this run; zero: nothing has arrived
	// WatermarkAt is the watermark as a time, or zero if it is none.
	WatermarkAt time.Time
	// Waiting is when the oldest line that is not judged arrived, or zero.
	Waiting time.Time
	// Busy is when the judge's current work began, or zero if the judge waits.
	Busy time.Time
	// Ready says that the whole log is judged and the source is open.
	Ready bool
}

// Count is a count that only one judge has.
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

// arrival is the time at which the lines up to number upTo-1 arrived.
type arrival struct {
	upTo int64
	at   time.Time
}

// came notes when lines arrived in the log.
func (m *Metrics) came(upTo int64, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.arrived, m.lines = at, upTo
	m.waiting = append(m.waiting, arrival{upTo, at})
}

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
	m.waiting = m.waiting[n:]
}

// works sets when the judge's current work began; zero means that the judge waits.
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
