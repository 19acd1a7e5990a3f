package sqlstmt

import (
	"slices"

	"isovet/internal/slice"
	"isovet/internal/sqltext"
)

// deleting stands before the names of tables from which rows may vanish, among those with writes under way.
const deleting = "-"

// computes reports whether an UPDATE of a declared table gives a version that the text does not say.
func (p *Plan) computes() bool {
	at := -1
	if p.declared != nil {
		at = indexFold(p.stmts[0].Sets, p.declared.Version)
	}
	return at >= 0 && !p.stmts[0].Assigned[at].Known
}

// flights lists what is under way while a statement runs: the tables that it may write, and with deleting those from
// which it may make rows vanish. A stale plan may be of another table.
func (p *Plan) flights(stale bool) []string {
	if !p.writes || p.nothing {
		return nil
	}
	tables, kind := p.touches, p.kind()
	if p.declared != nil {
		tables = []string{p.declared.Name}
	}
	list := slices.Clone(tables)
	moves := func(s source) bool { return s.r.rekeyed(p.stmts[0].Sets) }
	if p.why != "" || slices.ContainsFunc(p.sources, moves) || kind != sqltext.Insert &&
		(kind != sqltext.Update || p.computes()) {
		if len(tables) == 0 || stale {
			tables = append(slices.Clip(tables), "")
		}
		for _, t := range tables {
			list = append(list, deleting+t)
		}
	}
	return list
}

// others reports whether a write of another statement is under way; see Run.fly.
func (l *Log) others(r *Run, table string) bool {
	own := slice.Count(r.fly, func(f string) bool { return f == table })
	l.versions.mu.Lock()
	defer l.versions.mu.Unlock()
	return l.versions.flying[table] > own
}

// fly counts a write that is sent (1) or recorded (−1).
func (v *versions) fly(table string, n int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	slice.MakeMap(&v.flying)
	v.flying[table] += n
}

// emptied returns an empty map: the same one, unless to clear it would take long.
func emptied[K comparable, V any](m map[K]V) map[K]V {
	if m == nil || len(m) > 64 {
		return map[K]V{}
	}
	clear(m)
	return m
}
