package bench

import (
	"slices"
	"testing"

	"isovet/datasets"
	"isovet/internal/test/histtest"
)

// askedFor is the most transactions of a history that a figure asks for, and how many histories.
func askedFor(t *testing.T, id string) (txns, histories int) {
	t.Helper()
	figures, err := LookupFigures([]string{id})
	if err != nil {
		t.Fatal(err)
	}
	l := &Lab{Scale: FullScale, Seed: 1, Timeout: timeouts[FullScale], dir: t.TempDir(), noServers: true,
		sources: map[datasets.Spec]Source{}, tell: func(string) {}}
	l.asked = func(s *datasets.Spec) {
		histories++
		txns = max(txns, s.Txns)
		s.Txns, s.Keys, s.Sessions = min(s.Txns, 20), min(s.Keys, 20), min(s.Sessions, 5)
	}
	if err := figures[0].Measure(t.Context(), l, newReport(figures[0], l, ReproduceOptions{})); err != nil {
		t.Fatalf("%s: %v", id, err)
	}
	return txns, histories
}

// notAsked are figures that do not tell without databases, or have no number of transactions.
var notAsked = []string{"vbox/table1", "mtc/fig11", "mtc/fig13", "mtc/fig14"}

// slowAsked are figures whose histories take half a second and more: the long form asks them.
var slowAsked = []string{"chronos/fig6", "mtc/fig10", "mtc/fig17"}

// TestSizes: --full makes histories of the sizes that each figure's page says; those that it can tell without running
// anything are asked of the figures.
func TestSizes(t *testing.T) {
	for _, f := range Figures() {
		if !f.Own && (f.Paper != "") == (f.NoSize != "") {
			t.Errorf("%s is to have sizes, or to say why it has none", f.ID)
		}
		if f.Paper == "" {
			continue
		}
		asked := !slices.Contains(notAsked, f.ID) && !slices.Contains(slowAsked, f.ID)
		if asked || histtest.Long(false, slices.Contains(slowAsked, f.ID)) {
			if txns, n := askedFor(t, f.ID); txns != f.Txns || n == 0 {
				t.Errorf("%s asks for up to %d transactions, not %d", f.ID, txns, f.Txns)
			}
		}
	}
}
