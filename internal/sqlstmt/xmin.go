package sqlstmt

import (
	"cmp"
	"database/sql/driver"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"isovet/internal/slice"
	"isovet/internal/sqltext"
)

// Arg is an argument.
type Arg struct {
	Name  string
	Value any
}

// Result is what a statement returned.
type Result struct {
	Columns  []string
	Rows     [][]any // the values of each row: where a plan hides columns, these alone
	Affected int64   // -1: not known
	Counted  int64   // the key of the last row, where MySQL counts keys; 0: not told
	Tag      string  // PostgreSQL's word for what was done, "" where it is not told
	All      bool    // the rows have been read to the end
	Unclear  bool    // the statement failed, and may have had an effect all the same
	Unseen   bool    // the rows were not looked at
}

// maxRows bounds the recorded rows of a statement.
const maxRows = 1 << 17

// Add adds a row, unless there are too many.
func (r *Result) Add(row []any) {
	if len(r.Rows) < maxRows {
		r.Rows = append(r.Rows, row)
	} else {
		r.Unseen = true
	}
}

// done records the reads and writes of a statement.
func (l *Log) done(r *Run, res *Result) {
	p := r.p
	if p.nothing {
		return
	}
	why := p.why
	switch {
	case p.declared != nil && why == "":
		why = l.declared(r, res)
	case p.declared == nil && p.Hidden > 0:
		missed := l.versioned(r, res)
		if missed != "" && missed != unseen { // what was written is recorded all the same
			l.Miss(p.shown(), missed, false)
			return
		}
		why = cmp.Or(why, missed)
	}
	if why == "" {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.stats.Understood++
		return
	}
	l.miss(p, why)
}

// miss counts a statement that was not understood.
func (l *Log) miss(p *Plan, why string) {
	touches := p.touches
	if p.declared != nil {
		touches = []string{p.declared.Name}
	}
	l.Miss(p.shown(), why, p.writes, touches...)
}

// Binary is a hidden value in the protocol's binary format.
type Binary string

// Hidden returns a hidden value as the protocol has it, in the text format (0) or the binary one; nil means null.
func Hidden(v []byte, format int16) any {
	switch {
	case v == nil:
		return nil
	case format == 0:
		return string(v)
	}
	return Binary(v)
}

// hiddenText returns the text of a hidden value, or false for null. A binary one is the id of a transaction or table.
func hiddenText(v any) (string, bool) {
	switch v := v.(type) {
	case nil:
		return "", false
	case Binary:
		n, ok := Integer([]byte(v))
		return strconv.FormatUint(uint64(uint32(n)), 10), ok
	case string:
		return v, true
	case []byte:
		return string(v), true
	}
	return fmt.Sprint(v), true
}

// Integer decodes an integer in the binary format, of 2, 4 or 8 bytes.
func Integer(v []byte) (int64, bool) {
	switch len(v) {
	case 2:
		return int64(int16(binary.BigEndian.Uint16(v))), true
	case 4:
		return int64(int32(binary.BigEndian.Uint32(v))), true
	case 8:
		return int64(binary.BigEndian.Uint64(v)), true
	}
	return 0, false
}

// value returns the text of a hidden value of the column, or false for null.
func (k *keyColumn) value(v any) (string, bool) {
	b, is := v.(Binary)
	switch {
	case !is:
		return hiddenText(v)
	case strings.HasSuffix(k.kind, "int") || k.kind == "integer":
		n, ok := Integer([]byte(b))
		return strconv.FormatInt(n, 10), ok
	}
	return string(b), true
}

// versioned records a statement's reads and writes by the hidden columns of its rows.
func (l *Log) versioned(r *Run, res *Result) (why string) {
	if res.Unseen || res.Unclear {
		return unseen
	}
	s := &r.p.stmts[0]
	seen := map[string]bool{}
	for _, row := range res.Rows {
		for i := range r.p.sources {
			why = cmp.Or(why, l.row(r, s, &r.p.sources[i], row, seen))
		}
	}
	if s.Writes && !res.All {
		return unseen
	}
	if why == "" && len(r.p.sources) == 1 && res.All && s.Kind != sqltext.Insert {
		l.absent(r, s, r.p.sources[0].r, seen)
	}
	return why
}

