package archtest

import (
	_ "embed"
	"strings"
)

// room is a package, or several of one purpose; "/*" stands for every package below, so that a new file format is one
// new package and no new line in the table.
type room struct {
	packages, purpose string // packages: separated by blanks
}

// floorsTSV has a line for each room: its packages and their purpose. A blank line ends a floor.
//
//go:embed floors.tsv
var floorsTSV string

// floors lists the packages, lowest first. A package imports packages of lower floors only. The outline is
// docs/architecture.md.
var floors = func() (all [][]room) {
	for floor := range strings.SplitSeq(floorsTSV, "\n\n") {
		var rooms []room
		for line := range strings.Lines(floor) {
			packages, purpose, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			rooms = append(rooms, room{packages, purpose})
		}
		all = append(all, rooms)
	}
	return all
}()

// along is an import between packages of one floor, and why it is right.
type along struct{ from, to, why string }

// alongFloor are the imports along a floor that are allowed. A trailing "/*" stands for every package below.
var alongFloor = []along{
	{"internal/graph/order", "internal/graph", "an order is an order of a graph"},
	{"solver/*", "solver", "back ends of one interface"},
	{"solver/external", "solver/dimacs", "one of the forms in which it writes formulas"},
	{"history/format", "history/format/*", "the list of formats names them all"},
	{"history/format/parquet", "history/format", "it registers itself: a small program does without"},
	{"history/format/xz", "history/format", "it registers itself: a small program does without"},
	{"history/format/*", "history/format/edn", "several formats are EDN or JSON"},
	{"history/format/*", "history/format/integers", "several formats have integers only"},
	{"history/format/otlp", "history/format/jsonl", "a span becomes a line of it"},
	{"history/format/parquet", "history/format/jsonl", "values that no column can hold are JSON as there"},
	{"history/format/*", "history/format/logs", "two formats are folders of clients' logs"},
	{"collect/campaign", "collect/hunt", "a campaign is a table of hunts"},
	{"collect/probe", "collect/hunt", "loads have the names that they have in a hunt"},
	{"collect/driver", "collect/driver/dial", "it tells a lost connection"},
	{"datasets", "datasets/*", "a data set is a workload that the store runs"},
	{"datasets/store", "datasets/workload", "the store drives workloads"},
}

// narrow says that a package imports no others of the house than these, whatever the floors allow.
var narrow = map[string][]string{
	// Whoever checks proofs must not share code with whoever makes them.
	"certify":       {"certify/unsat", "history", "level", "evidence", "predicates"},
	"certify/large": {"certify", "history", "level", "evidence"},
	// The kernel knows nothing of histories' formats, and what speaks to it nothing of checkers.
	"certify/kernel": {},
	"certify/unsat":  {},
	"certify/elaborate": {"certify/kernel", "certify/unsat", "history", "level", "evidence", "predicates",
		"internal/sorts"},
	// Brute force is the twin of all checkers, by definition and nothing else.
	"internal/test/oracle": {"history", "level", "evidence", "predicates"},
	"solver":               {},
	"internal/graph":       {"internal/heap"},
	"closure":              {"internal/graph", "internal/room", "internal/safego"},
	"datasets/workload":    {"history", "internal/slice"},
	"record": {"history", "history/partlist", "internal/atomicfile", "internal/safego", "internal/slice", "level",
		"predicates"},
}

// importers says who may import a package: the graph and solver side meets the database side in few places.
var importers = map[string][]string{
	"internal/graph": {"check/prepass", "check/events", "internal/graph/order", "closure", "check/timestamp",
		"solver/acyclic", "polygraph", "check/weak", "check/bcgraph",
		"check/lists", "check/minitxn", "check/mixed", "check/census", "encode", "check/replay", "check/run",
		"check/workloads"},
	"internal/graph/order": {"solver/acyclic", "encode", "check/replay", "check/bcgraph", "check/mixed"},
	"closure": {"solver/acyclic", "polygraph", "encode", "check/explain", "check/replay", "check/run",
		"check/papers", "check"},
	"solver": {"solver/*", "check/weak", "encode", "check/explain", "check/replay", "check/run", "check/papers",
		"check", "check/mixed", "check/spill/plan", "watch/online", "watch", "internal/test/solvertest/*"},
	"solver/gini":           {"check/run"},
	"solver/gophersat":      {"check/run"},
	"solver/external":       {"encode", "check/run", "check"},
	"report/view":           {"internal/cli"}, // the check-only program has no server
	"internal/test/browser": {},               // tests alone: no program is linked with a browser's driver
	"internal/cli":          {"cmd/isovet", "cmd/command", "internal/release"},
}

// goroutines lists the files that start goroutines without safego, and why a panic there does no harm. All others use
// safego.Group: a panic that nobody recovers ends the program with status 2, which means "unknown".
var goroutines = map[string]string{
	"internal/safego/safego.go":          "it is what recovers",
	"internal/cli/console/console.go":    "waits for a signal, nothing else",
	"internal/guard/guard.go":            "recovers, and makes a fault of it",
	"internal/cli/checks/supervisor.go":  "copies what another process says, nothing else",
	"internal/cli/console/supervised.go": "reads single bytes, nothing else",
	"internal/cli/console/progress.go":   "writes a line now and then",
	"bench/child.go":                     "reads its input to the end, nothing else",
	"solver/gophersat/gophersat.go":      "recovers, and panics again where it is waited for",
}
