// Package oracletest makes histories for tests: tiny random ones, and small ones written by hand in the papers'
// notation.
package oracletest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"

	"isovet/history"
	"isovet/internal/test/histtest/notation"
)

// Shape says what a random history may hold.
type Shape struct {
	Txns, Keys, Sessions int // at most, at least 1 each
	Ops                  int // of a transaction, at most
	Duplicates           bool
	Deletes              bool
	Aborted              bool
	Unknown              bool
	Lists                bool
	Init                 bool // perhaps an initial transaction
	Torn                 bool // reads of one transaction may be of several states, as below snapshot isolation
}

// Random makes a tiny history from a seed: transactions executed one after the other, some on an old state, then
// perhaps one read changed. So about half of them are serializable, and most others are nearly. Every committed
// transaction has times.
func Random(seed uint64, s Shape) *history.History {
	rng := rand.New(rand.NewPCG(seed, 0x15071e7))
	n := 1 + rng.IntN(s.Txns)
	keys := 1 + rng.IntN(s.Keys)
	sessions := 1 + rng.IntN(s.Sessions)
	stale, wild := rng.IntN(3) == 0, rng.IntN(3) == 0
	jitter := int64(1 + rng.IntN(40))
	torn := s.Torn && rng.IntN(3) > 0
	b := history.NewBuilder()
	if rng.IntN(2) == 0 {
		b.Initial = history.IntValue(0)
	}
	isList := make([]bool, keys)
	for k := range isList {
		isList[k] = s.Lists && rng.IntN(2) == 0
	}
	type cell struct {
		v    history.Value
		list []history.Value
	}
	state := make([]cell, keys)
	for k := range state {
		state[k].v = b.Initial
	}
	states := [][]cell{state}
	next := int64(1)
	written := make([][]history.Value, keys)
	value := func(k int) history.Value {
		switch {
		case s.Deletes && rng.IntN(4) == 0:
			return history.Value{}
		case s.Duplicates && rng.IntN(2) == 0:
			return history.IntValue(int64(rng.IntN(3)))
		}
		next++
		return history.IntValue(next)
	}
	key := func(k int) uint32 { return b.Key(history.IntValue(int64(k))) }
	if s.Init && rng.IntN(2) == 0 {
		head := history.NewTxnHead()
		head.Init = true
		for k := range keys {
			if rng.IntN(3) > 0 {
				v := value(k)
				if isList[k] {
					b.Append(key(k), v)
					state[k].list = append(state[k].list, v)
				} else {
					b.Write(key(k), v)
					state[k].v = v
				}
				written[k] = append(written[k], v)
			}
		}
		b.EndTxn(head)
	}
	odd := -1 // the transaction one of whose reads is changed
	if rng.IntN(2) == 0 {
		odd = rng.IntN(n)
	}
	for i := range n {
		from := states[len(states)-1]
		if stale && rng.IntN(2) == 0 {
			from = states[rng.IntN(len(states))]
		}
		mine := make([]cell, keys)
		copy(mine, from)
		own := make([][]history.Value, keys)
		wrote := make([]bool, keys)
		ops := 1 + rng.IntN(s.Ops)
		for range ops {
			k := rng.IntN(keys)
			at := from
			if torn && !wrote[k] && rng.IntN(2) == 0 {
				at = states[rng.IntN(len(states))]
			} else if torn && rng.IntN(2) == 0 {
				at = states[len(states)-1]
			}
			change := wild && rng.IntN(3) == 0 || i == odd && rng.IntN(2) == 0
			switch {
			case rng.IntN(2) == 0 && isList[k]:
				l := append([]history.Value(nil), mine[k].list...)
				if torn {
					l = append(append([]history.Value(nil), at[k].list...), own[k]...)
				}
				if change && len(l) > 0 {
					odd = -1
					j := rng.IntN(len(l))
					if rng.IntN(2) == 0 {
						l = l[:j]
					} else {
						l[0], l[j] = l[j], l[0]
					}
				}
				b.ReadList(key(k), l)
			case isList[k]:
				next++
				v := history.IntValue(next)
				mine[k].list = append(mine[k].list[:len(mine[k].list):len(mine[k].list)], v)
				own[k] = append(own[k], v)
				b.Append(key(k), v)
			case rng.IntN(2) == 0:
				v := mine[k].v
				if torn && !wrote[k] {
					v = at[k].v
				}
				if change {
					odd = -1
					if m := len(written[k]); m > 0 && rng.IntN(4) > 0 {
						v = written[k][rng.IntN(m)]
					} else if rng.IntN(3) > 0 {
						v = b.Initial
					} else {
						v = history.IntValue(next + 1) // of the next write, or of nobody
					}
				}
				b.Read(key(k), v)
			default:
				v := value(k)
				mine[k].v, wrote[k] = v, true
				written[k] = append(written[k], v)
				b.Write(key(k), v)
			}
		}
		head := history.NewTxnHead()
		head.Session, head.HasSess = int64(rng.IntN(sessions)), true
		at := int64(100 + 10*i)
		head.Start, head.End = at-rng.Int64N(jitter), at+rng.Int64N(jitter)
		head.ID, head.HasID = int64(i+1), true
		lands := true
		switch {
		case s.Aborted && rng.IntN(6) == 0:
			head.Status = history.Aborted
			lands = rng.IntN(4) == 0
		case s.Unknown && rng.IntN(4) == 0:
			head.Status = history.Unknown
			lands = rng.IntN(2) == 0
		}
		b.EndTxn(head)
		if lands {
			state := make([]cell, keys)
			copy(state, states[len(states)-1])
			for k := range state {
				if wrote[k] {
					state[k].v = mine[k].v
				}
				if len(own[k]) > 0 {
					l := state[k].list
					state[k].list = append(l[:len(l):len(l)], own[k]...)
				}
			}
			states = append(states, state)
		}
	}
	h, err := b.Build()
	if err != nil {
		panic(fmt.Sprintf("oracletest: seed %d: %v", seed, err))
	}
	return h
}

var txnLine = regexp.MustCompile(`^T(\d+)(?: (s\d+))?(?: (\[-?\d+,-?\d+\]))?(?: (ABORTED|UNKNOWN|INIT))?:(.*)$`)

// Parse reads a history with one transaction a line, as errata §5.1 writes them: T<id> s<session> [<start>,<end>]:
// r(x,0) w(x,1) a(l,2) r(l,[2]); the session and the times may be missing, ABORTED, UNKNOWN or INIT may follow them.
// Every key is 0 at first. It panics on what it cannot read.
func Parse(text string) *history.History {
	var segments []string
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		m := txnLine.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			panic("oracletest: " + line)
		}
		session := cmp.Or(map[string]string{"INIT": "init"}[m[4]], m[2], "_")
		mark := map[string]string{"ABORTED": "!", "UNKNOWN": "?"}[m[4]]
		if m[3] != "" {
			mark += "@" + m[3]
		}
		segments = append(segments, session+"/"+m[1]+":"+m[5]+" "+mark)
	}
	return notation.MustParse("init=0:" + strings.Join(segments, "|"))
}

// String writes a history as package notation does.
func String(h *history.History) string { return notation.Format(h) }
