package collects

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/spf13/cobra"

	"isovet/collect"
	"isovet/history"
	"isovet/internal/cli/console"
	"isovet/internal/cli/watches"
	"isovet/internal/escape"
	"isovet/internal/slice"
	"isovet/internal/sqlstmt"
	"isovet/level"
	"isovet/record"
	"isovet/record/proxy"
	"isovet/watch"
)

type proxyFlags struct {
	db, listen, out string
	cert, key       string
	stall           float64
	stallFor        time.Duration
	rotate          collect.Rotate
	doctor, json    bool
	quiet, watch    bool
	judge           watches.Beside
}

// NewProxy returns the command proxy.
func NewProxy(e *console.Env) *cobra.Command {
	f := proxyFlags{judge: watches.Beside{Level: level.SnapshotIsolation}}
	c := console.Command("proxy", console.Exactly(), func(c *cobra.Command, _ []string) error {
		return f.run(c.Context(), e)
	})
	console.LevelFlag(c, &f.judge.Level)
	fl := c.Flags()
	fl.StringVar(&f.db, "db", "", "PostgreSQL's `URL`")
	fl.StringVar(&f.listen, "listen", "127.0.0.1:6432", "`ADDRESS` that programs connect to")
	fl.StringVarP(&f.out, "out", "o", "", "new or empty `DIR` for the recording")
	fl.Var(RotateValue{&f.rotate}, "rotate", "when a part of the recording ends, such as 256MiB or 10m")
	fl.BoolVar(&f.watch, "watch", false, "check transactions as they end")
	fl.StringVar(&f.judge.Metrics, "metrics", "", "`ADDRESS` of a live page of --watch, and of /metrics")
	fl.Float64Var(&f.stall, "stall", 0, "share of statements to delay, from 0 to 1")
	fl.DurationVar(&f.stallFor, "stall-for", 20*time.Millisecond, "longest delay of --stall")
	fl.StringVar(&f.cert, "tls-cert", "", "certificate `FILE` (PEM) for programs that ask for TLS")
	fl.StringVar(&f.key, "tls-key", "", "private key `FILE` (PEM) of --tls-cert")
	fl.BoolVar(&f.doctor, "doctor", false, "only show which tables can be recorded")
	fl.BoolVar(&f.json, "json", false, "print a summary as a JSON object")
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "print errors only")
	return c
}

func (f *proxyFlags) run(ctx context.Context, e *console.Env) error {
	if f.db == "" {
		return console.Usagef("--db URL is missing, such as --db postgres://localhost/shop\nSee isovet proxy --help")
	}
	if f.stall < 0 || f.stall > 1 || f.stallFor <= 0 {
		return console.Usagef("--stall %g, --stall-for %v; expected a share from 0 to 1, and a time above 0", f.stall,
			f.stallFor)
	}
	if f.judge.Metrics != "" && !f.watch {
		return console.Usagef("--metrics without --watch; expected both")
	}
	if l := f.judge.Level; f.watch && (l.RealTime() || !slices.Contains(watch.ReplayLevels(), l)) {
		return console.Usagef("--watch does not decide %s; expected a level of serializability or snapshot isolation "+
			"without real time", l)
	}
	config, err := pgx.ParseConfig(f.db)
	if err != nil {
		return console.Usagef("--db: %v", err)
	}
	if f.doctor {
		return f.diagnose(ctx, e, config)
	}
	if f.out == "" {
		return console.Usagef("-o DIR is missing: the folder for the recording")
	}
	if err := rotating(&f.rotate, f.out, ""); err != nil {
		return console.Exit(console.StatusBadInput, err)
	}
	o := proxy.Options{Stall: f.stall, StallFor: f.stallFor, ServerTLS: config.TLSConfig}
	o.Network, o.Server = pgconn.NetworkAddress(config.Host, config.Port)
	for _, other := range config.Fallbacks {
		o.TLSOptional = o.TLSOptional || other.TLSConfig == nil
	}
	if f.cert != "" || f.key != "" {
		pair, err := tls.LoadX509KeyPair(f.cert, f.key)
		if err != nil {
			return console.Usagef("--tls-cert, --tls-key: %v", err)
		}
		o.ClientTLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	}
	return f.serve(ctx, e, o, f.about(ctx, config))
}

// about returns the recording's header with data about the database, if --db can log in.
func (f *proxyFlags) about(ctx context.Context, config *pgx.ConnConfig) history.Meta {
	m := history.Meta{DB: "postgresql"}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return m // programs log in by themselves
	}
	defer conn.Close(ctx)
	if err := conn.QueryRow(ctx, "SHOW default_transaction_isolation").Scan(&m.Isolation); err != nil {
		m.Isolation = ""
	}
	if v := conn.PgConn().ParameterStatus("server_version"); v != "" {
		m.DB += " " + v
	}
	return m
}

