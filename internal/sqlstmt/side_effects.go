package sqlstmt

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"isovet/internal/pattern"
	"isovet/internal/sqltext"
)

// sideEffects is what a declared table's database does by itself.
type sideEffects struct {
	deletes bool // rows may vanish without a statement about them
	writes  bool // or they may change so: versions that were overwritten may be there again
	// keys is the number of unique indexes of the key alone, others that of other unique indexes. With others, REPLACE
	// and ON DUPLICATE KEY UPDATE may change rows of other keys.
	keys, others     int
	nonTransactional bool // a rollback does not undo writes
	id               int  // PostgreSQL's number of the table that the name means in this session
	kind, version    keyKind
}

const unkeyed = "an insert without the key or the version among its columns"

// keyKind is what a column's type says about which values are equal, and which it stores as they are: integers; those
// of which MySQL counts the next; those of less than 32 bits; texts, which may be equal in several spellings; exact
// texts; decimals; what has several spellings besides; UUIDs. In SQLite anything is a column without a type: 7 and '7'
// are two keys.
type keyKind int

const unknown, _, counted, small, texts, exact, decimals, anything, uuids keyKind = 0, 1, 2, 3, 4, 5, 6, 7, 8

// The queries for sideEffects return numbers with commas between them: how many triggers, rules, events, functions,
// updatable views and foreign keys may change rows; how many cascades and policies may make them vanish; the unique
// indexes of the key alone, and all; whether the engine has no transactions; whether SQLite's schema says ROLLBACK; id;
// the kinds of the key and the version. A view counts as one of each, for the indexes of its tables are not known.
// Their parameters are the table, MySQL's schema, the key, the functions that statements call, the version, and
// typesPostgres.
var askSidesMySQL = `SELECT concat((SELECT count(*) FROM information_schema.triggers WHERE event_object_schema = %[2]s
	AND lower(event_object_table) = lower('%[1]s') OR ` + mentions("trigger_schema", "action_statement") + `) +
	(SELECT count(*) FROM information_schema.routines WHERE routine_type = 'FUNCTION' AND ` +
	mentions("routine_schema", "routine_definition") + `) + (SELECT count(*) FROM information_schema.events WHERE ` +
	mentions("event_schema", "event_definition") + `) + (SELECT count(*) FROM information_schema.views WHERE
	is_updatable = 'YES' AND ` + mentions("table_schema", "view_definition") + `) + (SELECT count(*)
	FROM information_schema.referential_constraints AS r JOIN information_schema.key_column_usage AS k ON
	k.constraint_schema = r.constraint_schema AND k.constraint_name = r.constraint_name AND k.table_name = r.table_name
	WHERE r.constraint_schema = %[2]s AND lower(r.table_name) = lower('%[1]s') AND lower(k.column_name) IN
	(lower('%[3]s'), lower('%[5]s')) AND NOT (r.update_rule IN ('NO ACTION', 'RESTRICT') AND r.delete_rule NOT LIKE
	'SET%%')) + other, ',', (SELECT count(*) FROM information_schema.referential_constraints
	WHERE constraint_schema = %[2]s AND lower(table_name) = lower('%[1]s') AND NOT (delete_rule IN ('NO ACTION',
	'RESTRICT') AND update_rule IN ('NO ACTION', 'RESTRICT'))), ',', (SELECT count(*) FROM (SELECT index_name
	FROM information_schema.statistics WHERE table_schema = %[2]s AND lower(table_name) = lower('%[1]s') AND
	non_unique = 0 GROUP BY index_name HAVING count(*) = 1 AND lower(min(column_name)) = lower('%[3]s')) AS alone) +
	other, ',', (SELECT count(DISTINCT index_name) FROM information_schema.statistics WHERE table_schema = %[2]s AND
	lower(table_name) = lower('%[1]s') AND non_unique = 0) + other, ',', (SELECT count(*)
	FROM information_schema.tables t, information_schema.engines e WHERE t.table_schema = %[2]s AND
	lower(t.table_name) = lower('%[1]s') AND e.engine = t.engine AND e.transactions <> 'YES'), ',0,0,',
	` + typeMySQL + `'%[3]s')), ',', ` + typeMySQL + `'%[5]s'))) FROM (SELECT count(*) = 0 AS other
	FROM information_schema.tables WHERE table_schema = %[2]s AND lower(table_name) = lower('%[1]s') AND
	table_type NOT LIKE '%%VIEW') AS named`

