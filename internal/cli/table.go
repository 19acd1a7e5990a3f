package cli

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/tw"
)

// table writes rows under a header for people. Automatic formatting and wrapping are off: they change words.
func table(w io.Writer, header []string, rows [][]string) error {
	left := tw.CellAlignment{Global: tw.AlignLeft}
	t := tablewriter.NewTable(w,
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithHeaderAlignmentConfig(left),
		tablewriter.WithRowAlignmentConfig(left),
		tablewriter.WithRendition(tw.Rendition{
			Borders:  tw.BorderNone,
			Settings: tw.Settings{Separators: tw.Separators{BetweenColumns: tw.Off}, Lines: tw.Lines{ShowHeaderLine: tw.Off}},
		}),
	)
	t.Header(header)
	if err := t.Bulk(rows); err != nil {
		return err
	}
	return t.Render()
}

// jsonLine writes one JSON value and a line's end.
func jsonLine(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("cannot write the result as JSON: %w", err)
	}
	_, err = w.Write(append(b, '\n'))
	return err
}
