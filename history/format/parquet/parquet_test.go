package parquet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"isovet/datasets"
	"isovet/history"
	"isovet/history/format"
	"isovet/history/format/jsonl"
	"isovet/internal/test/histtest/diff"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// histories calls f with random histories of every kind.
func histories(t *testing.T, n uint64, f func(t testing.TB, name string, h *history.History)) {
	randtest.Seeds(t, n, func(t testing.TB, seed uint64) {
		f(t, fmt.Sprintf("anything, seed %d", seed), random.Anything(seed, false))
		o := random.Options{Duplicates: seed&1 > 0, Deletes: seed&2 > 0, Aborted: seed&4 > 0, Unknown: seed&8 > 0,
			NoTimes: seed&16 > 0, Predicates: seed&32 > 0, Lists: seed&96 == 64}
		f(t, fmt.Sprintf("tiny, seed %d", seed), random.Tiny(seed, o))
		f(t, fmt.Sprintf("odd, seed %d", seed), random.Odd(seed, o))
		if seed%8 == 0 {
			f(t, fmt.Sprintf("medium, seed %d", seed), random.Medium(seed, o))
			f(t, fmt.Sprintf("stamped, seed %d", seed), random.Stamped(seed, random.StampedOptions{
				Lists: seed&8 > 0, Predicates: seed&8 == 0}))
		}
	})
	for _, a := range datasets.Anomalies() {
		f(t, a.Name, a.History())
	}
}

func written(t testing.TB, name string, h *history.History) []byte {
	t.Helper()
	var b bytes.Buffer
	must.OK(t, Write(&b, h), "%s", name)
	return b.Bytes()
}

func read(data []byte, workers int) (*history.History, error) {
	return Read(context.Background(), data, "h.parquet", workers, nil)
}

// TestRoundTrip: what is written is read as the same history.
func TestRoundTrip(t *testing.T) {
	histories(t, randtest.Long[uint64](100, 3000), func(t testing.TB, name string, h *history.History) {
		g := must.Get(read(written(t, name, h), 1))(t)
		diff.Same(t, h, g, "%s", name)
	})
}

// TestSessionOrder: a session's order that is not the file's is written, and read.
func TestSessionOrder(t *testing.T) {
	h := must.Get(jsonl.Read([]byte(`{"id":1,"session":1,"seq":1,"ops":[]}`+"\n"+`{"id":2,"session":1,"seq":0,"ops":[]}`+"\n"+
		`{"id":3,"session":2,"ops":[["w",1,1]]}`+"\n"+`{"id":4,"ops":[]}`+"\n"), "h.jsonl"))(t)
	g := must.Get(read(written(t, "h", h), 1))(t)
	diff.Same(t, h, g, "written and read")
}

// TestWorkers: the number of cores makes no difference, whether or not row groups end with a transaction.
func TestWorkers(t *testing.T) {
	defer func(rows int64, group int) { minRows, groupRows = rows, group }(minRows, groupRows)
	minRows, groupRows = 1000, 2000
	b := history.NewBuilder()
	r := rand.New(rand.NewPCG(1, 2))
	for i := range int64(3000) {
		for range 1 + r.IntN(12) {
			k := b.Key(history.IntValue(r.Int64N(1000)))
			if r.IntN(2) == 0 {
				b.Write(k, history.IntValue(i))
			} else {
				b.Read(k, b.StringValue([]byte(fmt.Sprint(i%777))))
			}
		}
		h := history.NewTxnHead()
		h.HasSess, h.Session = true, i%7
		b.EndTxn(h)
	}
	h := must.Get(b.Build())(t)
	data := written(t, "h", h)
	f := must.Get(Open(data, "h"))(t)
	if f.NumGroups() < 3 || f.NumRows() != int64(h.NumOps()) {
		t.Errorf("%d row groups, %d rows of %d operations", f.NumGroups(), f.NumRows(), h.NumOps())
	}
	torn := foreign(t, r, rowsOf(h), shape{group: 2003})
	for _, file := range [][]byte{data, torn} {
		for _, workers := range []int{1, 3, 8} {
			g := must.Get(read(file, workers))(t)
			diff.Same(t, h, g, "%d workers", workers)
		}
	}
}

