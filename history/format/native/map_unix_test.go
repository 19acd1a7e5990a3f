//go:build unix

package native

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"isovet/datasets"
	"isovet/history"
	"isovet/internal/test/must"
)

// meddler is a context that does something when it is first asked.
type meddler struct {
	context.Context
	do func()
}

func (m *meddler) Err() error {
	if m.do != nil {
		m.do()
		m.do = nil
	}
	return nil
}

// A file that is cut off while it is being read is an error, not a fault.
func TestFileCutWhileRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.ivh")
	h := must.Get(datasets.Generate(t.Context(), datasets.Spec{Txns: 2000}))(t)
	must.OK(t, os.WriteFile(path, written(t, "generated", h), 0o600))
	ctx := &meddler{t.Context(), func() {
		if err := os.Truncate(path, 0); err != nil {
			t.Error(err)
		}
	}}
	_, err := ReadFile(ctx, path, 1)
	if _, ok := errors.AsType[*history.InputError](err); !ok || !strings.Contains(err.Error(),
		"changed while it was read") {
		t.Errorf("error %v", err)
	}
}
