package bench

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// pageColumns is the width of a page's lines, in characters.
const pageColumns = 120

// wrapped breaks a paragraph or a list's item, which begins with mark, into lines of at most pageColumns.
func wrapped(mark, text string) string {
	var b strings.Builder
	line := mark
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
			line += word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > pageColumns:
			b.WriteString(line + "\n")
			line = strings.Repeat(" ", len(mark)) + word
			if word == "-" || word == "+" || strings.HasPrefix(word, "#") {
				line = strings.Repeat(" ", len(mark)) + `\` + word // it would begin a list or a heading
			}
		default:
			line += " " + word
		}
	}
	b.WriteString(line + "\n")
	return b.String()
}

// pageTable writes a table of a page where its lines are short enough, else what instead returns.
func pageTable(w io.Writer, header []string, rows [][]string, instead func() error) error {
	var b bytes.Buffer
	if err := writeTable(&b, header, rows, true); err != nil {
		return err
	}
	for line := range strings.Lines(b.String()) {
		if utf8.RuneCountInString(strings.TrimRight(line, "\n")) > pageColumns {
			return instead()
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// pageGrid writes a metric's table: as it is, else with rows and columns exchanged, else as a list of its rows.
func pageGrid(w io.Writer, header []string, rows [][]string) error {
	return pageTable(w, header, rows, func() error {
		first, turned := turn(header, rows)
		return pageTable(w, first, turned, func() error {
			for _, row := range rows {
				var cells []string
				for j, cell := range row[1:] {
					if cell != "" {
						cells = append(cells, header[j+1]+": "+cell)
					}
				}
				if _, err := io.WriteString(w, wrapped("- ", row[0]+". "+strings.Join(cells, "; ")+".")); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// turn exchanges rows and columns.
func turn(header []string, rows [][]string) (first []string, turned [][]string) {
	first = []string{header[0]}
	for _, row := range rows {
		first = append(first, row[0])
	}
	for j := 1; j < len(header); j++ {
		line := []string{header[j]}
		for _, row := range rows {
			line = append(line, row[j])
		}
		turned = append(turned, line)
	}
	return first, turned
}

// pageList writes rows as a list, an item a row, where the table would be too wide.
func pageList(w io.Writer, header []string, rows [][]string, item func(row []string) string) error {
	return pageTable(w, header, rows, func() error {
		for _, row := range rows {
			if _, err := io.WriteString(w, wrapped("- ", item(row))); err != nil {
				return err
			}
		}
		return nil
	})
}

// upper begins a sentence.
func upper(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	return strings.ToUpper(s[:n]) + s[n:]
}

func besideItem(row []string) string {
	return fmt.Sprintf("%s; %s, %s. Here: %s. The paper: %s.", upper(row[0]), row[1], row[2], row[3], row[4])
}
