package sqlstmt

import (
	"strconv"
	"strings"
)

// Ask asks the database on a client's connection: values as text, "" for null.
type Ask func(sql string, args ...any) ([][]string, error)

// facts are what is true of a whole PostgreSQL database.
type facts struct {
	aggregates map[string]bool
	writers    map[string]bool // functions of users that may write
	triggers   bool            // something may write what no statement names: triggers, rules
}

const askFacts = `SELECT
	(SELECT coalesce(string_agg(DISTINCT proname, ','), '') FROM pg_catalog.pg_proc WHERE prokind = 'a'),
	(SELECT coalesce(string_agg(DISTINCT p.proname, ','), '') FROM pg_catalog.pg_proc p
		JOIN pg_catalog.pg_language l ON l.oid = p.prolang JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
		WHERE p.provolatile = 'v' AND p.prokind <> 'a' AND l.lanname NOT IN ('internal', 'c')
		AND n.nspname NOT IN ('pg_catalog', 'information_schema')),
	(SELECT (EXISTS (SELECT FROM pg_catalog.pg_trigger WHERE NOT tgisinternal) OR EXISTS (SELECT FROM
		pg_catalog.pg_rewrite r JOIN pg_catalog.pg_class c ON c.oid = r.ev_class WHERE c.relkind <> 'v'
		AND c.relkind <> 'm'))::text)`

// askStart asks for the version, and for the transactions that were under way when the recording began.
const askStart = `SELECT version(), current_setting('server_version_num'), pg_catalog.txid_current_snapshot()::text`

// start is the snapshot in which the rows are that no recorded transaction has written.
type start struct {
	low, high uint32 // older than low: finished; from high on: not begun
	open      map[uint32]bool
}

// parseStart reads PostgreSQL's text of a snapshot, low:high:open,open.
func parseStart(s string) (start, bool) {
	parts := strings.Split(s, ":")
	if len(parts) != 3 {
		return start{}, false
	}
	out := start{open: map[uint32]bool{}}
	low, err := strconv.ParseUint(parts[0], 10, 64)
	high, err2 := strconv.ParseUint(parts[1], 10, 64)
	if err != nil || err2 != nil {
		return start{}, false
	}
	out.low, out.high = uint32(low), uint32(high)
	for x := range strings.SplitSeq(parts[2], ",") {
		if n, err := strconv.ParseUint(x, 10, 64); err == nil {
			out.open[uint32(n)] = true
		}
	}
	return out, true
}

// before reports whether a transaction had finished when the recording began. Ids wrap around.
func (s *start) before(xid uint32) bool {
	return xid < 3 || int32(xid-s.low) < 0 || int32(xid-s.high) < 0 && !s.open[xid]
}

// relation is a table as the catalogue has it.
type relation struct {
	oid, schema, name string
	kind              string // r: a table
	temporary         bool
	hidden            bool // row-level security
	rules             bool
	family            bool // partitions, inheritance
	cascades          bool // other tables' writes delete its rows, or change their keys
	readable          bool // the role may read all columns
	key               []keyColumn
	called            string // in the history
}

type keyColumn struct {
	name, kind string
	exact      bool // equal values have one text
}

const askRelation = `SELECT c.oid::text, n.nspname, c.relname, c.relkind::text, c.relpersistence::text,
	c.relrowsecurity::text, c.relhasrules::text,
	(SELECT EXISTS (SELECT FROM pg_catalog.pg_inherits i WHERE i.inhrelid = c.oid OR i.inhparent = c.oid))::text,
	(SELECT EXISTS (SELECT FROM pg_catalog.pg_constraint k WHERE k.conrelid = c.oid AND k.contype = 'f'
		AND (k.confdeltype = 'c' OR k.confupdtype = 'c')))::text,
	pg_catalog.has_table_privilege(c.oid, 'SELECT')::text,
	(SELECT string_agg(a.attname || E'\t' || pg_catalog.format_type(coalesce(nullif(y.typbasetype, 0), y.oid), NULL)
		|| E'\t' || coalesce(l.collisdeterministic, true)::text, E'\n' ORDER BY k.n)
		FROM (SELECT i.indkey, i.indnkeyatts FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid AND i.indisunique
			AND i.indimmediate AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL AND NOT EXISTS (SELECT
			FROM pg_catalog.pg_attribute b WHERE b.attrelid = c.oid AND b.attnum = ANY (i.indkey) AND NOT b.attnotnull)
			ORDER BY i.indisprimary DESC, i.indexrelid LIMIT 1) x
		CROSS JOIN LATERAL unnest(x.indkey::int2[]) WITH ORDINALITY k(num, n)
		JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.num
		JOIN pg_catalog.pg_type y ON y.oid = a.atttypid
		LEFT JOIN pg_catalog.pg_collation l ON l.oid = a.attcollation
		WHERE k.n <= x.indnkeyatts)
	FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
	WHERE c.oid = pg_catalog.to_regclass($1)`

