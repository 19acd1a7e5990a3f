package evidence

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// ConditionText returns a condition of the history format in a form for people: {"a":{">":1},"b":{"=":"x"}} becomes (a
// > 1 and b = "x"). A condition of another form stays as it is.
func ConditionText(condition []byte) string {
	d := json.NewDecoder(bytes.NewReader(condition))
	d.UseNumber()
	var v any
	if d.Decode(&v) == nil {
		if s, ok := conditionWords(v); ok {
			return s
		}
	}
	return string(condition)
}

// conditionWords does ConditionText for a part of a condition, in brackets if it has several parts.
func conditionWords(v any) (string, bool) {
	object, ok := v.(map[string]any)
	if !ok || len(object) == 0 {
		return "", false
	}
	var parts []string
	joint := " and "
	for _, name := range slices.Sorted(maps.Keys(object)) {
		switch of := object[name].(type) {
		case []any:
			if name != "or" && name != "and" || len(object) > 1 {
				return "", false
			}
			joint = " " + name + " "
			for _, x := range of {
				s, ok := conditionWords(x)
				if !ok {
					return "", false
				}
				parts = append(parts, s)
			}
		case map[string]any:
			if name == "not" {
				return "", false
			}
			for _, operator := range slices.Sorted(maps.Keys(of)) {
				if !slices.Contains([]string{"=", "!=", "<", "<=", ">", ">="}, operator) {
					return "", false
				}
				column := "value"
				if name != "" {
					column = bareName(jsonText(name))
				}
				parts = append(parts, column+" "+operator+" "+jsonText(of[operator]))
			}
		default:
			return "", false
		}
	}
	s := strings.Join(parts, joint)
	if len(parts) > 1 {
		s = "(" + s + ")"
	}
	return s, len(parts) > 0
}

// jsonText encodes a decoded JSON value again.
func jsonText(v any) string {
	text, _ := plainJSON(v) // never fails for decoded values
	return string(text)
}
