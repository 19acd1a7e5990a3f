package cli

import (
	"path/filepath"
	"testing"

	"isovet/internal/cli/collects"
)

// TestFindFolder: no two finds have the same folder, whoever finds them and when.
func TestFindFolder(t *testing.T) {
	out := t.TempDir()
	for _, x := range []struct {
		shard int
		want  string
	}{{0, "1"}, {0, "2"}, {3, "1-3"}, {0, "3"}, {3, "2-3"}} {
		dir, err := collects.FindFolder(out, x.shard)
		if err != nil || dir != filepath.Join("found", x.want) {
			t.Errorf("%s, %v; expected found/%s", dir, err, x.want)
		}
	}
}
