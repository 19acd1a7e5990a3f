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
	deletes bool // rows may vanish without a statement about them
	// keys is the number of unique indexes of the key alone, others that of other unique indexes. With others, REPLACE
	// and ON DUPLICATE KEY UPDATE may change rows of other keys.
	keys, others     int
	nonTransactional bool // a rollback does not undo writes
	id               int  // PostgreSQL's number of the table that the name means in this session
	kind             keyKind
}

const unkeyed = "an insert without the key or the version among its columns"

// keyKind is what the key's type says about which values are equal: integers; those of which MySQL counts the next;
// texts, which a collation may say are equal; decimals, times and the like; anything, where 7 and '7' are two keys.
type keyKind int

const unknown, _, counted, texts, _, anything keyKind = 0, 1, 2, 3, 4, 5

// The queries for sideEffects return numbers with commas between them: how many triggers, rules, cascades, events,
// expiries, policies, functions and updatable views may make rows vanish; the unique indexes of the key alone, and all;
// whether the engine has no transactions; id; kind. A view counts as one of each, for the indexes of its tables are not
// known. Their parameters are the table, MySQL's schema, the key, and the functions that statements call.
const (
	askSidesMySQL = `SELECT concat((SELECT count(*) FROM information_schema.triggers
	WHERE trigger_schema = %[2]s) + (SELECT count(*) FROM information_schema.referential_constraints
	WHERE constraint_schema = %[2]s AND lower(table_name) = lower('%[1]s') AND NOT (delete_rule IN ('NO ACTION',
	'RESTRICT') AND update_rule IN ('NO ACTION', 'RESTRICT'))) + (SELECT count(*) FROM information_schema.routines
	WHERE routine_schema = %[2]s AND routine_type = 'FUNCTION') + (SELECT count(*) FROM information_schema.events
	WHERE event_schema = %[2]s) + (SELECT count(*) FROM information_schema.views WHERE table_schema = %[2]s AND
	is_updatable = 'YES') + other, ',', (SELECT count(*) FROM (SELECT index_name
	FROM information_schema.statistics WHERE table_schema = %[2]s AND lower(table_name) = lower('%[1]s') AND
	non_unique = 0 GROUP BY index_name HAVING count(*) = 1 AND lower(min(column_name)) = lower('%[3]s')) AS alone) +
	other, ',', (SELECT count(DISTINCT index_name) FROM information_schema.statistics WHERE table_schema = %[2]s AND
	lower(table_name) = lower('%[1]s') AND non_unique = 0) + other, ',', (SELECT count(*)
	FROM information_schema.tables t, information_schema.engines e WHERE t.table_schema = %[2]s AND
	lower(t.table_name) = lower('%[1]s') AND e.engine = t.engine AND e.transactions <> 'YES'), ',0,',
	(SELECT coalesce(min(CASE WHEN extra LIKE '%%auto_increment%%' THEN IF(data_type LIKE '%%int', 2, 5)
	WHEN data_type LIKE '%%int' THEN 1 WHEN character_set_name IS NOT NULL THEN 3 ELSE 4 END), 4)
	FROM information_schema.columns WHERE table_schema = %[2]s AND lower(table_name) = lower('%[1]s') AND
	lower(column_name) = lower('%[3]s'))) FROM (SELECT count(*) = 0 AS other FROM information_schema.tables
	WHERE table_schema = %[2]s AND lower(table_name) = lower('%[1]s') AND table_type NOT LIKE '%%VIEW') AS named`
	askSidesSQLite = `SELECT ((SELECT count(*) FROM sqlite_master WHERE type = 'trigger' OR sql LIKE '%%on%%conflict%%') +
	(SELECT count(*) FROM sqlite_temp_master WHERE type = 'trigger') + (SELECT count(*)
	FROM pragma_foreign_key_list('%[1]s') WHERE NOT (on_delete IN ('NO ACTION', 'RESTRICT') AND
	on_update IN ('NO ACTION', 'RESTRICT'))) + other) || ',' || ((SELECT count(*) = 1 AND
	lower(min(name)) = lower('%[3]s') FROM pragma_table_info('%[1]s') WHERE pk) + (SELECT count(*)
	FROM pragma_index_list('%[1]s') AS i WHERE "unique" AND origin <> 'pk' AND NOT partial AND (SELECT count(*) = 1 AND
	lower(min(name)) = lower('%[3]s') FROM pragma_index_info(i.name))) + other) || ',' || ((SELECT count(*)
	FROM pragma_index_list('%[1]s') WHERE "unique" AND origin <> 'pk') + (SELECT count(*) > 0
	FROM pragma_table_info('%[1]s') WHERE pk) + other) || ',0,0,' || (SELECT coalesce(min(CASE
	WHEN type LIKE '%%INT%%' THEN 1 WHEN type LIKE '%%CHAR%%' OR type LIKE '%%CLOB%%' OR type LIKE '%%TEXT%%' THEN 3
	WHEN type IN ('', 'ANY') OR type LIKE '%%BLOB%%' THEN 5 ELSE 4 END), 1) FROM pragma_table_info('%[1]s')
	WHERE lower(name) = lower('%[3]s')) FROM (SELECT count(*) = 0 OR
	lower('%[3]s') IN ('rowid', 'oid', '_rowid_') AS other FROM pragma_table_list('%[1]s') WHERE type = 'table')`
	askSidesPostgres = `SELECT ((SELECT count(*) FROM pg_catalog.pg_trigger WHERE NOT tgisinternal) + (SELECT count(*)
	FROM pg_catalog.pg_rewrite JOIN pg_catalog.pg_class AS r ON r.oid = ev_class WHERE r.relkind IN ('r', 'p')) +
	(SELECT count(*) FROM pg_catalog.pg_constraint WHERE conrelid = t AND (confdeltype IN ('c', 'n', 'd') OR
	confupdtype IN ('c', 'n', 'd'))) + (SELECT count(*) FROM pg_catalog.pg_proc WHERE proname = ANY
	(string_to_array('%[4]s', ',')) AND provolatile = 'v' AND pronamespace <> 'pg_catalog'::regnamespace) + other +
	hidden)::text || ',' || ((SELECT count(*) FROM pg_catalog.pg_index JOIN pg_catalog.pg_attribute ON
	attrelid = indrelid AND attnum = indkey[0] WHERE indrelid = t AND indisunique AND indisvalid AND
	indnkeyatts = 1 AND indpred IS NULL AND lower(attname) = lower('%[3]s')) + other) || ',' || ((SELECT count(*)
	FROM pg_catalog.pg_index WHERE indrelid = t AND indisunique AND indisvalid) + other) || ',0,' || t || ',0'
	FROM (SELECT oid AS t, (relkind NOT IN ('r', 'p'))::int AS other, (relrowsecurity OR coalesce(reloptions::text, '')
	LIKE '%%ttl%%')::int AS hidden FROM pg_catalog.pg_class WHERE oid = coalesce(pg_catalog.to_regclass((SELECT
	string_agg(pg_catalog.quote_ident(part), '.') FROM unnest(string_to_array('%[1]s', '.')) AS part)),
	pg_catalog.to_regclass('%[1]s'))) AS named`
)