// row records one row of one table.
func (l *Log) row(r *Run, s *sqltext.Stmt, from *source, row []any, seen map[string]bool) (why string) {
	n := len(from.r.key)
	switch {
	case len(row) < from.at+n+2:
		return unseen
	case s.Of != nil && len(r.p.sources) > 1 && !slices.Contains(s.Of, from.ref) && r.waits(s):
		return "rows that it does not lock may be older than those for which it waited"
	}
	parts := make([]string, n)
	for i := range parts {
		v, ok := from.r.key[i].value(row[from.at+i])
		if !ok {
			return "" // the outer side of a join
		}
		parts[i] = v
	}
	text, ok := hiddenText(row[from.at+n])
	oid, _ := hiddenText(row[from.at+n+1])
	xid, err := strconv.ParseUint(text, 10, 32)
	if !ok || err != nil || oid != from.r.oid {
		if s.Writes { // it was prepared under another search path, or before the table was made anew
			l.deafen("")
		}
		return "the row is of another table than in the catalogue"
	}
	key := from.r.row(parts)
	id, had := r.c.read[key]
	if s.Kind == sqltext.Select {
		// After a row was inserted again, the one in the snapshot is returned beside it.
		if !seen[key] && !(r.c.again && had && r.c.own[id] && !r.c.own[uint32(xid)]) {
			seen[key] = true
			why = l.readVersion(r, from.r, key, uint32(xid))
		}
		return why
	}
	seen[key] = true
	switch s.Kind {
	case sqltext.Delete:
		why = l.readVersion(r, from.r, key, uint32(xid))
		r.deleted(key)
		return why
	case sqltext.Update, sqltext.Insert:
		inserts := s.Kind == sqltext.Insert && !(s.Upsert && row[from.at+n+2] != nil)
		if s.Kind == sqltext.Update || s.Upsert {
			why = l.replaced(r, s, from, key, row)
		}
		id, had = r.c.read[key]
		r.c.again = r.c.again || inserts && had && !r.c.own[id] || !had && (inserts || from.r.rekeyed(s.Sets)) &&
			!(l.versions.quiet(key, deleting+from.r.title()) && l.settled(r, from.r))
		r.overwrite(key, uint32(xid))
		_ = r.t.Write(key, r.wrote(key, uint32(xid), valueOfID(uint32(xid))))
	}
	return why
}

// replaced records the version that a row had before an UPDATE or an upsert.
func (l *Log) replaced(r *Run, s *sqltext.Stmt, from *source, key string, row []any) (why string) {
	at := from.at + len(from.r.key) + 2
	old, ok := hiddenText(row[at])
	o, err := strconv.ParseUint(old, 10, 32)
	was := key
	if from.moves && ok {
		parts := make([]string, len(from.r.key))
		for i := range parts {
			parts[i], _ = from.r.key[i].value(row[at+1+i])
		}
		was = from.r.row(parts)
	}
	before, has := r.c.read[was]
	switch {
	case ok && err == nil && has && before != uint32(o) && s.Blind():
		// Its own read is of the key alone, and the one that came before decided what it writes: a lost update.
	case ok && err == nil:
		why = l.readVersion(r, from.r, was, uint32(o))
	case !l.old && from.r.rekeyed(s.Sets):
		l.Miss(r.p.shown(), "it changes the key", true, from.r.title())
	}
	if was != key {
		r.deleted(was)
	}
	return why
}

// deleted records that a row was deleted.
func (r *Run) deleted(key string) {
	_ = r.t.Write(key, nil) // the recorder keeps what goes wrong
	r.c.l.versions.touch(key, 0)
	r.overwrite(key, 0)
}

// overwrite stores which version of a row the transaction has made, 0 if it has deleted it. Nobody sees its earlier one
// any more: if that is read, a statement that is not recorded has written it again under the same id.
func (r *Run) overwrite(key string, xid uint32) {
	c := r.c
	id, had := c.read[key]
	o := overwritten{key, id, had, had && id != xid && c.own[id]}
	if o.own {
		c.l.versions.end(key, id, true)
	}
	if len(c.marks) > 0 {
		c.over = append(c.over, o)
	}
	c.read[key], c.own[xid] = xid, true
}

// rekeyed reports whether an UPDATE may change the key.
func (r *relation) rekeyed(sets []string) bool {
	return slices.ContainsFunc(r.key, func(k keyColumn) bool { return k.generated || slices.Contains(sets, k.name) })
}

const (
	missing = "a version whose writer is not recorded: a write listed here, a trigger, a cascade, or another program"
	longAgo = "an old version, whose writer isovet no longer remembers"
)

// valueOfID returns the values of a transaction's versions of a row.
func valueOfID(xid uint32) valueOf { return func(seq int64) any { return int64(xid) + seq<<32 } }

// readVersion records the read of a version, if its writer is known.
func (l *Log) readVersion(r *Run, t *relation, key string, xid uint32) (why string) {
	others := l.others(r, t.title()) // asked before: what has been recorded since is known
	v, by := l.versions.read(l.Rec, key, xid, valueOfID(xid), l.from.before(xid))
	switch {
	case by == forgotten:
		return longAgo
	case by == unrecorded && others:
		return "a version that a statement under way has written"
	case by == unrecorded:
		l.deafen(t.title()) // whoever has written it may have deleted others
		return missing
	}
	_ = r.t.Read(key, v)
	r.c.read[key] = xid
	return ""
}

