// Package console has what all commands share: how a program runs and ends, exit statuses, flags with a list of
// values, histories from a path or standard input, progress, tables.
//
// Results go to standard output, everything else to standard error. "-" is standard input. The exit statuses are those
// of Jepsen (docs/output.md): the program always ends through [Run], which maps an error to its status in one place
// (exit.go).
package console

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"isovet/check/shrink"
	"isovet/internal/escape"
	"isovet/internal/guard"
	"isovet/internal/room"
	"isovet/internal/slice"
)

// Terminated is errInterrupted for SIGTERM, by which a service's supervisor ends it.
type Terminated struct{}

func (Terminated) Error() string        { return guard.ErrInterrupted.Error() }
func (Terminated) Is(target error) bool { return target == guard.ErrInterrupted }

// Env has a command's inputs and outputs.
type Env struct {
	Stdin io.Reader
	// Stdout and Stderr are escaped for terminals. Data is standard output without escaping, for histories and
	// certificates.
	Stdout, Stderr, Data io.Writer

	commands []Commands
	asked    string // the first word of the command line

	mu    sync.Mutex
	temps map[string]bool // half-written files
	Kept  *kept           // nil: nobody keeps this process

	// Incident writes the folder of a violation. It is nil if the program has no collect, which knows the folder's
	// content.
	Incident func(r *shrink.Result, dir string) error
	// Alone makes bench measure in this process, for tests; otherwise each run has a process of its own.
	Alone bool
}

// NewEnv returns the Env of a command line. Messages show its words on one line.
func NewEnv(args []string, stdin io.Reader, stdout, stderr io.Writer) *Env {
	var names []string
	asked := ""
	if len(args) > 0 {
		asked = args[0]
	}
	for _, a := range args {
		flag, value, _ := strings.Cut(a, "=")
		for _, n := range []string{a, strings.TrimLeft(a, "-"), strings.TrimLeft(flag, "-"), value} {
			for _, n := range []string{n, filepath.Clean(n), filepath.Base(n)} {
				names = append(names, n, strings.TrimSuffix(n, filepath.Ext(n)))
			}
		}
	}
	return &Env{Stdin: stdin, Stdout: escape.NewWriter(Prose(stdout), names),
		Stderr: escape.NewWriter(Prose(stderr), names),
		Data:   stdout, asked: asked}
}

// flush writes the bytes of an incomplete last character.
func (e *Env) flush() {
	for _, w := range []io.Writer{e.Stdout, e.Stderr} {
		if w, ok := w.(*escape.Writer); ok {
			_ = w.Close() // as everywhere: what a message cannot be written to has nobody to be told
		}
	}
}

// sameRequest is how long after the first signal another one counts as the same request: timeout(1) and other
// supervisors signal the process and its group at once.
const sameRequest = 500 * time.Millisecond

// endings returns the signals that ask for an orderly end. SIGHUP, of a closed terminal, is one unless it was ignored
// at the start, as by nohup.
func endings() []os.Signal {
	s := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		s = append(s, syscall.SIGHUP)
	}
	return s
}

// Run runs the command of a tree that the arguments name.
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer, tree func(*Env) *cobra.Command) (status int) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintf(stderr, "isovet: panic: %v\n%s\n%s\n", r, debug.Stack(), ReportPlease)
			status = StatusFault
		}
	}()
	if os.Getenv("GOGC") == "" {
		room.Frugal()
	}
	// The runtime ends a program with status 2, which here means "unknown", if for example the system refuses memory.
	// With this setting it ends with the signal SIGABRT instead.
	debug.SetTraceback("crash")
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 1)
	ends := endings()
	signal.Notify(signals, ends...)
	defer signal.Stop(signals)
	go func() {
		select {
		case s := <-signals:
			if s == syscall.SIGTERM {
				cancel(Terminated{})
			} else {
				cancel(guard.ErrInterrupted)
			}
			time.Sleep(sameRequest)
			signal.Reset(ends...)
		case <-ctx.Done():
		}
	}()

	e := NewEnv(args, stdin, stdout, stderr)
	defer e.flush()
	stdout, stderr = e.Stdout, e.Stderr
	if e.Data == os.Stdout {
		e.Kept = newKept(func() { cancel(guard.ErrInterrupted) })
	}
	root := tree(e)
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	e.removeTemporary()
	e.SayError(root.Name(), err)
	return StatusOf(err)
}

