//go:build !checkonly

package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"isovet/datasets"
	"isovet/datasets/hard"
	"isovet/datasets/workload"
	"isovet/history/format"
)

// genFlags are the flags that say which history to generate, in gen and bench compare alike.
type genFlags struct {
	spec  datasets.Spec
	times string
	hint  string
	skew  time.Duration
}

// The values of --times and --hint, in the order of datasets.Times and datasets.Hint.
var (
	timesNames = []string{"all", "txns", "none"}
	hintNames  = []string{"true", "reversed", "random"}
)

func workloadNames() []string { return workload.Names() }

// workloadValue is the --workload flag: one of the list, or one with its variant, rows/direct, as histories and hunts
// name them.
type workloadValue struct{ enum }

func newWorkloadValue(value *string) *workloadValue {
	return &workloadValue{enum{value, "workload", workloadNames()}}
}

func (v *workloadValue) Set(s string) error {
	name, variant, ok := strings.Cut(s, "/")
	if !ok {
		return v.enum.Set(s)
	}
	info, err := workload.Lookup(name)
	if err == nil {
		_, _, err = info.New(workload.Params{Variant: variant, Database: true})
	}
	if err == nil {
		*v.value = s
	}
	return err
}

// partVariant parts a workload from its variant, where the flag --workload names it.
func partVariant(name, variant *string) error {
	w, v, ok := strings.Cut(*name, "/")
	switch {
	case !ok:
	case *variant != "" && *variant != v:
		return usagef("--workload %s and --variant %s are two variants; leave one out", *name, *variant)
	default:
		*name, *variant = w, v
	}
	return nil
}

func faultNames() []string {
	return datasets.FaultNames()
}

// add defines the flags that gen and bench compare share.
func (g *genFlags) add(c *cobra.Command) {
	g.spec = datasets.Spec{Workload: "blindw", Txns: 10000, Sessions: 24, Seed: 1, Isolation: "serializable"}
	g.times, g.hint = timesNames[0], hintNames[0]
	fl := c.Flags()
	fl.Var(newWorkloadValue(&g.spec.Workload), "workload", "what the clients do; isovet workloads lists them")
	complete(c, "workload", described("workload", workloadNames()))
	fl.IntVar(&g.spec.Txns, "txns", g.spec.Txns, "committed transactions")
	fl.IntVar(&g.spec.Sessions, "sessions", g.spec.Sessions, "client sessions")
	fl.IntVar(&g.spec.Keys, "keys", 0, "rows, users, rooms, …: what the workload scales by (default: the workload's "+
		"own)")
	fl.Float64Var(&g.spec.Zipf, "zipf", 0, "skew: exponent of the Zipf distribution of the keys, where the workload "+
		"has one (default: its own)")
	fl.IntVar(&g.spec.Values, "values", 0, "draw the values that are written to a key from so many, so that a value "+
		"may be written more than once (default: the variant's; mostly each write has a value of its own)")
	fl.IntVar(&g.spec.Ops, "ops", 0, "operations a transaction (default: the workload's own)")
	fl.IntVar(&g.spec.FenceEvery, "fence-every", 0, "have each session read and write the one key epoch/0 after so "+
		"many transactions, as cobra-rounds needs (default: never)")
	fl.StringVar(&g.spec.Isolation, "isolation", g.spec.Isolation, "the store's concurrency control: "+
		strings.Join(datasets.Isolations(), ", "))
	complete(c, "isolation", datasets.Isolations())
	fl.Uint64Var(&g.spec.Seed, "seed", g.spec.Seed, "the same seed gives the same history, byte for byte")
	fl.Var(&faultsValue{enum{&g.spec.Fault, "fault", faultNames()}}, "fault", "plant an anomaly, or several that "+
		"take turns, separated by commas: "+strings.Join(faultNames(), ", "))
	complete(c, "fault", described("fault", faultNames()))
	fl.IntVar(&g.spec.Faults, "faults", 0, "plant so many, evenly over the run (default: one of each)")
	enumFlag(c, &g.times, "times", "choice of times", "client times in the history: of transactions and operations, "+
		"of transactions only, none (all|txns|none)", timesNames)
	enumFlag(c, &g.hint, "hint", "kind of times", "lie about the client times (true|reversed|random)", hintNames)
	fl.BoolVar(&g.spec.DBTimes, "timestamps", false, "database timestamps too")
	fl.DurationVar(&g.skew, "skew", 0, "shift each client's clock by its own offset of at most this")
	fl.Float64Var(&g.spec.AbortRate, "abort-rate", 0, "share of transactions that their clients roll back")
	fl.Float64Var(&g.spec.UnknownRate, "unknown-rate", 0, "share of commits whose answer is lost")
	fl.Float64Var(&g.spec.UnknownOld, "unknown-old", 0, "share of predicate writes whose clients do not learn which "+
		"versions they replaced")
	fl.BoolVar(&g.spec.NoAborted, "no-aborted", false, "leave aborted transactions out")
	fl.BoolVar(&g.spec.LongTxn, "long-txn", false, "leave one transaction open through the whole run")
	enumFlag(c, &g.spec.Break, "break", "part", "have a part of the store's concurrency control fail once: "+
		strings.Join(datasets.Breaks(), ", "), datasets.Breaks())
	fl.IntVar(&g.spec.FaultAt, "fault-at", 0, "plant the fault, or the first, once so many transactions have "+
		"committed (default: in the middle, of many early)")
}

