package watch

import (
	"strings"

	"isovet/check/timestamp"
	"isovet/history"
	"isovet/internal/bounds"
	"isovet/predicates"
)

// rows has the texts of values and predicates by their hashes, with which predicate operations are judged. If the first
// fewTxns transactions have no predicate operation, it keeps none until the first one comes. If the texts and the keys
// that stay in memory for them need more than their share, it keeps none any more. What it keeps depends only on the
// transactions, not on batches, so that a restart finds the same.
type rows struct {
	texts  map[uint64]rowText
	size   int64 // bytes of texts
	sweep  int   // with so many texts, those that nothing needs are dropped
	keeps  bool
	seen   bool // there was a predicate operation
	full   bool
	attach bool
	txns   int
	room   int64 `freeze:"-"` // for the texts and their keys
	// The predicate that was asked for last, and whether it looks at keys.
	last   uint64                `freeze:"-"`
	parsed *predicates.Predicate `freeze:"-"`
	ofKeys bool                  `freeze:"-"`
}

// rowText is a text, and the row that it means if a predicate has asked for it.
type rowText struct {
	text string
	row  predicates.Row `freeze:"-"`
}

// fewTxns bounds the transactions without a predicate operation for which texts are kept.
var fewTxns = 1 << 14

func init() { bounds.Register("watch.fewTxns", &fewTxns) } // tests set it to 1

const (
	textBytes   = 96  // of a text, without its bytes
	rowKeyBytes = 384 // of a key
	minSweep    = 1 << 10
)

// keep keeps the text of a value whose hash is sum.
func (p *parser) keep(t *history.Texts, v history.Value, sum uint64) {
	if !p.rows.keeps || sum == 0 {
		return
	}
	if _, has := p.rows.texts[sum]; !has {
		p.text = t.AppendValue(p.text[:0], v)
		p.rows.add(sum, p.text)
	}
}

func (r *rows) add(sum uint64, text []byte) {
	if r.texts == nil {
		r.texts, r.sweep = map[uint64]rowText{}, minSweep
	}
	r.texts[sum] = rowText{text: string(text)}
	r.size += textBytes + int64(len(text))
}

// predicate returns a predicate operation for the judge.
func (p *parser) predicate(h *history.History, kind history.OpKind, n uint32) timestamp.ArrivalPred {
	r := &p.rows
	if r.seen = true; !r.keeps && !r.full {
		r.keeps = true
		p.aion.KeepRows(true, true)
	}
	text := h.Texts.Text(h.Preds.Pred[n])
	x := timestamp.ArrivalPred{Pred: p.hash.Text(text)}
	if _, has := r.texts[x.Pred]; r.keeps && !has {
		r.add(x.Pred, text)
	}
	val := func(v uint32) uint64 {
		sum := h.Texts.Keyed(p.hash, h.VerValue(v))
		p.keep(h.Texts, h.VerValue(v), sum)
		return sum
	}
	for i := h.Preds.Off[n]; i < h.Preds.Off[n+1]; i++ {
		row := timestamp.ArrivalRow{Known: h.Preds.Old[i] != history.None}
		if row.Known {
			row.Key, row.Old = p.keyOf[h.VerKey[h.Preds.Old[i]]], val(h.Preds.Old[i])
		}
		if kind == history.PredWrite {
			row.Key, row.New = p.keyOf[h.VerKey[h.Preds.New[i]]], val(h.Preds.New[i])
		}
		x.Rows = append(x.Rows, row)
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
	if !r.keeps {
		return
	}
	if !r.seen && r.txns > fewTxns {
		p.keepNone()
		return
	}
	over := func() bool { return r.size+int64(p.aion.RowKeys())*rowKeyBytes > r.room }
	if len(r.texts) < r.sweep && !over() {
		return
	}
	needed := map[uint64]rowText{}
	p.aion.Known(func(sum uint64) {
		if text, has := r.texts[sum]; has {
			needed[sum] = text
		}
	})
	if text, has := r.texts[p.initial]; has {
		needed[p.initial] = text
	}
	r.texts, r.size = needed, 0
	for _, t := range needed {
		r.size += textBytes + int64(len(t.text))
	}
	if r.sweep = max(minSweep, 2*len(needed)); over() {
		r.full = r.seen
		p.keepNone()
	}
}

func (p *parser) keepNone() {
	r := &p.rows
	r.keeps, r.texts, r.size = false, nil, 0
	p.aion.KeepRows(false, false)
}
