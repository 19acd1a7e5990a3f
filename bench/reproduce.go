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
	"isovet/internal/slice"
	"isovet/level"
)

// LookupFigures finds figures by name: "vbox/fig6" is one, "vbox" all of a paper.
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
			ids := slice.Map(all, func(f Figure) string { return f.ID })
			return nil, fmt.Errorf("unknown figure %q; expected a paper or some of %s", n, strings.Join(ids, ", "))
		}
	}
	return out, nil
}

// Scale is the size of the histories.
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
	// Timeout stops a run; 0 means the scale's default.
	Timeout time.Duration
	// Out is the folder for results, with a folder for each paper. Results of FullScale are in its folder FullFolder.
	Out string
	// Resume continues stopped figures: it keeps what the same program measured with the same seed and time-out, and
	// does not repeat complete figures.
	Resume bool
	// Memory bounds a run's process, in bytes, and ends it without a verdict above the bound; 0 means no bound.
	Memory int64
	// Command is the command line that the results mention.
	Command string
	// Self is the program and the arguments after which it accepts ChildCommand. If it is nil, every run is in this
	// process.
	Self []string
	// NoServers does not use database servers, even if they are installed.
	NoServers bool
	// Progress, if set, is called with the current measurement and the number of figures done.
	Progress func(what string, done, total int)
}

// Lab measures figures. It generates each history once, and runs checkers on it, each in a process of its own. It
// starts the databases that a figure needs, and removes them afterwards.
type Lab struct {
	Scale   Scale
	Seed    uint64
	Timeout time.Duration
	self    []string
	dir     string
	sources map[datasets.Spec]Source
	tell    func(what string)

	memory int64
	// asked, if set, is called with the histories that figures request, and may make them smaller. Nothing is run then.
	asked     func(*datasets.Spec)
	keep      *keeper // of the present figure; nil: nothing is kept
	papers    bool    // the present figure is a paper's
	noServers bool
	servers   []*served  // of the present figure
	trials    []trialsOf // Figures 13 and 14 of MTC show the same runs

	// wall and cpu are the times of the current figure's runs in milliseconds; the next field has their histories.
	wall, cpu float64
	made      madeOf
}

// busy is the ratio of elapsed to computed time above which a page says that the machine was busy with other work. On
// an idle machine it is below 1, since the garbage collector runs in parallel.
const busy = 1.5

// FullFolder is the folder, within that of the other results, for results at the papers' sizes.
const FullFolder = "full"

func (r *Report) folder() string {
	if r.Scale == FullScale.String() {
		return FullFolder
	}
	return ""
}

// timeouts are the time-outs by scale. The paper's is ten minutes ([Vbox] §5.2).
var timeouts = [...]time.Duration{DefaultScale: 20 * time.Second, QuickScale: time.Second, FullScale: 10 * time.Minute}

// Reproduce measures figures and writes the results of each when it is complete: data (JSON, CSV), a page with tables
// (Markdown) and charts (SVG). When ctx ends, it also writes the incomplete figure, marked so. It returns the reports.
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

// figure measures a figure, or continues a stopped one. If it returns no report, the error is about its files.
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

// measure measures a figure, and always ends its servers.
func (l *Lab) measure(ctx context.Context, f Figure, r *Report) (err error) {
	defer func() { err = errors.Join(err, l.endServers()) }()
	l.papers = !f.Own
	if err = f.Measure(ctx, l, r); err != nil {
		return err
	}
	for _, n := range f.Notes {
		r.Note("%s", n)
	}
	return nil
}

// Pick returns the number for the scale.
func (l *Lab) Pick(quick, normal, full int) int {
	return [...]int{QuickScale: quick, DefaultScale: normal, FullScale: full}[l.Scale]
}

// ErrNoWorkload says that the program lacks a workload that a figure needs.
var ErrNoWorkload = errors.New("no such workload here")

// Source returns a generated history with the lab's seed. It generates each spec once.
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

// File writes a history to a file for runs.
func (l *Lab) File(name string, h *history.History) (Source, error) {
	path := filepath.Join(l.dir, name+".jsonl")
	return Source{File: path, Path: path, id: name}, format.Write(path, h, "", false)
}

// Run runs one checker on one history several times, each time in a process of its own. It returns the middle run with
// all runs. If a run has no verdict, it is the only one. Run sets the level, the time-out and the history.
func (l *Lab) Run(ctx context.Context, src Source, at level.Level, r Run) (Measured, error) {
	return l.typical(ctx, src, at, r, checkMS)
}

// typical is Run with the middle run by another number than the time of the whole check. If by is nil, only the
// verdict matters, and there is one run.
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
	r.Timeout = cmp.Or(r.Timeout, l.Timeout)
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

// point makes a point from a middle run: with the median of all runs if they have a verdict. If the run was stopped,
// it has a bound of the time, or 0 if that is not known.
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
	rows := slice.Map(figures, func(f Figure) []string { return []string{f.ID, f.Title, f.Where} })
	return writeTable(w, []string{"figure", "what it shows", "in the paper, or the page"}, rows, false)
}
