package store

import (
	"cmp"
	"fmt"
	"slices"

	"isovet/datasets/workload"
	"isovet/internal/plural"
	"isovet/internal/slice"
)

// Script is a few fixed transactions that run on keys of the workload. In an operation, value 0 of a key means the
// value that the key has when the script begins. Each other number stands for a new value.
type Script struct {
	Name string
	Keys int // the script's keys are 0..Keys-1
	Txns []ScriptTxn
}

// ScriptTxn is a transaction of a script. Sessions are 0, 1, …; Start and End are times of the script's own clock.
// Unless zero, Stamped are the times of that clock that the log has as the database's start and commit timestamps.
type ScriptTxn struct {
	Session    int
	Start, End int64
	Stamped    [2]int64
	Aborted    bool
	Ops        []ScriptOp
}

// ScriptOp reads or writes (Kind Read, Write) value Val of key Key; Absent means no row. With Kind ScriptRead or
// ScriptWrite it is a predicate operation: its condition is true for the versions Of, and it found the versions Found.
type ScriptOp struct {
	Kind      OpKind
	Key       int
	Val       int64
	Of, Found []ScriptMatch
}

// ScriptMatch is value Old of a key and, for a row found by a predicate write, the value New that it wrote.
type ScriptMatch struct {
	Key      int
	Not      bool // in Of: true of every version but Old
	Old, New int64
}

// writes calls f with each value that the operation writes.
func (op *ScriptOp) writes(f func(k int, val int64)) {
	switch op.Kind {
	case Write:
		f(op.Key, op.Val)
	case ScriptWrite:
		for _, m := range op.Found {
			f(m.Key, m.New)
		}
	}
}

func (s *Script) sessions() int {
	n := 0
	for _, t := range s.Txns {
		n = max(n, t.Session+1)
	}
	return n
}

func (s *Script) commits() int {
	return slice.Count(s.Txns, func(t ScriptTxn) bool { return !t.Aborted })
}

type scriptState uint8

const (
	scriptNone scriptState = iota
	scriptWaiting
	scriptRecruiting // sessions that come free are held back
	scriptReady      // enough sessions: the event is in the heap
	scriptDone
)

// scriptStep is the length of a step. The whole script must take less time than any answer on its way back (half of
// netTime), so that an operation that reaches the server meanwhile can count as executed after the script.
const scriptStep = 400

// scriptTries bounds the tries to find keys without locks before all sessions are held back.
const scriptTries = 64

type scriptRun struct {
	state    scriptState
	n        int // the script whose turn it is
	held     []int32
	reserved int // commits set aside, for it and those after it
	at       int // begin once so many have committed
	tries    int
	all      bool // hold back every session
}

// checkScript returns an error if the run is too small for its scripts.
func checkScript(cfg Config) error {
	long := 0
	if cfg.LongTxn {
		long = 1
	}
	rows, commits := 0, 0
	for _, t := range cfg.Workload.Tables() {
		if !t.Sparse {
			rows += t.Rows
		}
	}
	for _, p := range cfg.Scripts {
		sc := p.Script
		commits += sc.commits()
		if cfg.Sessions-long < sc.sessions() || cfg.Txns-long < commits || rows < sc.Keys && !grows(cfg.Workload) {
			return fmt.Errorf("fault %s needs %s, %s and %s; there are %d, %d and %d", sc.Name,
				plural.Of(sc.sessions()+long, "session"), plural.Of(commits+long, "transaction"),
				plural.Of(sc.Keys, "key"), cfg.Sessions, cfg.Txns, rows)
		}
		if sc.length()*scriptStep >= netTime/2 {
			return fmt.Errorf("fault %s has %d steps; expected fewer than %d", sc.Name, sc.length(),
				netTime/2/scriptStep)
		}
	}
	return nil
}

// grows reports whether a workload begins with an empty table of rows, and inserts them.
func grows(w workload.Workload) bool {
	return slices.ContainsFunc(w.Tables(), func(t workload.Table) bool { return t.Columns != nil && t.Rows == 0 })
}

