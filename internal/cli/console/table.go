package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"isovet/internal/escape"
	"isovet/internal/slice"
)

// LeastColumn is the least width of a column. If that is not enough, a table is wider than its terminal.
const LeastColumn = 12

// Table writes rows with a header for people, in columns separated by two blanks. On a terminal it folds the widest
// columns at blanks until the table fits.
func Table(w io.Writer, header []string, rows [][]string) error {
	return TableWithin(w, TerminalWidth(w), header, rows)
}

// TableWithin is Table for a terminal of so many columns; 0 means any width.
func TableWithin(w io.Writer, most int, header []string, rows [][]string) error {
	widths := make([]int, len(header))
	all := append([][]string{header}, rows...)
	for r, row := range all {
		all[r] = slices.Clone(row)
		for i, cell := range row {
			cell = escape.Line(cell)
			all[r][i] = cell
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for total := 2*len(widths) - 2 + slice.Sum(slices.Values(widths)); most > 0 && total > most; total-- {
		widest := slices.Index(widths, slices.Max(widths))
		if widths[widest] <= LeastColumn {
			break
		}
		widths[widest]--
	}
	var out bytes.Buffer
	for _, row := range all {
		cells := make([][]string, len(row))
		lines := 1
		for i, cell := range row {
			cells[i] = fold(cell, widths[i])
			lines = max(lines, len(cells[i]))
		}
		for l := range lines {
			var b strings.Builder
			for i, cell := range cells {
				text := ""
				if l < len(cell) {
					text = cell[l]
				}
				b.WriteString(text)
				b.WriteString(strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(text))+2))
			}
			out.WriteString(strings.TrimRight(b.String(), " ") + "\n")
		}
	}
	_, err := w.Write(out.Bytes())
	return err
}

// fold breaks a text at blanks into lines of a width. It cuts longer words.
func fold(text string, width int) []string {
	if utf8.RuneCountInString(text) <= width {
		return []string{text}
	}
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
		for r := []rune(line); len(r) > width; r = []rune(line) {
			lines = append(lines, string(r[:width]))
			line = string(r[width:])
		}
	}
	return append(lines, line)
}

// JSONLine writes one JSON value and a line end.
func JSONLine(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("cannot write the result as JSON: %w", err)
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// JSONLines writes each value on a line of its own.
func JSONLines[T any](w io.Writer, all []T) error {
	return slice.Each(all, func(v T) error { return JSONLine(w, &v) })
}

func Milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
