//go:build !checkonly

package cli

import (
	"bytes"
	"io"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/tw"
)

// table writes rows under a header for people. Automatic formatting and wrapping are off: they change words. Blanks at
// the ends of lines are taken off, which only get in the way where a line is copied or compared.
func table(w io.Writer, header []string, rows [][]string) error {
	left := tw.CellAlignment{Global: tw.AlignLeft}
	var b bytes.Buffer
	t := tablewriter.NewTable(&b,
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithHeaderAlignmentConfig(left),
		tablewriter.WithRowAlignmentConfig(left),
		tablewriter.WithRendition(tw.Rendition{
			Borders: tw.BorderNone,
			Settings: tw.Settings{Separators: tw.Separators{BetweenColumns: tw.Off},
				Lines: tw.Lines{ShowHeaderLine: tw.Off}},
		}),
	)
	t.Header(header)
	if err := t.Bulk(rows); err != nil {
		return err
	}
	if err := t.Render(); err != nil {
		return err
	}
	var out bytes.Buffer
	for line := range bytes.Lines(b.Bytes()) {
		out.Write(bytes.TrimPrefix(bytes.TrimRight(line, " \n"), []byte(" ")))
		out.WriteByte('\n')
	}
	_, err := w.Write(out.Bytes())
	return err
}
