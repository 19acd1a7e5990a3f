package watch

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"isovet/internal/test/must"
	"isovet/internal/test/tlstest"
)

// listening starts a source that listens, without anybody who takes.
func listening(t *testing.T, o HTTPOptions) (*HTTPServer, string) {
	t.Helper()
	o.Addr = "127.0.0.1:0"
	s := must.Get(ListenHTTP(o))(t)
	t.Cleanup(func() { s.Close() })
	scheme := "http://"
	if o.TLS != nil {
		scheme = "https://"
	}
	return s, scheme + s.Addr()
}

// post sends a body and returns the status, the answer, and what Retry-After says.
func post(t *testing.T, c *http.Client, base string, body []byte, headers ...string) (int, string, string) {
	t.Helper()
	r := must.Get(http.NewRequest("POST", base+"/", bytes.NewReader(body)))(t)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res := must.Get(c.Do(r))(t)
	defer res.Body.Close()
	b := must.Get(io.ReadAll(res.Body))(t)
	return res.StatusCode, strings.TrimSpace(string(b)), res.Header.Get("Retry-After")
}

// taking takes all that comes, as the loop does, until the test ends.
func taking(t *testing.T, src Source) func() []Line {
	var mu sync.Mutex
	var all []Line
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			lines, err := src.Next(ctx, 1000)
			if err != nil {
				return
			}
			mu.Lock()
			for _, l := range lines {
				l.Text = bytes.Clone(l.Text)
				all = append(all, l)
			}
			mu.Unlock()
			if src.Done() != nil {
				return
			}
		}
	}()
	t.Cleanup(func() { stop(); <-done })
	return func() []Line {
		mu.Lock()
		defer mu.Unlock()
		return append([]Line(nil), all...)
	}
}

func gzipped(text []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(text)
	z.Close()
	return b.Bytes()
}

func zstded(text []byte) []byte {
	z := must.Have(zstd.NewWriter(nil))
	return z.EncodeAll(text, nil)
}

const fine = `{"id":1,"start_ts":1,"commit_ts":2,"ops":[["w","x",1]]}` + "\n"

// TestHTTPRefused: what is no transaction, too large, or not encoded as it says is refused as a whole, with its line;
// nothing of it is taken.
func TestHTTPRefused(t *testing.T) {
	judge := aionOf(si, 10).(Fitting)
	s, base := listening(t, HTTPOptions{MaxBody: 100_000, Unfit: judge.Unfit})
	taken := taking(t, s.Source(nil))
	bomb := bytes.Repeat([]byte(" "), 5_000_000)
	long := bytes.Repeat([]byte(fine), 5000)
	for _, c := range []struct {
		what, encoding string
		body           []byte
		status         int
		says           string
	}{
		{"no JSON", "", []byte(fine + "\n" + "hello\n" + fine), 400, "line 3:"},
		{"a status that there is not", "", []byte(fine + `{"start_ts":1,"commit_ts":2,"status":"comitted","ops":[]}`),
			400, "line 2:"},
		{"no timestamps", "gzip", gzipped([]byte(fine + fine + `{"id":2,"ops":[["w","x",1]]}`)), 400, "line 3:"},
		{"a predicate", "", []byte(`{"id":2,"start_ts":1,"commit_ts":2,"ops":[["pr","all",{"x":1}]]}`), 400, "line 1:"},
		{"nothing", "", []byte("\n\n"), 400, "the body is empty"},
		{"too long", "", long, 413, "--max-body"},
		{"too long, gzip", "gzip", gzipped(long), 413, "--max-body"},
		{"a bomb, gzip", "gzip", gzipped(bomb), 413, "--max-body"},
		{"a bomb, zstd", "zstd", zstded(bomb), 413, "--max-body"},
		{"no gzip", "gzip", []byte(fine), 400, "gzip"},
		{"no zstd", "zstd", []byte(fine), 400, "body"},
		{"cut off", "gzip", gzipped(long[:50_000])[:100], 400, "body"},
		{"unknown", "br", []byte(fine), 415, "zstd"},
		{"two", "gzip, gzip", gzipped(gzipped([]byte(fine))), 415, "zstd"},
	} {
		status, says, _ := post(t, http.DefaultClient, base, c.body, "Content-Encoding", c.encoding)
		if status != c.status || !strings.Contains(says, c.says) {
			t.Errorf("%s: %d %s; expected %d and %q", c.what, status, says, c.status, c.says)
		}
	}
	expect := func(want int, body string, headers ...string) {
		t.Helper()
		status, says, _ := post(t, http.DefaultClient, base, []byte(body), headers...)
		must.Equal(t, status, want, "%s: %s", headers, says)
	}
	for _, name := range []string{"a b", "@1.2.3", "../x", strings.Repeat("a", 65)} {
		expect(400, fine, ProducerHeader, name)
	}
	expect(400, fine, FromHeader, "x")
	must.Equal(t, len(taken()), 0, "lines of refused requests that were taken")
	header := `{"format":"isovet-history","version":1}` + "\n"
	for i, body := range [][]byte{[]byte(header + fine), gzipped([]byte(fine)), zstded([]byte(fine))} {
		status, says, _ := post(t, http.DefaultClient, base, body, "Content-Encoding", []string{"identity", "gzip",
			"zstd"}[i], "Content-Type", "application/x-www-form-urlencoded")
		must.Equal(t, status != 200 || says != fmt.Sprint(i+2), false, "%d: %d %s", i, status, says)
	}
	expect(400, header+fine)                  // a header in the midst
	expect(200, header+fine, FromHeader, "0") // the first request again
}

