package view

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"isovet/check"
	"isovet/history"
	"isovet/history/format"
	"isovet/history/split"
	"isovet/internal/safego"
	"isovet/level"
)

//go:embed web
var web embed.FS

// Options are the options of a Server.
type Options struct {
	// Addr is the loopback address and port to listen on. "" means any free port of 127.0.0.1.
	Addr string
	// Name is the title on the page. Paths are the files of one history, or a folder.
	Name  string
	Paths []string
	// Read has the options for reading the files.
	Read format.Options
	// Certificate is a file that the server replays and shows first, or "".
	Certificate string
	// Check has the options of every check except the level. Level is the level that the page proposes.
	Check check.Options
	Level level.Level
	// Index writes a page about the results of benchmarks in a folder. It returns an error if there are none. If it is
	// nil, the viewer does not show such folders.
	Index func(w io.Writer, dir string) error
	// Page, if set, is shown instead of a history of transactions.
	Page []byte
}

// Server shows histories to a browser on this machine.
type Server struct {
	o     Options
	kind  string
	ln    net.Listener
	token string
	http  http.Server
	mux   *http.ServeMux
	web   fs.FS

	ctx    context.Context
	cancel context.CancelFunc
	mu     sync.Mutex
	books  []*book
	group  safego.Group
}

// New listens on the address and begins to open the paths. It returns an error if the address is taken or other
// machines can reach it, or if a folder is of unknown kind.
func New(ctx context.Context, o Options) (*Server, error) {
	kind, err := ofPage, error(nil)
	if o.Page == nil {
		kind, err = kindOf(o.Paths[0], o.Index)
	}
	if err != nil {
		return nil, err
	}
	if kind != ofHistory && (len(o.Paths) > 1 || o.Certificate != "") {
		return nil, fmt.Errorf("%s is a folder; name it without other paths", o.Paths[0])
	}
	o.Addr = cmp.Or(o.Addr, "127.0.0.1:0")
	if err := loopback(o.Addr); err != nil {
		return nil, err
	}
	files, err := fs.Sub(web, "web")
	if err != nil {
		return nil, err
	}
	ln, err := net.Listen("tcp", o.Addr)
	if err != nil {
		return nil, err
	}
	s := &Server{o: o, kind: kind, ln: ln, token: rand.Text(), web: files}
	s.ctx, s.cancel = context.WithCancel(ctx)
	s.mux = s.routes()
	s.http = http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 1 << 16}
	if kind == ofHistory {
		s.openBook(o.Name, o.Paths, o.Read, o.Certificate)
	}
	return s, nil
}

// loopback refuses addresses that other machines can reach.
func loopback(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("%s: expected an address such as 127.0.0.1:8080: %w", addr, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("%s: expected a loopback address, such as 127.0.0.1:0: whoever can reach the page can read "+
			"the history", addr)
	}
	return nil
}

// URL returns the page's address, with the token.
func (s *Server) URL() string {
	return (&url.URL{Scheme: "http", Host: s.ln.Addr().String(), Path: "/" + s.token + "/"}).String()
}

// Serve answers requests until the context given to New ends, and then returns nil. It returns an error if it cannot
// read the history.
func (s *Server) Serve() error {
	defer s.cancel()
	failed := make(chan error, 1)
	if b := s.book(1); b != nil {
		s.group.Go(func() {
			<-b.loaded
			b.mu.Lock()
			defer b.mu.Unlock()
			if b.err != nil && s.ctx.Err() == nil {
				failed <- b.err
			}
		})
	}
	served := make(chan error, 1)
	s.group.Go(func() { served <- s.http.Serve(s.ln) })
	var err error
	select {
	case <-s.ctx.Done():
	case err = <-failed:
	case err = <-served:
	}
	s.cancel()
	s.close()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return err
}

