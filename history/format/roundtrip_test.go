package format

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"isovet/history"
	"isovet/history/format/jsonl"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
	"isovet/level"
)

// randomHistory has what a format can hold: integers, 0 at first, each value written once; sometimes an initial
// transaction.
func randomHistory(t testing.TB, rnd *rand.Rand, holds Feature) *history.History {
	b := history.NewBuilder()
	null := history.Value{}
	first := null
	if holds&Lists == 0 {
		b.Initial = history.IntValue(0)
		first = b.Initial
	}
	keys := 1 + rnd.Int64N(4)
	values := make([][]history.Value, keys) // of a key, so far
	next := int64(1)
	write := func(k int64) {
		v := history.IntValue(next)
		next++
		values[k] = append(values[k], v)
		b.Write(b.Key(history.IntValue(k)), v)
	}
	end := func(h history.TxnHead) { b.EndTxn(h) }
	if holds&Initial != 0 && rnd.IntN(2) == 0 {
		all := rnd.IntN(2) == 0 || holds&Predicates != 0
		for k := range keys {
			if all || rnd.IntN(2) == 0 || k == 0 {
				write(k)
			} else {
				values[k] = append(values[k], first)
			}
		}
		h := history.NewTxnHead()
		h.Init = true
		end(h)
	} else {
		for k := range keys {
			values[k] = append(values[k], first)
		}
	}
	timed := holds&Times != 0 && rnd.IntN(2) == 0
	var clock [4]int64 // of each session
	for range 1 + rnd.IntN(10) {
		h := history.NewTxnHead()
		h.HasSess, h.Session = true, rnd.Int64N(4)
		if holds&Aborted != 0 && rnd.IntN(5) == 0 {
			h.Status = history.Aborted
		} else if holds&Unknown != 0 && rnd.IntN(5) == 0 {
			h.Status = history.Unknown
		}
		for range 1 + rnd.IntN(4) {
			k := rnd.Int64N(keys)
			if h.Status != history.Committed || rnd.IntN(2) == 0 {
				write(k)
			} else {
				b.Read(b.Key(history.IntValue(k)), values[k][rnd.IntN(len(values[k]))])
			}
		}
		if timed {
			c := &clock[h.Session]
			h.Start = *c + rnd.Int64N(3)
			h.End = h.Start + 1 + rnd.Int64N(5)
			*c = h.End
			if h.Status != history.Committed && rnd.IntN(2) == 0 {
				h.End, *c = history.NoTime, h.Start
			}
		}
		if holds&Timestamps != 0 && rnd.IntN(2) == 0 {
			h.StartTS, h.CommitTS = rnd.Int64N(50), 50+rnd.Int64N(50)
		}
		if holds&Levels != 0 && rnd.IntN(2) == 0 {
			h.Level = b.Text([]byte(level.Level(rnd.IntN(len(level.All()))).String()))
		}
		end(h)
	}
	return must.Get(b.Build())(t)
}

// meaning is a history without what other formats name in their own way: each session by what its transactions do, in
// order, and what holds at first but 0.
func meaning(h *history.History) string {
	ops := func(t uint32) string {
		var s strings.Builder
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi; op++ {
			v := h.Ops.Ver[op]
			if t != h.Init || h.VerN[v] != 0 {
				fmt.Fprintf(&s, " %d(%s,%s)", h.Ops.Kind[op], h.KeyString(h.VerKey[v]), h.ValueString(v))
			}
		}
		return s.String()
	}
	var sessions []string
	for s := range h.NumSessions() {
		var text strings.Builder
		for _, t := range h.SessTxn[h.SessOff[s]:h.SessOff[s+1]] {
			if t == h.Init {
				continue
			}
			end := h.End(t)
			if h.Txns.Status[t] != history.Committed {
				end = history.NoTime // it says nothing
			}
			fmt.Fprintf(&text, "[%v %d-%d %d-%d%s:%s]", h.Txns.Status[t], h.Start(t), end, h.StartTS(t), h.CommitTS(t),
				h.LevelName(t), ops(t))
		}
		if text.Len() > 0 {
			sessions = append(sessions, text.String())
		}
	}
	slices.Sort(sessions)
	if h.Init != history.None {
		sessions = append(sessions, "at first:"+ops(h.Init))
	}
	// Aborted transactions of a session one after the other are one in the texts.
	return strings.ReplaceAll(strings.Join(sessions, "\n"), "][aborted -9223372036854775808--9223372036854775808 "+
		"-9223372036854775808--9223372036854775808:", "")
}

// Random histories are the same after writing and reading, whatever is called how; where something is refused, --lossy
// is not.
func TestRandomRoundTrip(t *testing.T) {
	for _, f := range []Format{jepsenEDN, dbcopBincode, plumeText, polysiText} {
		written := 0
		randtest.Seeds(t, randtest.Long[uint64](75, 300), func(t testing.TB, seed uint64) {
			rnd := rand.New(rand.NewPCG(seed, 3))
			h := randomHistory(t, rnd, f.Holds)
			path := filepath.Join(t.TempDir(), "out")
			if err := Write(path, h, f.Name, false); err != nil {
				must.OK(t, Write(path, h, f.Name, true), "%s, seed %d, lossy", f.Name, seed)
				if _, err := Read(t.Context(), path, Options{}); err != nil {
					t.Fatalf("%s, seed %d, lossy: %v", f.Name, seed, err)
				}
				return
			}
			written++
			g := must.Get(Read(t.Context(), path, Options{}))(t)
			must.Equal(t, meaning(g), meaning(h), "%s, seed %d: written and read", f.Name, seed)
		})
		histtest.Mix(t, written < 60, "%s: only %d were written", f.Name, written)
	}
}

// Lists beside registers are in EDN what they were: written again after reading the file is the same.
func TestRandomListsBesideRegisters(t *testing.T) {
	mixed := 0
	randtest.Seeds(t, randtest.Long[uint64](300, 600), func(t testing.TB, seed uint64) {
		text := histtest.Random(seed, histtest.Shape{Kinds: []histtest.Kind{histtest.Lists}})
		h := must.Get(jsonl.Read(text, "h"))(t)
		dir := t.TempDir()
		first, second := filepath.Join(dir, "1.edn"), filepath.Join(dir, "2.edn")
		if err := Write(first, h, jepsenEDN.Name, true); err != nil || committedLines(t, first) == "" {
			return // nothing writes a register that is read, or there is nothing to read
		}
		g := must.Get(Read(t.Context(), first, Options{}))(t)
		must.OK(t, Write(second, g, jepsenEDN.Name, true), "seed %d", seed)
		a, b := committedLines(t, first), committedLines(t, second)
		must.Equal(t, b, a, "seed %d: read and written", seed)
		if strings.Contains(a, ":append") && strings.Contains(a, ":w ") {
			mixed++
		}
	})
	histtest.Mix(t, mixed < 5, "only %d had lists beside registers", mixed)
}

// committedLines is what the committed transactions of a file in EDN did, a line each, sorted. Readers keep no more,
// and no transactions without operations.
func committedLines(t testing.TB, path string) string {
	data := must.Get(os.ReadFile(path))(t)
	var all []string
	for line := range strings.Lines(string(data)) {
		_, value, _ := strings.Cut(line, ":value [")
		value, _, _ = strings.Cut(value, ", :")
		if strings.Contains(line, ":type :ok") && value != "]" {
			all = append(all, value)
		}
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}
