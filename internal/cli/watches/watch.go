// Package watches holds the command watch: its flags, sources, log, notices and folders of incidents.
package watches

import (
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
	"isovet/internal/safego"
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
}

// minWatchMemory is what lines that are under way take.
const minWatchMemory = 16 << 20

// watchCheckers are those that judge a stream.
var watchCheckers = []string{"replay", "aion", "leopard"}

const watchHelp = `watch takes transactions as JSON lines of the history format from a source: standard input, a file that grows
and is rotated, an address to listen on for POST, a JetStream subject, or a topic of Kafka. It writes each transaction
to a segment log before it acknowledges it. It writes a violation, as a JSON line, once no later arrival can change it.
Every --checkpoint it writes down its state. If it is killed and started again on the same folder, it goes on from there
with the rest of the log; no violation is lost or written twice. A folder keeps the checker, level, profile, clock skew
and lateness that it began with. It is one process's at a time; another one refuses to begin, or waits (--standby). When
its source has ended, a later run goes on.

--checker replay (the default) looks for an order of the transactions, and needs nothing but what every application can
give: what it read and wrote, and when each transaction started and ended by the client's clock. Each violation is a
certified one. What it can neither explain nor refute, with what it remembers (--horizon) or in the steps that a search
may take, is UNDECIDED. It judges registers. --checker aion uses the database's timestamps, start_ts and commit_ts, and
judges lists too. Few databases give both to a client while it runs: etcd (revisions) and TiDB (@@tidb_last_txn_info).
PostgreSQL, MySQL, MariaDB and SQLite give none; PostgreSQL's and Badger's are known after a run (isovet collect
--timestamps). --checker leopard uses client times, start, commit and end, and verifies the mechanisms of the database
that --profile names. Its violations hold under the profile. Those with "proved" also violate the level by themselves
(--level, or else the level of the profile).

A transaction is late if it starts more than --lateness before what more than one session has reached. aion finds out
what the timestamps are (--timestamp-unit); where they do not tell time, such as a counter, a transaction is late if
it starts before what the stream had reached --lateness ago, by the clock. A late transaction is not judged, and a LATE
line says so. A read of what nobody has written waits for its writer for --patience, and is not judged if that comes
late. After --idle without arrivals, everything that has arrived is final.

Violations of one kind on one key, or of a kind on many keys, are an incident: FOLDER/violations.jsonl and standard
output have the first of them in full, then a line each time that their number has doubled; FOLDER/incidents.jsonl has
all incidents as they are now (--all-violations, --violations-max). Of the first of each incident FOLDER/evidence has a
small history and a certificate, which isovet check and isovet verify take (--evidence); FOLDER/incidents has a folder
of each for the maintainers of the database, as isovet report -o DIR writes them (--incident-folders).

A transaction that comes again, by its id, is taken once. One that is more than --max-jump ahead of the others, and of
the clock, is not judged, and a JUMP line says so; once as many sessions are there as are not, all are judged. A GAP
line says that transactions of a session are missing, by their "seq". Without an initial transaction keys hold at first
what the first read of them shows (--attach).

One process judges one stream: 200,000 to 650,000 transactions a second on one core. A stream that brings more is
recorded, and checked in parts afterwards: isovet check --spill, or the Beam module.

Memory is bounded (--memory): what is known of idle keys lies in FOLDER/keys, and comes back when it is needed.

The folder is a history too: isovet check, shrink and convert read its log. At the end of a source with violations
watch prints the command that finds the smallest history that shows one.

Exit status: 0 the source ended and nothing was found; 1 there were violations (leopard, replay: proved ones; aion: or
LATE, JUMP or GAP lines); 2 leopard, replay: there were only violations under the profile, UNDECIDED ones, or such
lines; 254 bad input or flags; 255 a fault of isovet's own; 130 interrupted. SIGTERM ends it with 0 after a checkpoint.
Start it again to continue.`