// proxyEnd is what "isovet proxy --json" prints.
type proxyEnd struct {
	Out           string           `json:"out"`
	Committed     int64            `json:"committed"`
	Aborted       int64            `json:"aborted"`
	Unknown       int64            `json:"unknown"`
	Ops           int64            `json:"ops"`
	Understood    int              `json:"statements_understood"`
	NotUnderstood []sqlstmt.Missed `json:"statements_not_understood,omitempty"`
	Faults        int64            `json:"faults,omitempty"`
}

func (f *proxyFlags) serve(ctx context.Context, e *console.Env, o proxy.Options, m history.Meta) (err error) {
	ln, err := net.Listen("tcp", f.listen)
	if err != nil {
		return console.Usagef("--listen %s: %v", f.listen, err)
	}
	defer ln.Close()
	say := func(err error) { fmt.Fprintf(e.Stderr, "isovet: proxy: %s\n", escape.Line(err.Error())) }
	var first sync.Once // further errors are the same: a full disk
	lost := func(err error) {
		first.Do(func() { say(fmt.Errorf("the recording is incomplete from now on; programs go on: %w", err)) })
	}
	ro := record.Options{Meta: m, Aborted: sqlstmt.Aborted, OnError: lost}
	if f.watch {
		ro.Tee = f.judge.Add
	}
	rec, err := record.CreateParts(f.out, ro, record.Rotation{Bytes: f.rotate.Bytes, Every: f.rotate.Every,
		Txns: f.rotate.Txns})
	if err != nil {
		return err
	}
	o.Log = &sqlstmt.Log{Rec: rec}
	o.OnError = say
	p := proxy.New(o)
	if err := p.Reach(ctx); err != nil {
		return errors.Join(console.Exit(console.StatusBadInput, fmt.Errorf("%s: %w", o.Server, err)), rec.Close())
	}
	if !f.quiet {
		fmt.Fprintf(e.Stderr, "Listening on %s for programs of %s; recording to %s. Ctrl-C ends.\n", ln.Addr(),
			o.Server, f.out)
	}
	if f.watch {
		f.judge.Dir, f.judge.Quiet, f.judge.Header = f.out, f.quiet, record.Header(nil, m, false)
		f.judge.Begin(ctx, e)
	}
	err = errors.Join(p.Serve(ctx, ln), rec.Close())
	found := console.StatusOK
	if f.watch {
		found = f.judge.End()
	}
	if err != nil {
		return err
	}
	n, st := rec.Stats(), o.Log.Stats()
	end := proxyEnd{f.out, n.Committed, n.Aborted, n.Unknown, n.Ops, st.Understood, st.Missed, p.Faults()}
	switch {
	case f.json:
		err = console.JSONLine(e.Stdout, &end)
	case !f.quiet:
		lines := strings.Split(st.String(), "\n")
		_, err = fmt.Fprintf(e.Stdout, "%s: %d committed, %d aborted, %d of unknown outcome; %s\n", escape.Line(f.out),
			n.Committed, n.Aborted, n.Unknown, lines[0])
		for _, line := range lines[1:] {
			fmt.Fprintf(e.Stdout, "  %s\n", escape.Line(line))
		}
	}
	if n.Committed == 0 {
		found = console.Worse(found, console.StatusUnknown)
	}
	if err != nil {
		return err
	}
	return console.Status(found)
}

// diagnose prints what the catalogue says about each table.
func (f *proxyFlags) diagnose(ctx context.Context, e *console.Env, config *pgx.ConnConfig) error {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return console.Exit(console.StatusBadInput, err)
	}
	defer conn.Close(ctx)
	log := &sqlstmt.Log{Rec: record.New(record.Options{})}
	tables, err := log.Doctor(func(sql string, args ...any) ([][]string, error) {
		rows, err := conn.Query(ctx, sql, args...)
		if err != nil {
			return nil, err
		}
		return pgx.CollectRows(rows, func(r pgx.CollectableRow) ([]string, error) {
			return slice.Map(r.RawValues(), func(v []byte) string { return string(v) }), nil
		})
	})
	if err != nil {
		return err
	}
	rows := slice.Map(tables, func(t sqlstmt.Diagnosis) []string {
		return []string{escape.Line(t.Table), cmp.Or(t.Read, "recorded"), cmp.Or(t.Write, "recorded")}
	})
	return console.Table(e.Stdout, []string{"table", "reads", "writes"}, rows)
}
