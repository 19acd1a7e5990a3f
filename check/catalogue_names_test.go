package check

import (
	"slices"
	"testing"

	"isovet/datasets"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest/oracletest"
)

// TestCatalogueNames: the anomalies of errata §5.1 and the others of the catalogue, of registers and told with lists:
// every checker of a level, brute force among them, gives the verdict of the table, or says that it cannot, and the
// name.
func TestCatalogueNames(t *testing.T) {
	named := map[string]int{}
	for _, a := range datasets.Anomalies() {
		forms := map[string]*history.History{"registers": a.History()}
		if text, ok := asLists(a.Text); ok {
			forms["lists"] = oracletest.Parse(text)
		}
		for form, h := range forms {
			for _, l := range datasets.Judged() {
				want := evidence.Holds
				if slices.Contains(a.Violates, l) {
					want = evidence.Violated
				}
				for _, c := range append(All(), bruteForce{}) {
					in := c.Info()
					// leopard needs to know the database
					if in.Timestamps || in.Name == "leopard" || !slices.Contains(in.Levels, l) || form == "registers" &&
						in.Name == "elle" {
						continue
					}
					if in.Name == "oracle" && h.NumTxns() > 8 {
						continue // it does not list the orders of more
					}
					r, err := Run(t.Context(), c, h, Options{Level: l})
					if err != nil {
						t.Fatalf("%s of %s, %s, %s: %v", a.Name, form, l, in.Name, err)
					}
					if r.Verdict == evidence.Unknown && in.Partial {
						continue
					}
					if r.Verdict != want {
						t.Errorf("%s of %s, %s: %s says %s (%s); want %s", a.Name, form, l, in.Name, r.Verdict,
							r.Reason, want)
						continue
					}
					if want == evidence.Violated {
						named[in.Name+" "+form]++
						// which is lost updates and fractured reads too
						if got := r.Anomalies[0].Kind; got != a.Kind && a.Name != "dirty-write" {
							t.Errorf("%s of %s, %s: %s says %s; want %s\n%s", a.Name, form, l, in.Name, got, a.Kind,
								r.Anomalies[0].Text)
						}
					}
				}
			}
		}
	}
	t.Log(named)
}
