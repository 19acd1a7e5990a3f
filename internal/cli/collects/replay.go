package collects

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"isovet/collect"
	"isovet/evidence"
	"isovet/history/format"
	"isovet/internal/cli/console"
	"isovet/internal/plural"
	"isovet/level"
	"isovet/report"
	"isovet/report/incident"
)

type replayFlags struct {
	cfg         collect.Config
	level, out  string
	runs        int
	json, quiet bool
}

func NewReplay(e *console.Env) *cobra.Command {
	f := replayFlags{cfg: collect.Config{Sessions: 1}}
	c := console.Command("replay", console.Exactly("HISTORY|DIR"), func(c *cobra.Command, args []string) error {
		if f.runs < 1 {
			return console.Usagef("--runs %d; expected at least 1", f.runs)
		}
		if len(f.cfg.DB) == 0 {
			return console.Usagef(noDatabase, c.CommandPath())
		}
		return f.run(c.Context(), e, args[0])
	})
	c.Aliases = []string{"replay-schedule"}
	c.ValidArgsFunction = console.HistoryFiles
	fl := c.Flags()
	fl.StringArrayVar(&f.cfg.DB, "db", nil, "the database's `URL`, or postgres:start; once for each node")
	fl.StringVar(&f.cfg.Isolation, "isolation", "", "isolation level of transactions (default: the schedule's)")
	fl.StringVar(&f.level, "level", "", "`LEVEL` to check (default: the schedule's)")
	fl.StringArrayVar(&f.cfg.SetupSQL, "setup-sql", nil, "`STATEMENT` to run once after the load; repeat it for more")
	fl.StringArrayVar(&f.cfg.SessionSQL, "session-sql", nil, "`STATEMENT` that each session runs first; repeat it for more")
	fl.DurationVar(&f.cfg.Timeout, "op-timeout", 10*time.Second, "longest time to wait for an answer")
	fl.IntVar(&f.runs, "runs", 10, "runs of the schedule")
	fl.StringVarP(&f.out, "out", "o", "", "`FILE` for the last history that violated the level")
	fl.BoolVar(&f.json, "json", false, "print the result as a JSON object")
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "print errors only")
	return c
}

// noDatabase is the error of a command without --db.
const noDatabase = "--db URL is missing, such as --db sqlite: or --db postgres:start\nSee %s --help"

// schedule reads the schedule to play. It sets flags that the user did not set.
func (f *replayFlags) schedule(ctx context.Context, path string) (*collect.Schedule, level.Level, error) {
	s, err := f.script(path)
	if s == nil && err == nil {
		h, bad := format.Read(ctx, path, format.Options{})
		if bad != nil {
			return nil, 0, bad
		}
		s, err = collect.ScheduleOf(h)
	}
	if err != nil {
		return nil, 0, console.Exit(console.StatusBadInput, fmt.Errorf("%s: %w", path, err))
	}
	l := level.Serializable
	if f.level != "" {
		if l, err = level.Parse(f.level); err != nil {
			return nil, 0, console.Usagef("--level %s: %v", f.level, err)
		}
	}
	return s, l, nil
}

// script reads the schedule of an incident. It returns nil if the path is neither an incident's folder nor a script.
func (f *replayFlags) script(path string) (*collect.Schedule, error) {
	if in := filepath.Join(path, incident.ScheduleFile); isRegular(in) {
		path = in
	} else if !isRegular(path) {
		return nil, nil
	}
	r, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b := bufio.NewReader(r)
	if start, _ := b.Peek(100); !collect.IsScript(start) {
		return nil, nil
	}
	script, s, err := collect.ReadScript(b)
	if err != nil {
		return nil, err
	}
	f.level = cmp.Or(f.level, script.Level)
	f.cfg.Isolation = cmp.Or(f.cfg.Isolation, script.Isolation)
	f.cfg.SetupSQL = append(script.SetupSQL, f.cfg.SetupSQL...)
	f.cfg.SessionSQL = append(script.SessionSQL, f.cfg.SessionSQL...)
	return s, nil
}

func isRegular(path string) bool {
	s, err := os.Stat(path)
	return err == nil && s.Mode().IsRegular()
}

// replayJSON is what "isovet replay --json" prints.
type replayJSON struct {
	Verdict     string          `json:"verdict"` // "violation", "none", "unknown"
	Level       string          `json:"level"`
	DB          string          `json:"db"`
	Isolation   string          `json:"isolation"`
	Runs        int             `json:"runs"`
	Violated    int             `json:"violated"`
	Undecided   int             `json:"undecided"`
	Schedule    string          `json:"schedule"`
	History     string          `json:"history,omitempty"`
	Report      string          `json:"report,omitempty"`
	Certificate string          `json:"certificate,omitempty"`
	Result      json.RawMessage `json:"result,omitempty"` // as isovet check --json prints it
}

func (f *replayFlags) run(ctx context.Context, e *console.Env, path string) error {
	s, l, err := f.schedule(ctx, path)
	if err != nil {
		return err
	}
	p := console.NewProgress(e.Stderr, f.quiet, f.json)
	defer p.Close()
	p.Begin("playing the schedule")
	f.cfg.Progress = (&collectFlags{cfg: f.cfg}).tell(p)
	got, err := collect.Replay(ctx, f.cfg, s, l, f.runs, func(r collect.Replayed) {
		p.Step(fmt.Sprintf("%d violated", r.Violated), r.Runs, f.runs)
	})
	p.Hide()
	stopped := console.OrStopped(ctx, err, "playing the schedule")
	if err != nil && got.Violated == 0 {
		return stopped
	}
	j := replayJSON{Verdict: "none", Level: l.String(), DB: got.DB, Isolation: got.Isolation, Runs: got.Runs,
		Violated: got.Violated, Undecided: got.Undecided, Schedule: path}
	switch {
	case got.Violated > 0:
		j.Verdict = "violation"
		if f.out != "" {
			j.History, j.Report, j.Certificate = f.out, beside(f.out, ".html"), beside(f.out, ".cert")
			if err := keep(e, got.Last, f.out); err != nil {
				return err
			}
		}
		if j.Result, err = evidence.JSON(got.Last, j.name()); err != nil {
			return err
		}
	case got.Undecided > 0:
		j.Verdict = "unknown"
	}
	if f.json {
		err = console.JSONLine(e.Stdout, &j)
	} else {
		err = j.say(e, &got)
	}
	switch {
	case err != nil:
		return err
	case stopped != nil: // the results so far are complete
		return stopped
	case got.Violated > 0:
		return console.Status(console.StatusViolation)
	case got.Undecided > 0:
		return console.Status(console.StatusUnknown)
	}
	return nil
}

// name returns the name of the history that violates the level.
func (j *replayJSON) name() string { return cmp.Or(j.History, j.Schedule) }

func (j *replayJSON) say(e *console.Env, r *collect.Replayed) error {
	if r.Last != nil {
		if err := report.Text(e.Stdout, j.name(), r.Last, report.TextOptions{}); err != nil {
			return err
		}
	}
	what := fmt.Sprintf("%s, %s: %s violated in %d of %s", j.DB, j.Isolation, j.Level, r.Violated,
		plural.Of(r.Runs, "run"))
	if r.Undecided > 0 {
		what += fmt.Sprintf(", %d undecided", r.Undecided)
	}
	if j.History != "" {
		what += fmt.Sprintf("; the last is in %s, %s and %s", j.History, j.Report, j.Certificate)
	}
	_, err := fmt.Fprintf(e.Stdout, "%s\n", what)
	return err
}
