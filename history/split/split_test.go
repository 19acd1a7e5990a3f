package split

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"isovet/history"
	"isovet/history/format"
	"isovet/history/format/jsonl"
	_ "isovet/history/format/parquet"
	"isovet/internal/bounds"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/diff"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
)

// txns writes each transaction of a history as one line of text, all of it.
func txns(h *history.History) []string {
	var out []string
	for t := range uint32(h.NumTxns()) {
		var b strings.Builder
		fmt.Fprintf(&b, "%d s%d %v init=%v %d %d %d %d %d line %d", h.Txns.ID[t], h.SessName[h.Txns.Sess[t]],
			h.Txns.Status[t], t == h.Init, h.Start(t), h.Commit(t), h.End(t), h.StartTS(t), h.CommitTS(t),
			h.Txns.Line[t])
		for _, col := range [][]uint32{h.Txns.Node, h.Txns.Name} {
			if col != nil && col[t] != history.None {
				fmt.Fprintf(&b, " %q", h.Texts.Text(col[t]))
			}
		}
		lo, hi := h.TxnOps(t)
		version := func(v uint32) string {
			if v == history.None {
				return "-"
			}
			return h.KeyString(h.VerKey[v]) + "=" + h.ValueString(v)
		}
		for op := lo; op < hi; op++ {
			v := h.Ops.Ver[op]
			fmt.Fprintf(&b, "; %d %d-%d ", h.Ops.Kind[op], h.OpStart(op), h.OpEnd(op))
			switch h.Ops.Kind[op] {
			case history.ReadList:
				b.WriteString(h.KeyString(h.Lists.Key[v]))
				for _, e := range h.Lists.Elem[h.Lists.Off[v]:h.Lists.Off[v+1]] {
					b.WriteString(" " + version(e))
				}
			case history.PredRead, history.PredWrite:
				b.Write(h.Texts.Text(h.Preds.Pred[v]))
				for j := h.Preds.Off[v]; j < h.Preds.Off[v+1]; j++ {
					b.WriteString(" " + version(h.Preds.Old[j]) + ">" + version(h.Preds.New[j]))
				}
			default:
				b.WriteString(version(v))
			}
		}
		out = append(out, b.String())
	}
	return out
}

// read reads a set, and checks what each batch promises.
func read(t *testing.T, paths []string, o Options, first *history.History) (out []string, s *Set) {
	t.Helper()
	s = must.Get(Plan(t.Context(), paths, o))(t)
	// The pieces as another process would have them.
	text := must.Get(json.Marshal(s))(t)
	s = &Set{}
	must.OK(t, json.Unmarshal(text, s))
	err := s.Each(context.Background(), func(b *Batch) error {
		must.Equal(t, b.First, int64(len(out)), "where a batch begins")
		h := b.H
		if first != nil && (h.Meta != first.Meta || h.Texts.AppendValue(nil, h.Initial) == nil ||
			string(h.Texts.AppendValue(nil, h.Initial)) != string(first.Texts.AppendValue(nil, first.Initial))) {
			t.Errorf("header %+v, initial %s; expected %+v, %s", h.Meta, h.Texts.AppendValue(nil, h.Initial),
				first.Meta, first.Texts.AppendValue(nil, first.Initial))
		}
		for k, v := range h.InitVer {
			must.Be(t, v == history.None || h.VerKey[v] == uint32(k), "initial version of another key")
		}
		for s := range h.NumSessions() {
			in := h.SessTxn[h.SessOff[s]:h.SessOff[s+1]]
			must.Be(t, slices.IsSorted(in) && len(in) != 0 && h.Txns.Sess[in[0]] == uint32(s),
				"session %d has %v", s, in)
		}
		out = append(out, txns(h)...)
		return nil
	})
	must.OK(t, err, "%s", text)
	must.Equal(t, s.Txns, int64(len(out)), "transactions planned")
	return out, s
}

