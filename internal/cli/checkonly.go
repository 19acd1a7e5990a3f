//go:build checkonly

package cli

import (
	"context"

	"github.com/spf13/cobra"
)

// heavy commands are left out, and say so.
func heavy(*env) (all []*cobra.Command) {
	for _, name := range []string{"gen", "encode", "workloads", "collect", "hunt", "replay",
		"campaign", "probe", "watch", "bench"} {
		all = append(all, &cobra.Command{Use: name, Hidden: true, DisableFlagParsing: true,
			RunE: func(*cobra.Command, []string) error {
				return usagef("this program checks and nothing else; %s is a command of the full isovet", name)
			}})
	}
	return all
}

const startHeavy = `
This program checks, and nothing else: gen, collect, hunt, probe, watch and bench are in the full one.
`

const startGen = ""

const startSpill = ""

// aboutHeavy has nothing to say of commands that are not there.
func aboutHeavy(string, map[string]string) {}

// benchRoot is never asked for: the program that has it is not built.
func benchRoot(*env) *cobra.Command { panic("built without bench") }

// spilling is nothing here: histories that memory does not hold are for the full program.
type spilling struct{ dir string }

func (*spilling) flags(*cobra.Command, *env) {}

func (*checkFlags) validateSpill(*env) error { return nil }

// Engine is for what is left out.
type Engine struct{}

// checkSpilled is never asked for: there is no flag for it.
func (*checkFlags) checkSpilled(context.Context, *env, string, int, int, *progress) (outcome, bool) {
	panic("built without check --spill")
}

// spillInstead has nothing in place of the answer.
func (*checkFlags) spillInstead(_ context.Context, _ *env, o outcome, _, _ int) outcome { return o }

// spillFlags adds none.
func (*verifyFlags) spillFlags(*cobra.Command, *env) {}

func (*verifyFlags) onEngine(*env) error { return nil }

// isLarge is not asked for here.
func isLarge(string) bool { return false }

func verifyLarge(context.Context, *env, *verifyFlags, string, string) error {
	panic("built without verify of what was checked out of core")
}

// The program that only checks leaves files for isovet-kernel to isovet-kernel.
func (f *verifyFlags) kernelFileFlag(*cobra.Command) {}

func judgeFile(context.Context, *env, *verifyFlags) error { return nil }