func (r *scriptRun) init(cfg Config) {
	for _, p := range cfg.Scripts {
		r.reserved += p.Script.commits()
	}
	r.begin(cfg)
	if r.at <= 0 {
		r.state = scriptRecruiting
	}
}

// begin prepares script n, whose turn is next.
func (r *scriptRun) begin(cfg Config) {
	r.at = cfg.Scripts[r.n].At
	// What is reserved for those before it has committed by then.
	later := 0
	for _, p := range cfg.Scripts[r.n:] {
		later += p.Script.commits()
	}
	if most := cfg.Txns - later; r.at > most {
		r.at = most
	}
	if cfg.LongTxn {
		r.at = min(r.at, cfg.Txns-later-1)
	}
	r.state, r.tries, r.all = scriptWaiting, 0, false
}

// recruitIdle holds back sessions that are idle.
func (s *store) recruitIdle() {
	s.script.state = scriptRecruiting
	for len(s.idle) > 0 && s.script.state == scriptRecruiting {
		i := s.idle[len(s.idle)-1]
		s.idle = s.idle[:len(s.idle)-1]
		s.recruit(i)
	}
}

func (s *store) recruit(i int32) {
	s.script.held = append(s.script.held, i)
	s.enough()
}

// enough schedules the script when enough sessions are held back.
func (s *store) enough() {
	r := &s.script
	need := s.cfg.Scripts[r.n].Script.sessions()
	if r.all {
		need = len(s.sess)
		if s.sess[0].long {
			need--
		}
	}
	if len(r.held) < need {
		return
	}
	at := s.log.Stats.SimulateNS
	for _, h := range r.held {
		at = max(at, s.sess[h].ready)
	}
	r.state = scriptReady
	s.heap.Push(at+1, int32(len(s.sess)))
}

// runScript runs the script in one step, or puts it off while too many keys are locked.
func (s *store) runScript(now int64) {
	r, sc := &s.script, s.cfg.Scripts[s.script.n].Script
	keys := s.freeRows(sc.Keys)
	if keys == nil {
		if r.all {
			s.putOff(now)
			return
		}
		if r.tries++; r.tries < scriptTries {
			s.heap.Push(now+serviceTime/2, int32(len(s.sess)))
			return
		}
		r.all = true
		s.recruitIdle()
		if r.state == scriptRecruiting {
			s.enough()
		}
		return
	}
	r.state = scriptDone
	s.play(now, keys)
	slices.Sort(r.held)
	last := now + sc.length()*scriptStep
	r.reserved -= sc.commits()
	held := r.held
	r.held = nil
	if r.n++; r.n < len(s.cfg.Scripts) {
		r.begin(s.cfg)
	}
	for _, h := range held {
		s.next(h, max(last, s.sess[h].ready)+s.sess[h].delay(thinkTime))
	}
	if r.state == scriptWaiting && s.log.Stats.Committed >= r.at {
		s.recruitIdle()
	}
}

// putOff releases the sessions that were held back for a script for which there are too few rows. The script tries
// again after half of the rest of the run: in a workload that begins with empty tables there may then be more rows.
func (s *store) putOff(now int64) {
	r, sc := &s.script, s.cfg.Scripts[s.script.n].Script
	last := s.cfg.Txns - r.reserved
	if s.log.Stats.Committed >= last || !grows(s.cfg.Workload) {
		s.err = fmt.Errorf("fault %s needs %d rows at once that were not deleted and are no counters, but there are "+
			"fewer", sc.Name, sc.Keys)
		return
	}
	r.at = last - (last-s.log.Stats.Committed)/2
	held := r.held
	r.state, r.tries, r.all, r.held = scriptWaiting, 0, false, nil
	slices.Sort(held)
	for _, h := range held {
		s.next(h, max(now, s.sess[h].ready)+s.sess[h].delay(thinkTime))
	}
}

