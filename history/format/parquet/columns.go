package parquet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// Numbers of columns in the table below.
const (
	cTxn = iota
	cSession
	cSeq
	cStatus
	cInit
	cStart
	cCommit
	cEnd
	cStartTS
	cCommitTS
	cNode
	cName
	cOp
	cKind
	cKey
	cKeyText
	cValue
	cValueText
	cValueJSON
	cPredicate
	cRows
	cOpStart
	cOpEnd
	numColumns
)

// lastOfTxn is the last of the columns that have the same value in all rows of a transaction.
const lastOfTxn = cName

// role is the purpose of a column's values.
type role uint8

const (
	integer  role = iota
	clock         // a time in nanoseconds, or a timestamp
	truth         // a boolean
	text          // an interned text
	word          // one of few texts
	scalar        // an integer, a text or a boolean
	keyed         // an integer or a text
	document      // JSON
)

// expected describes the values that a column of the role may have.
func (r role) expected() string {
	return [...]string{"integers", "integers or timestamps", "booleans", "texts", "texts",
		"integers, texts or booleans", "integers or texts", "JSON as text"}[r]
}

var table = [numColumns]struct {
	name string
	role role
}{
	cTxn: {"txn", integer}, cSession: {"session", integer}, cSeq: {"seq", integer}, cStatus: {"status", word},
	cInit: {"init", truth}, cStart: {"start", clock}, cCommit: {"commit", clock}, cEnd: {"end", clock},
	cStartTS: {"start_ts", clock}, cCommitTS: {"commit_ts", clock}, cNode: {"node", text}, cName: {"name", text},
	cOp: {"op", integer}, cKind: {"kind", word}, cKey: {"key", keyed}, cKeyText: {"key_text", text},
	cValue: {"value", scalar}, cValueText: {"value_text", text}, cValueJSON: {"value_json", document},
	cPredicate: {"predicate", document}, cRows: {"rows", document}, cOpStart: {"op_start", clock},
	cOpEnd: {"op_end", clock},
}

// form is the stored form of a column's values.
type form uint8

const (
	fBool      form = iota
	fInt            // with sign
	fUnsigned       // without
	fFloat          // of 4 or 8 bytes
	fTimestamp      // an integer, in units of scale nanoseconds
	fInt96          // Spark's and Impala's old timestamps
	fDecimal        // a whole number, the bytes of an integer, most significant first
	fText
	fNull // nothing at all
)

type column struct {
	name     string
	id       int // in the table
	leaf     int // in the file
	physical format.Type
	form     form
	scale    int64 // fTimestamp
	width    int   // of each value, in bytes; 0: it varies
	optional bool
	wrong    string // the content, if it cannot be used: the column may then exist, but must be empty
}

// plays reports whether values of the form can be used in the role.
func (f form) plays(r role) bool {
	switch f {
	case fBool:
		return r == truth || r == scalar
	case fText:
		return r >= text
	case fInt, fUnsigned, fFloat, fDecimal:
		return r == integer || r == clock || r == scalar || r == keyed
	case fTimestamp, fInt96:
		return r == clock || f == fTimestamp && (r == scalar || r == keyed)
	}
	return f == fNull
}

// columnOf describes a column of a file, or returns an error that says what is wrong with it.
func columnOf(e *format.SchemaElement, id, leaf int) (*column, error) {
	c := &column{name: e.Name, id: id, leaf: leaf}
	r := table[id].role
	wrong := func(what string) (*column, error) {
		return nil, fmt.Errorf("the column holds %s; expected %s", what, r.expected())
	}
	if e.NumChildren.V > 0 || !e.Type.Valid {
		return wrong("lists or structures")
	}
	if e.RepetitionType.Valid {
		switch e.RepetitionType.V {
		case format.Repeated:
			return wrong("lists")
		case format.Optional:
			c.optional = true
		}
	}
	c.physical = e.Type.V
	c.scale = 1
	what := strings.ToLower(e.Type.V.String()) + "s"
	switch c.physical {
	case format.Boolean:
		c.form = fBool
	case format.Int32, format.Int64:
		c.form, c.width = fInt, 8
		if c.physical == format.Int32 {
			c.width = 4
		}
	case format.Int96:
		c.form, c.width = fInt96, 12
	case format.Float, format.Double:
		c.form, c.width = fFloat, 8
		if c.physical == format.Float {
			c.width = 4
		}
	case format.ByteArray:
		c.form = fText
	case format.FixedLenByteArray:
		c.form, c.width = fText, int(e.TypeLength.V)
		if !e.TypeLength.Valid || c.width <= 0 || c.width > 1<<16 {
			return wrong("values of no length")
		}
	}
	said, ok := c.annotated(e)
	if said != "" {
		what = said
	}
	if !ok || c.physical == format.FixedLenByteArray && c.form == fText || !c.form.plays(r) {
		c.wrong = what
	}
	return c, nil
}

// annotated applies the logical type that the file gives a column's values, in its old form and its new one. what names
// the type for people; ok is false if such values cannot be used.
func (c *column) annotated(e *format.SchemaElement) (what string, ok bool) {
	whole := c.form == fInt
	timestamp := func(scale int64) { c.form, c.scale = fTimestamp, scale }
	decimal := func(scale int32) (string, bool) {
		if scale != 0 {
			return fmt.Sprintf("decimal fractions of %d digits", scale), false
		}
		if c.form == fText {
			c.form = fDecimal
		}
		return "decimals", true
	}
	switch lt := e.LogicalType.Value.(type) {
	case *format.NullType:
		c.form = fNull
		return "nothing", true
	case *format.StringType, *format.EnumType, *format.JsonType:
		return "texts", c.form == fText
	case *format.IntType:
		if !lt.IsSigned && whole {
			c.form = fUnsigned
		}
		return "integers", true
	case *format.TimestampType:
		switch lt.Unit.Value.(type) {
		case *format.MilliSeconds:
			timestamp(1_000_000)
		case *format.MicroSeconds:
			timestamp(1000)
		default:
			timestamp(1)
		}
		return "timestamps", whole
	case *format.DecimalType:
		return decimal(lt.Scale)
	case *format.UUIDType:
		return "UUIDs", false
	case *format.Float16Type:
		return "floating-point numbers of two bytes", false
	}
	if !e.ConvertedType.Valid {
		return "", true
	}
	switch e.ConvertedType.V {
	case deprecated.UTF8, deprecated.Enum, deprecated.Json:
		return "texts", c.form == fText
	case deprecated.Uint8, deprecated.Uint16, deprecated.Uint32, deprecated.Uint64:
		if whole {
			c.form = fUnsigned
		}
		return "integers", true
	case deprecated.TimestampMillis:
		timestamp(1_000_000)
		return "timestamps", whole
	case deprecated.TimestampMicros:
		timestamp(1000)
		return "timestamps", whole
	case deprecated.Decimal:
		return decimal(e.Scale.V)
	case deprecated.Interval, deprecated.Bson:
		return "intervals or BSON", false
	}
	return "", true
}

// idOf returns a column's number in the table; -1 if the name is unknown.
func idOf(name string) int {
	return slices.IndexFunc(table[:], func(c struct {
		name string
		role role
	}) bool {
		return c.name == name
	})
}
