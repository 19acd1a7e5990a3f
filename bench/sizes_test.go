package bench

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"isovet/datasets"
)

// size is a figure's axes at the papers' sizes: what the paper has, and what --full asks for.
type size struct {
	figure string
	txns   int    // the most transactions of a history that --full makes; 0: they are databases', or of no number
	paper  string // in the paper's text; "not stated" where the axis is in its picture alone
	full   string // what is not txns, or falls short, and why
}

// sizes lists them. Machines, databases and GPUs are not axes.
var sizes = []size{
	{"vbox/table1", 0, "29 synthesized and 7 real anomalies", "29 and the corpus's, by class"},
	{"vbox/fig6", 10_000, "six workloads, 10 K transactions", "the same"},
	{"vbox/fig7", 100_000, "10 K to 100 K transactions", "the same, in tens of thousands"},
	{"vbox/fig8a", 10_000, "six workloads, 10 K", "the same"},
	{"vbox/fig8b", 10_000, "six workloads, 10 K", "the same"},
	{"vbox/fig9", 2000, "not stated; 10 K elsewhere", "2,000 pruned, 1,000 unpruned, for the transitive encodings " +
		"have a clause for three transactions, 10¹² of 10 K"},
	{"vbox/table2", 10_000, "five histories, 10 K", "six, the same size"},
	{"vbox/memory", 80_000, "10 K transactions", "six workloads of 10 K, BlindW-WR of 10 K to 80 K"},
	{"leopard/fig3", 200_000, "YCSB-A on a million records", "a million records; 100,000 transactions of PostgreSQL"},
	{"leopard/fig9", 1_000_000, "not stated", "100 K to a million transactions"},
	{"leopard/fig10", 32_000, "over 16 K transactions, 16 threads, length 12", "4 K to 32 K, 32 threads, length 16"},
	{"leopard/fig12", 500_000, "not stated", "100,000 transactions of PostgreSQL, a fifth of TPC-C's"},
	{"leopard/fig13", 20_000, "20 K transactions, 32 threads, a fence after 20", "the same"},
	{"chronos/fig4", 20_000, "not stated", "1 K to 20 K transactions"},
	{"chronos/fig5a", 1_000_000, "100 K to 1,000 K transactions", "the same"},
	{"chronos/fig5b", 100_000, "10 K and more", "10 K to 100 K"},
	{"chronos/fig6", 1_000_000, "Table I: 5 K to 1,000 K transactions, 5 to 100 operations, 10 to 200 sessions, 200 " +
		"to 5,000 keys, 10 to 90 % reads, three distributions", "the same"},
	{"chronos/fig7", 1_000_000, "as Figure 6", "the same"},
	{"chronos/fig8", 1_000_000, "Table I", "by transactions alone: 100 K, 500 K and 1,000 K"},
	{"chronos/fig9", 1_000_000, "collections after so many transactions", "collections after so much growth, for " +
		"Go's collector is not called"},
	{"chronos/fig10", 100_000, "100 K transactions", "the same"},
	{"chronos/fig24", 500_000, "not stated", "100 K to 500 K transactions of four workloads"},
	{"aion/fig12", 500_000, "500 K transactions", "the same"},
	{"aion/fig13", 100_000, "100 K transactions", "the same"},
	{"aion/fig14", 100_000, "100 K", "the same, six delays"},
	{"aion/fig16", 100_000, "100 K in 310 s", "the same"},
	{"aion/fig17", 100_000, "not stated", "100 K, six delays"},
	{"aion/fig20", 10_000, "not stated", "10 K, six delays"},
	{"aion/fig25", 500_000, "500 K", "the same"},
	{"aion/online-rate", 500_000, "500 K; 24 sessions, 8 operations, 90 % reads at SER", "the same"},
	{"aion/online-datasets", 500_000, "500 K", "the same"},
	{"aion/fig23", 500_000, "500 K", "the same"},
	{"aion/online-memory", 100_000, "100 K in 310 s, 700 MB", "the same, at 322 a second"},
	{"aion/online-flips", 10_000, "100 K", "10 K, six delays"},
	{"aion/online-rectified", 10_000, "100 K", "10 K"},
	{"mtc/fig7", 40_000, "not stated", "5 K to 40 K transactions, 100 to 10 K objects, 5 to 40 sessions"},
	{"mtc/fig8", 40_000, "not stated", "as Figure 7"},
	{"mtc/fig9", 400_000, "not stated", "50 K to 400 K transactions, 2 to 100 sessions"},
	{"mtc/fig10", 20_000, "not stated", "5 K to 20 K transactions, 4 to 16 operations"},
	{"mtc/fig11", 20_000, "20 operations a transaction", "the same; 5,000 of PostgreSQL"},
	{"mtc/fig13", 3000, "3,000 transactions a trial, half an hour", "3,000; 40 trials, 20 on servers"},
	{"mtc/fig14", 3000, "as Figure 13", "as Figure 13"},
	{"mtc/fig17", 20_000, "not stated", "as Figure 10"},
	{"bc/fig1", 32_000, "seconds of Jepsen's running, 24 clients, 20 writes a key", "500 to 32 K transactions"},
	{"bc/fig2", 512_000, "as Figure 1", "1 K to 512 K"},
}

// askedFor is the most transactions of a history that a figure asks for, and how many histories.
func askedFor(t *testing.T, id string) (txns, histories int) {
	t.Helper()
	figures, err := LookupFigures([]string{id})
	if err != nil {
		t.Fatal(err)
	}
	l := &Lab{Scale: FullScale, Seed: 1, Timeout: timeouts[FullScale], dir: t.TempDir(), noServers: true,
		sources: map[sourceKey]Source{}, tell: func(string) {}}
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

// noSize are figures of papers that have no such axis: single histories, families of hard ones, and what was found or
// took how long on databases.
var noSize = []string{"vbox/fig9-hard", "leopard/fig11", "leopard/elle", "chronos/fig11", "aion/overhead", "mtc/table2",
	"bc/levels"}

// TestSizes: --full makes histories of the sizes that docs/papers.md says, which -update writes anew; those that it can
// tell without running anything are asked of the figures.
func TestSizes(t *testing.T) {
	for _, f := range Figures() {
		listed := slices.ContainsFunc(sizes, func(s size) bool { return s.figure == f.ID })
		if !f.Own && listed == slices.Contains(noSize, f.ID) {
			t.Errorf("%s is to be among the sizes, or among the figures without any", f.ID)
		}
	}
	var b bytes.Buffer
	for _, s := range sizes {
		if _, err := LookupFigures([]string{s.figure}); err != nil {
			t.Error(err)
		}
		if !slices.Contains(notAsked, s.figure) {
			if txns, n := askedFor(t, s.figure); txns != s.txns || n == 0 {
				t.Errorf("%s asks for up to %d transactions, not %d", s.figure, txns, s.txns)
			}
		}
		line := fmt.Sprintf("`%s`. The paper: %s. Here: %s", s.figure, s.paper, s.full)
		if s.txns > 0 {
			line += fmt.Sprintf("; at most %d transactions", s.txns)
		}
		b.WriteString(wrapped("- ", line+"."))
	}
	const page = "../docs/papers.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	const begin = "<!-- sizes: written by go test ./bench -run TestSizes -update -->\n\n"
	const end = "\n<!-- end of sizes -->"
	before, rest, ok := strings.Cut(string(text), begin)
	was, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no list of sizes", page)
	}
	if *update {
		if err := os.WriteFile(page, []byte(before+begin+b.String()+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if was != b.String() {
		t.Errorf("%s does not list these sizes: go test ./bench -run TestSizes -update", page)
	}
}