// finish checks what the flags' own types do not and completes the spec.
func (g *genFlags) finish() error {
	s := &g.spec
	for _, n := range []struct {
		name string
		v    int
		min  int
	}{{"txns", s.Txns, 1}, {"sessions", s.Sessions, 1}, {"keys", s.Keys, 0}, {"ops", s.Ops, 0}, {"values", s.Values, 0},
		{"fault-at", s.FaultAt, 0}, {"fence-every", s.FenceEvery, 0}} {
		if n.v < n.min {
			return usagef("--%s %d; expected at least %d", n.name, n.v, n.min)
		}
	}
	for _, r := range []struct {
		name string
		v    float64
	}{{"abort-rate", s.AbortRate}, {"unknown-rate", s.UnknownRate}} {
		if !(r.v >= 0 && r.v < 1) {
			return usagef("--%s %g; expected a share from 0 to less than 1", r.name, r.v)
		}
	}
	if g.skew < 0 {
		return usagef("--skew %v is negative", g.skew)
	}
	s.Skew = g.skew.Nanoseconds()
	for i, n := range timesNames {
		if n == g.times {
			s.Times = datasets.Times(i)
		}
	}
	for i, n := range hintNames {
		if n == g.hint {
			s.Hint = datasets.Hint(i)
		}
	}
	return nil
}

func newGen(e *env) *cobra.Command {
	var g genFlags
	var o genOut
	var noTimes bool
	c := &cobra.Command{
		Use: "gen [flags] -o FILE", GroupID: "work",
		Short: "Generate a history: a workload on a store in memory, with faults on request",
		Long: `gen runs a workload with many client sessions on a deterministic store in memory, in simulated time, at the isolation
level given, and writes what the clients saw. --fault plants an anomaly among the transactions. The note in the header
names these transactions and the levels that they violate; --truth writes them to a file, a JSON object a fault.

With --shards N the output is a folder of parts, one history for all commands, and memory does not grow with --txns:
for 10^8 transactions and more. A part is a native file, or JSON lines (--format isovet-history); one more part, the
first, has the initial transaction.

--keys sets the size of the data (rows, customers, rooms), --zipf its skew, --ops the size of the transactions, and
--sessions the number of clients. isovet workloads --json has the defaults of each workload; docs/workloads.md
describes them.

Related: isovet workloads lists the workloads and their variants, isovet stats says what is in the file, isovet check checks it.`,
		Example: `  isovet gen --workload blindw --variant RH --txns 100000 -o rh.jsonl.zst
  isovet gen --workload booking --isolation repeatable-read --seed 7 -o phantoms.jsonl
  isovet gen --workload blindw-pred --unknown-old 0.5 -o pred.jsonl.zst
  isovet gen --workload rmw --isolation snapshot-isolation --seed 7 -o si.jsonl
  isovet gen --workload blindw --txns 1000 --fault write-skew -o bad.jsonl && isovet check bad.jsonl
  isovet gen --hard 3sat --txns 20 --seed 3 -o 3sat.jsonl
  isovet gen --txns 100000000 --times txns --shards 100 -o big/
  isovet gen --txns 1000000 --fault write-skew,lost-update --faults 100 --truth planted.jsonl -o faulty.ivh`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			if c.Flags().Changed("hard") {
				return runGenHard(c, e, &g, o)
			}
			if o.file == "" {
				return usagef("-o FILE is missing; -o - writes to standard output")
			}
			if o.json && o.file == "-" {
				return usagef("--json and -o - both write to standard output; choose one")
			}
			if noTimes {
				if c.Flags().Changed("times") && g.times != "none" {
					return usagef("--no-times and --times %s contradict each other", g.times)
				}
				g.times = "none"
			}
			if err := errors.Join(partVariant(&g.spec.Workload, &g.spec.Variant), g.finish()); err != nil {
				return err
			}
			if err := g.checkPlanted(o.truth); err != nil {
				return err
			}
			switch sharded := c.Flags().Changed("shards"); {
			case sharded && o.shards < 1:
				return usagef("--shards %d; expected at least 1", o.shards)
			case sharded && o.file == "-":
				return usagef("--shards writes a folder, and no standard output; expected -o DIR")
			case sharded:
				return runGenShards(c.Context(), e, &g, o)
			case folderish(o.file):
				return usagef("-o %s is a folder; expected --shards N with it, or a file", o.file)
			}
			if err := writable(o.file, o.format, "--format"); err != nil {
				return err
			}
			return runGen(c.Context(), e, g.spec, o)
		},
	}
	g.add(c)
	o.format = auto
	fl := c.Flags()
	fl.StringVar(&g.spec.Variant, "variant", "", "the workload's variant (default: its first)")
	fl.BoolVar(&noTimes, "no-times", false, "short for --times none")
	fl.StringVarP(&o.file, "out", "o", "", "`FILE` to write; .gz and .zst at its end compress; - is standard output; "+
		"with --shards a folder, new or empty")
	enumFlag(c, &o.format, "format", "format", "format of the file (default: by its name)", formatNames())
	fl.IntVar(&o.shards, "shards", 0, "write so many parts to a folder, in memory that does not grow with --txns")
	fl.StringVar(&o.truth, "truth", "", "write what was planted to `FILE`: a JSON object a line for each fault, "+
		"with the ids of its transactions")
	fl.StringVar(&o.hard, "hard", "", "a `FAMILY` that is hard to judge in place of a workload: "+
		strings.Join(hard.Names(), ", ")+"; --seed is its seed, --txns its size: "+
		"transactions, but of 3sat variables (66 transactions each), of pigeonhole holes and of order elements (5 "+
		"transactions times the cube), and of mini-… twice as many")
	complete(c, "hard", hard.Names())
	fl.Var(sizeValue{&o.memory}, "memory", "stop where it takes more memory")
	fl.BoolVar(&o.json, "json", false, "say as a JSON object on standard output what was generated")
	fl.BoolVarP(&o.quiet, "quiet", "q", false, "say nothing on standard error")
	return c
}

