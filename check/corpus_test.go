package check

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"isovet/check/run"
	"isovet/evidence"
	"isovet/history"
	"isovet/history/format"
	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
	"isovet/level"
)

// corpus returns the folder of the corpus of real histories and the rows of its manifest: path, format,
// transactions, verdicts, and where all that is from. Without a corpus the test is skipped, loudly.
func corpus(t *testing.T) (dir string, rows [][]string) {
	t.Helper()
	if dir = os.Getenv("ISOVET_CORPUS"); dir == "" {
		dir = filepath.Join("..", "..", "shared", "corpus")
	}
	manifest, err := os.ReadFile(filepath.Join(dir, "MANIFEST.tsv"))
	if err != nil {
		t.Skipf("SKIPPED, NOTHING TESTED: no corpus of real histories at %s (set ISOVET_CORPUS)", dir)
	}
	for line := range strings.Lines(string(manifest)) {
		if row := strings.Split(strings.TrimRight(line, "\r\n"), "\t"); len(row) >= 4 && row[1] != "format" {
			rows = append(rows, row)
		}
	}
	return dir, rows
}

// TestCorpus: the verdicts of the corpus's manifest on real databases' histories at the levels of the serializable
// family. Lists are decided as the registers that they tell. Run certifies every answer.
func TestCorpus(t *testing.T) {
	histtest.OnlyLong(t)
	dir, rows := corpus(t)
	compared := 0
	for _, row := range rows {
		if row[1] != "isovet-history" {
			continue
		}
		h, err := format.Read(t.Context(), filepath.Join(dir, row[0]), format.Options{})
		if err != nil {
			t.Error(err)
			continue
		}
		said := asked(t, row[3])
		for _, l := range []level.Level{level.Serializable, level.SessionSerializable, level.StrictSerializable} {
			want := said[l]
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			r, err := Run(ctx, run.Vbox{}, h, Options{Level: l})
			cancel()
			switch {
			case err != nil:
				t.Errorf("%s, %s: %v", row[0], l, err)
			case want == evidence.Unknown:
				t.Logf("%s, %s: %s %s in %.0f ms; the manifest does not say", row[0], l, r.Verdict, r.Reason,
					r.Stats.CheckMS)
			case r.Verdict != want:
				t.Errorf("%s, %s: %s (%s); the manifest says %s", row[0], l, r.Verdict, r.Reason, want)
			default:
				compared++
				t.Logf("%s, %s: %s in %.0f ms", row[0], l, r.Verdict, r.Stats.CheckMS)
			}
		}
	}
	t.Logf("%d verdicts compared", compared)
	must.Be(t, compared != 0, "nothing was compared")
}

