package driver

import (
	"fmt"
	"slices"

	"isovet/datasets/workload"
)

// SchemaChange changes the schema of loaded tables without changing the answer to any of isovet's statements. Undo
// reverts it; "" means that there is nothing to revert.
type SchemaChange struct{ Do, Undo string }

// SchemaChanges returns changes that databases of a dialect (Info.Dialect) are known to accept while others use the
// loaded tables, or nil. Another database with this dialect may refuse some.
//
// An added column must not disturb inserts that name no columns: it is invisible in MariaDB and MySQL, and generated
// in SQLite; PostgreSQL accepts inserts with fewer values. PostgreSQL's manual (13.6) says that forms of ALTER TABLE
// that rewrite the table break isolation; none of these changes does.
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
				// A statement names this index, or it keeps values unique.
			case dialect == "mysql":
				add("drop index "+IndexName(t.ID, c)+" on "+name, createIndex(t, i))
			case dialect != "":
				add("drop index if exists "+IndexName(t.ID, c), createIndex(t, i))
			}
		}
	}
	return all
}

// SchemaPatience returns a setting that makes a waiting schema change give up soon, because sessions wait for it.
func SchemaPatience(dialect string) string {
	switch dialect {
	case "postgres":
		return "set lock_timeout = '1s'"
	case "mysql":
		return "set session lock_wait_timeout = 1"
	}
	return ""
}