const watchExamples = `  isovet watch --state w < stream.jsonl
  isovet watch --state w --source history.jsonl --lateness 1s --metrics :9090
  isovet watch --state w --source http://127.0.0.1:8090
  isovet watch --state w --source 'txns-*.jsonl'
  isovet watch --state w --source https://0.0.0.0:8443 --tls-cert cert.pem --tls-key key.pem --token-file tokens
  isovet watch --state w --source nats://127.0.0.1:4222/txns
  isovet watch --config /etc/isovet/watch.yaml
  isovet watch --state w --source kafka://127.0.0.1:9092/txns
  isovet watch --state w --checker leopard --profile postgresql:repeatable-read --clock-skew 50us < stream.jsonl
  isovet watch --state w --level strict-serializable < stream.jsonl
  isovet watch --state w --checker aion --level snapshot-isolation < etcd.jsonl
  isovet shrink w --checker chronos --level session-snapshot-isolation -o small.jsonl`

func NewWatch(e *console.Env) *cobra.Command {
	f := watchFlags{level: level.SessionSnapshotIsolation, source: defaultSource(),
		gate: defaultGate(), idle: 5 * time.Second, checkpoint: 30 * time.Second, keep: "10GiB", memory: 1 << 30,
		checker: watchCheckers[0], logFormat: logFormats[0]}
	config := ""
	c := &cobra.Command{
		Use: "watch [flags]", GroupID: "work",
		Short:   "Check transactions online, as they arrive",
		Long:    watchHelp,
		Example: watchExamples,
		Args:    console.Exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.webhook.public(); err != nil { // of the command line, not of the file
				return err
			}
			if config != "" {
				if err := configure(c, config); err != nil {
					return err
				}
			}
			f.given = c.Flags().Changed
			return runWatch(c.Context(), e, &f)
		},
	}
	console.EnumFlag(c, &f.checker, "checker", "checker", "what judges: replay, by client times alone; aion, by "+
		"timestamps; or leopard, by client times and a profile",
		watchCheckers)
	console.LevelFlag(c, &f.level)
	fl := c.Flags()
	f.source.add(fl)
	fl.StringVar(&f.state, "state", "", "`FOLDER` of the segment log and the violations; one stream each (required)")
	f.gate.add(fl)
	console.EnumFlag(c, &f.gate.unit, "timestamp-unit", "unit",
		"aion: what the database's timestamps are: since 1970, or a "+
			"TSO, or none, numbers that only grow", watch.UnitNames())
	console.EnumFlag(c, &f.gate.attach, "attach", "mode",
		"whether keys hold what nobody knows when the stream begins; auto: "+
			"without an initial transaction and value", watch.AttachNames())
	AddProfile(c, &f.profile, &f.skew)
	fl.Var(console.Size(&f.memory), "memory", "how much memory to take, such as 256MiB: what is known of idle keys "+
		"lies in the folder")
	fl.DurationVar(&f.idle, "idle", f.idle, "after so long without arrivals everything is final; 0: never")
	fl.DurationVar(&f.checkpoint, "checkpoint", f.checkpoint, "how often the state is written, so that a restart goes "+
		"on from there; 0: never, a restart judges the log again")
	fl.StringVar(&f.keep, "keep", f.keep, "how much of the log stays that the state does not rest on: a `DURATION` such as "+
		"24h, a size on disk such as 10GiB, both with a comma, or all")
	f.incidents.add(fl)
	fl.StringVar(&f.metric, "metrics", "", "`ADDRESS` to tell over HTTP how it is: a live page at /, /metrics for "+
		"Prometheus, /healthz, /readyz; without a host this machine's own")
	fl.StringVar(&f.metricTokens, "metrics-token-file", "", "a `FILE` of tokens, one a line, one of which who asks "+
		"--metrics must have, but for /healthz and /readyz; a browser asks for it as a password")
	f.webhook.add(fl)
	console.EnumFlag(c, &f.logFormat, "log-format", "format",
		"how what an operator should know is written to standard error",
		logFormats)
	fl.StringVar(&config, "config", "", "`FILE`, YAML, with values for these flags by their names; those on the command "+
		"line go before")
	fl.IntVar(&f.horizon, "horizon", online.DefaultHorizon, "replay: how many transactions of the order are remembered")
	fl.BoolVar(&f.atStart, "read-only-at-start", false, "serializable levels: transactions without writes stand at "+
		"their start_ts")
	fl.BoolVar(&f.acceptLoss, "accept-loss", false, "where the log ends before its checkpoint, or is damaged in its "+
		"midst, go on with what is whole, and ask the source for what is behind that again")
	fl.BoolVar(&f.standby, "standby", false, "where another process watches with the folder, wait until it ends")
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "no table on the terminal")
	return c
}

