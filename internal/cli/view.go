package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"isovet/bench"
	"isovet/check"
	"isovet/history"
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
	c := console.Command("view", func(c *cobra.Command, args []string) error {
		if len(args) == 0 || len(args) > 2 && !f.loading.Together {
			return console.Usagef("expected HISTORY and perhaps CERT; usage: %s", c.UseLine())
		}
		return nil
	}, func(c *cobra.Command, args []string) error {
		if f.skew < 0 {
			return console.Usagef("--clock-skew %v is negative", f.skew)
		}
		return runView(c.Context(), e, &f, args)
	})
	c.ValidArgsFunction = console.HistoryFiles
	console.LevelFlag(c, &f.level)
	f.loading.Flags(c, "format", "HISTORY")
	f.loading.TogetherFlag(c)
	fl := c.Flags()
	fl.StringVar(&f.addr, "addr", "", "loopback `ADDRESS` to listen on (default: any free port)")
	fl.BoolVar(&f.open, "open", false, "open the page in the browser")
	fl.DurationVar(&f.skew, "clock-skew", 0, "widen client intervals by this at both ends")
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "print only the address")
	return c
}

// split separates a certificate among the arguments from the files of the history.
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
			return nil, "", console.Usagef("%s certifies a history too large for memory; use isovet verify", a)
		default:
			cert = a
		}
	}
	if len(files) == 0 {
		return nil, "", console.Usagef("%s is a certificate; name its history too", cert)
	}
	if len(files) > 1 && !f.loading.Together {
		return nil, "", console.Exit(console.StatusBadInput, fmt.Errorf("%s is not a certificate; for several files "+
			"of one history add --together", files[1]))
	}
	return files, cert, nil
}

func runView(ctx context.Context, e *console.Env, f *viewFlags, args []string) error {
	files, cert, err := f.split(args)
	if err != nil {
		return err
	}
	name := f.loading.Histories(files)[0]
	var page []byte
	if _, absent := os.Stat(name); absent == nil && len(files) == 1 && cert == "" && f.loading.Format == console.Auto {
		// What else is wrong with a path, the viewer says.
		page, err = checks.OperationsPage(ctx, e, name)
		if bad, ok := errors.AsType[*history.InputError](err); ok {
			return console.Exit(console.StatusBadInput, bad)
		}
	}
	s, err := view.New(ctx, view.Options{Addr: f.addr, Name: name, Paths: f.loading.Paths(name), Certificate: cert,
		Read:  f.loading.Options(),
		Check: check.Options{ClockSkew: f.skew.Nanoseconds()}, Level: f.level, Index: bench.WriteIndex, Page: page})
	if err != nil {
		return console.Exit(console.StatusBadInput, err)
	}
	fmt.Fprintln(e.Stdout, s.URL())
	if !f.quiet {
		fmt.Fprintln(e.Stderr, "isovet: only this machine can open the page of "+name+"; Ctrl-C ends it")
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

// openBrowser opens an address in the system's browser.
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
