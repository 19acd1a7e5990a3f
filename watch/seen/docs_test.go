package seen

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"isovet/internal/test/must"
	"isovet/level"
	"isovet/watch"
)

// TestDocs: the alert rules and the dashboard name metrics that there are.
func TestDocs(t *testing.T) {
	known := map[string]bool{violationsTotal: true, kindsTotal: true, buildInfo: true,
		rectifiedSeconds + "_bucket": true}
	for _, m := range always(&watch.Snapshot{}, time.Time{}) {
		known[Prefix+m.name] = true
	}
	var m watch.Metrics
	must.OK(t, run(t, t.TempDir(), &m, strings.NewReader(wrong), nil))
	s := m.Get()
	for _, x := range s.More {
		known[Prefix+x.Name] = true
	}
	name := regexp.MustCompile(Prefix + `[a-z_]+`)
	read := func(file string) []byte {
		text := must.Get(os.ReadFile(filepath.Join("..", "..", "docs", "watch", file)))(t)
		found := name.FindAllString(string(text), -1)
		must.Be(t, len(found) >= 8, "%s names %d metrics", file, len(found))
		for _, n := range found {
			must.Be(t, known[n], "%s: there is no metric %s", file, n)
		}
		return text
	}
	var rules struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(read("alerts.yml"), &rules); err != nil || len(rules.Groups) != 1 {
		t.Fatal(err, rules)
	}
	var labels watch.Snapshot
	j := must.Get(watch.NewReplay(watch.ReplayOptions{Level: level.StrictSerializable}))(t)
	j.Stats(&labels)
	for _, label := range []string{"mechanism", cmp.Or(labels.Label, "axiom")} { // of leopard, and of replay
		must.Equal(t, strings.Contains(rules.Groups[0].Rules[0].Expr, label+`!~"LATE|`), true, "LATE is no alert by %s", label)
	}
	for _, r := range rules.Groups[0].Rules {
		if r.Alert == "" || r.Expr == "" || r.Labels["severity"] == "" || r.Annotations["summary"] == "" ||
			strings.Count(r.Expr, "(") != strings.Count(r.Expr, ")") {
			t.Errorf("alert %+v is not whole", r)
		}
	}
	var board struct {
		Panels []struct {
			ID      int
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(read("dashboard.json"), &board); err != nil || len(board.Panels) < 8 {
		t.Fatal(err, len(board.Panels))
	}
	ids := map[int]bool{}
	for _, p := range board.Panels {
		must.Be(t, !ids[p.ID] && p.Title != "" && len(p.Targets) != 0, "panel %+v is not whole", p)
		ids[p.ID] = true
	}
}

var update = flag.Bool("update", false, "write testdata/sentences.txt anew")

// TestSentences: what the page says of each kind of line, and of each class of incident, is what testdata/sentences.txt
// has: a line, then its sentence.
func TestSentences(t *testing.T) {
	var b strings.Builder
	say := func(in string) {
		var l line
		must.OK(t, json.Unmarshal([]byte(in), &l))
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
		`{"axiom":"LATE","txn":9,"key":"x","op":0}`,
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
		must.OK(t, os.WriteFile(file, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(file)
	must.Be(t, err == nil && b.String() == string(want), "%v; got\n%s\nexpected\n%s", err, b.String(), want)
}
