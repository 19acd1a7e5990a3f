package postgres

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"isovet/collect/driver"
	"isovet/datasets/workload"
)

// ways has the server's variants of statements that differ between servers with PostgreSQL's protocol. The driver
// tries the variants, PostgreSQL's own first, until the server accepts one. It begins with the zero value and a level.
type ways struct {
	settings []string // settings of a session, if the server accepts them
	level    string   // "default": the server's own
	begin    string
	session  []string // statements that every session must begin with
	upsert   driver.Upsert
	lock     string // " for update", or "" if the server has none
	share    string // " for share", or ""
	noCopy   bool
	varchar  string // the type of texts, if the server cannot read back "text"
	pieces   bool   // the server sends its answers in small pieces
	access   driver.Accesses
	tells    driver.Telling
}

func (w *ways) text() string {
	if w.varchar != "" {
		return w.varchar
	}
	return "text"
}

// refused reports whether an error is an answer of the server.
func refused(err error) bool { return errors.As(err, new(*pgconn.PgError)) }

// findBegin finds the statement that begins a transaction at the level.
func (p *server) findBegin(c *pgconn.PgConn) error {
	level := " isolation level " + p.level
	try := []ways{{begin: "begin" + level}, {begin: "start transaction" + level},
		{begin: "begin", session: []string{"set session characteristics as transaction" + level}},
		{begin: "begin; set transaction" + level},
		{begin: "begin", session: []string{"set default_transaction_isolation = '" + p.level + "'"}}}
	if p.level == "default" {
		try = []ways{{begin: "begin"}, {begin: "start transaction"}}
	}
	var first error
	for _, w := range try {
		var err error
		for _, q := range append(w.session, w.begin, "rollback") {
			if err = run(c, q); err != nil {
				break
			}
		}
		if err == nil {
			p.begin, p.session = w.begin, w.session
			return nil
		}
		if !refused(err) {
			return err
		}
		first = cmp.Or(first, err)
		_ = run(c, "rollback") // it may have begun
	}
	return first
}

// levelInForce asks the server for the level of a transaction that begins like all others.
func (p *server) levelInForce(c *pgconn.PgConn) string {
	defer func() { _ = run(c, "rollback") }() // whether or not one is open
	for _, q := range []string{
		"show transaction_isolation",
		// H2, which answers "read committed" to all that PostgreSQL has.
		"select lower(isolation_level) from information_schema.sessions where session_id = session_id()",
		"show transaction isolation level",
	} {
		if err := run(c, p.begin); err != nil {
			break
		}
		if v, err := ask(c, q); err == nil {
			return v
		}
		_ = run(c, "rollback")
	}
	if p.level == "default" {
		return "its default, which it does not report"
	}
	return p.level + ", as asked for"
}

// fill loads the rows by COPY, or by inserts if the server has no COPY, and the mark last.
func (p *server) fill(ctx context.Context, c *pgconn.PgConn, d driver.Data) error {
	if p.noCopy {
		return driver.SQLLoad(func(q string) error { return run(c, q) }, d, 500)
	}
	var b bytes.Buffer
	flush := func() error {
		if b.Len() == 0 {
			return nil
		}
		_, err := c.CopyFrom(ctx, &b, "copy isovet_kv from stdin")
		b.Reset()
		return err
	}
	copied := false
	for k, r := range d.Rows {
		fmt.Fprintf(&b, "%d\t%d\t%d", k, r.Version, r.Payload)
		switch {
		case r.Wide != nil:
			b.Write(driver.AppendList([]byte{'\t'}, r.Wide))
		case d.Wide:
			b.WriteString("\t\\N")
		}
		b.WriteByte('\n')
		if b.Len() > 1<<20 {
			if err := flush(); err != nil {
				return p.withoutCopy(ctx, c, d, copied, err)
			}
			copied = true
		}
	}
	if err := flush(); err != nil {
		return p.withoutCopy(ctx, c, d, copied, err)
	}
	if err := driver.LoadTables(d.Tables, 1000, func(q string) error { return run(c, q) }); err != nil {
		return err
	}
	for _, q := range roomySQL(d.Tables) {
		_ = run(c, q) // some servers have no such indexes
	}
	return run(c, driver.InsertSQL(driver.KVName, markRow(d)))
}

// withoutCopy inserts the rows if the server refused COPY.
func (p *server) withoutCopy(ctx context.Context, c *pgconn.PgConn, d driver.Data, copied bool, err error) error {
	if copied || !refused(err) {
		return err
	}
	p.noCopy = true
	return p.fill(ctx, c, d)
}

