// Package sqlstmt records which rows of which versions SQL statements read and wrote. What is recorded is true: a read
// that is not understood is left out and counted; after a write that is not understood nothing that was not returned is
// said to be absent. On PostgreSQL the versions are its own (xmin), which statements are rewritten to return; elsewhere
// tables are declared with a column for their version. It knows no client library: recorders of package record hand it
// texts, arguments and rows.
//
// log.go counts, with the words of hints.go; client.go follows a connection's transactions; plan.go decides what to do
// with a text, by catalogue.go, and doctor.go shows what that says; xmin.go and declared.go make operations of results,
// by versions.go; outcome.go tells errors apart.
package sqlstmt

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"isovet/internal/sqltext"
	"isovet/record"
)

// Table is a table whose rows are recorded by a column of theirs. PostgreSQL needs none.
type Table struct {
	Name string
	// Key is the column that tells rows apart: the primary key.
	Key string
	// Version is the column that every write gives another value, such as a counter or a unique id.
	Version string
	// Ranges has reads of many rows recorded as predicates, which say what was not there too. A version is then a row
	// of table, key and version.
	Ranges bool
}

// Missed is a statement that was not understood.
type Missed struct {
	SQL string // as it was first seen
	Why string
	// Instead says what would be understood, where that can be said.
	Instead string `json:",omitempty"`
	Write   bool   // reads of what it may have written are left out, or no longer said to find nothing
	Count   int
}

// Stats counts statements on tables.
type Stats struct {
	Understood int
	// NotUnderstood counts by reason. They only weaken what a check can find.
	NotUnderstood map[string]int
	// Missed has each distinct statement once, in the order in which they were met; at most 1000.
	Missed []Missed
}

func (s Stats) String() string {
	out := fmt.Sprintf("%d statements understood", s.Understood)
	for _, m := range s.Missed {
		out += "\n" + m.String()
	}
	return out
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

// Log parses and records the statements of one database. It is safe for concurrent use.
type Log struct {
	Rec    *record.Recorder
	Tables []Table
	// ByColumn has declared tables of PostgreSQL's recorded by their columns as well, since some statements are sent as
	// they are.
	ByColumn bool
	// Callers has the place in the program noted behind each statement in the names of transactions. The recorder runs
	// in the program.
	Callers bool

	own      bool   // it is of a workload of isovet's own
	level    string // of its transactions
	versions versions
	changed  atomic.Int64 // how often the schema has

	mu     sync.Mutex
	texts  map[string]*parsed
	stats  Stats
	missed map[string]int // the place in stats.Missed
	deaf   map[string]bool
	titles map[string]string // of tables, by what they are
	named  map[string]int    // tables of one name
	views  map[string]*view  // by what they depend on
	begun  bool              // the database has been asked
	from   start             // of PostgreSQL
	is     bool              // it is PostgreSQL
	old    bool              // RETURNING has the row before (18)
}

// maxTexts bounds the texts in memory; most of Missed is the number of its texts.
const maxTexts, maxMissed = 4096, 1000

// parsed is a text, read.
type parsed struct {
	stmts []sqltext.Stmt
	names []string // of parameters, in a dialect
	err   error
}

// parse reads a text, or remembers it. dialect: not PostgreSQL's own.
func (l *Log) parse(sql string, dialect bool) *parsed {
	l.mu.Lock()
	p := l.texts[sql]
	l.mu.Unlock()
	if p != nil {
		return p
	}
	p = &parsed{}
	if dialect {
		p.stmts, p.names, p.err = sqltext.ParseDialect(sql)
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

// Several reports whether a text has several statements, or may have.
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

// Understood counts a statement that was recorded.
func (l *Log) understood() {
	l.mu.Lock()
	l.stats.Understood++
	l.mu.Unlock()
}

// Miss counts a statement that was not understood. A write makes its tables deaf; without tables, all.
func (l *Log) Miss(sql, why string, write bool, tables ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	sql = strings.Join(strings.Fields(sql), " ")
	if len(sql) > 200 {
		sql = strings.ToValidUTF8(sql[:200], "") + "…"
	}
	id := why + "\x00" + sql
	i, ok := l.missed[id]
	switch {
	case ok:
	case len(l.stats.Missed) < maxMissed:
		if l.missed == nil {
			l.missed = map[string]int{}
		}
		i = len(l.stats.Missed)
		l.missed[id] = i
		l.stats.Missed = append(l.stats.Missed, Missed{SQL: sql, Why: why, Instead: hints[why], Write: write})
		ok = true
	}
	if ok {
		l.stats.Missed[i].Count++
	}
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
	if l.deaf == nil {
		l.deaf = map[string]bool{}
	}
	l.deaf[strings.ToLower(table)] = true
}

// deafen says that a table has been written by something that is not recorded.
func (l *Log) deafen(table string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.setDeaf(table)
}

// isDeaf reports whether a write of a table was not understood.
func (l *Log) isDeaf(table string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.deaf[""] || l.deaf[strings.ToLower(table)]
}
