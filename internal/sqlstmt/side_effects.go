package sqlstmt

import (
	"fmt"
	"strconv"
	"strings"

	"isovet/internal/sqltext"
)

// askUnique counts the unique indexes of a table of MySQL's or SQLite's. askCascades counts the triggers, cascades and
// functions by which rows of a table may go, also of PostgreSQL's. The first query that the database understands counts.
var (
	askUnique = []string{`SELECT concat(count(DISTINCT index_name)) FROM information_schema.statistics
	WHERE table_schema = database() AND table_name = '%s' AND non_unique = 0`,
		`SELECT '' || ((SELECT count(*) FROM pragma_index_list('%[1]s') WHERE "unique" AND origin <> 'pk') +
	(SELECT count(*) > 0 FROM pragma_table_info('%[1]s') WHERE pk))`}
	askCascades = []string{`SELECT concat((SELECT count(*) FROM information_schema.triggers
	WHERE trigger_schema = database()) + (SELECT count(*) FROM information_schema.referential_constraints
	WHERE constraint_schema = database() AND table_name = '%s' AND 'CASCADE' IN (delete_rule, update_rule)) +
	(SELECT count(*) FROM information_schema.routines WHERE routine_schema = database() AND
	routine_type = 'FUNCTION'))`,
		`SELECT '' || ((SELECT count(*) FROM sqlite_master WHERE type = 'trigger' OR sql LIKE '%on conflict%') +
	(SELECT count(*) FROM pragma_foreign_key_list('%s') WHERE 'CASCADE' IN (on_delete, on_update)))`,
		`SELECT ((SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal) + (SELECT count(*) FROM pg_constraint
	WHERE conrelid = to_regclass('%s') AND 'c' IN (confdeltype, confupdtype)))::text`}
)

// count returns the answer to the first query about a table that the database understands.
func (c *Client) count(queries []string, t *Table) (n int, known bool) {
	for _, q := range queries {
		rows, err := c.ask(fmt.Sprintf(q, strings.ReplaceAll(t.Name, "'", "''")))
		if err == nil && len(rows) == 1 {
			n, err = strconv.Atoi(rows[0][0])
			return n, err == nil
		}
	}
	return 0, false
}

// declare says why a statement on a declared table is not understood, or returns "". It may query the database, because
// REPLACE and ON DUPLICATE KEY UPDATE may change rows of other keys if the key is not the only unique column, and rows
// that may go by triggers or cascades are not recorded as absent.
func (c *Client) declare(s *sqltext.Stmt, t *Table) string {
	at := tableAt{t.Name, c.seen}
	if _, known := c.l.goes.Load(at); !known && c.ask != nil {
		if n, known := c.count(askCascades, t); known {
			c.l.goes.Store(at, n > 0)
		}
	}
	why := declaredWhy(s, t)
	if why == "" && s.Upsert && s.Arbiters[0] == "duplicate" && c.ask != nil {
		if n, _ := c.count(askUnique, t); n > 1 {
			return "an upsert of a table with several unique columns"
		}
	}
	return why
}

// tableAt is a declared table after some changes of the schema.
type tableAt struct {
	name    string
	changed int64
}

// mayGo reports whether triggers or cascades may delete rows of the statement's table.
func (x *effect) mayGo() bool {
	is, _ := x.l.goes.Load(tableAt{x.t.Name, x.l.changed.Load()})
	return is == true || x.r.c.my.loose
}
