package random

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"isovet/history"
	"isovet/internal/test/must"
)

// Anything makes a history that has, at random, everything that one can have. Loose: also what files of text cannot
// hold, such as texts that are no UTF-8, and operations that end before they begin.
func Anything(seed uint64, loose bool) *history.History {
	r := rand.New(rand.NewPCG(seed, 0x7061))
	some := func() bool { return r.IntN(2) == 0 }
	b := history.NewBuilder()
	if some() {
		b.Meta = history.Meta{Name: "n", DB: "é", Note: "a\nb", Workload: "w", Isolation: "i", Lists: some()}
	}
	if loose {
		b.File = "made up"
	}
	texts := []string{"", "x", "null", "日本", "a\x00b", "\"q\\\t\n", strings.Repeat("long ", 60)}
	if loose {
		texts = append(texts, "\xff\x01")
	}
	text := func() []byte { return []byte(texts[r.IntN(len(texts))]) }
	integer := func() int64 {
		return []int64{0, 1, -1, math.MaxInt64, math.MinInt64, math.MinInt64 + 1, 1 << 40, r.Int64(),
			r.Int64N(100)}[r.IntN(9)]
	}
	scalar := func() history.Value {
		switch r.IntN(6) {
		case 0:
			return history.Value{}
		case 1:
			return history.BoolValue(some())
		case 2:
			return b.StringValue(text())
		}
		return history.IntValue(integer())
	}
	value := func() history.Value {
		if r.IntN(4) == 0 {
			return b.RowValue([]byte([]string{`{}`, `{"a":1,"b":"\"q\\"}`,
				`{"c":null,"d":-12,"e":true,"f":false}`}[r.IntN(3)]))
		}
		return scalar()
	}
	if some() {
		b.Initial = value()
	}
	lists, preds, opTimes, times, stamps, init, texted := some(), some(), some(), some(), some(), some(), some()
	register := func() uint32 {
		if some() {
			return b.Key(b.StringValue(text()))
		}
		return b.Key(history.IntValue(integer()))
	}
	list := func() uint32 { return b.Key(b.StringValue([]byte{'l', '0' + byte(r.IntN(3))})) }
	op := func(onlyWrites bool) {
		kind := r.IntN(8)
		if onlyWrites {
			kind = 1
		}
		switch {
		case kind == 2 && lists:
			b.Append(list(), scalar())
		case kind == 3 && lists:
			elems := make([]history.Value, r.IntN(4))
			for i := range elems {
				elems[i] = scalar()
			}
			b.ReadList(list(), elems)
		case kind == 4 && lists && loose:
			b.Read(list(), history.Value{})
		case kind > 5 && preds:
			k := []history.OpKind{history.PredRead, history.PredWrite}[kind-6]
			var found []history.PredRow // each row once
			for range r.IntN(4) {
				row := history.PredRow{Key: register(), Old: value(), New: value(), OldUnknown: kind == 7 && some()}
				if !slices.ContainsFunc(found, func(o history.PredRow) bool { return o.Key == row.Key }) {
					found = append(found, row)
				}
			}
			b.Predicate(k, []byte([]string{`{}`, `{"a":{"<":3}}`, `{"or":[{"":{"=":"é"}}]}`}[r.IntN(3)]), found)
		case kind&1 == 0:
			b.Read(register(), value())
		default:
			b.Write(register(), value())
		}
		if opTimes && some() {
			from, to := r.Int64N(100), r.Int64N(100)
			if !loose {
				to += from
			}
			b.OpTimes(from, to)
		}
	}
	n := r.IntN(12)
	ids := r.Perm(n + 1)
	seqs := map[int64]int64{}
	for i := range n {
		h := history.NewTxnHead()
		if h.Init = init && i == n/2; !h.Init {
			h.Status = history.Status(r.IntN(3))
		}
		for range r.IntN(6) {
			op(h.Init)
		}
		if seed%3 > 0 {
			h.ID, h.HasID = int64(ids[i]), true
			if seed%3 == 2 {
				h.ID = h.ID*h.ID<<40 - 7
			}
		}
		if loose {
			h.Line = uint32(r.IntN(3) * (i + 2))
		}
		if r.IntN(4) > 0 && (loose || !h.Init) {
			h.Session, h.HasSess = r.Int64N(3)<<(r.IntN(2)*50)-1, true
			if seed%5 == 0 && !loose { // the file's order, or all backwards, where another test has it
				h.Seq, h.HasSeq = seqs[h.Session], true
				seqs[h.Session]++
			}
		}
		if times && some() {
			h.Start = r.Int64N(100) * 1_000_000
			h.End = h.Start + r.Int64N(9)
			if some() {
				h.Commit = h.Start
			}
		}
		if stamps && some() {
			h.StartTS, h.CommitTS = r.Int64N(5), 5+integer()>>1&0xff
		}
		if texted && some() {
			h.Node, h.Name = b.Text(text()), b.Text(text())
		}
		b.EndTxn(h)
	}
	return must.Have(b.Build())
}