// look queries what a table's database does by itself, if statements call these functions. known is false if that
// cannot be told; if the database should have told it, rows may vanish.
func (c *Client) look(t *Table, calls []string) (s sideEffects, known bool) {
	query := ""
	switch {
	case c.l.is && !c.failed:
		query = askSidesPostgres
	case c.l.mysql:
		query = askSidesMySQL
	case c.l.sqlite:
		query = askSidesSQLite
	}
	if s, known = c.sides[t]; known || query == "" || c.ask == nil {
		return s, known
	}
	quoted := strings.NewReplacer("'", "''").Replace
	name, schema := quoted(t.Name), "database()"
	if i := strings.LastIndexByte(name, '.'); i >= 0 && !c.l.is {
		name, schema = name[i+1:], "'"+name[:i]+"'"
	}
	rows, err := c.ask(fmt.Sprintf(query, name, schema, quoted(t.Key), quoted(strings.Join(calls, ","))))
	if err == nil && len(rows) == 1 && (!c.l.sqlite || schema == "database()" || schema == "'main'") {
		var deletes, unique, plain int
		_, err = fmt.Sscanf(rows[0][0], "%d,%d,%d,%d,%d,%d", &deletes, &s.keys, &unique, &plain, &s.id, &s.kind)
		if err == nil {
			s.deletes, s.nonTransactional, s.others = deletes > 0, plain > 0, unique-s.keys
			return s, true
		}
	}
	return sideEffects{deletes: true}, false
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
	a, _ := l.abouts.LoadOrStore(t.Name, &about{})
	return a.(*about)
}

