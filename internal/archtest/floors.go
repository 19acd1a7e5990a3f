package archtest

// floors lists the packages, a floor a line group, lowest first. A package imports packages of lower floors only. "/*"
// stands for every package below: a new file format is one new package and no new line here.
var floors = [][]string{
	{"internal/safego", "internal/mapped", "internal/room", "internal/bounds"},
	{"history", "level", "graph", "graph/order", "solver", "solver/gini", "solver/gophersat", "solver/proof", "solver/dimacs", "solver/external", "solver/external/externaltest"},
	{"evidence", "closure", "predicates", "history/notation", "history/format", "history/format/*", "datasets", "datasets/store", "datasets/workload"},
	{"prepass", "solver/acyclic", "collect/driver", "collect/server", "internal/histtest"},
	{"polygraph", "check/frontier", "check/weak", "check/bcgraph", "check/timestamp", "check/lists", "check/minitxn", "check/mechanism", "certify", "check/oracle", "check/oracle/oracletest"},
	{"encode"},
	{"check/explain", "check/replay"},
	{"check"},
	{"report", "collect", "watch"},
	{"bench"},
	{"internal/cli"},
	{"cmd/isovet", "cmd/bench", "internal/release"},
	{"internal/archtest"},
}

// along is an import between packages of one floor, and why it is right.
type along struct{ from, to, why string }

// alongFloor are the imports along a floor that are allowed. A trailing "/*" stands for every package below.
var alongFloor = []along{
	{"graph/order", "graph", "an order is an order of a graph"},
	{"solver/*", "solver", "back ends and proofs of one interface"},
	{"solver/external", "solver/dimacs", "one of the forms in which it writes formulas"},
	{"solver/external/externaltest", "solver/dimacs", "the form in which the program of the tests reads them"},
	{"history/format", "history/format/*", "the list of formats names them all"},
	{"history/format/*", "history/format/edn", "several formats are EDN or JSON"},
	{"history/format/*", "history/format/integers", "several formats have integers only"},
	{"history/format/*", "history/format/logs", "two formats are folders of clients' logs"},
	{"datasets", "datasets/*", "a data set is a workload that the store runs"},
	{"datasets/store", "datasets/workload", "the store drives workloads"},
}

// narrow says that a package imports no others of the house than these, whatever the floors allow.
var narrow = map[string][]string{
	// Whoever checks proofs must not share code with whoever makes them.
	"certify": {"history", "level", "evidence", "predicates"},
	// Brute force is the twin of all checkers, by definition and nothing else.
	"check/oracle":      {"history", "level", "evidence", "predicates"},
	"solver":            {},
	"graph":             {},
	"closure":           {"graph", "internal/room"},
	"datasets/workload": {},
}

// importers says who may import a package: the graph and solver side meets the database side in few places.
var importers = map[string][]string{
	"graph":            {"graph/order", "closure", "check/timestamp", "solver/acyclic", "polygraph", "check/weak", "check/bcgraph", "check/lists", "check/minitxn", "encode", "check/explain", "check/replay", "check"},
	"graph/order":      {"solver/acyclic", "encode", "check/explain", "check/replay", "check"},
	"closure":          {"solver/acyclic", "polygraph", "encode", "check/explain", "check/replay", "check"},
	"solver":           {"solver/*", "check/weak", "encode", "check/explain", "check/replay", "check"},
	"solver/gini":      {"check"},
	"solver/gophersat": {"check"},
	"solver/external":  {"encode", "check"},
	"check/oracle":     {"check"},
	"internal/cli":     {"cmd/isovet", "cmd/bench", "internal/release"},
}

// goroutines lists the files that start goroutines without safego, and why a panic there does no harm. All others use
// safego.Group: a panic that nobody recovers ends the program with status 2, which means "unknown".
var goroutines = map[string]string{
	"internal/safego/safego.go":     "it is what recovers",
	"internal/cli/cli.go":           "waits for a signal, nothing else",
	"internal/cli/guard.go":         "recovers, and makes a fault of it",
	"internal/cli/keeper.go":        "copies what another process says, nothing else",
	"internal/cli/kept.go":          "reads single bytes, nothing else",
	"internal/cli/progress.go":      "writes a line now and then",
	"bench/child.go":                "reads its input to the end, nothing else",
	"solver/gophersat/gophersat.go": "recovers, and panics again where it is waited for",
}
