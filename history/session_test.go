package history

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"

	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// naiveSessions orders sessions by definition: by seq where given, else by the order in the file.
func naiveSessions(heads []TxnHead) map[int64][]int {
	of := map[int64][]int{}
	for t, h := range heads {
		if h.HasSess && !h.Init {
			of[h.Session] = append(of[h.Session], t)
		}
	}
	for _, in := range of {
		sort.SliceStable(in, func(i, j int) bool { return heads[in[i]].HasSeq && heads[in[i]].Seq < heads[in[j]].Seq })
	}
	return of
}

func TestSessions(t *testing.T) {
	randtest.Seeds(t, 1000, func(t testing.TB, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		names := []int64{0, 1, -5, 1 << 40, 65535, 65536}[:1+rnd.IntN(6)]
		var heads []TxnHead
		count := map[int64]int64{}
		withSeq := map[int64]bool{}
		for _, n := range names {
			withSeq[n] = rnd.IntN(2) == 0
		}
		for range rnd.IntN(30) {
			h := NewTxnHead()
			if h.HasSess = rnd.IntN(6) > 0; h.HasSess {
				h.Session = names[rnd.IntN(len(names))]
				if h.HasSeq = withSeq[h.Session]; h.HasSeq {
					h.Seq = count[h.Session]
					count[h.Session]++
				}
			}
			heads = append(heads, h)
		}
		rnd.Shuffle(len(heads), func(i, j int) { heads[i], heads[j] = heads[j], heads[i] })
		b := NewBuilder()
		for _, h := range heads {
			b.EndTxn(h)
		}
		h := must.Get(b.Build())(t)
		want := naiveSessions(heads)
		seen := map[int64]bool{}
		for s, name := range h.SessName {
			var got []int
			for _, x := range h.SessTxn[h.SessOff[s]:h.SessOff[s+1]] {
				got = append(got, int(x))
				must.Same(t, h.Txns.Sess[x], uint32(s), "seed %d: the session of transaction %d", seed, x)
			}
			if name == NoTime {
				if len(got) != 1 || heads[got[0]].HasSess {
					t.Fatalf("seed %d: nameless session %d holds %v", seed, s, got)
				}
				continue
			}
			if seen[name] || !slices.Equal(got, want[name]) {
				t.Fatalf("seed %d: session %d holds %v; want %v", seed, name, got, want[name])
			}
			seen[name] = true
		}
		must.Equal(t, len(seen), len(want), "seed %d: sessions", seed)
	})
}

// An initial transaction stands outside its session's order, though its seq counts.
func TestInitHasNoSession(t *testing.T) {
	b := NewBuilder()
	for i := range 3 {
		h := NewTxnHead()
		h.HasSess, h.HasSeq, h.Seq = true, true, int64(i)
		h.Init = i == 0
		b.EndTxn(h)
	}
	h := must.Get(b.Build())(t)
	must.Be(t, h.Init == 0 && h.NumSessions() == 2 && h.SessName[0] == NoTime && fmt.Sprint(h.SessTxn) == "[0 1 2]",
		"init %d, sessions %v, transactions %v", h.Init, h.SessName, h.SessTxn)
}

func TestIDErrors(t *testing.T) {
	for _, c := range []struct {
		ids  []int64 // -1: none, the ordinal
		want string
	}{
		{[]int64{1, 2, 3}, ""},
		{[]int64{3, 1, 2}, ""},
		{[]int64{-1, -1, -1}, ""},
		{[]int64{-1, 7, -1}, ""},
		{[]int64{5, 5}, `f:2: field "id": transaction id 5 occurs twice, first in line 1; expected unique ids`},
		{[]int64{1, 2, 2, 3}, `f:3: field "id": transaction id 2 occurs twice, first in line 2; expected unique ids`},
		{[]int64{9, 4, 9}, `f:3: field "id": transaction id 9 occurs twice, first in line 1; expected unique ids`},
		{[]int64{9, 4, 4, 9}, `f:3: field "id": transaction id 4 occurs twice, first in line 2; expected unique ids`},
		{[]int64{1, -1}, `f:2: field "id": transaction id 1 occurs twice, first in line 1 (a transaction without id is named by its ordinal); expected unique ids`},
	} {
		for _, cut := range []int{len(c.ids), 1, 2} {
			cut = min(cut, len(c.ids))
			a, z := NewBuilder(), NewBuilder()
			a.File = "f"
			for i, id := range c.ids {
				h := NewTxnHead()
				h.HasID, h.ID = id >= 0, id
				if i < cut {
					h.Line = uint32(i + 1)
					a.EndTxn(h)
				} else {
					h.Line = uint32(i + 1 - cut)
					z.EndTxn(h)
				}
			}
			a.Merge(z, uint32(cut))
			h, err := a.Build()
			got := ""
			if err != nil {
				got = err.Error()
			}
			must.Equal(t, got, c.want, "%v cut at %d", c.ids, cut)
			if err == nil && c.ids[0] == -1 && h.Txns.ID[2] != 2 {
				t.Errorf("%v cut at %d: ids %v", c.ids, cut, h.Txns.ID)
			}
		}
	}
}

