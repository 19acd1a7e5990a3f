package sqlstmt

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"isovet/internal/sqltext"
)

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
		if n := int64(x); float64(n) == x {
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

// spelled notes how a key is spelled. It reports whether the table has both 1 and 1.0 as texts, which may be two keys
// of a text column or one of a decimal column.
func (x *effect) spelled(v any) bool {
	a := x.r.p.about
	_, text := scalar(v).(string)
	s := fmt.Sprint(scalar(v))
	if a == nil || !text && x.r.p.does.kind != texts || !whole.MatchString(s) {
		return false
	}
	if strings.Contains(s, ".") {
		a.pointed.Store(true)
	} else {
		a.plain.Store(true)
	}
	return a.pointed.Load() && a.plain.Load()
}

const oddKey = "a key of another type than its column's"

// numbered reports whether keys are equal for the database if they are in the history.
func (x *effect) numbered() bool { return x.l.own || x.r.p.does.kind <= counted }

// odd reports whether the database may take a value v of the program's for another key than it looks like.
func (x *effect) odd(o sqltext.Operand, v any) bool {
	_, bytes := v.([]byte)
	kind := x.r.p.does.kind
	if o.Param > 0 && o.Param <= len(x.r.args) {
		_, bytes = x.r.args[o.Param-1].Value.([]byte)
	}
	n, integer := normal(v).(int64)
	s, text := scalar(v).(string)
	_, decimal := v.(sqltext.Decimal)
	_, number := scalar(v).(int64)
	text = text && !decimal
	if x.l.sqlite && kind > texts { // of other types, it converts numbers to decimals, and the driver texts to times
		_, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		number, text = integer && max(n, -n) < 1<<53, text && err != nil
	}
	return v != nil && !x.l.own && kind != unknown && (bytes && x.l.sqlite || !integer && kind <= counted ||
		!text && kind == texts && x.l.mysql || !text && !number && kind >= texts && x.l.sqlite)
}