// declare prepares the plan of a statement on a declared table. It may query the database. keep is false if that did
// not answer.
func (c *Client) declare(p *Plan, s *sqltext.Stmt) (keep bool) {
	t := p.declared
	p.about = c.l.about(t)
	if c.my.is && diagnosing().MatchString(p.SQL) {
		p.why = "it asks about the statement before"
		return false
	}
	does, known := c.look(t, s.Calls)
	p.does = does
	if p.why = declaredWhy(s, t); p.why == unkeyed && indexFold(s.Columns, t.Version) >= 0 && does.counts(s) {
		p.why = ""
	}
	other := known && !p.about.id.CompareAndSwap(0, int64(does.id)) && p.about.id.Load() != int64(does.id)
	for _, m := range append([]sqltext.Table{s.Target}, s.Mentions...) {
		home := c.l.is || m.Schema == "" && c.my.schema == c.l.home ||
			slices.Contains([]string{"main", "public", c.l.home}, strings.ToLower(m.Schema))
		other = other || strings.EqualFold(m.Name, t.Name) && !home
	}
	if other {
		p.why = "a table of another schema"
	} else if p.why == "" && known {
		p.why = does.why(s)
	}
	return known || c.ask == nil || !c.l.is && !c.l.mysql && !c.l.sqlite
}

// counts reports whether a statement inserts one row, of whose key MySQL tells the client.
func (d *sideEffects) counts(s *sqltext.Stmt) bool {
	plain := len(s.Values) == 1 && !s.Upsert && !s.OnlyNew && indexFold(s.Calls, "last_insert_id") < 0
	return plain && d.kind == counted
}

// why says what makes a statement on such a table too hard to understand.
func (d *sideEffects) why(s *sqltext.Stmt) string {
	switch {
	case d.keys == 0:
		return "a table whose key is not unique"
	case d.kind == anything:
		return "a key column without a type"
	case d.others > 0 && slices.Contains(s.Arbiters, "duplicate"):
		return "an upsert of a table with several unique columns"
	case d.nonTransactional:
		return "a table whose engine has no transactions"
	}
	return ""
}

// Look queries what the database does by itself to the tables of a workload of isovet's own. plans are those of its
// statements, nil for one that may write and is not recorded. It returns an error if the answers to a statement cannot
// be understood.
func (l *Log) Look(plans []*Plan, ask Ask) error {
	c := &Client{l: l, ask: ask}
	if l.mysql {
		c.askMySQL()
	}
	l.loose = map[*Table]bool{nil: slices.Contains(plans, nil) || c.my.loose || l.mysql && !c.my.is}
	plans = slices.DeleteFunc(plans, func(p *Plan) bool { return p == nil })
	var calls []string
	for _, p := range plans {
		calls = append(calls, p.stmts[0].Calls...)
	}
	type answer struct {
		does  sideEffects
		known bool
	}
	asked := map[*Table]answer{}
	for _, p := range plans {
		a, ok := asked[p.declared]
		if !ok {
			a.does, a.known = c.look(p.declared, calls)
			asked[p.declared], l.loose[p.declared] = a, a.does.deletes
		}
		p.does.kind = a.does.kind
		if why := a.does.why(&p.stmts[0]); a.known && why != "" {
			return fmt.Errorf("isovet does not understand %q: %s", p.SQL, why)
		}
	}
	return nil
}

// mayVanish reports whether triggers, cascades or a change of the schema may delete rows of the statement's table.
func (x *effect) mayVanish() bool {
	p, loose := x.r.p, x.l.loose[x.t] || x.l.loose[nil] || x.r.c.my.loose
	loose = loose || x.l.mysql && strings.Contains(p.SQL, `"`) // "id" may be a text
	return loose || p.does.deletes || p.about != nil && (p.about.emptied.Load() || p.epoch != x.l.changed.Load())
}

// gone reports whether SQLite may have rolled the transaction back when this statement failed: by OR ROLLBACK, which is
// not parsed, or by a trigger or constraint that says so.
func (p *Plan) gone() bool { return len(p.stmts) == 0 || p.does.deletes }

var (
	hiding   = pattern.Lazy(`(?i)^\s*create\s+(?:or\s+replace\s+)?temp`)
	sweeping = pattern.Lazy(`(?i)\bdrop\s+(?:database|schema)\b`)
	creating = pattern.Lazy(`(?i)^\s*(?:create\s|alter\s+table\s+\S+\s+add\s)`)
)

// redefined handles a change of the schema outside of PostgreSQL, whose catalogue shows it: a temporary table hides a
// declared one, and another statement may have replaced it by an empty one.
func (c *Client) redefined(sql string) {
	for i := range c.l.Tables {
		t := &c.l.Tables[i]
		switch {
		case c.l.is || !strings.Contains(strings.ToLower(sql), strings.ToLower(t.Name)) && !sweeping().MatchString(sql):
		case hiding().MatchString(sql):
			c.l.deafen(t.Name)
		case c.l.about(t).used.Load() && !creating().MatchString(sql):
			c.l.about(t).emptied.Store(true)
		}
	}
}
