package sqlstmt

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"isovet/internal/pattern"
	"isovet/internal/sqltext"
)

// sideEffects is what a declared table's database does by itself.
type sideEffects struct {
	deletes bool // rows may be deleted by triggers, cascades or functions
	// unique is the number of unique indexes. If there are several, REPLACE and ON DUPLICATE KEY UPDATE may change rows
	// of other keys.
	unique           int
	nonTransactional bool // a rollback does not undo writes
	id               int  // PostgreSQL's number of the table that the name means in this session
}

// The queries for sideEffects: how many triggers, cascades and functions may delete a table's rows, how many unique
// indexes it has, and whether its engine has no transactions, as numbers with commas between them.
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
func (c *Client) look(t *Table) (s sideEffects, known bool) {
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
	var deletes, plain int
	if err != nil || len(rows) != 1 {
		return s, false
	}
	_, err = fmt.Sscanf(rows[0][0], "%d,%d,%d,%d", &deletes, &s.unique, &plain, &s.id)
	s.deletes, s.nonTransactional = deletes > 0, plain > 0
	return s, err == nil
}

// about is what a log remembers of a declared table. That of a workload of isovet's own is nil.
type about struct {
	id      atomic.Int64 // PostgreSQL's number of the table that the name meant first
	used    atomic.Bool  // something was recorded
	emptied atomic.Bool  // a change of the schema may have taken its rows
	// Keys that are texts were spelled like 1.0, and like 1.
	pointed, plain atomic.Bool
}

func (l *Log) about(t *Table) *about {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.abouts[t.Name]
	if a == nil {
		a = &about{}
		if l.abouts == nil {
			l.abouts = map[string]*about{}
		}
		l.abouts[t.Name] = a
	}
	return a
}

// declare prepares the plan of a statement on a declared table. It may query the database. keep is false if that did
// not answer.
func (c *Client) declare(p *Plan, s *sqltext.Stmt) (keep bool) {
	t := p.declared
	p.about = c.l.about(t)
	does, known := c.look(t)
	p.does = does
	p.why = declaredWhy(s, t)
	other := known && !p.about.id.CompareAndSwap(0, int64(does.id)) && p.about.id.Load() != int64(does.id)
	for _, m := range append([]sqltext.Table{s.Target}, s.Mentions...) {
		home := c.l.is || m.Schema == "" && c.my.schema == c.l.home ||
			slices.Contains([]string{"main", "public", c.l.home}, strings.ToLower(m.Schema))
		other = other || strings.EqualFold(m.Name, t.Name) && !home
	}
	switch {
	case other:
		p.why = "a table of another schema"
	case p.why != "":
	case known && does.unique == 0:
		p.why = "a table without a unique column"
	case does.unique > 1 && slices.Contains(s.Arbiters, "duplicate"):
		p.why = "an upsert of a table with several unique columns"
	case does.nonTransactional:
		p.why = "a table whose engine has no transactions"
	}
	return known || c.ask == nil || !c.l.is && !c.l.mysql && !c.l.sqlite
}

// mayVanish reports whether triggers, cascades or a change of the schema may delete rows of the statement's table.
func (x *effect) mayVanish() bool {
	p := x.r.p
	return p.does.deletes || x.r.c.my.loose || p.about != nil && p.about.emptied.Load()
}

// gone reports whether SQLite may have rolled the transaction back when this statement failed: by OR ROLLBACK, which is
// not parsed, or by a trigger or constraint that says so.
func (p *Plan) gone() bool {
	return len(p.stmts) == 0 || p.does.deletes
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
		switch {
		case c.l.is || !strings.Contains(strings.ToLower(sql), strings.ToLower(t.Name)):
		case hiding().MatchString(sql):
			c.l.deafen(t.Name)
		case c.l.about(t).used.Load() && !creating().MatchString(sql):
			c.l.about(t).emptied.Store(true)
		}
	}
}
