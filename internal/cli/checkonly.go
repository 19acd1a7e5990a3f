//go:build checkonly

package cli

import (
	"github.com/spf13/cobra"

	"isovet/internal/cli/console"
)

// heavy commands are left out, and say so.
func heavy(*console.Env) (all []*cobra.Command) {
	for _, name := range []string{"gen", "encode", "workloads", "collect", "hunt", "replay",
		"campaign", "probe", "watch", "bench"} {
		all = append(all, &cobra.Command{Use: name, Hidden: true, DisableFlagParsing: true,
			RunE: func(*cobra.Command, []string) error {
				return console.Usagef("this program checks and nothing else; %s is a command of the full isovet", name)
			}})
	}
	return all
}

const startHeavy = `
This program checks, and nothing else: gen, collect, hunt, probe, watch and bench are in the full one.
`

const startGen = ""

// benchRoot is never asked for: the program that has it is not built.
func benchRoot(*console.Env) *cobra.Command { panic("built without bench") }
