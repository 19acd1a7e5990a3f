// Package oracletest makes histories for tests: tiny random ones, and small ones written by hand in the papers'
// notation.
package oracletest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"

	"isovet/history"
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

var (
	txnLine = regexp.MustCompile(`^T(\d+)(?: s(\d+))?(?: \[(-?\d+),(-?\d+)\])?(?: (ABORTED|UNKNOWN|INIT))?:(.*)$`)
	opText  = regexp.MustCompile(`^\s*([rwa])\((\w+),\s*(\[[^\]]*\]|[^)]*)\)`)
)

// Parse reads a history with one transaction a line, as errata §5.1 writes them: T<id> s<session> [<start>,<end>]:
// r(x,0) w(x,1) a(l,2) r(l,[2]); the session and the times may be missing, ABORTED, UNKNOWN or INIT may follow them.
// Every key is 0 at first. It panics on what it cannot read.
func Parse(text string) *history.History {
	b := history.NewBuilder()
	b.Initial = history.IntValue(0)
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		m := txnLine.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			panic("oracletest: " + line)
		}
		head := history.NewTxnHead()
		head.Line = uint32(i + 1)
		head.ID, head.HasID = number(m[1]), true
		if m[2] != "" {
			head.Session, head.HasSess = number(m[2]), true
		}
		if m[3] != "" {
			head.Start, head.End = number(m[3]), number(m[4])
		}
		switch m[5] {
		case "ABORTED":
			head.Status = history.Aborted
		case "UNKNOWN":
			head.Status = history.Unknown
		case "INIT":
			head.Init = true
		}
		for rest := strings.TrimSpace(m[6]); rest != ""; rest = strings.TrimSpace(rest) {
			o := opText.FindStringSubmatch(rest)
			if o == nil {
				panic("oracletest: " + rest)
			}
			rest = rest[len(o[0]):]
			k := b.Key(b.StringValue([]byte(o[2])))
			var v any
			if err := json.Unmarshal([]byte(o[3]), &v); err != nil {
				panic("oracletest: " + rest)
			}
			switch {
			case o[1] == "w":
				b.Write(k, value(b, v))
			case o[1] == "a":
				b.Append(k, value(b, v))
			default:
				if l, ok := v.([]any); ok {
					var elems []history.Value
					for _, e := range l {
						elems = append(elems, value(b, e))
					}
					b.ReadList(k, elems)
				} else {
					b.Read(k, value(b, v))
				}
			}
		}
		b.EndTxn(head)
	}
	h, err := b.Build()
	if err != nil {
		panic("oracletest: " + err.Error())
	}
	return h
}

func value(b *history.Builder, v any) history.Value {
	switch v := v.(type) {
	case float64:
		return history.IntValue(int64(v))
	case string:
		return b.StringValue([]byte(v))
	}
	return history.Value{}
}

