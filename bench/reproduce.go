package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"isovet/datasets"
	"isovet/datasets/workload"
	"isovet/evidence"
	"isovet/history"
	"isovet/history/format"
	"isovet/internal/filelock"
	"isovet/level"
)

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
	// Out is the folder for results, with one folder a paper below; those of FullScale are in FullFolder there.
	Out string
	// Resume takes up figures that were stopped: what was measured of them then, by the same program with the same seed
	// and time-out, is kept, and figures that are complete are left as they are.
	Resume bool
	// Memory bounds a run's process, in bytes, so that it ends without a verdict where it takes more; 0: any.
	Memory int64
	// Command is the command that the results name.
	Command string
	// Self is the program and the arguments under which it takes ChildCommand.
	Self []string
	// NoServers leaves out database servers even where they are installed.
	NoServers bool
	// Progress, if set, gets the present measurement and the number of figures done.
	Progress func(what string, done, total int)
}

// Lab is where figures are measured: it generates histories, once each, and runs checkers on them, each in a process of
// its own. Databases that a figure asks for are started for it and removed after it.
type Lab struct {
	Scale   Scale
	Seed    uint64
	Timeout time.Duration
	self    []string
	dir     string
	sources map[datasets.Spec]Source
	tell    func(what string)

	memory int64
	// asked, if set, gets the histories that figures ask for, and may make them smaller; then nothing is run.
	asked     func(*datasets.Spec)
	keep      *keeper // of the present figure; nil: nothing is kept
	papers    bool    // the present figure is a paper's
	noServers bool
	servers   []*served  // of the present figure
	trials    []trialsOf // Figures 13 and 14 of MTC show the same runs

	// What the runs of the present figure took, in milliseconds, and on which histories.
	wall, cpu float64
	made      madeOf
}

// busy is from which ratio of elapsed to computed time on a page says that the machine had other work; alone on a
// machine it is below 1, for the collector of garbage runs beside.
const busy = 1.5

// FullFolder is the folder of the results at the papers' sizes, in that of the others.
const FullFolder = "full"

// folder returns the folder of a report in the folder of all.
func (r *Report) folder() string {
	if r.Scale == FullScale.String() {
		return FullFolder
	}
	return ""
}

// timeouts by scale: the paper's is ten minutes ([Vbox] §5.2).
var timeouts = [...]time.Duration{DefaultScale: 20 * time.Second, QuickScale: time.Second, FullScale: 10 * time.Minute}

// Reproduce measures figures and writes each one's results as it is done: data (JSON, CSV), a page with tables
// (Markdown) and charts (SVG). When ctx ends, what has been measured of a figure is written too, marked as incomplete.
// It returns the reports.
func Reproduce(ctx context.Context, figures []Figure, o ReproduceOptions) ([]*Report, error) {
	if databases == nil {
		return nil, errors.New("this program has no databases; expected the full isovet")
	}
	dir, err := os.MkdirTemp("", "isovet-reproduce-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	lab := &Lab{Scale: o.Scale, Seed: o.Seed, self: o.Self, dir: dir,
		sources: map[datasets.Spec]Source{}, noServers: o.NoServers, memory: o.Memory}
	if o.Memory > 0 {
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(o.Memory - o.Memory/8))
	}
	var reports []*Report
	for i, f := range figures {
		lab.tell = func(what string) {
			if o.Progress != nil {
				o.Progress(f.ID+": "+what, i, len(figures))
			}
		}
		lab.Timeout = cmp.Or(o.Timeout, timeouts[o.Scale])
		lab.tell("")
		r, err := lab.figure(ctx, f, o)
		if r == nil {
			return reports, err
		}
		if err != nil && ctx.Err() == nil {
			return reports, fmt.Errorf("%s: %w", f.ID, err)
		}
		if len(r.Points) > 0 || err == nil {
			if e := r.Write(o.Out); e != nil {
				return reports, e
			}
			if r.Complete { // and never before: a disk may be full, and the machine may stop here
				if e := lab.forget(); e != nil {
					return reports, e
				}
			}
			if o.Scale == FullScale { // the page of the other scale now leads here
				if d, e := LoadReport(filepath.Join(o.Out, r.base()+".json")); e == nil {
					if e := d.Write(o.Out); e != nil {
						return reports, e
					}
				}
			}
			reports = append(reports, r)
		}
		if err != nil {
			return reports, err
		}
	}
	return reports, nil
}

