package sqlstmt

import (
	"slices"
	"strings"

	"isovet/internal/sqltext"
	"isovet/record"
)

// declaredWhy says, by its text only, why a statement on a declared table is not understood.
func declaredWhy(s *sqltext.Stmt, t *Table) string {
	sets := func(column string) bool { return indexFold(s.Sets, column) >= 0 }
	moves := sets(t.Key) || sets("rowid") || sets("oid") || sets("_rowid_") // SQLite's names of the key
	switch {
	case s.Why != "" && (s.Kind != sqltext.Select || s.Why != "DISTINCT" && s.Why != "GROUP BY"):
		return s.Why
	case s.Kind == sqltext.Select && s.Why != "GROUP BY" && aggregate(s.Outer):
		return "an aggregate"
	case s.Inner != nil:
		return declaredWhy(s.Inner, t)
	case s.Kind == sqltext.Select && rowsOf(s, t) < 0:
		return "it does not read rows of a declared table"
	case s.Kind == sqltext.Select && s.Merged && !Returns(s, t, t.Version):
		return "columns of an outer join by USING: name them with their table"
	case s.Kind == sqltext.Select && !Returns(s, t, t.Version):
		return "the version is not returned: select it too"
	case s.Kind == sqltext.Select && !Returns(s, t, t.Key) && !slices.ContainsFunc(s.Where,
		func(c sqltext.Condition) bool {
			return strings.EqualFold(c.Column, t.Key) && len(c.With) == 1 && (c.Op == "=" || c.Op == "in")
		}):
		return noKey
	case s.Writes && !strings.EqualFold(s.Target.Name, t.Name):
		return "it does not write one declared table alone"
	case s.Kind == sqltext.Insert && (indexFold(s.Columns, t.Version) < 0 || indexFold(s.Columns, t.Key) < 0 &&
		!Returns(s, t, t.Key)):
		return unkeyed
	case s.Kind == sqltext.Insert && s.Values == nil && !(Returns(s, t, t.Key) && Returns(s, t, t.Version)):
		return "an insert of a query's rows: add RETURNING with key and version"
	case s.Upsert && indexFold(s.Overwrite, t.Version) < 0:
		return "an upsert whose version is not the new row's: set it to EXCLUDED's"
	case s.Upsert && !Returns(s, t, t.Key) && (len(s.Arbiters) != 1 || s.Arbiters[0] != "duplicate" &&
		!strings.EqualFold(s.Arbiters[0], t.Key)):
		return "an upsert not by the key: name the key as its target, or add RETURNING with key and version"
	case s.Kind == sqltext.Update && moves, s.Upsert && moves && indexFold(s.Overwrite, t.Key) < 0:
		return "an update of the key: delete and insert"
	case s.Kind == sqltext.Update && !sets(t.Version):
		return "an update that leaves the version: set it too"
	}
	return ""
}

// rowsOf returns the index of a table among those whose rows a SELECT returns.
func rowsOf(s *sqltext.Stmt, t *Table) int {
	return slices.IndexFunc(s.Rows, func(r sqltext.Table) bool { return strings.EqualFold(r.Name, t.Name) })
}

// owns reports whether an output of a statement belongs to a table.
func owns(s *sqltext.Stmt, t *Table, o sqltext.Output) bool {
	ref := s.Target.Ref
	if i := rowsOf(s, t); s.Kind == sqltext.Select && i >= 0 {
		ref = s.Rows[i].Ref
	}
	return o.Ref == "" && !s.Merged || strings.EqualFold(o.Ref, ref)
}

// Returns reports whether a statement returns a column of a table.
func Returns(s *sqltext.Stmt, t *Table, column string) bool {
	return slices.ContainsFunc(s.Outputs, func(o sqltext.Output) bool {
		return owns(s, t, o) && (o.Star || strings.EqualFold(o.Column, column))
	})
}

func indexFold(names []string, name string) int {
	return slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
}

