package cli

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"isovet/bench"
	"isovet/check"
	"isovet/internal/cli/checks"
	"isovet/internal/cli/console"
	"isovet/level"
	"isovet/report/view"
)

type viewFlags struct {
	loading console.Loading
	level   level.Level
	skew    time.Duration
	addr    string
	open    bool
	quiet   bool
}

func newView(e *console.Env) *cobra.Command {
	var f viewFlags
	c := &cobra.Command{
		Use:     "view [flags] HISTORY [CERT]",
		GroupID: "work",
		Short:   "Look at a whole history in the browser: load, keys, transactions, dependencies, violations",
		Long: `view serves a page to a browser on this machine, and prints its address. It shows the sessions and the load, the keys by
contention, any span of time down to single operations, what a transaction read from whom, and the dependencies around
it, step by step, with what is inferred and from what. It checks the history at any level, jumps to violations, and
finds the smallest history that still shows one, which the browser saves.

HISTORY is a file of any format that isovet reads (isovet formats); a native one (isovet convert h.jsonl h.ivh) is
mapped and shown at once; of a large one of another format a native copy is made in TMPDIR, which is gone in the end.
CERT is a certificate (isovet check --certificate): it is replayed, and what it says is shown
first. HISTORY can also be the folder of isovet watch, with its incidents and their evidence, or a folder of results of
isovet bench reproduce.

Only this machine can reach the page, and only who has the address: it ends with a random token. view changes
nothing. Ctrl-C ends it.

Exit status: 0 ended by Ctrl-C; 254 and 255 as everywhere.`,
		Example: `  isovet view --open h.jsonl
  isovet view h.ivh h.cert
  isovet view --addr 127.0.0.1:8080 h.jsonl.zst      over ssh -L 8080:127.0.0.1:8080
  isovet view w                                      the folder of isovet watch`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 || len(args) > 2 && !f.loading.Together {
				return console.Usagef("expected HISTORY and perhaps CERT; usage: %s", c.UseLine())
			}
			return nil
		},
		ValidArgsFunction: console.HistoryFiles,
		RunE: func(c *cobra.Command, args []string) error {
			if f.skew < 0 {
				return console.Usagef("--clock-skew %v is negative", f.skew)
			}
			return runView(c.Context(), e, &f, args)
		},
	}
	console.LevelFlag(c, &f.level)
	f.loading.Flags(c, "format", "HISTORY")
	f.loading.TogetherFlag(c)
	fl := c.Flags()
	fl.StringVar(&f.addr, "addr", "", "where to listen, a loopback `ADDRESS` such as 127.0.0.1:8080 (default: any free "+
		"port of 127.0.0.1)")
	fl.BoolVar(&f.open, "open", false, "open the page in the browser")
	fl.DurationVar(&f.skew, "clock-skew", 0, "widen every client interval by this much at both ends when checking")
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "print the address alone")
	return c
}

// split parts the certificate, if there is one among the arguments, from the files of the history.
func (f *viewFlags) split(args []string) (files []string, cert string, err error) {
	for _, a := range args {
		switch {
		case a == "-":
			return nil, "", console.Usagef("view reads files only; write standard input to one first")
		case !checks.IsCertificate(a):
			files = append(files, a)
		case cert != "":
			return nil, "", console.Usagef("%s and %s are both certificates; expected one", cert, a)
		case checks.IsLarge(a):
			return nil, "", console.Usagef("%s is a certificate of a history that memory does not hold: isovet verify",
				a)
		default:
			cert = a
		}
	}
	if len(files) == 0 {
		return nil, "", console.Usagef("%s is a certificate; name its history too", cert)
	}
	if len(files) > 1 && !f.loading.Together {
		return nil, "", console.Exit(console.StatusBadInput,
			fmt.Errorf("%s is no certificate; files that are one history: "+
				"--together", files[1]))
	}
	return files, cert, nil
}

func runView(ctx context.Context, e *console.Env, f *viewFlags, args []string) error {
	files, cert, err := f.split(args)
	if err != nil {
		return err
	}
	name := f.loading.Histories(files)[0]
	s, err := view.New(ctx, view.Options{Addr: f.addr, Name: name, Paths: f.loading.Paths(name), Certificate: cert,
		Read:  f.loading.Options(),
		Check: check.Options{ClockSkew: f.skew.Nanoseconds()}, Level: f.level, Index: bench.WriteIndex})
	if err != nil {
		return console.Exit(console.StatusBadInput, err)
	}
	fmt.Fprintln(e.Stdout, s.URL())
	if !f.quiet {
		fmt.Fprintln(e.Stderr, "isovet: the page of "+name+" is there for this machine alone; Ctrl-C ends it")
	}
	if f.open {
		if err := openBrowser(s.URL()); err != nil {
			fmt.Fprintf(e.Stderr, "isovet: no browser was opened: %v\n", err)
		}
	}
	err = s.Serve()
	if f, ok := errors.AsType[*view.Fault](err); ok {
		return console.Faultf("%s", f.Text)
	}
	return err
}

// openBrowser opens an address as the system does.
func openBrowser(url string) error {
	name, args := "xdg-open", []string{url}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", url}
	}
	out, err := exec.Command(name, args...).CombinedOutput()
	if text := strings.TrimSpace(string(out)); err != nil && text != "" {
		err = fmt.Errorf("%w: %s", err, text)
	}
	return err
}
