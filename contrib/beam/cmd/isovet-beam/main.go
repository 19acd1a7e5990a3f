// Command isovet-beam checks histories as isovet does, but those that memory does not hold on a runner of Apache Beam:
// Prism, Flink, Spark, Dataflow. See docs/scale.md.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"isovet/check/spill"
	"isovet/contrib/beam/engine"
	"isovet/contrib/beam/run"
	"isovet/history/split"
	"isovet/internal/cli"
)

func main() {
	run.Worker(os.Args[1:])
	p := &program{runner: run.Runner{Stderr: os.Stderr}, from: engine.Remote{}}
	os.Exit(cli.MainWith(p.engine(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// program is the engine of this program's check.
type program struct {
	runner   run.Runner
	attempts int
	made     string // a work folder that nobody asked for
	from     engine.Remote
	sets     []*pflag.FlagSet // of commands
}

func (p *program) engine() *cli.Engine {
	return &cli.Engine{
		Program: "isovet-beam",
		Short:   "isovet check on Apache Beam, for histories larger than memory",
		Long: `isovet-beam check gives the same answers as isovet check, with the same flags, outputs and exit statuses. If a history
fits into --memory, this process checks it in memory. The runner that --runner names checks all other histories; then
--memory bounds the memory of the driver and of each worker.

File names may be gs://BUCKET/… and s3://BUCKET/…; any other name must mean the same file on all workers.`,
		Example: `  isovet-beam check --level sser parts/
  isovet-beam check --workers 4 --memory 1GiB --level si parts/
  isovet-beam check --runner flink --endpoint jobs:8099 --environment_type EXTERNAL \
    --environment_config localhost:50000 --spill /shared/spill --level sser /shared/parts/`,
		Spill: "`DIR` for files of the check, which all workers can access: on this machine, gs://… or s3://…; the same " +
			"command continues from it (default: a new folder, for runners on this machine)",
		Flags:    p.flags,
		Commands: []*cobra.Command{p.eachCommand(), poolCommand(), prismCommand()},
		Dir:      p.dir,
		Plan:     p.plan,
		Open:     p.open,
		Close:    p.close,
	}
}

// shown are the flags of Beam that help shows; all can be given.
var shown = []string{"endpoint", "environment_type", "environment_config", "parallelism", "job_name", "project",
	"region", "staging_location", "temp_location", "sdk_container_image", "worker_binary"}

func (p *program) flags(fs *pflag.FlagSet) {
	p.sets = append(p.sets, fs)
	var names []string
	for _, r := range run.Runners {
		names = append(names, r[0]+": "+r[1])
	}
	fs.StringVar(&p.runner.Name, "runner", "prism", "the runner: "+strings.Join(names, "; "))
	fs.IntVar(&p.runner.Workers, "workers", 0, "number of worker processes, for runners that work on this machine "+
		"(0: this process)")
	fs.IntVar(&p.attempts, "attempts", 3, "how often to try a pipeline that fails before it has done anything")
	fs.BoolVar(&p.runner.Verbose, "beam-log", false, "write the log of Beam to standard error")
	flag.VisitAll(func(f *flag.Flag) {
		if fs.Lookup(f.Name) != nil {
			return
		}
		g := pflag.PFlagFromGoFlag(f)
		g.Shorthand = ""
		g.Hidden = !slices.Contains(shown, f.Name)
		fs.AddFlag(g)
	})
}

// dir looks at the flags, and makes a work folder where none is named.
func (p *program) dir(dir string) (string, error) {
	if !slices.ContainsFunc(run.Runners, func(r [2]string) bool { return r[0] == p.runner.Name }) {
		var names []string
		for _, r := range run.Runners {
			names = append(names, r[0])
		}
		return "", fmt.Errorf("--runner %q is unknown; expected one of %s", p.runner.Name, strings.Join(names, ", "))
	}
	here := p.runner.Name == "prism" || strings.EqualFold(cmp.Or(*jobopts.EnvironmentType, "loopback"), "loopback")
	switch {
	case p.runner.Name == "dataflow":
		here = false
	case p.runner.Name != "prism" && *jobopts.Endpoint == "":
		return "", fmt.Errorf("--runner %s needs --endpoint HOST:PORT, where its job service listens", p.runner.Name)
	}
	if p.runner.Workers < 0 || p.attempts < 1 {
		return "", fmt.Errorf("--workers %d, --attempts %d; expected 0 or more, and 1 or more", p.runner.Workers,
			p.attempts)
	}
	if dir == "" && !here {
		return "", errors.New("--spill DIR is missing: a folder that all workers reach")
	}
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "isovet-beam-*"); err != nil {
			return "", err
		}
		p.made = dir
	}
	return dir, nil
}

func (p *program) plan(ctx context.Context, _ string, paths []string, o split.Options) (*split.Set, error) {
	set, from, err := engine.Plan(ctx, paths, o)
	maps.Copy(p.from, from)
	return set, err
}

func (p *program) open(dir string, set *split.Set, memory int64, progress func(done, total int)) (spill.Backend,
	func() error, error) {
	e := &engine.Engine{Runner: &p.runner, Dir: dir, Attempts: p.attempts, Memory: memory, Progress: progress}
	clean := func() error { return e.Clean(context.Background()) }
	return &engine.Backend{Engine: e, Set: set, From: p.from}, clean, nil
}

func (p *program) close() {
	p.runner.Close()
	p.from.Clean()
	kept := slices.ContainsFunc(p.sets, func(fs *pflag.FlagSet) bool {
		f := fs.Lookup("keep")
		return f != nil && f.Value.String() == "true"
	})
	if p.made != "" && !kept {
		os.RemoveAll(p.made) // nobody could go on with it
	}
}

// poolCommand starts workers where a runner asks for them.
func poolCommand() *cobra.Command {
	listen := "localhost:50000"
	c := &cobra.Command{
		Use:   "worker-pool",
		Short: "Start workers on this machine for a runner that asks for them",
		Long: `worker-pool is what Beam's runners call an external worker pool: give them its address with
--environment_type EXTERNAL --environment_config HOST:PORT. It asks nobody who they are: who reaches its address can
start workers.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			program, err := os.Executable()
			if err != nil {
				return err
			}
			pool, err := run.StartPool(listen, program, os.Stderr)
			if err != nil {
				return err
			}
			defer pool.Close()
			fmt.Fprintln(c.OutOrStdout(), pool.Addr())
			stop := make(chan os.Signal, 1)
			signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
			<-stop
			return nil
		},
	}
	c.Flags().StringVar(&listen, "listen", listen, "`HOST:PORT` to listen at")
	return c
}

// prismCommand is the job service of the runner for one machine.
func prismCommand() *cobra.Command {
	port := 0
	c := &cobra.Command{
		Use:   "prism",
		Short: "Serve jobs with Beam's runner for one machine, until standard input ends",
		Long: `prism is a job service for --runner universal --endpoint localhost:PORT. It listens on all addresses of the
machine and asks nobody who they are.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return run.Prism(port, c.InOrStdin(), c.OutOrStdout())
		},
	}
	c.Flags().IntVar(&port, "port", 0, "port to listen at (0: any; it is printed)")
	return c
}
