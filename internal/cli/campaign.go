//go:build !checkonly && !offline

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"isovet/collect"
	"isovet/collect/campaign"
)

// campaignFlags are those of hunt --campaign.
type campaignFlags struct {
	plan, shard string
	jobs        int
	out         string
	limit       time.Duration
}

func (f *campaignFlags) add(c *cobra.Command) {
	fl := c.Flags()
	fl.StringVar(&f.plan, "campaign", "", "hunt through the table that `FILE` describes, or \"default\", for --for in all; "+
		"-o is then a folder")
	fl.StringVar(&f.shard, "shard", "", "with --campaign: the cells of part `I/N`, such as 2/4")
	fl.IntVar(&f.jobs, "jobs", 1, "with --campaign: hunts at a time; one of a database that is there "+
		"already")
}

// campaignJSON is what "isovet hunt --campaign --json" prints.
type campaignJSON struct {
	Campaign string          `json:"campaign"`
	Hunts    int             `json:"hunts"`
	Found    []campaignFound `json:"found"`
	Away     []campaign.Away `json:"away,omitempty"`
}

type campaignFound struct {
	campaign.Cell
	Kinds       []string `json:"kinds"`
	Contradicts bool     `json:"contradicts,omitempty"` // the database's documentation
	FirstMS     float64  `json:"first_ms"`
	Kept        string   `json:"kept,omitempty"`
}

// run runs a campaign.
func (f *campaignFlags) run(c *cobra.Command, e *env, in *findFlags, asJSON, quiet, small bool) error {
	for _, name := range []string{"db", "level", "isolation", "workload", "variant", "fault", "seed", "keys", "txns",
		"sessions", "ops", "values", "think", "timestamps", "setup-sql", "session-sql", "replay", "runs", "go-on",
		"op-timeout"} {
		if c.Flags().Changed(name) {
			return usagef("--%s and --campaign: the plan's file says what is hunted", name)
		}
	}
	if !c.Flags().Changed("out") || f.out == "" || f.out == "-" {
		return usagef("-o DIR is missing, the campaign's folder")
	}
	if f.limit <= 0 || f.jobs < 1 {
		return usagef("--for %v, --jobs %d; expected a positive time, and at least 1", f.limit, f.jobs)
	}
	cfg := campaign.Config{Plan: campaign.Default(), Dir: f.out, For: f.limit, Jobs: f.jobs}
	if f.shard != "" {
		n, err := fmt.Sscanf(f.shard+"\n", "%d/%d\n", &cfg.Shard, &cfg.Shards)
		if n != 2 || err != nil || cfg.Shard < 1 || cfg.Shard > cfg.Shards {
			return usagef("--shard %s; expected I/N with I from 1 to N, such as 2/4", f.shard)
		}
	}
	if f.plan != "default" {
		var err error
		if cfg.Plan, err = campaign.Read(f.plan); err != nil {
			return &exitError{statusBadInput, err}
		}
	}
	p := newProgress(e.stderr, quiet, asJSON)
	defer p.Close()
	p.Begin("campaign")
	cfg.Told = func(what string) { p.Step(what, 0, 0) }
	cfg.Keep = func(ctx context.Context, cell *campaign.Cell, x *collect.Found, g []*collect.Group) (string, error) {
		dir, err := findFolder(f.out, cfg.Shard)
		if err != nil {
			return "", err
		}
		k := &keptFind{to: filepath.Join(f.out, dir, "violation.jsonl"), groups: g, answer: x.Answer}
		k.command = again(&collectFlags{cfg: x.Config, fault: cell.FaultFlag()}, x.Level,
			&collect.Round{Seed: x.Config.Seed, Keys: x.Config.Keys})
		err = k.keep(e)
		if err == nil && (in.dir != noIncident || small) {
			err = k.make(ctx, e, &findFlags{search: in.search, dir: onlyNone(in.dir)}, x, small, 1, p)
		}
		return filepath.ToSlash(filepath.Join(dir, "violation.html")), err
	}
	r, err := campaign.Start(c.Context(), cfg)
	p.Hide()
	if r == nil {
		return err
	}
	err = errors.Join(err,
		e.writeFile(filepath.Join(f.out, "campaign.html"), func(w io.Writer) error { return r.HTML(w) }),
		e.writeFile(filepath.Join(f.out, "campaign.md"), func(w io.Writer) error { return r.Markdown(w) }))
	j := campaignJSON{Campaign: f.out, Hunts: len(r.Runs), Found: []campaignFound{}, Away: r.Away}
	rows := r.Rows()
	for i := range rows {
		if x := &rows[i]; len(x.Kinds) > 0 {
			j.Found = append(j.Found, campaignFound{x.Cell, x.Kinds, x.Contradicts(), milliseconds(x.First), x.Kept})
		}
	}
	if asJSON {
		err = errors.Join(err, jsonLine(e.stdout, &j))
	} else {
		away := ""
		if len(r.Away) > 0 {
			away = fmt.Sprintf(", with %d that were not hunted, and why", len(r.Away))
		}
		_, werr := fmt.Fprintf(e.stdout, "%s\n  table in %s%s\n", r.Sum(), filepath.Join(f.out, "campaign.html"), away)
		err = errors.Join(err, werr)
	}
	switch {
	case err != nil:
		return err
	case c.Context().Err() != nil:
		return &exitError{statusInterrupted, errors.New("interrupted; the same command goes on")}
	case len(j.Found) > 0:
		return status(statusViolation)
	case !slices.ContainsFunc(rows, func(x campaign.Row) bool { return x.Outcome == campaign.NoneFound }):
		return status(statusUnknown)
	}
	return nil
}

// findFolder makes the folder of a find, and returns its name in the campaign's: the first number that is free, for
// hunts of several jobs find at once, and what an earlier campaign has found stays. A shard, if not 0, is in the name.
func findFolder(out string, shard int) (string, error) {
	if err := os.MkdirAll(filepath.Join(out, "found"), 0o755); err != nil {
		return "", err
	}
	for n := 1; ; n++ {
		dir := filepath.Join("found", strconv.Itoa(n))
		if shard > 0 {
			dir += "-" + strconv.Itoa(shard)
		}
		if err := os.Mkdir(filepath.Join(out, dir), 0o755); !errors.Is(err, fs.ErrExist) {
			return dir, err
		}
	}
}

// onlyNone is the one value of --incident that a campaign has: each find has a folder of its own.
func onlyNone(dir string) string {
	if dir == noIncident {
		return dir
	}
	return ""
}
