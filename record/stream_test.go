package record_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"isovet/evidence"
	"isovet/history"
	"isovet/history/format"
	"isovet/history/format/jsonl"
	"isovet/internal/test/must"
	"isovet/level"
	"isovet/record"
)

// TestMain is also the program that TestKilled kills: clients of a serializable store, until then.
func TestMain(m *testing.M) {
	if path := os.Getenv("ISOVET_TEST_RECORD"); path != "" {
		rec := must.Have(record.Create(path, record.Options{}))
		var mu sync.Mutex
		store := map[int]any{}
		for i := range 4 {
			s := rec.Session()
			go func() {
				for n := 0; ; n++ {
					x := s.Begin("rmw")
					key := (n*7 + i) % 20
					mu.Lock()
					err := errors.Join(x.Read(key, store[key]), x.Write(key, n*4+i))
					err = errors.Join(err, x.Commit(func() error { store[key] = n*4 + i; return nil }))
					mu.Unlock()
					if err != nil {
						panic(err)
					}
					if n == 1000 {
						fmt.Println("going")
					}
				}
			}()
		}
		select {}
	}
	os.Exit(m.Run())
}

// TestKilled kills a program in the middle, several times, each time when its file is longer: it is a history that
// holds, as far as it goes.
func TestKilled(t *testing.T) {
	for i := range 5 {
		path := filepath.Join(t.TempDir(), "h.jsonl")
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), "ISOVET_TEST_RECORD="+path)
		out := must.Get(c.StdoutPipe())(t)
		must.OK(t, c.Start())
		must.Get(bufio.NewReader(out).ReadString('\n'))(t)
		for enough := int64(200_000 + 30_000*i); ; time.Sleep(time.Millisecond) {
			if st, err := os.Stat(path); err == nil && st.Size() >= enough {
				break
			}
		}
		must.OK(t, c.Process.Kill())
		_ = c.Wait() // killed
		h := must.Get(format.Read(t.Context(), path, format.Options{}))(t)
		if len(h.Notes) == 0 {
			t.Error("a recording that was cut off says nothing of it")
		}
		t.Logf("%d transactions; %s", h.NumTxns(), h.Notes[len(h.Notes)-1].Text)
		must.Equal(t, h.NumTxns() < 500, false, "%d transactions", h.NumTxns())
		verdict(t, h, level.StrictSerializable, evidence.Holds)
	}
}

// TestStreamsAreFlushed: a line reaches the writer though nobody closes the recorder.
func TestStreamsAreFlushed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h")
	rec := must.Get(record.Create(path, record.Options{}))(t)
	x := rec.Session().Begin("")
	must.OK(t, errors.Join(x.Write(1, 1), x.Committing()))
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		b := must.Get(os.ReadFile(path))(t)
		if bytes.Contains(b, []byte("intent")) {
			h, err := jsonl.ReadPartial(t.Context(), b, path, 1)
			must.Equal(t, err != nil || h.Txns.Status[0] != history.Unknown, false, "%v %s", err, b)
			break
		}
		if time.Now().After(end) {
			t.Fatalf("not flushed: %s", b)
		}
	}
	must.OK(t, rec.Close())
	if err := rec.Session().Begin("").Commit(nil); !errors.Is(err, record.ErrClosed) {
		t.Errorf("behind Close: %v", err)
	}
}

// full is a disk that is.
type full struct{ left int }

func (f *full) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, errors.New("no space left")
	}
	return len(b), nil
}

type panics struct{}

func (panics) Write([]byte) (int, error) { panic("at the disco") }

// TestStreamErrors: what a writer says comes back from calls and from Close; a panic of it is an error.
func TestStreamErrors(t *testing.T) {
	for want, w := range map[string]io.Writer{"no space left": &full{left: 1 << 18}, "at the disco": panics{}} {
		rec := record.To(w, record.Options{})
		s := rec.Session()
		var err error
		for i := 0; i < 1e6 && err == nil; i++ {
			x := s.Begin("")
			err = errors.Join(x.Write("key", i), x.Commit(ok))
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
		if err := rec.Close(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Close: %v; want %q", err, want)
		}
	}
}

// TestSendRefused: what is no watch, and what is not there, is said.
func TestSendRefused(t *testing.T) {
	if _, err := record.Send("none", record.Options{}); err == nil || !strings.Contains(err.Error(), "expected the") {
		t.Error(err)
	}
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hi") }))
	defer other.Close()
	if _, err := record.Send(other.URL, record.Options{}); err == nil || !strings.Contains(err.Error(), "watch") {
		t.Error(err)
	}
	var calls atomic.Int32
	breaks := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		calls.Add(1)
		if q.Method == http.MethodPost {
			http.Error(w, "lines before 0 have not been taken", http.StatusConflict)
			return
		}
		fmt.Fprint(w, 0)
	}))
	defer breaks.Close()
	rec := must.Get(record.Send(breaks.URL, record.Options{}))(t)
	if err := rec.Close(); err == nil || !strings.Contains(err.Error(), "409") || calls.Load() != 2 {
		t.Errorf("%v, %d calls", err, calls.Load())
	}
}

// TestSendWaits: a watch that reads its log is waited for, one that takes little at once gets little, and one that
// wants a token is shown it.
func TestSendWaits(t *testing.T) {
	const most = 2000
	var got bytes.Buffer
	var asked, refused atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		b, err := io.ReadAll(q.Body)
		switch {
		case err != nil || q.Header.Get("Authorization") != "Bearer secret":
			http.Error(w, "no token", http.StatusUnauthorized)
		case asked.Add(1) < 3:
			http.Error(w, "resuming: the log is being read", http.StatusServiceUnavailable)
		case len(b) > most:
			refused.Add(1)
			http.Error(w, "too long", http.StatusRequestEntityTooLarge)
		default:
			got.Write(b)
			fmt.Fprint(w, bytes.Count(got.Bytes(), []byte("\n")))
		}
	}))
	defer server.Close()
	rec := must.Get(record.Send(server.URL, record.Options{Token: "secret"}))(t)
	s := rec.Session()
	for i := range 500 {
		x := s.Begin("w")
		must.OK(t, errors.Join(x.Write(i%7, i), x.Commit(ok)))
	}
	must.OK(t, rec.Close())
	if h, err := jsonl.Read(got.Bytes(), "got"); err != nil || h.NumTxns() != 500 || refused.Load() == 0 {
		t.Errorf("%v, refused %d times", err, refused.Load())
	}
	if _, err := record.Send(server.URL, record.Options{}); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("without a token: %v", err)
	}
	// A line that is too long by itself is an error, not a loop.
	rec = must.Get(record.Send(server.URL, record.Options{Token: "secret", MaxValue: 10_000}))(t)
	x := rec.Session().Begin("w")
	must.OK(t, errors.Join(x.Write("k", strings.Repeat("v", 5000)), x.Commit(ok)))
	if err := rec.Close(); err == nil || !strings.Contains(err.Error(), "413") {
		t.Errorf("a line that is too long: %v", err)
	}
}
