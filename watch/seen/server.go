package seen

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"isovet/internal/safego"
	"isovet/internal/slice"
	"isovet/watch"
)

// Server serves the state of a watch over HTTP.
type Server struct {
	ln      net.Listener
	http    http.Server
	serving safego.Group
	done    chan struct{}
}

// Options are the options of a Server.
type Options struct {
	Metrics *watch.Metrics
	Build   Build
	// Incidents are listed on the page; nil for none.
	Incidents *watch.Incidents
	// Dir is the watch's folder, which has the evidence.
	Dir string
	// Title is the page's title; About has names and values, such as the level.
	Title string
	About [][2]string
	// Shrink is a command that finds the smallest history with a violation, or "".
	Shrink string
	// Every is the period after which an open page updates itself; 0 means 2 s.
	Every time.Duration
	// Tokens, if not empty, are the accepted tokens. Every address except /healthz, /livez and /readyz needs one, as
	// "Authorization: Bearer TOKEN" or as the password of "Basic", for which browsers ask the user.
	Tokens []string
	// Guarded says that others can reach the address without a token. The page then hides keys, transactions and
	// evidence.
	Guarded bool
	// Local says that the address is a loopback address. Requests must then name it as their Host.
	Local bool
}

// Serve listens on an address at once, before the watch has read its state. GET / is a page for people, /incidents/N
// the page of an incident, /metrics is for Prometheus. /healthz answers 200 while the program runs. /livez answers 503
// if the judge has been busy with the same lines for minutes. /readyz answers 200 if the log is judged to its end, the
// source is open and the judge is not behind, otherwise 503 with the reason. An address without a host means a
// loopback address. Serve sets Options.Guarded and Local. Requests cannot change anything.
func Serve(addr string, o Options) (*Server, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	ln, err := net.Listen("tcp", net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port))
	if err != nil {
		return nil, err
	}
	if at, is := ln.Addr().(*net.TCPAddr); is {
		o.Local = at.IP.IsLoopback()
	}
	o.Guarded = !o.Local && len(o.Tokens) == 0
	s := &Server{ln: ln, done: make(chan struct{})}
	p := &live{o: o, now: time.Now}
	s.http = http.Server{Handler: p.handler(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		WriteTimeout: time.Minute}
	s.serving.Go(func() { _ = s.http.Serve(ln) }) // it ends when it is closed
	s.serving.Go(func() {
		for tick := time.NewTicker(beatEvery); ; {
			select {
			case now := <-tick.C:
				m := o.Metrics.Get()
				p.pulse.note(&m, now)
			case <-s.done:
				tick.Stop()
				return
			}
		}
	})
	return s, nil
}

func (s *Server) Addr() net.Addr { return s.ln.Addr() }

// Close ends the server. Running requests have a moment to end.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	close(s.done)
	err := s.http.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.http.Close()
	}
	s.serving.Wait()
	return err
}

// Handler returns the handler of a Server.
func Handler(o Options) http.Handler { return (&live{o: o, now: time.Now}).handler() }

func (p *live) handler() http.Handler {
	o := p.o
	inner := http.NewServeMux()
	var registry prometheus.Gatherer = Registry(o.Metrics, o.Build, nil)
	inner.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	p.mount(inner)
	mux := http.NewServeMux()
	mux.Handle("/", allowed(o.Tokens, inner))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) {
		s := o.Metrics.Get()
		if since(s.Busy, p.now()) > stuck.Seconds() {
			http.Error(w, "the judge has been busy with the same lines since "+s.Busy.UTC().Format(time.RFC3339),
				http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		s := o.Metrics.Get()
		if why := notReady(&s, p.now()); why != "" {
			http.Error(w, why, http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
	})
	return mux
}

// allowed passes on requests with one of the tokens, or all requests if there are no tokens.
func allowed(tokens []string, h http.Handler) http.Handler {
	if len(tokens) == 0 {
		return h
	}
	sums := slice.Map(tokens, func(t string) [sha256.Size]byte { return sha256.Sum256([]byte(t)) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if _, password, is := r.BasicAuth(); is {
			scheme, token = "Bearer", password
		}
		sum, ok := sha256.Sum256([]byte(strings.TrimSpace(token))), 0
		for i := range sums {
			ok |= subtle.ConstantTimeCompare(sums[i][:], sum[:])
		}
		if !strings.EqualFold(scheme, "Bearer") || ok == 0 {
			w.Header().Set("WWW-Authenticate", `Basic realm="isovet watch", charset="UTF-8"`)
			http.Error(w, "expected the header Authorization: Bearer with a token of the token file, or that token "+
				"as a password",
				http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// notReady says why a watch is not ready, or "".
func notReady(s *watch.Snapshot, now time.Time) string {
	if s.DiskFull {
		return "the disk is full, and watch accepts no line"
	}
	if !s.Ready {
		return "watch is reading the log, or the source is not connected"
	}
	if since(s.Busy, now) > behind.Seconds() {
		return "the judge is behind: it has been busy with the same lines since " + s.Busy.UTC().Format(time.RFC3339)
	}
	return ""
}

// behind and stuck are how long a judge may be busy with the same lines before it counts as behind, or as stuck.
const behind, stuck = 10 * time.Second, 5 * time.Minute
