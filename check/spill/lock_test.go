package spill

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"isovet/history"
	"isovet/internal/test/histtest/random"
	"isovet/level"
)

// Two checks in one folder would read one another's files. The second one is refused, and leaves those of the first.
func TestOneCheckAFolder(t *testing.T) {
	h := random.Medium(1, random.Options{})
	dir := filepath.Join(t.TempDir(), "spill")
	o := Options{Dir: dir, Level: level.Serializable}
	in := cut(h, rand.New(rand.NewPCG(1, 1)))
	each, inner := in.Pieces[0].Each, error(nil)
	in.Pieces[0].Each = func(ctx context.Context, f func(*history.History, uint64) error) error {
		if inner == nil {
			_, inner = Check(ctx, cut(h, rand.New(rand.NewPCG(1, 1))), o)
		}
		return each(ctx, f)
	}
	if a, err := Check(context.Background(), in, o); err != nil || a.Reason != "" {
		t.Errorf("the first one: %v, %v", a, err)
	}
	if inner == nil || !strings.Contains(inner.Error(), "another running check") {
		t.Errorf("the second one: %v; expected a refusal", inner)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the folder is left")
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Check(context.Background(), cut(h, rand.New(rand.NewPCG(1, 1))), Options{Dir: file}); err == nil {
		t.Error("a file in place of a folder: no error")
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("a file in place of a folder: %v", err)
	}
}
