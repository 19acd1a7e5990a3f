//go:build !checkonly && !offline

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"isovet/collect"
	"isovet/collect/server"
	"isovet/evidence"
	"isovet/history/format"
	"isovet/incident"
	"isovet/level"
	"isovet/report"
	"isovet/shrink"
)

func newHunt(e *env) *cobra.Command {
	var f collectFlags
	var l level.Level
	var limit time.Duration
	var out, replay string
	var runs int
	var asJSON, quiet, small bool
	var in findFlags
	c := &cobra.Command{
		Use: "hunt --db URL --level L [flags]", GroupID: "work",
		Short: "Collect and check, with new seeds, until a violation is found or time is up",
		Long: `hunt runs rounds. Each round collects a history as isovet collect does and checks it as isovet check does, with a new
seed, until a history violates the level or the time is up. Without --keys the rounds alternate between few keys, which
have the most conflicts, and the workload's own number. hunt keeps the violating history with its explanation: FILE,
and beside it a page and a certificate, with the endings .html and .cert, and the smallest history found that still
violates the level, .small.jsonl (see isovet shrink). A folder with the ending .incident has a report for the database's
maintainers: the server and its settings, the SQL of the sessions side by side, and a schedule that was found to repeat
the violation on fresh tables, cut down as far as the database still violates the level (isovet replay-schedule).

The seed repeats what the clients ask for, not what the database makes of it. --replay FILE repeats the schedule of a
recorded history instead, by the times of its operations: its sessions begin, read, write and commit in that order, on
fresh tables with a row a key, and the outcome says in how many of the runs the level was violated.

Exit status: 1 a violation was found, 0 none was, 2 none was and some rounds could not be decided.
` + databases(),
		Example: `  isovet hunt --db postgres:start --isolation repeatable-read --workload smallbank --level serializable --for 60s
  isovet hunt --db galera:start:3 --workload rmw --level snapshot-isolation -o lost.jsonl
  isovet hunt --db galera:start:3 --level snapshot-isolation --replay lost.jsonl
  isovet hunt --db postgres:start:standby --isolation repeatable-read --workload longfork --level snapshot-isolation`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			if out == "" || out == "-" {
				return usagef("-o %q; expected a file's name, beside which the explanation is written", out)
			}
			if limit <= 0 {
				return usagef("--for %v; expected a positive time", limit)
			}
			if err := errors.Join(f.finish(c), in.validate()); err != nil {
				return err
			}
			if replay != "" {
				if runs < 1 {
					return usagef("--runs %d; expected at least 1", runs)
				}
				return runReplay(c.Context(), e, &f, l, replay, out, runs, asJSON, quiet)
			}
			return runHunt(c.Context(), e, &f, &in, l, limit, out, asJSON, quiet, small)
		},
	}
	f.add(c)
	levelFlag(c, &l)
	in.add(c, "FILE's name with the ending .incident")
	fl := c.Flags()
	f.cfg.Txns = 2000
	fl.IntVar(&f.cfg.Txns, "txns", f.cfg.Txns, "committed transactions a round")
	fl.DurationVar(&limit, "for", 60*time.Second, "how long to hunt, the start of servers apart")
	fl.StringVarP(&out, "out", "o", "violation.jsonl", "`FILE` for the history that violates the level")
	fl.BoolVar(&small, "shrink", true, "write the smallest history that still violates the level too, beside FILE, "+
		"with the ending .small.jsonl")
	fl.StringVar(&replay, "replay", "", "repeat the schedule of the history in `FILE`")
	fl.IntVar(&runs, "runs", 10, "how often to replay it")
	fl.BoolVar(&asJSON, "json", false, "say the outcome as a JSON object on standard output")
	fl.BoolVarP(&quiet, "quiet", "q", false, "nothing on standard error but mistakes")
	return c
}

// beside is the name of a file that explains a history.
func beside(out, ending string) string {
	base := strings.TrimSuffix(strings.TrimSuffix(out, ".zst"), ".gz")
	return strings.TrimSuffix(base, filepath.Ext(base)) + ending
}

