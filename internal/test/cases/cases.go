// Package cases reads the cases of tests from files.
package cases

import (
	"isovet/internal/test/must"
	"os"
	"strconv"
	"strings"
	"testing"
)

// Read reads a test's cases from a file: a row a line, its columns separated by tabs. A column that begins with a
// quotation mark is a string as Go writes it. Lines that begin with # are comments.
func Read(t testing.TB, file string) (rows [][]string) {
	t.Helper()
	text, err := os.ReadFile(file)
	must.OK(t, err)
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		if line = strings.TrimSuffix(line, "\n"); strings.HasPrefix(line, "#") {
			continue
		}
		row := strings.Split(line, "\t")
		for i, c := range row {
			if !strings.HasPrefix(c, `"`) {
				continue
			}
			if row[i], err = strconv.Unquote(c); err != nil {
				t.Fatalf("%s:%d: column %d: %v", file, n, i+1, err)
			}
		}
		rows = append(rows, row)
	}
	return rows
}