var escape = strings.NewReplacer(`\`, `\\`, ",", `\,`)

// row returns the name of a row in the history.
func (r *relation) row(key []string) string {
	if len(key) == 1 {
		return r.title() + "/" + key[0]
	}
	return r.title() + "/" + strings.Join(slice.Map(key, escape.Replace), ",")
}

// waits reports whether a statement may miss a row: at READ COMMITTED, if it waited for a row, it does not find the
// row that replaced it.
func (r *Run) waits(s *sqltext.Stmt) bool {
	is := r.isolation()
	return (s.Writes || s.Locks) && is != "repeatable-read" && is != "serializable"
}

// settled reports whether each row that has vanished from a table was deleted by a statement whose record is complete.
func (l *Log) settled(r *Run, t *relation) bool {
	alone := !t.hidden && !t.cascades && !t.family && t.rules == "" && !t.unlogged // else rows hide, or go unseen
	now := l.changed.Load()
	// A snapshot from before a table was written anew does not have its rows.
	return alone && r.c.facts != nil && !r.c.facts.triggers && r.p.epoch == now && (r.alone || r.c.began == now) &&
		r.p.turn == r.c.turn && !l.isDeaf(t.title()) && !l.isDeaf(t.name) && !l.others(r, deleting+t.title()) &&
		!l.others(r, deleting)
}

// maxKeys bounds the keys in a statement for which missing rows are recorded.
const maxKeys = 1 << 14

// absent records that rows do not exist, if there is no other reason why they were not returned.
func (l *Log) absent(r *Run, s *sqltext.Stmt, t *relation, seen map[string]bool) {
	if r.waits(s) || !s.Plain || s.Cut || len(s.Where) != len(t.key) || s.Limited && len(t.key) > 1 ||
		s.Kind == sqltext.Update && t.rekeyed(s.Sets) || !l.settled(r, t) ||
		slices.ContainsFunc(s.Calls, func(f string) bool { return r.c.facts.several[f] }) {
		return
	}
	keys := [][]string{nil}
	for i := range t.key {
		k := &t.key[i]
		at := slices.IndexFunc(s.Where, func(c sqltext.Condition) bool { return c.Column == k.name })
		if at < 0 || s.Where[at].Op != "=" && s.Where[at].Op != "in" {
			return
		}
		if len(keys)*len(s.Where[at].With) > maxKeys {
			return
		}
		var longer [][]string
		for _, o := range s.Where[at].With {
			v, ok := operand(o, r.args, r.p.names)
			_, decimal := v.(sqltext.Decimal)
			text, exact := k.canonical(scalar(v))
			if !ok || decimal || !exact {
				return
			}
			for _, key := range keys {
				longer = append(longer, append(slices.Clone(key), text))
			}
		}
		keys = longer
	}
	for _, key := range keys {
		if name := t.row(key); !seen[name] {
			seen[name] = true
			_ = r.t.Read(name, nil)
		}
	}
}

// operand is the value of an argument or a literal.
func operand(o sqltext.Operand, args []Arg, names []string) (any, bool) {
	if !o.Known {
		return nil, false
	}
	if o.Param == 0 {
		return o.Lit, true
	}
	if o.Param <= len(names) && names[o.Param-1] != "" {
		for _, a := range args {
			if a.Name == names[o.Param-1] {
				return a.Value, true
			}
		}
	}
	if o.Param > len(args) {
		return nil, false
	}
	return args[o.Param-1].Value, true
}

// scalar makes equal values of different types equal: integers of all sizes, bytes and texts, UUIDs.
func scalar(v any) any {
	if b, ok := v.([16]byte); ok {
		return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
	}
	x := reflect.ValueOf(v)
	if d, ok := v.(driver.Valuer); ok && (x.Kind() != reflect.Pointer || !x.IsNil()) {
		v, _ = d.Value()
		x = reflect.ValueOf(v)
	}
	switch {
	case !x.IsValid() || x.Kind() == reflect.Pointer && x.IsNil():
		return nil
	case x.CanInt():
		return x.Int()
	case x.CanUint() && x.Uint() <= math.MaxInt64:
		return int64(x.Uint())
	case x.Kind() == reflect.String:
		return x.String()
	case x.Kind() == reflect.Slice && x.Type().Elem().Kind() == reflect.Uint8:
		return string(x.Bytes())
	case x.Kind() == reflect.Pointer:
		return scalar(x.Elem().Interface())
	}
	return v
}
