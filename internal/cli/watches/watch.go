// Package watches has the command watch: its flags, sources, log, notices and folders of incidents.
package watches

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"isovet/check/timestamp"
	"isovet/internal/cli/checks"
	"isovet/internal/cli/console"
	"isovet/internal/escape"
	"isovet/internal/plural"
	"isovet/internal/safego"
	"isovet/internal/slice"
	"isovet/level"
	"isovet/watch"
	"isovet/watch/online"
	"isovet/watch/seen"
)

type watchFlags struct {
	level                       level.Level
	state, metric, metricTokens string
	source                      sourceFlags
	keep                        string
	gate                        gateFlags
	incidents                   incidentFlags
	idle, checkpoint            time.Duration
	memory                      int64
	atStart, quiet, standby     bool
	acceptLoss                  bool
	checker, profile, logFormat string
	webhook                     webhookFlags
	horizon                     int
	skew                        time.Duration
	given                       func(flag string) bool
	lines                       *watch.Queue // instead of source
	history                     string       // the history for shrink; "": state
}

// minWatchMemory is the memory for lines in progress.
const minWatchMemory = 16 << 20

var watchCheckers = []string{"replay", "aion", "leopard"}

// NewWatch returns the command watch.
func NewWatch(e *console.Env) *cobra.Command {
	_, c := newWatch(e)
	return c
}

func newWatch(e *console.Env) (*watchFlags, *cobra.Command) {
	f := &watchFlags{level: level.SessionSnapshotIsolation,
		source: sourceFlags{url: "-", durable: "isovet", maxBody: watch.DefaultMaxBody},
		gate:   gateFlags{lateness: "5s", unit: "auto", attach: "auto", jump: time.Minute, patience: time.Minute},
		idle:   5 * time.Second, checkpoint: 30 * time.Second, keep: "10GiB", memory: 1 << 30,
		checker: watchCheckers[0], logFormat: logFormats[0]}
	config := ""
	c := console.Command("watch", console.Exactly(), func(c *cobra.Command, _ []string) error {
		if err := f.webhook.public(); err != nil { // of the command line, not of the file
			return err
		}
		if config != "" {
			if err := Configure(c, config); err != nil {
				return err
			}
		}
		if err := console.Crossed(c); err != nil {
			return err
		}
		f.given = c.Flags().Changed
		return runWatch(c.Context(), e, f)
	})
	console.EnumFlag(c, &f.checker, "checker", "checker", "replay (client times), aion (timestamps) or leopard",
		watchCheckers)
	console.LevelFlag(c, &f.level)
	fl := c.Flags()
	f.source.add(fl)
	fl.StringVar(&f.state, "state", "", "`FOLDER` of this stream: log, state, violations (required)")
	f.gate.add(fl)
	console.EnumFlag(c, &f.gate.unit, "timestamp-unit", "unit",
		"aion: unit of the database's timestamps", watch.UnitNames())
	console.EnumFlag(c, &f.gate.attach, "attach", "mode",
		"take initial values of keys from first reads", watch.AttachNames())
	AddProfile(c, &f.profile, &f.skew)
	fl.Var(console.Size(&f.memory), "memory", "memory bound; idle keys move to FOLDER/keys")
	fl.DurationVar(&f.idle, "idle", f.idle, "idle time after which everything is final; 0: never")
	fl.DurationVar(&f.checkpoint, "checkpoint", f.checkpoint, "period of checkpoints; 0: none")
	fl.StringVar(&f.keep, "keep", f.keep, "how much log to keep: a `DURATION`, a size, both, or all")
	f.incidents.add(fl)
	fl.StringVar(&f.metric, "metrics", "", "`ADDRESS` of a live page, /metrics, /healthz, /readyz")
	fl.StringVar(&f.metricTokens, "metrics-token-file", "", "`FILE` with the valid tokens for --metrics")
	f.webhook.add(fl)
	console.EnumFlag(c, &f.logFormat, "log-format", "format", "form of the log on standard error", logFormats)
	fl.StringVar(&config, "config", "", "YAML `FILE` with values of these flags")
	fl.IntVar(&f.horizon, "horizon", online.DefaultHorizon, "replay: number of transactions to remember")
	fl.BoolVar(&f.atStart, "read-only-at-start", false, "timestamps: read-only transactions commit at their start_ts")
	fl.BoolVar(&f.acceptLoss, "accept-loss", false, "continue with the undamaged part of a damaged log")
	fl.BoolVar(&f.standby, "standby", false, "wait while another process uses the folder")
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "show no table on the terminal")
	return f, c
}