// source makes a history whose sessions' transactions stand in their order, as text without and with places.
func source(t testing.TB, seed uint64) (*history.History, []byte) {
	h := random.Medium(seed, random.Options{})
	if seed%3 == 0 {
		h = random.Tiny(seed, random.Options{})
	}
	var text bytes.Buffer
	must.OK(t, jsonl.Write(&text, h))
	h = must.Get(jsonl.Read(text.Bytes(), "h"))(t)
	return h, text.Bytes()
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	must.Same(t, len(got), len(want), "%s", what)
	for i := range got {
		must.Equal(t, got[i], want[i], "%s: transaction %d", what, i)
	}
}

// Whatever the pieces and batches, a history reads as it does as a whole.
func TestPieces(t *testing.T) {
	dir := t.TempDir()
	for seed := range histtest.Long[uint64](10, 5000) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		for _, r := range []func(){bounds.Set("split.batch-txns", 1+rnd.IntN(9)),
			bounds.Set("split.batch-ops", 1+rnd.IntN(20)), bounds.Set("split.batch-bytes", 16+rnd.IntN(500))} {
			defer r()
		}
		h, text := source(t, seed)
		want := txns(h)
		plain := filepath.Join(dir, "h.jsonl")
		must.OK(t, os.WriteFile(plain, text, 0o600))
		o := Options{PieceBytes: 1 + rnd.Int64N(2000), Workers: 1}
		got, _ := read(t, []string{plain}, o, h)
		same(t, "JSON lines", got, want)
		for _, name := range []string{"h.ivh", "h.jsonl.zst", "h.ivh.gz", "h.parquet"} {
			path := filepath.Join(dir, name)
			must.OK(t, format.Write(path, h, "", false))
			got, s := read(t, []string{path}, o, h)
			if name == "h.parquet" { // its lines are rows
				same(t, name, unlined(got), unlined(want))
				continue
			}
			same(t, name, got, want)
			if n := len(s.Pieces); name == "h.ivh" && h.NumTxns() > 8 && o.PieceBytes < 500 && n < 2 {
				t.Errorf("%d pieces of %d bytes", n, o.PieceBytes)
			}
		}
		// The lines in several files, of which only the first has the header.
		lines := slices.Collect(bytes.Lines(text))
		parts := filepath.Join(dir, fmt.Sprint("parts", seed))
		must.OK(t, os.Mkdir(parts, 0o700))
		for n := 0; len(lines) > 0; n++ {
			k := 1 + rnd.IntN(len(lines))
			must.OK(t, os.WriteFile(filepath.Join(parts, fmt.Sprintf("h%d.jsonl", n)), bytes.Join(lines[:k], nil),
				0o600))
			lines = lines[k:]
		}
		got, _ = read(t, []string{parts}, o, h)
		same(t, "parts", unlined(got), unlined(want))
		whole(t, "parts", parts, h)
		if t.Failed() {
			t.Fatal("seed ", seed)
		}
	}
}

// unlined leaves out the numbers of lines.
func unlined(all []string) []string {
	var out []string
	for _, s := range all {
		before, after, _ := strings.Cut(s, " line ")
		_, after, _ = strings.Cut(after+" ", " ")
		out = append(out, before+" "+after)
	}
	return out
}

// whole checks that a history in parts is read into memory as it is.
func whole(t *testing.T, what, dir string, want *history.History) {
	t.Helper()
	h := must.Get(Read(t.Context(), []string{dir}, format.Options{Workers: 1}))(t)
	diff.Same(t, want, h, "%s", what)
}

