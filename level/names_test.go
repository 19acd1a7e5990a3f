package level_test

import (
	"encoding/json"
	"strings"
	"testing"

	"isovet/internal/test/must"
	"isovet/level"
)

// Every name, in any spelling that a person may use, is the level; what is none is refused with the list of those that
// are.
func TestParse(t *testing.T) {
	for _, l := range level.All() {
		spellings := append(l.ShortNames(), l.String(), strings.ToUpper(l.String()), " "+strings.ReplaceAll(l.String(),
			"-", "_")+" ", strings.ReplaceAll(l.String(), "-", " "))
		for _, s := range spellings {
			if got, err := level.Parse(s); err != nil || got != l {
				t.Errorf("Parse(%q) = %v, %v; want %v", s, got, err, l)
			}
		}
		must.Be(t, l.About() != "", "%v says nothing about itself", l)
		var back level.Level
		if b, err := json.Marshal(l); err != nil || json.Unmarshal(b, &back) != nil || back != l {
			t.Errorf("%v is %v after JSON", l, back)
		}
	}
	seen := map[string]level.Level{}
	for _, l := range level.All() {
		for _, s := range append(l.ShortNames(), l.String()) {
			if m, ok := seen[s]; ok {
				t.Errorf("%q names %v and %v", s, l, m)
			}
			seen[s] = l
		}
	}
	// Jepsen's names and Adya's: decided, or an error that names what implies them.
	for s, want := range map[string]level.Level{
		":strict-serializable": level.StrictSerializable, "PL-3": level.Serializable, "PL-2.99": level.RepeatableRead,
		":strong-session-snapshot-isolation": level.SessionSnapshotIsolation, "PL-SS": level.StrictSerializable,
		"PL-SI": level.SnapshotIsolation,
	} {
		if got, err := level.Parse(s); err != nil || got != want {
			t.Errorf("Parse(%q) = %v, %v; want %v", s, got, err, want)
		}
	}
	for s, want := range map[string]level.Level{
		"PL-1": level.ReadCommitted, ":PL-2+": level.SnapshotIsolation, "monotonic atomic view": level.ReadAtomic,
		"PL-3U": level.Serializable, "cursor_stability": level.SnapshotIsolation, ":sequential": level.Linearizable,
		"strong-read-committed": level.StrictSnapshotIsolation,
	} {
		if _, err := level.Parse(s); err == nil || !strings.Contains(err.Error(), "the nearest level is "+
			want.String()+", which implies it") {
			t.Errorf("Parse(%q): %v; want the nearest, %v", s, err, want)
		}
	}
	for _, s := range []string{"", "serialisable", "snapshot"} {
		if _, err := level.Parse(s); err == nil || !strings.Contains(err.Error(), "expected one of serializable,") {
			t.Errorf("Parse(%q): %v", s, err)
		}
	}
	must.Equal(t, level.Level(200).String(), "level 200", "a level that is none")
}

// The families, and that a relaxed level is one of the same family which the level implies, weakest first.
func TestFamilies(t *testing.T) {
	for _, l := range level.All() {
		relaxed := l.Relaxed()
		for i, m := range relaxed {
			if m == l || !l.Implies(m) || m.Serial() != l.Serial() || m.Snapshot() != l.Snapshot() || i > 0 &&
				!m.Implies(relaxed[i-1]) {
				t.Errorf("%v relaxes to %v", l, relaxed)
			}
		}
		must.Be(t, !l.Serial() || !l.Snapshot(), "%v is of two families", l)
		must.Equal(t, l.RealTime(), strings.HasPrefix(l.String(), "strict-") || l == level.Linearizable, "%v", l)
		if l.RealTime() && l != level.Linearizable && !l.Sessions() {
			t.Errorf("%v respects real time and not sessions", l)
		}
	}
	for l, n := range map[level.Level]int{level.Serializable: 0, level.SessionSerializable: 1,
		level.StrictSnapshotIsolation: 2, level.Causal: 0} {
		must.Equal(t, len(l.Relaxed()), n, "how many levels %v relaxes to", l)
	}
}

// Needs and Weakest name levels that forbid the anomaly, and none weaker does.
func TestWeakest(t *testing.T) {
	for _, a := range kinds {
		for _, a := range []level.Anomaly{a, a + "-session", a + "-realtime"} {
			weakest := a.Weakest()
			for _, l := range level.All() {
				under := false
				for _, w := range weakest {
					under = under || l.Implies(w)
				}
				must.Equal(t, l.Forbids(a), under, "%v forbids %s; the weakest that do are %v", l, a, weakest)
				if need := l.Needs(a); !l.Implies(need) || l.Forbids(a) && !need.Forbids(a) {
					t.Errorf("%v needs %v for %s", l, need, a)
				}
				must.Be(t, !l.ForbidsSome(a) || !l.Forbids(a), "%v forbids %s, and only some of it", l, a)
			}
		}
	}
	for a, want := range map[level.Anomaly][]level.Level{
		level.G0:        {level.SnapshotIsolation, level.ReadCommitted, level.RepeatableRead, level.Linearizable},
		level.StaleRead: {level.StrictSnapshotIsolation, level.Linearizable},
	} {
		got := a.Weakest()
		for _, l := range want {
			found := false
			for _, m := range got {
				found = found || m == l
			}
			must.Be(t, found, "the weakest levels that forbid %s are %v, without %v", a, got, l)
		}
	}
}

// Every kind has a name in words, with suffixes in words too; what is no kind is its own name.
func TestNames(t *testing.T) {
	for _, a := range kinds {
		if a.Name() == string(a) && a != level.Divergence { // a word already
			t.Errorf("%s has no name in words", a)
		}
		must.Equal(t, a.Base(), a, "the base of %s", a)
		for suffix, words := range map[level.Anomaly]string{"-session": " through session order",
			"-realtime": " through real time"} {
			if a == level.NoOrder {
				words = strings.Replace(words, "through", "and keeps", 1)
			}
			must.Equal(t, (a + suffix).Name(), a.Name()+words, "the name of %s", a+suffix)
			must.Equal(t, (a + suffix).Base(), a, "the base of %s", a+suffix)
		}
	}
	must.Equal(t, level.Anomaly("no-such").Name(), "no-such", "the name of an unknown kind")
}
