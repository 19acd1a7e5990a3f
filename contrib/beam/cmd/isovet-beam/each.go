package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"isovet/contrib/beam/engine"
	"isovet/contrib/beam/store"
	"isovet/history/split"
	"isovet/internal/cli"
)

// eachTask is a history by itself, and the flags to check it with.
type eachTask struct {
	Path  string   `json:"path"`
	Flags []string `json:"flags"`
	Bytes int64    `json:"bytes"` // what stands there now: another file is asked anew
	MTime int64    `json:"mtime"`
}

// eachAnswer is what isovet check said of it.
type eachAnswer struct {
	Out    []byte `json:"out"`
	Err    []byte `json:"err"`
	Status int    `json:"status"`
}

func init() { engine.Register("each", doEach) }

// doEach checks a history in memory, as isovet check --json does. Where it is done twice, the answers differ in the
// times that it took, in nothing else; one of them counts.
func doEach(_ context.Context, c *engine.Call) ([]byte, error) {
	var t eachTask
	if err := json.Unmarshal(c.Args, &t); err != nil {
		return nil, err
	}
	var out, said bytes.Buffer
	a := eachAnswer{}
	a.Status = cli.Main(cli.Isovet, append(append([]string{"check", "--json", "--quiet"}, t.Flags...), "--", t.Path),
		strings.NewReader(""), &out, &said)
	a.Out, a.Err = out.Bytes(), said.Bytes()
	return json.Marshal(&a)
}

// forEach are the flags of check that make sense for each of many histories: those that write files do not.
var forEach = []string{"level", "checker", "solver", "timeout", "format", "initial", "real-time", "ignore-predicates",
	"clock-skew", "profile", "mechanisms-only", "read-only-at-start", "unknown-exit"}

// worst is the order of exit statuses where there are several histories.
var worst = []int{0, 2, 1, 254, 255, 130}

// eachCommand checks many histories, an element each.
func (p *program) eachCommand() *cobra.Command {
	var dir string
	values := map[string]*string{}
	c := &cobra.Command{
		Use:   "each [flags] HISTORY...",
		Short: "Check many histories, each by itself in memory, on the runner",
		Long: `each checks thousands of histories: each is an element, which a worker checks in memory as isovet check --json does.
Their lines come out in the order of the histories. A pattern in quotation marks stands for all files that it matches,
a folder of parts for one history. All workers must reach the files by the same names. Exit status: the worst of all, as
isovet check has it.`,
		Example: `  isovet-beam each --level si 'runs/*.jsonl'
  isovet-beam each --workers 4 --timeout 10s --level ser runs/*.ivh >answers.jsonl`,
		Args: cobra.MinimumNArgs(1),
	}
	p.flags(c.Flags())
	for _, name := range forEach {
		if c.Flags().Lookup(name) == nil {
			values[name] = c.Flags().String(name, "", "as isovet check has it")
		}
	}
	for _, name := range []string{"ignore-predicates", "mechanisms-only", "read-only-at-start"} {
		c.Flags().Lookup(name).NoOptDefVal = "true"
	}
	c.Flags().StringVar(&dir, "spill", "", "`DIR` for the answers, that all workers reach; who asks the same again goes "+
		"on with it (default: a new folder, for runners on this machine)")
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		var flags []string
		for _, name := range forEach {
			if c.Flags().Changed(name) && values[name] != nil {
				flags = append(flags, "--"+name+"="+*values[name])
			}
		}
		if dir, err = p.dir(dir); err != nil {
			return err
		}
		status, err := p.each(c.Context(), dir, flags, args, c.OutOrStdout(), c.ErrOrStderr())
		if err == nil && status != 0 {
			return cli.Exit(status)
		}
		return err
	}
	return c
}

// each checks histories and writes their lines.
func (p *program) each(ctx context.Context, dir string, flags, args []string, out, said io.Writer) (int, error) {
	var tasks [][]byte
	for _, arg := range args {
		paths := split.Paths(arg)
		for _, path := range paths {
			if store.Remote(path) {
				return 0, fmt.Errorf("%s: each reads files that all workers reach by their names; expected one of "+
					"these", path)
			}
			t := eachTask{Path: path, Flags: flags}
			if st, err := os.Stat(path); err == nil {
				t.Bytes, t.MTime = st.Size(), st.ModTime().UnixNano()
			}
			b, err := json.Marshal(&t)
			if err != nil {
				return 0, err
			}
			tasks = append(tasks, b)
		}
	}
	e := &engine.Engine{Runner: &p.runner, Dir: dir, Attempts: p.attempts}
	answers, err := e.Do(ctx, "each", nil, tasks)
	if err != nil {
		return 0, err
	}
	status := 0
	for _, b := range answers {
		var a eachAnswer
		if err := json.Unmarshal(b, &a); err != nil {
			return 0, err
		}
		if _, err := said.Write(a.Err); err != nil {
			return 0, err
		}
		if _, err := out.Write(a.Out); err != nil {
			return 0, err
		}
		if slices.Index(worst, a.Status) > slices.Index(worst, status) {
			status = a.Status
		}
	}
	return status, e.Clean(context.WithoutCancel(ctx))
}
