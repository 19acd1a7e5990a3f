package mechanism

import (
	"math/rand/v2"

	"isovet/internal/test/histtest"
)

// drawn is a random run: its transactions, each with the client that ran it.
type drawn struct {
	Clients, Keys int
	Txns          []drawnTxn
}

type drawnTxn struct {
	Client      int
	Start, C, D int64
	Kind        Kind
	Ops         []Trace
}

// Valid reports whether the traces of each client are ones that it can have: one after the other, of keys that there
// are, and no value written twice.
func (r *drawn) Valid() bool {
	now := make([]int64, max(0, r.Clients))
	type version struct {
		key uint32
		val uint64
	}
	written := map[version]bool{}
	for _, t := range r.Txns {
		if t.Client < 0 || t.Client >= r.Clients || t.Kind < Commit || t.Kind > Unknown {
			return false
		}
		step := func(to int64) bool { was := now[t.Client]; now[t.Client] = to; return was <= to }
		ok := step(t.Start)
		used := map[uint32]bool{}
		for _, op := range t.Ops {
			ok = ok && step(op.Bef) && step(op.Aft) && op.Key < uint32(r.Keys) && !used[op.Key] &&
				(op.Kind == Read || op.Kind == Write && op.Val > 0 && !written[version{op.Key, op.Val}])
			used[op.Key] = true
			if op.Kind == Write {
				written[version{op.Key, op.Val}] = true
			}
		}
		ok = ok && step(t.C) && t.D >= t.C && (t.Kind == Unknown) == (t.D == Forever)
		if t.Kind != Unknown {
			ok = ok && step(t.D)
		}
		if !ok {
			return false
		}
	}
	for _, t := range r.Txns {
		for _, op := range t.Ops {
			if op.Val > 0 && !written[version{op.Key, op.Val}] {
				return false
			}
		}
	}
	return true
}

// streams are the traces of each client.
func (r *drawn) streams() [][]Trace {
	out := make([][]Trace, r.Clients)
	for id, t := range r.Txns {
		s := append(out[t.Client], Trace{Kind: Begin, Bef: t.Start, Aft: t.Start, Val: uint64(id)})
		for n, op := range t.Ops {
			op.Op = uint32(8*id + n)
			s = append(s, op)
		}
		out[t.Client] = append(s, Trace{Kind: t.Kind, Bef: t.C, Aft: t.D, Val: uint64(id)})
	}
	return out
}

// draw makes a random run: intervals of any length, reads of any version of the key, some aborted and unknown
// transactions. A transaction does not write what it reads, so that consistent reads alone decide what follows what.
func draw(seed uint64, clients, txns, keys int) *drawn {
	rng := rand.New(rand.NewPCG(seed, 0x1e0))
	r := &drawn{Clients: clients, Keys: keys}
	now := make([]int64, clients)
	vals := make([]uint64, keys)
	wide := int64(2 + rng.IntN(12))
	for id := range uint32(txns) {
		i := rng.IntN(clients)
		step := func() int64 { now[i] += rng.Int64N(wide); return now[i] }
		t := drawnTxn{Client: i}
		t.Start = step()
		used := map[uint32]Kind{}
		for n := range 1 + rng.IntN(4) {
			k := uint32(rng.IntN(keys))
			if _, ok := used[k]; ok {
				continue
			}
			op := Trace{Kind: Read, Key: k, Op: id*8 + uint32(n)}
			if rng.IntN(2) == 0 {
				op.Kind = Write
				vals[k]++
				op.Val = vals[k]
			} else {
				op.Val = uint64(max(0, int64(vals[k])-rng.Int64N(3)))
			}
			used[k] = op.Kind
			op.Bef = step()
			op.Aft = step()
			t.Ops = append(t.Ops, op)
		}
		t.C, t.Kind = step(), Commit
		t.D = step()
		switch rng.IntN(12) {
		case 0:
			t.Kind = Abort
		case 1:
			t.Kind, t.D = Unknown, Forever
		}
		r.Txns = append(r.Txns, t)
	}
	return r
}

// seeds is how many random runs a comparison takes; ISOVET_LONG=1: more.
func seeds() uint64 { return histtest.Long[uint64](137, 20_000) }

// run verifies it.
func (r *drawn) run(o Options) *Report {
	v := NewVerifier(r.Clients, o)
	left := r.streams()
	merge(len(left), func(i int, after int64) ([]Trace, int64) {
		n := min(3, len(left[i]))
		b := left[i][:n]
		left[i] = left[i][n:]
		if n == 0 {
			return nil, Forever
		}
		return b, after
	}, v.Dispatch)
	return v.Close()
}
