// Package integers helps writers of formats whose keys and values are integers, plume and dbcop. It decides whether a
// history can be written so, and renumbers keys and values if requested.
//
// Experimental: this package may still change.
package integers

import (
	"errors"
	"fmt"
	"slices"

	"isovet/history"
)

// Numbers says how keys and values are written.
type Numbers struct {
	h *history.History
	// Order lists the transactions in writing order: the initial one, then session by session (see Session). Of the
	// transactions of unknown outcome it has only those that certainly committed, at the end.
	Order    []uint32
	renumber bool
	local    []int64 // version → number within its key, where renumbered
	skip     []bool  // operation → it is a read to leave out; nil: none is
	// fresh has, for each operation, a number within its key that replaces its version's, or 0; nil if none is
	// replaced.
	fresh []int64
}

// Explicit says which initial transactions a format can hold.
type Explicit uint8

const (
	AnyKeys Explicit = iota // the versions of some keys; the others hold 0
	AllKeys                 // a version of every key, none of them 0
	NoKeys                  // nothing: every key holds 0
)

// Of decides how to write h. Without lossy, integers stay as they are, and anything else is an error that names it: a
// text or row as a key or value, null, or an initial version that the format cannot express. With lossy such a history
// is renumbered: keys by their index from 1, the values of a key from 1, and 0 for its initial value. Operations on
// lists and predicates are always errors. Cost: linear.
//
// Of leaves out operations only if a valid history stays valid. A transaction of unknown outcome stays, as committed,
// if it committed in every order that explains the history: only then can a transaction that stays have read its write.
// The others are left out, and so are reads of versions that a left-out transaction may have written as well as another
// one: the remaining writer may come too late. In a renumbered history a read of an initial value is left out too if a
// transaction writes the same value, such as null by a delete; that write gets a number of its own. Orders that explain
// the whole history explain the rest. The transactions of unknown outcome that stay are in sessions of their own.
func Of(h *history.History, lossy bool, init Explicit) (*Numbers, error) {
	if h.HasLists() {
		return nil, fmt.Errorf("the history has list operations; expected reads and writes only")
	}
	if h.HasPredicates() {
		return nil, fmt.Errorf("the history has predicate operations; expected reads and writes only")
	}
	n := &Numbers{h: h}
	err := n.fits(init)
	if err != nil && !lossy {
		return nil, err
	}
	if err != nil {
		n.renumber = true
		n.local = make([]int64, h.NumVersions())
		count := make([]int64, h.NumKeys())
		for v, k := range h.VerKey {
			if h.InitVer[k] != uint32(v) {
				count[k]++
				n.local[v] = count[k]
			}
		}
		n.rewritten(count)
	}
	// An initial transaction is left out if it writes only the format's own initial values.
	if h.Init != history.None && !n.renumber && n.writesNonzero(h.Init) {
		n.Order = append(n.Order, h.Init)
	}
	stays := n.unknown()
	for s := range h.NumSessions() {
		for _, t := range h.SessTxn[h.SessOff[s]:h.SessOff[s+1]] {
			if t != h.Init && h.Txns.Status[t] != history.Unknown {
				n.Order = append(n.Order, t)
			}
		}
	}
	for t, s := range stays {
		if s {
			n.Order = append(n.Order, uint32(t))
		}
	}
	return n, nil
}

// Session returns the session, from 0, in which a transaction is written. A transaction of unknown outcome gets a
// session of its own: it may have taken effect after its client's next transaction.
func (n *Numbers) Session(t uint32) int64 {
	if n.h.Txns.Status[t] == history.Unknown {
		return int64(n.h.NumSessions()) + int64(t)
	}
	return int64(n.h.Txns.Sess[t])
}

// rewritten leaves out reads of an initial version that a transaction writes again, and gives each such write a number
// of its own, from count on for each key.
func (n *Numbers) rewritten(count []int64) {
	h := n.h
	for op, v := range h.Ops.Ver {
		k := h.VerKey[v]
		if h.Ops.Kind[op] != history.Write || h.InitVer[k] != v || n.of(uint32(op), h.Init) {
			continue
		}
		if n.fresh == nil {
			n.fresh = make([]int64, h.NumOps())
		}
		count[k]++
		n.fresh[op] = count[k]
	}
	if n.fresh == nil {
		return
	}
	again := make([]bool, h.NumKeys())
	for op, x := range n.fresh {
		if x > 0 {
			again[h.VerKey[h.Ops.Ver[op]]] = true
		}
	}
	for op, v := range h.Ops.Ver {
		if k := h.VerKey[v]; h.Ops.Kind[op] == history.Read && h.InitVer[k] == v && again[k] {
			n.leaveOut(uint32(op))
		}
	}
}

// of reports whether an operation belongs to a transaction.
func (n *Numbers) of(op, t uint32) bool {
	if t == history.None {
		return false
	}
	lo, hi := n.h.TxnOps(t)
	return lo <= op && op < hi
}

func (n *Numbers) leaveOut(op uint32) {
	if n.skip == nil {
		n.skip = make([]bool, n.h.NumOps())
	}
	n.skip[op] = true
}

// Skip reports whether an operation of a transaction in Order is left out.
func (n *Numbers) Skip(op uint32) bool { return n.skip != nil && n.skip[op] }

