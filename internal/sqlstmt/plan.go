package sqlstmt

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"isovet/internal/slice"
	"isovet/internal/sqltext"
)

// Plan says how to handle a text: what to send, and how to read the results.
type Plan struct {
	SQL  string // the program's
	Text string // what is sent instead
	// Hidden is the number of leading columns that were added, and that the program does not see.
	Hidden int

	stmts    []sqltext.Stmt
	names    []string // of parameters
	why      string   // why it is not understood; "": it is
	writes   bool
	touches  []string // titles of the tables that it may write; none, of a write: all
	sources  []source // tables whose rows it returns, with their versions
	declared *Table
	resets   bool  // it changes settings that the session's plans depend on
	alters   bool  // it changes the schema, which all plans depend on
	epoch    int64 // Log.changed when it was made
	turn     int   // Client.turn when it was made
	nothing  bool  // it has nothing to do with tables that are recorded
	implied  implied
	does     sideEffects // what the database of a declared table does by itself
	about    *about      // of a declared table; nil: of a workload of isovet's own
	edits    []edit
	template string // of a text with literals: what it has in common with others; "": it has none
	masked   *sqltext.Template
	literals []Arg
}

// HiddenName begins the names of hidden columns.
const HiddenName = "isovet:"

// source is a table of a plan.
type source struct {
	r   *relation
	ref string
	at  int // the place of its first hidden column: key, xmin, and of a write what it replaced
	// moves says that the row's earlier key is returned too.
	moves bool
}

// Control returns the plan for a client library's own begin, commit and rollback.
func Control(kind sqltext.Kind, level string) *Plan {
	return &Plan{stmts: []sqltext.Stmt{{Kind: kind, Level: level}}, nothing: true}
}

func (p *Plan) kind() sqltext.Kind {
	if len(p.stmts) != 1 {
		return sqltext.Other
	}
	return p.stmts[0].Kind
}

func (p *Plan) level() string {
	if len(p.stmts) == 0 {
		return ""
	}
	return p.stmts[0].Level
}

// Concerns reports whether a statement may use recorded tables, so that outside of a transaction it is a transaction
// by itself.
func (p *Plan) Concerns() bool { return !p.nothing }

// commits reports whether a statement outside of a transaction may commit a part and then fail.
func (p *Plan) commits() bool {
	return len(p.stmts) > 1 || len(p.stmts) == 1 && (p.stmts[0].Why == "CALL" || p.stmts[0].Why == "DO")
}

// ends reports whether a text is COMMIT, perhaps with others behind it.
func (p *Plan) ends() bool { return len(p.stmts) > 0 && p.stmts[0].Kind == sqltext.Commit }

func (p *Plan) twoPhase() bool { return len(p.stmts) == 1 && p.stmts[0].Why == sqltext.TwoPhase }

// MayCommit reports whether a statement may commit what came before it outside of a transaction block, as VACUUM does.
func (p *Plan) MayCommit() bool {
	kind := p.kind()
	return p.commits() || kind == sqltext.Set || kind == sqltext.Schema || len(p.stmts) == 1 && kind == sqltext.Other &&
		(p.stmts[0].Why == "" || p.twoPhase())
}

// shown returns the statement's text for the list of statements that were not understood.
func (p *Plan) shown() string { return cmp.Or(p.template, p.SQL) }

// Returns reports whether the program wants rows.
func (p *Plan) Returns() bool { return len(p.stmts) == 1 && len(p.stmts[0].Outputs) > 0 }

// Runs returns the name of the prepared statement that an EXECUTE runs, or of the cursor that a FETCH reads.
func (p *Plan) Runs() (name string, fetch bool) {
	if len(p.stmts) != 1 || p.stmts[0].Why != "EXECUTE" && p.stmts[0].Why != "FETCH" {
		return "", false
	}
	return p.stmts[0].Name, p.stmts[0].Why == "FETCH"
}

// Rewritten reports whether the text was changed, so that its rows are needed.
func (p *Plan) Rewritten() bool { return p.Hidden > 0 }

// Drain reports whether all rows are needed, including those that the program does not read.
func (p *Plan) Drain() bool { return p.Hidden > 0 && p.writes }

// Plan decides how to handle a text. It may query the database on the same connection.
func (c *Client) Plan(sql string) *Plan {
	c.renew(sql)
	if c.postgres() {
		if t, ok := sqltext.Generalize(sql); ok && c.l.parse(t.Text, false).err == nil {
			if p := c.remembered(t.Text); p.declared == nil {
				return p.of(sql, t)
			}
		}
	}
	return c.remembered(sql)
}