// A key is a list or a register; reads of null follow the other operations on the key, and the header where there are
// none.
func TestListsAndRegisters(t *testing.T) {
	type op = func(b *Builder, k uint32)
	readNull := func(b *Builder, k uint32) { b.Read(k, Value{}) }
	read := func(b *Builder, k uint32) { b.Read(k, IntValue(1)) }
	write := func(b *Builder, k uint32) { b.Write(k, IntValue(1)) }
	appendOne := func(b *Builder, k uint32) { b.Append(k, IntValue(1)) }
	readList := func(b *Builder, k uint32) { b.ReadList(k, []Value{IntValue(1)}) }
	for _, c := range []struct {
		name   string
		header bool
		ops    []op
		want   string // the kinds, or "error"
	}{
		{"null alone", false, []op{readNull}, "[0]"},
		{"null alone, lists", true, []op{readNull}, "[3]"},
		{"register", false, []op{readNull, write, read}, "[0 1 0]"},
		{"register in a file of lists", true, []op{readNull, write}, "[0 1]"},
		{"null, then append", false, []op{readNull, appendOne}, "[3 2]"},
		{"append, null, list", false, []op{appendOne, readNull, readList}, "[2 3 3]"},
		{"append and write", false, []op{appendOne, write}, "error"},
		{"list and read", true, []op{readList, read}, "error"},
	} {
		b := NewBuilder()
		b.Meta.Lists = c.header
		k := b.Key(IntValue(1))
		for _, o := range c.ops {
			o(b, k)
		}
		b.EndTxn(NewTxnHead())
		h, err := b.Build()
		if err != nil {
			must.Be(t, c.want == "error" && strings.Contains(err.Error(), "as a list and as a register"),
				"%s: %v", c.name, err)
			continue
		}
		kinds := make([]int, h.NumOps())
		for op, kind := range h.Ops.Kind {
			kinds[op] = int(kind)
		}
		must.Equal(t, fmt.Sprint(kinds), c.want, "%s: kinds", c.name)
		for op, kind := range h.Ops.Kind {
			must.Equal(t, h.OpKey(uint32(op)), k, "%s: operation %d (%v)", c.name, op, kind)
		}
	}
}

func TestTxnOf(t *testing.T) {
	b := NewBuilder()
	k := b.Key(IntValue(1))
	var want []uint32
	for t := range uint32(6) {
		for range t % 3 {
			b.Read(k, IntValue(1))
			want = append(want, t)
		}
		b.EndTxn(NewTxnHead())
	}
	h := must.Get(b.Build())(t)
	for op, x := range want {
		must.Equal(t, h.TxnOf(uint32(op)), x, "the transaction of operation %d", op)
	}
}

// differ is diff.Histories, which imports this package: set by tests outside of it.
var differ func(a, b *History) string

// SetDiffer sets it.
func SetDiffer(f func(a, b *History) string) { differ = f }

// Notes outlive Build, are added up, and come with a merged builder.
func TestNotes(t *testing.T) {
	a, b := NewBuilder(), NewBuilder()
	a.Note(NoteSkipped, 2, "lines were passed over")
	a.Note(NoteSkipped, 3, "lines were passed over")
	b.Note(NoteSkipped, 1, "lines were passed over")
	b.Note(NoteInvented, 4, "writers")
	a.Merge(b, 0)
	h := must.Get(a.Build())(t)
	h.AddNote(NoteInvented, 5, "other writers")
	want := []Note{{NoteSkipped, 6, "lines were passed over"}, {NoteInvented, 4, "writers"}, {NoteInvented, 5,
		"other writers"}}
	must.Same(t, len(h.Notes), len(want), "notes %v", h.Notes)
	for i, n := range h.Notes {
		must.Equal(t, n, want[i], "note %d", i)
	}
	must.Equal(t, h.Invented(), 9, "invented writers")
}
