package collects

import (
	"cmp"
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
	"isovet/collect/hunt"
	"isovet/collect/server"
	"isovet/evidence"
	"isovet/internal/atomicfile"
	"isovet/internal/cli/console"
	"isovet/internal/escape"
	"isovet/level"
	"isovet/report"
)

func NewHunt(e *console.Env) *cobra.Command {
	var f collectFlags
	l := huntLevel{LevelValue: console.LevelValue{L: new(level.Level)}}
	var limit time.Duration
	var out string
	var asJSON, quiet, small, goOn bool
	var in findFlags
	c := console.Command("hunt", console.Exactly(), func(c *cobra.Command, _ []string) error {
		if out == "" || out == "-" {
			return console.Usagef("-o %q; expected a file name: the explanation goes beside it", out)
		}
		if limit <= 0 {
			return console.Usagef("--for %v; expected a positive time", limit)
		}
		if err := errors.Join(f.finish(c), in.validate()); err != nil {
			return err
		}
		return runHunt(c.Context(), e, &f, &in, &l, limit, out, goOn, asJSON, quiet, small)
	})
	f.add(c)
	f.cfg.Workload = ""
	named := c.Flags().Lookup("workload")
	named.DefValue, named.Usage = "", "workload, or FILE.yaml with your SQL (default: several in turn)"
	c.Flags().Var(&l, "level", "isolation level (isovet levels), or promised")
	console.Complete(c, "level", append(console.LevelCompletions(), "promised"))
	in.add(c, "FILE.incident")
	fl := c.Flags()
	f.cfg.Txns = 2000
	fl.IntVar(&f.cfg.Txns, "txns", f.cfg.Txns, "committed transactions in a round")
	fl.DurationVar(&limit, "for", 60*time.Second, "time to hunt, without the start of servers")
	fl.StringVarP(&out, "out", "o", "violation.jsonl", "`FILE` for a history that violates the level")
	addShrinking(c, &small)
	fl.BoolVar(&goOn, "go-on", false, "continue after a violation; keep the first of each kind")
	fl.BoolVar(&asJSON, "json", false, "print the result as a JSON object")
	fl.BoolVarP(&quiet, "quiet", "q", false, "print errors only")
	return c
}

// huntLevel is a level, or "promised" for the levels that the database's documentation promises.
type huntLevel struct {
	console.LevelValue
	promised bool
}

func (v *huntLevel) Set(s string) error {
	if v.promised = s == "promised"; v.promised {
		return nil
	}
	return v.LevelValue.Set(s)
}

func addShrinking(c *cobra.Command, small *bool) {
	c.Flags().BoolVar(small, "shrink", true, "also write the smallest violating history, .small.jsonl")
}

// beside returns the name of a file about a history.
func beside(out, ending string) string {
	base := strings.TrimSuffix(strings.TrimSuffix(out, ".zst"), ".gz")
	return strings.TrimSuffix(base, filepath.Ext(base)) + ending
}

// huntJSON is what "isovet hunt --json" prints.
type huntJSON struct {
	Verdict     string  `json:"verdict"`          // "violation", "none", "unknown", "inconclusive"
	Reason      string  `json:"reason,omitempty"` // why it is inconclusive
	Level       string  `json:"level"`
	DB          string  `json:"db,omitempty"`
	Isolation   string  `json:"isolation,omitempty"`
	Rounds      int     `json:"rounds"`
	Undecided   int     `json:"undecided"`
	Allowed     int     `json:"allowed,omitempty"` // rounds with only anomalies that the documentation allows
	Committed   int     `json:"committed"`
	ElapsedMS   float64 `json:"elapsed_ms"`
	Interrupted bool    `json:"interrupted,omitempty"`
	Seed        uint64  `json:"seed,omitempty"`    // of the offending round
	Command     string  `json:"command,omitempty"` // command that hunts again with the offending round's seed
	History     string  `json:"history,omitempty"`
	Report      string  `json:"report,omitempty"`
	Certificate string  `json:"certificate,omitempty"`
	Smallest    string  `json:"smallest,omitempty"` // the smallest history that still violates the level
	Incident    string  `json:"incident,omitempty"` // the folder for the database's maintainers
	replayedJSON
	Result   json.RawMessage `json:"result,omitempty"` // as isovet check --json prints it
	Attempts int             `json:"attempts,omitempty"`
	Refused  int             `json:"refused,omitempty"` // by the database, of attempts
	Aborts   []abortJSON     `json:"aborts,omitempty"`  // the most frequent reason first
	Found    []groupJSON     `json:"found,omitempty"`   // in the order in which they were found
	// Broken are the errors that broke a database inside isovet, which was then opened again.
	Broken []string `json:"broken,omitempty"`
}

