package run

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/apache/beam/sdks/v2/go/container/tools"
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/harness"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"
)

// worker is what a process is told that is to be a worker.
type worker struct {
	id, provision, control, logging string

	boot bool // by Beam's container image, which has already asked for everything
}

// asWorker reads the arguments of a process that a runner or a pool has started as a worker: those of Beam's container
// images (--worker), or those which a runner gives to what it starts itself: environment types PROCESS and DOCKER
// (https://beam.apache.org/documentation/runtime/sdk-harness-config/).
func asWorker(args []string) (w worker, is bool) {
	for i := 0; i < len(args); i++ {
		name, value, given := strings.Cut(strings.TrimLeft(args[i], "-"), "=")
		if name == args[i] {
			return w, false // a word: commands have them, workers none
		}
		if !given && name != "worker" && i+1 < len(args) {
			i++
			value = args[i]
		}
		value = strings.Trim(value, "'") // Prism quotes for a shell that is not there
		switch name {
		case "worker":
			w.boot = value == "" || value == "true"
		case "id":
			w.id = value
		case "provision_endpoint":
			w.provision = value
		case "control_endpoint":
			w.control = value
		case "logging_endpoint":
			w.logging = value
		}
	}
	return w, w.boot || w.id != "" && (w.provision != "" || w.control != "")
}

var isWorker bool

// IsWorker reports whether a runner started this process as a worker.
func IsWorker() bool { return isWorker }

// Worker is what main calls first: in a process that a runner started as a worker it does that work, and ends the
// process. In others it returns at once.
func Worker(args []string) {
	w, is := asWorker(args)
	if !is {
		return
	}
	isWorker = true
	if err := w.run(args); err != nil {
		fmt.Fprintln(os.Stderr, "isovet-beam worker:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func (w worker) run(args []string) error {
	if w.boot {
		if err := flag.CommandLine.Parse(args); err != nil {
			return err
		}
		beam.Init() // works until the runner needs it no more
		return nil
	}
	initialize(false)
	ctx := grpcx.WriteWorkerID(context.Background(), w.id)
	var o harness.Options
	if w.provision != "" {
		info, err := tools.ProvisionInfo(ctx, w.provision)
		if err != nil {
			return fmt.Errorf("cannot ask %s what to do: %w", w.provision, err)
		}
		o.StatusEndpoint = info.GetStatusEndpoint().GetUrl()
		for _, c := range info.GetRunnerCapabilities() {
			// Prism takes a short name of a metric for the same in all of a job's workers, which each give their own.
			if c != graphx.URNMonitoringInfoShortID {
				o.RunnerCapabilities = append(o.RunnerCapabilities, c)
			}
		}
		if url := info.GetControlEndpoint().GetUrl(); url != "" {
			w.control = url
		}
		if url := info.GetLoggingEndpoint().GetUrl(); url != "" {
			w.logging = url
		}
	}
	if w.control == "" || w.logging == "" {
		return errors.New("no control or logging endpoint")
	}
	err := harness.MainWithOptions(ctx, w.logging, w.control, o)
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
