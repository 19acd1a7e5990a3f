package check

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"isovet/check/run"
	"isovet/evidence"
	"isovet/history"
	"isovet/history/format"
	"isovet/internal/test/histtest"
	"isovet/level"
)

// asked are the verdicts at the six levels that a manifest's words make certain: what a level promises, those that it
// implies do too.
func asked(t *testing.T, words string) map[level.Level]evidence.Verdict {
	want := map[level.Level]evidence.Verdict{}
	for _, w := range strings.Split(words, ";") {
		name, verdict, ok := strings.Cut(w, "=")
		if !ok {
			continue
		}
		l, err := level.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range run.OrderLevels {
			if verdict == "valid" && l.Implies(m) {
				want[m] = evidence.Holds
			}
			if verdict == "violation" && m.Implies(l) {
				want[m] = evidence.Violated
			}
		}
	}
	return want
}

// TestReplayCorpus: the verdicts of the corpus's manifest on real databases' histories, predicate reads and writes
// among them. Run certifies every answer. The long run (ISOVET_LONG=1) has all six levels, also those that the manifest
// says nothing of, and histories without their times.
func TestReplayCorpus(t *testing.T) {
	dir, rows := corpus(t)
	compared, lists, left := 0, 0, 0
	for _, row := range rows {
		if row[1] != "isovet-history" {
			continue
		}
		h, err := format.Read(t.Context(), filepath.Join(dir, row[0]), format.Options{})
		if err != nil {
			t.Error(err)
			continue
		}
		want := asked(t, row[3])
		for _, l := range run.OrderLevels {
			run := func(h *history.History, compare bool) *evidence.Result {
				limit := time.Minute
				if want[l] == evidence.Unknown && !compare {
					limit = time.Duration(histtest.Long[uint64](2, 10)) * time.Second
				}
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				r, err := Run(ctx, run.Replay{}, h, Options{Level: l})
				if err != nil {
					t.Errorf("%s, %s: %v", row[0], l, err)
				}
				return r
			}
			short := !histtest.Long(false, true)
			said := want[l] != evidence.Unknown && strings.Contains(row[3], l.String()+"=") // by the manifest itself
			if short && (!said || h.HasPredicates() && l != level.Serializable) {
				left++
				continue
			}
			r := run(h, false)
			if r == nil {
				continue
			}
			if h.HasLists() {
				lists++
				if e, err := Run(t.Context(), elle{}, h, Options{Level: l}); err != nil || e.Verdict != r.Verdict {
					t.Errorf("%s, %s: elle says %v, %v; replay %s", row[0], l, e, err, r.Verdict)
				}
			}
			if r.Verdict == evidence.Unknown && want[l] == evidence.Unknown && r.Reason == "timeout" {
				t.Logf("%s, %s: not decided in time, %+v; the manifest does not say either", row[0], l, r.Stats)
				continue
			}
			if r.Verdict == evidence.Unknown {
				t.Errorf("%s, %s: unknown: %s", row[0], l, r.Reason)
				continue
			}
			t.Logf("%s, %s: %s in %.0f ms, %d rounds", row[0], l, r.Verdict, r.Stats.CheckMS, r.Stats.Rounds)
			if w := want[l]; w != evidence.Unknown {
				compared++
				if r.Verdict != w {
					t.Errorf("%s, %s: %s; the manifest says %s", row[0], l, r.Verdict, w)
				}
			}
			if l == level.SessionSnapshotIsolation || l == level.SessionSerializable {
				if short {
					left++
					continue
				}
				bare := *h // the same without times
				bare.Txns.Start, bare.Txns.Commit, bare.Txns.End, bare.Txns.StartTS, bare.Txns.CommitTS = nil, nil, nil,
					nil, nil
				if b := run(&bare, true); b != nil && b.Verdict == evidence.Unknown && b.Reason == "timeout" &&
					h.HasPredicates() {
					t.Logf("%s, %s: without times not decided in time", row[0], l) // docs/checkers/replay.md, Limits
				} else if b != nil && b.Verdict != r.Verdict {
					t.Errorf("%s, %s: %s, and without times %s (%s)", row[0], l, r.Verdict, b.Verdict, b.Reason)
				}
			}
		}
	}
	t.Logf("%d verdicts compared, %d of lists; %d runs left to ISOVET_LONG=1", compared,
		lists, left)
	if compared < 50 {
		t.Errorf("only %d verdicts were compared", compared)
	}
}
