package seen

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/sentences.txt anew")

// TestSentences: what the page says of each kind of line, and of each class of incident, is what testdata/sentences.txt
// has: a line, then its sentence.
func TestSentences(t *testing.T) {
	var b strings.Builder
	say := func(in string) {
		var l line
		if err := json.Unmarshal([]byte(in), &l); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n  %s\n", in, l.sentence())
	}
	for _, why := range slices.Sorted(maps.Keys(ext)) {
		say(fmt.Sprintf(`{"axiom":"EXT","why":%q,"txn":3,"other":2,"key":"x","op":0}`, why))
	}
	for _, in := range []string{
		`{"axiom":"INT","txn":3,"key":"x","op":1}`,
		`{"axiom":"SESSION","txn":3,"other":2}`,
		`{"axiom":"NOCONFLICT","txn":9,"other":7,"key":1}`,
		`{"axiom":"TIMESTAMPS","txn":3}`,
		`{"axiom":"VIOLATION","text":"Let\n  T1 = r(x, 0)\nT1 < T2, because.\nSo."}`,
		`{"axiom":"VIOLATION"}`,
		`{"axiom":"LATE","txn":9}`,
		`{"axiom":"LATE","txn":9,"other":7,"key":"x","op":0}`,
		`{"axiom":"JUMP","txn":9,"why":"start 99 is 90 s ahead."}`,
		`{"axiom":"GAP","txn":9,"other":7,"missing":[3,5]}`,
		`{"axiom":"UNDECIDED","txn":9,"key":"x","op":0}`,
		`{"mechanism":"x","kind":"lost-update"}`,
		`{}`,
	} {
		say(strings.ReplaceAll(in, "\n", `\n`))
	}
	for _, class := range slices.Sorted(maps.Keys(means)) {
		fmt.Fprintf(&b, "%s\n  %s\n", class, means[class])
	}
	const file = "testdata/sentences.txt"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || b.String() != string(want) {
		t.Errorf("%v; got\n%s\nexpected\n%s", err, b.String(), want)
	}
}
