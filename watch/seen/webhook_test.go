package seen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"isovet/internal/test/must"
	"isovet/watch"
)

// TestWebhook: each violation is counted once, though the receiver fails at first; notices are few; Add does not wait;
// the address is not in the log.
func TestWebhook(t *testing.T) {
	var mu sync.Mutex
	var got []Notice
	tries := 0
	added := make(chan struct{})
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-added // so long it does not answer
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
	w := must.Get(NewWebhook(hook.URL+"/services/secret?token=secret", WebhookOptions{State: "w", First: 2,
		Retry: 5 * time.Millisecond, Every: 200 * time.Millisecond, Log: slog.New(slog.NewTextHandler(&log,
			nil))}))(t)
	const n = 1000
	for i := range n {
		w.Add(fmt.Appendf(nil, `{"n":%d}`, i+1))
	}
	close(added)
	w.Close()
	total := int64(0)
	for _, g := range got {
		total += g.Count
		must.Be(t, g.State == "w" && len(g.First) != 0 && len(g.First) <= 2, "notice %+v", g)
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
	w := must.Get(NewWebhook(hook.URL+"/secret", WebhookOptions{Log: slog.New(slog.NewTextHandler(&log, nil)),
		Retry: time.Millisecond, Last: 50 * time.Millisecond}))(t)
	w.Add([]byte(`{"n":1}`))
	w.Close()
	if text := log.String(); strings.Contains(text, "secret") || !strings.Contains(text, "count=1") {
		t.Errorf("log: %s", text)
	}
	for _, bad := range []string{"secret", "ftp://secret/", "http://", "https:secret", "http://a b/secret\x7f"} {
		if _, err := NewWebhook(bad, WebhookOptions{}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestWebhookIncidents: a notice says what has come to which incident since the one before, counted by incidents, where
// lines are but the first ones and say when one has grown.
func TestWebhookIncidents(t *testing.T) {
	notices := make(chan Notice, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var n Notice
		if err := json.NewDecoder(r.Body).Decode(&n); err != nil {
			t.Error(err)
		}
		notices <- n
	}))
	defer hook.Close()
	var mu sync.Mutex
	now := []watch.Incident{{ID: 1, Class: "EXT", Count: 70, New: 0}, {ID: 2, Class: "INT", Count: 1, New: 1,
		Lines: []json.RawMessage{json.RawMessage("{}")}}}
	w := must.Get(NewWebhook(hook.URL, WebhookOptions{Log: slog.New(slog.DiscardHandler), Every: time.Millisecond,
		Incidents: func() []watch.Incident { mu.Lock(); defer mu.Unlock(); return slices.Clone(now) }}))(t)
	w.Add([]byte(`{"n":71,"axiom":"INT"}`))
	n := <-notices
	if n.Count != 1 || len(n.First) != 1 || len(n.Incidents) != 1 ||
		n.Incidents[0].ID != 2 || n.Incidents[0].Lines != nil {
		t.Errorf("%+v", n)
	}
	mu.Lock()
	now[0].New, now[0].Count = 58, 128
	mu.Unlock()
	w.Add([]byte(`{"n":129,"incident":1,"count":128}`))
	n = <-notices
	must.Be(t, n.Count == 58 && len(n.First) == 0 && len(n.Incidents) == 1 && n.Incidents[0].Count == 128, "%+v", n)
	w.Close()
}