func markRow(d driver.Data) []string {
	row := []string{fmt.Sprint(int64(driver.MarkKey)), fmt.Sprint(d.Mark), "null"}
	if d.Wide {
		row = append(row, "null")
	}
	return row
}

// findUpsert finds, with the mark's row, the statement that overwrites a row, and whether reads can lock a row.
func (p *server) findUpsert(c *pgconn.PgConn, d driver.Data) error {
	row := markRow(d)
	var first error
	try := []driver.Upsert{driver.OnConflict, driver.Merge, driver.LookFirst}
	switch {
	case p.mode == merging:
		try = try[1:2]
	case p.upsert == driver.LookFirst:
		try = try[2:]
	}
	for _, u := range try {
		q := driver.UpdateSQL(driver.KVName, driver.KVColumns(d.Wide), row, false)
		if u != driver.LookFirst {
			q = u.SQL(driver.KVName, driver.KVColumns(d.Wide), typed(row, p.text()), false, "")
		}
		p.upsert = u
		err := run(c, q)
		if err == nil {
			first = nil
			break
		}
		if !refused(err) {
			return err
		}
		first = cmp.Or(first, err)
	}
	if first != nil {
		return first
	}
	for _, q := range p.session {
		if err := run(c, q); err != nil {
			return fmt.Errorf("%s: %w", q, err)
		}
	}
	if err := driver.Undoes(func(q string) error { return run(c, q) },
		func(q string) (string, error) { return ask(c, q) }, p.begin, p.info.Name, d.Mark); err != nil {
		return err
	}
	p.lock, p.share = " for update", " for share"
	for _, lock := range []*string{&p.lock, &p.share} {
		err := run(c, "begin; select u from isovet_kv where k = "+row[0]+*lock+"; rollback")
		if refused(err) {
			*lock = ""
			err = run(c, "rollback")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// findAccess finds the statement that begins a read-only transaction.
func (p *server) findAccess(c *pgconn.PgConn) error {
	p.access = driver.Accesses{workload.ReadOnly: p.begin + "; set transaction read only",
		workload.Deferrable: p.begin + "; set transaction read only, deferrable"}
	return p.access.Find(func(q string) error { return run(c, q) }, "rollback", refused)
}

// typed casts values to the types of the columns k, u, p and w.
func typed(values []string, text string) []string {
	all := make([]string, len(values))
	for i, v := range values {
		t := "bigint"
		if i == 3 {
			t = text
		}
		all[i] = "cast(" + v + " as " + t + ")"
	}
	return all
}

type statement struct{ name, sql string }

// statements returns the statements that a session prepares.
func (w *ways) statements(d driver.Data) []statement {
	columns, row := driver.KVColumns(d.Wide), typed([]string{"$1", "$2", "$3", "$4"}, w.text())
	get := "select " + strings.Join(columns[1:], ", ") + " from isovet_kv where k = " + row[0]
	all := []statement{{"get", get}, {"lock", get + w.lock}}
	all = append(all, w.writing("put", driver.KVName, columns, row[:len(columns)], false)...)
	if d.Lists {
		row[1] = "cast($2 as " + w.text() + ")"
		list := "select val from isovet_list where k = " + row[0]
		all = append(all, statement{"list", list}, statement{"lock list", list + w.lock})
		all = append(all, w.writing("append", driver.ListName, driver.ListColumns, row[:2], true)...)
	}
	return all
}

func (w *ways) writing(name, table string, columns, row []string, appends bool) []statement {
	if w.upsert != driver.LookFirst {
		return []statement{{name, w.upsert.SQL(table, columns, row, appends, "")}}
	}
	return []statement{{name, driver.UpdateSQL(table, columns, row, appends)},
		{name + " new", driver.InsertSQL(table, row)}}
}

// yugabyteClass classifies YugabyteDB's internal errors by their text, since some versions give conflicts no code of
// their own. After a time-out the outcome is unknown; if the commit was not sent, it counts as a refusal.
func yugabyteClass(text string) driver.Class {
	for _, w := range []struct {
		words string
		driver.Class
	}{{"Transaction aborted", driver.Aborted}, {"expired or aborted", driver.Aborted},
		{"Restart read required", driver.Aborted},
		{"Conflicts with", driver.Aborted}, {"Try again", driver.Aborted}, {"Timed out", driver.Unclear}} {
		if strings.Contains(text, w.words) {
			return w.Class
		}
	}
	return driver.Fatal
}
