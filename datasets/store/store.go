package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"isovet/datasets/workload"
	"isovet/internal/bounds"
	"isovet/internal/heap"
	"isovet/internal/slice"
)

// Isolation is a concurrency control of the store. The package comment describes each.
type Isolation uint8

const (
	Serializable Isolation = iota
	SerializableSnapshot
	Snapshot
	RepeatableRead
	ReadCommitted
	ReadUncommitted
)

// isolations are the names of each concurrency control. The first is the one shown.
var isolations = [...][]string{
	Serializable:         {"serializable", "ser", "strict-serializable", "sser", "2pl", "s2pl"},
	SerializableSnapshot: {"serializable-snapshot", "ssi", "serializable-ssi"},
	Snapshot:             {"snapshot-isolation", "si", "snapshot", "strict-snapshot-isolation"},
	RepeatableRead:       {"repeatable-read", "rr"},
	ReadCommitted:        {"read-committed", "rc"},
	ReadUncommitted:      {"read-uncommitted", "ru"},
}

func (i Isolation) String() string {
	if int(i) < len(isolations) {
		return isolations[i][0]
	}
	return fmt.Sprintf("isolation %d", uint8(i))
}

// Isolations returns the name of each concurrency control.
func Isolations() []string {
	return slice.Map(slice.Numbers[Isolation](len(isolations)), Isolation.String)
}

// ParseIsolation reads a name or short name. "" means Serializable.
func ParseIsolation(s string) (Isolation, error) {
	n := strings.NewReplacer(" ", "-", "_", "-").Replace(strings.ToLower(strings.TrimSpace(s)))
	if n == "" {
		return Serializable, nil
	}
	for i, names := range isolations {
		if slices.Contains(names, n) {
			return Isolation(i), nil
		}
	}
	return 0, fmt.Errorf("the store has no isolation %q; expected one of %s", s, strings.Join(Isolations(), ", "))
}

// Config is the configuration of a run.
type Config struct {
	Workload  workload.Workload
	Sessions  int
	Txns      int // committed transactions, the script's among them
	Isolation Isolation
	Seed      uint64
	// Progress, if set, is called with the number of committed transactions every few thousand events.
	Progress func(committed int)
	// AbortRate is the share of transactions that the client rolls back at the end. They are not tried again.
	AbortRate float64
	// UnknownRate is the share of commits whose answer is lost; half of them took effect.
	UnknownRate float64
	// LongTxn leaves the first transaction of session 0 open through the whole run: its client begins it at once, and
	// sends its operations when all others are done.
	LongTxn bool
	// Break, unless it is BreakNothing, is the part of the concurrency control that fails once, after BreakAt
	// transactions have committed.
	Break   Break
	BreakAt int
	// Scripts run one after the other, each when its number of transactions has committed.
	Scripts []Planting
	// Sink, if set, is called with the log whenever that has some thousand transactions, which are then removed from
	// it. So Sink receives each transaction once, in order. An error of Sink ends the run.
	Sink func(*Log) error
}

// Planting is a script, and the number of committed transactions after which it may begin.
type Planting struct {
	Script *Script
	At     int
}

// sinkTxns is the approximate number of transactions in each call of Config.Sink.
var sinkTxns = 4096

func init() { bounds.Register("store.sink-txns", &sinkTxns) }

// Mean times in nanoseconds. Each time is at least half of its mean and has an exponential tail.
const (
	netTime     = 40_000 // one way
	serviceTime = 20_000
	thinkTime   = 10_000 // between a client's operations and between its transactions
	backoffTime = 300_000
	lostTime    = 2_000_000 // until a client gives up waiting for an answer
)

const none = -1

// row is one row of the store. Invariant: pend and pendPay have a meaning iff x ≥ 0.
type row struct {
	head              int32 // newest committed version
	x                 int32 // session that holds the write lock, or none
	pend, pendPay     int64 // its uncommitted version
	reads             int32 // newest read lock or SIREAD, or none
	nReads            int32
	waitHead, waitEnd int32 // sessions waiting for a lock, or none
	seen              uint32
	touched           bool
	hadOld            bool
	old, oldPay       int64 // with BreakVersion and one version only: the one before
	wrote             bool  // pend is a write, of the same value even (a deletion where there is no row)
}

type version struct {
	val, pay int64
	cts      int64
	rec      int32 // SSI: its writer, while that is concurrent with somebody
	prev     int32 // the one before, or none
}

type store struct {
	cfg Config
	iso Isolation
	log *Log
	tables
	preds   []predLock
	cand    []int32
	hits    []hit
	scratch []int64
	wide    [][]int64 // payloads that are lists of numbers
	arenas
	sess      []session
	heap      heap.Heap[int64, int32] // of sessions, by the time of their next event
	tick      int64                   // the store's clock
	oldest    int64                   // no active snapshot is older
	commits   int                     // since oldest was computed
	retired   []int32
	active    int // transactions begun or being retried
	idle      []int32
	mark      uint32
	err       error
	longBegun bool
	stack     []int32
	script    scriptRun
	recent    []uint32 // rows of the last operations that the sink was given
	rules
}

