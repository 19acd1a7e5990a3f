package sqlstmt

import (
	"fmt"
	"slices"
	"strings"

	"isovet/internal/pattern"
	"isovet/internal/sqltext"
)

// sides is what a declared table's database does by itself.
type sides struct {
	goes bool // rows may go by triggers, cascades or functions
	// unique is the number of unique indexes. If there are several, REPLACE and ON DUPLICATE KEY UPDATE may change rows
	// of other keys.
	unique int
	stays  bool // what is rolled back stays
	id     int  // PostgreSQL's number of the table that the name means in this session
}

// The queries for sides: the triggers, cascades and functions by which a table's rows may go, its unique indexes, and
// whether its engine has no transactions; numbers with commas between them.
const (
	askSidesMySQL = `SELECT concat((SELECT count(*) FROM information_schema.triggers
	WHERE trigger_schema = database()) + (SELECT count(*) FROM information_schema.referential_constraints
	WHERE constraint_schema = database() AND table_name = '%[1]s' AND 'CASCADE' IN (delete_rule, update_rule)) +
	(SELECT count(*) FROM information_schema.routines WHERE routine_schema = database() AND
	routine_type = 'FUNCTION'), ',', (SELECT count(DISTINCT index_name) FROM information_schema.statistics
	WHERE table_schema = database() AND table_name = '%[1]s' AND non_unique = 0), ',',
	(SELECT count(*) FROM information_schema.tables t, information_schema.engines e WHERE t.table_schema = database()
	AND t.table_name = '%[1]s' AND e.engine = t.engine AND e.transactions <> 'YES'), ',0')`
	askSidesSQLite = `SELECT ((SELECT count(*) FROM sqlite_master WHERE type = 'trigger' OR sql LIKE '%%on conflict%%') +
	(SELECT count(*) FROM pragma_foreign_key_list('%[1]s') WHERE 'CASCADE' IN (on_delete, on_update))) || ',' ||
	((SELECT count(*) FROM pragma_index_list('%[1]s') WHERE "unique" AND origin <> 'pk') +
	(SELECT count(*) > 0 FROM pragma_table_info('%[1]s') WHERE pk)) || ',0,0'`
	askSidesPostgres = `SELECT ((SELECT count(*) FROM pg_catalog.pg_trigger WHERE NOT tgisinternal) + (SELECT count(*)
	FROM pg_catalog.pg_constraint WHERE conrelid = pg_catalog.to_regclass('%[1]s') AND
	'c' IN (confdeltype, confupdtype)))::text || ',' || (SELECT count(*) FROM pg_catalog.pg_index WHERE indisunique AND
	indisvalid AND indrelid = pg_catalog.to_regclass('%[1]s')) || ',0,' || pg_catalog.to_regclass('%[1]s')::oid`
)

// look queries what a table's database does by itself. known is false if that cannot be told.
func (c *Client) look(t *Table) (s sides, known bool) {
	query := ""
	switch {
	case c.l.is && !c.failed:
		query = askSidesPostgres
	case c.l.mysql:
		query = askSidesMySQL
	case c.l.sqlite:
		query = askSidesSQLite
	}
	if query == "" || c.ask == nil {
		return s, false
	}
	rows, err := c.ask(fmt.Sprintf(query, strings.ReplaceAll(t.Name, "'", "''")))
	var goes, stays int
	if err != nil || len(rows) != 1 {
		return s, false
	}
	_, err = fmt.Sscanf(rows[0][0], "%d,%d,%d,%d", &goes, &s.unique, &stays, &s.id)
	s.goes, s.stays = goes > 0, stays > 0
	return s, err == nil
}

// declare says why a statement on a declared table is not understood, or returns "". It may query the database.
func (c *Client) declare(s *sqltext.Stmt, t *Table) string {
	for _, m := range append([]sqltext.Table{s.Target}, s.Mentions...) {
		home := m.Schema == "" && c.my.schema == c.l.home ||
			slices.Contains([]string{"main", "public", c.l.home}, strings.ToLower(m.Schema))
		if !c.l.is && strings.EqualFold(m.Name, t.Name) && !home {
			return "a table of another schema"
		}
	}
	does, known := c.look(t)
	if known {
		c.l.sides.Store(tableAt{t.Name, c.seen}, does)
		if first, _ := c.l.sides.LoadOrStore(tableAt{t.Name, always}, does); first.(sides).id != does.id {
			return "a table of another schema"
		}
	}
	switch why := declaredWhy(s, t); {
	case why != "":
		return why
	case known && does.unique == 0:
		return "a table without a unique column"
	case does.unique > 1 && slices.Contains(s.Arbiters, "duplicate"):
		return "an upsert of a table with several unique columns"
	case does.stays:
		return "a table whose engine has no transactions"
	}
	return ""
}

// Other states of a table than after some changes of the schema.
const (
	always = -1 - iota
	withPoint
	withoutPoint
)

// tableAt is a declared table after some changes of the schema.
type tableAt struct {
	name    string
	changed int64
}

// mayGo reports whether triggers or cascades may delete rows of the statement's table.
func (x *effect) mayGo() bool {
	_, always := x.l.used.Load(tableAt{x.t.Name, always})
	return always || x.r.c.my.loose || x.l.goes(x.t)
}

// gone reports whether SQLite may have rolled the transaction back when this statement failed: by OR ROLLBACK, which is
// not parsed, or by a trigger or constraint that says so.
func (c *Client) gone(p *Plan) bool {
	if p.declared == nil {
		return len(p.stmts) == 0
	}
	return c.l.goes(p.declared)
}

func (l *Log) goes(t *Table) bool {
	s, known := l.sides.Load(tableAt{t.Name, l.changed.Load()})
	return known && s.(sides).goes
}

var (
	hiding   = pattern.Lazy(`(?i)^\s*create\s+(?:or\s+replace\s+)?temp`)
	creating = pattern.Lazy(`(?i)^\s*(?:create\s|alter\s+table\s+\S+\s+add\s)`)
)

// redefined handles a change of the schema outside of PostgreSQL, whose catalogue shows it: a temporary table hides a
// declared one, and another statement may have replaced it by an empty one.
func (c *Client) redefined(sql string) {
	for i := range c.l.Tables {
		t := &c.l.Tables[i]
		_, used := c.l.used.Load(t.Name)
		switch {
		case c.l.is || !strings.Contains(strings.ToLower(sql), strings.ToLower(t.Name)):
		case hiding().MatchString(sql):
			c.l.deafen(t.Name)
		case used && !creating().MatchString(sql):
			c.l.used.Store(tableAt{t.Name, always}, true)
		}
	}
}
