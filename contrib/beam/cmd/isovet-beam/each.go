package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"isovet/contrib/beam/engine"
	"isovet/contrib/beam/store"
	"isovet/history/format"
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
	a.Status = cli.Main(append(append([]string{"check", "--json", "--quiet"}, t.Flags...), "--", t.Path),
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
	var quiet, asJSON bool
	values := map[string]*string{}
	c := &cobra.Command{
		Use:   "each [flags] HISTORY...",
		Short: "Check many histories on the runner, each one in memory",
		Long: `each checks thousands of histories. Each history is an element, which a worker checks in memory like isovet check
--json. The output has one line for each history, in the order of the histories. A quoted pattern stands for all files
that match, and a folder for all files in it. A folder with a list of parts, or in another tool's format, is one history.
All workers must see the files under the same names. The exit status is the worst of all, as for isovet check.`,
		Example: `  isovet-beam each --level si runs/
  isovet-beam each --level si 'runs/*.jsonl'
  isovet-beam each --workers 4 --timeout 10s --level ser runs/*.ivh >answers.jsonl`,
		Args: cobra.MinimumNArgs(1),
	}
	p.flags(c.Flags())
	for _, name := range forEach {
		if c.Flags().Lookup(name) == nil {
			values[name] = c.Flags().String(name, "", "as for isovet check")
		}
	}
	for _, name := range []string{"ignore-predicates", "mechanisms-only", "read-only-at-start"} {
		c.Flags().Lookup(name).NoOptDefVal = "true"
	}
	c.Flags().BoolVar(&quiet, "quiet", false, "print neither progress nor verdicts")
	c.Flags().BoolVar(&asJSON, "json", true, "one JSON object a history, as always")
	c.Flags().Lookup("json").Hidden = true
	c.Flags().StringVar(&dir, "spill", "", "`DIR` for the answers, that all workers reach; the same command goes on "+
		"with it (default: a new folder, for runners on this machine)")
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		var flags []string
		for _, name := range forEach {
			if c.Flags().Changed(name) && values[name] != nil {
				flags = append(flags, "--"+name+"="+*values[name])
			}
		}
		if err := usage(flags); err != nil {
			return err
		}
		// Of all together, not of each.
		unknown, err := strconv.Atoi(cmp.Or(*values["unknown-exit"], "2"))
		if err != nil {
			return err
		}
		flags = slices.DeleteFunc(flags, func(f string) bool { return strings.HasPrefix(f, "--unknown-exit=") })
		if dir, err = p.dir(dir); err != nil {
			return err
		}
		tell := c.ErrOrStderr()
		if quiet {
			tell = io.Discard
		}
		status, err := p.each(c.Context(), dir, flags, args, c.OutOrStdout(), c.ErrOrStderr(), tell)
		if err == nil && status == 2 {
			status = unknown
		}
		if err == nil && status != 0 {
			return cli.Exit(status)
		}
		return err
	}
	return c
}

// usage says once what is wrong with flags of check, not once a history.
func usage(flags []string) error {
	var said bytes.Buffer
	none := filepath.Join(os.TempDir(), "isovet-beam-no-such-history")
	cli.Main(append(append([]string{"check", "--json", "--quiet"}, flags...), "--", none),
		strings.NewReader(""), io.Discard, &said)
	what, _, is := strings.Cut(said.String(), "\nSee isovet check --help")
	if !is {
		return nil
	}
	return errors.New(strings.TrimPrefix(what, "isovet: "))
}

// histories are those that an argument means.
func histories(arg string) ([]string, error) {
	if _, err := os.Stat(filepath.Join(arg, format.PartsName)); err == nil || !format.IsParts(arg) {
		return split.Paths(arg), nil
	}
	paths, _, err := format.Parts(arg)
	return paths, err
}

// often is how long nothing is said of progress, at least.
const often = 10 * time.Second

// each checks histories and writes their lines.
func (p *program) each(ctx context.Context, dir string, flags, args []string, out, said, tell io.Writer) (int, error) {
	var tasks [][]byte
	for _, arg := range args {
		paths, err := histories(arg)
		if err != nil {
			return 0, err
		}
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
	at := time.Now()
	e := &engine.Engine{Runner: &p.runner, Dir: dir, Attempts: p.attempts, Progress: func(done, total int) {
		if time.Since(at) >= often {
			at = time.Now()
			fmt.Fprintf(tell, "isovet-beam: %d of %d histories\n", done, total)
		}
	}}
	answers, err := e.Do(ctx, "each", nil, tasks)
	if err != nil {
		return 0, err
	}
	status := 0
	counts := map[string]int{}
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
		switch a.Status {
		case 0:
			counts["valid"]++
		case 1:
			counts["violations"]++
		case 2:
			counts["unknown"]++
		default:
			counts["not checked"]++
		}
		if slices.Index(worst, a.Status) > slices.Index(worst, status) {
			status = a.Status
		}
	}
	var words []string
	for _, what := range []string{"valid", "violations", "unknown", "not checked"} {
		if n := counts[what]; n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, what))
		}
	}
	fmt.Fprintf(tell, "isovet-beam: %d histories: %s\n", len(answers), strings.Join(words, ", "))
	return status, e.Clean(context.WithoutCancel(ctx))
}
