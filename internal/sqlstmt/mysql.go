package sqlstmt

import (
	"errors"
	"strings"

	"isovet/internal/pattern"
)

// mysql has what statements of a MySQL or MariaDB session mean besides their text.
type mysql struct {
	is     bool
	schema string
	manual bool // autocommit is off, or COMMIT begins a transaction: where transactions begin is not known
	loose  bool // the SQL mode is not strict: the database may store another key than it was sent
	stale  bool // a statement has changed the settings
}

// askMySQL queries the settings. Other databases answer with an error.
const askMySQL = `SELECT concat(IF(@@autocommit, 1, 0), @@completion_type IN ('NO_CHAIN', '0'), @@sql_mode LIKE '%STRICT%',
	coalesce(database(), ''))`

func (c *Client) askMySQL() {
	rows, err := c.ask(askMySQL)
	switch {
	case err == nil && len(rows) == 1 && len(rows[0][0]) >= 3:
		s := rows[0][0]
		c.my = mysql{is: true, schema: strings.ToLower(s[3:]), manual: s[:2] != "11", loose: s[2] != '1'}
	case c.my.is:
		c.my.manual, c.my.loose = true, true
	}
}

// implied is what a statement of MySQL's does to the transaction that it is in.
type implied int

const (
	implies implied = iota // nothing
	commits
	settings // of transactions, or the database
	leaves   // the session goes on in another transaction, or in none
)

var (
	committing = pattern.Lazy(`(?i)^\s*(?:alter|create|drop|rename|truncate|lock|unlock|grant|revoke|analyze|optimize|` +
		`repair|install|uninstall|flush|import|cache|reset|change|stop|start\s+(?:slave|replica))\b`)
	temporary = pattern.Lazy(`(?i)^\s*(?:create|drop)\s+(?:or\s+replace\s+)?temporary\b`)
	setting   = pattern.Lazy(`(?is)^\s*(?:set\b.*\b(?:autocommit|completion_type|sql_mode)|use)\b`)
	branching = pattern.Lazy(`(?i)^\s*xa\b`)
)

// impliedBy returns what a text does to MySQL's transaction (MySQL manual, Statements That Cause an Implicit Commit).
func impliedBy(sql string) implied {
	for strings.HasPrefix(strings.TrimSpace(sql), "/*") {
		_, rest, ok := strings.Cut(sql, "*/")
		if !ok {
			break
		}
		sql = rest
	}
	switch {
	case setting().MatchString(sql):
		return settings
	case branching().MatchString(sql):
		return leaves
	case committing().MatchString(sql) && !temporary().MatchString(sql):
		return commits
	}
	return implies
}

var errUnclear = errors.New("a statement may have ended the transaction")

// after ends the transaction that a statement of MySQL's has ended, or may have ended.
func (i implied) after(c *Client, err error) {
	switch i {
	case commits:
		c.end(finish{err: err}, false)
	case settings:
		if c.my.stale = true; c.t != nil { // it commits if autocommit was off
			leaves.after(c, nil)
		}
	case leaves:
		c.end(finish{err: errUnclear}, false)
		c.blind = true
	}
}
