package watches

import (
	"context"
	"net"
	"strings"
	"testing"

	"isovet/watch"
)

// onWrite is called by each write.
type onWrite func(text string)

func (f onWrite) Write(b []byte) (int, error) {
	f(string(b))
	return len(b), nil
}

// TestMetricsTaken: who waits for another process (--standby) waits for its address of metrics too, and says so; a
// signal ends that.
func TestMetricsTaken(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	f := &watchFlags{metric: taken.Addr().String(), standby: true, state: t.TempDir()}
	ctx, cancel := context.WithCancel(t.Context())
	told := ""
	log := newLog(onWrite(func(text string) {
		told += text
		cancel()
	}), "text")
	if s, err := f.serve(ctx, new(watch.Metrics), new(watch.Incidents), log); err == nil {
		t.Error("it listens on an address that is taken", s.Close())
	}
	if !strings.Contains(told, "another process has the address") {
		t.Errorf("it says %q", told)
	}
	log = newLog(onWrite(func(string) { taken.Close() }), "json")
	s, err := f.serve(t.Context(), new(watch.Metrics), new(watch.Incidents), log)
	if err != nil || s.Addr().String() != f.metric {
		t.Fatalf("%v; expected to get the address", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
