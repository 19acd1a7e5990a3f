package record

import (
	"bytes"
	"crypto/sha256"
	"database/sql/driver"
	"encoding"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"isovet/history"
)

// value is a value or a key of a history. n is an integer or a boolean; s is a text, or a row's canonical JSON.
type value struct {
	n    int64
	s    string
	kind history.ValueKind
}

func intValue(n int64) value { return value{n: n, kind: history.Int} }

func boolValue(b bool) value {
	if b {
		return value{n: 1, kind: history.Bool}
	}
	return value{kind: history.Bool}
}

// maxDepth bounds the nesting of pointers, interfaces and Valuers.
const maxDepth = 32

// key converts a client's key.
func (r *Recorder) key(k any) (value, error) {
	switch k := k.(type) {
	case int:
		return intValue(int64(k)), nil
	case int64:
		return intValue(k), nil
	case string:
		return r.text(k), nil
	}
	v, err := r.value(k)
	if err != nil {
		return v, err
	}
	switch v.kind {
	case history.Int, history.String:
		return v, nil
	case history.Row:
		return r.text(v.s), nil
	}
	return v, fmt.Errorf("a %T as a key; expected an integer or a string", k)
}

// value converts a client's value.
func (r *Recorder) value(v any) (value, error) {
	switch v := v.(type) {
	case nil:
		return value{}, nil
	case int:
		return intValue(int64(v)), nil
	case int64:
		return intValue(v), nil
	case int32:
		return intValue(int64(v)), nil
	case string:
		return r.text(v), nil
	case []byte:
		if v == nil {
			return value{}, nil
		}
		return r.text(string(v)), nil
	case bool:
		return boolValue(v), nil
	case float64:
		return float(v), nil
	case time.Time:
		return value{s: v.UTC().Format(time.RFC3339Nano), kind: history.String}, nil
	}
	return r.odd(v, 0)
}

// text returns a string as a value. Bytes that are not UTF-8 become hexadecimal, a long text its hash.
func (r *Recorder) text(s string) value {
	switch {
	case len(s) > r.o.MaxValue:
		s = fmt.Sprintf("sha256:%x (%d bytes)", sha256.Sum256([]byte(s)), len(s))
	case !utf8.ValidString(s):
		s = `\x` + hex.EncodeToString([]byte(s))
	}
	return value{s: s, kind: history.String}
}

// float returns a whole number as an integer, so that the client's type does not matter. Other numbers become the
// shortest text that identifies them.
func float(f float64) value {
	if f == math.Trunc(f) && math.Abs(f) < 1<<63 {
		return intValue(int64(f))
	}
	return value{s: strconv.FormatFloat(f, 'g', -1, 64), kind: history.String}
}

// odd converts values of less frequent types.
func (r *Recorder) odd(v any, depth int) (value, error) {
	if depth > maxDepth {
		return value{}, fmt.Errorf("a %T that contains itself", v)
	}
	if m := reflect.ValueOf(v); m.Kind() == reflect.Pointer && m.IsNil() {
		return value{}, nil
	}
	switch v := v.(type) {
	case json.Number:
		return r.number(string(v)), nil
	case json.RawMessage:
		return r.json(v)
	case *big.Int:
		return r.number(v.String()), nil
	case big.Int:
		return r.number(v.String()), nil
	case driver.Valuer:
		inner, err := valueOf(v)
		if err != nil {
			return value{}, fmt.Errorf("a %T whose Value method fails: %w", v, err)
		}
		if _, again := inner.(driver.Valuer); again {
			return r.odd(inner, depth+1)
		}
		return r.value(inner)
	case json.Marshaler:
		b, err := json.Marshal(v)
		if err != nil {
			return value{}, fmt.Errorf("a %T without JSON: %w", v, err)
		}
		return r.json(b)
	case encoding.TextMarshaler:
		b, err := v.MarshalText()
		if err != nil {
			return value{}, fmt.Errorf("a %T without text: %w", v, err)
		}
		return r.text(string(b)), nil
	}
	return r.reflected(v, depth)
}

// valueOf calls a Valuer, which is foreign code and may panic.
func valueOf(v driver.Valuer) (x driver.Value, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return v.Value()
}