func number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// String writes a history as Parse reads it; predicate operations, which Parse does not read, as package notation does.
func String(h *history.History) string {
	var b strings.Builder
	fmt.Fprintf(&b, "initial %s\n", h.Texts.AppendValue(nil, h.Initial))
	for t := range uint32(h.NumTxns()) {
		fmt.Fprintf(&b, "T%d s%d [%d,%d]", h.Txns.ID[t], h.Txns.Sess[t], h.Start(t), h.End(t))
		switch {
		case t == h.Init:
			b.WriteString(" INIT")
		case h.Txns.Status[t] != history.Committed:
			b.WriteString(" " + strings.ToUpper(h.Txns.Status[t].String()))
		}
		b.WriteByte(':')
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi; op++ {
			v := h.Ops.Ver[op]
			switch k := h.Ops.Kind[op]; k {
			case history.PredRead, history.PredWrite:
				var rows []string
				for j := h.Preds.Off[v]; j < h.Preds.Off[v+1]; j++ {
					row, before, after := "", h.Preds.Old[j], h.Preds.New[j]
					if before != history.None {
						row = h.KeyString(h.VerKey[before]) + "=" + h.ValueString(before)
					} else {
						row = h.KeyString(h.VerKey[after])
					}
					if after != history.None {
						row += "->" + h.ValueString(after)
					}
					rows = append(rows, row)
				}
				fmt.Fprintf(&b, " %s%s[%s]", k, h.Texts.Text(h.Preds.Pred[v]), strings.Join(rows, ","))
			case history.ReadList:
				var l []string
				for _, e := range h.Lists.Elem[h.Lists.Off[v]:h.Lists.Off[v+1]] {
					l = append(l, h.ValueString(e))
				}
				fmt.Fprintf(&b, " r(%s,[%s])", h.KeyString(h.OpKey(op)), strings.Join(l, ","))
			default:
				fmt.Fprintf(&b, " %s(%s,%s)", h.Ops.Kind[op], h.KeyString(h.OpKey(op)), h.ValueString(v))
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Anomaly is a row of errata §5.1: a named history, the levels that it violates, and the name of what is found in it.
type Anomaly struct {
	Name    string
	History string
	// Violated at: snapshot isolation without and with sessions, serializable without and with sessions, strict
	// serializable.
	SI, SessionSI, SER, SessionSER, StrictSER bool
}

// Anomalies is the table of errata §5.1.
var Anomalies = []Anomaly{
	{"thin-air-read", `T1 s1 [1,2]: r(x,7)`, true, true, true, true, true},
	{"G1a", "T1 s1 [1,2] ABORTED: r(x,0) w(x,1)\nT2 s2 [3,4]: r(x,1)", true, true, true, true, true},
	{"future-read", `T1 s1 [1,2]: r(x,1) w(x,1)`, true, true, true, true, true},
	{"not-my-last-write", `T1 s1 [1,2]: r(x,0) w(x,1) w(x,2) r(x,1)`, true, true, true, true, true},
	{"not-my-own-write", "T1 s1 [1,4]: r(x,0) w(x,1) r(x,2)\nT2 s2 [2,3]: r(x,0) w(x,2)", true, true, true, true, true},
	{"not-my-own-write", `T1 s1 [1,2]: r(x,0) w(x,1) r(x,0)`, true, true, true, true, true},
	{"G1b", "T1 s1 [1,4]: r(x,0) w(x,1) w(x,2)\nT2 s2 [2,3]: r(x,1)", true, true, true, true, true},
	{"non-repeatable-read", "T1 s1 [2,3]: r(x,0) w(x,1)\nT2 s2 [1,4]: r(x,0) r(x,1)", true, true, true, true, true},
	{"session-guarantee-violation", "T1 s1 [1,2]: r(x,0) w(x,1)\nT2 s2 [3,4]: r(x,1) w(x,2)\nT3 s2 [5,6]: r(x,1)",
		false, true, false, true, true},
	// non-monotonic read
	{"non-monotonic-read", "T1 s1 [1,2]: r(x,0) w(x,1)\nT2 s2 [3,5]: r(x,1) r(y,0) w(x,2) w(y,1)\nT3 s3 [4,6]: " +
		"r(y,1) r(x,1)", true, true, true, true, true},
	// fractured read
	{"fractured-read", "T1 s1 [1,4]: r(x,0) r(y,0) w(x,1) w(y,1)\nT2 s2 [2,5]: r(x,1) r(y,0)", true, true, true, true,
		true},
	{"fractured-read", "T1 s1 [1,4]: r(x,0) r(y,0) w(x,1) w(y,1)\nT2 s2 [2,5]: r(y,0) r(x,1)", true, true, true, true,
		true},
	{"causality-violation", "T1 s1 [1,2]: r(x,0) w(x,1)\nT2 s2 [3,4]: r(x,1) r(y,0) w(y,1)\nT3 s3 [5,6]: r(x,0) r(y,1)",
		true, true, true, true, true},
	{"long-fork", "T1 s1 [1,3]: r(x,0) w(x,1)\nT2 s2 [1,3]: r(y,0) w(y,1)\nT3 s3 [2,5]: r(x,1) r(y,0)\nT4 s4 [2,5]: " +
		"r(x,0) r(y,1)", true, true, true, true, true},
	{"lost-update", "T1 s1 [1,3]: r(x,0) w(x,1)\nT2 s2 [2,4]: r(x,0) w(x,2)", true, true, true, true, true},
	{"write-skew", "T1 s1 [1,3]: r(x,0) r(y,0) w(x,1)\nT2 s2 [2,4]: r(x,0) r(y,0) w(y,1)", false, false, true, true,
		true},
	// Fekete's read-only anomaly
	{"read-only-anomaly", "T1 s1 [1,6]: r(x,0) r(y,0) w(x,2)\nT2 s2 [2,3]: r(y,0) w(y,1)\nT3 s3 [4,5]: r(x,0) r(y,1)",
		false, false, true, true, true},
	{"stale-read", "T1 s1 [1,2]: r(x,0) w(x,1)\nT2 s2 [3,4]: r(x,0)", false, false, false, false, true},
	{"causal-reverse", "T1 s1 [1,2]: r(x,0) w(x,1)\nT2 s2 [3,4]: r(y,0) w(y,1)\nT3 s3 [1,5]: r(x,0) r(y,1)", false,
		false, false, false, true},
	{"", "T1 s1 [1,2]: r(x,0) w(x,1)\nT2 s2 [3,4]: r(x,1) w(x,2)\nT3 s1 [5,6]: r(x,2)", false, false, false, false,
		false},
}
