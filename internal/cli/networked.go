//go:build !checkonly && !offline

package cli

import "github.com/spf13/cobra"

// networked are the commands that talk to databases and to message queues.
func networked(e *env) []*cobra.Command {
	return []*cobra.Command{newCollect(e), newHunt(e), newIncident(e), newProbe(e), newReplaySchedule(e), newWatch(e)}
}
