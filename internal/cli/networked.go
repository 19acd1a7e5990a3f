//go:build !checkonly && !offline

package cli

import (
	"github.com/spf13/cobra"

	"isovet/check/shrink"
	"isovet/internal/cli/collects"
	"isovet/internal/cli/console"
	"isovet/internal/cli/watches"
	"isovet/report/incident"
)

// networked are the commands that talk to databases and to message queues.
func networked(e *console.Env) []*cobra.Command {
	e.Incident = func(r *shrink.Result, dir string) error {
		return incident.Of(r, console.BuildVersion().String()).Write(dir)
	}
	return []*cobra.Command{collects.NewCollect(e), collects.NewHunt(e), collects.NewReplay(e), collects.NewCampaign(e),
		collects.NewProbe(e), watches.NewWatch(e)}
}
