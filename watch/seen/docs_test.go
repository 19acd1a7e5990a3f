package seen

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

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
	if err := run(t, t.TempDir(), &m, strings.NewReader(wrong), nil); err != nil {
		t.Fatal(err)
	}
	s := m.Get()
	for _, x := range s.More {
		known[Prefix+x.Name] = true
	}
	name := regexp.MustCompile(Prefix + `[a-z_]+`)
	read := func(file string) []byte {
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", "watch", file))
		if err != nil {
			t.Fatal(err)
		}
		found := name.FindAllString(string(text), -1)
		if len(found) < 8 {
			t.Errorf("%s names %d metrics", file, len(found))
		}
		for _, n := range found {
			if !known[n] {
				t.Errorf("%s: there is no metric %s", file, n)
			}
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
		if ids[p.ID] || p.Title == "" || len(p.Targets) == 0 {
			t.Errorf("panel %+v is not whole", p)
		}
		ids[p.ID] = true
	}
}
