// Package integers is for writers of formats whose keys and values are integers: what of a history fits, and how the rest is
// renumbered. It is shared by package plume and package dbcop.
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
	// Order has the transactions in the order to write them: the initial one first, then session by session. Of those of unknown
	// outcome it has the ones that were seen, which are to be written as committed.
	Order    []uint32
	renumber bool
	local    []int64 // version → number within its key, where renumbered
}

// Explicit is what a format can hold of an initial transaction.
type Explicit uint8

const (
	AnyKeys Explicit = iota // the versions of some keys; the others hold 0
	AllKeys                 // a version of every key, none of them 0
	NoKeys                  // nothing: every key holds 0
)

// Of decides how h is written. Without lossy, integers stay what they are and anything else is an error that says what it is:
// a text or row as a key or value, null, an initial version that cannot be said. With lossy such a history is renumbered: keys by
// their dense index from 1, the values of a key from 1, and 0 for what it holds at first. Operations on lists and predicates
// have no place in either and are errors always. Cost: linear.
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
	}
	// An initial transaction that says no more than the format says by itself is left out.
	if h.Init != history.None && !n.renumber && n.writesNonzero(h.Init) {
		n.Order = append(n.Order, h.Init)
	}
	seen := seenUnknown(h)
	for s := range h.NumSessions() {
		for _, t := range h.SessTxn[h.SessOff[s]:h.SessOff[s+1]] {
			if t != h.Init && (h.Txns.Status[t] != history.Unknown || seen[t]) {
				n.Order = append(n.Order, t)
			}
		}
	}
	return n, nil
}

// seenUnknown marks the transactions of unknown outcome of which somebody committed, or one of them, has read a write: they did
// commit. nil if there are none of unknown outcome. Cost: linear.
func seenUnknown(h *history.History) []bool {
	if !slices.Contains(h.Txns.Status, history.Unknown) {
		return nil
	}
	// The writes of unknown outcome, in a list for each version.
	first := make([]uint32, h.NumVersions())
	for v := range first {
		first[v] = history.None
	}
	type write struct{ txn, next uint32 }
	var writes []write
	var todo []uint32 // transactions that did commit
	for t := range uint32(h.NumTxns()) {
		switch h.Txns.Status[t] {
		case history.Committed:
			todo = append(todo, t)
		case history.Unknown:
			lo, hi := h.TxnOps(t)
			for op := lo; op < hi; op++ {
				if v := h.Ops.Ver[op]; h.Ops.Kind[op] == history.Write {
					writes = append(writes, write{t, first[v]})
					first[v] = uint32(len(writes)) - 1
				}
			}
		}
	}
	seen := make([]bool, h.NumTxns())
	for len(todo) > 0 {
		lo, hi := h.TxnOps(todo[len(todo)-1])
		todo = todo[:len(todo)-1]
		for op := lo; op < hi; op++ {
			if h.Ops.Kind[op] != history.Read {
				continue
			}
			v := h.Ops.Ver[op]
			for i := first[v]; i != history.None; i = writes[i].next {
				if t := writes[i].txn; !seen[t] {
					seen[t] = true
					todo = append(todo, t)
				}
			}
			first[v] = history.None
		}
	}
	return seen
}

func (n *Numbers) writesNonzero(t uint32) bool {
	lo, hi := n.h.TxnOps(t)
	for _, v := range n.h.Ops.Ver[lo:hi] {
		if n.h.VerN[v] != 0 {
			return true
		}
	}
	return false
}

// fits reports what does not fit as it is.
func (n *Numbers) fits(init Explicit) error {
	h := n.h
	for k, key := range h.Keys {
		if key.Kind != history.Int {
			return fmt.Errorf("key %s is a %s; expected an integer", h.KeyString(uint32(k)), key.Kind)
		}
	}
	for v, kind := range h.VerKind {
		if kind != history.Int {
			return fmt.Errorf("key %s has the value %s; expected an integer", h.KeyString(h.VerKey[v]), h.ValueString(uint32(v)))
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
			return fmt.Errorf("key %s: the initial transaction does not write it, or writes 0; expected one that gives every key another value", h.KeyString(at))
		}
	}
	for v, x := range h.VerN {
		if k := h.VerKey[v]; x == 0 && h.InitVer[k] != uint32(v) && !covered[k] {
			return fmt.Errorf("key %s has the value 0, which readers of the format take for its initial one", h.KeyString(k))
		}
	}
	// dbcop's 0 is the initial one and a written one alike; a written one in the texts makes its key absent at first.
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

// Value returns the number of a version.
func (n *Numbers) Value(v uint32) int64 {
	if n.renumber {
		return n.local[v]
	}
	return n.h.VerN[v]
}
