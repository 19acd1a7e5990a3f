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
	goes   bool // rows may go by triggers, cascades or functions
	unique bool // several unique indexes: REPLACE and ON DUPLICATE KEY UPDATE may change rows of other keys
	stays  bool // what is rolled back stays
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
	AND t.table_name = '%[1]s' AND e.engine = t.engine AND e.transactions <> 'YES'))`
	askSidesSQLite = `SELECT ((SELECT count(*) FROM sqlite_master WHERE type = 'trigger' OR sql LIKE '%%on conflict%%') +
	(SELECT count(*) FROM pragma_foreign_key_list('%[1]s') WHERE 'CASCADE' IN (on_delete, on_update))) || ',' ||
	((SELECT count(*) FROM pragma_index_list('%[1]s') WHERE "unique" AND origin <> 'pk') +
	(SELECT count(*) > 0 FROM pragma_table_info('%[1]s') WHERE pk)) || ',0'`
	askSidesPostgres = `SELECT ((SELECT count(*) FROM pg_catalog.pg_trigger WHERE NOT tgisinternal) + (SELECT count(*)
	FROM pg_catalog.pg_constraint WHERE conrelid = pg_catalog.to_regclass('%[1]s') AND
	'c' IN (confdeltype, confupdtype)))::text || ',0,0'`
)

// look queries what a table's database does by itself, once for each state of the schema.
func (c *Client) look(t *Table) (s sides) {
	at := tableAt{t.Name, c.seen}
	if s, known := c.l.sides.Load(at); known {
		return s.(sides)
	}
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
		return s
	}
	rows, err := c.ask(fmt.Sprintf(query, strings.ReplaceAll(t.Name, "'", "''")))
	var goes, unique, stays int
	if err != nil || len(rows) != 1 {
		return s
	}
	if _, err := fmt.Sscanf(rows[0][0], "%d,%d,%d", &goes, &unique, &stays); err == nil {
		s = sides{goes > 0, unique > 1, stays > 0}
		c.l.sides.Store(at, s)
	}
	return s
}

// declare says why a statement on a declared table is not understood, or returns "". It may query the database.
func (c *Client) declare(s *sqltext.Stmt, t *Table) string {
	does := c.look(t)
	for _, m := range append([]sqltext.Table{s.Target}, s.Mentions...) {
		home := m.Schema == "" && c.my.schema == c.l.home ||
			slices.Contains([]string{"main", "public", c.l.home}, strings.ToLower(m.Schema))
		if !c.l.is && strings.EqualFold(m.Name, t.Name) && !home {
			return "a table of another schema"
		}
	}
	switch why := declaredWhy(s, t); {
	case why != "":
		return why
	case does.unique && s.Upsert && s.Arbiters[0] == "duplicate":
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

// spelled notes how a key is spelled. It reports whether the table has both 1 and 1.0 as texts, which may be two keys
// of a text column or one of a decimal column.
func (x *effect) spelled(v any) bool {
	s, ok := scalar(v).(string)
	if !ok || !whole.MatchString(s) {
		return false
	}
	point := int64(withoutPoint)
	if strings.Contains(s, ".") {
		point = withPoint
	}
	x.l.used.Store(tableAt{x.t.Name, point}, true)
	_, one := x.l.used.Load(tableAt{x.t.Name, withPoint})
	_, other := x.l.used.Load(tableAt{x.t.Name, withoutPoint})
	return one && other
}