// huntJSON is what "isovet hunt --json" prints.
type huntJSON struct {
	Verdict     string  `json:"verdict"` // "violation", "none", "unknown"
	Level       string  `json:"level"`
	DB          string  `json:"db,omitempty"`
	Isolation   string  `json:"isolation,omitempty"`
	Rounds      int     `json:"rounds"`
	Undecided   int     `json:"undecided"`
	Committed   int     `json:"committed"`
	ElapsedMS   float64 `json:"elapsed_ms"`
	Interrupted bool    `json:"interrupted,omitempty"`
	Seed        uint64  `json:"seed,omitempty"` // of the offending round
	Runs        int     `json:"runs,omitempty"` // of a replay, and how many of them violated the level
	Violated    int     `json:"violated,omitempty"`
	Command     string  `json:"command,omitempty"` // what hunts with the offending round's seed again
	History     string  `json:"history,omitempty"`
	Report      string  `json:"report,omitempty"`
	Certificate string  `json:"certificate,omitempty"`
	Smallest    string  `json:"smallest,omitempty"` // the smallest history that still violates the level
	Incident    string  `json:"incident,omitempty"` // the folder for the database's maintainers
	// ReplayRuns is how often the incident's schedule was played, ReplayViolated how often it violated the level.
	ReplayRuns     int             `json:"replay_runs,omitempty"`
	ReplayViolated int             `json:"replay_violated,omitempty"`
	Result         json.RawMessage `json:"result,omitempty"` // as isovet check --json prints it
}

func runHunt(ctx context.Context, e *env, f *collectFlags, in *findFlags, l level.Level, limit time.Duration,
	out string, asJSON, quiet, small bool) error {
	p := newProgress(e.stderr, quiet, asJSON)
	defer p.Close()
	p.Begin("hunting")
	cfg := collect.HuntConfig{Config: f.cfg, Level: l, For: limit}
	cfg.Progress = f.tell(p)
	cfg.Partial = out + partialEnding
	if !quiet {
		fmt.Fprintf(e.stderr, "recording each round into %s until it is checked\n", cfg.Partial)
	}
	cfg.Told = func(r collect.Round) {
		p.Begin(fmt.Sprintf("hunting, round %d", r.Number+1))
		if !quiet && r.Verdict == evidence.Unknown {
			fmt.Fprintf(e.stderr, "round %d: unknown: %s\n", r.Number, r.Reason)
		}
	}
	var found keptFind
	if in.dir != noIncident || small {
		cfg.Keep = func(ctx context.Context, x *collect.Found) error {
			found.make(ctx, e, f, in, x, out, p)
			return nil
		}
	}
	h, err := collect.Hunt(ctx, cfg)
	p.Hide()
	j := huntJSON{
		Verdict: "none", Level: l.String(), Rounds: len(h.Rounds), Undecided: h.Undecided, Committed: h.Committed,
		ElapsedMS: milliseconds(h.Elapsed), Interrupted: h.Interrupted,
	}
	if len(h.Rounds) > 0 {
		last := &h.Rounds[len(h.Rounds)-1]
		j.DB, j.Isolation = last.Summary.DB, last.Summary.Isolation
		if h.Violated {
			j.Seed = last.Seed
			j.Command = again(f, l, last)
		}
	}
	switch {
	case h.Violated:
		j.Verdict = "violation"
		j.History, j.Report, j.Certificate = out, beside(out, ".html"), beside(out, ".cert")
		if werr := keep(e, h.Last, j); werr != nil {
			return errors.Join(err, werr)
		}
		if small && found.small != nil {
			if serr := linkSmallest(e, h.Last, found.small, &j); serr != nil {
				return errors.Join(err, serr)
			}
		}
		if found.incident != nil {
			j.Incident = found.dir
			if r := found.incident.Replay; r != nil {
				j.ReplayRuns, j.ReplayViolated = r.Runs, r.Violated
			}
		}
		b, jerr := evidence.JSON(h.Last, out)
		if jerr != nil {
			return errors.Join(err, jerr)
		}
		j.Result = b
	case h.Undecided > 0:
		j.Verdict = "unknown"
	}
	if err == nil { // else the round that failed is there
		err = removePartial(cfg.Partial)
	}
	if err := sayHunt(e, h, &j, asJSON); err != nil {
		return err
	}
	if found.incident != nil && !asJSON {
		fmt.Fprintf(e.stdout, "  %s\n", saidIncident(found.incident, found.dir))
	}
	switch {
	case h.Violated:
		if err != nil {
			fmt.Fprintf(e.stderr, "isovet: the round ended early: %v\n", err)
		}
		return status(statusViolation)
	case err != nil:
		return orStopped(ctx, err, "hunting")
	case h.Interrupted:
		return &exitError{statusInterrupted, errors.New("interrupted; no violation was found by then")}
	case h.Undecided > 0:
		return status(statusUnknown)
	}
	return nil
}

