package seen

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"isovet/internal/safego"
	"isovet/watch"
)

// Server answers over HTTP how a watch is.
type Server struct {
	ln      net.Listener
	http    http.Server
	serving safego.Group
}

// Options say what a Server tells.
type Options struct {
	Metrics *watch.Metrics
	Build   Build
}

// Serve listens on an address at once, before the watch has read its state: GET /metrics for Prometheus; /healthz, 200
// while the program runs; /readyz, 200 if the state is that of the end of the log and the source is there, else 503
// with the reason.
func Serve(addr string, o Options) (*Server, error) {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	s := &Server{ln: ln}
	s.http = http.Server{Handler: Handler(o), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	s.serving.Go(func() { _ = s.http.Serve(ln) }) // it ends when it is closed
	return s, nil
}

// Close ends what is being answered, after a moment.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.http.Close()
	}
	s.serving.Wait()
	return err
}

// Handler is what a Server answers with.
func Handler(o Options) http.Handler {
	mux := http.NewServeMux()
	var registry prometheus.Gatherer = Registry(o.Metrics, o.Build, nil)
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		s := o.Metrics.Get()
		if why := notReady(&s); why != "" {
			http.Error(w, why, http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
	})
	return mux
}

// notReady says why a watch is not; "": it is.
func notReady(s *watch.Snapshot) string {
	if s.DiskFull {
		return "the disk is full, and nothing is taken"
	}
	if !s.Ready {
		return "the log is being read, or the source is not there"
	}
	return ""
}