// judge makes what judges.
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
		if f.given("horizon") {
			return nil, console.Usagef("--horizon is the checker replay's; leopard remembers what it needs")
		}
		if f.atStart {
			return nil, console.Usagef("--read-only-at-start is for timestamps; leopard goes by client times")
		}
		if f.given("timestamp-unit") {
			return nil, console.Usagef("--timestamp-unit is for the database's timestamps; leopard goes by client " +
				"times, in ns")
		}
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
	switch {
	case f.profile != "" || f.skew != 0:
		return nil, console.Usagef("--profile and --clock-skew are the checker leopard's; add --checker leopard")
	case f.given("horizon"):
		return nil, console.Usagef("--horizon is the checker replay's; add --checker replay")
	case !slices.Contains(timestamp.Levels(), f.level):
		return nil, console.Usagef("watch does not decide %s; expected one of %v", f.level, timestamp.Levels())
	}
	unit, err := watch.ParseUnit(f.gate.unit)
	if err != nil {
		return nil, console.Usagef("--timestamp-unit: %v", err)
	}
	return watch.NewAion(watch.AionOptions{Options: timestamp.Options{Level: f.level, ReadOnlyAtStart: f.atStart},
		Lateness: ticks, Wait: wait, Unit: unit, Attach: attach, Gate: gate,
		Bounds: f.bounds()})
}

// bounds are those of memory.
func (f *watchFlags) bounds() watch.Bounds {
	return watch.Bounds{Memory: f.memory, Dir: filepath.Join(f.state, "keys")}
}

// judgeReplay makes the judge that goes by client times alone.
func (f *watchFlags) judgeReplay(wait time.Duration, attach watch.Attach, gate watch.GateOptions) (watch.Judge, error) {
	switch {
	case f.atStart:
		return nil, console.Usagef("--read-only-at-start is for timestamps; replay goes by client times; add " +
			"--checker aion")
	case f.given("timestamp-unit"):
		return nil, console.Usagef("--timestamp-unit is for the database's timestamps; replay goes by client times; " +
			"add --checker aion")
	case f.profile != "":
		return nil, console.Usagef("--profile is the checker leopard's; add --checker leopard")
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
	c.Flags().StringVar(profile, "profile", "", "leopard: how the database works inside, `DATABASE:LEVEL`, a file, "+
		"or auto, what the header says (isovet profiles)")
	c.Flags().DurationVar(skew, "clock-skew", 0, "leopard, replay: widen every client interval by this much at "+
		"both ends")
	console.CompleteDescribed(c, "profile", "profile", checks.ProfileNames())
}

func LeopardOptions(profile string, skew time.Duration) (watch.LeopardOptions, error) {
	if skew < 0 {
		return watch.LeopardOptions{}, console.Usagef("--clock-skew %v is negative", skew)
	}
	p, err := checks.LoadProfile(profile)
	return watch.LeopardOptions{Profile: p, Skew: skew.Nanoseconds()}, err
}

// shrinkCommand is the command that cuts the log down to the smallest history that is judged as watch judges.
func (f *watchFlags) shrinkCommand() string {
	words := []string{"isovet", "shrink", f.state, "--checker"}
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
	words = append(words, "-o", "small.jsonl")
	for i, w := range words {
		words[i] = escape.Shell(w)
	}
	return strings.Join(words, " ")
}

// verdict is the exit status of what was found.
func (f *watchFlags) verdict(s *watch.Snapshot) int {
	total := int64(0)
	for _, n := range s.Violations {
		total += n
	}
	switch {
	case total == 0:
		return console.StatusOK
	case (f.checker == "leopard" || f.checker == "replay") && s.Proved == 0:
		return console.StatusUnknown
	}
	return console.StatusViolation
}

// stoppedWatch is what becomes of a watch that a signal ends.
func stoppedWatch(ctx context.Context, e *console.Env) error {
	if errors.Is(context.Cause(ctx), console.Terminated{}) {
		fmt.Fprintln(e.Stderr, "isovet: ended by SIGTERM; the same command goes on where it was")
		return nil
	}
	return console.Exit(console.StatusInterrupted, fmt.Errorf("interrupted; the same command goes on where it was"))
}

func runWatch(ctx context.Context, e *console.Env, f *watchFlags) error {
	if err := f.validate(); err != nil {
		return err
	}
	keep, err := keeping(f.keep)
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
	log := newLog(e.Stderr, f.logFormat)
	source, err := f.source.open(e, f.state, judge, log)
	if err != nil {
		return err
	}
	defer source.close()
	var m watch.Metrics
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
		defer func() { _ = server.Close() }() // nobody can be told any more
	}
	hook, err := f.webhook.open(seen.WebhookOptions{State: f.state, Log: log, Incidents: incidents.List})
	if err != nil {
		return err
	}
	if hook != nil {
		defer hook.Close()
	}
	table := newWatchTable(e.Stderr, &m, f.quiet)
	background.Go(table.run)
	defer table.close()
	folders := incidentFolders{state: f.state, most: f.incidents.folders, of: &incidents, log: log,
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
	case err != nil:
		return err
	case out.err != nil:
		return out.err
	}
	return console.Status(f.concluded(e, &m, &incidents))
}