// remembered returns the plan of a text, which is made once.
func (c *Client) remembered(sql string) *Plan {
	if p := c.plans[sql]; p != nil {
		return p
	}
	p, keep := c.plan(sql)
	if keep {
		if c.plans == nil || len(c.plans) >= maxTexts {
			c.plans = map[string]*Plan{}
		}
		c.plans[sql] = p
	}
	return p
}

// of returns the plan of a text, given the plan of its template.
func (p *Plan) of(sql string, t *sqltext.Template) *Plan {
	out := *p
	out.SQL, out.Text, out.template, out.masked = sql, sql, p.SQL, t
	out.literals = append(out.literals, slice.Map(t.Lits, func(v any) Arg { return Arg{Value: v} })...)
	for _, e := range p.edits {
		out.Text = out.Text[:t.Place(e.from)] + e.text + out.Text[t.Place(e.to):]
	}
	return &out
}

// Position converts a position in the sent text to one in the program's text, in characters from 1 on.
func (p *Plan) Position(n int) int {
	at := 0
	for at < len(p.Text) && n > 1 {
		_, size := utf8.DecodeRuneInString(p.Text[at:])
		at += size
		n--
	}
	for _, e := range slices.Backward(p.edits) { // they begin with the last
		from, to := e.from, e.to
		if p.masked != nil {
			from, to = p.masked.Place(from), p.masked.Place(to)
		}
		if at >= from {
			at = max(from, at-len(e.text)+to-from)
		}
	}
	return utf8.RuneCountInString(p.SQL[:min(at, len(p.SQL))]) + n
}

// AsItIs returns the plan for a text that cannot be changed any more. It can be understood if its table is declared.
func (c *Client) AsItIs(sql string) *Plan {
	p := &Plan{SQL: sql, Text: sql, epoch: c.l.changed.Load(), turn: c.turn}
	if done := c.text(p); done {
		return p
	}
	s := &p.stmts[0]
	p.declared = c.ofDeclared(s)
	switch {
	case p.declared != nil:
		c.declare(p, s)
	case !c.l.is || len(s.Mentions) == 0 && !s.Writes && !c.mayWrite(p, s):
		p.nothing = true
	default:
		p.touches = append(p.touches, slice.Map(s.Mentions, func(m sqltext.Table) string { return m.Name })...)
		p.why = "it was not sent through the recorder: use the tracer's Query, QueryRow or Exec"
	}
	return p
}

// Miss counts a text that is not recorded.
func (c *Client) Miss(sql, why string) {
	p := c.AsItIs(sql)
	if !p.nothing {
		c.l.miss(p, why)
	}
}

// plan makes a plan. keep is false if it must not be remembered.
func (c *Client) plan(sql string) (p *Plan, keep bool) {
	p = &Plan{SQL: sql, Text: sql, epoch: c.seen, turn: c.turn}
	if c.text(p) {
		return p, true
	}
	s := &p.stmts[0]
	p.declared = c.ofDeclared(s)
	if !c.postgres() || p.declared != nil && (p.declared.Ranges || c.l.ByColumn) {
		if p.why = s.Why; p.declared != nil || !calls(s) {
			p.nothing, p.why = p.declared == nil, ""
		}
		if p.declared != nil {
			return p, c.declare(p, s)
		}
		return p, true
	}
	p.declared = nil
	return p, c.rewrite(p, s)
}

