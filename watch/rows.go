package watch

import (
	"strings"

	"isovet/check/timestamp"
	"isovet/history"
	"isovet/internal/bounds"
	"isovet/predicates"
)

// rows has the texts of values and predicates by their hashes, with which predicate operations are judged. It ends if
// the first fewTxns transactions have no predicate operation, or if the texts and the keys that stay in memory for them
// need too much. What it keeps depends only on the transactions, not on batches, so that a restart finds the same.
type rows struct {
	texts  map[uint64]rowText
	size   int64 // bytes of texts
	sweep  int   // with so many texts, those that nothing needs are dropped
	keeps  bool
	seen   bool // there was a predicate operation
	attach bool
	txns   int
	room   int64                 `freeze:"-"` // for the texts and their keys
	last   uint64                `freeze:"-"`
	parsed *predicates.Predicate `freeze:"-"` // last
	ofKeys bool                  `freeze:"-"` // it looks at keys
}

// rowText is a text, and the row that it means if a predicate has asked for it.
type rowText struct {
	text string
	row  predicates.Row `freeze:"-"`
}

// fewTxns bounds the transactions without a predicate operation for which texts are kept.
var fewTxns = 1 << 14

func init() { bounds.Register("watch.fewTxns", &fewTxns) } // tests set it to 1

// The memory of a text, without its bytes, and of a key; and the least texts of which some are dropped.
const textBytes, rowKeyBytes, minSweep = 96, 384, 1 << 10

// keep keeps the text of a value whose hash is sum.
func (p *parser) keep(t *history.Texts, v history.Value, sum uint64) {
	if !p.rows.keeps || sum == 0 {
		return
	}
	if _, has := p.rows.texts[sum]; !has {
		p.text = t.AppendValue(p.text[:0], v)
		p.rows.add(sum, rowText{text: string(p.text)})
	}
}

func (r *rows) add(sum uint64, t rowText) {
	if r.texts == nil {
		r.texts, r.sweep = map[uint64]rowText{}, minSweep
	}
	if _, has := r.texts[sum]; !has && r.keeps {
		r.texts[sum] = t
		r.size += textBytes + int64(len(t.text))
	}
}

// predicate returns a predicate operation for the judge.
func (p *parser) predicate(h *history.History, n uint32) timestamp.ArrivalPred {
	p.rows.seen = true
	text := h.Texts.Text(h.Preds.Pred[n])
	x := timestamp.ArrivalPred{Pred: p.hash.Text(text)}
	p.rows.add(x.Pred, rowText{text: string(text)})
	val := func(v uint32) uint64 {
		if v == history.None { // the greatest
			return timestamp.Missed
		}
		sum := h.Texts.Keyed(p.hash, h.VerValue(v))
		p.keep(h.Texts, h.VerValue(v), sum)
		return sum
	}
	for i := h.Preds.Off[n]; i < h.Preds.Off[n+1]; i++ {
		old, made := h.Preds.Old[i], h.Preds.New[i]
		x.Rows = append(x.Rows, timestamp.ArrivalRow{Old: val(old), New: val(made),
			Key: p.keyOf[h.VerKey[min(old, made)]]})
	}
	return x
}

// truth is the judge's timestamp.Truth.
func (p *parser) truth(pred uint64, key uint32, val uint64) predicates.Truth {
	r := &p.rows
	if val == 0 {
		return predicates.False
	}
	t, known := r.texts[val]
	if !known {
		return predicates.Unknown
	}
	if t.row == nil {
		t.row = predicates.RowOf([]byte(t.text))
		r.texts[val] = t
	}
	if r.parsed == nil || r.last != pred {
		text := r.texts[pred].text
		x, err := predicates.Parse([]byte(text))
		if err != nil {
			return predicates.Unknown // the reader has refused it
		}
		r.last, r.parsed, r.ofKeys = pred, x, strings.Contains(text, `"key"`)
	}
	if r.ofKeys {
		t.row["key"] = predicates.RowOf([]byte(p.keys.Name(key)))[""]
	}
	return r.parsed.Eval(t.row)
}

// bound drops the texts that nothing needs.
func (p *parser) bound() {
	r := &p.rows
	over := func() bool {
		return !r.seen && r.txns > fewTxns || r.size+int64(p.aion.RowKeys())*rowKeyBytes > r.room
	}
	if !r.keeps || len(r.texts) < r.sweep && !over() {
		return
	}
	was := r.texts
	r.texts, r.size = nil, 0
	need := func(sum uint64) {
		if t, has := was[sum]; has {
			r.add(sum, t)
		}
	}
	p.aion.Known(need)
	need(p.initial)
	if r.sweep = max(minSweep, 2*len(r.texts)); over() {
		r.keeps, r.texts, r.size = false, nil, 0
		p.aion.KeepRows(nil)
	}
}