// mentions is a condition of MySQL's: a text outside of its own schemas may use the table, or cannot be seen.
func mentions(schema, text string) string {
	text = "lower(coalesce(nullif(" + text + ", ''), 'call'))"
	return schema + " NOT IN ('mysql', 'sys') AND locate(lower('%[1]s'), " + text + ") + locate('call', " + text +
		") > 0"
}

const (
	typeMySQL = `(SELECT coalesce(min(CASE WHEN extra REGEXP 'VIRTUAL|STORED|PERSISTENT' THEN 7
	WHEN data_type LIKE '%%int' THEN CASE WHEN extra LIKE '%%auto_increment%%' THEN 2
	WHEN data_type IN ('int', 'bigint') THEN 1 ELSE 3 END
	WHEN data_type LIKE '%%char' OR data_type LIKE '%%text' THEN 4 WHEN data_type = 'uuid' THEN 8
	WHEN data_type LIKE '%%binary' THEN 5 WHEN data_type = 'decimal' THEN 6 ELSE 7 END), 7)
	FROM information_schema.columns WHERE table_schema = %[2]s AND lower(table_name) = lower('%[1]s') AND
	lower(column_name) = lower(`
	askSidesSQLite = `SELECT ((SELECT count(*) FROM (SELECT * FROM sqlite_master UNION ALL SELECT *
	FROM sqlite_temp_master) WHERE type = 'trigger' AND sql LIKE '%%%[1]s%%' OR type = 'table' AND
	lower(name) = lower('%[1]s') AND sql LIKE '%%on%%conflict%%') + (SELECT count(*)
	FROM pragma_foreign_key_list('%[1]s') WHERE lower("from") IN (lower('%[3]s'), lower('%[5]s')) AND NOT (on_update IN
	('NO ACTION', 'RESTRICT') AND on_delete NOT LIKE 'SET%%')) + other) || ',' || (SELECT count(*)
	FROM pragma_foreign_key_list('%[1]s') WHERE NOT (on_delete IN ('NO ACTION', 'RESTRICT') AND
	on_update IN ('NO ACTION', 'RESTRICT'))) || ',' || ((SELECT count(*) = 1 AND
	lower(min(name)) = lower('%[3]s') FROM pragma_table_info('%[1]s') WHERE pk) + (SELECT count(*)
	FROM pragma_index_list('%[1]s') AS i WHERE "unique" AND origin <> 'pk' AND NOT partial AND (SELECT count(*) = 1 AND
	lower(min(name)) = lower('%[3]s') FROM pragma_index_info(i.name))) + other) || ',' || ((SELECT count(*)
	FROM pragma_index_list('%[1]s') WHERE "unique" AND origin <> 'pk') + (SELECT count(*) > 0
	FROM pragma_table_info('%[1]s') WHERE pk) + other) || ',0,' || (SELECT count(*) FROM (SELECT sql FROM sqlite_master
	UNION ALL SELECT sql FROM sqlite_temp_master) WHERE sql LIKE '%%rollback%%') || ',0,' ||
	` + typeSQLite + `'%[3]s')) || ',' || ` + typeSQLite + `'%[5]s')) FROM (SELECT count(*) = 0 OR
	lower('%[3]s') IN ('rowid', 'oid', '_rowid_') AS other FROM pragma_table_list('%[1]s') WHERE type = 'table')`
	typeSQLite = `(SELECT coalesce(min(CASE WHEN hidden THEN 7 WHEN type LIKE '%%INT%%' THEN 1
	WHEN type LIKE '%%CHAR%%' OR type LIKE '%%CLOB%%' OR type LIKE '%%TEXT%%' THEN 5 - (SELECT count(*) FROM sqlite_master
	WHERE lower(tbl_name) = lower('%[1]s') AND sql LIKE '%%collate%%')
	WHEN type IN ('', 'ANY') OR type LIKE '%%BLOB%%' THEN 7 ELSE 6 END), 1) FROM pragma_table_xinfo('%[1]s')
	WHERE lower(name) = lower(`
	askSidesPostgres = `SELECT ((SELECT count(*) FROM pg_catalog.pg_trigger JOIN pg_catalog.pg_proc AS f ON f.oid = tgfoid
	WHERE NOT tgisinternal AND (tgrelid = t OR prosrc ~* 'execute|perform|call|select' OR
	position(lower('%[1]s') IN lower(prosrc)) > 0)) + (SELECT count(*) FROM pg_catalog.pg_rewrite
	JOIN pg_catalog.pg_class AS r ON r.oid = ev_class WHERE r.relkind IN ('r', 'p') AND (ev_class = t OR
	ev_action::text LIKE '%%:relid ' || t::text || ' %%')) +
	(SELECT count(*) FROM pg_catalog.pg_proc WHERE proname = ANY (string_to_array('%[4]s', ',')) AND provolatile = 'v' AND
	pronamespace <> 'pg_catalog'::regnamespace) + (SELECT count(*) FROM pg_catalog.pg_constraint
	JOIN pg_catalog.pg_attribute ON attrelid = t AND attnum = ANY (conkey) WHERE conrelid = t AND lower(attname) IN
	(lower('%[3]s'), lower('%[5]s')) AND (confdeltype IN ('n', 'd') OR confupdtype IN ('c', 'n', 'd'))) + other)::text ||
	',' || ((SELECT count(*) FROM pg_catalog.pg_trigger WHERE NOT tgisinternal) + (SELECT count(*)
	FROM pg_catalog.pg_rewrite JOIN pg_catalog.pg_class AS r ON r.oid = ev_class WHERE r.relkind IN ('r', 'p')) +
	(SELECT count(*) FROM pg_catalog.pg_constraint WHERE conrelid = t AND (confdeltype IN ('c', 'n', 'd') OR
	confupdtype IN ('c', 'n', 'd'))) + hidden) || ',' || ((SELECT count(*) FROM pg_catalog.pg_index
	JOIN pg_catalog.pg_attribute ON attrelid = indrelid AND attnum = indkey[0] WHERE indrelid = t AND indisunique AND
	indisvalid AND indnkeyatts = 1 AND indpred IS NULL AND lower(attname) = lower('%[3]s')) + other) || ',' ||
	((SELECT count(*) FROM pg_catalog.pg_index WHERE indrelid = t AND indisunique AND indisvalid) + other) || ',0,0,' ||
	t || ',' || %[6]s
	FROM (SELECT oid AS t, (relkind NOT IN ('r', 'p'))::int AS other, (relrowsecurity OR coalesce(reloptions::text, '')
	LIKE '%%ttl%%')::int AS hidden FROM pg_catalog.pg_class WHERE oid = coalesce(pg_catalog.to_regclass((SELECT
	string_agg(pg_catalog.quote_ident(part), '.') FROM unnest(string_to_array('%[1]s', '.')) AS part)),
	pg_catalog.to_regclass('%[1]s'))) AS named`
	// typesPostgres needs what databases like it may lack: a workload of isovet's own is sent '0,0'.
	typesPostgres = `(SELECT CASE WHEN count(*) = 1 THEN min(CASE WHEN attgenerated <> '' THEN 7
	WHEN atttypid IN (20, 21, 23) THEN 1 WHEN atttypid IN (25, 1043) AND collisdeterministic THEN 5
	WHEN y.typname IN ('text', 'varchar', 'bpchar', 'citext') THEN 4 WHEN y.typname = 'uuid' THEN 8
	WHEN atttypid = 1700 AND (atttypmod < 0 OR atttypmod - 4 & 1024 = 0) THEN 6 ELSE 7 END) ELSE 7 END
	FROM pg_catalog.pg_attribute JOIN pg_catalog.pg_type AS y ON y.oid = atttypid LEFT JOIN pg_catalog.pg_collation AS l
	ON l.oid = attcollation WHERE attrelid = t AND NOT attisdropped AND lower(attname) = lower('`
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
	types, key, version := "'0,0'", quoted(t.Key), quoted(t.Version)
	if !c.l.own {
		types = typesPostgres + key + "')) || ',' || " + typesPostgres + version + "'))"
	}
	rows, err := c.ask(fmt.Sprintf(query, name, schema, key, quoted(strings.Join(calls, ",")), version, types))
	if err == nil && len(rows) == 1 && (!c.l.sqlite || schema == "database()" || schema == "'main'") {
		var writes, cascades, unique, plain, rolls int
		_, err = fmt.Sscanf(rows[0][0], "%d,%d,%d,%d,%d,%d,%d,%d,%d", &writes, &cascades, &s.keys, &unique, &plain,
			&rolls, &s.id, &s.kind, &s.version)
		if err == nil {
			s.writes, s.deletes, s.nonTransactional = writes > 0, writes+cascades > 0, plain > 0
			s.others, c.rolls = unique-s.keys, rolls > 0
			return s, true
		}
	}
	return sideEffects{deletes: true, writes: true}, false
}

