package sqltext

import (
	"errors"
	"isovet/internal/pattern"
	"regexp"
	"strconv"
	"strings"
)

// words matches what dialect looks for: quoted texts and names, comments, parameters, and words; with true also MySQL's
// comments. The database determines what a backslash within quotes means.
var words = map[bool]func() *regexp.Regexp{false: pattern.Lazy(anyWord), true: pattern.Lazy(anyWord + `|#[^\n]*`)}

const anyWord = "(?s)'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`(?:[^`]|``)*`|\\[[A-Za-z_][\\w ]*\\]|" +
	`--[^\n]*|/\*.*?\*/|\$\$.*?\$\$|\$[A-Za-z_]\w*\$.*?\$[A-Za-z_]\w*\$|\$\w+\$|::|\?\d*|[:@$]\w+|[\w\x80-\xff]+`

// differs matches what means two minuses, a string or a name in MySQL.
var differs = pattern.Lazy(`^--\S|^0[xXbB]|^\d+_`)

// masked is a text in quotes while phrases are replaced.
var masked = pattern.Lazy(`'\x01(\d+)'`)

type phrase struct {
	from func() *regexp.Regexp
	to   string
}

// phrases are what PostgreSQL's grammar lacks, and what means the same for the rows that are read and written.
var phrases = [...]phrase{
	{pattern.Lazy(`(?i)^\s*begin\s+(?:immediate|exclusive|deferred|concurrent)(?:\s+transaction)?\b`), "BEGIN"},
	{pattern.Lazy(`(?i)^(\s*start\s+transaction)\s+with\s+consistent\s+snapshot\b\s*,?`), "$1 "},
	{pattern.Lazy(`(?i)^(\s*(?:commit|rollback)(?:\s+work)?(?:\s+and\s+(?:no\s+)?chain)?)\s+(?:no\s+)?release\b`), "$1"},
	{pattern.Lazy(`(?i)^(\s*(?:savepoint|release(?:\s+savepoint)?|` +
		`rollback(?:\s+(?:work|transaction))?\s+to(?:\s+savepoint)?)\s+)(\w+)`), `$1"$2"`},
	{pattern.Lazy(`(?i)\block\s+in\s+share\s+mode\b`), "FOR SHARE"},
	{pattern.Lazy(`(?i)\bfor\s+(update|share)\s+wait\s+\d+`), "FOR $1"},
	{pattern.Lazy(`(?i)\blimit\s+([$\w]+)\s*,\s*([$\w]+)`), "LIMIT $2 OFFSET $1"},
	{pattern.Lazy(`(?i)^\s*select\s+(?:(?:sql_\w+|high_priority|straight_join|distinctrow)\s+)+`), "SELECT "},
	{pattern.Lazy(`(?i)\bstraight_join\b`), "JOIN"},
	{pattern.Lazy(`(?i)\b(?:use|force|ignore)\s+(?:index|key)\s*(?:for\s+\w+(?:\s+by)?\s*)?\([^()]*\)|` +
		`\bindexed\s+by\s+(?:"[^"]*"|\w+)|\bnot\s+indexed\b`), ""},
	{pattern.Lazy(`(?i)(\binto\b.*\))\s*value\s*\(`), "$1 VALUES ("},
	{pattern.Lazy(`(?i)\b(?:rlike|regexp|glob|sounds\s+like)\b`), "LIKE"},
	{pattern.Lazy(`(?i)(\s)(?:div|mod)(\s)`), "$1/$2"},
	{pattern.Lazy(`&&`), " AND "},
	{pattern.Lazy(`(?i)\bis\s+([$\d'])`), "IS NOT DISTINCT FROM $1"},
	{pattern.Lazy(`(?i)\bis\s+not\s+([$\d'])`), "IS DISTINCT FROM $1"},
	{pattern.Lazy(`(?i)\bbinary\s+(\w)`), "+$1"}, // it compares bytes
	{pattern.Lazy(`(?i)\sseparator\s`), ", "},
	{pattern.Lazy(`(?i)(\s)xor(\s)`), "${1}OR$2"},
	{pattern.Lazy(`(?i)\binterval\s+(?:[^\s()',]+|'[^']*')\s+(?:year|quarter|month|week|day|hour|minute|` +
		`(?:micro)?second)\b`), "INTERVAL '1'"},
	{pattern.Lazy(`(?i)\b(?:current_(?:timestamp|date|time)|localtime(?:stamp)?|utc_\w+)\s*\(\s*\d*\s*\)`), "now()"},
}

// duplicate are phrases of MySQL's upsert: the new row has an alias, or values() is its column.
var duplicate = [...]phrase{
	{pattern.Lazy(`(?i)\bon\s+duplicate\s+key\s+update\b`), "ON CONFLICT (duplicate) DO UPDATE SET"},
	{pattern.Lazy(`(?i)\bvalues\s*\(\s*("(?:[^"]|"")*"|\w+)\s*\)(\s*(?:,|;|$))`), "excluded.$1$2"},
}

var (
	newRow    = pattern.Lazy(`(?i)\bas\s+(\w+)\s+(on\s+duplicate\s+key\s+update\b)`)
	modifiers = pattern.Lazy(`(?i)^\s*(insert|replace|update|delete)\s+((?:(?:low_priority|high_priority|delayed|quick|` +
		`ignore|or\s+(?:abort|ignore))\s+)+)`)
	replacing = pattern.Lazy(`(?i)^\s*(?:replace|insert\s+or\s+replace)\s+into\b`)
	limited   = pattern.Lazy(`(?is)^(\s*(?:update|delete)\b.*?)(?:\s+order\s+by\s+[^()]+?)?\s+limit\s+(\d+|\$\d+)` +
		`(\s+returning\b.*|\s*;?\s*)$`)
)

