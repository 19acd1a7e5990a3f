package brokers

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	nserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"isovet/internal/test/must"
	"isovet/internal/test/tlstest"
	"isovet/watch"
)

// texts is a log that can be read while it is written.
type texts struct {
	mu sync.Mutex
	b  strings.Builder
}

func (s *texts) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *texts) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// startNATS starts a server with JetStream.
func startNATS(t *testing.T, o nserver.Options) *nserver.Server {
	t.Helper()
	o.Host, o.JetStream, o.NoLog, o.NoSigs = "127.0.0.1", true, true, true
	s, err := nserver.NewServer(&o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server does not start")
	}
	return s
}

// takeLines takes n lines of a source, in time.
func takeLines(t *testing.T, src watch.Source, n int) (out []string) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	for len(out) < n {
		lines, err := src.Next(ctx, 100)
		if err != nil {
			t.Fatalf("after %d of %d lines: %v", len(out), n, err)
		}
		for _, l := range lines {
			out = append(out, string(l.Text))
		}
		must.OK(t, src.Done())
	}
	return out
}

// TestNATSAway: a server that is stopped and started again costs and doubles nothing, and both are said; so are
// messages that are purged before they were read. Name and password, a certificate.
func TestNATSAway(t *testing.T) {
	dir := t.TempDir()
	files := watch.TLSFiles{Cert: filepath.Join(dir, "cert"), Key: filepath.Join(dir, "key")}
	tlstest.Certificate(t, files.Cert, files.Key)
	cert := must.Get(tls.LoadX509KeyPair(files.Cert, files.Key))(t)
	config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert}}
	o := nserver.Options{Port: -1, StoreDir: dir, Username: "me", Password: "secret", TLSConfig: config, TLS: true}
	server := startNATS(t, o)
	url := strings.Replace(server.ClientURL(), "://", "://me:secret@", 1)
	o.Port = server.Addr().(*net.TCPAddr).Port
	conn := must.Get(nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond),
		nats.RootCAs(files.Cert)))(t)
	defer conn.Close()
	js := must.Get(jetstream.New(conn))(t)
	st := must.Get(js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "T", Subjects: []string{"txns"}}))(t)
	sent := 0
	publish := func(n int) {
		t.Helper()
		for range n {
			var err error
			for range 100 {
				if _, err = js.Publish(t.Context(), "txns", fmt.Append(nil, sent)); err == nil {
					break
				}
				time.Sleep(50 * time.Millisecond)
			}
			must.OK(t, err)
			sent++
		}
	}
	publish(10)
	var said texts
	open := watch.NATSOptions{URL: url, Subject: "txns", Durable: "w", TLS: watch.TLSFiles{CA: files.Cert},
		Log: slog.New(slog.NewTextHandler(&said, nil))}
	src := must.Get(watch.NATS(t.Context(), open, 0))(t)
	defer src.Close()
	got := takeLines(t, src, 10)
	for round := range 2 {
		server.Shutdown()
		server.WaitForShutdown()
		for range 100 {
			ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
			lines, err := src.Next(ctx, 10)
			stop()
			if err != context.DeadlineExceeded {
				t.Fatalf("%d lines, %v", len(lines), err)
			}
			if strings.Count(said.String(), "fails") > round {
				break
			}
		}
		server = startNATS(t, o)
		publish(5)
		got = append(got, takeLines(t, src, 5)...)
	}
	defer server.WaitForShutdown()
	defer server.Shutdown()
	for _, what := range []string{"fails", "works again"} {
		must.Equal(t, strings.Count(said.String(), what) < 2, false, "it is said that it %s: %s", what, said.String())
	}
	publish(5)
	must.OK(t, st.Purge(t.Context(), jetstream.WithPurgeSequence(23)))
	got = append(got, takeLines(t, src, 3)...)
	must.Equal(t, fmt.Sprint(got), "[0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 22 23 24]", "lines")
	must.Get(js.UpdateStream(t.Context(), jetstream.StreamConfig{Name: "T", Subjects: []string{"txns", "other"}}))(t)
	must.Get(js.Publish(t.Context(), "other", nil))(t) // message 26, of which the watch knows nothing
	publish(1)
	takeLines(t, src, 1)
	publish(3)
	must.OK(t, st.Purge(t.Context(), jetstream.WithPurgeSequence(30)))
	takeLines(t, src, 1)
	for _, want := range []string{"first=21 last=22", "first=28 last=29"} {
		must.Equal(t, strings.Contains(said.String(), want), true, "it is said that messages are gone, %s: %s", want,
			said.String())
	}
	must.Equal(t, strings.Count(said.String(), "lost messages"), 2, "losses that are said: %s", said.String())
	must.OK(t, js.DeleteStream(t.Context(), "T"))
	must.Get(js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "T", Subjects: []string{"txns"}}))(t)
	publish(40)
	_, err := src.Next(t.Context(), 100)
	must.Equal(t, strings.Contains(fmt.Sprint(err), "created again"), true, "error of a new stream: %v", err)
	open.URL, open.Patience = strings.Replace(url, "secret", "wrong", 1), time.Nanosecond
	if s, err := watch.NATS(t.Context(), open, 0); err == nil {
		s.Close()
		t.Error("a wrong password is taken")
	} else {
		must.Equal(t, strings.Contains(err.Error(), "wrong"), false, "the password is said: %v", err)
	}
	open.URL = url
	_, err = watch.NATS(t.Context(), open, 99)
	must.Equal(t, err != nil, true, "another stream is refused")
}