// close ends running answers after a moment. It does not wait for checks, which may ignore their context. It does wait
// for the removal of copied histories.
func (s *Server) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		s.http.Close()
	}
	s.mu.Lock()
	books := slices.Clone(s.books)
	s.mu.Unlock()
	late := time.After(removeTime)
	for _, b := range books {
		select {
		case <-b.loaded:
		case <-late:
			return
		}
	}
}

// removeTime is how long close waits for copies to be removed.
const removeTime = 5 * time.Second

// openBook begins to open a history and returns its number, from 1.
func (s *Server) openBook(name string, paths []string, read format.Options, cert string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.books {
		if b.name == name && len(b.paths) > 0 && b.cert == cert {
			return b.id
		}
	}
	b := &book{id: len(s.books) + 1, name: name, paths: paths, read: read, cert: cert, ctx: s.ctx,
		loaded: make(chan struct{}), stage: "loading"}
	b.start(b.open)
	s.books = append(s.books, b)
	return b.id
}

// holdBook makes a book of a history that is in memory and returns its number.
func (s *Server) holdBook(name string, h *history.History) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.books = append(s.books, heldBook(s.ctx, len(s.books)+1, name, h))
	return len(s.books)
}

func (s *Server) book(n int) *book {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n < 1 || n > len(s.books) {
		return nil
	}
	return s.books[n-1]
}

// openFolder opens the evidence of a violation in the folder of a watch. With violation 0 it opens the whole log.
func (s *Server) openFolder(violation int64) (int, error) {
	dir := s.o.Paths[0]
	if violation == 0 {
		return s.openBook(s.o.Name, split.Paths(dir), s.o.Read, ""), nil
	}
	hist, cert, err := evidenceOf(dir, violation)
	if err != nil {
		return 0, err
	}
	return s.openBook(filepath.Base(hist), []string{hist}, format.Options{}, cert), nil
}

// policy allows the page its own files, and pages of evidence in a frame. Pages of evidence have a stricter policy of
// their own.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// ServeHTTP refuses requests without the token or with a foreign host name, and passes on all others.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if !s.asked(r.Host) {
		http.Error(w, "this is not "+s.ln.Addr().String(), http.StatusMisdirectedRequest)
		return
	}
	first, rest, more := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if subtle.ConstantTimeCompare([]byte(first), []byte(s.token)) != 1 {
		http.Error(w, "open the address that isovet view has printed: it ends with a token", http.StatusForbidden)
		return
	}
	if !more { // without the slash the page's own addresses would be others
		http.Redirect(w, r, "/"+s.token+"/", http.StatusPermanentRedirect)
		return
	}
	switch site := r.Header.Get("Sec-Fetch-Site"); {
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
	case r.Method != http.MethodPost:
		http.Error(w, "nothing can be changed here", http.StatusMethodNotAllowed)
		return
	case r.Header.Get("X-Isovet-View") == "" || site != "" && site != "same-origin" ||
		r.Header.Get("Origin") != "" && r.Header.Get("Origin") != "http://"+r.Host:
		http.Error(w, "only the page's own script may ask for this", http.StatusForbidden)
		return
	}
	if path.Clean("/"+rest) != strings.TrimSuffix("/"+rest, "/") && rest != "" { // it would be sent elsewhere
		http.Error(w, "there is no such file", http.StatusNotFound)
		return
	}
	to := r.Clone(r.Context())
	to.URL.Path, to.URL.RawPath = "/"+rest, ""
	s.mux.ServeHTTP(w, to)
}

// asked reports whether a request names this server as its Host. A page of another site sends its own name, even if it
// made that name point here.
func (s *Server) asked(host string) bool {
	name, port, err := net.SplitHostPort(host)
	if _, own, err2 := net.SplitHostPort(s.ln.Addr().String()); err != nil || err2 != nil || port != own {
		return false
	}
	ip := net.ParseIP(name)
	return name == "localhost" || ip != nil && ip.IsLoopback()
}
