package collects

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"isovet/check/shrink"
	"isovet/collect"
	"isovet/collect/hunt"
	"isovet/collect/probe"
	"isovet/collect/server"
	"isovet/evidence"
	"isovet/history/format"
	"isovet/internal/cli/checks"
	"isovet/internal/cli/console"
	"isovet/internal/escape"
	"isovet/internal/plural"
	"isovet/level"
	"isovet/report"
	"isovet/report/incident"
)

// mostFinds bounds the violations that a hunt stores. Further ones are only counted.
const mostFinds = 8

// huntShrinks bounds the time for shrinking a violation.
const huntShrinks = 30 * time.Second

// keptFind has the files about a violation, which are made while its database is still open.
type keptFind struct {
	to       string // of the history
	groups   []*hunt.Group
	answer   *evidence.Result
	command  string         // command that hunts it again
	small    *shrink.Result // nil: there is none
	smallest string         // its file
	incident *incident.Incident
	dir      string
}

// numberedFind returns the file name for a hunt's n-th violation: "violation.jsonl", "violation-2.jsonl".
func numberedFind(out string, n int) string {
	if n == 1 {
		return out
	}
	base := beside(out, "")
	return base + "-" + strconv.Itoa(n) + strings.TrimPrefix(out, base)
}

// make shrinks the history and writes the incident's folder. It only reports errors, since they do not change the
// hunt's outcome.
func (k *keptFind) make(ctx context.Context, e *console.Env, in *findFlags, x *collect.Found, small bool, n int,
	p *console.Progress) error {
	p.Begin("shrinking")
	s, err := cutDown(ctx, x.Answer, x.Level, huntShrinks)
	p.Hide()
	if err != nil {
		fmt.Fprintf(e.Stderr, "isovet: cannot shrink %s: %v\n", k.to, err)
		return nil
	}
	k.small = s
	if small {
		if err := k.linkSmallest(e); err != nil {
			return err
		}
	}
	if in.dir == noIncident {
		return nil
	}
	if k.dir = beside(k.to, ".incident"); in.dir != "" {
		if k.dir = in.dir; n > 1 {
			k.dir += "-" + strconv.Itoa(n)
		}
	}
	if k.incident, err = in.write(ctx, x, k, s, p); err != nil {
		k.incident = nil
		fmt.Fprintf(e.Stderr, "isovet: cannot write the incident: %v\n", err)
	}
	return nil
}

// linkSmallest writes the smallest history that still violates the level, and links it from the page.
func (k *keptFind) linkSmallest(e *console.Env) error {
	checks.Note(k.small, k.to)
	to, page := beside(k.to, ".small.jsonl"), beside(k.to, ".html")
	if err := format.Write(to, k.small.H, console.Auto, false); err != nil {
		return err
	}
	k.smallest = to
	return e.WriteFile(page, func(w io.Writer) error {
		return report.HTMLWith(w, k.to, k.answer, report.HTMLOptions{Small: checks.LinkTo(page, to)})
	})
}

// tell adds a violation to the hunt's outcome.
func (k *keptFind) tell(j *huntJSON) (err error) {
	j.Verdict, j.Seed, j.Command = "violation", k.groups[0].First.Seed, k.command
	j.History, j.Report, j.Certificate, j.Smallest = k.to, beside(k.to, ".html"), beside(k.to, ".cert"), k.smallest
	if k.incident != nil {
		j.Incident = k.dir
		if r := k.incident.Replay; r != nil {
			j.ReplayRuns, j.ReplayViolated = r.Runs, r.Violated
		}
	}
	j.Result, err = evidence.JSON(k.answer, k.to)
	return err
}

// kept describes the written files.
func (k *keptFind) kept() string {
	kept := fmt.Sprintf("%s, %s and %s", k.to, beside(k.to, ".html"), beside(k.to, ".cert"))
	if k.smallest != "" {
		kept += "; cut down in " + k.smallest
	}
	return kept
}

// groupJSON is a kind of violation that a hunt found.
type groupJSON struct {
	Kind         string   `json:"kind"`
	Transactions []string `json:"transactions,omitempty"` // the names of those that take part, the most frequent first
	Rounds       int      `json:"rounds"`                 // that showed it
	Anomalies    int      `json:"anomalies"`              // that they listed
	Round        int      `json:"round"`                  // the first
	Seed         uint64   `json:"seed"`                   // of that round
	AfterMS      float64  `json:"after_ms"`
	Text         string   `json:"text"`
	History      string   `json:"history,omitempty"`
	Incident     string   `json:"incident,omitempty"`
}

func groupsJSON(h *hunt.Hunted, finds []*keptFind) (out []groupJSON) {
	for _, g := range h.Found {
		j := groupJSON{Kind: string(g.Kind), Transactions: g.Txns, Rounds: g.Rounds, Anomalies: g.Anomalies,
			Round: g.First.Number, Seed: g.First.Seed, AfterMS: console.Milliseconds(g.After()), Text: g.Text}
		for _, k := range finds {
			if slices.Contains(k.groups, g) {
				j.History = k.to
				if k.incident != nil {
					j.Incident = k.dir
				}
			}
		}
		out = append(out, j)
	}
	return out
}

