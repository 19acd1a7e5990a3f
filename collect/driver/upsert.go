package driver

import (
	"fmt"
	"strings"
)

// Upsert is the database's way to insert a row or overwrite an existing one.
type Upsert uint8

const (
	OnConflict Upsert = iota // insert … on conflict (k) do update: PostgreSQL's, SQLite's
	OnKey                    // insert … on duplicate key update: MySQL's
	Merge                    // merge into … using …: the SQL standard's
	LookFirst                // a locking read, then an update or an insert: works on every database
)

func (u Upsert) String() string {
	return [...]string{"on conflict", "on duplicate key", "merge", "a look, then update or insert"}[u]
}

// change returns the part of a statement that overwrites the columns after the key. appends says that the last column
// is appended to a list.
func (u Upsert) change(table string, columns []string, appends bool) string {
	set := make([]string, len(columns))
	for i, c := range columns {
		set[i] = c + " = " + u.value(c)
		if appends && i == len(columns)-1 {
			set[i] = fmt.Sprintf("%s = %s.%s || ',' || %s", c, table, c, u.value(c))
			if u == OnKey {
				set[i] = fmt.Sprintf("%s = concat(%s, ',', %s)", c, c, u.value(c))
			}
		}
	}
	return strings.Join(set, ", ")
}

// value returns the expression of the value to insert.
func (u Upsert) value(column string) string {
	switch u {
	case OnKey:
		return "values(" + column + ")"
	case Merge:
		return "s." + column
	}
	return "excluded." + column
}

// SQL returns the statement that writes one row, given with the key first. dual is the text after a select without a
// table.
func (u Upsert) SQL(table string, columns, values []string, appends bool, dual string) string {
	if u != Merge {
		how := " on conflict (k) do update set "
		if u == OnKey {
			how = " on duplicate key update "
		}
		return "insert into " + table + " values (" + strings.Join(values, ", ") + ")" + how +
			u.change(table, columns[1:], appends)
	}
	given, theirs := make([]string, len(columns)), make([]string, len(columns))
	for i, c := range columns {
		given[i], theirs[i] = values[i]+" as "+c, "s."+c
	}
	return fmt.Sprintf("merge into %[1]s using (select %[2]s%[3]s) s on (%[1]s.k = s.k) when matched then "+
		"update set %[4]s when not matched then insert (%[5]s) values (%[6]s)", table, strings.Join(given, ", "), dual,
		u.change(table, columns[1:], appends), strings.Join(columns, ", "), strings.Join(theirs, ", "))
}

// UpdateSQL returns the statement that overwrites an existing row; LookFirst uses it.
func UpdateSQL(table string, columns, values []string, appends bool) string {
	set := make([]string, len(columns)-1)
	for i, c := range columns[1:] {
		set[i] = c + " = " + values[i+1]
		if appends {
			set[i] = c + " = " + c + " || ',' || " + values[i+1]
		}
	}
	return fmt.Sprintf("update %s set %s where k = %s", table, strings.Join(set, ", "), values[0])
}

// InsertSQL returns the statement for a new row.
func InsertSQL(table string, values []string) string {
	return "insert into " + table + " values (" + strings.Join(values, ", ") + ")"
}

const (
	KVName   = "isovet_kv"
	ListName = "isovet_list"
)

// KVColumns returns the columns of the table of plain rows.
func KVColumns(wide bool) []string {
	if wide {
		return []string{"k", "u", "p", "w"}
	}
	return []string{"k", "u", "p"}
}

var ListColumns = []string{"k", "val"}
