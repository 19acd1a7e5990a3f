package probe

import (
	"strings"
	"testing"

	"isovet/collect"
	"isovet/internal/test/must"
)

// TestSchedules: each is read, and written as it was.
func TestSchedules(t *testing.T) {
	for _, ph := range Phenomena() {
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
