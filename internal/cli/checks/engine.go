package checks

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"isovet/check/spill"
	"isovet/history/split"
	"isovet/internal/cli/console"
)

// Engine is how a program of its own checks, elsewhere, what memory does not hold: check --spill with other machines.
type Engine struct {
	Program, Short, Long, Example string
	// Spill says what --spill is there.
	Spill string
	// Flags adds flags to check's and verify's.
	Flags func(*pflag.FlagSet)
	// Commands are the program's, besides check.
	Commands []*cobra.Command
	// Dir is the folder for files where --spill is dir; it looks at the other flags, too.
	Dir func(dir string) (string, error)
	// Plan divides a history: split.Plan, wherever its files are.
	Plan func(ctx context.Context, dir string, paths []string, o split.Options) (*split.Set, error)
	// Open is a backend with files in a folder, and what removes these; memory is what each process may use.
	Open func(dir string, set *split.Set, memory int64, progress func(done, total int)) (spill.Backend, func() error,
		error)
	// Close ends what Plan and Open began.
	Close func()
}

// onEngine sets --spill's folder where the program has an engine, unless the flags ask for what is only done in memory:
// then the program does it as isovet does.
func (f *CheckFlags) onEngine() error {
	x := f.spill.engine
	if x == nil {
		return nil
	}
	dir, err := x.Dir(f.spill.dir)
	if err != nil {
		return console.Usagef("%v", err)
	}
	if f.all || f.judge.name != console.Auto && !slices.Contains(spill.Checkers(), f.judge.name) || f.solver != "" ||
		f.shrunk+f.proof != "" {
		dir = ""
	}
	f.spill.dir = dir
	return nil
}

// plan divides a history.
func (x *Engine) plan(ctx context.Context, dir string, paths []string, o split.Options) (*split.Set, error) {
	if x != nil {
		return x.Plan(ctx, dir, paths, o)
	}
	return split.Plan(ctx, paths, o)
}

// remote reports whether a path is one of another file system.
func remote(path string) bool {
	_, err := os.Stat(path)
	return err != nil && strings.Contains(path, "://")
}