func (s *Script) length() int64 {
	n := int64(0)
	for _, t := range s.Txns {
		n = max(n, t.End)
	}
	return n + 1
}

// lately is the number of latest operations among whose rows a script first looks for its own.
const lately = 256

// freeRows returns loaded rows that nobody has locked, preferring those touched last. It returns nil if there are too
// few.
func (s *store) freeRows(n int) []int32 {
	var keys []int32
	try := func(r int32) bool {
		if int(r) >= len(s.rows) { // an operation with a condition has no row
			return false
		}
		w := &s.rows[r]
		if t := &s.log.Tables[s.log.Rows[r].Table()]; t.List || t.Counter || s.ranges && s.lookedAt(r) {
			return false
		}
		if w.x == none && w.waitHead == none && (w.nReads == 0 || !s.locking) && s.versions[w.head].val != Absent &&
			!slices.Contains(keys, r) {
			keys = append(keys, r)
		}
		return len(keys) == n
	}
	if n == 0 {
		return []int32{}
	}
	ops := s.log.Ops
	for i := len(ops) - 1; i >= max(0, len(ops)-lately); i-- {
		if try(int32(ops[i].Row)) {
			return keys
		}
	}
	for i := len(s.recent) - 1; i >= max(0, len(s.recent)-lately+len(ops)); i-- {
		if try(int32(s.recent[i])) {
			return keys
		}
	}
	for i := range s.rows {
		if i > 4096 && s.rows[i].touched {
			continue
		}
		if try(int32(i)) {
			return keys
		}
	}
	return nil
}

// play appends the script's transactions to the log and writes their last committed versions to the store.
func (s *store) play(now int64, keys []int32) {
	sc, held := s.cfg.Scripts[s.script.n].Script, s.script.held
	v := s.valuesOf(keys)
	for i := range sc.Txns { // a value belongs to its writer
		for _, op := range sc.Txns[i].Ops {
			op.writes(func(k int, val int64) { v.of(held[sc.Txns[i].Session], k, val) })
		}
	}
	startTS, stamped := make([]int64, len(sc.Txns)), make([][2]int64, len(sc.Txns))
	edges := sc.edges()
	s.ticks(sc, edges, stamped)
	for _, e := range edges {
		t := &sc.Txns[e.txn]
		if e.stamp {
			continue
		}
		if !e.end {
			startTS[e.txn] = e.tick
			continue
		}
		i := held[t.Session]
		start, end := now+t.Start*scriptStep, now+t.End*scriptStep
		rec := LogTxn{Start: start, Commit: end - scriptStep/8, End: end, StartTS: stamped[e.txn][0], CommitTS: NoTime,
			Session: uint32(i), Name: "planted " + sc.Name, Planted: true, Script: int32(s.script.n) + 1}
		if t.Aborted {
			rec.Status = Aborted
		} else {
			rec.CommitTS = stamped[e.txn][1]
			s.log.Stats.Committed++
		}
		last := v.enact(i, t, rec)
		if t.Aborted {
			continue
		}
		id := int32(none)
		if s.ssi {
			id = s.pivot(keys, startTS[e.txn], e.tick)
		}
		for k := range keys {
			if val, ok := last[k]; ok {
				pay := s.versions[s.rows[keys[k]].head].pay
				s.enter(keys[k], val)
				s.install(keys[k], version{val: val, pay: pay, cts: e.tick, rec: id})
			}
		}
	}
}

type scriptRef struct {
	key int
	val int64
}

// scriptValues maps the values of a script to values of the store.
type scriptValues struct {
	*store
	keys  []int32
	value map[scriptRef]int64
}

// valuesOf returns a mapping with the current values of the rows.
func (s *store) valuesOf(keys []int32) *scriptValues {
	v := &scriptValues{s, keys, make(map[scriptRef]int64)}
	for k, r := range keys {
		v.value[scriptRef{k, 0}] = s.versions[s.rows[r].head].val
		s.rows[r].touched = true
	}
	return v
}

