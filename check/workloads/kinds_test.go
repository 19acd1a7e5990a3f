package workloads

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"isovet/internal/test/must"
	"isovet/level"
)

// TestKinds: each kind that a rule reports has its words, here or among the anomalies of levels, and none has two.
func TestKinds(t *testing.T) {
	files := must.Get(filepath.Glob("*.go"))(t)
	words := map[string]int{}
	for _, k := range Kinds() {
		words[k.Name]++
	}
	literal := regexp.MustCompile(`(?:\.(?:found|report)\((?:true, |k\.sub, )?|"G[01]c?[a-z-]*", )"([a-zA-Z0-9-]+)"`)
	found := map[string]bool{}
	for _, f := range files {
		text := must.Get(os.ReadFile(f))(t)
		for _, m := range literal.FindAllSubmatch(text, -1) {
			found[string(m[1])] = true
		}
	}
	for kind := range found {
		if words[kind] != 1 && !slices.Contains(level.Anomalies(), level.Anomaly(kind)) {
			t.Errorf("kind %s has words %d times", kind, words[kind])
		}
	}
	for kind := range words {
		must.Be(t, found[kind], "no rule reports kind %s", kind)
	}
}
