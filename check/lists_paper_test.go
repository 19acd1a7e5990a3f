package check

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"isovet/check/run"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
	"isovet/level"
)

var itemOp = regexp.MustCompile(`([rw])\((\w+),(\w+)\)`)

// asLists tells an anomaly of the catalogue with lists: a write appends to what its transaction read or wrote of the
// key before, a read returns the list that its value ends. ok is false where a transaction writes a key without reading
// it.
func asLists(text string) (string, bool) {
	lists := map[string]string{} // key=value → list, without brackets
	ok := true
	for _, line := range strings.Split(text, "\n") {
		last := map[string]string{}
		for _, m := range itemOp.FindAllStringSubmatch(line, -1) {
			if m[1] == "w" {
				before, read := last[m[2]]
				ok = ok && read
				lists[m[2]+"="+m[3]] = strings.TrimPrefix(lists[m[2]+"="+before]+","+m[3], ",")
			}
			last[m[2]] = m[3]
		}
	}
	out := itemOp.ReplaceAllStringFunc(text, func(s string) string {
		m := itemOp.FindStringSubmatch(s)
		if m[1] == "w" {
			return fmt.Sprintf("a(%s,%s)", m[2], m[3])
		}
		l := lists[m[2]+"="+m[3]]
		if l == "" && m[3] != "0" {
			l = m[3]
		}
		return fmt.Sprintf("r(%s,[%s])", m[2], l)
	})
	return strings.NewReplacer("aborted", "ABORTED", "unknown", "UNKNOWN").Replace(out), ok
}

