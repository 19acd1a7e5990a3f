package evidence_test

import (
	"os"
	"strings"
	"testing"

	judge "isovet/check"
	"isovet/evidence"
	"isovet/history/format/jsonl"
	"isovet/internal/test/must"
	"isovet/level"
)

// TestHints: a read of what nobody wrote names its likely cause, which once was "before the run" where the key, or a
// boolean, was of another kind.
func TestHints(t *testing.T) {
	for name, want := range map[string]string{
		"key-number-read-as-text": `key "1" is a text, but key 1, which has the value 3, is a number`,
		"boolean-read-as-text":    `"true" of key "x" is a text, but true is a boolean`,
		"boolean-read-as-number":  `1 of key "x" is a number, but true is a boolean`,
		"text-read-as-number":     `83 of key "x" is a number, but "83" is a text`,
		"element-from-before": `if list "x" held 9 before the recording began (no transaction in the file appended it), ` +
			`a first line {"init":true,"ops":[["a","x",9]]}`,
		"value-of-no-key": `key "1" may have held 4 before the run`,
	} {
		text := must.Get(os.ReadFile("testdata/hints/" + name + ".jsonl"))(t)
		h := must.Get(jsonl.ReadPiece(text))(t)
		c, _ := judge.Auto(h, level.Serializable)
		r := must.Get(judge.Run(t.Context(), c, h, judge.Options{Level: level.Serializable}))(t)
		if got := evidence.Hints(r); len(got) != 1 || !strings.HasPrefix(got[0], want) ||
			strings.Contains(got[0], "--text-numbers") != (name == "text-read-as-number") {
			t.Errorf("%s: %q; want %s", name, got, want)
		}
	}
}
