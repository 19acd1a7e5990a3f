package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"isovet/history/format/jsonl"
)

// TestMissedRows: around a condition that missed a row stand who had left the row so and who made it match, from either
// end; what the history shows is told from what real time rules out, and nothing is reported where two versions are
// left.
func TestMissedRows(t *testing.T) {
	const head = `{"format":"isovet-history","version":1}` + "\n"
	txn := func(id, start int, ops string) string {
		return fmt.Sprintf(`{"id":%d,"session":%d,"start":%d,"end":%d,"ops":[%s]}`+"\n", id, id, start, start+10, ops)
	}
	const missed = `["pr",{"a":{"=":1}},[]]`
	for _, c := range []struct {
		name, text string
		want       []string // kind, from, to, whether known
	}{
		{"a row that was inserted once", txn(1, 0, missed) + txn(2, 5, `["w","x",{"a":1,"u":1}]`),
			[]string{"prw 1 2 true"}},
		{"a row that was made false, and true later", txn(1, 0, `["w","x",{"a":0,"u":1}]`) + txn(2, 20, missed) +
			txn(3, 40, `["w","x",{"a":1,"u":2}]`), []string{"pwr 1 2 false", "prw 2 3 false"}},
		{"nothing rules the first version out", txn(1, 0, `["w","x",{"a":0,"u":1}]`) + txn(2, 5, missed) +
			txn(3, 8, `["w","x",{"a":1,"u":2}]`), nil},
		{"its own write", txn(1, 0, `["w","x",{"a":0,"u":1}],`+missed) + txn(2, 5, `["w","x",{"a":1,"u":2}]`), nil},
		{"a row of another condition", txn(1, 0, missed) + txn(2, 5, `["w","x",{"a":2,"u":1}]`), nil},
	} {
		h, err := jsonl.Read([]byte(head+c.text), "h")
		if err != nil {
			t.Fatal(err)
		}
		b := held(t, h)
		var got []string
		for u := range uint32(h.NumTxns()) {
			for _, e := range b.deps(u).Edges {
				if !strings.HasPrefix(e.Dep, "p") {
					continue
				}
				one := fmt.Sprintf("%s %d %d %v", e.Dep, h.Txns.ID[e.From], h.Txns.ID[e.To], e.Known)
				if e.Why == "" || len(e.Rests) == 0 || !e.Known && e.By == "" {
					t.Errorf("%s: no reason: %+v", c.name, e)
				}
				got = append(got, one)
			}
		}
		var want []string
		for _, e := range c.want {
			want = append(want, e, e) // around either end
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q; expected %q", c.name, got, want)
		}
	}
}
