package watches

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"isovet/internal/test/must"
	"isovet/level"
	"isovet/watch"
	"isovet/watch/seen"
)

// TestFolderAgain: a folder that cannot be written is written once it can.
func TestFolderAgain(t *testing.T) {
	f := incidentFolders{state: t.TempDir(), most: 1, of: &watch.Incidents{}, log: slog.New(slog.DiscardHandler),
		tried: map[int64]bool{}}
	must.OK(t, watch.Run(t.Context(), watch.Config{Dir: f.state, Evidence: 1, Incidents: f.of,
		Judge: must.Get(watch.NewReplay(watch.ReplayOptions{Level: level.Serializable}))(t),
		Open: func(context.Context, watch.Places) (watch.Source, error) {
			return watch.Pipe(strings.NewReader(`{"id":1,"start":1,"end":2,"ops":[["r","x",1]]}`+"\n"), -1), nil
		}}))
	in := filepath.Join(f.state, seen.Folders)
	must.OK(t, os.WriteFile(in, nil, 0o600))
	f.sweep(t.Context())
	must.OK(t, errors.Join(os.Remove(in), os.RemoveAll(filepath.Join(f.state, "evidence")))) // shrunk once
	f.sweep(t.Context())
	must.Equal(t, len(must.Get(filepath.Glob(filepath.Join(in, "*", "incident.json")))(t)), 1, "folders")
}
