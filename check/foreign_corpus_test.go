package check

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"isovet/check/run"
	"isovet/evidence"
	"isovet/history/format"
	"isovet/internal/test/histtest"
	"isovet/level"
)

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
			l, err := level.Parse(name)
			if err != nil {
				t.Fatal(err)
			}
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
	if compared < 100 || linear < 100 {
		t.Errorf("only %d verdicts compared", compared)
	}
}
