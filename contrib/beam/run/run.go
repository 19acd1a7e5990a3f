// Package run runs Beam pipelines: on Prism, Beam's own runner for one machine, in this process or with worker
// processes beside it, or on whatever other runner there is: Flink, Spark, Dataflow.
package run

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/universal/extworker"
	"google.golang.org/protobuf/proto"

	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/exec/optimized"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/dataflow"
)

// Runners are the values of --runner, with what they are.
var Runners = [][2]string{
	{"prism", "on this machine: in this process, or with --workers processes"},
	{"universal", "any portable runner's job service at --endpoint"},
	{"flink", "the same: a Flink job service"},
	{"spark", "the same: a Spark job service"},
	{"dataflow", "Google Cloud Dataflow"},
}

// Runner runs pipelines, one after the other.
type Runner struct {
	Name string
	// Workers are how many worker processes Prism gets; 0: it works in this process.
	Workers int
	Stderr  io.Writer // of other processes
	Verbose bool      // what Beam logs goes to standard error

	prism *server
	pool  *Pool
	here  *extworker.Loopback
}

var once sync.Once

// initialize makes Beam ready. It logs to standard error, or nowhere: what goes wrong is said by those who asked for
// it.
func initialize(verbose bool) {
	once.Do(func() {
		if verbose {
			log.LogLevel = "debug"
		}
		beam.Init()
		if !verbose {
			slog.SetDefault(slog.New(slog.DiscardHandler))
		}
	})
}

// Branches is into how many parts, by [Branch], a pipeline's work is to be divided: a runner that has one worker an
// environment, as Prism has, does them in as many processes. Others divide work by themselves.
func (r *Runner) Branches() int {
	if r.Name == "prism" {
		return max(1, r.Workers)
	}
	return 1
}

// Branch is the name of a scope whose transforms are a branch's.
func Branch(i int) string { return "branch " + strconv.Itoa(i) }

var branch = regexp.MustCompile(`(?:^|/)branch (\d+)(?:'\d+)?/`)

// Run runs a pipeline to its end. An error may be one of the work, or one of the machines; who can do it again should.
func (r *Runner) Run(ctx context.Context, p *beam.Pipeline) error {
	initialize(r.Verbose)
	if r.Name == "dataflow" {
		_, err := beam.Run(ctx, r.Name, p)
		return err
	}
	endpoint := *jobopts.Endpoint
	if r.Name == "prism" {
		if err := r.startPrism(ctx); err != nil {
			return err
		}
		endpoint = r.prism.endpoint
	}
	edges, _, err := p.Build()
	if err != nil {
		return err
	}
	env, err := r.environment(ctx)
	if err != nil {
		return err
	}
	job, err := graphx.Marshal(edges, &graphx.Options{Environment: env,
		PipelineResourceHints: jobopts.GetPipelineResourceHints()})
	if err != nil {
		return err
	}
	divide(job)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if r.prism != nil {
		go func() { // a job service that has died answers nothing
			select {
			case <-r.prism.done:
				cancel(errors.New("the runner Prism has ended"))
			case <-ctx.Done():
			}
		}()
	}
	if r.prism != nil && r.pool != nil {
		go r.watchWorkers(ctx, cancel)
	}
	err = submit(ctx, job, endpoint)
	if errors.Is(context.Cause(ctx), errDied) {
		r.prism.stop() // it still waits for whom it has not heard of
	}
	if err != nil && context.Cause(ctx) != nil {
		err = context.Cause(ctx)
	}
	return err
}

var errDied = errors.New("a worker has ended")

// patience is how long Prism has to see itself that a worker has died. Mostly it does at once; but it waits a minute
// for other workers that have not reported yet, and that it has ended.
const patience = 3 * time.Second

// watchWorkers gives a pipeline up when a worker has died.
func (r *Runner) watchWorkers(ctx context.Context, cancel context.CancelCauseFunc) {
	select {
	case <-r.pool.Died():
	case <-ctx.Done():
		return
	}
	select {
	case <-time.After(patience):
		cancel(errDied)
	case <-ctx.Done():
	}
}

// Pids are the worker processes.
func (r *Runner) Pids() []int {
	if r.pool == nil {
		return nil
	}
	return r.pool.Pids()
}

// Close ends what runs beside this process.
func (r *Runner) Close() {
	if r.prism != nil {
		r.prism.stop()
	}
	if r.pool != nil {
		r.pool.Close()
	}
	if r.here != nil {
		r.here.Stop(context.Background())
	}
	r.prism, r.pool, r.here = nil, nil, nil
}

// divide gives the transforms of each branch an environment of its own.
func divide(p *pipepb.Pipeline) {
	c := p.GetComponents()
	var ids []string
	for id := range c.GetTransforms() {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		t := c.Transforms[id]
		m := branch.FindStringSubmatch(t.GetUniqueName() + "/")
		if m == nil || m[1] == "0" || t.GetEnvironmentId() == "" {
			continue
		}
		env := t.EnvironmentId + "_" + m[1]
		if c.Environments[env] == nil {
			e := proto.Clone(c.Environments[t.EnvironmentId]).(*pipepb.Environment)
			e.Dependencies = nil // the pool knows the program
			c.Environments[env] = e
		}
		t.EnvironmentId = env
	}
}
