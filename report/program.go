package report

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"isovet/evidence"
	"isovet/history"
)

// maxInSQL is of how many transactions a verdict has the statements.
const maxInSQL = 8

// isSQL finds the names of transactions that are their statements, as recorders of SQL give them, behind a level.
var isSQL = regexp.MustCompile(`^([a-z-]+: ?)?(?i:/\*|\(|(select|insert|update|delete|merge|with|replace|call)\s)`)

// callerIn finds the place in the program that recorders note behind a statement.
var callerIn = regexp.MustCompile(`/\* ([^\s*]+):(\d+) \*/`)

// statements is a transaction's name, where that is what it did in SQL.
func statements(h *history.History, t uint32) string {
	if h.Txns.Name == nil || t == history.None || h.Txns.Name[t] == history.None {
		return ""
	}
	if name := string(h.Texts.Text(h.Txns.Name[t])); isSQL.MatchString(name) {
		return name
	}
	return ""
}

// inSQL is what an anomaly's transactions did, a line each, in the program's words.
func inSQL(a *evidence.Anomaly, h *history.History) string {
	var b strings.Builder
	for i, t := range a.Txns {
		if s := statements(h, t); s != "" && i < maxInSQL {
			fmt.Fprintf(&b, "%s is %s\n", txnName(h, t), s)
		}
	}
	return b.String()
}

// inSource is the first place in the repository's source that a transaction's statements come from.
func inSource(h *history.History, t uint32) (at spot, ok bool) {
	root := repository()
	for _, m := range callerIn.FindAllStringSubmatch(statements(h, t), -1) {
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