// aggregates are functions that make one row from many, in SQLite, MySQL or MariaDB.
const aggregates = " count sum avg min max total group_concat string_agg array_agg json_agg jsonb_agg bit_and bit_or " +
	"bit_xor bool_and bool_or every std stddev stddev_pop stddev_samp variance var_pop var_samp json_arrayagg " +
	"json_objectagg json_group_array json_group_object any_value "

func aggregate(calls []string) bool {
	return slices.ContainsFunc(calls, func(f string) bool {
		return strings.Contains(aggregates, " "+strings.ToLower(f)+" ")
	})
}

// effect is a statement on a declared table with its result.
type effect struct {
	l            *Log
	r            *Run
	s            *sqltext.Stmt
	t            *Table
	res          *Result
	key, version int   // places in the rows; -1: not there
	keys         []any // of the condition on the key, or of the rows to be inserted
	known        bool  // keys are all that the condition can meet
	exact        bool  // and nothing but the key keeps one away
	ambiguous    bool  // see spelled
	calm         bool  // no other write is under way that may make rows vanish, or change them unseen
	still        bool  // no other write of the table is under way at all
}

// Own returns the log for a workload of isovet, on a database with a dialect of SQL at an isolation level. The rows
// from before are recorded already, and keys are spelled like the database's.
func Own(rec *record.Recorder, dialect, isolation string) *Log {
	d := database{known: true, is: dialect == "postgres", mysql: dialect == "mysql", sqlite: dialect == "sqlite"}
	return &Log{Rec: rec, database: d, versions: versions{complete: true},
		ownWorkload: ownWorkload{own: true, level: strings.ReplaceAll(isolation, " ", "-")}}
}

// Declare returns the plan for a statement on a table. why says why it is not understood, or is "".
func Declare(sql string, s *sqltext.Stmt, names []string, t *Table) (*Plan, string) {
	return &Plan{SQL: sql, Text: sql, stmts: []sqltext.Stmt{*s}, names: names, writes: s.Writes, declared: t},
		declaredWhy(s, t)
}

// Tell records the reads and writes of a declared statement in a transaction.
func (l *Log) Tell(t *record.Txn, p *Plan, args []Arg, res *Result) {
	r := &Run{c: &Client{l: l, promised: promised{level: l.level}}, p: p, args: args, t: t}
	if res.Unclear { // the transaction will not commit
		_ = l.declared(r, res)
		return
	}
	l.done(r, res)
}

// declared records the reads and writes of a statement on a declared table.
func (l *Log) declared(r *Run, res *Result) (why string) {
	x := &effect{l: l, r: r, s: &r.p.stmts[0], t: r.p.declared, res: res}
	if x.s.Inner != nil {
		x.s = x.s.Inner
	}
	x.key, x.version = x.place(x.t.Key), x.place(x.t.Version)
	if r.p.about != nil {
		r.p.about.used.Store(true)
	}
	gone := deleting + x.t.Name
	x.calm = !l.others(r, gone) && !l.others(r, deleting) // asked before: what has been recorded since is known
	x.still = !l.others(r, x.t.Name)
	if why := x.find(); why != "" {
		return why
	}
	for _, row := range res.Rows {
		if x.key >= 0 && x.key < len(row) {
			if x.s.Writes && row[x.key] == nil || x.odd(row[x.key]) {
				return oddKey
			}
			x.ambiguous = x.spelled(row[x.key]) || x.ambiguous
		}
		if new := x.s.Writes && x.s.Kind != sqltext.Delete; new && x.version >= 0 && !x.keeps(r.p.does.version,
			row[x.version]) {
			return "a version of another type than its column's"
		}
	}
	switch {
	case l.is && r.p.about != nil && r.p.turn != r.c.turn:
		return "it was prepared under other settings"
	case x.ambiguous:
		return "two spellings of a key, which may be one row or two"
	case x.s.Kind != sqltext.Select:
		return x.write()
	case l.isDeaf(x.t.Name):
		return "a read behind a write of its table that was not understood"
	case !l.own && (r.p.does.writes || x.outdated()):
		return "a table that a trigger, a view, a function or a foreign key may write"
	}
	return x.read()
}