// text parses a plan's text. It returns true if nothing else has to be decided.
func (c *Client) text(p *Plan) bool {
	sql := p.SQL
	if c.my.is {
		p.implied = impliedBy(sql)
	}
	if c.my.is && historic().MatchString(sql) {
		p.why, p.writes = "it sets the time at which tables are read", true
		return true
	}
	text := c.l.parse(sql, !c.l.is)
	p.stmts, p.names = text.stmts, text.names
	err := text.err
	asks := slices.ContainsFunc(p.stmts, func(s sqltext.Stmt) bool { // else it may be what precedes any question
		return s.Kind == sqltext.Select || s.Writes || len(s.Calls) > 0 || len(s.Mentions) > 0
	})
	if strings.Contains(sql, `\`) && (c.facts != nil || asks && c.known()) && c.facts.escapes {
		err = errors.New("a backslash, while standard_conforming_strings is off")
	}
	if err != nil {
		// What it is cannot be told, except by its first word.
		p.why, p.writes = "not parsed: "+err.Error(), !readsOnly(sql)
		p.unsettled(p.writes)
		c.unparsed(p)
		return true
	}
	if len(p.stmts) == 0 {
		p.nothing = true
		return true
	}
	for i := range p.stmts {
		s := &p.stmts[i]
		p.writes = p.writes || s.Writes
		p.resets = p.resets || s.Kind == sqltext.Set || slices.Contains(s.Calls, "set_config")
		p.alters = p.alters || s.Kind == sqltext.Schema
		p.unsettled(s.Why == "DO" || s.Why == "CALL")
	}
	if len(p.stmts) > 1 {
		p.why = "several statements in one text: send them one by one"
		p.nothing = !slices.ContainsFunc(p.stmts, func(s sqltext.Stmt) bool {
			return s.Kind < sqltext.Begin && (s.Writes || len(s.Mentions) > 0) &&
				(c.l.is || calls(&s) || c.ofDeclared(&s) != nil)
		})
		return true
	}
	s := &p.stmts[0]
	if s.Kind >= sqltext.Begin { // CREATE TABLE AS and others may call functions
		p.nothing = s.Kind != sqltext.Schema || !c.l.is || !c.mayWrite(p, s)
		return true
	}
	return false
}

// ofDeclared returns the declared table that a statement uses.
func (c *Client) ofDeclared(s *sqltext.Stmt) *Table {
	for _, m := range append([]sqltext.Table{s.Target}, s.Mentions...) {
		for i := range c.l.Tables {
			if strings.EqualFold(c.l.Tables[i].Name, m.Name) {
				return &c.l.Tables[i]
			}
		}
	}
	return nil
}

// rewrite makes a statement of PostgreSQL return the versions of its rows, if the program cannot notice. It returns
// false if this is undecided; the next time it is tried again.
func (c *Client) rewrite(p *Plan, s *sqltext.Stmt) bool {
	if len(s.Mentions) == 0 && len(s.Calls) == 0 && !s.Writes && s.Why == "" {
		p.nothing = true
		return true
	}
	if c.failed { // the database answers nothing
		p.why = "in a transaction that has failed"
		return false
	}
	if !c.known() {
		c.mayWrite(p, s)
		p.why = unreadable
		return false
	}
	user, missing := false, false
	all := s.Kind < sqltext.Insert || s.Why == withWrites
	for _, m := range s.Mentions {
		r, err := c.relation(m.Schema, m.Name)
		target := all || m.Name == s.Target.Name && m.Schema == s.Target.Schema
		switch {
		case err != nil:
			c.mayWrite(p, s)
			p.why = unreadable
			return false
		case r == nil && s.Writes && target:
			p.why = "a table that the catalogue does not have"
		case r == nil:
			missing = true
			continue
		case r.system():
			continue
		case s.Writes && target && r.kind != "r": // what is written is another table
			p.why = r.silent(true)
		case s.Writes && target:
			p.touches = append(p.touches, r.title())
		}
		user = true
	}
	if p.why != "" || s.Cascade {
		p.touches = nil
	}
	user = c.mayWrite(p, s) || user
	if !user {
		p.nothing = !s.Writes && s.Why == "" || len(s.Mentions) > 0
	}
	if p.why = cmp.Or(p.why, s.Why); p.why == "" && !p.nothing {
		c.extend(p, s)
	}
	return !missing
}

const unreadable = "the catalogue could not be read"

var errUnknown = errors.New(unreadable)

// mayWrite reports whether a statement calls a function that may write, and stores this in the plan.
func (c *Client) mayWrite(p *Plan, s *sqltext.Stmt) (yes bool) {
	known := len(s.Calls) > 0 && c.known()
	for _, f := range s.Calls {
		if !known || c.facts.writers[f] {
			p.why = "it calls " + strings.TrimPrefix(f, ".") + ", which may write"
			p.writes, p.touches, yes = true, nil, true
		}
		p.unsettled(!known || c.facts.setters[f])
	}
	return yes
}

// unsettled marks that a statement may change settings and the schema.
func (p *Plan) unsettled(yes bool) { p.resets, p.alters = p.resets || yes, p.alters || yes }

// withWrites is the reason why a WITH that writes is not understood.
const withWrites = "WITH that writes"

// edit replaces a part of a statement's text.
type edit struct {
	from, to int
	text     string
}

// extend adds the hidden columns.
func (c *Client) extend(p *Plan, s *sqltext.Stmt) {
	if strings.Contains(p.SQL, HiddenName) {
		p.why = "it uses a column name that isovet reserves"
		return
	}
	if slices.Contains(s.Calls, "current_query") {
		p.why = "it reads its own text"
		return
	}
	whole := slices.DeleteFunc(slices.Clone(s.Calls), func(f string) bool { return !c.whole(s, f) })
	for _, f := range slices.Concat(s.Outer, s.Nested, whole) {
		if c.facts.aggregates[f] {
			p.why = "an aggregate"
			return
		}
	}
	columns, with, and := c.versions(p, s)
	if len(columns) == 0 {
		p.why = cmp.Or(p.why, "no row of a table is returned")
		return
	}
	var edits []edit
	for _, o := range s.Ordinals {
		edits = append(edits, edit{o.Start, o.End, strconv.Itoa(o.N + len(columns))})
	}
	for i := range columns { // ORDER BY and GROUP BY must not find them by their names
		columns[i] += fmt.Sprintf(` AS "%s%d"`, HiddenName, i+1)
	}
	list := with + strings.Join(columns, ", ")
	if s.At < 0 {
		edits = append(edits, edit{s.End, s.End, and + "\nRETURNING " + list})
	} else {
		edits = append(edits, edit{s.At, s.At, list + ", "})
	}
	slices.SortFunc(edits, func(a, b edit) int { return b.from - a.from })
	p.edits = edits
	for _, e := range edits {
		p.Text = p.Text[:e.from] + e.text + p.Text[e.to:]
	}
	p.Hidden = len(columns)
}

// whole reports whether a name behind a dot is no column's, but a function's of the whole row: a.count is count(a).
func (c *Client) whole(s *sqltext.Stmt, f string) bool {
	return f[0] == '.' && s.Kind == sqltext.Select && !slices.ContainsFunc(s.Mentions, func(t sqltext.Table) bool {
		r, _ := c.relation(t.Schema, t.Name)
		return r != nil && r.columns[f[1:]]
	})
}

// versions returns the columns with the versions of a statement's rows, the clause that RETURNING needs before them,
// and the condition that WHERE needs after its own. It adds their tables to the plan's sources.
func (c *Client) versions(p *Plan, s *sqltext.Stmt) (columns []string, with, and string) {
	tables := s.Rows
	if s.Kind != sqltext.Select {
		tables = []sqltext.Table{s.Target}
	}
	for _, t := range tables {
		r, _ := c.relation(t.Schema, t.Name)
		if r == nil || r.system() {
			continue
		}
		if why := r.silent(s.Writes); why != "" {
			p.why = cmp.Or(p.why, why)
			continue
		}
		src := source{r: r, ref: t.Ref, at: len(columns)}
		for _, k := range r.key {
			columns = append(columns, k.text(t.Ref))
		}
		columns = append(columns, quote(t.Ref)+".xmin", quote(t.Ref)+".tableoid")
		switch {
		case (s.Kind == sqltext.Update || s.Upsert) && c.l.old && !namesOld.MatchString(p.SQL):
			with = "WITH (OLD AS isovet_old) "
			columns = append(columns, "isovet_old.xmin")
			if src.moves = r.rekeyed(s.Sets); src.moves {
				for _, k := range r.key {
					columns = append(columns, k.text("isovet_old"))
				}
			}
		case c.stores(s, r):
			and = "\nAND pg_catalog.set_config('isovet.replaced', " + quote(t.Ref) +
				".xmin::pg_catalog.text, true) IS NOT NULL"
			columns = append(columns, "pg_catalog.current_setting('isovet.replaced')::pg_catalog.xid")
		case s.Kind == sqltext.Update || s.Upsert:
			columns = append(columns, replaced(r, t))
		}
		p.sources = append(p.sources, src)
	}
	return columns, with, and
}

// namesOld matches the name that RETURNING has on PostgreSQL 18, or isovet's own.
var namesOld = regexp.MustCompile(`(?i)\b(isovet_)?old\b`)

// stores reports whether an UPDATE can put each row's version into a setting before it replaces the row. It takes the
// rows of one table one by one, so RETURNING finds the version of its own row, also after a wait. Planning this costs a
// PostgreSQL server half of what the sub-select of replaced costs.
func (c *Client) stores(s *sqltext.Stmt, r *relation) bool {
	return c.facts.setConfig && s.Kind == sqltext.Update && s.Plain && len(s.Where) > 0 && !s.Cut && s.At < 0 &&
		!r.rekeyed(s.Sets)
}

// replaced returns the expression for the version that a statement replaced: that of the row that this transaction has
// just ended. Without that condition it would be the version in the statement's snapshot, which is older if the
// statement has waited. Null means unknown.
func replaced(r *relation, t sqltext.Table) string {
	old := "isovet_old"
	if t.Ref == old {
		old += "_"
	}
	out := fmt.Sprintf("(SELECT %s.xmin FROM %s.%s %s WHERE %s.xmax OPERATOR(pg_catalog.=) %s.xmin",
		old, quote(r.schema), quote(r.name), old, old, quote(t.Ref))
	for _, k := range r.key {
		out += fmt.Sprintf(" AND %s.%s%s %s %s.%s%s", old, quote(k.name), k.base, k.equal, quote(t.Ref), quote(k.name),
			k.base)
	}
	return out + ")"
}
