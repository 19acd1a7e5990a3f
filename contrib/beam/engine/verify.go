package engine

import (
	"context"
	"encoding/json"

	"isovet/certify/large"
	"isovet/history"
	"isovet/history/split"
)

// Verifier does the passes of a certificate's verification (package certify/large) by an Engine.
type Verifier struct {
	*Engine
	Set  *split.Set
	From Remote // where Set's files come from that are copies

	name string // under which the records are
}

var _ large.Backend = (*Verifier)(nil)

func init() {
	// So that all processes number alike the types that are sent: see backend.go.
	if err := large.Number(); err != nil {
		panic(err)
	}
	Register("verify pieces", doVerifyPieces)
	Register("verify partition", doVerifyPartition)
}

// maxGroups is into how many groups of pieces a history is divided, at most.
const maxGroups = 256

// Pieces does a task over all groups of pieces.
func (v *Verifier) Pieces(ctx context.Context, task []byte) ([][]byte, error) {
	var args [][]byte
	all := v.Set.Pieces
	for i, n := 0, min(len(all), maxGroups); i < n; i++ {
		a, err := encodeGroup(all[len(all)*i/n:len(all)*(i+1)/n], v.From)
		if err != nil {
			return nil, err
		}
		args = append(args, a)
	}
	answers, _, name, err := v.Shuffle(ctx, "verify pieces", task, args)
	v.name = name
	return answers, err
}

// chunkBytes is how many bytes of records make a chunk.
const chunkBytes = 64 << 10

func doVerifyPieces(ctx context.Context, c *Call) ([]byte, error) {
	var g group
	if err := json.Unmarshal(c.Args, &g); err != nil {
		return nil, err
	}
	if err := g.From.here(ctx, g.Pieces); err != nil {
		return nil, err
	}
	var parts [][]byte // what is not emitted yet
	answer, err := large.DoPiece(ctx, c.Shared, func(ctx context.Context, f func(*history.History, int64) error) error {
		for i := range g.Pieces {
			if err := g.Pieces[i].Each(ctx, func(b *split.Batch) error { return f(b.H, b.First) }); err != nil {
				return err
			}
		}
		return nil
	}, func(part int, record []byte) error {
		for len(parts) <= part {
			parts = append(parts, nil)
		}
		b := append(parts[part], record...)
		if len(b) >= chunkBytes {
			if err := c.Emit(part, nil, b); err != nil {
				return err
			}
			b = b[:0]
		}
		parts[part] = b
		return nil
	})
	if err != nil {
		return nil, err
	}
	for part, b := range parts {
		if len(b) > 0 {
			if err := c.Emit(part, nil, b); err != nil {
				return nil, err
			}
		}
	}
	return answer, nil
}

// verifyPart is a partition of records.
type verifyPart struct {
	Name string `json:"name"`
	Part int    `json:"part"`
}

// Partitions does a task over the partitions of what the last Pieces emitted.
func (v *Verifier) Partitions(ctx context.Context, task []byte, n int) ([][]byte, error) {
	var args [][]byte
	for i := range n {
		a, err := json.Marshal(&verifyPart{v.name, i})
		if err != nil {
			return nil, err
		}
		args = append(args, a)
	}
	return v.Do(ctx, "verify partition", task, args)
}

func doVerifyPartition(ctx context.Context, c *Call) ([]byte, error) {
	var x verifyPart
	if err := json.Unmarshal(c.Args, &x); err != nil {
		return nil, err
	}
	p, err := OpenPartition(ctx, c.Dir, x.Name, x.Part)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	n := 0
	for _, k := range p.Chunks {
		n += k.Bytes
	}
	records := make([]byte, 0, n)
	for _, k := range p.Chunks {
		if records, err = k.Read(records); err != nil {
			return nil, err
		}
	}
	return large.DoPartition(c.Shared, records)
}
