package integers

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"isovet/history"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

type op struct {
	write bool
	key   history.Value
	value history.Value
}

type txn struct {
	session int64
	status  history.Status
	init    bool
	ops     []op
}

func build(t testing.TB, initial history.Value, txns ...txn) *history.History {
	t.Helper()
	b := history.NewBuilder()
	b.Initial = initial
	for _, x := range txns {
		for _, o := range x.ops {
			if o.write {
				b.Write(b.Key(o.key), o.value)
			} else {
				b.Read(b.Key(o.key), o.value)
			}
		}
		h := history.NewTxnHead()
		h.HasSess, h.Session, h.Status, h.Init = true, x.session, x.status, x.init
		b.EndTxn(h)
	}
	return must.Get(b.Build())(t)
}

var zero, null = history.IntValue(0), history.Value{}

func w(k, v int64) op { return op{true, history.IntValue(k), history.IntValue(v)} }
func r(k, v int64) op { return op{false, history.IntValue(k), history.IntValue(v)} }

// What fits stays what it is, sessions one after the other, the initial transaction first.
func TestAsItIs(t *testing.T) {
	h := build(t, zero, txn{session: 5, ops: []op{w(-7, 3), r(2, 4)}}, txn{session: 6, ops: []op{r(-7, 3)}},
		txn{session: 5, status: history.Aborted, ops: []op{w(9, 9)}}, txn{session: 7, init: true, ops: []op{w(2, 4)}})
	n := must.Get(Of(h, false, AnyKeys))(t)
	if want := []uint32{3, 0, 2, 1}; !slices.Equal(n.Order, want) {
		t.Errorf("order %v; want %v", n.Order, want)
	}
	for k, key := range h.Keys {
		must.Equal(t, n.Key(uint32(k)), key.N, "key")
	}
	for op, v := range h.Ops.Ver {
		must.Equal(t, n.Value(uint32(op)), h.VerN[v], "value")
	}
}

// What does not fit is named, and renumbered with lossy: 0 at first, each key's values from 1, no two alike.
func TestRenumber(t *testing.T) {
	word := history.BoolValue(true)
	for _, c := range []struct {
		initial history.Value
		init    Explicit
		txns    []txn
		want    string
	}{
		{zero, AnyKeys, []txn{{ops: []op{{true, history.IntValue(1), word}}}}, "key 1 has the value true; expected " +
			"an integer"},
		{null, AnyKeys, []txn{{ops: []op{{false, history.IntValue(1), null}, w(1, 4)}}},
			"key 1 has the value null; expected an integer"},
		{null, AnyKeys, []txn{{ops: []op{w(1, 0)}}}, "key 1 has the value 0, which readers of the format take for " +
			"the initial value"},
		{zero, AnyKeys, []txn{{ops: []op{w(1, 0), w(1, 5)}}}, "key 1 is written as 0, which it holds at first"},
		{history.IntValue(3), AnyKeys, []txn{{ops: []op{r(1, 3), w(1, 5)}}}, "key 1 holds 3 at first; expected 0"},
		{zero, NoKeys, []txn{{init: true, ops: []op{w(1, 5)}}, {session: 1, ops: []op{r(1, 5)}}},
			"the history has an initial transaction"},
		{zero, AllKeys, []txn{{init: true, ops: []op{w(1, 5)}}, {session: 1, ops: []op{r(2, 0)}}},
			"key 2: the initial transaction does not write it"},
	} {
		h := build(t, c.initial, c.txns...)
		if _, err := Of(h, false, c.init); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v; want %s", c.txns, err, c.want)
		}
		n := must.Get(Of(h, true, c.init))(t)
		seen := map[[2]int64]bool{}
		for op, v := range h.Ops.Ver {
			k := h.VerKey[v]
			x := n.Value(uint32(op))
			first := h.InitVer[k] == v && (h.Ops.Kind[op] == history.Read || n.of(uint32(op), h.Init))
			if at := [2]int64{n.Key(k), x}; n.Key(k) < 1 || seen[at] || (x == 0) != first {
				t.Errorf("%v: operation %d has %v", c.txns, op, at)
			} else {
				seen[at] = x > 0
			}
		}
		must.Be(t, !slices.Contains(n.Order, h.Init), "%v: the initial transaction is written", c.txns)
	}
	h := build(t, zero, txn{ops: []op{w(1, 0)}})
	if _, err := Of(h, false, AllKeys); err != nil {
		t.Errorf("a written 0 among versions of 0: %v", err)
	}
}

