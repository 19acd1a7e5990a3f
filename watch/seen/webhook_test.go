package seen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestWebhook: each violation is counted once, though the receiver fails at first; notices are few; Add does not wait;
// the address is not in the log.
func TestWebhook(t *testing.T) {
	var mu sync.Mutex
	var got []Notice
	tries := 0
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if tries++; tries <= 2 {
			http.Error(w, "not now", http.StatusServiceUnavailable)
			return
		}
		text, err := io.ReadAll(r.Body)
		var n Notice
		if err != nil || json.Unmarshal(text, &n) != nil || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%v: %s", err, text)
		}
		got = append(got, n)
	}))
	defer hook.Close()
	var log bytes.Buffer
	w, err := NewWebhook(hook.URL+"/services/secret?token=secret", WebhookOptions{State: "w", First: 2,
		Retry: 5 * time.Millisecond, Every: 200 * time.Millisecond, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	const n = 1000
	for i := range n {
		w.Add(fmt.Appendf(nil, `{"n":%d}`, i+1))
	}
	if d := time.Since(begun); d > 100*time.Millisecond {
		t.Errorf("Add took %v", d)
	}
	w.Close()
	total := int64(0)
	for _, g := range got {
		total += g.Count
		if g.State != "w" || len(g.First) == 0 || len(g.First) > 2 {
			t.Errorf("notice %+v", g)
		}
	}
	if total != n || len(got) > 3 || string(got[0].First[0]) != `{"n":1}` {
		t.Errorf("%d violations in %d notices; expected %d in at most 3", total, len(got), n)
	}
	if text := log.String(); strings.Contains(text, "secret") || !strings.Contains(text, "does not answer") ||
		!strings.Contains(text, "answers again") {
		t.Errorf("log: %s", text)
	}
}

// TestWebhookGone: nobody is there; the watch ends all the same, and says how much could not be sent, without the
// address.
func TestWebhookGone(t *testing.T) {
	hook := httptest.NewServer(http.NotFoundHandler())
	hook.Close()
	var log bytes.Buffer
	w, err := NewWebhook(hook.URL+"/secret", WebhookOptions{Log: slog.New(slog.NewTextHandler(&log, nil)),
		Retry: time.Millisecond, Last: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	w.Add([]byte(`{"n":1}`))
	begun := time.Now()
	w.Close()
	if d := time.Since(begun); d > 5*time.Second {
		t.Errorf("the end took %v", d)
	}
	if text := log.String(); strings.Contains(text, "secret") || !strings.Contains(text, "count=1") {
		t.Errorf("log: %s", text)
	}
	for _, bad := range []string{"secret", "ftp://secret/", "http://", "https:secret", "http://a b/secret\x7f"} {
		if _, err := NewWebhook(bad, WebhookOptions{}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