// unknown marks the transactions of unknown outcome that stay, and leaves out reads of versions that left-out
// transactions could have written. It returns nil if all outcomes are known. Cost: linear.
func (n *Numbers) unknown() []bool {
	h := n.h
	if !slices.Contains(h.Txns.Status, history.Unknown) {
		return nil
	}
	// The writer of a version that did not abort, or several.
	const several = history.None - 1
	writer := slices.Repeat([]uint32{history.None}, h.NumVersions())
	for _, v := range h.InitVer {
		if v != history.None {
			writer[v] = several
		}
	}
	var todo []uint32 // transactions that certainly committed
	for t := range uint32(h.NumTxns()) {
		if h.Txns.Status[t] == history.Aborted {
			continue
		}
		if h.Txns.Status[t] == history.Committed {
			todo = append(todo, t)
		}
		for op := range h.EachOp(t) {
			if v := h.Ops.Ver[op]; h.Ops.Kind[op] == history.Write {
				if writer[v] == history.None || writer[v] == t {
					writer[v] = t
				} else {
					writer[v] = several
				}
			}
		}
	}
	stays := make([]bool, h.NumTxns())
	for len(todo) > 0 {
		lo, hi := h.TxnOps(todo[len(todo)-1])
		todo = todo[:len(todo)-1]
		for op := lo; op < hi; op++ {
			if h.Ops.Kind[op] != history.Read {
				continue
			}
			if t := writer[h.Ops.Ver[op]]; t < several && h.Txns.Status[t] == history.Unknown && !stays[t] {
				stays[t] = true
				todo = append(todo, t)
			}
		}
	}
	// Several transactions could have written the version. If those of unknown outcome all stay, nothing is lost.
	gone := make([]bool, h.NumVersions())
	for t := range uint32(h.NumTxns()) {
		if h.Txns.Status[t] != history.Unknown || stays[t] {
			continue
		}
		for op := range h.EachOp(t) {
			if v := h.Ops.Ver[op]; h.Ops.Kind[op] == history.Write && writer[v] == several {
				gone[v] = true
			}
		}
	}
	for op, v := range h.Ops.Ver {
		if h.Ops.Kind[op] == history.Read && gone[v] {
			n.leaveOut(uint32(op))
		}
	}
	return stays
}

func (n *Numbers) writesNonzero(t uint32) bool {
	lo, hi := n.h.TxnOps(t)
	return slices.ContainsFunc(n.h.Ops.Ver[lo:hi], func(v uint32) bool { return n.h.VerN[v] != 0 })
}

// fits returns an error that names the first thing that cannot be written without renumbering.
func (n *Numbers) fits(init Explicit) error {
	h := n.h
	for k, key := range h.Keys {
		if key.Kind != history.Int {
			return fmt.Errorf("key %s is a %s; expected an integer", h.KeyString(uint32(k)), key.Kind)
		}
	}
	for v, kind := range h.VerKind {
		if kind != history.Int {
			return fmt.Errorf("key %s has the value %s; expected an integer", h.KeyString(h.VerKey[v]),
				h.ValueString(uint32(v)))
		}
	}
	covered := make([]bool, h.NumKeys())
	explicit := h.Init != history.None && n.writesNonzero(h.Init)
	if explicit {
		lo, hi := h.TxnOps(h.Init)
		for _, v := range h.Ops.Ver[lo:hi] {
			covered[h.VerKey[v]] = init == AnyKeys || h.VerN[v] != 0
		}
	}
	if explicit && init == NoKeys {
		return errors.New("the history has an initial transaction; keys of the format hold 0 at first")
	}
	for k, v := range h.InitVer {
		at := uint32(k)
		switch {
		case covered[k]:
		case v != history.None && h.VerN[v] != 0:
			return fmt.Errorf("key %s holds %s at first; expected 0", h.KeyString(at), h.ValueString(v))
		case explicit && init == AllKeys:
			return fmt.Errorf("key %s: the initial transaction does not write it, or writes 0; expected another "+
				"first value for every key", h.KeyString(at))
		}
	}
	for v, x := range h.VerN {
		if k := h.VerKey[v]; x == 0 && h.InitVer[k] != uint32(v) && !covered[k] {
			return fmt.Errorf("key %s has the value 0, which readers of the format take for the initial value",
				h.KeyString(k))
		}
	}
	// In dbcop's format 0 is the initial value and may be written too. PolySI refuses such writes, Plume ignores them.
	for t := uint32(0); init != AllKeys && t < uint32(h.NumTxns()); t++ {
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi && t != h.Init; op++ {
			v := h.Ops.Ver[op]
			if k := h.VerKey[v]; h.Ops.Kind[op] == history.Write && h.VerN[v] == 0 && !covered[k] {
				return fmt.Errorf("key %s is written as 0, which it holds at first", h.KeyString(k))
			}
		}
	}
	return nil
}

// Key returns the number of a key.
func (n *Numbers) Key(k uint32) int64 {
	if n.renumber {
		return int64(k) + 1
	}
	return n.h.Keys[k].N
}

// Value returns the number of the version that an operation read or wrote.
func (n *Numbers) Value(op uint32) int64 {
	v := n.h.Ops.Ver[op]
	switch {
	case !n.renumber:
		return n.h.VerN[v]
	case n.fresh != nil && n.fresh[op] > 0:
		return n.fresh[op]
	}
	return n.local[v]
}