// figure measures a figure, or takes it up where it was stopped. Without a report the error is that of its files.
func (l *Lab) figure(ctx context.Context, f Figure, o ReproduceOptions) (*Report, error) {
	r := newReport(f, l, o)
	l.keep = nil
	if o.Resume {
		was, err := LoadReport(r.Path(o.Out) + ".json")
		if err == nil && was.Complete && was.keptHead() == r.keptHead() {
			return was, nil
		}
	}
	var err error
	if l.keep, err = newKeeper(o.Out, r, o.Resume); err != nil {
		return nil, err
	}
	start := time.Now()
	l.wall, l.cpu, l.made = 0, 0, madeOf{}
	err = l.measure(ctx, f, r)
	if l.cpu > 0 && l.wall > busy*l.cpu {
		r.Note("The machine was busy with other work: these runs took %.1f times their processor time. So the times "+
			"are too long, and the time-outs too early.", l.wall/l.cpu)
	}
	if l.keep.parts > 0 {
		r.Note("The figure was measured in several runs: %d parts of it, %.0f s, before the last one.",
			l.keep.parts, l.keep.seconds)
	}
	r.Seconds = time.Since(start).Seconds() + l.keep.seconds
	r.Complete = err == nil
	r.Workloads = l.made.lines()
	if r.Load != nil {
		r.Load.End = loadAverage()
	}
	r.seek(o.Out)
	r.judgeAll()
	return r, errors.Join(err, filelock.Close(l.keep.file))
}

// measure measures a figure, and ends its servers whatever happens.
func (l *Lab) measure(ctx context.Context, f Figure, r *Report) (err error) {
	defer func() { err = errors.Join(err, l.endServers()) }()
	l.papers = !f.Own
	return f.Measure(ctx, l, r)
}

// Pick chooses by scale.
func (l *Lab) Pick(quick, normal, full int) int {
	return [...]int{QuickScale: quick, DefaultScale: normal, FullScale: full}[l.Scale]
}

// ErrNoWorkload says that a figure needs a workload that is not built in.
var ErrNoWorkload = errors.New("no such workload here")

// Source returns a generated history; the seed is the lab's. One spec is generated once.
func (l *Lab) Source(ctx context.Context, spec datasets.Spec) (Source, error) {
	spec.Seed = l.Seed
	if l.asked != nil {
		l.asked(&spec)
	}
	if s, ok := l.sources[spec]; ok {
		l.made.add(spec, s.Sizes)
		return s, nil
	}
	id, err := json.Marshal(spec)
	if err != nil {
		return Source{}, err
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
	s, err := Generate(ctx, spec, sub)
	s.id = string(id) + ".jsonl"
	if err == nil {
		l.sources[spec] = s
		l.made.add(spec, s.Sizes)
	}
	return s, err
}

// File writes a history for runs to read.
func (l *Lab) File(name string, h *history.History) (Source, error) {
	path := filepath.Join(l.dir, name+".jsonl")
	return Source{File: path, Path: path, id: name}, format.Write(path, h, "", false)
}

// Run runs one checker on one history, each time in a process of its own, and returns the run in the middle, with all.
// A run without a verdict is the only one. The level, the time-out and the history are filled in.
func (l *Lab) Run(ctx context.Context, src Source, at level.Level, r Run) (Measured, error) {
	return l.typical(ctx, src, at, r, checkMS)
}

// typical is Run, where the middle is that of another number than the time of the whole check; nil: only the verdict
// counts, and one run gives it.
func (l *Lab) typical(ctx context.Context, src Source, at level.Level, r Run, by reading) (Measured, error) {
	if l.asked != nil {
		return Measured{Verdict: evidence.Holds}, nil
	}
	if l.papers && r.Checker == papersOwn.checker && r.Solver == "" {
		r.Solver = papersOwn.solver
	}
	if l.keep == nil {
		return l.measured(ctx, src, at, r, by)
	}
	r.Level = at
	key, err := json.Marshal(r)
	if err != nil {
		return Measured{}, err
	}
	return kept(l.keep, "run "+string(key)+" on "+cmp.Or(src.id, src.Name()), func() (Measured, error) {
		return l.measured(ctx, src, at, r, by)
	})
}

func (l *Lab) measured(ctx context.Context, src Source, at level.Level, r Run, by reading) (Measured, error) {
	r.History, r.Level, r.Memory = src.Path, at, l.memory
	if r.Timeout == 0 {
		r.Timeout = l.Timeout
	}
	l.tell(Contender{Checker: r.Checker, Solver: r.Solver}.String() + " on " + src.Name())
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
		n := l.Pick(1, repeats, repeats)
		if m.WallMS > longRun {
			n = min(n, longRepeats)
		}
		if len(runs) >= n || by == nil || r.StageMemory { // memory is the same each time
			return middle(runs, by), nil
		}
	}
}

// point makes a point of a run and those that it is the middle one of: their median, if they came to a verdict. Of a
// run that was stopped the number is a bound of the time, 0 if that is not known.
func point(metric, group, series string, m *Measured, of reading) Point {
	p := Point{Metric: metric, Group: group, Series: series, Verdict: m.Verdict, Reason: m.Reason, CPUMS: m.CPUMS}
	switch {
	case m.Fault != "":
		p.Reason, _, _ = strings.Cut(m.Fault, "\n")
		p.Fault = true
	case m.Verdict != evidence.Unknown:
		if p.Value, p.Runs = of(m), m.readings(of); p.Runs != nil {
			p.Value = median(p.Runs)
		}
	case strings.HasPrefix(m.Reason, "timeout"):
		p.TimedOut, p.Bound = true, max(of(m), 0)
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
