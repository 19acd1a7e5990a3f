package sqlstmt

import (
	"slices"

	"isovet/internal/sqltext"
)

// written returns the tables that the plan writes; others must know that the writes are running.
func (p *Plan) written() []string {
	switch {
	case !p.writes:
		return nil
	case p.declared != nil:
		return []string{p.declared.Name}
	}
	return p.touches
}

// deleting stands before the names of tables from which rows may vanish, among those with writes under way.
const deleting = "-"

// deletes reports whether a plan may make rows vanish, or change those of a declared table unseen.
func (p *Plan) deletes() bool {
	kind := p.kind()
	return p.writes && (p.why != "" || kind != sqltext.Insert && kind != sqltext.Update ||
		kind == sqltext.Update && (p.computes() || slices.ContainsFunc(p.sources, func(s source) bool { return s.moves })))
}

// computes reports whether an UPDATE of a declared table gives a version that the text does not say.
func (p *Plan) computes() bool {
	at := -1
	if p.declared != nil {
		at = indexFold(p.stmts[0].Sets, p.declared.Version)
	}
	return at >= 0 && !p.stmts[0].Assigned[at].Known
}

// flights lists what is under way while a statement runs: the tables that it may write, and with deleting those from
// which it may make rows vanish.
func (p *Plan) flights() []string {
	tables := p.written()
	list := slices.Clone(tables)
	if p.deletes() {
		if len(tables) == 0 {
			tables = []string{""}
		}
		for _, t := range tables {
			list = append(list, deleting+t)
		}
	}
	return list
}

// others reports whether a write of another statement is under way; see Run.fly.
func (l *Log) others(r *Run, table string) bool {
	own := 0
	for _, f := range r.fly {
		if f == table {
			own++
		}
	}
	return l.versions.underway(table) > own
}

// underway returns the number of running writes of a table.
func (v *versions) underway(table string) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.flying[table]
}

// fly counts a write that is sent (1) or recorded (−1).
func (v *versions) fly(table string, n int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.flying == nil {
		v.flying = map[string]int{}
	}
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
