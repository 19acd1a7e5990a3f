package cli

import (
	"context"
	"errors"
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
	"isovet/internal/room"
)

// Program says which of the two programs is run.
type Program uint8

const (
	Isovet Program = iota
	Bench          // the bench tree alone
)

// errInterrupted is the cause of a context that a signal ended.
var errInterrupted = errors.New("interrupted")

// terminated is errInterrupted of SIGTERM: who supervises a service wants it to end.
type terminated struct{}

func (terminated) Error() string        { return errInterrupted.Error() }
func (terminated) Is(target error) bool { return target == errInterrupted }

// env is what a command sees of the world.
type env struct {
	stdin io.Reader
	// stdout and stderr are escaped for terminals. data is standard output as it is, for histories and certificates.
	stdout, stderr, data io.Writer

	mu    sync.Mutex
	temps map[string]bool // half-written files
	kept  *kept           // nil: nobody keeps this process

	engine *Engine // nil: this machine
	// incident writes the folder of a violation; nil: this program has no collect, which knows what stands in one.
	incident func(r *shrink.Result, dir string) error
}

// newEnv is the world of a command line, whose words stay in their lines where messages have them.
func newEnv(args []string, stdin io.Reader, stdout, stderr io.Writer) *env {
	var names []string
	for _, a := range args {
		flag, value, _ := strings.Cut(a, "=")
		for _, n := range []string{a, strings.TrimLeft(a, "-"), strings.TrimLeft(flag, "-"), value} {
			for _, n := range []string{n, filepath.Clean(n), filepath.Base(n)} {
				names = append(names, n, strings.TrimSuffix(n, filepath.Ext(n)))
			}
		}
	}
	return &env{stdin: stdin, stdout: escape.NewWriter(stdout, names), stderr: escape.NewWriter(stderr, names),
		data: stdout}
}

// flush writes what is left of characters that did not come to their end.
func (e *env) flush() {
	for _, w := range []io.Writer{e.stdout, e.stderr} {
		if w, ok := w.(*escape.Writer); ok {
			_ = w.Close() // as everywhere: what a message cannot be written to has nobody to be told
		}
	}
}

// sameRequest is how long after the first signal others are no second one: timeout(1) and other keepers send theirs to
// the process and to its group at once.
const sameRequest = 500 * time.Millisecond

// endings are the signals that ask for an orderly end: that of a terminal that is closed too, unless whoever started
// the program had it ignored, as nohup does.
func endings() []os.Signal {
	s := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		s = append(s, syscall.SIGHUP)
	}
	return s
}

// Main runs a program and returns its exit status. The first SIGINT, SIGTERM or SIGHUP asks for an orderly end, the
// second, half a second later, kills.
func Main(p Program, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return run(args, stdin, stdout, stderr, func(e *env) *cobra.Command { return newRoot(e, p) })
}

// run runs a tree of commands.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer, tree func(*env) *cobra.Command) (status int) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintf(stderr, "isovet: panic: %v\n%s\n%s\n", r, debug.Stack(), reportPlease)
			status = statusFault
		}
	}()
	if os.Getenv("GOGC") == "" {
		room.Frugal()
	}
	// What even the runtime cannot mend, such as memory that the system refuses, ends a Go program with status 2, which
	// here means "unknown". Like this it ends with a signal, SIGABRT.
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
				cancel(terminated{})
			} else {
				cancel(errInterrupted)
			}
			time.Sleep(sameRequest)
			signal.Reset(ends...)
		case <-ctx.Done():
		}
	}()

	e := newEnv(args, stdin, stdout, stderr)
	defer e.flush()
	stdout, stderr = e.stdout, e.stderr
	if e.data == os.Stdout {
		e.kept = newKept(func() { cancel(errInterrupted) })
	}
	root := tree(e)
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	e.removeTemporary()
	s := statusOf(err)
	var said *exitError
	if err != nil && !(errors.As(err, &said) && said.err == nil) {
		fmt.Fprintf(stderr, "%s: %v\n", root.Name(), err)
		if s == statusFault {
			fmt.Fprintln(stderr, reportPlease)
		}
	}
	return s
}

const reportPlease = "This is a fault of isovet's, not of the database's. Please report it, with the history and " +
	"the command line."