// remarks matches comments, and texts in quotes. Not all databases begin a comment with #, or know \\ in quotes.
var remarks = pattern.Lazy("(?s)'(?:[^'\\\\]|\\\\.)*'|\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`|--[^\n]*|#[^\n>#-][^\n]*|/\\*.*?\\*/")

// Bare returns a text without comments, and without what stands in quotes. What MySQL does in a comment stays.
func Bare(sql string) string {
	return remarks().ReplaceAllStringFunc(sql, func(w string) string {
		switch {
		case w[0] == '`':
			return w
		case w[0] == '\'' || w[0] == '"':
			return w[:1] + w[:1]
		case strings.HasPrefix(w, "/*!"), strings.HasPrefix(w, "/*M!"):
			return " " + strings.TrimLeft(w[3:len(w)-2], "!0123456789") + " "
		}
		return " "
	})
}

// Named finds the parameters :name of a text: its parts, of which every second is a name.
func Named(sql string) []string {
	var parts []string
	last := 0
	for _, w := range words[false]().FindAllStringIndex(sql, -1) {
		if c := sql[w[0]]; c == ':' && sql[w[0]+1] != ':' && !isDigit(sql[w[0]+1]) {
			parts = append(parts, sql[last:w[0]], sql[w[0]+1:w[1]])
			last = w[1]
		}
	}
	return append(parts, sql[last:])
}

// ParseDialect reads a text of SQLite's, or of MySQL's or MariaDB's, as far as PostgreSQL's grammar goes once
// parameters, quotes and a few phrases are spelled as it has them. names[i] is the name of parameter i+1, "" where it
// has none. What it understands of MySQL's agrees with TiDB's parser, which would take 30 s of CPU to build.
func ParseDialect(sql string, mysql bool) (all []Stmt, names []string, err error) {
	positions := 0
	numbers := map[string]int{}
	var quotes []string
	text := words[mysql]().ReplaceAllStringFunc(sql, func(w string) string {
		switch c := w[0]; {
		case c == '\'' && strings.Contains(w, `\'`), mysql && c == '"' && strings.Contains(w, `\`),
			strings.HasPrefix(w, "/*!"), strings.HasPrefix(w, "/*M!"),
			strings.HasPrefix(w, "/*+"), mysql && differs().MatchString(w):
			err = errors.New("a backslash, number or comment that databases read differently")
		case c == '\'' && strings.Contains(w, `\`):
			return "(''||'')" // some value
		case c == '\'':
			quotes = append(quotes, w)
			return "'\x01" + strconv.Itoa(len(quotes)-1) + "'"
		case strings.HasPrefix(w, "--"), strings.HasPrefix(w, "/*"), c == '#':
			return " "
		case c == '"': // "A" and a are one name
			return strings.ToLower(w)
		case c == '`', c == '[':
			w = strings.ToLower(w[1 : len(w)-1])
			return `"` + strings.ReplaceAll(strings.ReplaceAll(w, "``", "`"), `"`, `""`) + `"`
		case strings.EqualFold(w, "user"): // PostgreSQL reserves it
			return `"user"`
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
	if mysql {
		text = strings.ReplaceAll(text, "||", " OR ")
	}
	all, err = parseMasked(text, quotes)
	return all, names, err
}

// parseMasked reads a text with PostgreSQL's parameters and quotes, whose phrases are still the dialect's.
func parseMasked(text string, quotes []string) ([]Stmt, error) {
	ignore, atMost := false, ""
	if m := modifiers().FindStringSubmatch(text); m != nil {
		ignore = strings.Contains(strings.ToLower(m[2]), "ignore")
		text = m[1] + " " + text[len(m[0]):]
	}
	if m := limited().FindStringSubmatch(text); m != nil {
		text, atMost = m[1]+m[3], m[2]
	}
	replaces := replacing().MatchString(text)
	text = replacing().ReplaceAllString(text, "INSERT INTO")
	for _, p := range phrases {
		text = p.from().ReplaceAllString(text, p.to)
	}
	if m := newRow().FindStringSubmatch(text); m != nil {
		text = strings.ReplaceAll(strings.Replace(text, m[0], m[2], 1), m[1]+".", "excluded.")
	}
	if duplicate[0].from().MatchString(text) {
		for _, p := range duplicate {
			text = p.from().ReplaceAllString(text, p.to)
		}
	}
	all, err := Parse(masked().ReplaceAllStringFunc(text, func(m string) string {
		n, _ := strconv.Atoi(m[2 : len(m)-1])
		return quotes[n]
	}))
	if len(all) != 1 {
		return all, err
	}
	s := &all[0]
	if replaces && (s.OnlyNew || s.Upsert) {
		s.Why = "REPLACE with ON CONFLICT"
	} else if replaces && s.Kind == Insert {
		s.Upsert, s.Sets, s.Overwrite, s.Arbiters = true, s.Columns, s.Columns, []string{"duplicate"}
	}
	if ignore {
		s.OnlyNew, s.Cut = s.Kind == Insert, true
	}
	if atMost != "" {
		s.Limited = true
		n, _ := strconv.Atoi(atMost)
		s.Cut = s.Cut || n < 1 || !s.Plain || len(s.Where) != 1 || s.Where[0].Op != "="
	}
	return all, err
}
