package postgres

import (
	"strings"

	"isovet/collect/driver"
	"isovet/datasets/workload"
)

// planOf returns the plan of the first table that requires one.
func planOf(tables []driver.Table) workload.Plan {
	for i := range tables {
		if p := tables[i].Plan; p != workload.AnyPlan {
			return p
		}
	}
	return workload.AnyPlan
}

// planSettings returns settings that make a session use a plan, by disabling all other ways to find a row. Some kinds
// of indexes have only bitmaps; PostgreSQL prefers the primary key's index to a scan of GiST.
func planSettings(p workload.Plan) (sql []string) {
	switch {
	case p == workload.AnyPlan:
		return nil
	case p == workload.Hash:
		p = workload.ByIndex
	case p > workload.Hash && p < workload.TIDRange:
		p = workload.Bitmap
	}
	for _, s := range []struct {
		name string
		plan workload.Plan
	}{{"enable_seqscan", workload.Sequential}, {"enable_indexscan", workload.ByIndex},
		{"enable_indexonlyscan", workload.IndexOnly}, {"enable_bitmapscan", workload.Bitmap}} {
		value := "off"
		if s.plan == p {
			value = "on"
		}
		sql = append(sql, "set "+s.name+" = "+value)
	}
	return sql
}

// extension returns the extension that gives a kind of index operators for numbers, or "".
func extension(p workload.Plan) string {
	if p == workload.GIN || p == workload.GiST {
		return "btree_" + p.String()
	}
	return ""
}

// ofKind changes statements that make tables and indexes so that indexes are of the plan's kind. Unique ones are not.
func ofKind(p workload.Plan, sql []string) []string {
	for i, q := range sql {
		if p >= workload.Hash && p < workload.TIDRange && strings.HasPrefix(q, "create index") {
			sql[i] = strings.Replace(q, "(", " using "+p.String()+" (", 1)
		}
	}
	if x := extension(p); x != "" {
		sql = append([]string{"create extension if not exists " + x}, sql...)
	}
	return sql
}

// tidRange returns a condition that every row meets, if the plan is a scan of a range of their places.
func (p *server) tidRange() string {
	if planOf(p.data.Tables) == workload.TIDRange && strings.HasPrefix(p.info.Name, "PostgreSQL") {
		return " and ctid >= '(0,0)'"
	}
	return ""
}

// roomySQL rebuilds the indexes of roomy tables with PostgreSQL's lowest fillfactor, so that they have ten times as
// many pages.
func roomySQL(tables []driver.Table) (sql []string) {
	for i := range tables {
		t := &tables[i]
		for _, c := range t.Columns {
			if t.Roomy && c.Index {
				name := driver.IndexName(t.ID, c)
				sql = append(sql, "alter index "+name+" set (fillfactor = 10)", "reindex index "+name)
			}
		}
	}
	return sql
}
