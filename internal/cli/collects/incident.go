package collects

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"isovet/check/shrink"
	"isovet/collect"
	"isovet/collect/probe"
	"isovet/collect/server"
	"isovet/internal/cli/console"
	"isovet/internal/escape"
	"isovet/internal/plural"
	"isovet/level"
	"isovet/report/incident"
)

// findFlags say whether an incident folder is written, and how long its schedule is looked for.
type findFlags struct {
	dir    string
	search time.Duration
}

const noIncident = "none"

func (f *findFlags) add(c *cobra.Command, where string) {
	c.Flags().StringVar(&f.dir, "incident", "", "`FOLDER` of the incident, or none (default: "+where+")")
	c.Flags().DurationVar(&f.search, "reproduce", 30*time.Second, "time to find a schedule that repeats it; 0: none")
}

func (f *findFlags) validate() error {
	if f.search < 0 {
		return console.Usagef("--reproduce %v; expected no negative time", f.search)
	}
	return nil
}

// write makes the folder of a violation whose database is still open.
func (f *findFlags) write(ctx context.Context, found *collect.Found, dir, command string, seed uint64,
	small *shrink.Result, p *console.Progress) (*incident.Incident, error) {
	p.Begin("looking for a schedule that repeats it")
	defer p.Hide()
	x, err := incident.Make(ctx, found, incident.Options{Command: command, Seed: seed, Small: small,
		Made: console.BuildVersion().String(), NoReplay: f.search == 0,
		ReproduceOptions: collect.ReproduceOptions{For: f.search,
			Told: func(what string) { p.Step(what, 0, 0) }}})
	if err != nil {
		return nil, err
	}
	return x, x.Write(dir)
}

// saidIncident says where an incident's folder is, and what its schedule did.
func saidIncident(x *incident.Incident, dir string) string {
	s := "incident in " + filepath.Join(dir, incident.ReadmeFile)
	switch {
	case x.Replay == nil:
	case x.Replay.Violated > 0:
		s += fmt.Sprintf("; its schedule of %s violated %s in %d of %s", plural.Of(x.Replay.Steps, "step"), x.Level,
			x.Replay.Violated, plural.Of(x.Replay.Runs, "run"))
	default:
		s += "; no schedule repeated it"
	}
	return s
}

// probeRuns is how often the schedule of an incident is played.
const probeRuns = 5

// cellName is how the files of a cell are called.
func cellName(isolation, anomaly string) string {
	return strings.NewReplacer(" ", "-", "'", "").Replace(isolation + "-" + anomaly)
}

// probeCommand is the command that probes one isolation again.
func probeCommand(f *probeFlags, isolation string) string {
	db := "URL"
	if len(f.cfg.DB) == 1 && (server.Is(f.cfg.DB[0]) || strings.HasSuffix(f.cfg.DB[0], ":")) {
		db = escape.Shell(f.cfg.DB[0])
	}
	return fmt.Sprintf("isovet probe --db %s --isolation %s --for %v --sessions %d --seed %d", db,
		escape.Shell(isolation), f.cfg.Load, f.cfg.Sessions, f.cfg.Seed)
}

// incidentsOf has a probe write the incidents that are asked for; what it returns has their folders by cell once the
// probe is over.
func (f *probeFlags) incidentsOf(e *console.Env) map[string]string {
	dirs := map[string]string{}
	if f.dir == "" || f.incidents == "none" {
		return dirs
	}
	f.cfg.Keep = func(ctx context.Context, c *probe.Cell, kinds []level.Anomaly, x *collect.Found) error {
		if f.incidents == "contradictions" && !c.Contradicts() {
			return nil
		}
		name := cellName(c.Isolation, c.Phenomenon)
		in, err := incident.Make(ctx, x, incident.Options{Command: probeCommand(f, c.Isolation),
			Seed: x.Config.Seed, Made: console.BuildVersion().String(), Kinds: kinds,
			ReproduceOptions: collect.ReproduceOptions{For: probeShrinks, Runs: probeRuns}})
		if err == nil {
			err = in.Write(filepath.Join(f.dir, name+".incident"))
		}
		if err != nil { // the table stands without it
			fmt.Fprintf(e.Stderr, "isovet: cannot write the incident of %s at %s: %v\n", c.Phenomenon, c.Isolation,
				err)
			return nil
		}
		dirs[name] = name + ".incident"
		return nil
	}
	return dirs
}