func (f *watchFlags) judge() (watch.Judge, error) {
	ticks, wait, err := f.gate.late(f.checker == "aion")
	if err != nil {
		return nil, err
	}
	gate, err := f.gate.options()
	if err != nil {
		return nil, err
	}
	attach, err := watch.ParseAttach(f.gate.attach)
	if err != nil {
		return nil, console.Usagef("--attach: %v", err)
	}
	if f.checker == "leopard" {
		o, err := LeopardOptions(f.profile, f.skew)
		if err != nil {
			return nil, err
		}
		o.Lateness, o.Attach, o.Gate, o.Bounds = wait.Nanoseconds(), attach, gate, f.bounds()
		if f.given("level") {
			o.Level = &f.level
		}
		return watch.NewLeopard(o)
	}
	if f.checker == "replay" {
		return f.judgeReplay(wait, attach, gate)
	}
	if !slices.Contains(timestamp.Levels(), f.level) {
		return nil, console.Usagef("watch does not decide %s; expected one of %v", f.level, timestamp.Levels())
	}
	unit, err := watch.ParseUnit(f.gate.unit)
	if err != nil {
		return nil, console.Usagef("--timestamp-unit: %v", err)
	}
	return watch.NewAion(watch.AionOptions{Options: timestamp.Options{Level: f.level, ReadOnlyAtStart: f.atStart},
		Lateness: ticks, Wait: wait, Unit: unit, Attach: attach, Gate: gate, Bounds: f.bounds()})
}

func (f *watchFlags) bounds() watch.Bounds {
	return watch.Bounds{Memory: f.memory, Dir: filepath.Join(f.state, "keys")}
}

// judgeReplay makes the judge that uses only client times.
func (f *watchFlags) judgeReplay(wait time.Duration, attach watch.Attach, gate watch.GateOptions) (watch.Judge, error) {
	switch {
	case f.skew < 0:
		return nil, console.Usagef("--clock-skew %v is negative", f.skew)
	case f.horizon < 1:
		return nil, console.Usagef("--horizon %d; expected a number of transactions", f.horizon)
	case !slices.Contains(watch.ReplayLevels(), f.level):
		return nil, console.Usagef("watch does not decide %s; expected one of %v", f.level, watch.ReplayLevels())
	}
	return watch.NewReplay(watch.ReplayOptions{Level: f.level, Skew: f.skew.Nanoseconds(),
		Lateness: wait.Nanoseconds(), Attach: attach, Gate: gate, Horizon: f.horizon, Bounds: f.bounds()})
}

// AddProfile adds the flags of the checker leopard.
func AddProfile(c *cobra.Command, profile *string, skew *time.Duration) {
	c.Flags().StringVar(profile, "profile", "", "leopard: `DATABASE:LEVEL`, a file, or auto (isovet profiles)")
	c.Flags().DurationVar(skew, "clock-skew", 0, "widen client intervals by this at both ends")
	console.CompleteDescribed(c, "profile", "profile", checks.ProfileNames())
}

func LeopardOptions(profile string, skew time.Duration) (watch.LeopardOptions, error) {
	if skew < 0 {
		return watch.LeopardOptions{}, console.Usagef("--clock-skew %v is negative", skew)
	}
	p, err := checks.LoadProfile(profile)
	return watch.LeopardOptions{Profile: p, Skew: skew.Nanoseconds()}, err
}

