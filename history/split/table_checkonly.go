//go:build checkonly || offline

package split

import (
	"context"
	"errors"
	"fmt"
	"io"

	"isovet/history"
)

// The program that only checks, which is to be small, has no Parquet.

type tableWriter interface {
	Add(h *history.History) error
	Close() error
}

func newTable(io.Writer, *history.History) (tableWriter, error) {
	return nil, errors.New("this program is built without Parquet; expected another format, or the full isovet")
}

// table has the file's reader say that it cannot be read.
func (p *planner) table(ctx context.Context, f *File) error { return p.whole(ctx, f) }

func (p *Piece) groups(context.Context, func(*history.History, []int64) error) error {
	return fmt.Errorf("%s: this program is built without Parquet; expected the full isovet", p.File.Path)
}
