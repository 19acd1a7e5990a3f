package watch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"isovet/internal/safego"
)

// maxBody is how many bytes a request may have.
const maxBody = 64 << 20

// server takes lines by POST. Their places are numbers of lines; a request may say the number of its first one, so that
// it can be sent again.
type server struct {
	ln      net.Listener
	http    http.Server
	serving safego.Group
	batches chan *batch
	open    *batch // returned by Next, not done
	mu      sync.Mutex
	last    int64
	closed  chan struct{}
	halted  chan struct{} // closed while nothing can be taken
}

type batch struct {
	from  int64 // number of the first line; -1: the next
	texts [][]byte
	done  chan int64 // the last place, once it is safe
}

// FromHeader says the number of a request's first line, from 0. A request that is sent again with it is taken once.
const FromHeader = "Isovet-From"

// HTTP is a source that listens: POST / takes JSON lines and answers, with the number of lines taken so far, when they
// are safe in the log; GET /position says that number. after is the place of the last line in the log.
func HTTP(addr string, after int64) (Source, error) {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	s := &server{ln: ln, batches: make(chan *batch), last: after, closed: make(chan struct{}),
		halted: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /", s.post)
	mux.HandleFunc("GET /position", func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		fmt.Fprintln(w, s.last+1)
	})
	s.http = http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	s.serving.Go(func() { _ = s.http.Serve(ln) }) // it ends when it is closed
	return s, nil
}

// Addr is where it listens.
func (s *server) Addr() string { return s.ln.Addr().String() }

func (s *server) post(w http.ResponseWriter, r *http.Request) {
	b := &batch{from: -1, done: make(chan int64, 1)}
	if h := r.Header.Get(FromHeader); h != "" {
		n, err := strconv.ParseInt(h, 10, 64)
		if err != nil || n < 0 {
			http.Error(w, fmt.Sprintf("header %s: %q; expected the number of the first line, from 0", FromHeader, h),
				http.StatusBadRequest)
			return
		}
		b.from = n
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for line := range bytes.Lines(body) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			b.texts = append(b.texts, line)
		}
	}
	if len(b.texts) == 0 {
		http.Error(w, "no line; expected transactions as JSON lines", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	halted := s.halted
	s.mu.Unlock()
	select {
	case <-halted:
		unavailable(w)
		return
	default:
	}
	select {
	case s.batches <- b:
	case <-halted:
		unavailable(w)
		return
	case <-s.closed:
		http.Error(w, "closing", http.StatusServiceUnavailable)
		return
	case <-r.Context().Done():
		return
	}
	select {
	case last := <-b.done:
		if last == notSafe {
			unavailable(w)
			return
		}
		if last < 0 {
			http.Error(w, fmt.Sprintf("lines before %d have not been taken; see GET /position", b.from),
				http.StatusConflict)
			return
		}
		fmt.Fprintln(w, last+1)
	case <-s.closed:
		http.Error(w, "closing; not known to be safe", http.StatusServiceUnavailable)
	}
}

// notSafe answers a batch that cannot be made safe for now.
const notSafe = math.MinInt64

// unavailable says that a request is to be sent again.
func unavailable(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "5")
	http.Error(w, "the disk is full; send it again", http.StatusServiceUnavailable)
}

// Halt has requests refused, those too that wait for an answer, until it is over. What they said is not acknowledged.
func (s *server) Halt(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !on {
		s.halted = make(chan struct{})
		return
	}
	close(s.halted)
	if s.open != nil {
		s.open.done <- notSafe
		s.open = nil
	}
}

func (s *server) Next(ctx context.Context, _ int) ([]Line, error) {
	for {
		select {
		case b := <-s.batches:
			s.mu.Lock()
			from := s.last + 1
			s.mu.Unlock()
			if b.from > from {
				b.done <- -1 // a gap
				continue
			}
			if b.from >= 0 {
				from = b.from
			}
			out := make([]Line, len(b.texts))
			for i, t := range b.texts {
				out[i] = Line{Place: from + int64(i), Text: t}
			}
			s.mu.Lock()
			s.open = b
			s.last = max(s.last, from+int64(len(out))-1)
			s.mu.Unlock()
			return out, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (s *server) Done() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open != nil {
		s.open.done <- s.last
		s.open = nil
	}
	return nil
}

func (s *server) Close() error {
	close(s.closed)
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.http.Close()
	}
	s.serving.Wait()
	return err
}