// TestListNames: what is found in lists, by name.
func TestListNames(t *testing.T) {
	for _, c := range []struct {
		name, h string
		l       level.Level
		want    string // kinds with transactions; "": valid
	}{
		{"prefixes", "s1: a(x,1) a(x,2) | s2: a(x,3) | s3: r(x,[1,2]) | s4: r(x,[1,2,3]) | s5: r(x,[])",
			level.Serializable, ""},
		{"nobody read it", "s1: a(x,1) @[1,9] | s2: a(x,2) @[1,9] | s3: a(x,3) @[1,9]", level.StrictSnapshotIsolation,
			""},
		{"incompatible orders", "s1: a(x,1) | s2: a(x,2) | s3: r(x,[1,2]) | s4: r(x,[2,1])", level.Serializable,
			"incompatible-order 1 2"},
		{"incompatible, each only one", "s1: a(x,1) | s2: a(x,2) | s3: r(x,[1]) | s4: r(x,[2])",
			level.SnapshotIsolation, "incompatible-order 1 2"},
		{"an element twice", "s1: a(x,1) | s2: r(x,[1,1])", level.Serializable, "duplicate-element 2"},
		{"own append twice", "s1: a(x,1) r(x,[1,1])", level.Serializable, "duplicate-element 1"},
		{"aborted", "s1: a(x,1)! | s2: r(x,[1])", level.Serializable, "G1a 2 1"},
		{"aborted in the midst", "s1: a(x,1)! | s3: a(x,2) | s2: r(x,[1,2])", level.Serializable, "G1a 3 1"},
		{"intermediate", "s1: a(x,1) a(x,2) | s2: r(x,[1])", level.Serializable, "G1b 2 1"},
		{"another between", "s1: a(x,1) a(x,2) | s2: a(x,3) | s3: r(x,[1,3,2])", level.Serializable, "G1b 3 1"},
		{"not in its order", "s1: a(x,1) a(x,2) | s3: r(x,[2,1])", level.Serializable, "G1b 2 1"},
		{"thin air", "s1: a(x,1) | s2: r(x,[1,9])", level.Serializable, "thin-air-read 2"},
		{"initial elements missed", "init: a(x,1) | s2: r(x,[])", level.Serializable, "G1b 1 0"},
		{"initial elements", "init: a(x,1) | s2: r(x,[1]) a(x,2) r(x,[1,2]) | s3: r(x,[1,2])", level.Serializable, ""},
		{"lost append", "s1: r(x,[]) a(x,1) | s2: r(x,[]) a(x,2) | s3: r(x,[1,2])", level.SnapshotIsolation,
			"lost-update 2 1"},
		{"lost append that nobody read", "s1: r(x,[]) a(x,1) | s2: r(x,[]) a(x,2)", level.SnapshotIsolation,
			"lost-update 1 2"},
		{"lost in its session", "s1: a(x,1) | s1: r(x,[]) | s2: r(x,[1])", level.SessionSerializable,
			"session-guarantee-violation 2 1"},
		{"lost in time", "s1: a(x,1) @[1,2] | s2: r(x,[]) @[3,4]", level.StrictSerializable, "stale-read 2 1"},
		{"lost in time, but not asked for", "s1: a(x,1) @[1,2] | s2: r(x,[]) @[3,4]", level.SessionSerializable, ""},
		{"unknown, not seen", "s1: a(x,1) r(x,[9])? | s2: r(x,[])", level.Serializable, ""},
		{"unknown, seen", "s1: r(y,[9]) a(x,1)? | s2: r(x,[1])", level.Serializable, "thin-air-read 1"},
		{"order that an unknown one shows", "s1: a(x,1) | s2: a(x,2) | s3: r(x,[1,2]) a(y,1)? | s4: r(y,[1]) | s5: " +
			"r(x,[2])", level.Serializable, "incompatible-order 1 2"},
		{"G0", "s1: a(x,1) a(y,1) | s2: a(x,2) a(y,2) | s3: r(x,[1,2]) | s4: r(y,[2,1])", level.Serializable, "G0 1 2"},
		{"G1c", "s1: a(x,1) r(y,[1]) | s2: a(y,1) r(x,[1])", level.Serializable, "G1c 2 1"},
		{"concurrent writers that nobody read", "s1: r(y,[]) a(x,1) | s2: r(z,[]) a(x,2) | s3: a(y,1) a(z,1) a(w,1)",
			level.SnapshotIsolation, ""},
	} {
		h := notation.MustParse(c.h)
		for _, k := range []Checker{elle{}, run.Replay{}} {
			r, err := Run(t.Context(), k, h, Options{Level: c.l})
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
				continue
			}
			got := ""
			for i, a := range r.Anomalies {
				if i > 0 {
					got += "; "
				}
				got += string(a.Kind)
				for _, x := range a.Txns {
					got += fmt.Sprintf(" %d", h.Txns.ID[x])
				}
			}
			if got != c.want && (k.Info().Name == "elle" || (got == "") != (c.want == "")) ||
				r.Verdict == evidence.Unknown {
				t.Errorf("%s: %s: %s %q (%s); want %q", k.Info().Name, c.name, r.Verdict, got, r.Reason, c.want)
			}
		}
	}
}

// TestListsMedium compares elle, replay and vbox on runs of the store, at several isolations, with appends that nobody
// reads.
func TestListsMedium(t *testing.T) {
	verdicts := map[string]int{}
	histtest.Each(t, histtest.Long[uint64](33, 600), func(seed uint64) *history.History {
		return random.Medium(seed, random.Options{Txns: 60, Lists: true, Ops: 4, Unknown: seed%3 == 0,
			Aborted: seed%4 == 0})
	}, func(t testing.TB, seed uint64, h *history.History) {
		for _, l := range run.OrderLevels {
			var first *evidence.Result
			for _, c := range []Checker{elle{}, run.Replay{}, run.Vbox{}} {
				if !slices.Contains(c.Info().Levels, l) {
					continue
				}
				r := answer(t, c, h, Options{Level: l})
				if first == nil {
					first = r
					verdicts[r.Verdict.String()]++
					if r.Verdict == evidence.Violated {
						verdicts[string(r.Anomalies[0].Kind)]++
					}
				} else if r.Verdict != first.Verdict {
					t.Fatalf("seed %d, %s: elle says %s, %s %s (%s)\n%s", seed, l, first.Verdict, c.Info().Name,
						r.Verdict, r.Reason, notation.Format(h))
				}
			}
		}
	})
	histtest.Mix(t, min(verdicts["valid"], verdicts["violation"]) < 60 || verdicts["unknown"] > 0,
		"the mix is lopsided: %v", verdicts)
}
