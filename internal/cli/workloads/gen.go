// Package workloads has the commands that make histories and formulas: gen, encode, workloads.
package workloads

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"isovet/datasets"
	"isovet/datasets/hard"
	"isovet/datasets/objects"
	"isovet/datasets/workload"
	"isovet/history/format"
	"isovet/internal/cli/console"
	"isovet/internal/cli/histories"
	"isovet/internal/guard"
	"isovet/internal/plural"
	"isovet/internal/slice"
)

// GenFlags are the flags that say which history to generate, for gen and bench compare.
type GenFlags struct {
	Spec  datasets.Spec
	times string
	hint  string
	skew  time.Duration
}

// The values of --times and --hint, in the order of datasets.Times and datasets.Hint.
var (
	timesNames = []string{"all", "txns", "none"}
	hintNames  = []string{"true", "reversed", "random"}
)

func WorkloadNames() []string { return workload.Names() }

// WorkloadValue is the value of --workload: a listed workload, perhaps with its variant, such as rows/direct.
type WorkloadValue struct{ console.Enum }

func NewWorkloadValue(value *string) *WorkloadValue {
	return &WorkloadValue{console.Enum{Value: value, What: "workload", Choices: WorkloadNames()}}
}

func (v *WorkloadValue) Set(s string) error {
	name, variant, ok := strings.Cut(s, "/")
	if !ok {
		return v.Enum.Set(s)
	}
	if slices.Contains(objects.Names(), name) && slices.Contains(v.Choices, name) {
		*v.Value = s
		return nil
	}
	info, err := workload.Lookup(name)
	if err == nil {
		_, _, err = info.New(workload.Params{Variant: variant, Database: true})
	}
	if err == nil {
		*v.Value = s
	}
	return err
}

// PartVariant splits the value of --workload into workload and variant.
func PartVariant(name, variant *string) error {
	w, v, ok := strings.Cut(*name, "/")
	switch {
	case !ok:
	case *variant != "" && *variant != v:
		return console.Usagef("--workload %s and --variant %s are two variants; leave one out", *name, *variant)
	default:
		*name, *variant = w, v
	}
	return nil
}

// Add defines the flags that gen and bench compare share.
func (g *GenFlags) Add(c *cobra.Command) {
	g.Spec = datasets.Spec{Workload: "blindw", Txns: 10000, Sessions: 24, Seed: 1, Isolation: "serializable"}
	g.times, g.hint = timesNames[0], hintNames[0]
	fl := c.Flags()
	fl.Var(NewWorkloadValue(&g.Spec.Workload), "workload", "workload (isovet workloads)")
	console.Complete(c, "workload", slice.Map(workload.All(), func(w workload.Info) cobra.Completion {
		return cobra.CompletionWithDesc(w.Name, w.About)
	}))
	fl.IntVar(&g.Spec.Txns, "txns", g.Spec.Txns, "committed transactions")
	fl.IntVar(&g.Spec.Sessions, "sessions", g.Spec.Sessions, "client sessions")
	fl.IntVar(&g.Spec.Keys, "keys", 0, "size of the data: rows, users, rooms, … (default: the workload's)")
	fl.Float64Var(&g.Spec.Zipf, "zipf", 0, "Zipf exponent of the keys (default: the workload's)")
	fl.IntVar(&g.Spec.Values, "values", 0, "values of each key, so that some repeat (default: unique)")
	fl.IntVar(&g.Spec.Ops, "ops", 0, "operations in each transaction (default: the workload's)")
	fl.StringVar(&g.Spec.Shape, "shape", "", "list of shapes for mini, such as rxwx,rxrx, or all")
	fl.IntVar(&g.Spec.FenceEvery, "fence-every", 0, "transactions between fences, for cobra-rounds (default: none)")
	fl.StringVar(&g.Spec.Isolation, "isolation", g.Spec.Isolation, "isolation level of the store")
	console.Complete(c, "isolation", datasets.Isolations())
	fl.Uint64Var(&g.Spec.Seed, "seed", g.Spec.Seed, "the same seed gives the same history")
	fl.Var(&faultsValue{console.Enum{Value: &g.Spec.Fault, What: "fault", Choices: datasets.FaultNames()}}, "fault",
		"list of anomalies to plant (docs/workloads.md)")
	console.Complete(c, "fault", slice.Map(datasets.AllFaults(), func(a datasets.Anomaly) cobra.Completion {
		return cobra.CompletionWithDesc(a.Name, a.About)
	}))
	fl.IntVar(&g.Spec.Faults, "faults", 0, "number of anomalies to plant (default: one of each)")
	console.EnumFlag(c, &g.times, "times", "choice of times", "client times to write: all, txns, none", timesNames)
	console.EnumFlag(c, &g.hint, "hint", "kind of times", "make client times true, reversed or random", hintNames)
	fl.BoolVar(&g.Spec.DBTimes, "timestamps", false, "also write database timestamps")
	fl.DurationVar(&g.skew, "skew", 0, "largest offset of a client's clock")
	fl.Float64Var(&g.Spec.AbortRate, "abort-rate", 0, "share of transactions that clients roll back")
	fl.Float64Var(&g.Spec.UnknownRate, "unknown-rate", 0, "share of commits without an answer")
	fl.Float64Var(&g.Spec.UnknownOld, "unknown-old", 0, "share of predicate writes with unknown old versions")
	fl.BoolVar(&g.Spec.NoAborted, "no-aborted", false, "omit aborted transactions")
	fl.BoolVar(&g.Spec.LongTxn, "long-txn", false, "keep one transaction open all the time")
	console.EnumFlag(c, &g.Spec.Break, "break", "part",
		"let the store's concurrency control fail once", datasets.Breaks())
	fl.IntVar(&g.Spec.FaultAt, "fault-at", 0, "commits before the first fault (default: half, or early)")
}

