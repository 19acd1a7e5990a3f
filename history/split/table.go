package split

import (
	"context"
	"fmt"
	"math"

	"isovet/history"
	"isovet/history/format"
)

// table adds the pieces of a Parquet file: consecutive row groups.
func (p *planner) table(ctx context.Context, f *File) error {
	return withTable(f.Path, func(t format.Table) error {
		h, err := t.Header()
		if err != nil {
			return err
		}
		if err := p.header(f.Path, headerOf(h)); err != nil {
			return err
		}
		txns := make([]int64, t.NumGroups())
		err = t.Heads(ctx, func(g int, h *history.TxnHead) error {
			txns[g]++
			x := head{id: h.ID, line: int64(h.Line), init: h.Init, session: h.Session, has: h.HasSess,
				seq: history.NoTime}
			if h.HasSeq {
				x.seq = h.Seq
			}
			return p.facts.add(f.Path, len(p.set.Files), &x, !p.o.anyOrder)
		})
		if err != nil {
			return err
		}
		q := Piece{By: byGroups}
		bytes := int64(0)
		for g, n := range txns {
			q.To++
			q.Txns += n
			if bytes += t.GroupBytes(g); bytes >= p.o.PieceBytes && g < len(txns)-1 {
				p.add(q)
				q, bytes = Piece{By: byGroups, From: q.To, To: q.To}, 0
			}
		}
		p.add(q)
		p.tell(f.Bytes)
		return nil
	})
}

// withTable opens a Parquet file.
func withTable(path string, do func(t format.Table) error) error {
	in, err := format.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	data, ok := in.Mapped()
	if !ok {
		return fmt.Errorf("%s: no longer a plain file; expected the file of the plan", path)
	}
	t, err := format.OpenTable(data, path)
	if err != nil {
		return err
	}
	return do(t)
}

// groups reads row groups of a Parquet file.
func (p *Piece) groups(ctx context.Context, give func(*history.History, []int64) error) error {
	return withTable(p.File.Path, func(t format.Table) error {
		if n := int64(t.NumGroups()); p.From < 0 || p.From > p.To || p.To > min(n, math.MaxInt32) {
			return fmt.Errorf("%s: row groups %d to %d of %d; expected some of these", p.File.Path, p.From, p.To, n)
		}
		part := format.TablePart{From: int(p.From), To: int(p.To), Txns: batchTxns, Ops: batchOps,
			Header: p.Header.history()}
		return t.Each(ctx, part, func(h *history.History, seqs []int64) error {
			if p.Override != "" {
				if err := p.Override.Apply(h); err != nil {
					return err
				}
			}
			return give(h, seqs)
		})
	})
}

// history returns a history without transactions with this header.
func (h *Header) history() *history.History {
	t := new(history.Texts)
	return &history.History{Meta: h.Meta, Initial: h.Initial.in(t), Texts: t}
}