// keep writes the history and what explains it.
func keep(e *env, r *evidence.Result, j huntJSON) error {
	if err := writeHistory(j.History, &collect.Result{History: r.H}, auto); err != nil {
		return err
	}
	return errors.Join(
		e.writeFile(j.Report, func(w io.Writer) error { return report.HTML(w, j.History, r) }),
		e.writeFile(j.Certificate, func(w io.Writer) error { return evidence.WriteCertificate(w, r) }),
	)
}

// huntShrinks is how long a violation that was found is cut down at most.
const huntShrinks = 30 * time.Second

// keptFind is what is made of a violation while its database is still open.
type keptFind struct {
	small    *shrink.Result // nil: there is none
	incident *incident.Incident
	dir      string
}

// make cuts the history down and writes the incident's folder. What goes wrong is said; the hunt's outcome stands.
func (k *keptFind) make(ctx context.Context, e *env, f *collectFlags, in *findFlags, x *collect.Found, out string,
	p *progress) {
	p.Begin("shrinking")
	s, err := cutDown(ctx, x.Answer, x.Level, huntShrinks)
	p.Hide()
	if err != nil {
		fmt.Fprintf(e.stderr, "isovet: %s was not cut down: %v\n", out, err)
		return
	}
	k.small = s
	if in.dir == noIncident {
		return
	}
	if k.dir = in.dir; k.dir == "" {
		k.dir = beside(out, ".incident")
	}
	r := collect.Round{Seed: x.Config.Seed, Keys: x.Config.Keys}
	if k.incident, err = in.write(ctx, x, k.dir, again(f, x.Level, &r), x.Config.Seed, s, p); err != nil {
		k.incident = nil
		fmt.Fprintf(e.stderr, "isovet: no incident was written: %v\n", err)
	}
}

// linkSmallest writes the smallest history that still violates the level, and links it from the page.
func linkSmallest(e *env, r *evidence.Result, s *shrink.Result, j *huntJSON) error {
	note(s, j.History)
	to := beside(j.History, ".small.jsonl")
	if err := format.Write(to, s.H, auto, false); err != nil {
		return err
	}
	j.Smallest = to
	return e.writeFile(j.Report, func(w io.Writer) error {
		return report.HTMLWith(w, j.History, r, report.HTMLOptions{Small: linkTo(j.Report, to)})
	})
}

// sayHunt prints the outcome.
func sayHunt(e *env, h *collect.Hunted, j *huntJSON, asJSON bool) error {
	if asJSON {
		return jsonLine(e.stdout, j)
	}
	if len(h.Rounds) == 0 {
		return nil
	}
	what := fmt.Sprintf("%s, %s: %d rounds, %d committed transactions in %.1f s", j.DB, j.Isolation, j.Rounds,
		j.Committed, h.Elapsed.Seconds())
	if !h.Violated {
		if j.Undecided > 0 {
			what += fmt.Sprintf("; %d rounds undecided", j.Undecided)
		}
		_, err := fmt.Fprintf(e.stdout, "no violation of %s found: %s\n", j.Level, what)
		return err
	}
	if err := report.Text(e.stdout, j.History, h.Last, report.TextOptions{}); err != nil {
		return err
	}
	kept := fmt.Sprintf("%s, %s and %s", j.History, j.Report, j.Certificate)
	if j.Smallest != "" {
		kept += "; cut down in " + j.Smallest
	}
	_, err := fmt.Fprintf(e.stdout, "  %s; kept in %s\n  again: %s\n", what, kept, j.Command)
	return err
}

