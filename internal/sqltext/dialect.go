package sqltext

import (
	"errors"
	"isovet/internal/pattern"
	"regexp"
	"strconv"
	"strings"
)

// quoted, comment and parameter are what dialect looks for. A backslash within quotes means what the database says.
var words = pattern.Lazy("(?s)'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`(?:[^`]|``)*`|\\[[A-Za-z_][\\w ]*\\]|" +
	`--[^\n]*|/\*.*?\*/|\$\w+\$|::|\?\d*|[:@$]\w+|[\w\x80-\xff]+`)

var phrases = [...]struct {
	from func() *regexp.Regexp
	to   string
}{
	{pattern.Lazy(`(?i)^\s*(?:replace|insert\s+or\s+replace)\s+into\b`), "INSERT INTO"},
	{pattern.Lazy(`(?i)^\s*begin\s+(?:immediate|exclusive|deferred|concurrent)(?:\s+transaction)?\b`), "BEGIN"},
	{pattern.Lazy(`(?i)\bon\s+duplicate\s+key\s+update\b`), "ON CONFLICT (duplicate) DO UPDATE SET"},
	{pattern.Lazy(`(?i)\bvalues\s*\(\s*("(?:[^"]|"")*"|\w+)\s*\)(\s*(?:,|;|$))`), "excluded.$1$2"},
	{pattern.Lazy(`(?i)\block\s+in\s+share\s+mode\b`), "FOR SHARE"},
}

// ParseDialect reads a text of SQLite's, MySQL's or MariaDB's, as far as PostgreSQL's grammar goes once parameters,
// quotes and a few phrases are spelled as it has them. names[i] is the name of parameter i+1, "" where it has none.
func ParseDialect(sql string) (all []Stmt, names []string, err error) {
	positions := 0
	numbers := map[string]int{}
	text := words().ReplaceAllStringFunc(sql, func(w string) string {
		switch c := w[0]; {
		case c == '\'' && strings.Contains(w, `\`), strings.HasPrefix(w, "/*!"), strings.HasPrefix(w, "/*+"):
			err = errors.New("a backslash or a comment that databases read differently")
		case strings.HasPrefix(w, "--"), strings.HasPrefix(w, "/*"):
			return " "
		case c == '`', c == '[':
			return `"` + strings.ReplaceAll(strings.ReplaceAll(w[1:len(w)-1], "``", "`"), `"`, `""`) + `"`
		case w == "?":
			positions++
			names = append(names, "")
			return "$" + strconv.Itoa(positions)
		case w == "::" || c == '$' && strings.HasSuffix(w, "$"):
		case c == ':' || c == '@' || c == '$' || c == '?':
			if n, err := strconv.Atoi(w[1:]); err == nil {
				for n > len(names) && n < 1<<16 {
					names = append(names, "")
				}
				return "$" + w[1:]
			}
			n := numbers[w[1:]]
			if n == 0 {
				names = append(names, w[1:])
				n = len(names)
				numbers[w[1:]] = n
			}
			return "$" + strconv.Itoa(n)
		}
		return w
	})
	if positions > 0 && len(names) > positions {
		err = errors.New("parameters of several kinds")
	}
	if err != nil {
		return nil, nil, err
	}
	replace := false
	for i, p := range phrases {
		if p.from().MatchString(text) && (i != 3 || strings.Contains(text, "(duplicate)")) {
			replace = replace || i == 0
			text = p.from().ReplaceAllString(text, p.to)
		}
	}
	all, err = Parse(text)
	if replace && len(all) == 1 && all[0].Kind == Insert && !all[0].OnlyNew {
		s := &all[0]
		s.Upsert, s.Sets, s.Overwrite = true, s.Columns, s.Columns
	}
	return all, names, err
}