// Finish checks what the flags' types do not check, and completes the spec.
func (g *GenFlags) Finish() error {
	s := &g.Spec
	for _, n := range []struct {
		name string
		v    int
		min  int
	}{{"txns", s.Txns, 1}, {"sessions", s.Sessions, 1}, {"keys", s.Keys, 0}, {"ops", s.Ops, 0}, {"values", s.Values, 0},
		{"fault-at", s.FaultAt, 0}, {"fence-every", s.FenceEvery, 0}} {
		if n.v < n.min {
			return console.Usagef("--%s %d; expected at least %d", n.name, n.v, n.min)
		}
	}
	for _, r := range []struct {
		name string
		v    float64
	}{{"abort-rate", s.AbortRate}, {"unknown-rate", s.UnknownRate}} {
		if !(r.v >= 0 && r.v < 1) {
			return console.Usagef("--%s %g; expected a share from 0 to less than 1", r.name, r.v)
		}
	}
	if g.skew < 0 {
		return console.Usagef("--skew %v is negative", g.skew)
	}
	s.Skew = g.skew.Nanoseconds()
	s.Times = datasets.Times(max(0, slices.Index(timesNames, g.times)))
	s.Hint = datasets.Hint(max(0, slices.Index(hintNames, g.hint)))
	return nil
}

func NewGen(e *console.Env) *cobra.Command {
	var g GenFlags
	var o genOut
	var noTimes bool
	c := console.Command("gen", console.Exactly(), func(c *cobra.Command, _ []string) error {
		if err := console.Crossed(c); err != nil {
			return err
		}
		if c.Flags().Changed("hard") || c.Flags().Changed("anomaly") {
			return runGenHard(c, e, &g, o)
		}
		if o.file == "" {
			return console.Usagef("-o FILE is missing; -o - writes to standard output")
		}
		if noTimes {
			g.times = "none"
		}
		if err := errors.Join(PartVariant(&g.Spec.Workload, &g.Spec.Variant), g.Finish()); err != nil {
			return err
		}
		if slices.Contains(objects.Names(), g.Spec.Workload) {
			return runGenObject(c, e, &g, o)
		}
		if g.Spec.Faults < 0 {
			return console.Usagef("--faults %d; expected at least 1", g.Spec.Faults)
		}
		switch sharded := c.Flags().Changed("shards"); {
		case sharded && o.shards < 1:
			return console.Usagef("--shards %d; expected at least 1", o.shards)
		case sharded:
			return runGenShards(c.Context(), e, &g, o)
		case console.Folderish(o.file):
			return console.Usagef("-o %s is a folder; expected --shards N with it, or a file", o.file)
		}
		if err := console.Writable(o.file, o.format, "--format"); err != nil {
			return err
		}
		return runGen(c.Context(), e, g.Spec, o)
	})
	g.Add(c)
	names := &c.Flags().Lookup("workload").Value.(*WorkloadValue).Choices
	*names = append(*names, objects.Names()...)
	o.format = console.Auto
	fl := c.Flags()
	fl.StringVar(&g.Spec.Variant, "variant", "", "the workload's variant (default: its first)")
	fl.BoolVar(&noTimes, "no-times", false, "short for --times none")
	fl.StringVarP(&o.file, "out", "o", "", "`FILE` to write; .gz and .zst compress it; - is standard output")
	console.EnumFlag(c, &o.format, "format", "format", "format of the file (isovet formats)", console.FormatNames())
	fl.IntVar(&o.shards, "shards", 0, "write so many parts, and the initial one, to the folder -o")
	fl.StringVar(&o.truth, "truth", "", "write the planted faults to `FILE`, as JSON lines")
	fl.StringVar(&o.hard, "hard", "", "hard `FAMILY` instead of a workload (docs/workloads.md)")
	console.Complete(c, "hard", hard.Names())
	fl.StringVar(&o.anomaly, "anomaly", "", "one `ANOMALY` of Vbox's Table 1 instead of a workload")
	console.Complete(c, "anomaly", hard.AnomalyNames())
	fl.Var(console.Size(&o.memory), "memory", "memory bound")
	fl.BoolVar(&o.json, "json", false, "print a summary as a JSON object")
	fl.BoolVarP(&o.quiet, "quiet", "q", false, "print nothing on standard error")
	return c
}

