package collect_test

import (
	"strings"
	"testing"

	"isovet/collect"
	"isovet/collect/probe"
	"isovet/internal/test/must"
)

// TestProbeSchedules: each is read, and written as it was.
func TestProbeSchedules(t *testing.T) {
	for _, ph := range probe.Phenomena() {
		for _, text := range ph.Schedules {
			s, err := collect.ParseSchedule(text)
			if err != nil {
				t.Errorf("%s: %s: %v", ph.Name, text, err)
				continue
			}
			must.Equal(t, s.String(), text, "%s", ph.Name)
			must.Equal(t, s.Predicates, strings.ContainsAny(text, "que"), "%s: %q has predicates", ph.Name, text)
		}
	}
}
