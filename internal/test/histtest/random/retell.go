package random

import (
	"fmt"
	"math/rand/v2"

	"isovet/history"
	"isovet/internal/test/must"
)

// Retold says how a history of registers is told otherwise. The zero value tells it as it is.
type Retold struct {
	Keys     bool // keys get other names, numbered otherwise
	Values   bool // every value but null is another, equal ones stay equal
	Sessions bool // sessions get other names
	Lines    bool // transactions stand in another order, each session's own kept
	NoTimes  bool // times are left out
}

// Disguised tells a history with all other names, and in another order.
var Disguised = Retold{Keys: true, Values: true, Sessions: true, Lines: true}

// Retell tells the same history otherwise.
func Retell(h *history.History, c Retold, seed uint64) *history.History {
	r := rand.New(rand.NewPCG(seed, 77))
	b := history.NewBuilder()
	names, sess := r.Perm(h.NumKeys()), r.Perm(h.NumSessions())
	key := func(k uint32) uint32 {
		switch v := h.Keys[k]; {
		case c.Keys:
			return b.Key(b.StringValue(fmt.Appendf(nil, "key %d", names[k])))
		case v.Kind == history.String:
			return b.Key(b.StringValue(h.Texts.Text(uint32(v.N))))
		default:
			return b.Key(v)
		}
	}
	value := func(v history.Value) history.Value {
		if c.Values && v.Kind == history.Int {
			v.N = 1<<40 - 7*v.N
		}
		return v
	}
	b.Initial = value(h.Initial)
	if c.Keys { // numbers follow the order of appearance
		for _, k := range r.Perm(h.NumKeys()) {
			key(uint32(k))
		}
	}
	put := func(t uint32, head history.TxnHead) {
		for op, v := range h.EachOp(t) {
			if k := key(h.VerKey[v]); h.Ops.Kind[op] == history.Read {
				b.Read(k, value(h.VerValue(v)))
			} else {
				b.Write(k, value(h.VerValue(v)))
			}
		}
		b.EndTxn(head)
	}
	if h.Init != history.None {
		head := history.NewTxnHead()
		head.Init = true
		put(h.Init, head)
	}
	var order []int
	for s := range h.NumSessions() {
		for range h.SessOff[s+1] - h.SessOff[s] {
			order = append(order, s)
		}
	}
	if c.Lines {
		r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	next := append([]uint32(nil), h.SessOff...)
	for _, s := range order {
		t := h.SessTxn[next[s]]
		next[s]++
		if t == h.Init {
			continue
		}
		head := history.NewTxnHead()
		head.Session, head.HasSess = int64(s), true
		if c.Sessions {
			head.Session = int64(sess[s])
		}
		head.Status = h.Txns.Status[t]
		if !c.NoTimes {
			head.Start, head.End, head.StartTS, head.CommitTS = h.Start(t), h.End(t), h.StartTS(t), h.CommitTS(t)
		}
		put(t, head)
	}
	return must.Have(b.Build())
}
