package run

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx"
	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/universal/extworker"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/universal/runnerlib"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"
)

// environment is where a runner's workers are: by --environment_type and --environment_config as Beam has them, but the
// default is LOOPBACK, that is here: in this process, or in processes that it starts.
func (r *Runner) environment(ctx context.Context) (*pipepb.Environment, error) {
	kind := strings.ToLower(cmp.Or(*jobopts.EnvironmentType, "loopback"))
	urn := map[string]string{"loopback": graphx.URNEnvExternal, "external": graphx.URNEnvExternal,
		"process": graphx.URNEnvProcess, "docker": graphx.URNEnvDocker}[kind]
	if urn == "" {
		return nil, fmt.Errorf("--environment_type %s is unknown; expected LOOPBACK, EXTERNAL, PROCESS or DOCKER",
			*jobopts.EnvironmentType)
	}
	config := func(context.Context) string { return *jobopts.EnvironmentConfig }
	if kind == "loopback" {
		addr, err := r.loopback(ctx)
		if err != nil {
			return nil, err
		}
		config = func(context.Context) string { return addr }
	}
	env, err := graphx.CreateEnvironment(ctx, urn, config)
	if err != nil {
		return nil, err
	}
	if kind != "docker" || *jobopts.WorkerBinary == "" {
		env.Dependencies = nil // they have the program
	}
	return env, nil
}

// loopback starts workers' service of this process, unless it runs, and returns where it listens.
func (r *Runner) loopback(ctx context.Context) (string, error) {
	if r.Workers == 0 {
		if r.here == nil {
			here, err := extworker.StartLoopback(context.WithoutCancel(ctx), 0)
			if err != nil {
				return "", err
			}
			r.here = here
		}
		return r.here.EnvironmentConfig(ctx), nil
	}
	if r.pool == nil {
		program, err := os.Executable()
		if err != nil {
			return "", err
		}
		if r.pool, err = StartPool("localhost:0", program, r.Stderr); err != nil {
			return "", err
		}
	}
	return r.pool.Addr(), nil
}

// submit gives a pipeline to a job service and waits for its end.
func submit(ctx context.Context, p *pipepb.Pipeline, endpoint string) error {
	if *jobopts.WorkerBinary != "" {
		if err := runnerlib.UpdateGoEnvironmentWorker(*jobopts.WorkerBinary, p); err != nil {
			return fmt.Errorf("--worker_binary %s: %w", *jobopts.WorkerBinary, err)
		}
	}
	c, err := grpcx.Dial(ctx, endpoint, 2*time.Minute)
	if err != nil {
		return fmt.Errorf("cannot reach the job service at %s: %w", endpoint, err)
	}
	defer c.Close()
	client := jobpb.NewJobServiceClient(c)
	id, artifacts, token, err := runnerlib.Prepare(ctx, client, p, &runnerlib.JobOptions{Name: jobopts.GetJobName(),
		Experiments: jobopts.GetExperiments(), Parallelism: *jobopts.Parallelism})
	if err != nil {
		return err
	}
	if token, err = runnerlib.Stage(ctx, id, artifacts, *jobopts.WorkerBinary, token); err != nil {
		return err
	}
	job, err := runnerlib.Submit(ctx, client, id, token)
	if err != nil {
		return err
	}
	err = runnerlib.WaitForCompletion(ctx, client, job)
	if ctx.Err() != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		client.Cancel(ctx, &jobpb.CancelJobRequest{JobId: job})
	}
	return err
}
