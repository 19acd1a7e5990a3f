package cli

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"isovet/internal/cli/watches"
	"isovet/internal/test/must"
	"isovet/level"
	"isovet/watch"
	"isovet/watch/seen"
)

// TestFolderAgain: a folder that cannot be written is written once it can.
func TestFolderAgain(t *testing.T) {
	f := watches.IncidentFolders{State: t.TempDir(), Most: 1, Of: &watch.Incidents{},
		Log: slog.New(slog.DiscardHandler), Tried: map[int64]bool{}}
	must.OK(t, watch.Run(t.Context(), watch.Config{Dir: f.State, Evidence: 1, Incidents: f.Of,
		Judge: must.Get(watch.NewReplay(watch.ReplayOptions{Level: level.Serializable}))(t),
		Open: func(context.Context, watch.Places) (watch.Source, error) {
			return watch.Pipe(strings.NewReader(`{"id":1,"start":1,"end":2,"ops":[["r","x",1]]}`+"\n"), -1), nil
		}}))
	in := filepath.Join(f.State, seen.Folders)
	must.OK(t, os.WriteFile(in, nil, 0o600))
	f.Sweep(t.Context())
	must.OK(t, os.Remove(in))
	f.Sweep(t.Context())
	must.Equal(t, len(must.Get(filepath.Glob(filepath.Join(in, "*", "incident.json")))(t)), 1, "folders")
}
