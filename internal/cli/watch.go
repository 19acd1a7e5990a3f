package cli

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"isovet/internal/safego"
	"isovet/level"
	"isovet/timestamp"
	"isovet/watch"
)

type watchFlags struct {
	level                          level.Level
	source, state, durable, metric string
	lateness                       int64
	idle                           time.Duration
	atStart, once, quiet           bool
}

func newWatch(e *env) *cobra.Command {
	f := watchFlags{level: level.SessionSnapshotIsolation, source: "-", durable: "isovet", lateness: 10_000, idle: 5 * time.Second}
	c := &cobra.Command{
		Use: "watch [flags]", GroupID: "work",
		Short: "Check transactions online, as they arrive, by the database's timestamps",
		Long: `watch takes transactions as JSON lines of the history format, with start_ts and commit_ts, from a source: standard input, a
file that grows, an address to listen on for POST, or a JetStream subject. Each is written to a segment log before it is acknowledged.
A violation is written, as a JSON line, once no later arrival can change it. Killed and started again on the same folder, it goes on
where it was: the log is read again, and no violation is lost or written twice.

Verdicts are those of checker aion. A transaction may arrive so late that it starts --lateness below the latest start seen; below
that it is late: it is not judged, and a LATE line says so. After --idle without arrivals all that has arrived is final.

Exit status: 0 the source ended without a violation, 1 there were violations, 254 bad input or flags, 255 a fault of isovet's,
130 interrupted: start it again to go on.`,
		Example: `  isovet watch --state w < stream.jsonl
  isovet watch --state w --source history.jsonl --lateness 1000000 --metrics :9090
  isovet watch --state w --source http://127.0.0.1:8090
  isovet watch --state w --source nats://127.0.0.1:4222/txns`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error { return runWatch(c.Context(), e, &f) },
	}
	levelFlag(c, &f.level)
	fl := c.Flags()
	fl.StringVar(&f.source, "source", f.source, "`SOURCE`: - (standard input), a file, http://ADDRESS to listen on, nats://HOST:PORT/SUBJECT")
	fl.StringVar(&f.state, "state", "", "`FOLDER` of the segment log and the violations; one stream each (required)")
	fl.Int64Var(&f.lateness, "lateness", f.lateness, "how late a transaction may arrive, in the database's timestamps")
	fl.DurationVar(&f.idle, "idle", f.idle, "after so long without arrivals everything is final; 0: never")
	fl.StringVar(&f.durable, "durable", f.durable, "name of the JetStream consumer")
	fl.StringVar(&f.metric, "metrics", "", "`ADDRESS` to serve Prometheus metrics on, under /metrics")
	fl.BoolVar(&f.atStart, "read-only-at-start", false, "serializable levels: transactions without writes stand at their start_ts")
	fl.BoolVar(&f.once, "once", false, "a file: end with it, and do not wait for more")
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "no table on the terminal")
	return c
}

// open makes the source that the flag names.
func (f *watchFlags) open(e *env) (func(ctx context.Context, after int64, none bool) (watch.Source, error), error) {
	u, err := url.Parse(f.source)
	switch {
	case f.source == "-":
		return func(_ context.Context, after int64, _ bool) (watch.Source, error) {
			return watch.Pipe(e.stdin, after), nil
		}, nil
	case err == nil && u.Scheme == "http":
		if u.Path != "" && u.Path != "/" || u.Port() == "" {
			return nil, usagef("--source %s; expected http://HOST:PORT, the address to listen on", f.source)
		}
		return func(_ context.Context, after int64, _ bool) (watch.Source, error) { return watch.HTTP(u.Host, after) }, nil
	case err == nil && (u.Scheme == "nats" || u.Scheme == "tls"):
		subject := strings.Trim(u.Path, "/")
		if subject == "" {
			return nil, usagef("--source %s; expected nats://HOST:PORT/SUBJECT", f.source)
		}
		server := *u
		server.Path = ""
		return func(ctx context.Context, after int64, _ bool) (watch.Source, error) {
			return watch.NATS(ctx, server.String(), subject, f.durable, max(after, 0))
		}, nil
	case err == nil && len(u.Scheme) > 1 && u.Host != "":
		return nil, usagef("--source %s: unknown kind %q; expected -, a file, http://HOST:PORT or nats://HOST:PORT/SUBJECT", f.source, u.Scheme)
	}
	if _, err := os.Stat(f.source); err != nil {
		return nil, err
	}
	return func(_ context.Context, after int64, _ bool) (watch.Source, error) {
		return watch.File(f.source, after, f.once)
	}, nil
}