// TestHTTPProducers: each has numbers of its own, which a restart keeps.
func TestHTTPProducers(t *testing.T) {
	dir := t.TempDir()
	var want []string
	var said bytes.Buffer // by one goroutine
	for round := range 3 {
		opened := make(chan *HTTPServer, 1)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- Run(ctx, Config{Dir: dir, Judge: aionOf(si, 1000), Checkpoint: time.Duration(round % 2),
				Open: func(_ context.Context, after Places) (Source, error) {
					log := slog.New(slog.NewTextHandler(&said, nil))
					s := must.Have(ListenHTTP(HTTPOptions{Addr: "127.0.0.1:0", Log: log}))
					src := s.Source(after)
					opened <- s
					return src, nil
				}})
		}()
		s := <-opened
		base := "http://" + s.Addr()
		for _, p := range []string{"", "a", "b"} {
			res := must.Get(http.Get(base + "/position?producer=" + p))(t)
			at, _ := io.ReadAll(res.Body)
			res.Body.Close()
			must.Equal(t, string(at), fmt.Sprintln(10*round), "producer %q begins round %d", p, round)
			for from := max(10*round-5, 0); from < 10*round+10; from += 5 { // some was sent before
				var body []byte
				for i := from; i < from+5; i++ {
					n := 1000*len(want) + i
					line := fmt.Sprintf(`{"id":%d,"start_ts":%d,"commit_ts":%d,"ops":[]}`, n, 2*n, 2*n+1)
					if p != "" {
						line = fmt.Sprintf(`{"start_ts":%d,"commit_ts":%d,"ops":[["w","%s",%d]]}`, 2*i, 2*i+1, p, i)
					}
					if body = append(body, line+"\n"...); from >= 10*round {
						want = append(want, line)
					}
				}
				for range 2 { // its answer may have been lost
					status, says, _ := post(t, http.DefaultClient, base, body, FromHeader, fmt.Sprint(from),
						ProducerHeader, p)
					if status != 200 || says != fmt.Sprint(max(from+5, 10*round)) {
						t.Errorf("%q from %d: %d %s", p, from, status, says)
					}
				}
			}
			for _, from := range []int{99, 10*round + 9} { // behind a gap, and as another line
				status, _, _ := post(t, http.DefaultClient, base, []byte(fine), FromHeader, fmt.Sprint(from),
					ProducerHeader, p)
				must.Equal(t, status, 409, "%q from %d", p, from)
			}
		}
		stop()
		<-ended
		must.Equal(t, strings.Count(said.String(), "cannot compare"), 6*round, "after round %d: %s", round, &said)
	}
	var got []string
	l, err := openLog(dir, func(_ int64, line []byte) error {
		got = append(got, string(line))
		return nil
	})
	if l.f != nil {
		l.Close()
	}
	if err != nil && !strings.Contains(err.Error(), "!clock") || len(got) != 90 || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("%v: %d lines, expected %d\n%s", err, len(got), len(want), strings.Join(got, "\n"))
	}
}

