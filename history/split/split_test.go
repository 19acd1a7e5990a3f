package split

import (
	"bytes"
	"context"
	"encoding/json"
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
	"isovet/internal/bounds"
	"isovet/internal/histtest"
	"isovet/internal/histtest/random"
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
	s, err := Plan(context.Background(), paths, o)
	if err != nil {
		t.Fatal(err)
	}
	// The pieces as another process would have them.
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	s = &Set{}
	if err := json.Unmarshal(text, s); err != nil {
		t.Fatal(err)
	}
	err = s.Each(context.Background(), func(b *Batch) error {
		if b.First != int64(len(out)) {
			t.Errorf("a batch begins at %d; expected %d", b.First, len(out))
		}
		h := b.H
		if first != nil && (h.Meta != first.Meta || h.Texts.AppendValue(nil, h.Initial) == nil ||
			string(h.Texts.AppendValue(nil, h.Initial)) != string(first.Texts.AppendValue(nil, first.Initial))) {
			t.Errorf("header %+v, initial %s; expected %+v, %s", h.Meta, h.Texts.AppendValue(nil, h.Initial),
				first.Meta, first.Texts.AppendValue(nil, first.Initial))
		}
		for k, v := range h.InitVer {
			if v != history.None && h.VerKey[v] != uint32(k) {
				t.Errorf("initial version of another key")
			}
		}
		for s := range h.NumSessions() {
			in := h.SessTxn[h.SessOff[s]:h.SessOff[s+1]]
			if !slices.IsSorted(in) || len(in) == 0 || h.Txns.Sess[in[0]] != uint32(s) {
				t.Errorf("session %d has %v", s, in)
			}
		}
		out = append(out, txns(h)...)
		return nil
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if s.Txns != int64(len(out)) {
		t.Errorf("planned %d transactions, read %d", s.Txns, len(out))
	}
	return out, s
}

// source makes a history whose sessions' transactions stand in their order, as text without and with places.
func source(t testing.TB, seed uint64) (*history.History, []byte) {
	h := random.Medium(seed, random.Options{})
	if seed%3 == 0 {
		h = random.Tiny(seed, random.Options{})
	}
	var text bytes.Buffer
	if err := jsonl.Write(&text, h); err != nil {
		t.Fatal(err)
	}
	h, err := jsonl.Read(text.Bytes(), "h")
	if err != nil {
		t.Fatal(err)
	}
	return h, text.Bytes()
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d transactions; expected %d", what, len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("%s: transaction %d is\n%s\nexpected\n%s", what, i, got[i], want[i])
		}
	}
}

// Whatever the pieces and batches, a history reads as it does as a whole.
func TestPieces(t *testing.T) {
	dir := t.TempDir()
	for seed := range histtest.Long[uint64](60, 5000) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		for _, r := range []func(){bounds.Set("split.batch-txns", 1+rnd.IntN(9)),
			bounds.Set("split.batch-ops", 1+rnd.IntN(20)), bounds.Set("split.batch-bytes", 16+rnd.IntN(500))} {
			defer r()
		}
		h, text := source(t, seed)
		want := txns(h)
		plain := filepath.Join(dir, "h.jsonl")
		if err := os.WriteFile(plain, text, 0o600); err != nil {
			t.Fatal(err)
		}
		o := Options{PieceBytes: 1 + rnd.Int64N(2000), Workers: 1}
		got, _ := read(t, []string{plain}, o, h)
		same(t, "JSON lines", got, want)
		for _, name := range []string{"h.ivh", "h.jsonl.zst", "h.ivh.gz"} {
			path := filepath.Join(dir, name)
			if err := format.Write(path, h, "", false); err != nil {
				t.Fatal(err)
			}
			got, s := read(t, []string{path}, o, h)
			same(t, name, got, want)
			if n := len(s.Pieces); name == "h.ivh" && h.NumTxns() > 8 && o.PieceBytes < 500 && n < 2 {
				t.Errorf("%d pieces of %d bytes", n, o.PieceBytes)
			}
		}
		// The lines in several files, of which only the first has the header.
		lines := slices.Collect(bytes.Lines(text))
		parts := filepath.Join(dir, fmt.Sprint("parts", seed))
		if err := os.Mkdir(parts, 0o700); err != nil {
			t.Fatal(err)
		}
		for n := 0; len(lines) > 0; n++ {
			k := 1 + rnd.IntN(len(lines))
			if err := os.WriteFile(filepath.Join(parts, fmt.Sprintf("h%d.jsonl", n)), bytes.Join(lines[:k], nil),
				0o600); err != nil {
				t.Fatal(err)
			}
			lines = lines[k:]
		}
		got, _ = read(t, []string{parts}, o, h)
		same(t, "parts", unlined(got), unlined(want))
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
