package evidence

import (
	"fmt"
	"regexp"
	"strings"

	"isovet/history"
)

// maxInSQL is of how many transactions a verdict has the statements.
const maxInSQL = 8

// isSQL finds the names of transactions that are their statements, as recorders of SQL give them, behind a level.
var isSQL = regexp.MustCompile(`^([a-z-]+: ?)?(?i:/\*|\(|(select|insert|update|delete|merge|with|replace|call)\s)`)

// Statements is a transaction's name, where that is what it did in SQL; "": it is not.
func Statements(h *history.History, t uint32) string {
	if h.Txns.Name == nil || t == history.None || h.Txns.Name[t] == history.None {
		return ""
	}
	if name := string(h.Texts.Text(h.Txns.Name[t])); isSQL.MatchString(name) {
		return name
	}
	return ""
}

// InSQL is a text about an anomaly with what its transactions did, a line each, in the program's words.
func InSQL(text string, a *Anomaly, h *history.History) string {
	b := strings.TrimRight(text, "\n")
	for i, t := range a.Txns {
		if s := Statements(h, t); s != "" && i < maxInSQL {
			b += fmt.Sprintf("\nT%d is %s", h.Txns.ID[t], s)
		}
	}
	return b
}
