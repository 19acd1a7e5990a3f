package viper

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/diff"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// TestPlain: plain operations are read as the scanner reads them, errors and all.
func TestPlain(t *testing.T) {
	rnd := rand.New(rand.NewPCG(2, 9))
	dir := t.TempDir()
	parts := []string{"[", "]", "{", "}", `"`, ",", ":", "0", "-", "null", "true", `"x"`, `"nil"`, `"\n"`, "é", " ", "1.5",
		"99999999999999999999", `["range",1,2,[],[]],`, `{"opType":"r","key":3,"value":4},`}
	good, n := 0, histtest.Long(500, 30_000)
	for range n {
		for log := range 2 {
			var data []byte
			for range rnd.IntN(4) {
				data = append(data, '{')
				data = append(data, [...]string{"", "", "", `"isFinal":true, `, `"isInitial":false,`}[rnd.IntN(5)]...)
				data = append(data, `"value":[`...)
				for range rnd.IntN(2) * rnd.IntN(2) {
					data = append(data, `["range",1,null,[{"id":1,"sk":2,"val":3}],[{"id":"y","val":4}]],`...)
				}
				for j := range rnd.IntN(5) {
					if j > 0 {
						data = append(data, ", "...)
					}
					key := [...]string{"1", "2", `"x"`, `"y"`}[rnd.IntN(4)]
					value := [...]string{"1", "2", "3", "null", `"nil"`, `"a"`}[rnd.IntN(6)]
					if rnd.IntN(2) == 0 {
						data = fmt.Appendf(data, `["%c",%s,%s,%v]`, "rw"[rnd.IntN(2)], key, value, rnd.IntN(3) > 0)
					} else {
						data = fmt.Appendf(data, `["%c",%s,%s,%d,%v,%v]`, "id"[rnd.IntN(2)], key, value, rnd.IntN(4),
							rnd.IntN(2) > 0, rnd.IntN(3) > 0)
					}
				}
				data = append(data, ']')
				if rnd.IntN(8) == 0 {
					data = append(data, `,"isInitial":true`...)
				}
				data = append(data, `,"preBeginTS":`...)
				data = fmt.Appendf(data, "%d}\n", rnd.IntN(9))
			}
			for range rnd.IntN(2) {
				data = randtest.Garble(rnd, data, parts)
			}
			must.OK(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("J%d.log", log)), data, 0o600))
		}
		h, err := read(t.Context(), dir, false)
		want, wantErr := read(t.Context(), dir, true)
		if fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Fatalf("plain: %v\n twin: %v", err, wantErr)
		}
		if err != nil {
			continue
		}
		good++
		diff.Same(t, want, h, "the twin")
		first(t, h)
	}
	if good < n/8 || good == n {
		t.Errorf("%d of %d folders were histories", good, n)
	}
}

// first checks that a history without an initial transaction of its own has one that writes what keys held at first, by
// definition.
func first(t *testing.T, h *history.History) {
	t.Helper()
	if h.Init != history.None && h.Init != uint32(h.NumTxns()-1) {
		return
	}
	var lo, hi uint32
	if h.Init != history.None {
		if lo, hi = h.TxnOps(h.Init); h.Txns.Line[h.Init] != 0 {
			return // it stands in the file
		}
	} else {
		lo, hi = uint32(h.NumOps()), uint32(h.NumOps())
	}
	var want []uint32
	see := func(v uint32) {
		for op, k := range h.Ops.Kind[:lo] {
			if k == history.Write && h.Ops.Ver[op] == v {
				return
			}
		}
		for _, w := range want {
			if h.VerKey[w] == h.VerKey[v] {
				return
			}
		}
		if h.VerKind[v] != history.Null {
			want = append(want, v)
		}
	}
	for op, k := range h.Ops.Kind[:lo] {
		switch v := h.Ops.Ver[op]; k {
		case history.Read:
			see(v)
		case history.PredRead:
			for _, row := range h.Preds.Old[h.Preds.Off[v]:h.Preds.Off[v+1]] {
				see(row)
			}
		}
	}
	if got := h.Ops.Ver[lo:hi]; !slices.Equal(got, want) {
		t.Fatalf("at first %v, expected %v", got, want)
	}
}
