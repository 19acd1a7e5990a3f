package bench

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
)

// needServers skips tests that start database servers, but in long runs; ISOVET_SERVERS=1 says that all of them are
// installed, so that a missing one is a failure. It returns the folder that servers live in.
func needServers(t *testing.T) string {
	if testing.Short() || !histtest.Long(false, true) && os.Getenv("ISOVET_SERVERS") == "" {
		t.Skip("starts database servers; ISOVET_SERVERS=1 or ISOVET_LONG=1 runs it")
	}
	// t.TempDir is closed to others, and a server runs as a user of its own where this is root.
	dir := must.Get(os.MkdirTemp("", "servers-"))(t)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must.OK(t, os.Chmod(dir, 0o755))
	t.Setenv("TMPDIR", dir)
	return dir
}

// noneLeft checks that nothing of a server is left.
func noneLeft(t *testing.T, dir string) {
	t.Helper()
	if left, err := filepath.Glob(filepath.Join(dir, "isovet-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// serverFigures are those that ask for database servers.
var serverFigures = []string{"mtc/fig10", "mtc/fig11", "mtc/fig13", "mtc/fig14", "mtc/fig17", "mtc/table2",
	"leopard/fig11"}

// TestReproduceOnServers runs the figures about databases at the quick scale on servers: each has PostgreSQL in it.
func TestReproduceOnServers(t *testing.T) {
	dir := needServers(t)
	figures := must.Get(LookupFigures(serverFigures))(t)
	reports, err := Reproduce(t.Context(), figures, ReproduceOptions{Scale: QuickScale, Seed: 3, Out: t.TempDir(),
		Self: self(t), Command: "test"})
	if err != nil || len(reports) != len(figures) {
		t.Fatalf("%d reports, %v", len(reports), err)
	}
	noneLeft(t, dir)
	for _, r := range reports {
		if f := r.Faults(); len(f) > 0 {
			t.Errorf("%s: %v", r.Figure, f)
		}
		for _, m := range r.fig.Metrics {
			if slices.ContainsFunc(slices.Concat(r.Groups(m.Key), r.Series(m.Key)),
				func(s string) bool { return strings.Contains(s, "PostgreSQL") }) {
				continue
			}
			missing := slices.ContainsFunc(r.Notes, func(n string) bool {
				return strings.Contains(n, "postgres:start") && strings.Contains(n, "are left out: ") &&
					!strings.Contains(n, "it does not start")
			})
			if missing && os.Getenv("ISOVET_SERVERS") == "" {
				t.Skipf("NOT RUN, a server is missing: %v", r.Notes)
			}
			t.Errorf("%s: %s has nothing of PostgreSQL; %v", r.Figure, m.Key, r.Notes)
		}
	}
}

// TestReproduceServerInterrupted: a server does not outlive an interrupted figure, nor do its files.
func TestReproduceServerInterrupted(t *testing.T) {
	dir := needServers(t)
	figures := must.Get(LookupFigures([]string{"mtc/fig11"}))(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	started := false
	reports, err := Reproduce(ctx, figures, ReproduceOptions{Scale: QuickScale, Out: t.TempDir(), Self: self(t),
		Progress: func(what string, _, _ int) {
			if strings.Contains(what, "collecting") {
				started = true
				cancel()
			}
		}})
	if !started && os.Getenv("ISOVET_SERVERS") == "" && err == nil {
		t.Skipf("NOT RUN, a server is missing: %v", reports[0].Notes)
	}
	if !errors.Is(err, context.Canceled) || len(reports) != 1 || reports[0].Complete {
		t.Errorf("%v, %+v", err, reports)
	}
	noneLeft(t, dir)
}