// again is the command that begins with the round that found a violation. A database that was there already is left to
// the reader: its URL may hold a password.
func again(f *collectFlags, l level.Level, r *collect.Round) string {
	db := "URL"
	if len(f.cfg.DB) == 1 && (server.Is(f.cfg.DB[0]) || strings.HasSuffix(f.cfg.DB[0], ":")) {
		db = report.Quoted(f.cfg.DB[0])
	}
	words := []string{"isovet hunt --db", db, "--level", l.String(), "--workload", report.Quoted(f.cfg.Workload)}
	add := func(name, value string, set bool) {
		if set {
			words = append(words, "--"+name, value)
		}
	}
	add("variant", f.cfg.Variant, f.cfg.Variant != "")
	add("isolation", f.cfg.Isolation, f.cfg.Isolation != "")
	add("keys", strconv.Itoa(r.Keys), r.Keys != 0)
	add("ops", strconv.Itoa(f.cfg.Ops), f.cfg.Ops != 0)
	add("values", strconv.Itoa(f.cfg.Values), f.cfg.Values != 0)
	add("sessions", strconv.Itoa(f.cfg.Sessions), true)
	add("txns", strconv.Itoa(f.cfg.Txns), true)
	add("think", f.cfg.Think.String(), f.cfg.Think != 0)
	add("fault", f.fault, f.fault != "")
	if f.cfg.Timestamps {
		words = append(words, "--timestamps")
	}
	for _, q := range f.cfg.SetupSQL {
		add("setup-sql", report.Quoted(q), true)
	}
	for _, q := range f.cfg.SessionSQL {
		add("session-sql", report.Quoted(q), true)
	}
	add("seed", strconv.FormatUint(r.Seed, 10), true)
	return strings.Join(words, " ")
}

// runReplay repeats the schedule of a history.
func runReplay(ctx context.Context, e *env, f *collectFlags, l level.Level, file, out string, runs int, asJSON,
	quiet bool) error {
	h, err := format.Read(ctx, file, format.Options{})
	if err != nil {
		return &exitError{statusBadInput, err}
	}
	s, err := collect.ScheduleOf(h)
	if err != nil {
		return &exitError{statusBadInput, fmt.Errorf("%s: %w", file, err)}
	}
	p := newProgress(e.stderr, quiet, asJSON)
	defer p.Close()
	p.Begin("replaying")
	r, err := collect.Replay(ctx, f.cfg, s, l, runs, func(r collect.Replayed) {
		p.Step(fmt.Sprintf("%d violated", r.Violated), r.Runs, runs)
	})
	p.Hide()
	stopped := orStopped(ctx, err, "replaying")
	if err != nil && r.Violated == 0 {
		return stopped
	}
	j := huntJSON{Verdict: "none", Level: l.String(), Runs: r.Runs, Violated: r.Violated, Undecided: r.Undecided}
	switch {
	case r.Violated > 0:
		j.Verdict = "violation"
		j.History, j.Report, j.Certificate = out, beside(out, ".html"), beside(out, ".cert")
		if err := keep(e, r.Last, j); err != nil {
			return err
		}
		if j.Result, err = evidence.JSON(r.Last, out); err != nil {
			return err
		}
	case r.Undecided > 0:
		j.Verdict = "unknown"
	}
	if asJSON {
		err = jsonLine(e.stdout, &j)
	} else {
		err = sayReplay(e, &r, &j)
	}
	switch {
	case err != nil:
		return err
	case stopped != nil: // what was found by then is there
		return stopped
	case r.Violated > 0:
		return status(statusViolation)
	case r.Undecided > 0:
		return status(statusUnknown)
	}
	return nil
}

func sayReplay(e *env, r *collect.Replayed, j *huntJSON) error {
	if r.Violated > 0 {
		if err := report.Text(e.stdout, j.History, r.Last, report.TextOptions{}); err != nil {
			return err
		}
	}
	what := fmt.Sprintf("%s violated in %d of %d runs", j.Level, r.Violated, r.Runs)
	if r.Undecided > 0 {
		what += fmt.Sprintf(", %d undecided", r.Undecided)
	}
	if r.Violated > 0 {
		what += fmt.Sprintf("; the last is in %s, %s and %s", j.History, j.Report, j.Certificate)
	}
	_, err := fmt.Fprintf(e.stdout, "%s\n", what)
	return err
}
