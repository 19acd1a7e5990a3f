package sqlstmt

import (
	"errors"
	"slices"
	"strings"

	"isovet/internal/pattern"
	"isovet/internal/sqltext"
)

// mysql has what statements of a MySQL or MariaDB session mean besides their text.
type mysql struct {
	is     bool
	schema string
	manual bool // autocommit is off, or COMMIT begins a transaction: where transactions begin is not known
	aborts bool // a lock wait that times out rolls the whole transaction back
	loose  bool // by the SQL mode it may store another key than it was sent, or a setting limits what SELECT returns
	stale  bool // a statement has changed the settings
}

// askMySQL queries the settings. Other databases answer with an error.
const askMySQL = `SELECT concat(IF(@@autocommit, 1, 0), @@completion_type IN ('NO_CHAIN', '0'),
	@@sql_mode LIKE '%STRICT%' AND @@sql_select_limit > 1e18, IF(@@innodb_rollback_on_timeout, 1, 0), coalesce(database(), ''))`

func (c *Client) askMySQL() {
	rows, err := c.ask(askMySQL)
	switch {
	case err == nil && len(rows) == 1 && len(rows[0][0]) >= 4:
		s := rows[0][0]
		c.my = mysql{is: true, schema: strings.ToLower(s[4:]), manual: s[:2] != "11", loose: s[2] != '1',
			aborts: s[3] != '0'}
	case c.my.is:
		c.my.manual, c.my.loose = true, true
	}
}

// diagnosing matches a statement about the one before it. No question may come between them.
var diagnosing = pattern.Lazy(`(?is)\b(?:row_count|found_rows)\s*\(|@@[\w.]*(?:error|warning)_count|` +
	`^\s*(?:show|get)\b.*(?:warnings|errors|diagnostics)`)

// renew forgets what may have changed, and asks for it again. In SQLite a question in a transaction would take the
// transaction's snapshot, so the questions about its tables come before.
func (c *Client) renew(sql string) {
	if c.my.stale && !diagnosing().MatchString(sql) {
		c.askMySQL()
		c.forget()
	}
	if n := c.l.changed.Load(); n != c.seen {
		c.seen, c.facts, c.plans, c.sides = n, nil, nil, nil
	}
	if !c.l.sqlite || c.sides != nil || c.t != nil || c.blind {
		return
	}
	c.sides = map[*Table]sideEffects{}
	for i := range c.l.Tables {
		if does, known := c.look(&c.l.Tables[i], nil); known && !does.deletes { // else it may come, or go
			c.sides[&c.l.Tables[i]] = does
		}
	}
}

// implied is what a statement of MySQL's does to the transaction that it is in.
type implied int

const (
	nothing implied = iota
	commits
	unsure // it may end the transaction, or change what the settings say
	leaves // the session goes on in another transaction, or in none
)

var (
	committing = pattern.Lazy(`(?i)^\s*(?:alter|create|drop|rename|truncate)\b`)
	staying    = pattern.Lazy(`(?i)^\s*(?:(?:create|drop)\s+(?:or\s+replace\s+)?temporary|drop\s+prepare)\b`)
	perhaps    = pattern.Lazy(`(?is)^\s*(?:set\b.*\b(?:autocommit|completion_type|sql_mode|sql_select_limit|password)|use|` +
		`call|execute|lock|unlock|grant|revoke|analyze|check|optimize|repair|install|uninstall|flush|import|cache|load|` +
		`reset|change|stop|backup|start\s+(?:slave|replica))\b`)
	// conditional matches a comment that some versions run.
	conditional = pattern.Lazy(`/\*M?!`)
	branching   = pattern.Lazy(`(?i)^\s*xa\b`)
	// controlling matches the control of transactions, also of SQLite's; containing matches what only stores it.
	controlling = pattern.Lazy(`(?i)(?:^|;)\s*(?:begin|start|commit|end|rollback|savepoint|release)\b`)
	calling     = pattern.Lazy(`(?i)\b(?:call|execute)\b|(?:^|;)\s*do\b`)
	historic    = pattern.Lazy(`(?i)\bsystem_versioning_asof\b`)
	containing  = pattern.Lazy(`(?i)^\s*create\b.*\b(?:trigger|procedure|function|event|package)\b`)
	// defining matches what writes no row, although PostgreSQL's grammar lacks AUTO_INCREMENT and the like.
	defining = pattern.Lazy(`(?i)^\s*(?:create\s+table|alter\s+table\s+\S+\s+modify)\b[^;]*;?\s*$`)
)

// impliedBy returns what a text does to MySQL's transaction (MySQL manual, Statements That Cause an Implicit Commit).
func impliedBy(sql string) (most implied) {
	parts := strings.Split(strings.TrimRight(sqltext.Bare(sql), "; \t\n"), ";")
	for _, part := range parts {
		switch {
		case perhaps().MatchString(part):
			most = max(most, unsure)
		case branching().MatchString(part):
			most = leaves
		case committing().MatchString(part) && !staying().MatchString(part):
			most = max(most, commits)
		}
	}
	if most == commits && (len(parts) > 1 || conditional().MatchString(sql)) {
		return unsure
	}
	return most
}

// unparsed judges a text by its words: whether it may use a declared table, or end the transaction.
func (c *Client) unparsed(p *Plan) {
	bare := sqltext.Bare(p.SQL)
	if !c.l.is && defining().MatchString(bare) && !strings.Contains(strings.ToLower(bare), "select") {
		p.nothing, p.writes = true, false
		return
	}
	p.nothing = !c.l.is && !c.names(p.SQL) && !calling().MatchString(bare)
	if !c.l.is && controlling().MatchString(bare) && !containing().MatchString(bare) {
		p.implied = leaves
	}
}

// calls reports whether a statement runs others.
func calls(s *sqltext.Stmt) bool { return s.Why == "CALL" || s.Why == "EXECUTE" || s.Why == "DO" }

// readsOnly reports, by its first word, that a statement writes nothing. Comments are not skipped.
func readsOnly(sql string) bool {
	f := strings.Fields(sql)
	return len(f) > 0 && (strings.EqualFold(f[0], "SHOW") || strings.EqualFold(f[0], "PRAGMA"))
}

// names reports whether a text that was not parsed contains the name of a declared table.
func (c *Client) names(sql string) bool {
	return slices.ContainsFunc(c.l.Tables, func(t Table) bool {
		return strings.Contains(strings.ToLower(sql), strings.ToLower(t.Name))
	})
}

// errUnclear is the error of a transaction of which it is unknown whether it goes on.
var errUnclear = errors.New("a statement may have ended the transaction")

// after ends the transaction that a statement has ended, or may have ended. err is the error of the statement.
func (i implied) after(c *Client, err error) {
	switch i {
	case commits:
		if c.end(finish{err: err}, false); err != nil {
			c.blind = true // a statement that was not understood commits nothing
		}
	case unsure:
		if c.my.stale = true; c.t != nil {
			leaves.after(c, nil)
		}
	case leaves:
		c.end(finish{err: errUnclear}, false)
		c.blind = true
	}
}