// tables has the rows, and where each table's rows begin.
type tables struct {
	rows     []row
	base     []int // table → row of its first loaded key
	inserted map[workload.Key]int32
	more     [][]int32   // table with columns → rows inserted
	index    [][]*sorted // table with columns → column, nil: no index
	columns  bool        // there are such tables
}

// rules has what the isolation level requires, and which part of it fails.
type rules struct {
	multi   bool // several versions are kept
	locking bool // reads take locks
	ranges  bool // conditions too
	ssi     bool
	broken  bool  // the failure has been committed
	breaker int32 // the session for which something fails, or none
}

// arenas has memory for short-lived objects: slices with free lists.
type arenas struct {
	versions []version
	freeVer  int32
	reads    []readLock
	freeRead int32
	recs     []txnRec
	freeRec  int32
	deps     []antiDep
	freeDep  int32
}

// Run runs the workload until cfg.Txns transactions have committed and none is running. Errors: an impossible
// configuration, ctx's end. Cost: O(log sessions) for each operation, and its waits. Memory: the log, the rows, and
// the versions that a snapshot can see.
func Run(ctx context.Context, cfg Config) (*Log, error) {
	if cfg.Sessions < 1 || cfg.Txns < 0 {
		return nil, fmt.Errorf("%d sessions, %d transactions; expected at least 1 session and no negative number",
			cfg.Sessions, cfg.Txns)
	}
	if !(cfg.AbortRate >= 0 && cfg.UnknownRate >= 0 && cfg.AbortRate+cfg.UnknownRate < 1) {
		return nil, fmt.Errorf("abort rate %v and unknown rate %v; expected both from 0, their sum below 1",
			cfg.AbortRate, cfg.UnknownRate)
	}
	if cfg.LongTxn && cfg.Sessions < 2 {
		return nil, fmt.Errorf("a long transaction and %d session; expected at least 2 sessions", cfg.Sessions)
	}
	if !cfg.Isolation.Has(cfg.Break) {
		return nil, fmt.Errorf("%s has no %s to break", cfg.Isolation, cfg.Break)
	}
	if err := checkScript(cfg); err != nil {
		return nil, err
	}
	s := newStore(cfg)
	for i := range s.sess {
		s.next(int32(i), s.sess[i].delay(thinkTime))
	}
	for n := 0; s.heap.Len() > 0; n++ {
		if n&0xfff == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if cfg.Progress != nil {
				cfg.Progress(s.log.Stats.Committed)
			}
		}
		now, i := s.heap.Pop()
		s.log.Stats.SimulateNS = now
		if int(i) == len(s.sess) {
			s.runScript(now)
			if s.err != nil {
				return nil, s.err
			}
		} else {
			s.event(i, now)
		}
		if cfg.LongTxn && s.heap.Len() == 0 {
			s.wakeLong(now)
		}
		if cfg.Sink != nil && (len(s.log.Txns) >= sinkTxns || s.heap.Len() == 0) {
			if err := s.drain(); err != nil {
				return nil, err
			}
		}
	}
	for i := range s.rows {
		s.log.Touched[i] = s.rows[i].touched
	}
	return s.log, nil
}

func (s *store) drain() error {
	l := s.log
	if err := s.cfg.Sink(l); err != nil {
		return err
	}
	// A script looks for rows that were touched lately.
	if n := len(l.Ops); n >= lately {
		s.recent = s.recent[:0]
	} else if more := len(s.recent) + n - lately; more > 0 {
		s.recent = append(s.recent[:0], s.recent[more:]...)
	}
	for _, op := range l.Ops[max(0, len(l.Ops)-lately):] {
		s.recent = append(s.recent, op.Row)
	}
	l.Txns, l.Ops = l.Txns[:0], l.Ops[:0]
	return nil
}

func newStore(cfg Config) *store {
	s := &store{cfg: cfg, iso: cfg.Isolation,
		arenas: arenas{freeVer: none, freeRead: none, freeRec: none, freeDep: none}, rules: rules{breaker: none}}
	s.multi = cfg.Isolation == Snapshot || cfg.Isolation == SerializableSnapshot
	s.ranges = cfg.Isolation == Serializable
	s.locking = s.ranges || cfg.Isolation == RepeatableRead
	s.ssi = cfg.Isolation == SerializableSnapshot
	s.log = &Log{Tables: cfg.Workload.Tables()}
	n := 0
	for _, t := range s.log.Tables {
		s.base = append(s.base, n)
		if !t.Sparse {
			n += t.Rows
		}
	}
	s.rows = make([]row, 0, n)
	s.versions = make([]version, 0, n+n/8)
	s.index = make([][]*sorted, len(s.log.Tables))
	s.more = make([][]int32, len(s.log.Tables))
	s.log.cells = make([]int, len(s.log.Tables))
	for t, tab := range s.log.Tables {
		if tab.Columns != nil {
			s.loadRows(t, &tab)
			continue
		}
		for pk := 0; pk < tab.Rows && !tab.Sparse; pk++ {
			s.addRow(workload.MakeKey(t, int64(pk)), loaded(&tab, int64(pk)))
		}
	}
	s.sess = make([]session, cfg.Sessions)
	seeds := rand.New(rand.NewPCG(cfg.Seed, 0x150e7))
	for i := range s.sess {
		x := &s.sess[i]
		x.rng = rand.New(rand.NewPCG(seeds.Uint64(), seeds.Uint64()))
		x.lat = seeds.Uint64() | 1
		x.client = cfg.Workload.Client(i, rand.New(rand.NewPCG(seeds.Uint64(), seeds.Uint64())))
		x.nextVal = int64(i) + 1
		x.waitOn, x.waitSess, x.rec, x.locks = none, none, none, none
	}
	s.heap = heap.New[int64, int32](cfg.Sessions + 1)
	if len(cfg.Scripts) > 0 {
		s.script.init(cfg)
	}
	return s
}

