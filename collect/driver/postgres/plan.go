package postgres

import (
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

// planSettings returns settings that make a session use a plan, by disabling all other ways to find a row.
func planSettings(p workload.Plan) (sql []string) {
	if p == workload.AnyPlan {
		return nil
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
