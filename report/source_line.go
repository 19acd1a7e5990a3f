package report

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"isovet/evidence"
	"isovet/history"
)

// callerIn matches the comment with a place in the program that recorders put behind a statement.
var callerIn = regexp.MustCompile(`/\* ([^\s*]+):(\d+) \*/`)

// inSource returns the first source line in the repository that issued a statement of the transaction.
func inSource(h *history.History, t uint32) (at spot, ok bool) {
	root := repository()
	for _, m := range callerIn.FindAllStringSubmatch(evidence.Statements(h, t), -1) {
		// A file is named from the repository's root, or behind the name of a module or of another machine's folder.
		file, more := m[1], root != "" && filepath.IsLocal(strings.TrimLeft(m[1], "/"))
		for ; more; _, file, more = strings.Cut(file, "/") {
			name := filepath.Join(root, filepath.FromSlash(file))
			if s, err := os.Stat(name); err == nil && s.Mode().IsRegular() {
				line, _ := strconv.Atoi(m[2])
				return spot{file: name, line: line}, true
			}
		}
	}
	return spot{}, false
}
