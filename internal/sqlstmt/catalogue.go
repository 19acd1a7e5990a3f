package sqlstmt

import (
	"strconv"
	"strings"
	"time"
)

// Ask queries the database on a client's connection. It returns values as text, "" for null.
type Ask func(sql string, args ...any) ([][]string, error)

// facts has what is the same for a whole PostgreSQL database, and data of the session.
type facts struct {
	aggregates map[string]bool
	writers    map[string]bool // functions of users that may write
	setters    map[string]bool // those of them that may change settings and the schema
	triggers   bool            // something may write what no statement names: triggers, rules, defaults, operators
	escapes    bool            // a backslash within quotes is not itself
	isolation  string          // of transactions that do not say another
	database   string
}

// view has the catalogue as sessions with one role and search path see it.
type view struct {
	facts     *facts
	relations map[string]*relation // guarded by Log.mu
	epoch     int64                // Log.changed when it was read
	read      time.Time
}

// After viewAge a new session reads a view again, since other programs may have changed the schema. At most maxViews
// are stored.
const viewAge, maxViews = 5 * time.Second, 1000

// askView queries what identifies a view. The search path includes a temporary schema.
const askView = `SELECT concat_ws(E'\t', current_database(), current_user, session_user, current_schemas(true),
	current_setting('search_path'), current_setting('standard_conforming_strings'), current_setting('row_security'),
	current_setting('default_transaction_isolation'))`

// askFacts queries the facts. A function that writes is volatile, or calls one that is, by its text or the catalogue.
const askFacts = `WITH f AS MATERIALIZED (SELECT p.oid, p.proname, p.prosrc, p.provolatile = 'v' AS writes
		FROM pg_catalog.pg_proc p WHERE p.pronamespace NOT IN ('pg_catalog'::pg_catalog.regnamespace,
		'information_schema'::pg_catalog.regnamespace) AND p.prokind <> 'a' AND (p.prolang NOT IN (SELECT oid
		FROM pg_catalog.pg_language WHERE lanname IN ('internal', 'c')) OR p.proname ~ '^dblink')),
	w AS MATERIALIZED (SELECT * FROM f WHERE writes OR EXISTS (SELECT FROM f g WHERE g.writes
		AND (strpos(f.prosrc, g.proname) > 0 OR EXISTS (SELECT FROM pg_catalog.pg_depend d
		WHERE d.objid = f.oid AND d.refobjid = g.oid))))
	SELECT (SELECT coalesce(string_agg(DISTINCT proname, ','), '') FROM pg_catalog.pg_proc WHERE prokind = 'a'),
	(SELECT coalesce(string_agg(DISTINCT proname, ','), '') FROM w),
	(SELECT coalesce(string_agg(DISTINCT proname, ','), '') FROM w WHERE EXISTS (SELECT FROM w WHERE prosrc ~*
		'\m(set_config|create|alter|drop|execute|set\s+((local|session)\s+)?(search_path|role|session|row_))')),
	(EXISTS (SELECT FROM pg_catalog.pg_trigger WHERE NOT tgisinternal) OR EXISTS (SELECT FROM
		pg_catalog.pg_rewrite r JOIN pg_catalog.pg_class c ON c.oid = r.ev_class WHERE c.relkind <> 'v'
		AND c.relkind <> 'm') OR EXISTS (SELECT FROM w JOIN pg_catalog.pg_depend d ON d.refobjid = w.oid
		WHERE d.refclassid = 'pg_catalog.pg_proc'::pg_catalog.regclass))::text,
	(current_setting('standard_conforming_strings') = 'off')::text,
	replace(current_setting('default_transaction_isolation'), ' ', '-'), current_database()::text`

func parseFacts(rows [][]string) *facts {
	if len(rows) != 1 || len(rows[0]) != 7 {
		return nil
	}
	x := rows[0]
	return &facts{set(x[0]), set(x[1]), set(x[2]), yes(x[3]), yes(x[4]), x[5], x[6]}
}

func set(list string) map[string]bool {
	out := map[string]bool{}
	for x := range strings.SplitSeq(list, ",") {
		out[x] = x != ""
	}
	return out
}

