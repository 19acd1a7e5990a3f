package watches

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"syscall"
	"time"

	"isovet/internal/cli/console"
	"isovet/watch"
	"isovet/watch/seen"
)

// logFormats are the formats of watch's messages to its operator.
var logFormats = []string{"text", "json"}

func newLog(w io.Writer, format string) *slog.Logger {
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, nil))
	}
	return slog.New(slog.NewTextHandler(w, nil))
}

// whenFree repeats listen while another process has its address: for a short time or, with --standby, until that
// process ends.
func (f *watchFlags) whenFree(ctx context.Context, log *slog.Logger,
	listen func() (*seen.Server, error)) (s *seen.Server, err error) {
	until := time.Now().Add(5 * time.Second) // the system needs time to end a killed process
	for told := false; ; {
		s, err = listen()
		if !errors.Is(err, syscall.EADDRINUSE) || !f.standby && time.Now().After(until) {
			return s, err
		}
		if !told {
			log.Warn("another process has the address of --metrics; watch tries again", "address", f.metric)
			told = true
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// serve serves the state of the watch over HTTP.
func (f *watchFlags) serve(ctx context.Context, m *watch.Metrics, incidents *watch.Incidents,
	log *slog.Logger) (*seen.Server, error) {
	if _, _, err := net.SplitHostPort(f.metric); err != nil {
		return nil, console.Usagef("--metrics %s: %v; expected HOST:PORT, or :PORT on this machine alone", f.metric,
			err)
	}
	tokens, err := readTokens("metrics-token-file", f.metricTokens)
	if err != nil {
		return nil, err
	}
	v := console.BuildVersion()
	level := f.level.String()
	if f.checker == "leopard" && !f.given("level") {
		level = "what the profile promises"
	}
	about := [][2]string{{"checker", f.checker}, {"level", level}}
	if f.checker == "leopard" {
		about = append(about, [2]string{"profile", cmp.Or(f.profile, "auto")})
	}
	about = append(about, [2]string{"source", f.source.said()}, [2]string{"folder", f.state})
	o := seen.Options{Metrics: m, Incidents: incidents, Dir: f.state, Tokens: tokens,
		Title: "isovet watch: " + filepath.Base(f.state), About: about, Shrink: f.shrinkCommand(),
		Build: seen.Build{Version: v.Version, Commit: v.Commit, Go: v.Go}}
	s, err := f.whenFree(ctx, log, func() (*seen.Server, error) { return seen.Serve(f.metric, o) })
	if err != nil {
		return nil, console.Usagef("--metrics: %v", err)
	}
	log.Info("a page shows the state of watch", "address", "http://"+s.Addr().String()+"/")
	return s, nil
}