// asked are the verdicts at the six levels that a manifest's words make certain: what a level promises, those that it
// implies do too.
func asked(t *testing.T, words string) map[level.Level]evidence.Verdict {
	want := map[level.Level]evidence.Verdict{}
	for _, w := range strings.Split(words, ";") {
		name, verdict, ok := strings.Cut(w, "=")
		if !ok {
			continue
		}
		l := must.Get(level.Parse(name))(t)
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
// says nothing of, large files, and histories without their times.
func TestReplayCorpus(t *testing.T) {
	dir, rows := corpus(t)
	compared, lists, left := 0, 0, 0
	for n, row := range rows {
		if row[1] != "isovet-history" {
			continue
		}
		short := !histtest.Long(false, true)
		file := filepath.Join(dir, row[0])
		if at, err := os.Stat(file); err == nil && short && at.Size() > 1_200_000 {
			continue
		}
		h, err := format.Read(t.Context(), file, format.Options{})
		if err != nil {
			t.Error(err)
			continue
		}
		want := asked(t, row[3])
		for i, l := range run.OrderLevels {
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
			said := want[l] != evidence.Unknown && strings.Contains(row[3], l.String()+"=") // by the manifest itself
			if short && (!said || (n+i)%3 > 0 || h.HasPredicates() && l != level.Serializable) {
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
				must.Equal(t, r.Verdict, w, "%s, %s (%s)", row[0], l, r.Reason)
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
	t.Logf("%d verdicts compared, %d of lists; %d runs left to ISOVET_LONG=1", compared, lists, left)
	must.Be(t, compared >= 20, "only %d verdicts were compared", compared)
}

// beyond says which files of the corpus hold no history, or none that reads and writes can say, and why.
var beyond = []struct{ path, why string }{
	{"cobra/bsl/polyg/", "unknown format"}, // constraints, not a history
	{"elle-cli/histories/jepsen/bank", "a transfer does not say what it wrote"},
	{"elle-cli/histories/jepsen/counter", "an add does not say what it wrote"},
	{"elle-cli/histories/jepsen/set_full", "expected one form"}, // adds with a key, a read without
	{"c4/History/testcase/viper/tap-a", "the file is empty"},
	{"c4/History/testcase/viper/tap-b", "the file is empty"},
	{"c4/History/testcase/viper/tap-c", "the file is empty"},
	{"c4/History/testcase/viper/tap-d", "the file is empty"},
}

// differ are the verdicts that are not the manifest's, each explained in docs/formats.md.
var differ = map[string]evidence.Verdict{
	// The manifest has both verdicts: the second holds under an order of the transactions that is given to Elle from
	// outside.
	"transcribed/elle-rw-register/G-single-transaction-order.edn session-serializable": evidence.Holds,
	"transcribed/elle-rw-register/wfr.edn session-serializable":                        evidence.Violated,
	"transcribed/elle-rw-register/G2-item-transaction-order.edn session-serializable":  evidence.Holds,
	// Elle's expectation is of serializability without sessions; that of its strong session snapshot isolation is a
	// violation.
	"transcribed/elle-list-append/strong-session-SI.edn session-serializable":     evidence.Violated,
	"transcribed/elle-list-append/G-nonadjacent-process.edn session-serializable": evidence.Violated,
	"transcribed/elle-rw-register/G2-item-transaction-order.edn repeatable-read":  evidence.Holds,
	// Values that nobody wrote, which Elle takes for the initial state.
	"transcribed/elle-rw-register/G2-item-linearizable-keys.edn read-committed": evidence.Violated,
	// Plume's read-committed does not ask that reads do not go back, nor that a transaction sees its own writes.
	"c4/History/testcase/text/tap-i.txt read-committed":              evidence.Violated,
	"c4/History/testcase/text/tap-j.txt read-committed":              evidence.Violated,
	"c4/History/testcase/dbcop/tap-j/history.bincode read-committed": evidence.Violated,
	"c4/History/testcase/viper/tap-j read-committed":                 evidence.Violated,
	"c4/History/testcase/elle/tap-i.edn read-committed":              evidence.Violated,
	"c4/History/testcase/elle/tap-j.edn read-committed":              evidence.Violated,
	// Registers told as lists of one element each, whose reads no append-only list gives.
	"c4/History/testcase/elle/tap-l.edn read-committed": evidence.Violated,
	"c4/History/testcase/elle/tap-n.edn read-committed": evidence.Violated,
	"c4/History/testcase/elle/tap-n.edn read-atomic":    evidence.Violated,
}

// TestForeignCorpus: every file of the corpus in another tool's format loads and gets the manifest's verdict at each
// level that replay decides, or stands in the lists above. Linearizability is for the checker that auto takes, the weak
// levels are for weak, which decides them for every history without predicates.
func TestForeignCorpus(t *testing.T) {
	histtest.OnlyLong(t)
	dir, rows := corpus(t)
	loaded, compared, lists, linear := 0, 0, 0, 0
	inferred := map[evidence.Verdict]int{}
	for _, row := range rows {
		if row[1] == "isovet-history" {
			continue
		}
		path := row[0]
		h, err := format.Read(t.Context(), filepath.Join(dir, path), format.Options{})
		if err != nil {
			known := false
			for _, b := range beyond {
				known = known || strings.HasPrefix(path, b.path) && strings.Contains(err.Error(), b.why)
			}
			if !known {
				t.Error(err)
			}
			continue
		}
		loaded++
		for _, v := range strings.Split(row[3], ";") {
			name, want, ok := strings.Cut(strings.TrimSpace(v), "=")
			if !ok {
				continue
			}
			l := must.Get(level.Parse(name))(t)
			var c Checker = run.Replay{}
			if l == level.Linearizable {
				var ok bool
				if c, ok = Auto(h, l); !ok {
					t.Fatalf("%s: no checker for %s", path, l)
				}
				linear++
			}
			if slices.Contains(weakly{}.Info().Levels, l) {
				c = weakly{}
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			r, err := Run(ctx, c, h, Options{Level: l})
			cancel()
			if err != nil {
				t.Errorf("%s, %s: %v", path, name, err)
				continue
			}
			if h.HasLists() && slices.Contains(run.OrderLevels, l) {
				lists++
				if e, err := Run(t.Context(), elle{}, h, Options{Level: l}); err != nil || e.Verdict != r.Verdict {
					t.Errorf("%s, %s: elle says %v, %v; replay %s", path, name, e, err, r.Verdict)
				}
			}
			if strings.Contains(path, "rw-register") && slices.Contains(run.SerialLevels, l) {
				e, err := Run(t.Context(), called("elle-register"), h, Options{Level: l})
				if err != nil || e.Verdict != r.Verdict && e.Verdict != evidence.Unknown {
					t.Errorf("%s, %s: elle-register says %v, %v; replay %s", path, name, e, err, r.Verdict)
				} else {
					inferred[e.Verdict]++
				}
			}
			expected := map[string]evidence.Verdict{"valid": evidence.Holds, "violation": evidence.Violated}[want]
			if d, ok := differ[path+" "+name]; ok {
				expected = d
			}
			switch {
			case r.Verdict != expected:
				t.Errorf("%s, %s: %s (%s); expected %s, the manifest says %s", path, name, r.Verdict, r.Reason,
					expected, want)
			default:
				compared++
			}
		}
	}
	t.Logf("%d files loaded, %d verdicts compared, %d of them on lists, %d of linearizability", loaded, compared, lists,
		linear)
	t.Logf("elle-register on Elle's register histories: %v", inferred)
	must.Be(t, compared >= 100 && linear >= 100, "only %d verdicts compared", compared)
}