func runWatch(ctx context.Context, e *env, f *watchFlags) error {
	switch {
	case f.state == "":
		return usagef("--state FOLDER is missing: it keeps the segment log and the violations")
	case !slices.Contains(timestamp.Levels(), f.level):
		return usagef("watch does not decide %s; expected one of %v", f.level, timestamp.Levels())
	case f.lateness < 0 || f.lateness > watch.AllLate:
		return usagef("--lateness %d; expected 0 to %d", f.lateness, int64(watch.AllLate))
	case f.idle < 0:
		return usagef("--idle %v is negative", f.idle)
	}
	open, err := f.open(e)
	if err != nil {
		return err
	}
	var m watch.Metrics
	var background safego.Group
	defer background.Wait()
	if f.metric != "" {
		ln, err := net.Listen("tcp", f.metric)
		if err != nil {
			return usagef("--metrics: %v", err)
		}
		mux := http.NewServeMux()
		mux.Handle("GET /metrics", &m)
		s := http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
		background.Go(func() { _ = s.Serve(ln) }) // it ends when it is closed
		defer s.Close()
	}
	table := newWatchTable(e.stderr, &m, f.quiet)
	background.Go(table.run)
	defer table.close()
	var bad atomic.Int64
	var broken error // of standard output
	err = watch.Run(ctx, watch.Config{
		Dir: f.state, Options: timestamp.Options{Level: f.level, ReadOnlyAtStart: f.atStart}, Lateness: f.lateness, Idle: f.idle, Open: open, Metrics: &m,
		Violation: func(line []byte) {
			if _, err := fmt.Fprintf(e.stdout, "%s\n", line); err != nil && broken == nil {
				broken = err
			}
		},
		Bad: func(place int64, err error) {
			if n := bad.Add(1); n <= 10 {
				fmt.Fprintf(e.stderr, "isovet: %s: at %d: %v\n", f.source, place, err)
			}
		},
	})
	switch {
	case err != nil && ctx.Err() != nil:
		return &exitError{statusInterrupted, fmt.Errorf("interrupted; the same command goes on where it was")}
	case err != nil:
		return err
	case broken != nil:
		return broken
	}
	worst := statusOK
	s := m.Get()
	for _, n := range s.Violations {
		if n > 0 {
			worst = worse(worst, statusViolation)
		}
	}
	if s.Bad > 0 {
		fmt.Fprintf(e.stderr, "isovet: %s: %d lines are no transactions, and were left out\n", f.source, s.Bad)
		worst = worse(worst, statusBadInput)
	}
	return status(worst)
}

// watchTable draws the counts on a terminal, over and over in one place.
type watchTable struct {
	w     io.Writer
	m     *watch.Metrics
	shown bool
	stop  chan struct{}
	drawn int
}

func newWatchTable(w io.Writer, m *watch.Metrics, quiet bool) *watchTable {
	return &watchTable{w: w, m: m, shown: !quiet && interactive(w, os.Getenv), stop: make(chan struct{})}
}

func (t *watchTable) close() { close(t.stop) }

func (t *watchTable) run() {
	if !t.shown {
		return
	}
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	was, at := int64(0), time.Now()
	for {
		select {
		case <-t.stop:
			t.draw(0)
			return
		case now := <-tick.C:
			n := t.m.Get().Aion.Txns
			t.draw(float64(n-was) / now.Sub(at).Seconds())
			was, at = n, now
		}
	}
}

func (t *watchTable) draw(rate float64) {
	s := t.m.Get()
	var b strings.Builder
	if t.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\x1b[J", t.drawn) // back to where it began
	}
	total := int64(0)
	var by []string
	for _, a := range []timestamp.Axiom{timestamp.TIMESTAMPS, timestamp.SESSION, timestamp.INT, timestamp.EXT, timestamp.NOCONFLICT, timestamp.LATE} {
		if n := s.Violations[a.String()]; n > 0 {
			total += n
			by = append(by, fmt.Sprintf("%s %d", a, n))
		}
	}
	fmt.Fprintf(&b, "transactions %12d   a second %10.0f   in the window %8d   late %6d\n", s.Aion.Txns, rate, s.Aion.Window, s.Aion.Late)
	fmt.Fprintf(&b, "keys         %12d   flips    %10d   final up to %10d   log %7.1f MB\n", s.Keys, s.Aion.Flips, s.Watermark, float64(s.LogBytes)/1e6)
	fmt.Fprintf(&b, "violations   %12d   %s\n", total, strings.Join(by, "   "))
	t.drawn = 3
	fmt.Fprint(t.w, b.String())
}