// naive is unknown by its definition: until nothing changes, who alone can have written what one that committed has
// read.
func naive(h *history.History) []bool {
	stays := make([]bool, h.NumTxns())
	for again := true; again; {
		again = false
		for x := range uint32(h.NumTxns()) {
			if h.Txns.Status[x] != history.Committed && !stays[x] {
				continue
			}
			lo, hi := h.TxnOps(x)
			for op := lo; op < hi; op++ {
				v := h.Ops.Ver[op]
				if h.Ops.Kind[op] != history.Read || h.InitVer[h.VerKey[v]] == v {
					continue
				}
				writers := map[uint32]bool{}
				for y := range uint32(h.NumTxns()) {
					a, b := h.TxnOps(y)
					for o := a; o < b && h.Txns.Status[y] != history.Aborted; o++ {
						if h.Ops.Kind[o] == history.Write && h.Ops.Ver[o] == v {
							writers[y] = true
						}
					}
				}
				for y := range writers {
					if len(writers) == 1 && h.Txns.Status[y] == history.Unknown && !stays[y] {
						stays[y], again = true, true
					}
				}
			}
		}
	}
	return stays
}

func TestUnknown(t *testing.T) {
	randtest.Seeds(t, 2000, func(t testing.TB, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		var txns []txn
		for range 1 + rnd.IntN(12) {
			x := txn{session: rnd.Int64N(3), status: history.Status(rnd.IntN(3))}
			for range rnd.IntN(4) {
				x.ops = append(x.ops, op{rnd.IntN(2) == 0, history.IntValue(rnd.Int64N(3)),
					history.IntValue(rnd.Int64N(4))})
			}
			txns = append(txns, x)
		}
		h := build(t, zero, txns...)
		n := &Numbers{h: h}
		got := n.unknown()
		if got == nil {
			got = make([]bool, h.NumTxns())
		}
		if want := naive(h); !slices.Equal(got, want) {
			t.Fatalf("seed %d: %v; want %v", seed, got, want)
		}
		// What stays reads nothing that one that goes could have written.
		for x := range uint32(h.NumTxns()) {
			lo, hi := h.TxnOps(x)
			for op := lo; op < hi && (got[x] || h.Txns.Status[x] == history.Committed); op++ {
				lost := false
				for y := range uint32(h.NumTxns()) {
					a, b := h.TxnOps(y)
					for o := a; o < b && h.Txns.Status[y] == history.Unknown && !got[y]; o++ {
						lost = lost || h.Ops.Kind[o] == history.Write && h.Ops.Ver[o] == h.Ops.Ver[op]
					}
				}
				if h.Ops.Kind[op] == history.Read && n.Skip(op) != lost {
					t.Fatalf("seed %d: operation %d is left out: %v; want %v", seed, op, n.Skip(op), lost)
				}
			}
		}
	})
}

// A chain of unknown outcomes, each read by the one before it in the file, takes no longer than the history is large.
func TestUnknownChain(t *testing.T) {
	const n = 100_000
	txns := []txn{{ops: []op{r(0, 1)}}}
	for i := range int64(n) {
		txns = append(txns, txn{session: 1, status: history.Unknown, ops: []op{w(i, 1), r(i+1, 1)}})
	}
	slices.Reverse(txns)
	seen := (&Numbers{h: build(t, zero, txns...)}).unknown()
	if i := slices.Index(seen[:n], false); i >= 0 {
		t.Errorf("transaction %d is not seen", i)
	}
}
