package collects

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
	"isovet/collect/hunt"
	"isovet/internal/cli/console"
	"isovet/internal/plural"
)

type campaignFlags struct {
	shard, out         string
	jobs               int
	limit              time.Duration
	in                 findFlags
	json, quiet, small bool
}

func NewCampaign(e *console.Env) *cobra.Command {
	var f campaignFlags
	c := console.Command("campaign", console.Exactly("FILE"), func(c *cobra.Command, args []string) error {
		return f.run(c.Context(), e, args[0])
	})
	fl := c.Flags()
	fl.StringVarP(&f.out, "out", "o", "", "`FOLDER` of the campaign")
	fl.DurationVar(&f.limit, "for", 60*time.Second, "total time to hunt")
	fl.StringVar(&f.shard, "shard", "", "hunt in part `I/N` of the table, such as 2/4")
	fl.IntVar(&f.jobs, "jobs", 1, "number of hunts at the same time")
	f.in.add(c, "beside each find")
	addShrinking(c, &f.small)
	fl.BoolVar(&f.json, "json", false, "print the result as a JSON object")
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "print errors only")
	return c
}

// campaignJSON is what "isovet campaign --json" prints.
type campaignJSON struct {
	Campaign string          `json:"campaign"`
	Hunts    int             `json:"hunts"`
	Found    []campaignFound `json:"found"`
	Away     []campaign.Away `json:"away,omitempty"`
}

type campaignFound struct {
	campaign.Cell
	Kinds       []string `json:"kinds"`
	At          []string `json:"at,omitempty"`          // the kinds, with the violated level where the cell has several
	Contradicts bool     `json:"contradicts,omitempty"` // the database's documentation
	FirstMS     float64  `json:"first_ms"`
	Kept        string   `json:"kept,omitempty"`
}

func (f *campaignFlags) run(ctx context.Context, e *console.Env, plan string) error {
	if f.out == "" || f.out == "-" {
		return console.Usagef("-o DIR is missing: the campaign's folder")
	}
	if err := f.in.validate(); err != nil {
		return err
	}
	if f.in.dir != "" && f.in.dir != noIncident {
		return console.Usagef("--incident %s: each find has its own folder; expected none, or no --incident", f.in.dir)
	}
	if f.limit <= 0 || f.jobs < 1 {
		return console.Usagef("--for %v, --jobs %d; expected a positive time, and at least 1", f.limit, f.jobs)
	}
	cfg := campaign.Config{Plan: campaign.Default(), Dir: f.out, For: f.limit, Jobs: f.jobs}
	if f.shard != "" {
		n, err := fmt.Sscanf(f.shard+"\n", "%d/%d\n", &cfg.Shard, &cfg.Shards)
		if n != 2 || err != nil || cfg.Shard < 1 || cfg.Shard > cfg.Shards {
			return console.Usagef("--shard %s; expected I/N with I from 1 to N, such as 2/4", f.shard)
		}
	}
	if plan != "default" {
		var err error
		if cfg.Plan, err = campaign.Read(plan); err != nil {
			return console.Exit(console.StatusBadInput, err)
		}
	}
	p := console.NewProgress(e.Stderr, f.quiet, f.json)
	defer p.Close()
	p.Begin("campaign")
	cfg.Told = func(what string) { p.Step(what, 0, 0) }
	cfg.Keep = func(ctx context.Context, cell *campaign.Cell, x *collect.Found, g []*hunt.Group) (string, error) {
		dir, err := FindFolder(f.out, cfg.Shard)
		if err != nil {
			return "", err
		}
		k := &keptFind{to: filepath.Join(f.out, dir, "violation.jsonl"), groups: g, answer: x.Answer}
		k.command = again(&collectFlags{cfg: x.Config, fault: cell.FaultFlag()}, x.Level,
			&hunt.Round{Seed: x.Config.Seed, Keys: x.Config.Keys})
		err = keep(e, k.answer, k.to)
		if err == nil && (f.in.dir != noIncident || f.small) {
			err = k.make(ctx, e, &f.in, x, f.small, 1, p)
		}
		return filepath.ToSlash(filepath.Join(dir, "violation.html")), err
	}
	r, err := campaign.Start(ctx, cfg)
	p.Hide()
	if r == nil {
		return err
	}
	err = errors.Join(err,
		e.WriteFile(filepath.Join(f.out, "campaign.html"), func(w io.Writer) error { return r.HTML(w) }),
		e.WriteFile(filepath.Join(f.out, "campaign.md"), func(w io.Writer) error { return r.Markdown(w) }))
	return f.concluded(ctx, e, r, err)
}

// concluded reports the result of a campaign, and returns the exit status; err is the error that ended it.
func (f *campaignFlags) concluded(ctx context.Context, e *console.Env, r *campaign.Campaign, err error) error {
	j := campaignJSON{Campaign: f.out, Hunts: len(r.Runs), Found: []campaignFound{}, Away: r.Away}
	rows := r.Rows()
	for i := range rows {
		if x := &rows[i]; len(x.Kinds) > 0 {
			j.Found = append(j.Found, campaignFound{x.Cell, x.Kinds, x.At, x.Contradicts(),
				console.Milliseconds(x.First), x.Kept})
		}
	}
	if f.json {
		err = errors.Join(err, console.JSONLine(e.Stdout, &j))
	} else {
		away := ""
		if len(r.Away) > 0 {
			away = fmt.Sprintf("; it says why %s not hunted",
				plural.Phrase(len(r.Away), "database was", "databases were"))
		}
		_, werr := fmt.Fprintf(e.Stdout, "%s\n  table in %s%s\n", r.Sum(), filepath.Join(f.out, "campaign.html"), away)
		err = errors.Join(err, werr)
	}
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return console.Exit(console.StatusInterrupted, errors.New("interrupted; start the same command to go on"))
	case len(j.Found) > 0:
		return console.Status(console.StatusViolation)
	case !slices.ContainsFunc(rows, func(x campaign.Row) bool { return x.Outcome == campaign.NoneFound }):
		return console.Status(console.StatusUnknown)
	}
	return nil
}

// FindFolder makes the folder of a violation and returns its name within the campaign's folder. It uses the first free
// number, since several jobs run at once and earlier results stay. The name contains the shard, unless that is 0.
func FindFolder(out string, shard int) (string, error) {
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
