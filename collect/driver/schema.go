package driver

import (
	"fmt"
	"slices"

	"isovet/datasets/workload"
)

// SchemaChange changes the schema beside a load in a way that leaves the answer to every statement of ours as it is.
// Undo takes it back; "": there is nothing to take back.
type SchemaChange struct{ Do, Undo string }

// SchemaChanges are those that databases of a dialect (Info.Dialect) are known to take while others read and write the
// tables of a load; nil: none are known. A database that speaks the same dialect may refuse some.
//
// An added column has no place in an insert that names no columns: MariaDB's and MySQL's is invisible, SQLite's is
// generated. PostgreSQL takes an insert with fewer values, and its manual (13.6) excepts forms of ALTER TABLE that
// rewrite the table from all isolation: those are none of these.
func SchemaChanges(dialect string, d Data) (all []SchemaChange) {
	add := func(do, undo string) { all = append(all, SchemaChange{do, undo}) }
	index := func(table, column string) {
		name := table + "_x"
		switch on := fmt.Sprintf("%s on %s(%s)", name, table, column); dialect {
		case "postgres":
			add("create index "+on, "drop index if exists "+name)
			add("create index concurrently "+on, "drop index concurrently if exists "+name)
		case "mysql":
			add("create index "+on, "drop index "+name+" on "+table)
		case "sqlite":
			add("create index "+on, "drop index if exists "+name)
		}
	}
	column := func(table string) {
		more, drop := "alter table "+table+" add column x ", "alter table "+table+" drop column x"
		switch dialect {
		case "postgres":
			add(more+"bigint", drop)
			add("reindex table "+table, "")
			add("reindex table concurrently "+table, "")
		case "mysql":
			add(more+"bigint invisible", drop)
			add(more+"bigint invisible, algorithm = copy", drop+", algorithm = copy")
			add("alter table "+table+" force", "")
		case "sqlite":
			add(more+"integer generated always as (k) virtual", drop)
			add("reindex "+table, "")
		}
	}
	index(KVName, "u")
	column(KVName)
	if d.Lists {
		column(ListName)
	}
	for i := range d.Tables {
		t := &d.Tables[i]
		name := TableName(t.ID)
		column(name)
		for i, c := range t.Columns {
			switch {
			case !c.Index:
				index(name, columnName(c))
			case t.Plan != workload.AnyPlan || slices.Contains(t.Unique, i):
				// Statements name it, or it keeps values apart.
			case dialect == "mysql":
				add("drop index "+IndexName(t.ID, c)+" on "+name, createIndex(t, i))
			case dialect != "":
				add("drop index if exists "+IndexName(t.ID, c), createIndex(t, i))
			}
		}
	}
	return all
}

// SchemaPatience is a setting by which a change of the schema gives up soon: sessions wait behind it.
func SchemaPatience(dialect string) string {
	switch dialect {
	case "postgres":
		return "set lock_timeout = '1s'"
	case "mysql":
		return "set session lock_wait_timeout = 1"
	}
	return ""
}
