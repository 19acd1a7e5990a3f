package driver

import (
	"fmt"
	"strconv"
	"strings"

	"isovet/datasets/workload"
	"isovet/internal/slice"
)

// Statements returns the statements that sessions send, for people to read and to repeat by hand. The texts come from
// the code of the sessions, with all values written out.
type Statements struct {
	// Tables are the statements that make the tables of the last load.
	Tables []string
	// After are the statements that follow the load, such as analyze.
	After []string
	Begin string
	// Access has the variants of Begin for read-only transactions; "" if there is none.
	Access Accesses
	Alone  string // a session's setting for statements outside of transactions; "": none

	Wide    bool
	Columns ColumnsSQL // also how to write, and lock, plain rows and lists
}

// Speller is a DB that has Statements.
type Speller interface {
	// Statements returns the statements of the last load, or nil before the first.
	Statements() *Statements
}

// Accesses has, for each workload.Access, a statement that begins a transaction.
type Accesses [workload.Deferrable + 1]string

// Or returns the statement for an access or, if there is none, plain.
func (x *Accesses) Or(a workload.Access, plain string) string {
	if int(a) < len(x) && x[a] != "" {
		return x[a]
	}
	return plain
}

// Find tries which of the statements the database accepts, and sets the others to "". It returns an error only if the
// server does not answer.
func (x *Accesses) Find(exec func(string) error, rollback string, refused func(error) bool) error {
	for a, q := range x {
		if q == "" {
			continue
		}
		err := exec(q)
		if refused(err) {
			x[a], err = "", nil
		}
		if err == nil {
			err = exec(rollback)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// BeginAs returns the statement that begins a transaction, or "".
func (s *Statements) BeginAs(a workload.Access) string {
	if a == workload.Alone {
		return s.Alone
	}
	return s.Access.Or(a, s.Begin)
}

func literal(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case int64:
		return strconv.FormatInt(v, 10)
	}
	return "'" + strings.ReplaceAll(fmt.Sprint(v), "'", "''") + "'"
}

// Get returns the statements that Session.Get sends. Put, Append and List do the same for their calls.
func (s *Statements) Get(key int64, lock bool) []string {
	q := strings.Replace(KVGet(s.Wide), "?", literal(key), 1)
	if lock {
		q += s.Columns.Lock
	}
	return []string{q}
}

func (s *Statements) Put(key int64, r Row) []string {
	values := slice.Map(KVArgs(s.Wide, key, r), literal)
	if r.Dead && s.Columns.Upsert == Merge { // else PostgreSQL takes the null for a text
		values[2] = "cast(null as bigint)"
	}
	return s.write(s.Get(key, true)[0], KVName, KVColumns(s.Wide), values, false)
}

func (s *Statements) Append(key, element int64) []string {
	values := []string{literal(key), literal(strconv.FormatInt(element, 10))}
	return s.write(s.List(key)[0]+s.Columns.Lock, ListName, ListColumns, values, true)
}

func (s *Statements) List(key int64) []string {
	return []string{strings.Replace(ListGet, "?", literal(key), 1)}
}

const ListGet = "select val from " + ListName + " where k = ?"

// write returns the statement that inserts or updates a row. If the database has none, it returns a read of the row,
// and the statement for an existing row.
func (s *Statements) write(look, table string, columns, values []string, appends bool) []string {
	if u := s.Columns.Upsert; u != LookFirst {
		return []string{u.SQL(table, columns, values, appends, s.Columns.dual)}
	}
	return []string{look, UpdateSQL(table, columns, values, appends)}
}

// Locks reports whether a read can take the row's lock.
func (s *Statements) Locks() bool { return s.Columns.Lock != "" }

// Shares reports whether a read can take the row's read lock.
func (s *Statements) Shares() bool { return s.Columns.Share != "" }

// asked returns a ColumnsSQL that stores its statements in said and answers them with found.
func (s *Statements) asked(found []Match) (c ColumnsSQL, said *[]string) {
	c, said = s.Columns, &[]string{}
	c.Ask = func(q string, row func([]int64) error) error {
		*said = append(*said, q)
		for _, m := range found {
			if err := row(append([]int64{m.PK}, m.Old...)); err != nil {
				return err
			}
		}
		found = nil // only the first statement gets the rows
		return nil
	}
	return c, said
}

// Sent returns the statements that calls of a session with tables with columns send.
func (s *Statements) Sent(calls func(c *ColumnsSQL)) []string {
	c, said := s.asked(nil)
	calls(&c)
	return *said
}

// Where returns the statements that Columnar.Where sends. found is its result.
func (s *Statements) Where(table int, where []workload.Range, change Change, found []Match) []string {
	c, said := s.asked(found)
	if c.direct(c.table(table), &change) {
		c, said = s.asked(nil)
		c.Text = func(q string) (keys string, err error) {
			*said = append(*said, q)
			for _, m := range found {
				keys += "," + strconv.FormatInt(m.PK, 10)
			}
			return keys, nil
		}
	}
	_, _ = c.Where(table, where, change)
	return *said
}

// Insert returns the statements that load rows: plain ones, and those of tables with columns.
func (s *Statements) Insert(d Data) []string {
	var out []string
	say := func(q string) error {
		out = append(out, q)
		return nil
	}
	if d.Rows != nil {
		for k, r := range d.Rows {
			values := slice.Map(KVArgs(s.Wide, k, r), literal)
			out = append(out, "insert into isovet_kv values ("+strings.Join(values, ", ")+")")
		}
	}
	_ = LoadTables(d.Tables, 50, say)
	return out
}