// genOut says what to do with a generated history.
type genOut struct {
	file, format, truth string
	hard, anomaly       string // a family; an anomaly's name
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

func runGen(ctx context.Context, e *console.Env, spec datasets.Spec, o genOut) error {
	out := o.file
	p := console.NewProgress(e.Stderr, o.quiet, o.json)
	defer p.Close()
	p.Begin("generating " + out)
	start := time.Now()
	ms := 0.0
	r, err := guard.Run(ctx, guard.Limits{Memory: o.memory}, func() string { return "generating" },
		func(ctx context.Context) (
			*datasets.Result, error) {
			r, err := datasets.RunTold(ctx, spec, p.Step)
			if err != nil {
				return nil, err
			}
			ms = console.Milliseconds(time.Since(start))
			p.Begin("writing " + out)
			is, left := format.Invocations(out, o.format, r.History)
			if is && left != 0 && !o.quiet {
				p.Hide()
				fmt.Fprintf(e.Stderr, "isovet: %s: the format has no %s; keys are absent at first\n", out, left)
			}
			return r, format.WriteContext(ctx, out, r.History, o.format, is)
		})
	if err != nil {
		return console.OrInterrupted(err, "generating; nothing was written")
	}
	if err := writeTruth(e, o.truth, r.Faults); err != nil {
		return err
	}
	h := r.History
	p.Hide()
	return o.say(e, genSummary{File: out, Name: h.Meta.Name, Workload: h.Meta.Workload, Isolation: h.Meta.Isolation,
		Note: h.Meta.Note, Txns: h.NumTxns(), Ops: h.NumOps(), Sessions: h.NumSessions(), Keys: h.NumKeys(),
		Seed: spec.Seed, Fault: spec.Fault, Planted: r.Planted, GenMS: ms})
}

// say reports what was generated, as JSON or in words.
func (o *genOut) say(e *console.Env, s genSummary) error {
	if o.json {
		return console.JSONLine(e.Stdout, s)
	}
	if o.quiet {
		return nil
	}
	words := s.File + ": " + cmp.Or(s.Workload, s.Name)
	if s.Txns > 0 {
		words += ", " + plural.Of(s.Txns, "transaction")
	}
	words += ", " + plural.Of(s.Ops, "operation")
	if s.Parts > 0 {
		words += " in " + plural.Of(s.Parts, "part")
	}
	_, err := fmt.Fprintf(e.Stderr, "%s; %s\n", words, s.Note)
	return err
}

func NewWorkloads(e *console.Env) *cobra.Command {
	return histories.NewList(e, "workloads", func() (items []histories.ListItem) {
		for _, w := range workload.All() {
			it := histories.ListItem{Name: w.Name, About: w.About, Paper: w.Paper, Keys: w.Keys,
				Scales: cmp.Or(w.Scales,
					"keys"), Ops: w.Ops, Zipf: w.Zipf}
			for _, v := range w.Variants {
				if v.Name != "" {
					it.Variants = append(it.Variants, v.Name)
				}
			}
			items = append(items, it)
		}
		for _, name := range objects.Names() {
			items = append(items, histories.ListItem{Name: name, About: objects.About(name),
				Variants: []string{"default", "faulty"}})
		}
		return items
	})
}
