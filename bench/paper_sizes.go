package bench

import (
	"fmt"
	"strings"
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
	{"leopard/fig12", 500_000, "20 minutes of each workload", "100,000 transactions of PostgreSQL, a fifth of TPC-C's"},
	{"leopard/fig13", 20_000, "20 K transactions, 32 threads, a fence after 20", "the same"},
	{"chronos/fig4", 20_000, "not stated", "1 K to 20 K transactions"},
	{"chronos/fig5a", 1_000_000, "100 K to 1,000 K transactions", "the same"},
	{"chronos/fig5b", 100_000, "10 K and more", "10 K to 100 K"},
	{"chronos/fig6", 1_000_000, "Table I: 5 K to 1,000 K transactions, 5 to 100 operations, 10 to 200 sessions, 200 " +
		"to 5,000 keys, 10 to 90 % reads, three distributions", "the same"},
	{"chronos/fig7", 1_000_000, "as Figure 6", "the same"},
	{"chronos/fig8", 1_000_000, "as Figure 6", "the same"},
	{"chronos/fig9", 1_000_000, "collections after so many transactions", "collections after so much growth, for " +
		"Go's collector is not called"},
	{"chronos/fig10", 100_000, "100 K transactions", "the same"},
	{"chronos/fig24", 500_000, "not stated", "100 K to 500 K transactions of four workloads"},
	{"aion/fig12", 500_000, "500 K transactions", "the same"},
	{"aion/fig13", 10_000, "10 K transactions", "the same"},
	{"aion/fig14", 10_000, "10 K", "the same, six delays"},
	{"aion/fig16", 100_000, "100 K in 310 s", "the same"},
	{"aion/fig17", 10_000, "10 K", "the same, six delays"},
	{"aion/fig20", 10_000, "10 K", "the same, six delays"},
	{"aion/fig25", 500_000, "500 K", "the same"},
	{"aion/online-rate", 500_000, "500 K; 24 sessions, 8 operations, 90 % reads at SER", "the same"},
	{"aion/online-datasets", 500_000, "500 K", "the same"},
	{"aion/fig23", 500_000, "500 K", "the same"},
	{"aion/online-memory", 100_000, "100 K in 310 s, 700 MB", "the same, at 322 a second"},
	{"aion/online-flips", 10_000, "10 K", "the same, six delays"},
	{"aion/online-rectified", 10_000, "10 K", "the same"},
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

// noSize says of the other figures of papers, which have no such axis, what they are of.
var noSize = map[string]string{
	"vbox/fig9-hard": "These histories are not in the paper: up to 400 transactions, 20 variables, 4 holes",
	"leopard/fig11":  "What is compared is throughput, of what the databases' clients ran",
	"leopard/elle":   "One history, the paper's example",
	"chronos/fig11":  "One history, the paper's example",
	"aion/overhead": "What is compared is a loss in percent, over 20,000 transactions of 5 operations, and " +
		"as many operations in longer ones",
	"mtc/table2": "What is compared is when a bug is found, whatever the size",
}

// theSame is how sizes begin that are the paper's.
const theSame = "the same"

// paperSizes is what the page of a figure at the full scale says of its sizes, without a full stop; "": nothing is
// known.
func paperSizes(figure string) string {
	if s := noSize[figure]; s != "" {
		return s
	}
	for _, s := range sizes {
		if s.figure != figure {
			continue
		}
		unstated, elsewhere := strings.CutPrefix(s.paper, notStated)
		switch {
		case s.full == theSame:
			return fmt.Sprintf("These are the paper's sizes (%s)", s.paper)
		case strings.HasPrefix(s.paper, "as Figure") && s.full == s.paper:
			return "The sizes are those of " + strings.TrimPrefix(s.paper, "as ")
		case elsewhere:
			return fmt.Sprintf("The paper's text does not state this figure's sizes%s. Here: %s", unstated, s.full)
		}
		return fmt.Sprintf("Sizes in the paper: %s. Here: %s", s.paper, s.full)
	}
	return ""
}

// notStated is how a paper's sizes begin that its text does not state.
const notStated = "not stated"

// historiesOf says what histories a figure is of that does not make them from workloads, and so lists none.
var historiesOf = map[string]string{
	"vbox/table1": "29 synthesized anomalies of a few transactions each (datasets), and the corpus's recorded " +
		"histories known to violate the level, which the notes are about",
	"leopard/elle":  "one, the paper's example: a row updated twice, and then read as it was between",
	"chronos/fig11": "one, of three transactions on one key",
	"mtc/fig14":     "those of mtc/fig13, on ten keys by ten sessions",
	"aion/overhead": "what databases' clients ran, in eleven turns: 20,000 transactions of 5 operations (at the " +
		"default scale 3,000), and as many operations in longer ones",
}
