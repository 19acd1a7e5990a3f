package native

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"isovet/check/prepass"
	"isovet/history"
	"isovet/history/format/jsonl"
	"isovet/internal/test/histtest/diff"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// unverified decodes a file's columns and checks nothing that is not needed for that; false: it cannot be decoded.
func unverified(data []byte) (*history.History, *rest, bool) {
	head, err := parseHeader(data[:min(len(data), headerSize)], "f")
	if err != nil {
		return nil, nil, false
	}
	list, err := parseTable(data, head, "f")
	if err != nil {
		return nil, nil, false
	}
	h, x := &history.History{Init: head.init, Initial: head.initial}, &rest{}
	cols := columns(h, x)
	for _, s := range list {
		if s.id == 0 || int(s.id) > len(cols) || int(s.width) != cols[s.id-1].width || s.size%int64(s.width) != 0 {
			return nil, nil, false
		}
		b := data[s.off : s.off+s.size]
		for i := 16; s.id == 4 && i <= len(b); i += 16 {
			if b := b[i-7 : i]; slices.Max(b) > 0 {
				return nil, nil, false
			}
		}
		cols[s.id-1].set(b, false)
	}
	return h, x, true
}

// valid is the naive twin of the checks: what a history must be, one thing after the other, in the words of its
// definition.
func valid(h *history.History, x *rest) bool {
	n, ops, keys, vers := len(h.Txns.ID), len(h.Ops.Kind), len(h.Keys), len(h.VerKey)
	texts := max(len(x.textOff)-1, 0)
	offsets := func(off []uint32, rows, of int) bool {
		return len(off) == rows+1 && off[0] == 0 && int(off[rows]) == of && slices.IsSorted(off)
	}
	refs := func(col []uint32, limit int, none bool) bool {
		return !slices.ContainsFunc(col, func(i uint32) bool { return int(i) >= limit && !(none && i == history.None) })
	}
	value := func(v history.Value, kinds ...history.ValueKind) bool {
		if !slices.Contains(kinds, v.Kind) {
			return false
		}
		switch v.Kind {
		case history.Null:
			return v.N == 0
		case history.Bool:
			return v.N == 0 || v.N == 1
		case history.Int:
			return true
		}
		return v.N >= 0 && v.N < int64(texts)
	}
	all := []history.ValueKind{history.Null, history.Int, history.String, history.Bool, history.Row}

	// Texts and header.
	var m history.Meta
	if len(x.meta) < 20 || parseMeta(x.meta, &m) != len(x.meta) {
		return false
	}
	if !offsets(x.textOff, texts, len(x.arena)) && (len(x.textOff) > 0 || len(x.arena) > 0) {
		return false
	}
	h.Texts = x.texts()
	if !packed(h.Texts, x) {
		return false
	}
	if !value(h.Initial, all...) || h.Init != history.None && int(h.Init) >= n {
		return false
	}

	// Keys and versions.
	for _, k := range h.Keys {
		if !value(k, history.Int, history.String) {
			return false
		}
	}
	if len(h.VerKind) != vers || len(h.VerN) != vers || !refs(h.VerKey, keys, false) {
		return false
	}
	for v := range uint32(vers) {
		if !value(h.VerValue(v), all...) {
			return false
		}
	}

	// Transactions.
	t := &h.Txns
	if len(t.Line) != n || len(t.Sess) != n || len(t.Status) != n || !offsets(t.OpOff, n, ops) {
		return false
	}
	for _, col := range [][]int64{t.Start, t.Commit, t.End, t.StartTS, t.CommitTS} {
		if col != nil && len(col) != n {
			return false
		}
	}
	for _, col := range [][]uint32{t.Node, t.Name, t.Level} {
		if col != nil && len(col) != n || !refs(col, texts, true) {
			return false
		}
	}
	ids := map[int64]bool{}
	for i := range uint32(n) {
		before := func(a, b int64) bool { return a == history.NoTime || b == history.NoTime || a <= b }
		if ids[t.ID[i]] || t.Status[i] > history.Unknown || !before(h.Start(i), h.End(i)) || !before(h.Start(i),
			h.Commit(i)) ||
			!before(h.Commit(i), h.End(i)) || !before(h.StartTS(i), h.CommitTS(i)) {
			return false
		}
		ids[t.ID[i]] = true
	}

	// Sessions.
	if !offsets(h.SessOff, len(h.SessName), n) || len(h.SessTxn) != n {
		return false
	}
	if sorted := slices.Sorted(slices.Values(h.SessTxn)); len(sorted) > 0 && (sorted[0] != 0 ||
		sorted[n-1] != uint32(n-1) || len(slices.Compact(sorted)) < n) {
		return false
	}
	names := map[int64]bool{}
	for s, name := range h.SessName {
		in := h.SessTxn[h.SessOff[s]:h.SessOff[s+1]]
		if len(in) == 0 || name == history.NoTime && len(in) > 1 || name != history.NoTime && names[name] {
			return false
		}
		names[name] = true
		for _, i := range in {
			if t.Sess[i] != uint32(s) || i == h.Init && name != history.NoTime {
				return false
			}
		}
	}

	// Operations.
	lists, preds, rows := len(h.Lists.Key), len(h.Preds.Pred), len(h.Preds.Old)
	if len(h.Ops.Ver) != ops || h.Ops.Start != nil && len(h.Ops.Start) != ops || h.Ops.End != nil &&
		len(h.Ops.End) != ops {
		return false
	}
	if !refs(h.Lists.Key, keys, false) || !refs(h.Lists.Elem, vers, false) || !refs(h.Preds.Pred, texts, false) ||
		!refs(h.Preds.Old, vers, true) || !refs(h.Preds.New, vers, true) || len(h.Preds.New) != rows {
		return false
	}
	if !offsets(h.Lists.Off, lists, len(h.Lists.Elem)) && (lists > 0 || len(h.Lists.Off) > 0 || len(h.Lists.Elem) > 0) {
		return false
	}
	if !offsets(h.Preds.Off, preds, rows) && (preds > 0 || len(h.Preds.Off) > 0 || rows > 0) {
		return false
	}
	isList, isRegister := map[uint32]bool{}, map[uint32]bool{}
	usedList, usedPred := map[uint32]bool{}, map[uint32]bool{}
	for op := range uint32(ops) {
		v := h.Ops.Ver[op]
		switch h.Ops.Kind[op] {
		case history.Read, history.Write, history.Append:
			if int(v) >= vers {
				return false
			}
			if h.Ops.Kind[op] == history.Append {
				isList[h.VerKey[v]] = true
			} else {
				isRegister[h.VerKey[v]] = true
			}
		case history.ReadList:
			if int(v) >= lists || usedList[v] {
				return false
			}
			usedList[v] = true
			isList[h.Lists.Key[v]] = true
			for _, e := range h.Lists.Elem[h.Lists.Off[v]:h.Lists.Off[v+1]] {
				if h.VerKey[e] != h.Lists.Key[v] {
					return false
				}
			}
		case history.PredRead, history.PredWrite:
			if int(v) >= preds || usedPred[v] {
				return false
			}
			usedPred[v] = true
			row := make(map[string]bool) // versions of a read, by what they say, and keys of a write
			for j := h.Preds.Off[v]; j < h.Preds.Off[v+1]; j++ {
				a, b := h.Preds.Old[j], h.Preds.New[j]
				if h.Ops.Kind[op] == history.PredRead {
					if a == history.None || b != history.None {
						return false
					}
					said := fmt.Sprint(h.VerKey[a], h.VerValue(a))
					if row[said] {
						return false
					}
					row[said] = true
				} else if b == history.None || a != history.None && h.VerKey[a] != h.VerKey[b] ||
					row[fmt.Sprint(h.VerKey[b])] {
					return false
				} else {
					row[fmt.Sprint(h.VerKey[b])] = true
				}
			}
		default:
			return false
		}
	}
	if len(usedList) < lists || len(usedPred) < preds {
		return false
	}
	for k := range isList {
		if isRegister[k] {
			return false
		}
	}

	// Initial versions: the initial transaction's last writes, else the versions with the initial value.
	if len(h.InitVer) != keys {
		return false
	}
	initial := make([]uint32, keys)
	for k := range initial {
		initial[k] = history.None
	}
	for v, k := range h.VerKey {
		if h.VerValue(uint32(v)) == h.Initial && !isList[k] {
			if initial[k] != history.None {
				return false
			}
			initial[k] = uint32(v)
		}
	}
	if h.Init != history.None {
		if t.Status[h.Init] != history.Committed {
			return false
		}
		for op := t.OpOff[h.Init]; op < t.OpOff[h.Init+1]; op++ {
			switch h.Ops.Kind[op] {
			case history.Write:
				initial[h.VerKey[h.Ops.Ver[op]]] = h.Ops.Ver[op]
			case history.Append:
			default:
				return false
			}
		}
	}
	if !slices.Equal(initial, h.InitVer) {
		return false
	}

	// Rows and predicates.
	for v, k := range h.VerKind {
		if k == history.Row && !naiveRow(h.Texts.Text(uint32(h.VerN[v]))) {
			return false
		}
	}
	if h.Initial.Kind == history.Row && !naiveRow(h.Texts.Text(uint32(h.Initial.N))) {
		return false
	}
	for _, p := range h.Preds.Pred {
		if b := h.Texts.Text(p); !json.Valid(b) || b[0] != '{' {
			return false
		}
	}
	return true
}

