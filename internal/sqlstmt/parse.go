package sqlstmt

import (
	"fmt"
	"strings"
)

// Verb is what a statement does.
type Verb uint8

const (
	Other    Verb = iota // nothing to do with declared tables, as far as the text tells
	Begin                // also START TRANSACTION
	Commit               // also END
	Rollback             // not to a savepoint
	Select
	Insert
	Update
	Delete
)

// Stmt is a statement that was understood.
type Stmt struct {
	Verb  Verb
	Table *Table
	// Why says, of a statement on a declared table, why it was not understood; "": it was.
	Why string
	// Writes: it may change a declared table.
	Writes bool

	keys    []expr       // WHERE key = …, or IN (…); VALUES of the key
	values  []expr       // the new versions: one for all, or one for each key; nil: RETURNING tells
	where   []comparison // all of the conditions, where they are comparisons
	exact   bool         // where is a condition on the key alone, by = or IN
	ranged  bool         // where is a range of keys, or there is none
	outputs []string     // columns that it returns, by position; "*" in the first place: all
	maybe   bool         // INSERT … ON CONFLICT DO NOTHING
	params  int          // question marks so far
}

type expr struct {
	arg  int    // from 1; 0: none
	name string // of an argument
	lit  any
}

type comparison struct {
	column string // as declared
	op     string
	with   []expr
}

type parser struct {
	in     []token
	i      int
	tables []Table
	s      Stmt
}

// failure is how the parser gives up.
type failure string

// Parse understands a statement.
func Parse(sql string, tables []Table) (s Stmt) {
	in, ok := lex(sql)
	if !ok {
		return dialect(sql, tables)
	}
	for len(in) > 0 && in[len(in)-1].is(";") {
		in = in[:len(in)-1]
	}
	if len(in) == 0 {
		return Stmt{}
	}
	p := &parser{in: in, tables: tables}
	defer func() {
		why, is := recover().(failure)
		s = p.s
		if is {
			s.Why = string(why)
		}
		if s.Table == nil && s.Verb >= Select {
			s.Table, s.Writes = mentioned(in, tables), s.Verb != Select
			if s.Table == nil {
				s = Stmt{}
			}
		}
	}()
	p.statement()
	return
}

// dialect is a statement of which not even the words are known for sure.
func dialect(sql string, tables []Table) Stmt {
	for i := range tables {
		if strings.Contains(strings.ToLower(sql), strings.ToLower(tables[i].Name)) {
			return Stmt{Verb: Update, Table: &tables[i], Writes: true, Why: "quotes or comments of a dialect"}
		}
	}
	return Stmt{}
}

// mentioned is a declared table of which a statement that was not understood speaks.
func mentioned(in []token, tables []Table) *Table {
	for _, t := range in {
		for i := range tables {
			if t.kind == word && strings.EqualFold(t.s, tables[i].Name) || t.kind == quoted && t.s == tables[i].Name {
				return &tables[i]
			}
		}
	}
	return nil
}

func (p *parser) fail(format string, args ...any) { panic(failure(fmt.Sprintf(format, args...))) }

func (p *parser) peek() token {
	if p.i < len(p.in) {
		return p.in[p.i]
	}
	return token{}
}

func (p *parser) next() token { t := p.peek(); p.i++; return t }

// take takes keywords and signs, all or none.
func (p *parser) take(words ...string) bool {
	if p.i+len(words) > len(p.in) {
		return false
	}
	for n, w := range words {
		if !p.in[p.i+n].is(w) {
			return false
		}
	}
	p.i += len(words)
	return true
}

func (p *parser) need(w string) {
	if !p.take(w) {
		p.fail("%q where %s was expected", p.peek().s, w)
	}
}

func (p *parser) statement() {
	switch {
	case p.take("BEGIN"), p.take("START", "TRANSACTION"):
		p.s.Verb = Begin
	case p.take("COMMIT"), p.take("END"):
		p.s.Verb = Commit
	case p.take("ROLLBACK"), p.take("ABORT"):
		p.s.Verb = Rollback
		for ; p.i < len(p.in); p.i++ {
			if p.in[p.i].is("TO") {
				p.s.Verb, p.s.Writes, p.s.Table = Update, true, &Table{Name: "(savepoint)"}
				p.fail("ROLLBACK TO a savepoint takes back what has been recorded")
			}
		}
	case p.take("SELECT"):
		p.s.Verb = Select
		p.outputs()
		p.need("FROM")
		p.table()
		p.conditions()
		p.tail()
	case p.take("INSERT"), p.take("REPLACE"):
		p.s.Verb, p.s.Writes = Insert, true
		p.insert()
	case p.take("UPDATE"):
		p.s.Verb, p.s.Writes = Update, true
		p.update()
	case p.take("DELETE"):
		p.s.Verb, p.s.Writes = Delete, true
		p.need("FROM")
		p.table()
		p.conditions()
		p.returning()
	default: // WITH, MERGE, CALL, TRUNCATE, CREATE …
		p.s.Verb = Update
		if p.peek().is("CREATE") || p.peek().is("SET") || p.peek().is("PRAGMA") || p.peek().is("EXPLAIN") {
			p.s.Verb = Other
			return
		}
		p.fail("%s statements are not looked into", strings.ToUpper(p.peek().s))
	}
}

