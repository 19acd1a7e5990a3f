package sqlstmt

import (
	"database/sql/driver"
	_ "embed"
	"errors"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Ask queries the database on a client's connection. It returns values as text, "" for null.
type Ask func(sql string, args ...any) ([][]string, error)

// facts has what is the same for a whole PostgreSQL database, and data of the session.
type facts struct {
	aggregates map[string]bool
	writers    map[string]bool // functions of users that may write
	setters    map[string]bool // functions that may change settings and the schema
	several    map[string]bool // functions that may return no row, or several
	triggers   bool            // something may write what no statement names: triggers, rules, defaults, operators
	escapes    bool            // a backslash within quotes is not itself
	isolation  string          // of transactions that do not say another
	database   string
	setConfig  bool // set_config may be called
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

// askFacts queries the facts. A function that writes is volatile, or calls one that does, by its text or the catalogue.
// A dot precedes the names of functions that can be called as a row's columns are named.
//
//go:embed facts.sql
var askFacts string

func parseFacts(rows [][]string) *facts {
	if len(rows) != 1 || len(rows[0]) != 9 {
		return nil
	}
	x := rows[0]
	return &facts{set(x[0]), set(x[1]), set(x[2]), set(x[3]), yes(x[4]), yes(x[5]), x[6], x[7], yes(x[8])}
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

// start is the oldest transaction that was open when the recording began. A later one may have been finished, but its
// id may be that of a savepoint in one that was not.
type start uint32

// before reports whether a transaction had finished when the recording began. Transaction ids wrap around.
func (s start) before(xid uint32) bool { return xid < 3 || int32(xid-uint32(s)) < 0 }

// identify queries what the database is, unless another client has. It holds no lock while it asks, since its
// connection may hang. Log.from is then from before the first recorded statement of each client.
func (c *Client) identify() {
	l := c.l
	l.mu.Lock()
	known := l.known
	l.mu.Unlock()
	if known {
		if l.mysql {
			c.askMySQL()
		}
		return
	}
	rows, err := c.ask(askStart)
	for n := 0; n < 3 && state(err) != ""; n++ { // cancelled, perhaps in place of the program's statement
		rows, err = c.ask(askStart)
	}
	d := database{known: true}
	if err == nil && len(rows) == 1 && len(rows[0]) == 3 {
		name, v := rows[0][0], rows[0][1]
		oldest, _, _ := strings.Cut(rows[0][2], ":") // oldest:next:open,open
		from, bad := strconv.ParseUint(oldest, 10, 64)
		d.from, d.is = start(from), bad == nil && strings.HasPrefix(name, "PostgreSQL") && !strings.Contains(name, "YB")
		d.is, d.old = d.is && len(v) > 5 && v > "13", v > "18"
	}
	if err != nil && state(err) == "" { // else another query could fail a transaction
		c.askMySQL()
		_, err = c.ask("SELECT sqlite_version()")
		d.mysql, d.sqlite, d.home = c.my.is, !c.my.is && err == nil, c.my.schema
	}
	if strings.HasPrefix(state(err), "57") {
		l.Miss("a whole session", unreadable, true)
		err = driver.ErrBadConn
	}
	if errors.Is(err, driver.ErrBadConn) {
		c.l, c.ask = &Log{Rec: l.Rec}, nil
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.known {
		l.database = d
	}
}

// relation is a table as the catalogue describes it.
type relation struct {
	oid, schema, name string
	kind              string // r: a table
	temporary         bool
	unlogged          bool   // a crash empties it
	hidden            bool   // row-level security
	rules             string // why writes are not as they seem; "": they are
	family            bool   // partitions, inheritance
	cascades          bool   // other tables' writes delete its rows, or change their keys
	readable          bool   // the role may read all columns
	key               []keyColumn
	columns           map[string]bool // those named as aggregates
	called            string          // in the history
}

type keyColumn struct {
	name, kind string
	exact      bool // equal values have one text
	number     string
	generated  bool   // another column's value gives it
	equal      string // the operator of the key's index
	base       string // a cast to the type that the operator takes; "": it takes this one
}

// askRelation queries a relation.
//
//go:embed relation.sql
var askRelation string

// question asks what may take long. Within a transaction the program's time limit is off meanwhile, and so is the
// compiler, which takes seconds if a setting like enable_seqscan makes plans costly.
func (c *Client) question(sql string, args ...any) ([][]string, error) {
	if c.t == nil && !c.blind {
		return c.ask(sql, args...)
	}
	was, err := c.ask(`SELECT current_setting('statement_timeout'), current_setting('jit'),
		set_config('statement_timeout', '0', true), set_config('jit', 'off', true)`)
	if err != nil || len(was) != 1 || len(was[0]) < 2 {
		return nil, errUnknown
	}
	rows, err := c.ask(sql, args...)
	if err == nil {
		_, err = c.ask("SELECT set_config('statement_timeout', $1, true), set_config('jit', $2, true)", was[0][0],
			was[0][1])
	}
	return rows, err
}

// known reports whether the facts about the database are known. It queries them unless another session with the same
// view has.
func (c *Client) known() bool {
	if c.facts != nil || !c.postgres() || c.failed {
		return c.facts != nil
	}
	rows, err := c.ask(askView)
	if err != nil || len(rows) != 1 || len(rows[0]) != 1 {
		return false
	}
	name, now := rows[0][0], c.l.changed.Load()
	// Its snapshot may have another schema than there is.
	private := c.blind || c.t != nil && (c.alters || c.began != now)
	c.resets = c.resets || private
	look := func() *view {
		c.l.mu.Lock()
		defer c.l.mu.Unlock()
		if v := c.l.views[name]; !private && v != nil && v.epoch == now && time.Since(v.read) <= viewAge {
			return v
		}
		return nil
	}
	v := look()
	if v == nil && !private {
		defer c.l.alone(name)()
		v = look()
	}
	if v == nil {
		if rows, err = c.question(askFacts); err != nil {
			return false
		}
		v = &view{facts: parseFacts(rows), relations: map[string]*relation{}, epoch: now, read: time.Now()}
	}
	c.facts, c.view = v.facts, v
	if !private && c.facts != nil {
		c.l.mu.Lock()
		defer c.l.mu.Unlock()
		if c.l.views == nil || len(c.l.views) > maxViews {
			c.l.views = map[string]*view{}
		}
		c.l.views[name] = v
	}
	return c.facts != nil
}

// alone is called before a question to the catalogue, and what it returns after the answer. If another session is
// asking the same, it waits for that answer, so that many new sessions do not all ask. It waits for at most a second,
// since the other one may wait for a lock that this one holds.
func (l *Log) alone(question any) (answered func()) {
	asked := make(chan struct{})
	if other, is := l.asking.LoadOrStore(question, asked); is {
		select {
		case <-other.(chan struct{}):
		case <-time.After(time.Second):
		}
		return func() {}
	}
	return func() {
		l.asking.Delete(question)
		close(asked)
	}
}

// relation finds a table by its name in a statement.
func (c *Client) relation(schema, name string) (*relation, error) {
	full := quote(name)
	if schema != "" {
		full = quote(schema) + "." + full
	}
	if !c.known() {
		return nil, errUnknown
	}
	look := func() (r *relation, ok bool) {
		c.l.mu.Lock()
		defer c.l.mu.Unlock()
		r, ok = c.view.relations[full]
		return r, ok
	}
	r, ok := look()
	if !ok {
		type of struct {
			view *view
			name string
		}
		defer c.l.alone(of{c.view, full})()
		r, ok = look()
	}
	if ok {
		return r, nil
	}
	rows, err := c.question(askRelation, schema, name)
	if err != nil {
		return nil, err
	}
	if len(rows) == 1 && len(rows[0]) == 12 {
		x := rows[0]
		r = &relation{oid: x[0], schema: x[1], name: x[2], kind: x[3], temporary: x[4] == "t", unlogged: x[4] == "u",
			hidden: yes(x[5]), rules: x[6], family: yes(x[7]), cascades: yes(x[8]), readable: yes(x[9]),
			columns: set(x[11])}
		for line := range strings.SplitSeq(x[10], "\n") {
			if p := strings.Split(line, "\t"); len(p) == 7 {
				r.key = append(r.key, keyColumn{p[0], p[1], yes(p[2]), p[3], yes(p[4]), p[5], p[6]})
			}
		}
		c.l.call(r, c.facts.database)
	}
	if r != nil && !r.temporary { // one that is missing may come, and DISCARD drops a temporary one
		c.l.mu.Lock()
		defer c.l.mu.Unlock()
		c.view.relations[full] = r
	}
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
	case writes:
		return r.rules
	}
	return ""
}

// text returns an SQL expression for the text of a key column, independent of the session's settings and of spelling,
// or for a value that the server spells in one way only: to plan a cast takes it longer.
func (k *keyColumn) text(ref string) string {
	x := quote(ref) + "." + quote(k.name)
	switch k.kind {
	case "smallint", "integer", "bigint", "text", "character varying":
		return x
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
		s, ok := v.(string) // the session's encoding may be any
		return s, ok && k.exact && strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
	case "uuid":
		s, ok := v.(string)
		return strings.ToLower(s), ok && len(s) == 36 && strings.Count(s, "-") == 4
	}
	return "", false
}
