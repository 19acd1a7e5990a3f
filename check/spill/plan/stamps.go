package plan

import (
	"cmp"
	"fmt"
	"slices"

	"isovet/check/timestamp"
	"isovet/history"
)

// Stamps says, if On, that the order is that of the database's timestamps, as in package timestamp. Each transaction
// reads at its start and installs at its commit; at the serializable levels it does both at its commit. No other order
// is tried. At equal timestamps installs come before reads.
type Stamps struct {
	On              bool
	Serial          bool
	Sessions        bool
	ReadOnlyAtStart bool
}

// Refusal says why timestamps decide nothing: a transaction has none (Missing), or impossible ones.
type Refusal struct {
	Place   uint64
	Missing bool
	Txn     int64
	Line    uint32
	File    string
	Field   string
	Msg     string
}

// Err returns the error that package timestamp has for it.
func (r *Refusal) Err() error {
	if r.Missing {
		return &timestamp.Missing{Txn: r.Txn, Field: r.Field}
	}
	return &history.InputError{File: r.File, Line: int(r.Line), Off: -1, Field: r.Field, Msg: r.Msg}
}

// StampViolation is a failure of an axiom, as timestamp.Violation has it.
type StampViolation struct {
	Axiom     timestamp.Axiom
	Txn       uint64 // place
	Other     uint64 // NoPlace: none
	Key       Value  // of EXT, INT, NOCONFLICT
	Op        int    // of INT: the operation's place in its transaction
	Got, Want Value  // of EXT, INT
}

// Compare orders violations by transaction.
func (v *StampViolation) Compare(w *StampViolation) int {
	return cmp.Or(cmp.Compare(v.Txn, w.Txn), v.Key.Compare(w.Key), cmp.Compare(v.Axiom, w.Axiom),
		cmp.Compare(v.Op, w.Op), cmp.Compare(v.Other, w.Other))
}

// StampSaid is what single transactions show by their timestamps.
type StampSaid struct {
	Refused *Refusal // the first
	Found   []StampViolation
	Count   [2]int64 // TIMESTAMPS and INT; Found may have fewer
}

// mostFound bounds StampSaid.Found.
const mostFound = 1 << 14

// StampMapper is the Mapper of histories that are checked by timestamps. It separates installs from reads, and has one
// more partition: the commits of transactions that write.
type StampMapper struct {
	Mapper
	Said   StampSaid
	events []stampEvent
	wrote  []uint32 // key → 1 + the last transaction met that writes it, going backwards
	final  []bool
}

// stampEvent is a transaction's part in a batch.
type stampEvent struct {
	at     Pos
	t      uint32
	start  int64
	reads  bool
	writes bool
	dead   bool // it did not commit, but others may have read from it
}

// Batch maps transactions lo to hi of a history; base is the difference between places and numbers.
func (m *StampMapper) Batch(h *history.History, lo, hi uint32, base uint64) error {
	if err := m.prepare(h, lo, hi, m.Parts+1); err != nil {
		return err
	}
	if m.of != h {
		m.wrote = slices.Grow(m.wrote[:0], h.NumKeys())[:h.NumKeys()]
		clear(m.wrote)
	}
	m.keys(h)
	m.Stats.count(h, lo, hi)
	m.events = m.events[:0]
	last := int64(First.T + 1)
	for t := lo; t < hi; t++ {
		m.place(h, t, base, &last)
	}
	slices.SortStableFunc(m.events, func(a, b stampEvent) int { return a.at.Compare(b.at) })
	for i := range m.events {
		if err := m.event(h, &m.events[i], base); err != nil {
			return err
		}
	}
	return m.flush()
}

// refuse records why timestamps decide nothing.
func (m *StampMapper) refuse(h *history.History, t uint32, base uint64, missing bool, field, msg string) {
	if m.Said.Refused == nil {
		m.Said.Refused = &Refusal{Place: base + uint64(t), Missing: missing, Txn: h.Txns.ID[t], Line: h.Txns.Line[t],
			File: h.File, Field: field, Msg: msg}
	}
}

func (m *StampMapper) found(v StampViolation) {
	i := 0
	if v.Axiom == timestamp.INT {
		i = 1
	}
	if m.Said.Count[i]++; len(m.Said.Found) < mostFound {
		m.Said.Found = append(m.Said.Found, v)
	}
}

