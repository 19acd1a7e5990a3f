//go:build !checkonly && !offline

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"isovet/check/shrink"
	"isovet/collect"
	"isovet/collect/server"
	"isovet/evidence"
	"isovet/internal/escape"
	"isovet/level"
	"isovet/report"
	"isovet/report/incident"
)

// findFlags say whether an incident folder is written, and how long its schedule is looked for.
type findFlags struct {
	dir    string
	search time.Duration
}

const noIncident = "none"

func (f *findFlags) add(c *cobra.Command, where string) {
	c.Flags().StringVar(&f.dir, "incident", "", "`DIR` for a report of the violation for the database's maintainers: "+
		"SQL, settings, schedule, history, certificate; \"none\": no folder (default: "+where+")")
	c.Flags().DurationVar(&f.search, "reproduce", 30*time.Second, "how long to look for a schedule that repeats a "+
		"violation that was found, and to cut it down; 0: not at all")
}

func (f *findFlags) validate() error {
	if f.search < 0 {
		return usagef("--reproduce %v; expected no negative time", f.search)
	}
	return nil
}

// write makes the folder of a violation whose database is still open.
func (f *findFlags) write(ctx context.Context, found *collect.Found, dir, command string, seed uint64,
	small *shrink.Result, p *progress) (*incident.Incident, error) {
	p.Begin("looking for a schedule that repeats it")
	defer p.Hide()
	x, err := incident.Make(ctx, found, incident.Options{Command: command, Seed: seed, Small: small,
		Made: buildVersion().String(), NoReplay: f.search == 0,
		ReproduceOptions: collect.ReproduceOptions{For: f.search,
			Told: func(what string) { p.Step(what, 0, 0) }}})
	if err != nil {
		return nil, err
	}
	return x, x.Write(dir)
}

// said is what an incident's schedule did, in words.
func saidIncident(x *incident.Incident, dir string) string {
	s := "incident in " + filepath.Join(dir, incident.ReadmeFile)
	switch {
	case x.Replay == nil:
	case x.Replay.Violated > 0:
		s += fmt.Sprintf("; its schedule of %d steps violated %s in %d of %d runs", x.Replay.Steps, x.Level,
			x.Replay.Violated, x.Replay.Runs)
	default:
		s += "; no schedule repeated it"
	}
	return s
}

func newReplaySchedule(e *env) *cobra.Command {
	f := collectFlags{cfg: collect.Config{Sessions: 1}}
	var l, runs, out = "", 10, ""
	var asJSON, quiet bool
	c := &cobra.Command{
		Use: "replay-schedule [flags] DIR --db URL", GroupID: "work",
		Short: "Play the schedule of an incident against a fresh database, and say how often it is violated",
		Long: `replay-schedule plays the schedule of an incident folder, which hunt, probe and collect --check write, or a
schedule.json: a few sessions begin, read, write and commit in a fixed order, on tables that are made anew and hold what
they held then. A session that the database makes wait goes on when it may; the others do not wait for it. What the
clients saw is checked each time: "snapshot-isolation violated in 10 of 10 runs".

Isolation and level are the schedule's own unless they are given here. The statements with which the folder's sessions
began (--session-sql, --setup-sql) are those of the schedule too.

Exit status: 1 the level was violated in some run, 0 in none, 2 in none and some could not be decided.
` + databases(),
		Example: `  isovet replay-schedule violation.incident --db mariadb:start
  isovet replay-schedule violation.incident/schedule.json --db mysql://me@host/test --runs 100 --json`,
		Args:              exactly("DIR"),
		ValidArgsFunction: historyFiles,
		RunE: func(c *cobra.Command, args []string) error {
			if runs < 1 {
				return usagef("--runs %d; expected at least 1", runs)
			}
			if len(f.cfg.DB) == 0 {
				return usagef("--db URL is missing, such as --db sqlite: or --db postgres:start\nSee %s --help",
					c.CommandPath())
			}
			return replaySchedule(c.Context(), e, &f, args[0], l, runs, out, asJSON, quiet)
		},
	}
	fl := c.Flags()
	fl.StringArrayVar(&f.cfg.DB, "db", nil, "the database's `URL`; several times for the nodes of a cluster; "+
		"postgres:start and its like start a server")
	fl.StringVar(&f.cfg.Isolation, "isolation", "", "isolation level that the clients ask for (default: the "+
		"schedule's)")
	fl.StringVar(&l, "level", "", "`LEVEL` to check (default: the schedule's)")
	fl.StringArrayVar(&f.cfg.SetupSQL, "setup-sql", nil, "a `STATEMENT` to run once, behind the load; several times "+
		"for more")
	fl.StringArrayVar(&f.cfg.SessionSQL, "session-sql", nil, "a `STATEMENT` that every session begins with; several "+
		"times for more")
	fl.DurationVar(&f.cfg.Timeout, "op-timeout", 10*time.Second, "longest wait for an answer of the database")
	fl.IntVar(&runs, "runs", runs, "how often to play it")
	fl.StringVarP(&out, "out", "o", "", "`FILE` for the history of the last run that violated the level, with page "+
		"and certificate beside it")
	fl.BoolVar(&asJSON, "json", false, "say the outcome as a JSON object on standard output")
	fl.BoolVarP(&quiet, "quiet", "q", false, "nothing on standard error but mistakes")
	return c
}