// TestHTTPBehind: a judge that does not take has requests told to come later, in bounded memory, and none of them is
// taken afterwards but those whose answer was lost.
func TestHTTPBehind(t *testing.T) {
	s, base := listening(t, HTTPOptions{MaxBody: 1 << 20, Patience: 100 * time.Millisecond})
	if status, says, after := post(t, http.DefaultClient, base, []byte(fine)); status != 503 || after == "" {
		t.Errorf("before the log is read: %d %s, Retry-After %q", status, says, after)
	}
	src := s.Source(nil)
	body := bytes.Repeat([]byte(fine), (1<<20)/len(fine)-1)
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // as in a program, where must has 400
	runtime.GC()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	most := uint64(0)
	var group sync.WaitGroup
	for range 60 {
		group.Go(func() {
			status, says, after := post(t, http.DefaultClient, base, body)
			if status != 503 || after == "" || !strings.Contains(says, "behind") {
				t.Errorf("%d %s, Retry-After %q", status, says, after)
			}
		})
	}
	done := make(chan struct{})
	go func() { group.Wait(); close(done) }()
	for waits := true; waits; {
		select {
		case <-done:
			waits = false
		case <-time.After(10 * time.Millisecond):
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapInuse)
		}
	}
	if grown := int64(most) - int64(before.HeapInuse); grown > 200<<20 {
		t.Errorf("memory grew by %d bytes", grown)
	}
	s.o.Patience = time.Minute
	taken := taking(t, src)
	status, says, _ := post(t, http.DefaultClient, base, []byte(fine))
	must.Equal(t, fmt.Sprint(status, " ", says), "200 1", "afterwards")
	must.Equal(t, len(taken()), 1, "lines taken")
}

// TestHTTPTokens: without a token that is known nothing is reported or taken, and TLS is spoken with a certificate that
// is read again when it has changed.
func TestHTTPTokens(t *testing.T) {
	dir := t.TempDir()
	files := TLSFiles{Cert: filepath.Join(dir, "cert"), Key: filepath.Join(dir, "key")}
	first := tlstest.Certificate(t, files.Cert, files.Key)
	config := must.Get(files.Server())(t)
	s, base := listening(t, HTTPOptions{TLS: config, Tokens: []string{"one", "two"}})
	taken := taking(t, s.Source(nil))
	for token, want := range map[string]int{"": 401, "Bearer": 401, "Bearer three": 401, "Basic one": 401,
		"Bearer one": 200, "bearer two": 200} {
		status, says, _ := post(t, trusting(first), base, []byte(fine), "Authorization", token)
		must.Equal(t, status, want, "%q: %s", token, says)
	}
	must.Equal(t, len(taken()), 2, "lines taken")
	must.OK(t, os.Chtimes(files.Cert, time.Time{}, time.Now().Add(-time.Hour)))
	second := tlstest.Certificate(t, files.Cert, files.Key)
	status, says, _ := post(t, trusting(second), base, []byte(fine), "Authorization", "Bearer one")
	must.Equal(t, status, 200, "with the new certificate: %s", says)
	_, err := trusting(first).Get(base + "/position")
	must.Equal(t, err != nil, true, "the old certificate is refused")
}
