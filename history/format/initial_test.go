package format

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"isovet/history"
	"isovet/internal/test/histtest/diff"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// firstReads is FirstReads by its definition: for each key the committed read, not behind an own write, that ended
// first; its value, unless it is null or some write of it began before that end.
func firstReads(h *history.History) map[string]string {
	held := map[string]string{}
	for k := range uint32(h.NumKeys()) {
		best := uint32(history.None)
		each := func(kind history.OpKind, see func(t, op uint32)) {
			for t := range uint32(h.NumTxns()) {
				lo, hi := h.TxnOps(t)
				for op := lo; op < hi; op++ {
					if h.Ops.Kind[op] == kind && h.OpKey(op) == k {
						see(t, op)
					}
				}
			}
		}
		each(history.Read, func(t, op uint32) {
			own := false
			each(history.Write, func(u, w uint32) { own = own || u == t && w < op })
			if own || h.Txns.Status[t] != history.Committed {
				return
			}
			if best == history.None || h.End(t) < h.End(h.TxnOf(best)) {
				best = op
			}
		})
		if best == history.None || h.VerKind[h.Ops.Ver[best]] == history.Null {
			continue
		}
		written := false
		each(history.Write, func(u, w uint32) {
			end := h.End(h.TxnOf(best))
			written = written || h.Ops.Ver[w] == h.Ops.Ver[best] && (end == history.NoTime || h.Start(u) <= end)
		})
		if !written {
			held[h.KeyString(k)] = h.ValueString(h.Ops.Ver[best])
		}
	}
	return held
}

// TestFirstRead: --initial first-read, and KEY=VALUE of the same keys, are the file with an initial transaction that
// writes what the definition says.
func TestFirstRead(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 8))
	dir := t.TempDir()
	some := 0
	for i := range randtest.Long(130, 400) {
		var text strings.Builder
		timed := rnd.IntN(3) > 0
		n := 1 + rnd.IntN(6)
		for id := range n {
			fmt.Fprintf(&text, `{"id":%d,"session":%d,"status":%q`, id, id,
				[]string{"committed", "committed", "aborted", "unknown"}[rnd.IntN(4)])
			if start := rnd.IntN(20); timed {
				fmt.Fprintf(&text, `,"start":%d,"end":%d`, start, start+rnd.IntN(8))
			}
			var ops []string
			for range 1 + rnd.IntN(3) {
				value := []string{"null", "1", "2", `"2"`}[rnd.IntN(4)]
				ops = append(ops, fmt.Sprintf(`["%s","k%d",%s]`, []string{"r", "r", "w"}[rnd.IntN(3)], rnd.IntN(3), value))
			}
			fmt.Fprintf(&text, `,"ops":[%s]}`+"\n", strings.Join(ops, ","))
		}
		path := filepath.Join(dir, fmt.Sprint(i, ".jsonl"))
		put := func(text string) { must.OK(t, os.WriteFile(path, []byte(text), 0o644)) }
		read := func(o Options) *history.History {
			h := must.Get(Read(t.Context(), path, o))(t)
			return h
		}
		put(text.String())
		plain := read(Options{})
		held := firstReads(plain)
		got := read(Options{Initial: FirstRead})
		var init, flag []string
		for k := range plain.NumKeys() {
			key := plain.KeyString(uint32(k))
			if v, ok := held[key]; ok {
				init, flag = append(init, fmt.Sprintf(`["w",%s,%s]`, key, v)), append(flag, strings.Trim(key, `"`)+"="+v)
			}
		}
		want := plain
		if len(init) > 0 {
			some++
			put(text.String() + fmt.Sprintf(`{"id":%d,"init":true,"ops":[%s]}`+"\n", n, strings.Join(init, ",")))
			want = read(Options{})
		}
		diff.Same(t, want, got, "%s%v", text.String(), held)
		put(text.String())
		if len(flag) > 0 {
			got := read(Options{Initial: InitialValue(strings.Join(flag, ","))})
			diff.Same(t, want, got, "%s%v", text.String(), flag)
		}
	}
	randtest.Mix(t, some < 100, "only %d histories with a first read", some)
}