func runHunt(ctx context.Context, e *console.Env, f *collectFlags, in *findFlags, l *huntLevel, limit time.Duration,
	out string, goOn, asJSON, quiet, small bool) error {
	p := console.NewProgress(e.Stderr, quiet, asJSON)
	defer p.Close()
	p.Begin("hunting")
	cfg := hunt.Config{Config: f.cfg, Level: *l.L, Promised: l.promised, For: limit, GoOn: goOn}
	cfg.Progress = f.tell(p)
	if !atomicfile.Special(out) {
		cfg.Partial = out + PartialEnding
	}
	if !quiet && cfg.Partial != "" {
		fmt.Fprintf(e.Stderr, "recording each round into %s until it is checked\n", cfg.Partial)
	}
	cfg.Told = tellRounds(e, p, quiet)
	var finds []*keptFind
	var broken error // an error of a violation's files
	cfg.Keep = func(ctx context.Context, x *collect.Found, groups []*hunt.Group) error {
		if len(finds) >= mostFinds {
			return nil
		}
		k := &keptFind{to: numberedFind(out, len(finds)+1), groups: groups, answer: x.Answer}
		finds = append(finds, k)
		r := hunt.Round{Seed: x.Config.Seed, Keys: x.Config.Keys, Workload: x.Config.Workload,
			Variant: x.Config.Variant, Send: x.Config.Send, Fault: x.Config.Fault}
		k.command = again(f, x.Level, &r)
		if broken = keep(e, k.answer, k.to); broken == nil && (in.dir != noIncident || small) {
			broken = k.make(ctx, e, in, x, small, len(finds), p)
		}
		return broken
	}
	h, err := hunt.Run(ctx, cfg)
	p.Hide()
	if broken != nil || err != nil && len(h.Rounds) == 0 && !h.Interrupted {
		return cmp.Or(broken, console.OrStopped(ctx, err, "hunting"))
	}
	j := huntJSON{
		Verdict: "none", Level: hunt.Named(h.Levels), Rounds: len(h.Rounds), Undecided: h.Undecided,
		Allowed: h.Allowed, Committed: h.Committed, ElapsedMS: console.Milliseconds(h.Elapsed),
		Interrupted: h.Interrupted,
		Attempts:    h.Attempts, Refused: h.Refused, Aborts: abortsJSON(h.Aborts), Found: groupsJSON(h, finds),
		Broken: h.Broken,
	}
	if len(h.Rounds) > 0 {
		last := &h.Rounds[len(h.Rounds)-1]
		j.DB, j.Isolation = last.Summary.DB, last.Summary.Isolation
	}
	switch why := h.Inconclusive(); {
	case len(finds) > 0:
		if jerr := finds[0].tell(&j); jerr != nil {
			return errors.Join(err, jerr)
		}
	case err != nil:
		j.Verdict, j.Reason = "inconclusive", "the hunt ended early: "+collect.OneLine(err.Error())
	case h.Undecided > 0:
		j.Verdict = "unknown"
	case why != "":
		j.Verdict, j.Reason = "inconclusive", why
	}
	if err == nil && !h.Interrupted { // otherwise the last round may be unchecked
		err = removePartial(cfg.Partial)
	}
	if err := sayHunt(e, h, finds, &j, asJSON); err != nil {
		return err
	}
	if err := sayTroubles(e, h, quiet || asJSON); err != nil {
		return err
	}
	return huntStatus(ctx, e, h, &j, err)
}

// tellRounds reports rounds to the user during the hunt.
func tellRounds(e *console.Env, p *console.Progress, quiet bool) func(hunt.Round) {
	others := map[string]bool{} // the plans and the statements that were reported
	return func(r hunt.Round) {
		p.Begin(fmt.Sprintf("hunting, round %d", r.Number+1))
		if !quiet && r.Verdict == evidence.Unknown {
			fmt.Fprintf(e.Stderr, "round %d: unknown: %s\n", r.Number, r.Reason)
		}
		for _, say := range append(r.Summary.Missed, r.Summary.OtherPlan) {
			_, what, _ := strings.Cut(say, " ") // behind a count
			if !quiet && say != "" && !others[what] {
				others[what] = true
				fmt.Fprintf(e.Stderr, "round %d: %s\n", r.Number, escape.Line(say))
			}
		}
	}
}

