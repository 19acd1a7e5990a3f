package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestNotices: the third-party notices name the version of each module that go.mod asks for.
func TestNotices(t *testing.T) {
	mod, err := os.ReadFile(filepath.Join(root(t), "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) (v\S+)`).FindAllStringSubmatch(string(mod), -1) {
		versions[m[1]] = m[2]
	}
	notices, err := os.ReadFile(filepath.Join(root(t), "THIRD_PARTY_NOTICES.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^\| (\S+) \| (v\d\S*) \| (.+) \|$`).FindAllStringSubmatch(string(notices), -1)
	if len(rows) < 20 {
		t.Fatalf("%d rows of modules", len(rows))
	}
	for _, m := range rows {
		if versions[m[1]] != m[2] {
			t.Errorf("THIRD_PARTY_NOTICES.md has %s %s, go.mod %q: make it anew, as its head says", m[1], m[2],
				versions[m[1]])
		}
	}
}