// Parts that were written by Out, parts whose places in sessions begin with 0 in each, and parts whose lines stand in
// no order: all are the same history.
func TestParts(t *testing.T) {
	for seed := range histtest.Long[uint64](12, 3000) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		h, text := source(t, seed)
		dir := t.TempDir()
		out := must.Get(Create(filepath.Join(dir, "out"), Endings()[seed%5], h))(t)
		lines := slices.Collect(bytes.Lines(text))
		again := filepath.Join(dir, "again")
		must.OK(t, os.Mkdir(again, 0o700))
		for i, n := 1, 0; i < len(lines); n++ {
			k := min(len(lines), i+1+rnd.IntN(len(lines)))
			piece, seqs, err := jsonl.ReadLines(t.Context(), bytes.Join(lines[i:k], nil), jsonl.Lines{Meta: h.Meta,
				Initial: h.Initial, InitialText: initialText(h)})
			must.OK(t, err)
			if seqs == nil && piece.Init == history.None && piece.SessName[0] != history.NoTime {
				t.Error("no places")
			}
			must.OK(t, errorsOf(out.Add(piece), out.Cut()))
			var b bytes.Buffer
			must.OK(t, jsonl.Write(&b, piece))
			must.OK(t, os.WriteFile(filepath.Join(again, fmt.Sprintf("%d.jsonl", n)), b.Bytes(), 0o600))
			i = k
		}
		must.OK(t, out.Finish(map[string]any{"seed": seed}))
		whole(t, "written in parts", filepath.Join(dir, "out"), h)
		got, _ := read(t, []string{filepath.Join(dir, "out")}, Options{PieceBytes: 500}, h)
		same(t, "written in parts", unlined(got), unlined(txns(h)))
		whole(t, "each by itself", again, h)

		// Lines in no order, in two files, of which the second counts on or begins again.
		shuffled := filepath.Join(dir, "shuffled")
		must.OK(t, os.Mkdir(shuffled, 0o700))
		cut := 1 + len(lines[1:])/2
		rnd.Shuffle(cut-1, func(a, b int) { lines[1+a], lines[1+b] = lines[1+b], lines[1+a] })
		rest := lines[cut:]
		rnd.Shuffle(len(rest), func(a, b int) { rest[a], rest[b] = rest[b], rest[a] })
		for i, part := range [][][]byte{lines[:cut], rest} {
			if len(part) == 0 {
				continue
			}
			must.OK(t, os.WriteFile(filepath.Join(shuffled, fmt.Sprintf("%d.jsonl", i)), bytes.Join(part, nil), 0o600))
		}
		mixed := must.Get(jsonl.Read(bytes.Join(lines, nil), "mixed"))(t)
		whole(t, "in no order", shuffled, mixed)
		if t.Failed() {
			t.Fatal("seed ", seed)
		}
	}
}

func errorsOf(errs ...error) error { return errors.Join(errs...) }

func initialText(h *history.History) []byte {
	if k := h.Initial.Kind; k == history.String || k == history.Row {
		return h.Texts.Text(uint32(h.Initial.N))
	}
	return nil
}