// about is what a log remembers of a declared table. That of a workload of isovet's own is nil.
type about struct {
	id      atomic.Int64 // PostgreSQL's number of the table that the name meant first
	used    atomic.Bool  // something was recorded
	emptied atomic.Bool  // a change of the schema may have taken its rows
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
	quoted := func(name string) bool { return strings.Contains(strings.ToLower(p.SQL), `"`+strings.ToLower(name)+`"`) }
	if c.l.mysql && (quoted(t.Key) || quoted(t.Version)) {
		p.why = "a column in double quotes, which MySQL may take for a text"
	}
	other := known && !p.about.id.CompareAndSwap(0, int64(does.id)) && p.about.id.Load() != int64(does.id)
	for _, m := range append([]sqltext.Table{s.Target}, s.Mentions...) {
		home := c.l.is || m.Schema == "" && c.my.schema == c.l.home ||
			slices.Contains([]string{"main", "public", c.l.home}, strings.ToLower(m.Schema))
		is := !c.l.is || m.Name == t.Name || m.Name == strings.ToLower(t.Name) // "T" is not t
		other = other || strings.EqualFold(m.Name, t.Name) && !(home && is)
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
		return "a key that is neither an integer nor a text"
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
	return loose || p.does.deletes || p.about != nil && p.about.emptied.Load() || x.outdated()
}

// outdated reports whether the schema has changed since the statement was planned.
func (x *effect) outdated() bool { return x.r.p.about != nil && x.r.p.epoch != x.l.changed.Load() }

var (
	hiding   = pattern.Lazy(`(?i)^\s*create\s+(?:or\s+replace\s+)?temp`)
	sweeping = pattern.Lazy(`(?i)\bdrop\s+(?:database|schema)\b`)
	creating = pattern.Lazy(`(?i)^\s*(?:create\s|alter\s+table\s+\S+\s+add\s)`)
	filling  = pattern.Lazy(`(?is)^\s*(?:alter\s|create\s[^(]*\btable\b.*\bselect\b)`)
)

// redefined handles a change of the schema: a temporary table hides a declared one, and another statement may have
// replaced it by an empty one, or by other rows.
func (c *Client) redefined(sql string) {
	low := strings.ToLower(sql)
	for i := range c.l.Tables {
		t := &c.l.Tables[i]
		version := regexp.MustCompile(`(?:^|\W)` + regexp.QuoteMeta(strings.ToLower(t.Version)) + `(?:\W|$)`)
		added := creating().MatchString(sql) && !version.MatchString(low)
		used := c.l.about(t).used.Load()
		switch {
		case c.l.is && !t.Ranges && !c.l.ByColumn || !strings.Contains(low, strings.ToLower(t.Name)) &&
			!sweeping().MatchString(sql):
		case hiding().MatchString(sql), used && filling().MatchString(sql) && !added:
			c.l.deafen(t.Name)
		case used && !creating().MatchString(sql):
			c.l.about(t).emptied.Store(true)
		}
	}
}