// sayHunt prints the outcome.
func sayHunt(e *console.Env, h *hunt.Hunted, finds []*keptFind, j *huntJSON, asJSON bool) error {
	if asJSON {
		return console.JSONLine(e.Stdout, j)
	}
	if len(h.Rounds) == 0 && j.Reason == "" {
		return nil
	}
	if len(h.Rounds) == 0 {
		_, err := fmt.Fprintf(e.Stdout, "inconclusive at %s: %s\n", j.Level, j.Reason)
		return err
	}
	what := fmt.Sprintf("%s, %s: %s, %s in %.1f s", j.DB, j.Isolation,
		plural.Of(j.Rounds, "round"), plural.Of(j.Committed, "committed transaction"), h.Elapsed.Seconds())
	if len(finds) == 0 {
		if j.Undecided > 0 {
			what += "; " + plural.Of(j.Undecided, "undecided round")
		}
		if j.Allowed > 0 {
			what += "; " + plural.Of(j.Allowed, "round") + " with anomalies that the documentation allows"
		}
		found := fmt.Sprintf("no violation of %s found: ", j.Level)
		if j.Reason != "" {
			found = fmt.Sprintf("inconclusive at %s: %s; ", j.Level, j.Reason)
		}
		_, err := fmt.Fprintln(e.Stdout, found+what)
		return err
	}
	for i, k := range finds {
		if err := report.Text(e.Stdout, k.to, k.answer, report.TextOptions{}); err != nil {
			return err
		}
		if i > 0 {
			what = fmt.Sprintf("round %d", k.groups[0].First.Number)
		}
		if _, err := fmt.Fprintf(e.Stdout, "  %s; kept in %s\n  to hunt it again: "+
			"%s\n", what, k.kept(), k.command); err != nil {
			return err
		}
		if k.incident != nil {
			if _, err := fmt.Fprintf(e.Stdout, "  %s\n", saidIncident(k.incident, k.dir)); err != nil {
				return err
			}
		}
	}
	if len(h.Found) < 2 {
		return nil
	}
	var rows [][]string
	for i, g := range j.Found {
		rows = append(rows, []string{h.Found[i].Name(), strconv.Itoa(g.Rounds), strconv.Itoa(g.Anomalies),
			fmt.Sprintf("%.1f", g.AfterMS/1e3), g.History})
	}
	return console.Table(e.Stdout, []string{"found", "rounds", "anomalies", "after s", "first in"}, rows)
}

// findFlags say whether to write an incident folder, and how long to look for its schedule.
type findFlags struct {
	dir    string
	search time.Duration
}

const noIncident = "none"

func (f *findFlags) add(c *cobra.Command, where string) {
	c.Flags().StringVar(&f.dir, "incident", "", "`FOLDER` of the incident, or none (default: "+where+")")
	c.Flags().DurationVar(&f.search, "reproduce", 30*time.Second, "time to find a repeatable schedule; 0: none")
}

func (f *findFlags) validate() error {
	if f.search < 0 {
		return console.Usagef("--reproduce %v; expected no negative time", f.search)
	}
	return nil
}

// write makes the folder of a violation whose database is still open.
func (f *findFlags) write(ctx context.Context, found *collect.Found, k *keptFind, small *shrink.Result,
	p *console.Progress) (*incident.Incident, error) {
	p.Begin("looking for a schedule that repeats it")
	defer p.Hide()
	x, err := incident.Make(ctx, found, incident.Options{Command: k.command, Seed: found.Config.Seed,
		Small: small, Hunt: k.took(), Made: console.BuildVersion().String(), NoReplay: f.search == 0,
		ReproduceOptions: collect.ReproduceOptions{For: f.search,
			Told: func(what string) { p.Step(what, 0, 0) }}})
	if err != nil {
		return nil, err
	}
	return x, x.Write(k.dir)
}

// took describes the hunting time.
func (k *keptFind) took() string {
	if len(k.groups) == 0 {
		return ""
	}
	first := k.groups[0].First
	return fmt.Sprintf("%s, %.1f s", plural.Of(first.Number, "round"), first.At.Seconds())
}

// saidIncident names an incident's folder, and the result of its schedule.
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

// probeRuns is the number of runs of an incident's schedule.
const probeRuns = 5

func cellName(isolation, anomaly string) string {
	return strings.NewReplacer(" ", "-", "'", "").Replace(isolation + "-" + anomaly)
}

// probeCommand returns the command that probes one isolation level again.
func probeCommand(f *probeFlags, isolation string) string {
	db := "URL"
	if len(f.cfg.DB) == 1 && (server.Is(f.cfg.DB[0]) || strings.HasSuffix(f.cfg.DB[0], ":")) {
		db = escape.Shell(f.cfg.DB[0])
	}
	return fmt.Sprintf("isovet probe --db %s --isolation %s --for %v --sessions %d --seed %d", db,
		escape.Shell(isolation), f.cfg.Load, f.cfg.Sessions, f.cfg.Seed)
}

// incidentsOf makes a probe write the requested incidents. After the probe the returned map has their folders, by cell.
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
		if err != nil { // the table is complete without it
			fmt.Fprintf(e.Stderr, "isovet: cannot write the incident of %s at %s: %v\n", c.Phenomenon, c.Isolation, err)
			return nil
		}
		dirs[name] = name + ".incident"
		return nil
	}
	return dirs
}