// naiveRow is isRow by encoding/json.
func naiveRow(b []byte) bool {
	if !json.Valid(b) || b[0] != '{' {
		return false
	}
	quoted, number := false, false
	for i := 1; i < len(b)-1; i++ {
		c := b[i]
		switch {
		case c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[' || c == ' ' || c == '\n' || c == '\r' || c == '\t':
			return false
		case c >= '0' && c <= '9' || c == '-':
			number = true
		case number && (c == '.' || c == 'e' || c == 'E'):
			return false
		default:
			number = false
		}
	}
	return b[len(b)-1] == '}'
}

// duplicates reports what the twin sees and Read need not: two versions of a key with the initial value.
func duplicates(h *history.History) bool {
	type version struct {
		key uint32
		val history.Value
	}
	seen := map[version]bool{}
	for v, k := range h.VerKey {
		x := version{k, h.VerValue(uint32(v))}
		if seen[x] {
			return true
		}
		seen[x] = true
	}
	return false
}

// use walks a history as checkers and writers do.
func use(t testing.TB, h *history.History) {
	diff.Same(t, h, h, "a history and itself")
	must.OK(t, jsonl.Write(io.Discard, h))
	prepass.Run(h)
}

// Files made by hand, with right checksums: each is refused or read by Read just as by the twin, and what was read can
// be used.
func TestEvilFiles(t *testing.T) {
	accepted, refusedBy := 0, map[string]int{}
	randtest.Seeds(t, randtest.Long[uint64](4000, 20_000), func(t testing.TB, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 5))
		data := written(t, "random", random.Anything(seed%64, true))
		h, x, ok := unverified(data)
		must.Hold(t, ok && valid(h, x), "seed %d: the twin refuses what Write wrote", seed)
		tableEnd := headerSize + entrySize*int(binary.LittleEndian.Uint32(data[12:]))
		for range 1 + r.IntN(2) {
			i := headerSize + r.IntN(len(data)-headerSize)
			if r.IntN(8) > 0 {
				i = tableEnd + r.IntN(len(data)-tableEnd)
			} else if r.IntN(4) == 0 {
				i = 32 + r.IntN(16)
			}
			switch r.IntN(4) {
			case 0:
				data[i] = byte(r.IntN(256))
			case 1:
				data[i]++
			case 2:
				data[i]--
			case 3:
				data[i] = byte(r.IntN(6))
			}
		}
		reseal(data)
		agree(t, seed, data, func(field string) {
			if field == "" {
				accepted++
			} else {
				refusedBy[field]++
			}
		})
	})
	if randtest.Whole() && (accepted < 700 || len(refusedBy) < 25) {
		t.Errorf("%d files accepted, refused by %d columns: %v; expected more of both", accepted, len(refusedBy),
			refusedBy)
	}
}