// relation finds a table by the name that a statement has for it.
func (c *Client) relation(schema, name string) (*relation, error) {
	full := quote(name)
	if schema != "" {
		full = quote(schema) + "." + full
	}
	if r, ok := c.relations[full]; ok {
		return r, nil
	}
	rows, err := c.ask(askRelation, full)
	if err != nil {
		return nil, err
	}
	var r *relation
	if len(rows) == 1 && len(rows[0]) == 11 {
		x := rows[0]
		yes := func(i int) bool { return x[i] == "true" || x[i] == "t" }
		r = &relation{oid: x[0], schema: x[1], name: x[2], kind: x[3], temporary: x[4] == "t", hidden: yes(5),
			rules: yes(6), family: yes(7), cascades: yes(8), readable: yes(9)}
		for line := range strings.SplitSeq(x[10], "\n") {
			if p := strings.Split(line, "\t"); len(p) == 3 {
				r.key = append(r.key, keyColumn{p[0], p[1], p[2] == "true" || p[2] == "t"})
			}
		}
		c.l.call(r)
	}
	if c.relations == nil {
		c.relations = map[string]*relation{}
	}
	c.relations[full] = r
	return r, nil
}

func quote(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

// title is a table's name in the history.
func (r *relation) title() string { return r.called }

// plainName keeps the signs between schema, table and key out of names.
var plainName = strings.NewReplacer(`\`, `\\`, "/", `\/`, ".", `\.`, "#", `\#`)

// call names a relation in the history: one that was dropped and created again is another.
func (l *Log) call(r *relation) {
	r.called = plainName.Replace(r.name)
	if r.schema != "public" {
		r.called = plainName.Replace(r.schema) + "." + r.called
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.oids == nil {
		l.oids = map[string]string{}
	}
	if was, ok := l.oids[r.called]; ok && was != r.oid {
		r.called += "#" + r.oid
		return
	}
	l.oids[r.called] = r.oid
}

// system: it is PostgreSQL's own, or of one session, and nobody's concern.
func (r *relation) system() bool {
	return r.temporary || r.schema == "pg_catalog" || r.schema == "information_schema" || r.schema == "pg_toast"
}

// silent says why rows of a table cannot be told apart by what a statement returns; "": they can.
func (r *relation) silent(writes bool) string {
	switch {
	case r.kind == "v" || r.kind == "m":
		return "a view: name the table"
	case r.kind == "p" || r.family:
		return "a partitioned or inherited table"
	case r.kind != "r":
		return "not a table of this database's"
	case len(r.key) == 0:
		return "a table without a primary key"
	case !r.readable:
		return "the role may not SELECT the whole table"
	case writes && r.hidden:
		return "a table with row-level security"
	case writes && r.rules:
		return "a table with rules"
	}
	return ""
}

// tells reports whether a row that is not returned is not there: nothing else hides rows, or takes them away unseen.
func (r *relation) tells() bool { return !r.hidden && !r.cascades && !r.family && !r.rules }

// text is an expression for the text of a key column that neither the session's settings nor a spelling change.
func (k *keyColumn) text(ref string) string {
	x := quote(ref) + "." + quote(k.name)
	switch k.kind {
	case "timestamp with time zone":
		return "pg_catalog.to_jsonb(" + x + " AT TIME ZONE 'UTC')::text"
	case "timestamp without time zone", "date":
		return "pg_catalog.to_jsonb(" + x + ")::text"
	case "numeric":
		return "pg_catalog.trim_scale(" + x + ")::text"
	case "citext":
		return "pg_catalog.lower(" + x + "::text)"
	case "bytea":
		return "pg_catalog.encode(" + x + ", 'hex')"
	case "double precision":
		return "pg_catalog.encode(pg_catalog.float8send(" + x + "), 'hex')"
	case "real":
		return "pg_catalog.encode(pg_catalog.float4send(" + x + "), 'hex')"
	}
	return x + "::text"
}

// canonical is the text that a key column has for a value of the program's; false: that is the database's to say.
func (k *keyColumn) canonical(v any) (string, bool) {
	switch k.kind {
	case "smallint", "integer", "bigint":
		switch v := v.(type) {
		case int64:
			return strconv.FormatInt(v, 10), true
		case string:
			n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
			return strconv.FormatInt(n, 10), err == nil
		}
	case "text", "character varying":
		s, ok := v.(string)
		return s, ok && k.exact
	case "uuid":
		s, ok := v.(string)
		return strings.ToLower(s), ok && len(s) == 36 && strings.Count(s, "-") == 4
	}
	return "", false
}