func yes(s string) bool { return s == "true" || s == "t" }

// askStart queries the version, and which transactions were running when the recording began.
const askStart = `SELECT version(), current_setting('server_version_num'), pg_catalog.txid_current_snapshot()::text`

// start is the snapshot of the rows that no recorded transaction has written.
type start struct {
	low, high uint32 // older than low: finished; from high on: not begun
	open      map[uint32]bool
}

// parseStart parses PostgreSQL's text of a snapshot, low:high:open,open.
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

// before reports whether a transaction had finished when the recording began. Transaction ids wrap around.
func (s *start) before(xid uint32) bool {
	return xid < 3 || int32(xid-s.low) < 0 || int32(xid-s.high) < 0 && !s.open[xid]
}

// relation is a table as the catalogue describes it.
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
	number     string
	generated  bool   // another column's value gives it
	equal      string // the operator of the key's index
	base       string // a cast to the type that the operator takes; "": it takes this one
}

const askRelation = `SELECT c.oid::text, n.nspname, c.relname, c.relkind::text, c.relpersistence::text,
	c.relrowsecurity::text, c.relhasrules::text,
	(SELECT EXISTS (SELECT FROM pg_catalog.pg_inherits i WHERE i.inhrelid = c.oid OR i.inhparent = c.oid))::text,
	(SELECT EXISTS (SELECT FROM pg_catalog.pg_constraint k WHERE k.conrelid = c.oid AND k.contype = 'f'
		AND (k.confdeltype IN ('c', 'd') OR k.confupdtype IN ('c', 'd'))))::text,
	pg_catalog.has_table_privilege(c.oid, 'SELECT')::text,
	(SELECT string_agg(concat_ws(E'\t', a.attname,
		regexp_replace(pg_catalog.format_type(b.oid, NULL), '^.*[.]', ''),
		coalesce(l.collisdeterministic, true), a.attnum, a.attgenerated <> '', e.op,
		CASE WHEN y.typtype = 'd' THEN b.name ELSE '' END), E'\n' ORDER BY k.n)
		FROM (SELECT i.indkey, i.indclass, i.indnkeyatts FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid
			AND i.indisunique AND i.indimmediate AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL
			AND NOT EXISTS (SELECT FROM pg_catalog.pg_attribute b WHERE b.attrelid = c.oid
			AND b.attnum = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1]) AND NOT b.attnotnull)
			ORDER BY i.indisprimary DESC, i.indexrelid LIMIT 1) x
		CROSS JOIN LATERAL unnest(x.indkey::int2[], x.indclass::oid[]) WITH ORDINALITY k(num, class, n)
		JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.num
		JOIN pg_catalog.pg_type y ON y.oid = a.atttypid
		CROSS JOIN LATERAL (WITH RECURSIVE d AS (SELECT y.oid, y.typbasetype, y.typtype, ''::text COLLATE "C" AS name
			UNION ALL SELECT t.oid, t.typbasetype, t.typtype, format('::%I.%I', m.nspname, t.typname) FROM d
			JOIN pg_catalog.pg_type t ON t.oid = d.typbasetype JOIN pg_catalog.pg_namespace m ON m.oid = t.typnamespace
			WHERE d.typtype = 'd') SELECT oid, name FROM d WHERE typtype <> 'd') b
		CROSS JOIN LATERAL (SELECT format('OPERATOR(%I.%s)', m.nspname, o.oprname) AS op FROM pg_catalog.pg_opclass oc
			JOIN pg_catalog.pg_amop ao ON ao.amopfamily = oc.opcfamily AND ao.amopstrategy = 3
			AND ao.amoplefttype = oc.opcintype AND ao.amoprighttype = oc.opcintype
			JOIN pg_catalog.pg_operator o ON o.oid = ao.amopopr
			JOIN pg_catalog.pg_namespace m ON m.oid = o.oprnamespace WHERE oc.oid = k.class) e
		LEFT JOIN pg_catalog.pg_collation l ON l.oid = a.attcollation
		WHERE k.n <= x.indnkeyatts)
	FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
	WHERE c.oid = pg_catalog.to_regclass($1)`

