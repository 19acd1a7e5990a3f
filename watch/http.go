package watch

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"isovet/internal/keyed"
	"isovet/internal/pattern"
	"isovet/internal/safego"
)

// HTTPOptions are the options of a source that receives lines by HTTP.
type HTTPOptions struct {
	// Addr is HOST:PORT.
	Addr string
	// MaxBody bounds the bytes of a request after decompression; 0 means DefaultMaxBody. All current requests together
	// may have four times as many.
	MaxBody int64
	// Tokens, if not empty, are the accepted tokens. A request must have one as "Authorization: Bearer TOKEN".
	Tokens []string
	// TLS, if set, has the server's certificate, and the authorities that clients' certificates must come from.
	TLS *tls.Config
	// Patience bounds how long a request waits for its turn, and then for its lines to be in the log; 0 means 10 s.
	Patience time.Duration
	// Unfit, if set, returns a function that finds errors in a batch's transactions that the reader does not find, or
	// nil if there are none. Several goroutines call it.
	Unfit func(b *Batch) func(i int) error
	Log   *slog.Logger
}

// DefaultMaxBody is the default of MaxBody.
const DefaultMaxBody = 16 << 20

// maxProducers bounds the number of producers in a stream.
const maxProducers = 10_000

// Headers of requests. FromHeader has the number, from 0, of the request's first line: if a client repeats such a
// request, its lines are taken once. ProducerHeader names the sender. Each sender numbers its own lines.
const (
	FromHeader     = "Isovet-From"
	ProducerHeader = "Isovet-Producer"
)

// HTTPServer receives lines by POST. The place of a line is its number, from 0 for each producer.
type HTTPServer struct {
	o       HTTPOptions
	tokens  [][sha256.Size]byte
	ln      net.Listener
	http    http.Server
	serving safego.Group
	room    *semaphore.Weighted // bytes of bodies
	waiting chan *request
	open    []*request // returned by Next, not safe yet
	mu      sync.Mutex
	last    Places               // nil: unknown yet
	hash    gate                 // its hash makes the prints
	prints  map[lastPlace]uint64 // of recent lines
	closed  chan struct{}
	halted  chan struct{} // closed while nothing can be taken
	stop    sync.Once
}

// request is a request that Next takes.
type request struct {
	of     string
	from   int64 // number of the first line; -1: the next
	texts  [][]byte
	prints []uint64     // of texts
	after  int64        // its last place, once it is taken
	done   chan outcome // room for one
	state  atomic.Int32 // stands, taken or left
	finish func()       // its memory is free again
}

const (
	stands int32 = iota // it waits
	taken
	left // abandoned by the sender
)

type outcome struct {
	last  int64
	wrong string // the numbers of the lines
	full  bool   // the disk is full: the lines may not be safe
}

// answer answers a request, unless it has been answered.
func (q *request) answer(o outcome) {
	select {
	case q.done <- o:
	default:
	}
}