// place returns the index of the table's column in the output, or −1 if it is missing or ambiguous.
func (x *effect) place(column string) int {
	found, star := -1, false
	for i, o := range x.s.Outputs {
		own := owns(x.s, x.t, o)
		switch {
		case o.Star && !own:
			return -1 // its columns may have that name
		case found < 0 && own && strings.EqualFold(o.Column, column):
			found = i
		}
		star = star || o.Star
	}
	if !star {
		return found
	}
	found = indexFold(x.res.Columns, column)
	if found >= 0 && indexFold(x.res.Columns[found+1:], column) >= 0 {
		return -1
	}
	return found
}

// find finds the keys that the statement names.
func (x *effect) find() string {
	s := x.s
	if s.Kind == sqltext.Insert {
		at := indexFold(s.Columns, x.t.Key)
		for _, row := range s.Values {
			if x.res.Counted > 0 && x.res.Affected == 1 && x.r.p.does.counts(s) {
				x.keys, at = []any{x.res.Counted}, -1
			}
			if at < 0 {
				break
			}
			if at >= len(row) {
				return "an insert of rows of several lengths"
			}
			v, ok := operand(row[at], x.r.args, x.r.p.names)
			chosen := !ok || scalar(v) == nil || normal(v) == int64(0) && x.r.p.does.kind == counted ||
				x.clips() && !x.keeps(x.r.p.does.kind, v)
			if chosen && (x.key < 0 || x.res.Unseen || x.res.Unclear) {
				return "an insert whose key is computed: add RETURNING"
			} else if x.key < 0 && x.odd(v) {
				return oddKey
			} else if ok {
				x.ambiguous = x.spelled(v) || x.ambiguous
				x.keys = append(x.keys, normal(v))
			}
		}
		return ""
	}
	others := 0
	for _, c := range s.Where {
		if !strings.EqualFold(c.Column, x.t.Key) || c.Op != "=" && c.Op != "in" || x.known {
			others++
			continue
		}
		x.known = true
		for _, o := range c.With {
			v, ok := operand(o, x.r.args, x.r.p.names)
			if !ok {
				return "an argument is not there"
			} else if x.odd(v) {
				return oddKey
			}
			x.ambiguous = x.spelled(v) || x.ambiguous
			if k := normal(v); !slices.Contains(x.keys, k) {
				x.keys = append(x.keys, k)
			}
		}
	}
	x.exact = x.known && others == 0 && s.Plain && !s.Cut && !(s.Limited && len(x.keys) > 1) &&
		!(x.l.is && x.r.waits(s)) && !x.mayVanish() && x.numbered() && x.calm
	for _, k := range x.keys { // the database may say that texts are equal which are not
		if _, ok := k.(int64); !ok && (!x.l.own || k == nil) {
			x.exact = false
		}
	}
	return ""
}

// wrote stores a version of a row; nil means that the row is deleted.
func (x *effect) wrote(key, version any) any {
	name := x.name(key)
	how := uint32(0)
	switch c := x.r.c; {
	case version == nil:
		how = removed
	case x.s.Kind == sqltext.Insert: // on PostgreSQL it may go over a row that its snapshot has
		if c.again = c.again || x.l.is && x.l.versions.vanished(name, x.t.Name); !x.s.Upsert && !x.res.Unclear {
			how = made
		}
	}
	x.l.versions.touch(name, how)
	x.r.c.wrote = append(x.r.c.wrote, name)
	return x.r.wrote(name, version, x.value(key, version))
}

// write1 records the write of one row; nil means that it is deleted.
func (x *effect) write1(key, version any) {
	_ = x.r.t.Write(x.name(key), x.wrote(key, version)) // the recorder keeps what goes wrong
}

const (
	unseen  = "isovet did not see all its rows"
	noKey   = "the key is not returned: select it too"
	foreign = "a version that nobody wrote in the recording: a trigger, another program, or the column rounds it"
)