// agree demands that Read and its twin agree about a file, and uses what was read.
func agree(t testing.TB, seed uint64, data []byte, count func(field string)) {
	g, err := Read(t.Context(), data, "f", 1)
	h, x, ok := unverified(data)
	ok = ok && valid(h, x)
	if err == nil && !ok && duplicates(h) {
		ok = true
	}
	must.Equal(t, ok, err == nil, "seed %d: by the twin (%v)", seed, err)
	if err != nil {
		refused(t, len(data), fmt.Sprintf("seed %d", seed), err)
		in, _ := errors.AsType[*history.InputError](err)
		count(in.Field)
		return
	}
	count("")
	use(t, g)
}

// The data are a file as it is, or, if seal, with its checksums made right.
func FuzzRead(f *testing.F) {
	for seed := range uint64(24) {
		data := written(f, "random", random.Anything(seed, true))
		f.Add(data, false)
		f.Add(data, true)
	}
	f.Add([]byte(magic), true)
	f.Fuzz(func(t *testing.T, data []byte, seal bool) {
		data = slices.Clone(data)
		if seal {
			reseal(data)
			agree(t, 0, data, func(string) {})
			return
		}
		h, err := Read(t.Context(), data, "f", 1)
		if err != nil {
			refused(t, len(data), "altered", err)
			return
		}
		use(t, h)
	})
}