// loaded returns the first version of a row of a table without columns. A wide payload is computed only when it is
// read.
func loaded(tab *workload.Table, pk int64) version {
	v := version{val: Initial, pay: tab.Payload, rec: none, prev: none}
	switch {
	case tab.WideOf != nil:
		v.pay = none
	case tab.PayloadOf != nil:
		v.pay = tab.PayloadOf(pk)
	}
	return v
}

// loadRows fills a table with columns and its indexes.
func (s *store) loadRows(t int, tab *workload.Table) {
	s.columns = true
	s.index[t] = make([]*sorted, len(tab.Columns))
	for c, col := range tab.Columns {
		if col.Index {
			s.index[t][c] = &sorted{}
		}
	}
	s.log.cells[t] = len(s.log.Cells)
	columns := make([]int64, len(tab.Columns))
	for pk := range tab.Rows {
		clear(columns)
		if tab.Load != nil {
			tab.Load(int64(pk), columns)
		}
		val := s.addCells(Initial, columns)
		s.enter(s.addRow(workload.MakeKey(t, int64(pk)), version{val: val, rec: none, prev: none}), val)
	}
}

func (s *store) addRow(k workload.Key, v version) int32 {
	i := int32(len(s.rows))
	s.rows = append(s.rows, row{head: s.newVersion(v), x: none, reads: none, waitHead: none, waitEnd: none})
	s.log.Rows = append(s.log.Rows, k)
	s.log.Touched = append(s.log.Touched, false)
	return i
}

// row returns the row of a key. If there is none, it adds an absent one.
func (s *store) row(k workload.Key) int32 {
	t, pk := k.Table(), k.PK()
	tab := &s.log.Tables[t]
	here := pk < int64(tab.Rows)
	if here && !tab.Sparse {
		return int32(s.base[t]) + int32(pk)
	}
	if r, ok := s.inserted[k]; ok {
		return r
	}
	slice.MakeMap(&s.inserted)
	v := version{val: Absent, rec: none, prev: none}
	if here {
		v = loaded(tab, pk)
	}
	r := s.addRow(k, v)
	s.inserted[k] = r
	if tab.Columns != nil {
		s.more[t] = append(s.more[t], r)
	}
	return r
}

func (s *store) newVersion(v version) int32 {
	if i := s.freeVer; i != none {
		s.freeVer = s.versions[i].prev
		s.versions[i] = v
		return i
	}
	s.versions = append(s.versions, v)
	return int32(len(s.versions)) - 1
}

// install makes a version the newest of its row, and drops versions that no snapshot can see.
func (s *store) install(r int32, v version) {
	x := &s.rows[r]
	if !s.multi {
		s.unindex(r, s.versions[x.head].val)
		if s.cfg.Break == BreakVersion {
			x.old, x.oldPay, x.hadOld = s.versions[x.head].val, s.versions[x.head].pay, true
		}
		v.prev = none
		s.versions[x.head] = v
		return
	}
	v.prev = x.head
	x.head = s.newVersion(v)
	i := v.prev
	for s.versions[i].cts > s.oldest && s.versions[i].prev != none {
		i = s.versions[i].prev
	}
	for old := s.versions[i].prev; old != none; {
		next := s.versions[old].prev
		s.unindex(r, s.versions[old].val)
		s.versions[old].prev = s.freeVer
		s.freeVer = old
		old = next
	}
	s.versions[i].prev = none
}

// visible returns the newest version of a row that a snapshot sees.
func (s *store) visible(r int32, snap int64) *version {
	i := s.rows[r].head
	for s.versions[i].cts > snap {
		i = s.versions[i].prev
	}
	return &s.versions[i]
}

// advance recomputes the oldest active snapshot from time to time, and forgets transactions with which no active one
// is concurrent.
func (s *store) advance() {
	s.commits++
	if s.commits*16 < len(s.sess) {
		return
	}
	s.commits = 0
	s.oldest = s.tick
	for i := range s.sess {
		if x := &s.sess[i]; x.running && x.snap != NoTime {
			s.oldest = min(s.oldest, x.snap)
		}
	}
	if s.ssi {
		s.retire()
	}
}
