// Package sqlstmt records which versions of which rows SQL statements read and wrote. Everything it records is true: a
// read that it does not understand is left out and counted; after a write that it does not understand, a row that is
// not returned is never recorded as absent. PostgreSQL has versions of its own (xmin), and statements are rewritten to
// return them; for other databases, tables are declared with a column for the version. It knows no client library: the
// recorders of package record pass texts, arguments and rows.
//
// log.go counts, with texts from hints.go; client.go follows a connection's transactions; plan.go decides how to
// handle a text, with catalogue.go, whose results doctor.go shows; xmin.go and declared.go turn results into
// operations, with versions.go and under_way.go; outcome.go classifies errors.
package sqlstmt

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"isovet/internal/pattern"
	"isovet/internal/slice"
	"isovet/internal/sqltext"
	"isovet/record"
)

// Table is a table whose rows have a column for the version. PostgreSQL needs no such declaration.
type Table struct {
	Name string
	// Key is the column that identifies rows: the primary key.
	Key string
	// Version is the column to which every write gives a new value, such as a counter or a unique id.
	Version string
	// Ranges records reads of many rows as predicates, which also say which rows did not exist. A version is then a
	// row of table, key and version.
	Ranges bool
}

// Missed is a statement that was not understood.
type Missed struct {
	SQL string // as it was first seen
	Why string
	// Instead says which statement would be understood, if there is one.
	Instead string `json:",omitempty"`
	Write   bool   // reads of what it may have written are left out, or no longer said to find nothing
	Count   int
}

// Stats counts statements on tables.
type Stats struct {
	Understood int
	// NotUnderstood counts statements by reason. They only make a check weaker.
	NotUnderstood map[string]int
	// Missed has each distinct statement once, in the order of first occurrence; those after the first 1000 as one.
	Missed []Missed
}

func (s Stats) String() string {
	all, list := s.Understood, ""
	for _, m := range s.Missed {
		all, list = all+m.Count, list+"\n"+m.String()
	}
	return fmt.Sprintf("%d of %d statements understood%s", s.Understood, all, list)
}

func (m Missed) String() string {
	what := "read"
	if m.Write {
		what = "write"
	}
	why := m.Why
	if m.Instead != "" {
		why += ": " + m.Instead
	}
	return fmt.Sprintf("%d not, a %s (%s): %s", m.Count, what, why, m.SQL)
}

// Log parses and records the statements of one database. Several goroutines may use it.
type Log struct {
	Rec    *record.Recorder
	Tables []Table
	// ByColumn also records declared tables of PostgreSQL by their columns, since some statements cannot be rewritten.
	ByColumn bool
	// Callers adds to each statement in the names of transactions the place in the program, in which the recorder must
	// run.
	Callers bool

	ownWorkload
	versions versions
	changed  atomic.Int64 // how often the schema has
	asking   sync.Map     // questions to the catalogue that are under way
	abouts   sync.Map     // *about by a declared table's name
	weak     atomic.Int64 // counts the writes, and the ends, of transactions that are not serializable

	mu     sync.Mutex
	texts  map[string]*parsed
	stats  Stats
	missed map[string]int // the place in stats.Missed
	deaf   map[string]bool
	titles map[string]string // of tables, by what they are
	named  map[string]int    // tables of one name
	views  map[string]*view  // by what they depend on
	database
}

// database is what the first client to get an answer has found out. Log.mu guards it until it is known.
type database struct {
	known  bool
	from   start // of PostgreSQL
	is     bool  // it is PostgreSQL
	old    bool  // RETURNING has the row before (18)
	mysql  bool  // it is MySQL, MariaDB or the like
	sqlite bool
	home   string // the database of the first client on MySQL, in small letters
}

// ownWorkload says that a log is of a workload of isovet's own.
type ownWorkload struct {
	own   bool
	level string          // of its transactions
	loose map[*Table]bool // the tables whose rows may vanish by themselves; nil: all
}

// maxTexts bounds the texts in memory, maxMissed bounds Missed, and maxName the bytes of a transaction's name.
const maxTexts, maxMissed, maxName = 4096, 1000, 400

// parsed is a parsed text.
type parsed struct {
	stmts []sqltext.Stmt
	names []string // of parameters, in a dialect
	err   error
}

// parse returns a parsed text, perhaps from memory. dialect says that it is not PostgreSQL's SQL.
func (l *Log) parse(sql string, dialect bool) *parsed {
	l.mu.Lock()
	p := l.texts[sql]
	l.mu.Unlock()
	if p != nil {
		return p
	}
	p = &parsed{}
	if dialect {
		p.stmts, p.names, p.err = sqltext.ParseDialect(sql, l.mysql)
	} else {
		p.stmts, p.err = sqltext.Parse(sql)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.texts == nil || len(l.texts) >= maxTexts {
		l.texts = map[string]*parsed{}
	}
	l.texts[sql] = p
	return p
}

// Several reports whether a text may have several statements.
func (l *Log) Several(sql string) bool {
	if !strings.Contains(strings.TrimRight(sql, "; \t\n"), ";") {
		return false
	}
	p := l.parse(sql, false)
	return p.err != nil || len(p.stmts) > 1
}

// Stats counts so far.
func (l *Log) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := Stats{Understood: l.stats.Understood, NotUnderstood: map[string]int{}, Missed: slices.Clone(l.stats.Missed)}
	for _, m := range out.Missed {
		out.NotUnderstood[m.Why] += m.Count
	}
	return out
}

var numbers = pattern.Lazy(`[0-9a-f]*[0-9][0-9a-f]*`)

// Miss counts a statement that was not understood. If it is a write, its tables become deaf; without tables, all do.
func (l *Log) Miss(sql, why string, write bool, tables ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	sql = strings.Join(strings.Fields(sql), " ")
	if len(sql) > 200 {
		sql = strings.ToValidUTF8(sql[:200], "") + "…"
	}
	id := why + "\x00" + sql
	if why == "DECLARE" || why == "FETCH" || why == sqltext.TwoPhase { // drivers number these names
		id = numbers().ReplaceAllString(id, "")
	}
	if _, ok := l.missed[id]; !ok && len(l.missed) >= maxMissed {
		id, sql, why = "", "…", "more distinct statements than the list holds"
	}
	i, ok := l.missed[id]
	if !ok {
		slice.MakeMap(&l.missed)
		i = len(l.stats.Missed)
		l.missed[id] = i
		l.stats.Missed = append(l.stats.Missed, Missed{SQL: sql, Why: why, Instead: hint(why), Write: write})
	}
	l.stats.Missed[i].Count++
	if write {
		if len(tables) == 0 {
			tables = []string{""}
		}
		for _, t := range tables {
			l.setDeaf(t)
		}
	}
}

func (l *Log) setDeaf(table string) {
	slice.MakeMap(&l.deaf)
	l.deaf[strings.ToLower(table)] = true
}

// deafen says that an unrecorded statement has written a table.
func (l *Log) deafen(table string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.setDeaf(table)
}

// isDeaf reports whether an unrecorded statement may have written a table.
func (l *Log) isDeaf(table string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.deaf[""] || l.deaf[strings.ToLower(table)]
}