// config says what to watch; violations are written to out, and told to hook, if there is one.
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

// lineWriter writes lines, and has the first error.
type lineWriter struct {
	to  io.Writer
	err error
}

func (w *lineWriter) write(line []byte) {
	if _, err := fmt.Fprintf(w.to, "%s\n", line); err != nil && w.err == nil {
		w.err = err
	}
}

// validate says which settings cannot be.
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

// badLines reports lines that are no transactions: the first ten of them.
func (f *watchFlags) badLines(e *console.Env, log *slog.Logger) func(place int64, err error) {
	var bad atomic.Int64
	return func(place int64, err error) {
		switch n := bad.Add(1); {
		case n > 10:
		case f.logFormat == "json":
			log.Warn("a line is no transaction, and is left out", "source", f.source.said(), "place",
				f.source.place(place), "error", err)
		default:
			fmt.Fprintf(e.Stderr, "isovet: %s: %s: %v\n", f.source.said(), f.source.place(place), err)
		}
	}
}

// concluded says what came of a watch that has ended, and returns the exit status.
func (f *watchFlags) concluded(e *console.Env, m *watch.Metrics, incidents *watch.Incidents) int {
	s := m.Get()
	worst := f.verdict(&s)
	if !f.quiet {
		f.incidents.say(e.Stderr, f.state, incidents)
	}
	if !f.quiet && slices.ContainsFunc(slices.Collect(maps.Keys(s.Violations)), func(class string) bool {
		return class != "LATE" && class != "JUMP" && class != "GAP" && s.Violations[class] > 0
	}) {
		fmt.Fprintf(e.Stderr, "isovet: the smallest history that shows a violation: %s\n", f.shrinkCommand())
	}
	for _, c := range s.More {
		if c.Name == "duplicates_total" && c.N > 0 && !f.quiet {
			fmt.Fprintf(e.Stderr, "isovet: %s: %d transactions came again, and were taken once\n", f.source.said(),
				c.N)
		}
	}
	if s.Bad > 0 {
		fmt.Fprintf(e.Stderr, "isovet: %s: %d lines are no transactions, and were left out\n", f.source.said(), s.Bad)
		worst = console.Worse(worst, console.StatusBadInput)
	}
	return worst
}
