package evidence

import (
	"fmt"
	"regexp"
	"strings"

	"isovet/history"
)

// isSQL matches transaction names that are the transaction's SQL statements, as SQL recorders write them, possibly
// after a level.
var isSQL = regexp.MustCompile(`^([a-z-]+: ?)?(?i:/\*|\(|(select|insert|update|delete|merge|with|replace|call)\s)`)

// Statements returns a transaction's name if it is what the transaction did in SQL, else "".
func Statements(h *history.History, t uint32) string {
	if h.Txns.Name == nil || t == history.None || h.Txns.Name[t] == history.None {
		return ""
	}
	if name := string(h.Texts.Text(h.Txns.Name[t])); isSQL.MatchString(name) {
		return name
	}
	return ""
}

// InSQL returns a text about an anomaly followed by what its transactions, up to 8, did: one line each, in the
// program's own SQL.
func InSQL(text string, a *Anomaly, h *history.History) string {
	b := strings.TrimRight(text, "\n")
	for i, t := range a.Txns {
		if s := Statements(h, t); s != "" && i < 8 {
			b += fmt.Sprintf("\nT%d is %s", h.Txns.ID[t], s)
		}
	}
	return b
}