// rowKey returns the key of a returned row.
func (x *effect) rowKey(row []any) (any, string) {
	switch {
	case x.key >= 0 && x.key < len(row):
		return normal(row[x.key]), ""
	case len(x.keys) == 1 && x.known && (x.numbered() || len(x.res.Rows) <= 1):
		return x.keys[0], ""
	}
	return nil, noKey
}

func (x *effect) read() (why string) {
	res := x.res
	switch {
	case res.Unseen:
		return unseen
	case x.version < 0:
		return "a version that cannot be told from other columns: name it"
	}
	var rows []record.Row
	seen := map[any]bool{}
	for _, row := range res.Rows {
		key, no := x.rowKey(row)
		if no != "" {
			return no
		}
		if seen[key] = true; key == nil { // the outer side of a join
			continue
		}
		if row[x.version] == nil && x.l.own && !x.mayVanish() {
			rows = append(rows, record.Row{Key: x.name(key)})
			continue
		}
		if row[x.version] == nil {
			why = "a version that is NULL"
			continue
		}
		id := normal(row[x.version])
		name := x.name(key)
		v, by := x.l.versions.read(x.l.Rec, name, id, x.value(key, id), !x.l.own &&
			x.l.versions.quiet(name, x.t.Name))
		if by != recorded {
			why = map[origin]string{unrecorded: foreign, forgotten: longAgo}[by]
			continue
		}
		rows = append(rows, record.Row{Key: name, Old: v})
	}
	if x.t.Ranges && x.ranged() && !x.exact && res.All && why == "" {
		if c, ok := x.condition(); ok {
			_ = x.r.t.Predicate(c, rows...)
			return ""
		}
	}
	for _, row := range rows {
		_ = x.r.t.Read(row.Key, row.Old)
	}
	x.absent(seen)
	return why
}

// absent records that rows do not exist, if there is no other reason why they were not returned.
func (x *effect) absent(seen map[any]bool) {
	for _, key := range x.keys {
		if x.exact && x.res.All && !seen[key] {
			x.l.versions.touch(x.name(key), made) // what is there later is not from before
			_ = x.r.t.Read(x.name(key), nil)
		}
	}
}

// ranged reports whether the condition uses only key and version, and the statement returns all matching rows.
func (x *effect) ranged() bool {
	other := func(c sqltext.Condition) bool {
		return !strings.EqualFold(c.Column, x.t.Key) && !strings.EqualFold(c.Column, x.t.Version)
	}
	return x.s.Plain && !x.s.Cut && !x.s.Limited && !x.mayVanish() && x.numbered() && x.calm &&
		!slices.ContainsFunc(x.s.Where, other)
}

// condition returns WHERE as a predicate of the history.
func (x *effect) condition() (any, bool) {
	parts := []any{map[string]any{"table": map[string]any{"=": x.t.Name}}}
	for _, c := range x.s.Where {
		var with []any
		for _, o := range c.With {
			v, ok := operand(o, x.r.args, x.r.p.names)
			other := strings.EqualFold(c.Column, x.t.Version) && !x.l.own && (x.l.sqlite ||
				x.r.p.does.version > small || !x.still) // what is under way may not be understood in the end
			if _, number := normal(v).(int64); !ok || !number || other || x.odd(v) { // SQLite's may hold texts
				return nil, false // how the database orders texts, and which are equal, is not known
			}
			with = append(with, normal(v))
		}
		column := x.t.Key
		if strings.EqualFold(c.Column, x.t.Version) {
			column = x.t.Version
		}
		var value any = with
		if c.Op != "in" {
			value = with[0]
		}
		parts = append(parts, map[string]any{column: map[string]any{c.Op: value}})
	}
	x.l.versions.touch(x.t.Name, 0) // it says which rows there are
	return map[string]any{"and": parts}, true
}

