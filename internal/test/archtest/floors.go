package archtest

// room is a package, or several of one purpose; "/*" stands for every package below, so that a new file format is one
// new package and no new line here.
type room struct {
	packages, purpose string // packages: separated by blanks
}

// floors lists the packages, lowest first. A package imports packages of lower floors only. The outline is
// docs/architecture.md.
var floors = [][]room{
	{
		{"internal/safego",
			"goroutines whose panics reach the one who waits for them"},
		{"internal/escape",
			"names and values on their way to people: terminal, Markdown, Graphviz, shell, XML"},
		{"internal/plural",
			"numbers with their nouns: 1 round, 2 rounds"},
		{"internal/mapped",
			"the files that are mapped into memory, so that their pages can be given back"},
		{"internal/filelock",
			"a file taken for one process at a time; throw-away folders, and what killed processes left of them"},
		{"internal/freeze",
			"values written to a file as they are, and read back by another process: the state of what goes on there"},
		{"internal/saved",
			"numbers read back from bytes in which a judge saved what it knew of a key"},
		{"internal/room",
			"how much memory can still be had, asked before what is large is allocated; how much has been held"},
		{"internal/bounds",
			"the algorithms' bounds by name, for tests to set as low as can be"},
		{"internal/keyed",
			"hashes of values by a key that is drawn for each run: what watch compares values by"},
		{"internal/heap",
			"a heap of numbers and ids, the smallest first"},
		{"internal/sorts",
			"sorting with one body of code for all types, for what no check's time depends on"},
		{"docs",
			"the pages that the program shows offline"},
		{"certify/unsat",
			"the search for the empty clause that judges of answers have, with its proof"},
		{"certify/proofs",
			"what the levels mean and that isovet-kernel decides them rightly, proven in Coq; no Go but tests"},
		{"internal/ddmin",
			"leaves out of a list what is not needed: delta debugging"},
	},
	{
		{"history",
			"what clients saw: sessions, transactions, operations, versions, times; columnar, interned, immutable " +
				"once built"},
		{"history/partlist",
			"the list of the files that one history is in"},
		{"certify/kernel",
			"isovet-kernel in Go: judges orders and refutations in the terms of the proofs, and nothing else"},
		{"level",
			"isolation levels and anomalies, who implies whom, as data with its source"},
		{"internal/graph",
			"directed graphs on dense int32 nodes: components, topological order, shortest cycle, the time chain"},
		{"internal/graph/order",
			"a topological order kept while edges come and go (Pearce and Kelly), with undo"},
		{"solver",
			"CDCL and the theory interface, one technique a file; knows nothing of databases"},
		{"solver/gini solver/gophersat",
			"the same problems for two other solvers"},
		{"solver/external",
			"other programs as solvers: DIMACS, MonoSAT's formulas with a graph, SMT-LIB"},
		{"solver/dimacs",
			"formulas as text"},
		{"internal/guard",
			"work under a time-out and a memory bound, and why it was stopped"},
		{"internal/keystore",
			"numbers for the keys of an endless stream, and what is known of those that memory does not hold, on disk"},
	},
	{
		{"evidence",
			"what every checker hands back: a verdict with a commit order, or a violation whose every edge says " +
				"why; JSON, certificates, words"},
		{"closure",
			"reachability of a growing DAG: the compact windowed closure, and the full ones to compare with"},
		{"predicates",
			"the predicate language: text form, and truth of a version in three values; an index of which versions " +
				"match, and counts of them during a replay"},
		{"history/format history/format/*",
			"the list of file formats, and a package for each: `Read` and, where the format can hold it, `Write`"},
		{"datasets datasets/workload datasets/store",
			"what clients do; a seeded in-memory store that runs it at an isolation with planted faults; anomalies " +
				"by name"},
	},
	{
		{"datasets/hard",
			"histories that are hard to judge, or large in one direction, and formulas as histories"},
		{"check/prepass",
			"what every checker does first: anomalies of single reads, and who wrote what a read saw"},
		{"check/events",
			"the graph of begins and commits that bcgraph, lists, minitxn and weak share: nodes, sessions, time, " +
				"orders, cycles"},
		{"solver/acyclic",
			"theories that keep a graph of guarded edges acyclic: over the compact closure, over an order, over " +
				"windows of bits"},
		{"history/split",
			"one history in many files or large ones, read piece by piece in bounded memory"},
		{"record",
			"writes down what a program's own transactions see: in memory, to a file, to a watch"},
		{"collect/sqlwork",
			"workloads of the user's own SQL statements: the file, parameters, what an answer says was read " +
				"and written"},
		{"collect/driver",
			"the interface of databases, what adapters share, and how a program adds its own"},
		{"collect/driver/dial",
			"connections that are answered in time, and can be cut"},
		{"collect/server",
			"starts throw-away database servers from installed binaries, kills and restarts them, removes them"},
	},
	{
		{"collect/driver/postgres collect/driver/mysql collect/driver/sqlite collect/driver/keyvalue",
			"the databases, a package for each family: PostgreSQL's protocol, MySQL's, SQLite, keys and values"},
		{"internal/sqlstmt",
			"understands simple SQL statements, and records which rows of which versions they read and wrote"},
		{"polygraph",
			"known graph plus choices, built from a history at a level; combined, coalesced, pruned"},
		{"check/frontier",
			"the search over prefixes of sessions: Biswas and Enea's serializability"},
		{"check/timestamp",
			"checkers that trust database timestamps: CHRONOS, AION, their SER forms, Emme"},
		{"check/lists",
			"version orders read off append-only lists (Elle), the graph that decides them, " +
				"and lists told as registers"},
		{"check/minitxn",
			"the linear checkers for mini-transactions and lightweight transactions, " +
				"and the search for linearizability"},
		{"check/mechanism",
			"Leopard: the four mechanisms mirrored over client time intervals, and its two-level pipeline"},
		{"check/weak",
			"read-committed, read-atomic and causal: the orders that Biswas and Enea's axioms demand, and a commit " +
				"order that keeps them"},
		{"check/bcgraph",
			"known version orders: the graph of begins and commits, of one level or of six, and Adya's " +
				"start-ordered one"},
		{"certify",
			"replays evidence against the history; shares no code with what it checks but predicates"},
	},
	{
		{"certify/elaborate",
			"answers in the kernel's terms: orders, and refutations of what an anomaly bears on"},
		{"certify/large",
			"replays certificates of histories that memory does not hold; shares no code with what it checks"},
		{"record/sql record/pgx",
			"a database/sql driver, and a pgx tracer, that record what a program's transactions do"},
		{"encode",
			"polygraph → clauses and guarded edges and back; one file an encoding"},
	},
	{
		{"collect/driver/all",
			"links all of them"},
		{"check/explain",
			"from a solver's refutation to the smallest set of cycles that a person can check"},
		{"check/replay",
			"guess an order, replay it, make a constraint only where a read fails, repair with the solver"},
	},
	{
		{"check/run",
			"what a checker is written with: the `Checker` interface, the start of a run, limits, solvers, proofs of " +
				"a \"no\"; and replay, vbox and lwt, which the others ask"},
	},
	{
		{"check",
			"`Run`, which certifies every answer, the automatic choice and the checkers that it takes, all levels"},
		{"check/papers",
			"one short file a checker that reads like its paper's pipeline, to compare with; `check` does not know " +
				"them"},
		{"watch/online",
			"serializability and snapshot isolation of a stream by client times alone: an order, windows, parts"},
		{"check/spill/plan",
			"a history checked in parts that fit: an order by rule, operations by key, what misfits, windows"},
	},
	{
		{"check/spill",
			"histories that memory does not hold, on one machine: the plan's steps, with files on disk"},
		{"watch",
			"transactions checked as they arrive: sources, a segment log, judges behind one interface, violations " +
				"once they are final"},
		{"check/shrink",
			"the smallest history that still violates a level, cut down by the evidence and by delta debugging"},
		{"report",
			"evidence for people: text, DOT, one HTML page"},
		{"collect",
			"runs a workload against a real database and records what the clients saw"},
	},
	{
		{"check/limits",
			"files checked under a time-out and a memory bound, and with files on disk what memory does not hold"},
		{"watch/seen",
			"a watch as its operator sees it: metrics, readiness, web hooks"},
		{"watch/kafka",
			"a topic of Kafka as a source of watch: partitions merged by time, offsets in the log"},
		{"report/view",
			"whole histories in a browser on this machine: windows of them, keys, dependencies, checks"},
		{"record/isovettest",
			"has go test check what was recorded: explanation, smallest history, proof and page of a violation"},
		{"collect/hunt",
			"runs a workload and checks what was recorded, until there is a violation"},
		{"collect/probe",
			"which anomalies a database allows at each of its isolation levels"},
		{"collect/campaign",
			"hunts through a table of databases, isolations, levels, workloads and faults, and keeps what was run"},
		{"report/incident",
			"a violation as a folder for a database's maintainers: SQL side by side, settings, schedule, evidence"},
		{"bench",
			"comparisons, the papers' figures again, ablation: every run in its own process, raw results, tables, " +
				"charts"},
	},
	{
		{"bench/charts",
			"the figures as SVG, tidy data as Parquet; registers itself with bench where a program imports it"},
	},
	{
		{"internal/cli/console",
			"what all commands share: how a program runs and ends, flags, histories from a path, progress, tables"},
	},
	{
		{"internal/cli/checks",
			"the commands check, verify, shrink, report, with their limits: a process of their own, files on disk"},
		{"internal/cli/histories",
			"the commands that judge nothing: stats, convert, the lists of what there is"},
	},
	{
		{"internal/cli/watches",
			"the command watch"},
		{"internal/cli/workloads",
			"the commands that make histories and formulas: gen, encode, workloads"},
	},
	{
		{"internal/cli/collects",
			"the commands that talk to databases: collect, hunt, replay, campaign, probe"},
		{"internal/cli/benches",
			"the commands of bench: compare, ablate, reproduce"},
	},
	{
		{"internal/cli/base",
			"the tree of the commands that every program has: those that read, check and explain histories"},
	},
	{
		{"internal/cli",
			"the tree of the commands: flags in, exit status out"},
	},
	{
		{"cmd/isovet cmd/isovet-check cmd/bench",
			"the programs, a line each"},
		{"internal/words",
			"finds what is hard to read on the pages: long sentences, long lines, words with a plainer one"},
		{"internal/size",
			"says how large the repository is, beside its bounds"},
		{"cmd/command",
			"the program isovet as a call, for programs that add databases of their own"},
		{"internal/release",
			"writes what a release archive holds beside the programs: completions, man pages, licences"},
	},
	{
		{"internal/test/oracle",
			"brute force by definition, for few transactions: the naive twin of every checker"},
		{"internal/test/histtest/randtest",
			"what every random test shares: the flags -seed and -histories, the smallest value that still fails"},
	},
	{
		{"internal/test/histtest",
			"random histories as text, the search for one that fails, the smallest that still does, the folder of " +
				"those that did"},
		{"internal/test/histtest/random",
			"random histories for tests: tiny ones for brute force, larger ones, odd ones, with database timestamps"},
		{"internal/test/histtest/forge",
			"certificates that lie"},
		{"internal/test/histtest/collide",
			"values that had one hash where hashes had no key"},
		{"internal/test/histtest/notation",
			"one-line histories"},
		{"internal/test/histtest/diff",
			"where two histories differ"},
		{"internal/test/histtest/oracletest",
			"random histories for brute force, and the papers' notation"},
		{"internal/test/tlstest",
			"a certificate of its own authority"},
		{"internal/test/browser",
			"pages opened in a headless Chromium: errors, contrast, keys, pictures"},
		{"internal/test/solvertest/proof",
			"a solver's proofs as text, and a checker of them"},
		{"internal/test/solvertest/fake",
			"a solver as another program, with the faults that such have"},
	},
	{
		{"internal/test/archtest",
			"this table as data, and the tests that hold the code to it"},
	},
}

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
	"datasets/workload":    {},
	"record":               {"history", "history/partlist", "internal/safego", "level"},
}

// importers says who may import a package: the graph and solver side meets the database side in few places.
var importers = map[string][]string{
	"internal/graph": {"check/prepass", "check/events", "internal/graph/order", "closure", "check/timestamp",
		"solver/acyclic", "polygraph", "check/weak", "check/bcgraph",
		"check/lists", "check/minitxn", "encode", "check/replay", "check/run"},
	"internal/graph/order": {"solver/acyclic", "encode", "check/replay", "check/bcgraph"},
	"closure": {"solver/acyclic", "polygraph", "encode", "check/explain", "check/replay", "check/run",
		"check/papers", "check"},
	"solver": {"solver/*", "check/weak", "encode", "check/explain", "check/replay", "check/run", "check/papers",
		"check", "check/spill/plan", "watch/online", "watch", "internal/test/solvertest/*"},
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