// ListenHTTP begins to listen. Until Source is called it answers "not ready". POST / receives JSON lines and answers
// when they are safe in the log, with the number of lines that the producer has sent so far. GET /position returns
// that number. A request with a wrong line is refused as a whole. It returns an error about the address.
func ListenHTTP(o HTTPOptions) (*HTTPServer, error) {
	ln, err := net.Listen("tcp", o.Addr)
	if err != nil {
		return nil, err
	}
	o.MaxBody, o.Patience = cmp.Or(max(o.MaxBody, 0), DefaultMaxBody), cmp.Or(max(o.Patience, 0), 10*time.Second)
	s := &HTTPServer{o: o, ln: ln, room: semaphore.NewWeighted(4 * (o.MaxBody + bodyStep)),
		hash: gate{hash: keyed.Draw()}, prints: map[lastPlace]uint64{},
		waiting: make(chan *request), closed: make(chan struct{}), halted: make(chan struct{})}
	for _, t := range o.Tokens {
		s.tokens = append(s.tokens, sha256.Sum256([]byte(t)))
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /", s.post)
	mux.HandleFunc("GET /position", s.position)
	s.http = http.Server{Handler: s.guarded(mux), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 64 << 10, TLSConfig: o.TLS, ErrorLog: log.New(faults{loud(o.Log)}, "", 0)}
	s.serving.Go(func() { // ends when it is closed
		if o.TLS != nil {
			_ = s.http.ServeTLS(ln, "", "")
		} else {
			_ = s.http.Serve(ln)
		}
	})
	return s, nil
}

// faults receives the messages of net/http. It logs only few about clients' errors, such as failed handshakes.
type faults struct{ log *slog.Logger }

func (f faults) Write(text []byte) (int, error) {
	level := slog.LevelDebug
	if bytes.Contains(text, []byte("panic")) {
		level = slog.LevelError
	}
	f.log.Log(context.Background(), level, string(bytes.TrimSpace(text)))
	return len(text), nil
}

// Addr returns the address on which the server listens.
func (s *HTTPServer) Addr() string { return s.ln.Addr().String() }

// Source begins to accept lines, after those in the log.
func (s *HTTPServer) Source(after Places) Source {
	last := Places{}
	maps.Copy(last, after)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = last
	return s
}

// guarded passes on requests with a valid token.
func (s *HTTPServer) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(s.tokens) > 0 {
			scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
			sum, ok := sha256.Sum256([]byte(strings.TrimSpace(token))), 0
			for i := range s.tokens {
				ok |= subtle.ConstantTimeCompare(s.tokens[i][:], sum[:])
			}
			if ok == 0 || !strings.EqualFold(scheme, "Bearer") {
				w.Header().Set("WWW-Authenticate", `Bearer realm="isovet watch"`)
				http.Error(w, "expected the header Authorization: Bearer with a token of the token file",
					http.StatusUnauthorized)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// later tells the client to repeat the request.
func later(w http.ResponseWriter, text string) {
	w.Header().Set("Retry-After", "2")
	http.Error(w, text, http.StatusServiceUnavailable)
}

// ready reports whether the whole log has been read. If not, it answers the request.
func (s *HTTPServer) ready(w http.ResponseWriter) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		later(w, "resuming: the log is being read")
	}
	return s.last != nil
}

var producerName = pattern.Lazy(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$`)

// producer returns the sender's name or "". It returns false if it has answered with an error.
func producer(w http.ResponseWriter, r *http.Request) (string, bool) {
	name := cmp.Or(r.Header.Get(ProducerHeader), r.URL.Query().Get("producer"))
	if name != "" && !producerName().MatchString(name) {
		http.Error(w, fmt.Sprintf("header %s: %.80q; expected up to 64 letters, digits and . _ : -, a letter or digit "+
			"first", ProducerHeader, name), http.StatusBadRequest)
		return "", false
	}
	return name, true
}

func (s *HTTPServer) position(w http.ResponseWriter, r *http.Request) {
	if !s.ready(w) {
		return
	}
	if of, ok := producer(w, r); ok {
		s.mu.Lock()
		defer s.mu.Unlock()
		fmt.Fprintln(w, s.last.Of(of)+1)
	}
}

func (s *HTTPServer) post(w http.ResponseWriter, r *http.Request) {
	if !s.ready(w) {
		return
	}
	q := &request{from: -1, done: make(chan outcome, 1)}
	var ok bool
	if q.of, ok = producer(w, r); !ok {
		return
	}
	if h := r.Header.Get(FromHeader); h != "" {
		n, err := strconv.ParseInt(h, 10, 64)
		if err != nil || n < 0 || n > 1<<62 {
			http.Error(w, fmt.Sprintf("header %s: %.80q; expected the number of the first line, from 0", FromHeader, h),
				http.StatusBadRequest)
			return
		}
		q.from = n
	}
	body, held, err := s.body(w, r)
	q.finish = sync.OnceFunc(func() { s.room.Release(held) })
	defer func() {
		if q.state.CompareAndSwap(stands, left) {
			q.finish()
		}
	}()
	if err == nil {
		err = s.lines(q, body)
	}
	if err != nil {
		refuse(w, err)
		return
	}
	s.hand(w, r, q)
}

// hand gives the request to Next, and answers when its lines are safe.
func (s *HTTPServer) hand(w http.ResponseWriter, r *http.Request, q *request) {
	patience := time.NewTimer(s.o.Patience)
	defer patience.Stop()
	s.mu.Lock()
	halted := s.halted
	s.mu.Unlock()
	select {
	case <-halted:
		later(w, diskFull)
		return
	default:
	}
	select {
	case s.waiting <- q:
	case <-halted:
		later(w, diskFull)
		return
	case <-patience.C:
		later(w, "behind: no line was accepted; send the request again")
		return
	case <-s.closed:
		later(w, "closing: no line was accepted; send the request again")
		return
	case <-r.Context().Done():
		return
	}
	select {
	case o := <-q.done:
		switch {
		case o.full:
			later(w, "the disk is full"+unsure)
			return
		case o.wrong != "":
			http.Error(w, o.wrong, http.StatusConflict)
			return
		}
		fmt.Fprintln(w, o.last+1)
	case <-time.After(s.o.Patience):
		later(w, "behind"+unsure)
	case <-s.closed:
		later(w, "closing"+unsure)
	}
}

const diskFull = "the disk is full: no line was accepted; send the request again"
const unsure = ": the lines may not be safe; send them again, with the same " + FromHeader + " or transactions with ids"

// Halt with true refuses all requests, including waiting ones, without acknowledging their lines. Halt with false
// accepts requests again.
func (s *HTTPServer) Halt(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !on {
		s.halted = make(chan struct{})
		return
	}
	close(s.halted)
	for _, q := range s.open {
		q.answer(outcome{full: true})
	}
}

// Next waits for a request and returns the lines of all waiting ones.
func (s *HTTPServer) Next(ctx context.Context, most int) ([]Line, error) {
	var out []Line
	for {
		select {
		case q := <-s.waiting:
			out = s.take(out, q)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		for more := true; more && len(out) < most; {
			select {
			case q := <-s.waiting:
				out = s.take(out, q)
			default:
				more = false
			}
		}
		if len(out) > 0 {
			return out, nil
		}
	}
}

// take appends the lines of a request, without those that have arrived before.
func (s *HTTPServer) take(out []Line, q *request) []Line {
	if !q.state.CompareAndSwap(stands, taken) {
		return out
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.last.Of(q.of)
	from := q.from
	if from < 0 {
		from = last + 1
	}
	if from > last+1 {
		q.answer(outcome{wrong: fmt.Sprintf("lines before %d are missing; the next line is %d (see GET /position)",
			from, last+1)})
		q.finish()
		return out
	}
	if len(s.prints) > 1<<15 {
		s.prints = map[lastPlace]uint64{}
	}
	unknown := 0 // lines that may differ from those with their numbers
	for i, t := range q.texts {
		at := lastPlace{q.of, from + int64(i)}
		was, known := s.prints[at]
		if !known && at.place <= last {
			unknown++
		}
		if known && was != q.prints[i] { // it is before all new ones
			q.answer(outcome{wrong: fmt.Sprintf("line %d differs from the one that came with this number; expected "+
				"the same line, or a name for each sender (header %s)", at.place, ProducerHeader)})
			q.finish()
			return out[:len(out)-i]
		}
		if at.place > last {
			s.prints[at] = q.prints[i]
		}
		out = append(out, Line{Place: at.place, Text: t, Of: q.of})
	}
	if unknown > 0 {
		loud(s.o.Log).Warn("a request repeats lines that watch cannot compare any more; watch ignores lines with "+
			"numbers that it has", "producer", q.of, "first", from, "count", unknown)
	}
	q.after = max(last, from+int64(len(q.texts))-1)
	s.last[q.of] = q.after
	s.open = append(s.open, q)
	return out
}

// Done answers the requests whose lines are safe.
func (s *HTTPServer) Done() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.open {
		q.answer(outcome{last: q.after})
		q.finish()
	}
	clear(s.open)
	s.open = s.open[:0]
	return nil
}

// Close ends the server; waiting requests are answered.
func (s *HTTPServer) Close() (err error) {
	s.stop.Do(func() {
		close(s.closed)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		err = s.http.Shutdown(ctx)
		if errors.Is(err, context.DeadlineExceeded) {
			err = s.http.Close()
		}
		s.serving.Wait()
	})
	return err
}

// lines splits a body into lines and reads them to find errors. Cost: that of the judge's reading, and memory for a
// few thousand lines.
func (s *HTTPServer) lines(q *request, body []byte) error {
	s.mu.Lock()
	begins := len(s.last) == 0 || q.from >= 0 && q.from <= s.last.Of(q.of) // a header may stand at the beginning
	_, known := s.last[q.of]
	many := !known && len(s.last) >= maxProducers
	s.mu.Unlock()
	if many {
		return &refusal{http.StatusForbidden, fmt.Sprintf("header %s: watch knows %d names already; expected one of "+
			"them", ProducerHeader, maxProducers)}
	}
	var numbers []int // line numbers in the body of q.texts, from 1
	n := 0
	for line := range bytes.Lines(body) {
		n++
		if line = bytes.TrimSpace(line); len(line) > 0 {
			q.texts, numbers = append(q.texts, line), append(numbers, n)
		}
	}
	if len(q.texts) == 0 {
		return &refusal{http.StatusBadRequest, "the body is empty; expected transactions as JSON lines"}
	}
	first := int64(1)
	if begins && q.from <= 0 {
		first = 0
	}
	for at := 0; at < len(q.texts); at += batchLines {
		b := NewBatch(first+int64(at), q.texts[at:min(at+batchLines, len(q.texts))])
		unfit := func(int) error { return nil }
		if s.o.Unfit != nil {
			unfit = s.o.Unfit(b)
		}
		for i := range b.Lines {
			l := &b.Lines[i]
			err := l.Err
			q.prints = append(q.prints, 0)
			if err == nil && l.Txn != none {
				err = unfit(i)
				q.prints[at+i] = s.hash.print(b, l.Txn) ^ keyed.Scramble(uint64(b.Heads[l.Txn].ID))
			}
			if err != nil {
				return &refusal{http.StatusBadRequest, fmt.Sprintf("line %d: %v; no line of the request was accepted",
					numbers[at+i], err)}
			}
		}
	}
	return nil
}