// genOut says what becomes of a generated history.
type genOut struct {
	file, format, truth string
	hard                string // a family
	shards              int
	memory              int64
	json, quiet         bool
}

// genSummary is what "isovet gen --json" prints.
type genSummary struct {
	File      string  `json:"file"`
	Name      string  `json:"name"`
	Workload  string  `json:"workload"`
	Isolation string  `json:"isolation"`
	Note      string  `json:"note"`
	Txns      int     `json:"txns"`
	Ops       int     `json:"ops"`
	Sessions  int     `json:"sessions"`
	Keys      int     `json:"keys,omitempty"` // not of parts
	Parts     int     `json:"parts,omitempty"`
	Seed      uint64  `json:"seed"`
	Fault     string  `json:"fault,omitempty"`
	Planted   []int64 `json:"planted,omitempty"` // ids of the fault's transactions
	GenMS     float64 `json:"gen_ms"`
}

func runGen(ctx context.Context, e *env, spec datasets.Spec, o genOut) error {
	out := o.file
	p := newProgress(e.stderr, o.quiet, o.json)
	defer p.Close()
	p.Begin("generating " + out)
	start := time.Now()
	ms := 0.0
	r, err := guard(ctx, limits{memory: o.memory}, func() string { return "generating" }, func(ctx context.Context) (
		*datasets.Result, error) {
		r, err := datasets.RunTold(ctx, spec, p.Step)
		if err != nil {
			return nil, err
		}
		ms = milliseconds(time.Since(start))
		p.Begin("writing " + out)
		return r, format.WriteContext(ctx, out, r.History, o.format, false)
	})
	if err != nil {
		return orInterrupted(err, "generating; nothing was written")
	}
	if err := e.writeTruth(o.truth, r.Faults); err != nil {
		return err
	}
	h := r.History
	p.Hide()
	sessions := h.NumSessions()
	if o.json {
		return jsonLine(e.stdout, genSummary{File: out, Name: h.Meta.Name, Workload: h.Meta.Workload,
			Isolation: h.Meta.Isolation, Note: h.Meta.Note, Txns: h.NumTxns(), Ops: h.NumOps(), Sessions: sessions,
			Keys: h.NumKeys(), Seed: spec.Seed, Fault: spec.Fault, Planted: r.Planted, GenMS: ms})
	}
	if !o.quiet {
		fmt.Fprintf(e.stderr, "%s: %s, %d transactions, %d operations; %s\n", out, h.Meta.Workload,
			h.NumTxns(), h.NumOps(), h.Meta.Note)
	}
	return nil
}
