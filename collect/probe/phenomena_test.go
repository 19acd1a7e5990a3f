package probe

import (
	"strings"
	"testing"

	"isovet/collect"
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
			if s.String() != text {
				t.Errorf("%s: %q is written as %q", ph.Name, text, s)
			}
			if got := strings.ContainsAny(text, "que"); got != s.Predicates {
				t.Errorf("%s: %q has predicates: %v", ph.Name, text, s.Predicates)
			}
		}
	}
}