// shrinkCommand returns the command that finds the smallest history with the same verdict in the log.
func (f *watchFlags) shrinkCommand() string {
	words := []string{"isovet", "shrink", cmp.Or(f.history, f.state), "--checker"}
	switch {
	case f.checker == "leopard":
		words = append(words, "leopard")
		if f.profile != "" {
			words = append(words, "--profile", f.profile)
		}
		if f.given("level") {
			words = append(words, "--level", f.level.String())
		}
		if f.skew > 0 {
			words = append(words, "--clock-skew", f.skew.String())
		}
	case f.checker == "replay":
		words = append(words, "replay", "--level", f.level.String())
		if f.skew > 0 {
			words = append(words, "--clock-skew", f.skew.String())
		}
	default:
		words = append(words, "chronos", "--level", f.level.String())
		if f.atStart {
			words = append(words, "--read-only-at-start")
		}
	}
	return strings.Join(slice.Map(append(words, "-o", "small.jsonl"), escape.Shell), " ")
}

// verdict returns the exit status of the findings.
func (f *watchFlags) verdict(s *watch.Snapshot) int {
	switch {
	case slice.Sum(maps.Values(s.Violations)) == 0:
		return console.StatusOK
	case (f.checker == "leopard" || f.checker == "replay") && s.Proved == 0:
		return console.StatusUnknown
	}
	return console.StatusViolation
}

// stoppedWatch ends a watch that a signal stops.
func stoppedWatch(ctx context.Context, e *console.Env) error {
	if errors.Is(context.Cause(ctx), console.Terminated{}) {
		fmt.Fprintln(e.Stderr, "isovet: SIGTERM ended watch; start the same command to go on")
		return nil
	}
	return console.Exit(console.StatusInterrupted, fmt.Errorf("interrupted; start the same command to go on"))
}

func runWatch(ctx context.Context, e *console.Env, f *watchFlags) error {
	if err := f.validate(); err != nil {
		return err
	}
	keep, err := Keeping(f.keep)
	if err != nil {
		return err
	}
	defer console.Private()()
	judge, err := f.judge()
	if err != nil {
		return err
	}
	if f.memory > 0 {
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(f.memory - f.memory/8)) // the rest is the store's
	}
	var m watch.Metrics
	table := newTable(e.Stderr, &m, f.quiet || f.lines != nil)
	e.Stdout, e.Stderr = table.above(e.Stdout), table.above(e.Stderr)
	log := newLog(e.Stderr, f.logFormat)
	source := &opening{open: func(context.Context, watch.Places) (watch.Source, error) { return f.lines, nil }}
	if f.lines == nil {
		if source, err = f.source.open(e, f.state, judge, log); err != nil {
			return err
		}
	}
	defer source.close()
	var incidents watch.Incidents
	var background safego.Group
	defer background.Wait()
	notifier, err := NewNotifier(os.Getenv)
	if err != nil {
		return err
	}
	background.Go(func() { notifier.run(ctx, &m, f.standby) })
	defer notifier.close()
	if f.metric != "" {
		server, err := f.serve(ctx, &m, &incidents, log)
		switch {
		case err != nil && ctx.Err() != nil:
			return stoppedWatch(ctx, e)
		case err != nil:
			return err
		}
		defer func() { _ = server.Close() }() // no error can be reported any more
	}
	hook, err := f.webhook.open(seen.WebhookOptions{State: f.state, Log: log, Incidents: incidents.List})
	if err != nil {
		return err
	}
	if hook != nil {
		defer hook.Close()
	}
	background.Go(table.run)
	defer table.close()
	folders := IncidentFolders{State: f.state, Most: f.incidents.folders, Of: &incidents, Log: log,
		check: checks.CheckFlags{Skew: f.skew, AtStart: f.atStart}}
	folders.begin(ctx, &background)
	out := lineWriter{to: e.Stdout}
	config := f.config(judge, keep, &out, hook)
	config.Metrics, config.Incidents, config.Log, config.Bad = &m, &incidents, log, f.badLines(e, log)
	config.Prepare, config.Open = source.prepare, source.open
	err = watch.Run(ctx, config)
	folders.end()
	switch {
	case err != nil && ctx.Err() != nil:
		return stoppedWatch(ctx, e)
	case err != nil && !errors.Is(err, watch.ErrDropped):
		return err
	case out.err != nil:
		return out.err
	}
	return errors.Join(console.Status(f.concluded(e, &m, &incidents)), err)
}

