//go:build !checkonly && !offline

package cli

import (
	"github.com/spf13/cobra"

	"isovet/check/shrink"
	"isovet/report/incident"
)

// networked are the commands that talk to databases and to message queues.
func networked(e *env) []*cobra.Command {
	e.incident = func(r *shrink.Result, dir string) error { return incident.Of(r, buildVersion().String()).Write(dir) }
	return []*cobra.Command{newCollect(e), newHunt(e), newReplay(e), newCampaign(e), newProbe(e), newWatch(e)}
}