// replayJSON is what "isovet replay-schedule --json" prints.
type replayJSON struct {
	Verdict     string `json:"verdict"` // "violation", "none", "unknown"
	Level       string `json:"level"`
	DB          string `json:"db"`
	Isolation   string `json:"isolation"`
	Runs        int    `json:"runs"`
	Violated    int    `json:"violated"`
	Undecided   int    `json:"undecided"`
	Schedule    string `json:"schedule"`
	History     string `json:"history,omitempty"`
	Report      string `json:"report,omitempty"`
	Certificate string `json:"certificate,omitempty"`
}

func replaySchedule(ctx context.Context, e *env, f *collectFlags, path, at string, runs int, out string, asJSON,
	quiet bool) error {
	if s, err := os.Stat(path); err == nil && s.IsDir() {
		path = filepath.Join(path, incident.ScheduleFile)
	}
	r, err := os.Open(path)
	if err != nil {
		return &exitError{statusBadInput, err}
	}
	defer r.Close()
	script, s, err := collect.ReadScript(r)
	if err != nil {
		return &exitError{statusBadInput, fmt.Errorf("%s: %w", path, err)}
	}
	if at == "" {
		at = script.Level
	}
	l, err := level.Parse(at)
	if err != nil {
		return usagef("--level %s: %v", at, err)
	}
	if f.cfg.Isolation == "" {
		f.cfg.Isolation = script.Isolation
	}
	f.cfg.SetupSQL = append(script.SetupSQL, f.cfg.SetupSQL...)
	f.cfg.SessionSQL = append(script.SessionSQL, f.cfg.SessionSQL...)
	p := newProgress(e.stderr, quiet, asJSON)
	defer p.Close()
	p.Begin("playing the schedule")
	f.cfg.Progress = f.tell(p)
	got, err := collect.Replay(ctx, f.cfg, s, l, runs, func(r collect.Replayed) {
		p.Step(fmt.Sprintf("%d violated", r.Violated), r.Runs, runs)
	})
	p.Hide()
	stopped := orStopped(ctx, err, "playing the schedule")
	if err != nil && got.Violated == 0 {
		return stopped
	}
	j := replayJSON{Verdict: "none", Level: l.String(), DB: got.DB, Isolation: got.Isolation, Runs: got.Runs,
		Violated: got.Violated, Undecided: got.Undecided, Schedule: path}
	switch {
	case got.Violated > 0:
		j.Verdict = "violation"
	case got.Undecided > 0:
		j.Verdict = "unknown"
	}
	if got.Violated > 0 && out != "" {
		j.History, j.Report, j.Certificate = out, beside(out, ".html"), beside(out, ".cert")
		if err := keep(e, got.Last, huntJSON{History: j.History, Report: j.Report,
			Certificate: j.Certificate}); err != nil {
			return err
		}
	}
	if asJSON {
		err = jsonLine(e.stdout, &j)
	} else {
		err = sayReplayed(e, &got, &j)
	}
	switch {
	case err != nil:
		return err
	case stopped != nil:
		return stopped
	case got.Violated > 0:
		return status(statusViolation)
	case got.Undecided > 0:
		return status(statusUnknown)
	}
	return nil
}

func sayReplayed(e *env, r *collect.Replayed, j *replayJSON) error {
	name := j.Schedule
	if r.Last != nil {
		if err := report.Text(e.stdout, name, r.Last, report.TextOptions{}); err != nil {
			return err
		}
	}
	undecided := ""
	if r.Undecided > 0 {
		undecided = fmt.Sprintf(", %d undecided", r.Undecided)
	}
	kept := ""
	if j.History != "" {
		kept = fmt.Sprintf("; the last is in %s, %s and %s", j.History, j.Report, j.Certificate)
	}
	_, err := fmt.Fprintf(e.stdout, "%s, %s: %s violated in %d of %d runs%s%s\n", j.DB, j.Isolation, j.Level,
		r.Violated, r.Runs, undecided, kept)
	return err
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
func (f *probeFlags) incidentsOf(e *env) map[string]string {
	dirs := map[string]string{}
	if f.dir == "" || f.incidents == "none" {
		return dirs
	}
	f.cfg.Keep = func(ctx context.Context, c *collect.Cell, kinds []level.Anomaly, x *collect.Found) error {
		if f.incidents == "contradictions" && !c.Contradicts() {
			return nil
		}
		name := cellName(c.Isolation, c.Phenomenon)
		in, err := incident.Make(ctx, x, incident.Options{Command: probeCommand(f, c.Isolation),
			Seed: x.Config.Seed, Made: buildVersion().String(), Kinds: kinds,
			ReproduceOptions: collect.ReproduceOptions{For: probeShrinks, Runs: probeRuns}})
		if err == nil {
			err = in.Write(filepath.Join(f.dir, name+".incident"))
		}
		if err != nil { // the table stands without it
			fmt.Fprintf(e.stderr, "isovet: no incident was written of %s at %s: %v\n", c.Phenomenon, c.Isolation,
				err)
			return nil
		}
		dirs[name] = name + ".incident"
		return nil
	}
	return dirs
}

// cutDown looks for the smallest history of a violation for a while.
func cutDown(ctx context.Context, r *evidence.Result, l level.Level, limit time.Duration) (*shrink.Result, error) {
	if ctx.Err() != nil {
		return nil, errors.New("interrupted")
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return shrink.History(ctx, r.H, l, shrink.Options{First: r})
}