// relation finds a table by its name in a statement.
func (c *Client) relation(schema, name string) (*relation, error) {
	full := quote(name)
	if schema != "" {
		full = quote(schema) + "." + full
	}
	if !c.known() {
		return nil, errUnknown
	}
	c.l.mu.Lock()
	r, ok := c.view.relations[full]
	c.l.mu.Unlock()
	if ok {
		return r, nil
	}
	rows, err := c.ask(askRelation, full)
	if err != nil {
		return nil, err
	}
	if len(rows) == 1 && len(rows[0]) == 11 {
		x := rows[0]
		r = &relation{oid: x[0], schema: x[1], name: x[2], kind: x[3], temporary: x[4] == "t", hidden: yes(x[5]),
			rules: yes(x[6]), family: yes(x[7]), cascades: yes(x[8]), readable: yes(x[9])}
		for line := range strings.SplitSeq(x[10], "\n") {
			if p := strings.Split(line, "\t"); len(p) == 7 {
				r.key = append(r.key, keyColumn{p[0], p[1], yes(p[2]), p[3], yes(p[4]), p[5], p[6]})
			}
		}
		c.l.call(r, c.facts.database)
	}
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	c.view.relations[full] = r
	return r, nil
}

func quote(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

// title returns a table's name in the history.
func (r *relation) title() string { return r.called }

// plainName escapes the separators between schema, table and key in names.
var plainName = strings.NewReplacer(`\`, `\\`, "/", `\/`, ".", `\.`, "#", `\#`)

// call gives a relation a permanent name in the history. Another relation with its name, in any database, and the same
// relation with another key get other names.
func (l *Log) call(r *relation, database string) {
	is := database + " " + r.oid
	for _, k := range r.key {
		is += " " + k.number
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.called = l.titles[is]; r.called != "" {
		return
	}
	if l.titles == nil {
		l.titles, l.named = map[string]string{}, map[string]int{}
	}
	r.called = plainName.Replace(r.name)
	if r.schema != "public" {
		r.called = plainName.Replace(r.schema) + "." + r.called
	}
	if l.named[r.called]++; l.named[r.called] > 1 {
		r.called += "#" + strconv.Itoa(l.named[r.called])
	}
	l.titles[is] = r.called
}

// system reports whether a table is PostgreSQL's own or belongs to one session, so that it is not recorded.
func (r *relation) system() bool {
	return r.temporary || r.schema == "pg_catalog" || r.schema == "information_schema" || r.schema == "pg_toast"
}

// silent says why the rows of a table cannot be identified by what a statement returns, or returns "".
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

// tells reports whether a row that is not returned does not exist: nothing else hides rows, or deletes them unseen.
func (r *relation) tells() bool { return !r.hidden && !r.cascades && !r.family && !r.rules }

// text returns an SQL expression for the text of a key column, independent of the session's settings and of spelling.
func (k *keyColumn) text(ref string) string {
	x := quote(ref) + "." + quote(k.name)
	switch k.kind {
	case "timestamp with time zone":
		return "pg_catalog.to_jsonb(" + x + " AT TIME ZONE 'UTC')::pg_catalog.text"
	case "timestamp without time zone", "date":
		return "pg_catalog.to_jsonb(" + x + ")::pg_catalog.text"
	case "numeric":
		return "pg_catalog.trim_scale(" + x + ")::pg_catalog.text"
	case "citext":
		return "pg_catalog.lower(" + x + "::pg_catalog.text)"
	case "bytea":
		return "pg_catalog.encode(" + x + ", 'hex')"
	case "double precision":
		return "pg_catalog.encode(pg_catalog.float8send(" + x + "), 'hex')"
	case "real":
		return "pg_catalog.encode(pg_catalog.float4send(" + x + "), 'hex')"
	}
	return x + "::pg_catalog.text"
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// canonical returns the text that a key column has for a value of the program. It returns false if only the database
// knows.
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
		return s, ok && k.exact && isASCII(s) // the session's encoding may be any
	case "uuid":
		s, ok := v.(string)
		return strings.ToLower(s), ok && len(s) == 36 && strings.Count(s, "-") == 4
	}
	return "", false
}
