package driver

import (
	"fmt"
	"strings"
)

// upsert is how a database inserts a row or overwrites the one that is there.
type upsert uint8

const (
	onConflict upsert = iota // insert … on conflict (k) do update: PostgreSQL's, SQLite's
	onKey                    // insert … on duplicate key update: MySQL's
	merge                    // merge into … using …: the SQL standard's
	lookFirst                // a locking read, then an update or an insert: what every database has
)

func (u upsert) String() string {
	return [...]string{"on conflict", "on duplicate key", "merge", "a look, then update or insert"}[u]
}

// change is the part of a statement that overwrites, with the columns behind the key; appends says that the last of
// them is added to a list.
func (u upsert) change(table string, columns []string, appends bool) string {
	set := make([]string, len(columns))
	for i, c := range columns {
		set[i] = c + " = " + u.value(c)
		if appends && i == len(columns)-1 {
			set[i] = fmt.Sprintf("%s = %s.%s || ',' || %s", c, table, c, u.value(c))
			if u == onKey {
				set[i] = fmt.Sprintf("%s = concat(%s, ',', %s)", c, c, u.value(c))
			}
		}
	}
	return strings.Join(set, ", ")
}

// value is the value that was to be inserted.
func (u upsert) value(column string) string {
	switch u {
	case onKey:
		return "values(" + column + ")"
	case merge:
		return "s." + column
	}
	return "excluded." + column
}

// sql is the whole statement, of one row with the key first; dual is what stands behind a select without a table.
func (u upsert) sql(table string, columns, values []string, appends bool, dual string) string {
	if u != merge {
		how := " on conflict (k) do update set "
		if u == onKey {
			how = " on duplicate key update "
		}
		return "insert into " + table + " values (" + strings.Join(values, ", ") + ")" + how +
			u.change(table, columns[1:], appends)
	}
	given, theirs := make([]string, len(columns)), make([]string, len(columns))
	for i, c := range columns {
		given[i], theirs[i] = values[i]+" as "+c, "s."+c
	}
	return fmt.Sprintf("merge into %s using (select %s%s) s on (%[1]s.k = s.k) when matched then update set %s "+
		"when not matched then insert (%s) values (%s)", table, strings.Join(given, ", "), dual,
		u.change(table, columns[1:], appends), strings.Join(columns, ", "), strings.Join(theirs, ", "))
}

// update and insert are the statements of lookFirst.
func updateSQL(table string, columns, values []string, appends bool) string {
	set := make([]string, len(columns)-1)
	for i, c := range columns[1:] {
		set[i] = c + " = " + values[i+1]
		if appends {
			set[i] = c + " = " + c + " || ',' || " + values[i+1]
		}
	}
	return fmt.Sprintf("update %s set %s where k = %s", table, strings.Join(set, ", "), values[0])
}

func insertSQL(table string, values []string) string {
	return "insert into " + table + " values (" + strings.Join(values, ", ") + ")"
}

const (
	kvName   = "isovet_kv"
	listName = "isovet_list"
)

// kvColumns are the columns of the table of plain rows.
func kvColumns(wide bool) []string {
	if wide {
		return []string{"k", "u", "p", "w"}
	}
	return []string{"k", "u", "p"}
}

var listColumns = []string{"k", "val"}
