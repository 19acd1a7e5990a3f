package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"isovet/datasets"
	"isovet/datasets/workload"
	"isovet/evidence"
	"isovet/history"
	"isovet/history/format"
	"isovet/level"
)

// Figure is a table or a figure of a paper's evaluation, measured again on this machine.
type Figure struct {
	ID    string // "vbox/fig6": the paper's key in lower case, and the name in it
	Title string
	// Where is the place in the paper.
	Where string
	// Metrics are what is measured, a table and a chart each.
	Metrics []Metric
	// Axis names what the groups are: workload, transactions.
	Axis string
	// Numeric: the groups are numbers, and the charts lines; else bars.
	Numeric bool
	// Linear charts have no logarithmic axis.
	Linear bool
	// Own: the claims are bounds of ours, not a paper's.
	Own bool
	// Measure adds points to the report as they are measured. Its error is ctx's end or a fault.
	Measure func(ctx context.Context, lab *Lab, r *Report) error
}

// Metric is one thing measured.
type Metric struct{ Key, Label, Unit string }

// Figures returns all figures in the papers' order. A paper is one file and one line here.
func Figures() []Figure {
	return slices.Concat(vboxFigures(), leopardFigures(), chronosFigures(), mtcFigures(), bcFigures(), speedFigures())
}

// LookupFigures finds figures by name: one ("vbox/fig6"), or a paper's all ("vbox").
func LookupFigures(names []string) ([]Figure, error) {
	all := Figures()
	var out []Figure
	for _, n := range names {
		found := false
		for _, f := range all {
			paper, _, _ := strings.Cut(f.ID, "/")
			if n == f.ID || n == paper {
				found = true
				if !slices.ContainsFunc(out, func(g Figure) bool { return g.ID == f.ID }) {
					out = append(out, f)
				}
			}
		}
		if !found {
			var ids []string
			for _, f := range all {
				ids = append(ids, f.ID)
			}
			return nil, fmt.Errorf("unknown figure %q; expected a paper or some of %s", n, strings.Join(ids, ", "))
		}
	}
	return out, nil
}

// Scale says how large the histories are.
type Scale uint8

const (
	DefaultScale Scale = iota // minutes on two cores
	QuickScale                // seconds: shows that it runs, measures little
	FullScale                 // the paper's sizes and time-outs
)

func (s Scale) String() string { return [...]string{"default", "quick", "full"}[s] }

// ReproduceOptions are the parameters of Reproduce.
type ReproduceOptions struct {
	Scale Scale
	Seed  uint64
	// Timeout stops a run; 0: the scale's own.
	Timeout time.Duration
	// Out is the folder for results, with one folder a paper below.
	Out string
	// Command is what the results say that they were made by.
	Command string
	// Self is the program and the arguments under which it takes ChildCommand.
	Self []string
	// NoServers leaves out database servers even where they are installed.
	NoServers bool
	// Before is another program that takes ChildCommand, with its first arguments: an earlier one, which figures that
	// compare run in turn with Self; nil: there is none.
	Before []string
	// Progress, if set, is told what is being measured, and for how many figures that is done.
	Progress func(what string, done, total int)
}

// Lab is where figures are measured: it generates histories, once each, and runs checkers on them, each in a process of
// its own. Databases that a figure asks for are started for it and removed after it.
type Lab struct {
	Scale   Scale
	Seed    uint64
	Timeout time.Duration
	self    []string
	before  []string
	dir     string
	sources map[sourceKey]Source
	tell    func(what string)

	noServers bool
	servers   []*served  // of the present figure
	trials    []trialsOf // Figures 13 and 14 of MTC show the same runs

	// What the runs of the present figure took, in milliseconds.
	wall, cpu float64
}

// busy is from which ratio of elapsed to computed time on a page says that the machine had other work; alone on a
// machine it is below 1, for the collector of garbage runs beside.
const busy = 1.5

// timeouts by scale: the paper's is ten minutes ([Vbox] §5.2).
var timeouts = [...]time.Duration{DefaultScale: 20 * time.Second, QuickScale: time.Second, FullScale: 10 * time.Minute}

// Reproduce measures figures and writes each one's results as it is done: data (JSON, CSV), a page with tables
// (Markdown) and charts (SVG). When ctx ends, what has been measured of a figure is written too, marked as incomplete.
// It returns the reports.
func Reproduce(ctx context.Context, figures []Figure, o ReproduceOptions) ([]*Report, error) {
	dir, err := os.MkdirTemp("", "isovet-reproduce-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	lab := &Lab{Scale: o.Scale, Seed: o.Seed, Timeout: o.Timeout, self: o.Self, before: o.Before, dir: dir,
		sources: map[sourceKey]Source{}, noServers: o.NoServers}
	if lab.Timeout == 0 {
		lab.Timeout = timeouts[o.Scale]
	}
	var reports []*Report
	for i, f := range figures {
		lab.tell = func(what string) {
			if o.Progress != nil {
				o.Progress(f.ID+": "+what, i, len(figures))
			}
		}
		lab.tell("")
		r := newReport(f, lab, o)
		start := time.Now()
		lab.wall, lab.cpu = 0, 0
		err := lab.measure(ctx, f, r)
		if lab.cpu > 0 && lab.wall > busy*lab.cpu {
			r.Note("The machine was busy with other work: these runs took %.1f times as long as they computed. "+
				"Times are too long, and time-outs too early.", lab.wall/lab.cpu)
		}
		r.Seconds = time.Since(start).Seconds()
		r.Complete = err == nil
		if err != nil && ctx.Err() == nil {
			return reports, fmt.Errorf("%s: %w", f.ID, err)
		}
		if len(r.Points) > 0 || err == nil {
			if e := r.Write(o.Out); e != nil {
				return reports, e
			}
			reports = append(reports, r)
		}
		if err != nil {
			return reports, err
		}
	}
	return reports, nil
}