// sayTroubles reports how the database broke and, unless brief is set, why attempts did not commit.
func sayTroubles(e *console.Env, h *hunt.Hunted, brief bool) error {
	for _, why := range h.Broken {
		fmt.Fprintf(e.Stderr, "isovet: the database failed, and hunt opened it again: %s\n", why)
	}
	if brief {
		return nil
	}
	return sayAborts(e.Stderr, h.Aborts)
}

// huntStatus returns the exit status of a reported hunt that ended with err.
func huntStatus(ctx context.Context, e *console.Env, h *hunt.Hunted, j *huntJSON, err error) error {
	switch {
	case h.Violated:
		if err != nil {
			fmt.Fprintf(e.Stderr, "isovet: the round ended early: %v\n", err)
		}
		return console.Status(console.StatusViolation)
	case err != nil:
		return console.OrStopped(ctx, err, "hunting")
	case h.Interrupted:
		return console.Exit(console.StatusInterrupted, errors.New("interrupted; hunt had found no violation"))
	case j.Verdict != "none":
		return console.Status(console.StatusUnknown)
	}
	return nil
}

// keep writes a history, with the page and the certificate that explain it.
func keep(e *console.Env, r *evidence.Result, to string) error {
	if err := writeHistory(to, &collect.Result{History: r.H}, console.Auto); err != nil {
		return err
	}
	return errors.Join(
		e.WriteFile(beside(to, ".html"), func(w io.Writer) error { return report.HTML(w, to, r) }),
		e.WriteFile(beside(to, ".cert"), func(w io.Writer) error { return evidence.WriteCertificate(w, r) }),
	)
}

// again returns the command that repeats the round with the violation. It omits the URL of a database that was running
// before, since the URL may contain a password.
func again(f *collectFlags, l level.Level, r *hunt.Round) string {
	db := "URL"
	if len(f.cfg.DB) == 1 && (server.Is(f.cfg.DB[0]) || strings.HasSuffix(f.cfg.DB[0], ":")) {
		db = f.cfg.DB[0]
	}
	if db = collect.Sent(db, r.Send); db != "URL" {
		db = escape.Shell(db)
	}
	does, variant := f.cfg.Workload, f.cfg.Variant
	if r.Workload != "" {
		does, variant = r.Workload, r.Variant
	}
	words := []string{"isovet hunt --db", db, "--level", l.String(), "--workload", escape.Shell(does)}
	add := func(name, value string, set bool) {
		if set {
			words = append(words, "--"+name, escape.Shell(value))
		}
	}
	add("variant", variant, variant != "")
	add("isolation", f.cfg.Isolation, f.cfg.Isolation != "")
	add("keys", strconv.Itoa(r.Keys), r.Keys != 0)
	add("ops", strconv.Itoa(f.cfg.Ops), f.cfg.Ops != 0)
	add("values", strconv.Itoa(f.cfg.Values), f.cfg.Values != 0)
	add("sessions", strconv.Itoa(f.cfg.Sessions), f.cfg.Sessions != 0)
	add("txns", strconv.Itoa(f.cfg.Txns), f.cfg.Txns != 0)
	add("think", f.cfg.Think.String(), f.cfg.Think != 0)
	add("op-timeout", f.cfg.Timeout.String(), f.cfg.Timeout != 0 && f.cfg.Timeout != 10*time.Second)
	if r.Fault.Kind == collect.Schema { // the hunt's own perhaps
		add("fault", r.Fault.String(), true)
	} else {
		add("fault", f.fault, f.fault != "")
	}
	add("fault-script", f.cfg.Fault.Program, f.cfg.Fault.Program != "")
	if f.cfg.Timestamps {
		words = append(words, "--timestamps")
	}
	for _, q := range f.cfg.SetupSQL {
		add("setup-sql", q, true)
	}
	for _, q := range f.cfg.SessionSQL {
		add("session-sql", q, true)
	}
	add("seed", strconv.FormatUint(r.Seed, 10), true)
	return strings.Join(words, " ")
}