// column reads a column's name, with its table's before it or not, as it is declared if it is.
func (p *parser) column() string {
	t := p.next()
	for p.take(".") {
		t = p.next()
	}
	if t.kind != word && t.kind != quoted {
		p.fail("%q where a column was expected", t.s)
	}
	if p.s.Table != nil {
		return p.s.Table.column(t)
	}
	return t.s
}

func (t *Table) column(name token) string {
	for _, c := range []string{t.Key, t.Version} {
		if name.s == c || name.kind == word && strings.EqualFold(name.s, c) {
			return c
		}
	}
	return name.s
}

// table reads a declared table's name, and an alias.
func (p *parser) table() {
	t := p.next()
	for p.take(".") {
		t = p.next()
	}
	if t.kind == word || t.kind == quoted {
		p.s.Table = mentioned([]token{t}, p.tables)
	}
	if p.s.Table == nil {
		p.fail("not a declared table")
	}
	p.take("AS")
	if n := p.peek(); n.kind == quoted || n.kind == word && !reserved[strings.ToUpper(n.s)] {
		p.i++
	}
	for i, c := range p.s.outputs {
		p.s.outputs[i] = p.s.Table.column(token{word, c})
	}
}

var reserved = map[string]bool{"WHERE": true, "SET": true, "ORDER": true, "LIMIT": true, "FOR": true, "VALUES": true,
	"RETURNING": true, "JOIN": true, "LEFT": true, "INNER": true, "CROSS": true, "NATURAL": true, "USING": true,
	"GROUP": true, "HAVING": true, "UNION": true, "OFFSET": true, "RIGHT": true, "FULL": true, "ON": true,
	"SELECT": true, "DEFAULT": true, "FETCH": true, "WINDOW": true, "EXCEPT": true, "INTERSECT": true, "LOCK": true}

func (p *parser) insert() {
	if p.take("OR") && !p.take("REPLACE") {
		p.fail("INSERT OR %s", p.peek().s)
	}
	p.need("INTO")
	p.table()
	p.need("(")
	key, version, n := -1, -1, 0
	for {
		switch p.column() {
		case p.s.Table.Key:
			key = n
		case p.s.Table.Version:
			version = n
		}
		n++
		if !p.take(",") {
			break
		}
	}
	p.need(")")
	p.need("VALUES")
	for {
		p.need("(")
		p.row(key, version)
		if !p.take(",") {
			break
		}
	}
	if p.take("ON", "CONFLICT") {
		for p.i < len(p.in) && !p.peek().is("DO") {
			p.i++
		}
		p.need("DO")
		if p.maybe(); !p.s.maybe {
			p.need("UPDATE")
			p.need("SET")
			p.upsert("EXCLUDED")
		}
	} else if p.take("ON", "DUPLICATE", "KEY", "UPDATE") {
		p.upsert("VALUES")
	}
	p.returning()
}

func (p *parser) maybe() { p.s.maybe = p.take("NOTHING") }

// row reads the values of a row.
func (p *parser) row(key, version int) {
	for n := 0; ; n++ {
		e, ok := p.simple()
		switch {
		case !ok && (n == key || n == version):
			p.fail("an expression for the key or the version")
		case !ok:
			p.skip()
		case n == key:
			p.s.keys = append(p.s.keys, e)
		case n == version:
			p.s.values = append(p.s.values, e)
		}
		if !p.take(",") {
			break
		}
	}
	p.need(")")
}

// skip passes over an expression, and counts its question marks.
func (p *parser) skip() {
	for depth := 0; p.i < len(p.in); p.i++ {
		t := p.peek()
		if depth == 0 && (t.is(",") || t.is(")") || t.is("WHERE") || t.is("RETURNING") || t.is("FROM")) {
			return
		}
		switch {
		case t.is("("):
			depth++
		case t.is(")"):
			depth--
		case t.kind == param && t.s == "?":
			p.s.params++
		}
	}
}

// upsert reads assignments of which the version's must be that of the row that was to be inserted.
func (p *parser) upsert(from string) {
	set := false
	for {
		c := p.column()
		p.need("=")
		at := p.i
		p.skip()
		if c == p.s.Table.Version {
			for _, t := range p.in[at:p.i] {
				set = set || t.is(from)
			}
			if !set || p.i-at > 4 {
				p.fail("an upsert whose version is not the new row's")
			}
		}
		if !p.take(",") {
			break
		}
	}
	if !set {
		p.fail("an upsert that leaves the version")
	}
}

func (p *parser) update() {
	p.table()
	p.need("SET")
	set := false
	for {
		c := p.column()
		p.need("=")
		e, ok := p.simple()
		if !ok {
			p.skip()
		}
		switch {
		case c == p.s.Table.Key:
			p.fail("an update of the key")
		case c == p.s.Table.Version:
			set = true
			if ok {
				p.s.values = []expr{e}
			}
		}
		if !p.take(",") {
			break
		}
	}
	if !set {
		p.s.Why = "an update that leaves the version"
		p.fail("an update that leaves the version")
	}
	p.conditions()
	p.returning()
}