// config returns the watch's configuration. Violations go to out, and to hook, if there is one.
func (f *watchFlags) config(judge watch.Judge, keep watch.Keep, out *lineWriter, hook *seen.Webhook) watch.Config {
	config := watch.Config{Dir: f.state, Judge: judge, Idle: f.idle, Standby: f.standby, AcceptLoss: f.acceptLoss,
		Checkpoint: f.checkpoint, Memory: f.memory, Keep: keep, Grouped: !f.incidents.every,
		ViolationsMax: f.incidents.max, Evidence: f.incidents.kept,
		Violation: func(line []byte) {
			if hook != nil {
				hook.Add(line)
			}
			out.write(line)
		}}
	if f.incidents.early {
		config.Suspect = out.write
	}
	return config
}

// lineWriter writes lines, and stores the first error.
type lineWriter struct {
	to  io.Writer
	err error
}

func (w *lineWriter) write(line []byte) {
	if _, err := fmt.Fprintf(w.to, "%s\n", line); err != nil && w.err == nil {
		w.err = err
	}
}

// validate returns an error about impossible settings.
func (f *watchFlags) validate() error {
	switch {
	case f.state == "":
		return console.Usagef("--state FOLDER is missing: it keeps the segment log and the violations")
	case f.idle < 0:
		return console.Usagef("--idle %v is negative", f.idle)
	case f.checkpoint < 0:
		return console.Usagef("--checkpoint %v is negative", f.checkpoint)
	case f.memory > 0 && f.memory < minWatchMemory:
		return console.Usagef("--memory %v; expected %d at least", console.Size(&f.memory), minWatchMemory)
	}
	return f.incidents.check()
}

// badLines reports the first ten lines that are not transactions.
func (f *watchFlags) badLines(e *console.Env, log *slog.Logger) func(place int64, err error) {
	var bad atomic.Int64
	return func(place int64, err error) {
		switch n := bad.Add(1); {
		case n > 10:
		case f.logFormat == "json":
			log.Warn("watch ignored a line that is not a transaction", "source", f.source.said(), "place",
				f.source.place(place), "error", err)
		default:
			fmt.Fprintf(e.Stderr, "isovet: %s: %s: %v\n", f.source.said(), f.source.place(place), err)
		}
	}
}

// concluded reports the result of an ended watch, and returns the exit status.
func (f *watchFlags) concluded(e *console.Env, m *watch.Metrics, incidents *watch.Incidents) int {
	s := m.Get()
	worst := f.verdict(&s)
	if !f.quiet {
		f.incidents.say(e.Stderr, f.state, incidents)
	}
	if !f.quiet && slices.ContainsFunc(slices.Collect(maps.Keys(s.Violations)), func(class string) bool {
		return class != "LATE" && class != "JUMP" && class != "GAP" && s.Violations[class] > 0
	}) {
		fmt.Fprintf(e.Stderr, "isovet: this command finds the smallest history with a violation: %s\n",
			f.shrinkCommand())
	}
	for _, c := range s.More {
		switch {
		case c.N == 0 || f.quiet:
		case c.Name == "duplicates_total":
			fmt.Fprintf(e.Stderr, "isovet: %s: watch ignored %s\n", f.source.said(),
				plural.Of(c.N, "duplicate transaction"))
		case c.Name == "predicates_unjudged_total":
			fmt.Fprintf(e.Stderr, "isovet: %s: watch did not judge all rows that %s missed\n", f.source.said(),
				plural.Of(c.N, "predicate operation"))
		}
	}
	if s.Bad > 0 {
		fmt.Fprintf(e.Stderr, "isovet: %s: watch ignored %s that held no transaction\n", f.source.said(),
			plural.Of(s.Bad, "line"))
		worst = console.Worse(worst, console.StatusBadInput)
	}
	return worst
}