// place finds the position of a transaction.
func (m *StampMapper) place(h *history.History, t uint32, base uint64, last *int64) {
	place := base + uint64(t)
	if t == h.Init {
		m.events = append(m.events, stampEvent{at: First, t: t, writes: true})
		m.Heads.add(Head{Session: history.NoTime, Init: true})
		return
	}
	s, c := h.StartTS(t), h.CommitTS(t)
	if h.Txns.Status[t] == history.Aborted {
		c = history.NoTime
	}
	lo, hi := h.TxnOps(t)
	writes := slices.Contains(h.Ops.Kind[lo:hi], history.Write)
	atStart := m.Stamps.Serial && m.Stamps.ReadOnlyAtStart && !writes
	dead := c == history.NoTime
	switch {
	case dead && h.Txns.Status[t] == history.Committed:
		m.refuse(h, t, base, true, "commit_ts", "")
	case dead:
	case m.Stamps.Serial && !atStart:
	case s == history.NoTime:
		m.refuse(h, t, base, true, "start_ts", "")
		dead = true
	case s > c:
		m.found(StampViolation{Axiom: timestamp.TIMESTAMPS, Txn: place, Other: NoPlace})
		dead = true
	case s == c && writes:
		m.refuse(h, t, base, false, "commit_ts", fmt.Sprintf("transaction %d writes, but commits at its start, %d; "+
			"expected a later commit timestamp", h.Txns.ID[t], c))
		dead = true
	}
	if h.Txns.Status[t] == history.Committed {
		m.Stats.Committed++
	}
	head := Head{Session: h.SessName[h.Txns.Sess[t]], T: m.Heads.t}
	add := func(at Pos, reads, writes, dead bool) {
		m.events = append(m.events, stampEvent{at, t, s, reads, writes, dead})
		*last = at.T
	}
	switch {
	case dead:
		if s != history.NoTime {
			*last = s
		}
		if writes {
			add(Pos{T: *last, N: place + 1}, false, true, true)
		}
	case m.Stamps.Serial && writes:
		add(Pos{T: c}, true, true, false)
		head.In, head.Writer, head.Begin, head.T = true, true, c, c
	case m.Stamps.Serial:
		if atStart {
			c = s
		}
		add(Pos{T: c, N: place + 1}, true, false, false)
		head.In, head.Begin, head.T = true, c, c
	default:
		add(Pos{T: s, N: place + 1}, true, false, false)
		if writes {
			add(Pos{T: c}, false, true, false)
		}
		head.In, head.Writer, head.Begin, head.T = true, writes, s, c
	}
	m.Heads.add(head)
}

// event writes a transaction's operations.
func (m *StampMapper) event(h *history.History, e *stampEvent, base uint64) error {
	place := base + uint64(e.t)
	if e.writes && !e.dead && e.t != h.Init {
		w, err := m.begin(m.Parts, e.at, place, e.start)
		if err != nil {
			return err
		}
		if w.nKeys == 0 { // all such records share one key
			w.key(history.Int, 0, nil)
		}
		w.op(Install, 0, history.Null, 0, nil)
	}
	if e.reads {
		if err := m.reads(h, e, place); err != nil {
			return err
		}
	}
	if e.writes {
		return m.writes(h, e, place)
	}
	return nil
}

// reads writes the reads of others' versions, and checks the reads of own ones.
func (m *StampMapper) reads(h *history.History, e *stampEvent, place uint64) error {
	lo, hi := h.TxnOps(e.t)
	for o := lo; o < hi; o++ {
		v := h.Ops.Ver[o]
		k := h.VerKey[v]
		switch h.Ops.Kind[o] {
		case history.Read:
			switch x := &m.by[k]; {
			case x.txn != e.t+1:
				if err := m.put(h, e, place, Read, k, v); err != nil {
					return err
				}
			case x.state != v:
				m.found(StampViolation{Axiom: timestamp.INT, Txn: place, Other: NoPlace, Op: int(o - lo),
					Key: h.Own(h.Keys[k]), Got: h.Own(h.VerValue(v)), Want: h.Own(h.VerValue(x.state))})
			}
		case history.Write:
		default:
			return &Unfit{"only reads and writes of single keys are checked out of core"}
		}
		m.by[k].txn, m.by[k].state = e.t+1, v
	}
	return nil
}

// writes writes the versions that a transaction installs, and its other writes.
func (m *StampMapper) writes(h *history.History, e *stampEvent, place uint64) error {
	lo, hi := h.TxnOps(e.t)
	for cap(m.final) < int(hi-lo) {
		m.final = make([]bool, 2*(hi-lo)+64)
	}
	final := m.final[:hi-lo]
	for o := hi; o > lo; o-- {
		if h.Ops.Kind[o-1] == history.Write {
			k := h.VerKey[h.Ops.Ver[o-1]]
			final[o-1-lo] = m.wrote[k] != e.t+1
			m.wrote[k] = e.t + 1
		}
	}
	for o := lo; o < hi; o++ {
		if h.Ops.Kind[o] != history.Write {
			continue
		}
		kind := Intermediate
		switch {
		case e.dead:
			kind = Aborted
		case final[o-lo]:
			kind = Install
		}
		v := h.Ops.Ver[o]
		if err := m.put(h, e, place, kind, h.VerKey[v], v); err != nil {
			return err
		}
	}
	return nil
}

// put writes an operation to its key's partition.
func (m *StampMapper) put(h *history.History, e *stampEvent, place uint64, kind Kind, k, v uint32) error {
	w, err := m.begin(int(m.by[k].part), e.at, place, e.start)
	if err == nil {
		m.op(h, w, kind, v)
	}
	return err
}