func TestRows(t *testing.T) {
	randtest.Seeds(t, 60_000, func(t testing.TB, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 9))
		b := []byte([]string{`{}`, `{"a":1}`, `{"a":-12,"b":null}`, `{"a\"\u12aF":true,"":"\\x"}`,
			`{"x":false,"é":"\n/"}`}[r.IntN(5)])
		for range r.IntN(3) {
			i := r.IntN(len(b) + 1)
			c := `{}[]",:\ntf-0123 eE.uax` + "\x01\x7f\xff"
			switch r.IntN(3) {
			case 0:
				b = slices.Insert(b, i, c[r.IntN(len(c))])
			case 1:
				if i < len(b) {
					b = slices.Delete(b, i, i+1)
				}
			case 2:
				if i < len(b) {
					b[i] = c[r.IntN(len(c))]
				}
			}
		}
		if got, want := isRow(b), len(b) > 0 && naiveRow(b); got != want {
			t.Fatalf("seed %d: %q: %v; expected %v", seed, b, got, want)
		}
	})
}

func TestDuplicate(t *testing.T) {
	randtest.Seeds(t, randtest.Long[uint64](8000, 20_000), func(t testing.TB, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 2))
		col := make([]int64, r.IntN(8))
		for i := range col {
			col[i] = r.Int64N(12) - 6
			if seed%3 == 0 {
				col[i] *= 1 << 60
			}
		}
		any := r.Int64N(3)
		seen, want := map[int64]bool{}, -1
		for i, x := range col {
			if x != any && seen[x] && want < 0 {
				want = i
			}
			seen[x] = true
		}
		got, _ := duplicate(col, any)
		if got != want && !(got >= 0 && want >= 0 && slices.Contains(col[:got], col[got])) {
			t.Fatalf("seed %d: %v: index %d; expected %d", seed, col, got, want)
		}
	})
}
