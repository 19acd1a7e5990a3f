package check

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"isovet/check/run"
	"isovet/evidence"
	"isovet/history/format"
	"isovet/internal/test/histtest"
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
// family. Lists are decided as the registers that they tell. Run certifies every answer. Where the manifest says
// nothing, two seconds are enough, and histories with predicates are left to the long run (ISOVET_LONG=1).
func TestCorpus(t *testing.T) {
	histtest.OnlyLong(t)
	dir, rows := corpus(t)
	compared, left := 0, 0
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
			limit := time.Minute
			if want == evidence.Unknown {
				if limit = time.Duration(histtest.Long[uint64](2, 60)) * time.Second; h.HasPredicates() &&
					!histtest.Long(false, true) {
					left++
					continue
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
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
	t.Logf("%d verdicts compared; %d runs on histories with predicates left to ISOVET_LONG=1", compared, left)
	if compared == 0 {
		t.Error("nothing was compared")
	}
}