const ReportPlease = "This is a bug in isovet, not a fault of the database. Please report it, with the history and " +
	"the command line."

// ExitHelp is the line about exit statuses in helps.
const ExitHelp = `Exit status: 0 done or valid, 1 violation, 2 unknown, 254 wrong command line or input, 255 a fault of isovet,
130 interrupted (docs/output.md).`

// Commands has functions that make commands, by name.
type Commands map[string]func(*Env) *cobra.Command

// Add adds commands to a tree. SetUp makes them.
func (e *Env) Add(c Commands) { e.commands = append(e.commands, c) }

// made makes the commands. If the command line begins with the name of a command, it makes only this one: making all
// takes a seventh of a process's start.
func (e *Env) made() (out []*cobra.Command) {
	for _, c := range e.commands {
		if asked := c[e.asked]; asked != nil {
			return []*cobra.Command{asked(e)}
		}
	}
	for _, c := range e.commands {
		for _, made := range c {
			out = append(out, made(e))
		}
	}
	return out
}

// SetUp gives a tree what every command needs: isovet's errors instead of cobra's usage text, exit statuses, group
// commands that refuse unknown words, and help for terminals. (cobra's group commands print help and exit with 0.)
func SetUp(root *cobra.Command, e *Env) {
	root.SilenceUsage, root.SilenceErrors = true, true
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return Usagef("%v%s\nSee %s --help", err, suggestFlag(c, err), c.CommandPath())
	})

	root.AddCommand(e.made()...)
	root.InitDefaultHelpCmd()
	if help, _, err := root.Find([]string{"help"}); err == nil {
		help.Run, help.RunE = nil, func(_ *cobra.Command, args []string) error {
			c, rest, _ := root.Find(args)
			if len(rest) > 0 && c.HasSubCommands() {
				return unknownCommand(c, rest[0])
			}
			return c.Help()
		}
	}
	root.InitDefaultCompletionCmd()
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		addHelp(c)
		if c.HasSubCommands() && c.RunE == nil && c.Run == nil {
			c.Args = cobra.ArbitraryArgs
			c.RunE = func(c *cobra.Command, args []string) error {
				if len(args) > 0 {
					return unknownCommand(c, args[0])
				}
				return Usagef("a command is required: %s\nSee %s --help", strings.Join(subcommands(c), ", "),
					c.CommandPath())
			}
		}
	}
	walk(root)
	root.SetHelpFunc(func(c *cobra.Command, _ []string) {
		writeHelp(c.OutOrStdout(), c, cmp.Or(TerminalWidth(c.OutOrStdout()), HelpColumns))
	})
}

func subcommands(c *cobra.Command) []string {
	shown := func(c *cobra.Command) bool { return c.IsAvailableCommand() && c.Name() != "help" }
	return slice.Map(slice.Filter(c.Commands(), shown), (*cobra.Command).Name)
}

func unknownCommand(c *cobra.Command, word string) error {
	hint := ""
	c.SuggestionsMinimumDistance = 2
	if now := moved[c.Name()+" "+word]; now != "" {
		hint = " (" + now + ")"
	} else if s := c.SuggestionsFor(word); len(s) > 0 {
		hint = fmt.Sprintf(" (did you mean %s?)", strings.Join(s, " or "))
	}
	return Usagef("unknown command %q for %s%s; expected one of %s", word, c.CommandPath(), hint,
		strings.Join(subcommands(c), ", "))
}

// Exactly requires one argument for each name. A last name with "…" means one or more.
func Exactly(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		many := len(names) > 0 && strings.HasSuffix(names[len(names)-1], "…")
		if len(args) < len(names) {
			return Usagef("%s is missing; usage: %s", strings.TrimSuffix(names[len(args)], "…"), c.UseLine())
		}
		if len(args) > len(names) && !many {
			return Usagef("one argument too many: %q; usage: %s", args[len(names)], c.UseLine())
		}
		return nil
	}
}

// OneHistory is Exactly for a command whose last argument is a history, in several files with --together.
func OneHistory(l *Loading, names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if l.Together && len(args) > len(names) {
			return nil
		}
		if err := Exactly(names...)(c, args); err != nil {
			if len(args) > len(names) {
				return fmt.Errorf("%w (several files of one history: --together)", err)
			}
			return err
		}
		return nil
	}
}
