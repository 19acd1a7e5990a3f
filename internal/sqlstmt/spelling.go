package sqlstmt

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"isovet/internal/sqltext"
)

// canonical is the form in which databases return a UUID.
var canonical = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

var whole = regexp.MustCompile(`^(0|-?[1-9]\d*)(?:\.0+)?$`)

// normal makes equal values of different types equal: integers as numbers, texts and decimals.
func normal(v any) any {
	v = scalar(v)
	switch x := v.(type) {
	case string:
		if m := whole.FindStringSubmatch(x); m != nil {
			if n, err := strconv.ParseInt(m[1], 10, 64); err == nil {
				return n
			}
		}
	case float64:
		if n := int64(x); float64(n) == x && x < 1<<63 {
			return n
		}
		return strconv.FormatFloat(x, 'g', -1, 64)
	case time.Time:
		return x.UTC().Format(time.RFC3339Nano)
	case nil, int64, bool:
	default:
		return fmt.Sprint(v)
	}
	return v
}

// Row returns the names of a row and its version in the history.
func (t *Table) Row(key, version any) (string, any) {
	return t.Name + "/" + fmt.Sprint(normal(key)), normal(version)
}

// name returns a row's key in the history.
func (x *effect) name(key any) string {
	name, _ := x.t.Row(key, nil)
	return name
}

// value returns a row's version in the history.
func (x *effect) value(key, version any) valueOf {
	return func(int64) any {
		if !x.t.Ranges || version == nil {
			return version
		}
		return map[string]any{"table": x.t.Name, x.t.Key: key, x.t.Version: version}
	}
}

// spelled notes how a key is spelled. It reports whether another was spelled differently that may be equal to it, in
// the database or in the history. In SQLite and PostgreSQL most texts are equal only to themselves.
func (x *effect) spelled(v any) bool {
	kind := x.r.p.does.kind
	_, text := scalar(v).(string)
	if x.l.own || kind != texts && kind != uuids && kind != exact && (kind != unknown || !text) {
		return false
	}
	s := fmt.Sprint(scalar(v))
	of := s
	switch {
	case kind == texts, kind == uuids:
		of = strings.ToLower(strings.TrimRight(strings.ReplaceAll(s, "-", ""), " "))
	case kind == exact && x.l.mysql:
		of = strings.TrimRight(s, "\x00")
	case !whole.MatchString(s):
		return false
	}
	return x.l.versions.spelled(x.name(of), s)
}

const oddKey = "a key of another type than its column's"

// numbered reports whether keys are equal for the database if they are in the history.
func (x *effect) numbered() bool { return x.l.own || x.r.p.does.kind <= small }

// odd reports whether the database may take a value v of the program's for another key than it looks like.
func (x *effect) odd(v any) bool {
	kind := x.r.p.does.kind
	_, bytes := v.([]byte)
	n, integer := normal(v).(int64)
	s, text, number := plain(v)
	switch {
	case scalar(v) == nil || x.l.own || kind == unknown:
		return false
	case kind <= small, kind == decimals: // it may round others
		return !integer || bytes && x.l.sqlite || kind == decimals && !(-1<<53 < n && n < 1<<53)
	case kind == texts && strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }): // e is é
		return true
	}
	return bytes && x.l.sqlite || !text && (x.l.mysql || !number)
}

// plain returns a text, or says that a value is an integer.
func plain(v any) (s string, text, number bool) {
	s, text = scalar(v).(string)
	_, decimal := v.(sqltext.Decimal)
	_, number = scalar(v).(int64)
	return s, text && !decimal, number
}

// keeps reports whether a column surely stores a value as it is sent: it may round it, clip it or convert it.
func (x *effect) keeps(kind keyKind, v any) bool {
	n, integer := normal(v).(int64)
	s, text, number := plain(v)
	clips := x.clips()
	switch {
	case x.l.own || kind == unknown:
		return true
	case kind <= small:
		return integer && (!clips || kind != small && 0 <= n && n < 1<<31)
	case kind == decimals:
		return integer && !clips && -1<<53 < n && n < 1<<53
	case clips, kind == anything && !x.l.sqlite, kind == uuids && !canonical.MatchString(s):
		return false
	}
	return number || text && (x.l.sqlite || strings.TrimRight(s, " \x00") == s)
}

// clips reports whether MySQL stores the nearest value that a column can hold: with IGNORE, or if it is not strict.
func (x *effect) clips() bool {
	return x.l.mysql && (x.r.c.my.loose || x.s.Writes && (x.s.OnlyNew || x.s.Cut))
}