// reflected converts a value by the kind of its type.
func (r *Recorder) reflected(v any, depth int) (value, error) {
	x := reflect.ValueOf(v)
	text, named := v.(fmt.Stringer)
	switch x.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return intValue(x.Int()), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		if x.Uint() <= math.MaxInt64 {
			return intValue(int64(x.Uint())), nil
		}
		return r.text(strconv.FormatUint(x.Uint(), 10)), nil
	case reflect.Float32: // its own shortest text: 0.1, not 0.10000000149011612
		if f := x.Float(); f != math.Trunc(f) {
			return r.text(strconv.FormatFloat(f, 'g', -1, 32)), nil
		}
		return float(x.Float()), nil
	case reflect.Float64:
		return float(x.Float()), nil
	case reflect.Bool:
		return boolValue(x.Bool()), nil
	case reflect.String:
		return r.text(x.String()), nil
	case reflect.Pointer, reflect.Interface:
		return r.inner(x.Elem(), depth)
	case reflect.Slice, reflect.Array:
		if x.Type().Elem().Kind() != reflect.Uint8 {
			break
		}
		if named {
			return r.text(text.String()), nil
		}
		b := make([]byte, x.Len())
		reflect.Copy(reflect.ValueOf(b), x)
		if x.Kind() == reflect.Array {
			return r.text(hex.EncodeToString(b)), nil
		}
		return r.value(b)
	case reflect.Struct:
		if exported(x.Type()) {
			break
		}
		if named {
			return r.text(text.String()), nil
		}
		return value{}, fmt.Errorf("a %T, a struct without exported fields and without driver.Valuer, "+
			"encoding.TextMarshaler or fmt.Stringer; expected one of them", v)
	case reflect.Map:
	default:
		return value{}, fmt.Errorf("a %T; expected an integer, a string, a boolean, nil, []byte, time.Time, a "+
			"driver.Valuer, or what has JSON", v)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return value{}, fmt.Errorf("a %T without JSON: %w", v, err)
	}
	return r.json(b)
}

func (r *Recorder) inner(x reflect.Value, depth int) (value, error) {
	if !x.IsValid() || !x.CanInterface() {
		return value{}, nil
	}
	switch v := x.Interface().(type) {
	case string, []byte, bool, float64, int, int32, int64, time.Time:
		return r.value(v)
	default:
		return r.odd(v, depth+1)
	}
}

func exported(t reflect.Type) bool {
	for f := range t.Fields() {
		if f.IsExported() {
			return true
		}
	}
	return false
}

// number converts a number of JSON to an integer of 64 bits or, if it does not fit, to text.
func (r *Recorder) number(s string) value {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return intValue(n)
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil && math.Abs(f) < 1<<53 {
		return float(f)
	}
	return r.text(s)
}

// json converts JSON: to a scalar, to a row if it is an object of scalars, otherwise to its text without unnecessary
// spaces.
func (r *Recorder) json(b []byte) (value, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var x any
	if err := d.Decode(&x); err != nil {
		return value{}, fmt.Errorf("JSON that cannot be read: %w", err)
	}
	if d.More() {
		return value{}, errors.New("JSON with text after it")
	}
	switch x := x.(type) {
	case nil, bool, string:
		return r.value(x)
	case json.Number:
		return r.number(string(x)), nil
	case map[string]any:
		if text, ok := r.rowText(x); ok {
			return value{s: text, kind: history.Row}, nil
		}
	}
	text, err := plainJSON(x) // sorted, and without spaces
	if err != nil {
		return value{}, err
	}
	return r.text(string(text)), nil
}

// rowText returns a row in the format's form, with sorted columns. It returns false if a column is not a scalar.
func (r *Recorder) rowText(columns map[string]any) (string, bool) {
	b := []byte{'{'}
	for i, name := range slices.Sorted(maps.Keys(columns)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(history.AppendJSONString(b, name), ':')
		var v value
		switch c := columns[name].(type) {
		case json.Number:
			v = r.number(string(c))
		case nil, bool, string:
			v, _ = r.value(c)
		default:
			return "", false
		}
		b = v.append(b)
	}
	return string(append(b, '}')), true
}

// append appends a value as JSON.
func (v *value) append(b []byte) []byte {
	switch v.kind {
	case history.Int:
		return strconv.AppendInt(b, v.n, 10)
	case history.Bool:
		return strconv.AppendBool(b, v.n != 0)
	case history.String:
		return history.AppendJSONString(b, v.s)
	case history.Row:
		return append(b, v.s...)
	}
	return append(b, "null"...)
}

// show returns a key or a value for a message.
func show(v any) string {
	s := fmt.Sprint(v)
	if len(s) > 60 {
		s = s[:60] + "…"
	}
	return s
}
