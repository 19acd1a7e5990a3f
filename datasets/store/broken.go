package store

import (
	"fmt"
	"slices"
	"strings"

	"isovet/datasets/workload"
)

// Break is a part of the concurrency control that fails once in a run.
type Break uint8

const (
	BreakNothing      Break = iota
	BreakVersion            // a read returns the version before the one that it should
	BreakLock               // a row's lock is given to a second transaction
	BreakFirstUpdater       // a write goes on although the row was written and committed since the snapshot
	BreakCertifier          // a transaction that the certifier refuses goes on
	BreakOwnWrite           // a read does not see its transaction's own last write of the row
)

var breakNames = [...]string{"", "version", "lock", "first-updater", "certifier", "own-write"}

func (b Break) String() string { return breakNames[b] }

// Breaks returns the names of the parts that can fail.
func Breaks() []string { return breakNames[1:] }

// ParseBreak reads the name of a part. "" means nothing.
func ParseBreak(s string) (Break, error) {
	if i := slices.Index(breakNames[:], s); i >= 0 {
		return Break(i), nil
	}
	return 0, fmt.Errorf("%q cannot be broken; expected one of %s", s, strings.Join(Breaks(), ", "))
}

// Has reports whether the concurrency control of an isolation level has this part.
func (i Isolation) Has(b Break) bool {
	switch b {
	case BreakVersion, BreakOwnWrite:
		return i != ReadUncommitted
	case BreakFirstUpdater:
		return i == Snapshot || i == SerializableSnapshot
	case BreakCertifier:
		return i == SerializableSnapshot
	}
	return true
}

// ownWrite is a write of a transaction that ignored another transaction's lock.
type ownWrite struct {
	row      int32
	val, pay int64
}

// breaks reports whether part b fails now for session i. It fails at the first opportunity after cfg.BreakAt commits,
// and for the rest of that transaction. If the transaction aborts, it fails again at the next opportunity.
func (s *store) breaks(b Break, i int32) bool {
	if s.cfg.Break != b || s.broken || s.log.Stats.Committed < s.cfg.BreakAt || s.breaker != none && s.breaker != i {
		return false
	}
	s.breaker = i
	return true
}

// mended ends the failure when its transaction ends.
func (s *store) mended(i int32, committed bool) {
	if s.breaker == i {
		s.broken, s.breaker = committed, none
	}
	s.sess[i].own = s.sess[i].own[:0]
}

// unlocked runs an operation on a plain row without the lock, if another transaction has the lock and locks fail now,
// or if this transaction wrote the row so before. It returns whether it did.
func (s *store) unlocked(i, r int32, op *workload.Op) (ok bool) {
	x, w := &s.sess[i], &s.rows[r]
	mine := -1
	for j := range x.own {
		if x.own[j].row == r {
			mine = j
		}
	}
	tab := &s.log.Tables[op.Key.Table()]
	plain := tab.Columns == nil && tab.WideOf == nil && !tab.List && (op.Kind == workload.Write ||
		op.Kind == workload.Read && (s.locking || mine >= 0))
	if mine < 0 && !(plain && w.x != none && w.x != i && s.breaks(BreakLock, i)) {
		return false
	}
	w.touched = true
	if op.Kind == workload.Read {
		v := &s.versions[w.head]
		val, pay := v.val, v.pay
		if mine >= 0 {
			val, pay = x.own[mine].val, x.own[mine].pay
		}
		op.Payload, op.Absent = pay, val == Absent
		x.ops = append(x.ops, LogOp{Row: uint32(r), Value: val})
		return true
	}
	if mine < 0 {
		mine = len(x.own)
		x.own = append(x.own, ownWrite{row: r})
	}
	o := &x.own[mine]
	o.val, o.pay = Absent, 0
	if op.Kind == workload.Write {
		o.val, o.pay = s.version(i, op), op.Payload
	}
	x.ops = append(x.ops, LogOp{Row: uint32(r), Value: o.val, Kind: Write})
	return true
}

// stale returns the version before the one that a read should return, if there is one and versions fail now.
func (s *store) stale(i, r int32, v *version) (val, pay int64, ok bool) {
	if s.cfg.Break != BreakVersion {
		return 0, 0, false
	}
	w := &s.rows[r]
	switch {
	case s.multi && v.prev != none:
		p := &s.versions[v.prev]
		val, pay = p.val, p.pay
	case !s.multi && w.hadOld:
		val, pay = w.old, w.oldPay
	default:
		return 0, 0, false
	}
	return val, pay, s.breaks(BreakVersion, i)
}

// forgotten returns what a transaction knew of a row before it last wrote it, if own writes fail now.
func (s *store) forgotten(i, r int32) (val int64, ok bool) {
	if s.cfg.Break != BreakOwnWrite {
		return 0, false
	}
	wrote := false
	for _, op := range slices.Backward(s.sess[i].ops) {
		switch tab := &s.log.Tables[s.log.Rows[r].Table()]; {
		case op.Row != uint32(r) || op.Kind > Write || tab.Columns != nil || tab.WideOf != nil || tab.Counter:
		case wrote:
			return op.Value, s.breaks(BreakOwnWrite, i)
		default:
			wrote = op.Kind == Write
		}
	}
	return 0, false
}
