//go:build offline && !checkonly

package cli

import (
	"github.com/spf13/cobra"

	"isovet/internal/cli/console"
)

// networked commands are left out, and say so: their clients are half of what there is to compile.
func networked(*console.Env) (all []*cobra.Command) {
	for _, name := range []string{"collect", "hunt", "replay", "campaign", "probe", "watch"} {
		all = append(all, &cobra.Command{Use: name, Hidden: true, DisableFlagParsing: true,
			RunE: func(*cobra.Command, []string) error {
				return console.Usagef("this program was built with -tags offline; %s needs one that was built without",
					name)
			}})
	}
	return all
}
