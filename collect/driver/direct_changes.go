package driver

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"isovet/datasets/workload"
	"isovet/internal/slice"
)

// Telling describes how a database reports the rows that an update or delete changed, with their earlier values. The
// zero value means that it cannot; the rows must be selected first.
type Telling struct {
	Updates, Deletes bool // by RETURNING
	// gathers says that an update can collect keys in a session variable, as in MySQL and MariaDB.
	gathers bool
}

// direct reports whether a change should and can be made in one statement.
func (c *ColumnsSQL) direct(t *Table, change *Change) bool {
	if !t.Direct || change.Reads() {
		return false
	}
	return change.Delete && c.Tells.Deletes || change.Set != nil && (c.Tells.Updates || c.Tells.gathers)
}

// oldColumn returns the column in which an update of a Direct table stores the earlier value of a column.
func oldColumn(name string) string { return "o_" + name }

// columnsOf returns the columns of a table after the key.
func columnsOf(t *Table) []string {
	return append([]string{"u"}, slice.Map(t.Columns, columnName)...)
}

// oldColumns returns the definitions of the extra columns of a Direct table for its create statement.
func oldColumns(t *Table, integer string) (sql string) {
	if !t.Direct {
		return ""
	}
	for _, name := range columnsOf(t) {
		sql += ", " + oldColumn(name) + " " + integer + " default 0 not null"
	}
	return sql
}

// target returns a table's name and columns for "insert into".
func (t *Table) target() string {
	if !t.Direct {
		return TableName(t.ID)
	}
	return TableName(t.ID) + "(k, " + strings.Join(columnsOf(t), ", ") + ")"
}

// target returns the table's name and columns for an upsert; a merge statement names its columns elsewhere.
func (c *ColumnsSQL) target(t *Table) string {
	if c.Upsert == Merge {
		return TableName(t.ID)
	}
	return t.target()
}

// keysVariable is the session variable that collects the keys of an update's rows, with a comma before each.
const keysVariable = "@isovet_keys"

// whereDirect changes rows in one statement, so that the database chooses the index, and then finds out which rows
// changed. An update stores the earlier values in extra columns. Their assignments come first, because MySQL evaluates
// assignments from left to right (manual, UPDATE), while the standard evaluates all on the old row.
func (c *ColumnsSQL) whereDirect(t *Table, where []workload.Range, change Change) (found []Match, err error) {
	name, all := TableName(t.ID), columnsOf(t)
	old := slice.Map(all, oldColumn)
	before := strings.Join(all, ", ")
	if !change.Delete {
		before = strings.Join(old, ", ") + ", " + before
	}
	take := func(v []int64) error {
		m := Match{PK: v[0], Old: slices.Clone(v[1 : 1+len(all)])}
		if !change.Delete {
			m.New = slices.Clone(v[1+len(all):])
		}
		found = append(found, m)
		return nil
	}
	defer func() { slices.SortFunc(found, func(a, b Match) int { return cmp.Compare(a.PK, b.PK) }) }()
	if change.Delete {
		err = c.Ask(fmt.Sprintf("delete from %s where %s returning k, %s", name, condition(t, where), before), take)
		return found, err
	}
	gathers := !c.Tells.Updates
	set := make([]string, 0, 2*len(all))
	for i, column := range all {
		value := column
		if i == 0 && gathers {
			value = fmt.Sprintf("if((%s := concat(%[1]s, ',', k)) is null, u, u)", keysVariable)
		}
		set = append(set, old[i]+" = "+value)
	}
	set = append(set, "u = "+strconv.FormatInt(change.Version, 10))
	for _, s := range change.Set {
		column := columnName(t.Columns[s.Column])
		set = append(set, column+" = "+c.expression(column, s))
	}
	update := fmt.Sprintf("update %s set %s where %s", name, strings.Join(set, ", "), condition(t, where))
	if !gathers {
		return found, c.Ask(update+" returning k, "+before, take)
	}
	for _, q := range []string{"set " + keysVariable + " = ''", update} {
		if err := c.Ask(q, noRow); err != nil {
			return nil, err
		}
	}
	keys, err := c.Text("select " + keysVariable)
	if err != nil || keys == "" {
		return nil, err
	}
	// A server may retry a statement by itself: then some of the keys may belong to rows that it did not change.
	return found, c.Ask(fmt.Sprintf("select k, %s from %s where k in (%s) and u = %d", before, name, keys[1:],
		change.Version), take)
}

// FindTelling finds out how a database reports changed rows, with trials on the mark's row, which it rolls back. exec
// runs a statement, text one that returns a text. refused reports whether an error is an answer of the server.
func FindTelling(tables []Table, exec func(string) error, text func(string) (string, error), begin string,
	refused func(error) bool) (tells Telling, err error) {
	if !slices.ContainsFunc(tables, func(t Table) bool { return t.Direct }) {
		return tells, nil
	}
	mark := fmt.Sprintf(" where k = %d", MarkKey)
	for _, try := range []struct {
		has       *bool
		sql       []string
		ask, want string
	}{
		{&tells.Updates, nil, "update isovet_kv set u = u" + mark + " returning k", strconv.Itoa(MarkKey)},
		{&tells.Deletes, nil, "delete from isovet_kv" + mark + " returning k", strconv.Itoa(MarkKey)},
		{&tells.gathers, []string{"set " + keysVariable + " = ''", "update isovet_kv set u = if((" + keysVariable +
			" := concat(" + keysVariable + ", ',', k)) is null, u, u)" + mark}, "select " + keysVariable,
			"," + strconv.Itoa(MarkKey)},
	} {
		if err := exec(begin); err != nil {
			return tells, err
		}
		var got string
		for _, q := range try.sql {
			if err == nil {
				err = exec(q)
			}
		}
		if err == nil {
			got, err = text(try.ask)
		}
		*try.has = err == nil && got == try.want
		if err != nil && !refused(err) {
			return tells, err
		}
		if err = exec("rollback"); err != nil {
			return tells, err
		}
	}
	return tells, nil
}