// versionOf returns the version that a write gives row i of its rows.
func (x *effect) versionOf(i int) (any, bool) {
	s := x.s
	if s.Kind == sqltext.Delete {
		return nil, true
	}
	from := s.Assigned
	at := indexFold(s.Sets, x.t.Version)
	if s.Kind == sqltext.Insert {
		if i >= len(s.Values) {
			return nil, false
		}
		from, at = s.Values[i], indexFold(s.Columns, x.t.Version)
	}
	if at < 0 || at >= len(from) {
		return nil, false
	}
	v, ok := operand(from[at], x.r.args, x.r.p.names)
	return normal(v), ok && x.keeps(x.r.p.does.version, v)
}

// one reports whether a write gives all its rows the same version.
func (x *effect) one() bool {
	first, ok := x.versionOf(0)
	for i := range x.s.Values {
		v, known := x.versionOf(i)
		ok = ok && known && v == first
	}
	return ok
}

// write records the rows that a write changed. If they are unknown, the table becomes deaf: later reads of it are not
// recorded.
func (x *effect) write() string {
	s, res := x.s, x.res
	if x.l.own && res.Affected == 0 && len(res.Rows) == 0 && !res.Unclear {
		x.absent(nil)
		return ""
	}
	if x.key >= 0 && !res.Unseen && !res.Unclear && (x.version >= 0 || x.one()) {
		return x.returned()
	}
	n := int64(len(x.keys))
	affected := res.Affected
	if len(s.Outputs) > 0 && !res.Unseen && (res.All || len(res.Rows) > 0) {
		affected = int64(len(res.Rows))
	} else if !x.l.is && len(s.Outputs) > 0 && res.Unseen { // drivers count none, or those of the statement before
		affected = -1
	}
	switch {
	case affected == 0 && !res.Unclear:
		return ""
	case affected < 0 && !res.Unclear && (s.Kind != sqltext.Insert || s.OnlyNew || s.Upsert || !res.All):
		return "whether it changed a row is not known: use Exec, or add RETURNING with key and version"
	case n == 0 || s.Kind != sqltext.Insert && !x.known:
		return "rows are written that it does not name: add RETURNING with key and version"
	case s.Kind == sqltext.Update && n == 1 && x.version >= 0 && len(res.Rows) == 1:
		x.write1(x.keys[0], normal(res.Rows[0][x.version]))
		return ""
	case s.Kind != sqltext.Insert && affected > n:
		return "more rows are written than it names: the key does not tell rows apart"
	case affected < n && affected >= 0 && !res.Unclear:
		return "some of several rows are written: add RETURNING with key and version"
	case (s.Kind != sqltext.Insert || s.OnlyNew || s.Cut) && n > 1 && res.Unclear:
		return "some of several rows may be written"
	}
	for i, key := range x.keys {
		v, ok := x.versionOf(i)
		if !ok {
			return "the new version is computed: add RETURNING with key and version"
		}
		x.write1(key, v)
	}
	return ""
}

// returned records the rows that a write returned.
func (x *effect) returned() string {
	if !x.res.All && !(x.known && len(x.keys) == 1 && len(x.res.Rows) == 1) && !(x.s.Kind == sqltext.Insert &&
		x.s.Values != nil && len(x.res.Rows) == len(x.s.Values)) {
		return "rows of RETURNING were not read to the end"
	}
	var rows []record.Row
	told := x.t.Ranges && x.s.Kind != sqltext.Insert && x.ranged() && !x.exact && !x.l.isDeaf(x.t.Name)
	for _, row := range x.res.Rows {
		key := normal(row[x.key])
		id, _ := x.versionOf(0)
		if x.version >= 0 && x.s.Kind != sqltext.Delete {
			id = normal(row[x.version])
		}
		told = told && (x.l.own || x.l.versions.stood(x.name(key)))
		rows = append(rows, record.Row{Key: x.name(key), Old: record.Unread, New: x.wrote(key, id)})
	}
	if told {
		if c, ok := x.condition(); ok {
			_ = x.r.t.PredicateWrite(c, rows...)
			return ""
		}
	}
	for _, r := range rows {
		_ = x.r.t.Write(r.Key, r.New)
	}
	return ""
}
