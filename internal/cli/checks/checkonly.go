//go:build checkonly

package checks

import (
	"context"

	"github.com/spf13/cobra"

	"isovet/internal/cli/console"
)

const startSpill = ""

// spilling is nothing here: histories that memory does not hold are for the full program.
type spilling struct {
	dir    string
	engine *Engine
}

func (*spilling) flags(*cobra.Command) {}

func (*CheckFlags) validateSpill() error { return nil }

// Engine is for what is left out.
type Engine struct{}

// checkSpilled is never asked for: there is no flag for it.
func (*CheckFlags) checkSpilled(context.Context, *console.Env, string, int, int, *console.Progress) (outcome, bool) {
	panic("built without check --spill")
}

// spillInstead has nothing in place of the answer.
func (*CheckFlags) spillInstead(_ context.Context, _ *console.Env, o outcome, _, _ int) outcome {
	return o
}

// spillFlags adds none.
func (*verifyFlags) spillFlags(*cobra.Command) {}

func (*verifyFlags) onEngine() error { return nil }

// IsLarge is not asked for here.
func IsLarge(string) bool { return false }

func verifyLarge(context.Context, *console.Env, *verifyFlags, string, string) error {
	panic("built without verify of what was checked out of core")
}

// The program that only checks leaves files for isovet-kernel to isovet-kernel.
func (f *verifyFlags) kernelFileFlag(*cobra.Command) {}

func judgeFile(context.Context, *console.Env, *verifyFlags) error { return nil }
