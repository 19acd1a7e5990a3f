package seen

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"isovet/internal/safego"
	"isovet/watch"
)

// Notice is a message to a web hook with the violations since the message before.
type Notice struct {
	State string `json:"state"` // the watch's folder
	Count int64  `json:"count"` // of violations
	// First has the first few of the violations that the file has in full.
	First []json.RawMessage `json:"first"`
	// Incidents has the first few incidents of the violations, in their current state, without lines.
	Incidents []watch.Incident `json:"incidents"`
}

// Webhook posts violations to an address. Add never waits.
type Webhook struct {
	o       WebhookOptions
	to      *url.URL
	mu      sync.Mutex
	first   []json.RawMessage
	lines   int64           // lines since the last notice
	sent    map[int64]int64 // incident → number of this run's violations reported
	wake    chan struct{}
	ctx     context.Context
	cancel  context.CancelFunc
	stop    chan struct{}
	sending safego.Group
	failed  bool // the failure has been reported
}

// WebhookOptions are the parameters of NewWebhook. Zero fields have defaults.
type WebhookOptions struct {
	State string
	// Incidents returns the incidents that the lines belong to. If it is nil, each line is a violation.
	Incidents func() []watch.Incident
	Log       *slog.Logger  // required; it shows only the address's host, since the rest may have secrets
	Every     time.Duration // between two notices, 10 s; violations meanwhile are counted
	Retry     time.Duration // after a failure, 1 s, doubled up to 5 min
	First     int           // number of violations in full, and of incidents, 10 each
	Last      time.Duration // time for the rest at Close, 5 s
	Token     string        // "Authorization: Bearer TOKEN"; "": none
}

// NewWebhook returns a web hook to an http or https address. An error about a wrong address does not quote it, since
// it may contain a secret.
func NewWebhook(address string, o WebhookOptions) (*Webhook, error) {
	to, err := url.Parse(address)
	if err != nil || to.Scheme != "http" && to.Scheme != "https" || to.Host == "" {
		return nil, errors.New("expected an address such as https://HOST/PATH")
	}
	for _, d := range []struct {
		what  *time.Duration
		value time.Duration
	}{{&o.Every, 10 * time.Second}, {&o.Retry, time.Second}, {&o.Last, 5 * time.Second}} {
		*d.what = cmp.Or(*d.what, d.value)
	}
	o.First = cmp.Or(o.First, 10)
	w := &Webhook{o: o, to: to, wake: make(chan struct{}, 1), stop: make(chan struct{})}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	w.sending.Go(w.run)
	return w, nil
}

// Add adds a line of the file of violations.
func (w *Webhook) Add(line []byte) {
	var grown struct{ Incident int64 }
	_ = json.Unmarshal(line, &grown) // sending reports text that is no JSON
	w.mu.Lock()
	w.lines++
	if len(w.first) < w.o.First && grown.Incident == 0 {
		w.first = append(w.first, bytes.Clone(line))
	}
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Close sends the waiting violations within a short time, and ends.
func (w *Webhook) Close() {
	close(w.stop)
	timer := time.AfterFunc(w.o.Last, w.cancel)
	w.sending.Wait()
	timer.Stop()
	w.cancel()
}

// run sends one notice at a time. Violations that come meanwhile are counted.
func (w *Webhook) run() {
	for {
		select {
		case <-w.wake:
		case <-w.stop:
			w.send()
			return
		}
		w.send()
		w.pause(w.o.Every)
	}
}

// pause waits, at most until Close.
func (w *Webhook) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-w.stop:
	}
}

// send posts the waiting violations until the receiver accepts them.
func (w *Webhook) send() {
	w.mu.Lock()
	n := Notice{State: w.o.State, Count: w.lines, First: w.first}
	w.lines, w.first = 0, nil
	w.mu.Unlock()
	if n.Count == 0 {
		return
	}
	if w.o.Incidents != nil {
		w.since(&n)
	}
	if n.Count == 0 && len(n.First) == 0 { // the notice before had them
		return
	}
	text, err := json.Marshal(n)
	if err != nil { // a line is no JSON
		w.o.Log.Error("watch cannot send violations to the web hook", "count", n.Count, "error", err)
		return
	}
	for wait := w.o.Retry; ; wait = min(2*wait, 5*time.Minute) {
		again, err := w.post(text)
		if err == nil {
			if w.failed {
				w.o.Log.Info("the web hook answers again", "host", w.to.Host)
			}
			w.failed = false
			return
		}
		if w.ctx.Err() != nil || !again {
			w.o.Log.Error("watch could not send violations to the web "+
				"hook", "host", w.to.Host, "count", n.Count, "error",
				err)
			return
		}
		if !w.failed {
			w.o.Log.Warn("the web hook does not answer; watch tries again", "host", w.to.Host, "error", err)
		}
		w.failed = true
		select {
		case <-time.After(wait):
		case <-w.ctx.Done():
		}
	}
}

// since sets the number of violations since the notice before, and the incidents that had some.
func (w *Webhook) since(n *Notice) {
	sent := map[int64]int64{}
	n.Count = 0
	for _, x := range w.o.Incidents() {
		sent[x.ID] = x.New
		more := x.New - w.sent[x.ID]
		if n.Count += more; more == 0 || len(n.Incidents) == w.o.First {
			continue
		}
		x.Lines, x.Evidence = nil, nil
		n.Incidents = append(n.Incidents, x)
	}
	w.sent = sent
}

// client follows no redirection, since notices are for one address only.
var client = http.Client{Timeout: 30 * time.Second,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// post sends a notice once. again says that another try may succeed.
func (w *Webhook) post(text []byte) (again bool, err error) {
	req, err := http.NewRequestWithContext(w.ctx, http.MethodPost, w.to.String(), bytes.NewReader(text))
	if err != nil {
		return false, errors.New("no request can be made from the address")
	}
	req.Header.Set("Content-Type", "application/json")
	if w.o.Token != "" {
		req.Header.Set("Authorization", "Bearer "+w.o.Token)
	}
	res, err := client.Do(req)
	var with *url.Error
	if errors.As(err, &with) {
		err = with.Err // without the address
	}
	if err != nil {
		return true, err
	}
	if err := res.Body.Close(); err != nil {
		return true, err
	}
	if res.StatusCode/100 == 2 {
		return false, nil
	}
	again = res.StatusCode/100 == 5 || res.StatusCode == http.StatusTooManyRequests ||
		res.StatusCode == http.StatusRequestTimeout
	return again, fmt.Errorf("it answers %s", res.Status)
}