// measure measures a figure, and ends its servers whatever happens.
func (l *Lab) measure(ctx context.Context, f Figure, r *Report) (err error) {
	defer func() { err = errors.Join(err, l.endServers()) }()
	return f.Measure(ctx, l, r)
}

// Pick chooses by scale.
func (l *Lab) Pick(quick, normal, full int) int {
	return [...]int{QuickScale: quick, DefaultScale: normal, FullScale: full}[l.Scale]
}

// ErrNoWorkload says that a figure needs a workload that is not built in.
var ErrNoWorkload = errors.New("no such workload here")

// sourceKey is what a generated file follows from.
type sourceKey struct {
	spec   datasets.Spec
	native bool
}

// Source returns a generated history; the seed is the lab's. One spec is generated once.
func (l *Lab) Source(ctx context.Context, spec datasets.Spec) (Source, error) {
	spec.Seed = 0
	return l.written(ctx, spec, false)
}

// written is Source for a spec with a seed of its own (0: the lab's), as a native file or as JSON lines.
func (l *Lab) written(ctx context.Context, spec datasets.Spec, native bool) (Source, error) {
	spec.Seed = cmp.Or(spec.Seed, l.Seed)
	key := sourceKey{spec, native}
	if s, ok := l.sources[key]; ok {
		return s, nil
	}
	in, err := workload.Lookup(spec.Workload)
	if err != nil {
		return Source{}, fmt.Errorf("%w: %s", ErrNoWorkload, spec.Workload)
	}
	if spec.Variant != "" && !slices.ContainsFunc(in.Variants, func(v workload.Variant) bool {
		return strings.EqualFold(v.Name, spec.Variant)
	}) {
		return Source{}, fmt.Errorf("%w: %s %s", ErrNoWorkload, spec.Workload, spec.Variant)
	}
	l.tell("generating " + Source{Workload: spec.Workload, Variant: spec.Variant}.Name())
	sub := filepath.Join(l.dir, fmt.Sprint(len(l.sources)))
	if err := os.Mkdir(sub, 0o700); err != nil {
		return Source{}, err
	}
	ending := ".jsonl"
	if native {
		ending = ".ivh"
	}
	s, err := writeGenerated(ctx, spec, sub, ending)
	if err == nil {
		l.sources[key] = s
	}
	return s, err
}

// File writes a history for runs to read.
func (l *Lab) File(name string, h *history.History) (Source, error) {
	path := filepath.Join(l.dir, name+".jsonl")
	return Source{File: path, Path: path}, format.Write(path, h, "", false)
}

// Run runs one checker on one history in a process of its own, a few times if that is short, and returns the fastest
// run: whatever else the machine does only adds to it. The level, the time-out and the history are filled in.
func (l *Lab) Run(ctx context.Context, src Source, at level.Level, r Run) (Measured, error) {
	return l.fastest(ctx, src, at, r, func(m *Measured) float64 { return m.Stats.CheckMS })
}

// fastest is Run, by another time than that of the whole check.
func (l *Lab) fastest(ctx context.Context, src Source, at level.Level, r Run, by func(*Measured) float64) (Measured,
	error) {
	r.History, r.Level = src.Path, at
	if r.Timeout == 0 {
		r.Timeout = l.Timeout
	}
	l.tell(Contender{r.Checker, r.Solver}.String() + " on " + src.Name())
	var runs []Measured
	for {
		m, err := runChild(ctx, l.self, r)
		if err == nil && m.BadInput != "" {
			err = &BadHistory{m.BadInput}
		}
		if err != nil {
			return m, err
		}
		l.wall, l.cpu = l.wall+m.WallMS, l.cpu+m.CPUMS
		if m.Verdict == evidence.Unknown {
			return m, nil
		}
		runs = append(runs, m)
		if n := l.Pick(1, repeats, repeats); len(runs) == n || m.Stats.CheckMS > repeatBelow {
			return slices.MinFunc(runs, func(a, b Measured) int { return cmp.Compare(by(&a), by(&b)) }), nil
		}
	}
}

// A run shorter than repeatBelow (ms) is repeated.
const repeats, repeatBelow = 5, 1000

// point makes a point of a run: value is the value if the run came to a verdict.
func point(metric, group, series string, m *Measured, value float64) Point {
	p := Point{Metric: metric, Group: group, Series: series, Verdict: m.Verdict, Reason: m.Reason, CPUMS: m.CPUMS}
	switch {
	case m.Fault != "":
		p.Reason, _, _ = strings.Cut(m.Fault, "\n")
		p.Fault = true
	case m.Verdict != evidence.Unknown:
		p.Value = value
	case strings.HasPrefix(m.Reason, "timeout"):
		p.TimedOut = true
	}
	return p
}

// WriteFigureList lists figures, one a line.
func WriteFigureList(w io.Writer, figures []Figure) error {
	rows := make([][]string, len(figures))
	for i, f := range figures {
		rows[i] = []string{f.ID, f.Title, f.Where}
	}
	return writeTable(w, []string{"figure", "what it shows", "in the paper, or the page"}, rows, false)
}