// of returns the store's value for a value of the script. A new value is one of session sess.
func (s *scriptValues) of(sess int32, k int, val int64) int64 {
	if val == Absent {
		return Absent
	}
	v, ok := s.value[scriptRef{k, val}]
	if !ok {
		v = s.store.value(sess)
		if t := s.log.Rows[s.keys[k]].Table(); s.log.Tables[t].Columns != nil {
			// The same row, written again.
			v = s.addCells(v, slices.Clone(s.log.Columns(t, s.value[scriptRef{k, 0}])))
		}
		s.value[scriptRef{k, val}] = v
	}
	return v
}

func (s *scriptValues) is(sess int32, ms []ScriptMatch) []LogIs {
	return slice.Map(ms, func(m ScriptMatch) LogIs {
		return LogIs{uint32(s.keys[m.Key]), s.of(sess, m.Key, m.Old), m.Not}
	})
}

func (s *scriptValues) matches(sess int32, ms []ScriptMatch, kind OpKind) []LogMatch {
	var out []LogMatch
	for _, m := range ms {
		l := LogMatch{Row: uint32(s.keys[m.Key]), Old: s.of(sess, m.Key, m.Old)}
		if kind == ScriptWrite {
			l.New = s.of(sess, m.Key, m.New)
		}
		out = append(out, l)
	}
	return out
}

// enact logs a transaction of the script. last receives the values that it writes.
func (s *scriptValues) enact(i int32, t *ScriptTxn, rec LogTxn) (last map[int]int64) {
	var ops []LogOp
	wide := (rec.Commit - rec.Start) / int64(len(t.Ops)+1)
	last = make(map[int]int64)
	for j, op := range t.Ops {
		at := rec.Start + int64(j)*wide + 1
		lo := LogOp{Kind: op.Kind, Start: at, End: at + wide/2}
		if op.Kind == ScriptRead || op.Kind == ScriptWrite {
			lo.Value = int64(len(s.log.Scripts))
			s.log.Scripts = append(s.log.Scripts, LogScriptPred{s.is(i, op.Of), s.matches(i, op.Found, op.Kind)})
		} else {
			lo.Row, lo.Value = uint32(s.keys[op.Key]), s.of(i, op.Key, op.Val)
		}
		ops = append(ops, lo)
		op.writes(func(k int, val int64) { last[k] = s.of(i, k, val) })
	}
	s.record(rec, ops)
	return last
}

// ticks gives each edge its tick, and finds the start and commit timestamps that the log shows of each transaction.
func (s *store) ticks(sc *Script, edges []scriptEdge, shown [][2]int64) {
	for _, e := range slice.Refs(edges) {
		t := &sc.Txns[e.txn]
		if e.end && t.Aborted {
			continue
		}
		s.tick++
		e.tick = s.tick
		switch {
		case e.stamp != (t.Stamped != [2]int64{}):
		case e.end:
			shown[e.txn][1] = e.tick
		default:
			shown[e.txn][0] = e.tick
		}
	}
}

// scriptEdge is the start or the end of a transaction of a script or, with stamp, of what its timestamps show.
type scriptEdge struct {
	step, tick int64
	txn        int
	end, stamp bool
}

// edges returns the starts and ends of transactions in the order of time. If a start and an end have equal times, the
// end comes first.
func (s *Script) edges() (edges []scriptEdge) {
	for i, t := range s.Txns {
		edges = append(edges, scriptEdge{step: t.Start, txn: i}, scriptEdge{step: t.End, txn: i, end: true})
		if t.Stamped != [2]int64{} {
			edges = append(edges, scriptEdge{step: t.Stamped[0], txn: i, stamp: true},
				scriptEdge{step: t.Stamped[1], txn: i, end: true, stamp: true})
		}
	}
	slices.SortStableFunc(edges, func(a, b scriptEdge) int {
		if c := cmp.Compare(a.step, b.step); c != 0 || a.end == b.end {
			return c
		}
		if a.end {
			return -1
		}
		return 1
	})
	return edges
}