// TestForeign: files as other programs write them, each column of any type that can hold it, in any encoding and
// compression, are read as the same history.
func TestForeign(t *testing.T) {
	histories(t, randtest.Long[uint64](25, 3000), func(t testing.TB, name string, h *history.History) {
		r := rand.New(rand.NewPCG(uint64(len(name))*7919+uint64(h.NumOps()), 5))
		rows := rowsOf(h)
		data := foreign(t, r, rows, shape{group: 1 + r.IntN(max(1, 2*len(rows))), any: true,
			initial: string(h.Texts.AppendValue(nil, h.Initial)), lists: h.Meta.Lists})
		g := must.Get(read(data, 1))(t)
		h.Meta = history.Meta{Lists: h.Meta.Lists} // such files say nothing of the whole
		diff.Same(t, h, g, "%s", name)
	})
}

// TestNotText: what Parquet cannot hold as text is refused.
func TestNotText(t *testing.T) {
	b := history.NewBuilder()
	b.Write(b.Key(b.StringValue([]byte("\xff"))), history.IntValue(1))
	b.EndTxn(history.NewTxnHead())
	h := must.Get(b.Build())(t)
	if err := Write(&bytes.Buffer{}, h); err == nil || !strings.Contains(err.Error(), "UTF-8") {
		t.Errorf("%v", err)
	}
}

// inputError returns the error that a file must be refused with.
func inputError(t testing.TB, name string, err error) *history.InputError {
	t.Helper()
	e, ok := errors.AsType[*history.InputError](err)
	must.Hold(t, ok, "%s: %v; expected an error about the input", name, err)
	return e
}

// TestBatches: parts of a file, read in batches, are all of it, however it is divided, and however its row groups end.
func TestBatches(t *testing.T) {
	histories(t, randtest.Long[uint64](15, 2000), func(t testing.TB, name string, h *history.History) {
		r := rand.New(rand.NewPCG(uint64(len(name))*7919+uint64(h.NumOps()), 6))
		rows := rowsOf(h)
		data := foreign(t, r, rows, shape{group: 1 + r.IntN(max(1, len(rows)/2)), any: true})
		f := must.Get(Open(data, "h.parquet"))(t)
		txns := make([]int64, f.NumGroups())
		heads := 0
		err := f.Heads(t.Context(), func(g int, x *history.TxnHead) error {
			if s := h.SessName[h.Txns.Sess[heads]]; x.ID != h.Txns.ID[heads] || x.Init != (uint32(heads) == h.Init) ||
				x.HasSess != (s != history.NoTime) || x.HasSess && x.Session != s {
				t.Errorf("%s: transaction %d: %+v", name, heads, x)
			}
			heads++
			txns[g]++
			return nil
		})
		if err != nil || heads != h.NumTxns() {
			t.Fatalf("%s: %d of %d transactions: %v", name, heads, h.NumTxns(), err)
		}
		var all []row
		for from := 0; from < f.NumGroups(); {
			to := from + 1 + r.IntN(f.NumGroups()-from)
			p := format.TablePart{From: from, To: to, Txns: 1 + r.IntN(5), Ops: 1 + r.IntN(20), Header: h}
			n, want := int64(0), int64(0)
			err := f.Each(t.Context(), p, func(b *history.History, seqs []int64) error {
				before := b.Txns.OpOff[b.NumTxns()-1] // operations but those of the last transaction
				if b.NumTxns() > p.Txns || int(before) >= p.Ops {
					t.Errorf("%s: a batch of %d transactions, %d operations", name, b.NumTxns(), b.NumOps())
				}
				n += int64(b.NumTxns())
				part := rowsOf(b)
				at := -1
				for i, x := range part {
					delete(x, "seq")
					if i == 0 || part[i-1]["txn"] != x["txn"] {
						at++
					}
					if seqs != nil && seqs[at] != history.NoTime {
						x["seq"] = seqs[at]
					}
				}
				all = append(all, part...)
				return nil
			})
			must.OK(t, err, "%s", name)
			for _, x := range txns[from:to] {
				want += x
			}
			must.Equal(t, n, want, "%s: transactions of row groups %d to %d", name, from, to)
			from = to
		}
		must.Equal(t, len(all), len(rows), "%s: rows", name)
		for i := range rows {
			// What a list's read of null is, a batch that does not append to it cannot say.
			for _, x := range []row{all[i], rows[i]} {
				if f.columns[cSeq] == nil {
					delete(x, "seq")
				}
				if x["value_json"] == "[]" {
					delete(x, "value_json")
				}
			}
			if !reflect.DeepEqual(all[i], rows[i]) {
				t.Fatalf("%s: row %d: %v and %v", name, i, all[i], rows[i])
			}
		}
	})
}
