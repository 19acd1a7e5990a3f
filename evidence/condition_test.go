package evidence_test

import (
	"testing"

	"isovet/evidence"
	"isovet/internal/test/must"
)

// TestConditionText: a condition is told on one line, and the names of columns do not look like more of it.
func TestConditionText(t *testing.T) {
	for condition, want := range map[string]string{
		`{"a":{">":1},"b":{"=":"x"}}`:      `(a > 1 and b = "x")`,
		`{"":{"!=":"<b>"}}`:                `value != "<b>"`,
		"{\"|a|\\n# H\":{\"!=\":\"\\n\"}}": `"|a|\n# H" != "\n"`,
		`{"a = 1 or b":{"=":2}}`:           `"a = 1 or b" = 2`,
		`{"7":{"<":12345678901234567890}}`: `"7" < 12345678901234567890`,
		`{"a":{"in":[1]}}`:                 `{"a":{"in":[1]}}`,
	} {
		must.Equal(t, evidence.ConditionText([]byte(condition)), want, "%s", condition)
	}
}