const exitHelp = `Exit status:
  0    done; check: every history satisfies the level
  1    check: a violation was found; verify: the certificate was refuted; bench compare: checkers disagree
  2    check, verify: unknown, and no violation (time-out, memory bound, not decided by this checker, nothing to judge)
  254  the command line or the input is wrong
  255  a fault of isovet's own: please report it
  130  interrupted; what was done is kept`

// Root is the tree of a program's commands, for who writes man pages and completions of it.
func Root(p Program) *cobra.Command {
	return newRoot(newEnv(nil, os.Stdin, os.Stdout, os.Stderr), p)
}

func newRoot(e *env, p Program) *cobra.Command {
	if p == Bench {
		root := benchRoot(e)
		setUp(root, e)
		return root
	}
	root := &cobra.Command{
		Use:   "isovet",
		Short: "Did the database keep its isolation promise?",
		Long: `isovet reads a history: the transactions that the clients of a database ran, and what they saw. It says whether
the history satisfies an isolation level. "Valid" comes with an order of the transactions that explains every read.
"Violation" comes with a cycle, or with wrong reads, that can be checked by hand. A separate certifier checks both
before isovet prints them.

Start here:
` + startGen + `  isovet stats h.jsonl                                          what is in it
  isovet check h.jsonl                                          is it serializable?
` + startHeavy + `
` + exitHelp,
	}
	root.Version = strings.TrimPrefix(buildVersion().String(), "isovet ") // "isovet version" stands before it
	root.AddGroup(
		&cobra.Group{ID: "work", Title: "Histories:"},
		&cobra.Group{ID: "lists", Title: "What there is:"},
	)
	root.AddCommand(
		newCheck(e), newVerify(e), newShrink(e), newReport(e), newStats(e), newConvert(e),
		newLevels(e), newAnomalies(e), newCheckers(e), newFormats(e), newSolvers(e),
		newProfiles(e), newVersion(e),
	)
	root.AddCommand(heavy(e)...)
	setUp(root, e)
	return root
}

// setUp gives a tree what every command needs: our errors instead of cobra's usage dump, statuses, group commands that
// refuse unknown words, help that a terminal can show. (cobra's own group commands print help and exit 0 there.)
func setUp(root *cobra.Command, e *env) {
	root.SilenceUsage, root.SilenceErrors = true, true
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usagef("%v%s\nSee %s --help", err, meantFlag(c, err), c.CommandPath())
	})

	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		c.Long = inColumns(c.Long)
		if c.HasSubCommands() && c.RunE == nil && c.Run == nil {
			c.Args = cobra.ArbitraryArgs
			c.RunE = func(c *cobra.Command, args []string) error {
				if len(args) > 0 {
					return unknownCommand(c, args[0])
				}
				return usagef("a command is required: %s\nSee %s --help", strings.Join(subcommands(c), ", "),
					c.CommandPath())
			}
		}
	}
	walk(root)
}

func subcommands(c *cobra.Command) []string {
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" {
			names = append(names, sub.Name())
		}
	}
	return names
}

func unknownCommand(c *cobra.Command, word string) error {
	hint := ""
	c.SuggestionsMinimumDistance = 2
	if now := moved[c.Name()+" "+word]; now != "" {
		hint = " (" + now + ")"
	} else if s := c.SuggestionsFor(word); len(s) > 0 {
		hint = fmt.Sprintf(" (did you mean %s?)", strings.Join(s, " or "))
	}
	return usagef("unknown command %q for %s%s; expected one of %s", word, c.CommandPath(), hint,
		strings.Join(subcommands(c), ", "))
}

// exactly demands the arguments that names tell; a last name with "…" stands for one or more.
func exactly(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		many := len(names) > 0 && strings.HasSuffix(names[len(names)-1], "…")
		if len(args) < len(names) {
			return usagef("%s is missing; usage: %s", strings.TrimSuffix(names[len(args)], "…"), c.UseLine())
		}
		if len(args) > len(names) && !many {
			return usagef("one argument too many: %q; usage: %s", args[len(names)], c.UseLine())
		}
		return nil
	}
}

// oneHistory is exactly for a command whose last argument is one history, in several files with --together.
func oneHistory(l *loading, names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if l.together && len(args) > len(names) {
			return nil
		}
		if err := exactly(names...)(c, args); err != nil {
			if len(args) > len(names) {
				return fmt.Errorf("%w (several files of one history: --together)", err)
			}
			return err
		}
		return nil
	}
}
