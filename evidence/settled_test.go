package evidence_test

import (
	"strings"
	"testing"

	checkers "isovet/check"
	"isovet/evidence"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/level"
)

// Names fit what is shown: where a name says that session order or real time is needed, the text says which sessions or
// which times, also where they settle only an order of versions.
func TestNamesSayWhatIsShown(t *testing.T) {
	seen, settled := 0, 0
	for seed := range uint64(400) {
		o := random.Options{Aborted: seed%3 == 0, Unknown: seed%5 == 0, Deletes: seed%7 == 0, Lists: seed%4 == 0,
			Duplicates: seed%6 == 1, Predicates: seed%9 == 2}
		h := random.Tiny(seed, o)
		if seed%2 == 0 {
			h = random.Medium(seed, random.Options{Txns: 20, Keys: 4, Lists: o.Lists, Duplicates: o.Duplicates})
		}
		for _, l := range []level.Level{level.SessionSerializable, level.StrictSerializable, level.Causal,
			level.StrictSnapshotIsolation, level.ReadCommitted} {
			c, ok := checkers.Auto(h, l)
			if !ok {
				continue
			}
			r := must.Get(checkers.Run(t.Context(), c, h, checkers.Options{Level: l}))(t)
			for i := range r.Anomalies {
				a := &r.Anomalies[i]
				text := evidence.Describe(a, h)
				title := a.Title(h)
				if strings.Contains(title, "session order") || strings.Contains(title, "through real time") {
					seen++
				}
				if strings.Contains(title, "session order") && !strings.Contains(text, " came after ") ||
					strings.Contains(title, "s real time") && !strings.Contains(text, " ended at ") ||
					strings.Contains(title, "through real time") && !strings.Contains(text, " ended at ") {
					t.Errorf("seed %d at %s: %s\n%s", seed, l, title, text)
				}
				if strings.Contains(text, ".)") {
					settled++
				}
				kind, words, _ := strings.Cut(title, " (")
				must.Be(t, strings.TrimSuffix(words, ")") != strings.ReplaceAll(kind, "-", " "),
					"%s says its kind twice", title)
			}
		}
	}
	must.Be(t, seen >= 50 && settled >= 10,
		"%d names and %d settled orders of versions: too few to say something", seen, settled)
}

// TestTitles: a name in words stands beside the kind only where it says more.
func TestTitles(t *testing.T) {
	for kind, want := range map[level.Anomaly]string{
		level.LostUpdate:                    "lost-update",
		level.LostUpdate + "-realtime":      "lost-update-realtime (through real time)",
		level.NonMonotonicRead + "-session": "non-monotonic-read-session (through session order)",
		level.ThinAirRead:                   "thin-air-read",
		level.ReadOnlyAnomaly:               "read-only-anomaly",
		level.G1a:                           "G1a (aborted read)",
		level.NoOrder + "-realtime": "no-version-order-realtime (no order of the versions explains the reads and " +
			"keeps real time)",
		level.Session: "SESSION (started before its predecessor in the session had committed)",
	} {
		must.Equal(t, (&evidence.Anomaly{Kind: kind}).Title(nil), want, "the title of %s", kind)
	}
}
