package watch_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"

	"isovet/history"
	"isovet/history/format/jsonl"
	"isovet/internal/test/must"
	"isovet/record"
	"isovet/watch"
)

// gap is a connection to a watch that breaks now and then, before or behind the watch's getting it.
type gap struct {
	rt http.RoundTripper
	n  atomic.Int32
}

func (g *gap) RoundTrip(q *http.Request) (*http.Response, error) {
	n := g.n.Add(1)
	if q.Method == http.MethodPost && n%3 == 0 {
		return nil, errors.New("broken before")
	}
	r, err := g.rt.RoundTrip(q)
	if q.Method == http.MethodPost && n%3 == 1 && err == nil {
		r.Body.Close()
		return nil, errors.New("broken behind")
	}
	return r, err
}

// TestSend records to a real source of isovet watch, over a connection that breaks: each line arrives once, in order.
func TestSend(t *testing.T) {
	server := must.Get(watch.ListenHTTP(watch.HTTPOptions{Addr: "127.0.0.1:0"}))(t)
	src := server.Source(nil)
	ctx, cancel := context.WithCancel(t.Context())
	var places []int64
	var got bytes.Buffer
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			ls, err := src.Next(ctx, 100)
			if err != nil {
				return
			}
			for _, l := range ls {
				if len(places) > 0 && l.Place <= places[len(places)-1] {
					continue // as the log does with what it has
				}
				places = append(places, l.Place)
				got.Write(append(l.Text, '\n'))
			}
			must.OK(t, src.Done())
		}
	}()
	url := "http://" + server.Addr()
	o := record.Options{Meta: history.Meta{Name: "sent"},
		Client: &http.Client{Transport: &gap{rt: http.DefaultTransport}}}
	rec := must.Get(record.Send(url, o))(t)
	s := rec.Session()
	const n = 4000
	for i := range n {
		x := s.Begin("w")
		must.OK(t, errors.Join(x.Write(i%7, i), x.Commit(func() error { return nil })))
	}
	must.OK(t, rec.Close())
	cancel()
	<-done
	h := must.Get(jsonl.Read(got.Bytes(), "got"))(t)
	if h.NumTxns() != n || h.Meta.Name != "sent" || len(places) != n+1 || places[n] != n {
		t.Errorf("%d transactions of %q, %d lines", h.NumTxns(), h.Meta.Name, len(places))
	}
	must.OK(t, src.Close())
}