// Folders that are no history, or not yet one, say why.
func TestBadParts(t *testing.T) {
	one, two := `{"id":1,"session":0,"ops":[["w","x",1]]}`+"\n", `{"id":2,"session":0,"ops":[["w","x",2]]}`+"\n"
	head := func(more string) string { return `{"format":"isovet-history","version":1` + more + "}\n" }
	list := func(more string) string { return `{"format":"isovet-parts","version":1,` + more + `}` }
	for _, c := range []struct {
		name  string
		files []string // name, content
		want  string
	}{
		{"an id twice", []string{"a.jsonl", one, "b.jsonl", two + one},
			"b.jsonl:2: field \"id\": transaction id 1 occurs"},
		{"initial values", []string{"a.jsonl", head(`,"initial":0`) + one, "b.jsonl", head("") + two},
			`b.jsonl:1: field "initial": null here, 0 in`},
		{"models", []string{"a.jsonl", head("") + one, "b.jsonl", head(`,"model":"list"`) + two},
			`b.jsonl:1: field "model": "list" here, "register" in`},
		{"a header in the middle", []string{"a.jsonl", one + head("") + two},
			"a.jsonl:2: field \"format\": a header in line 2"},
		{"two initial transactions", []string{"a.jsonl", `{"id":1,"init":true,"ops":[]}` + "\n", "b.jsonl",
			`{"id":2,"init":true,"ops":[]}` + "\n"}, "b.jsonl:1: field \"init\": a second initial transaction"},
		{"an empty list", []string{format.PartsName, list(`"parts":[]`), "a.jsonl", one}, "lists no part"},
		{"unfinished", []string{format.PartsName, list(`"unfinished":true,"parts":[]`), "a.jsonl", one}, "stopped early"},
		{"another version", []string{format.PartsName, `{"format":"isovet-parts","version":2}`, "a.jsonl", one},
			"field \"version\": found 2; expected 1"},
		{"no list", []string{format.PartsName, "[1]", "a.jsonl", one}, "not a list of parts"},
		{"a part that is not there", []string{format.PartsName, list(`"parts":[{"file":"b.jsonl"}]`), "a.jsonl", one},
			"b.jsonl: cannot open"},
		{"a part elsewhere", []string{format.PartsName, list(`"parts":[{"file":"../b.jsonl"}]`), "a.jsonl", one},
			"expected the name of a file in the folder"},
		{"a size", []string{format.PartsName, list(`"parts":[{"file":"a.jsonl","bytes":7}]`), "a.jsonl", one},
			"bytes; expected 7"},
		{"a count", []string{format.PartsName, list(fmt.Sprintf(
			`"parts":[{"file":"a.jsonl","bytes":%d,"transactions":5}]`, len(one))), "a.jsonl", one},
			"found 1 transaction;"},
		{"a line that is wrong", []string{"a.jsonl", one, "b.jsonl", two + "{\"id\":3}\n"},
			"b.jsonl:2: field \"ops\": missing"},
		{"no history", []string{"a.jsonl", one, "b.txt", "hello\n"}, "b.txt:1: unknown format"},
	} {
		dir := t.TempDir()
		for i := 0; i < len(c.files); i += 2 {
			must.OK(t, os.WriteFile(filepath.Join(dir, c.files[i]), []byte(c.files[i+1]), 0o600))
		}
		s, err := Plan(t.Context(), []string{dir}, Options{Workers: 1})
		if err == nil {
			err = s.Each(t.Context(), func(*Batch) error { return nil })
		}
		if _, ok := errors.AsType[*history.InputError](err); !ok || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; expected %s", c.name, err, c.want)
		}
		_, err = Read(t.Context(), []string{dir}, format.Options{Workers: 1})
		if _, ok := errors.AsType[*history.InputError](err); !ok || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, in memory: %v; expected %s", c.name, err, c.want)
		}
	}
}

// Ids are unique in whatever order they come, and however few of them are kept in memory.
func TestIDSet(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 3))
	later := 0
	for i := range 60 {
		defer bounds.Set("split.id-pages", []int{1 << 17, 1 + rnd.IntN(20)}[i%2])()
		var s idSet
		seen := map[int64]bool{}
		at := int64(rnd.Uint64())
		twice, told := false, false
		begins := []int64{at}
		for range 30_000 {
			switch rnd.IntN(2000) {
			case 0:
				at = int64(rnd.Uint64())
				begins = append(begins, at)
			case 1:
				if i%4 < 2 {
					at -= rnd.Int64N(20_000)
				} else if rnd.IntN(8) == 0 {
					at = begins[rnd.IntN(len(begins))]
				}
			case 2:
				at += rnd.Int64N(20_000)
			}
			isNew := s.add(at)
			if s.err != nil || isNew && seen[at] && i%2 == 0 || !isNew && !seen[at] {
				t.Fatalf("id %d, seen %t, new %t, %v", at, seen[at], isNew, s.err)
			}
			twice = twice || seen[at]
			told = told || !isNew
			seen[at] = true
			at++
		}
		id, found, err := s.done()
		if err != nil || found && !seen[id] || (told || found) != twice {
			t.Fatalf("id %d, found %t, told %t, twice %t, %v", id, found, told, twice, err)
		}
		if found && !told {
			later++
		}
	}
	must.Be(t, later != 0, "no id was found to be twice in the end")
}
