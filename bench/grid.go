package bench

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"isovet/datasets"
	"isovet/evidence"
	"isovet/internal/filelock"
	"isovet/internal/plural"
	"isovet/level"
)

// Plan is a grid of measurements: each workload with each size, seed, checker and time-out is a cell and has one run.
type Plan struct {
	Workloads  []string // perhaps with a variant, such as blindw/RH
	Txns       []int
	Seeds      []uint64
	Checkers   []string // as for Contenders
	Timeouts   []time.Duration
	Level      level.Level
	Isolation  string // this and the following as in datasets.Spec
	Sessions   int
	Keys       int
	Timestamps bool
}

type gridCell struct {
	spec      datasets.Spec
	contender Contender
	level     level.Level
	timeout   time.Duration
}

// gridRun is the run of a cell as a row of tidy data.
type gridRun struct {
	Cell    string `parquet:"cell"` // what was asked for
	Machine string `parquet:"machine"`
	Commit  string `parquet:"commit"`
	Seed    uint64 `parquet:"seed"`
	Timeout string `parquet:"timeout"`
	Observation
}

// cells returns the cells in the order of their runs. Errors: unknown names, impossible sizes, no cell.
func (p *Plan) cells() (out []gridCell, err error) {
	contenders, err := Contenders(strings.Join(p.Checkers, ","), p.Level)
	if err != nil {
		return nil, fmt.Errorf("checkers: %w", err)
	}
	for _, w := range p.Workloads {
		name, variant, _ := strings.Cut(w, "/")
		variants, err := Variants(name, variant)
		if err != nil {
			return nil, fmt.Errorf("workloads: %w", err)
		}
		for _, txns := range p.Txns {
			for _, seed := range p.Seeds {
				spec := datasets.Spec{Workload: name, Variant: variants[0], Txns: txns, Seed: seed,
					Isolation: p.Isolation, Sessions: p.Sessions, Keys: p.Keys, DBTimes: p.Timestamps}
				if _, _, err := datasets.Streams(spec); err != nil { // it checks the spec
					return nil, fmt.Errorf("%s with %d transactions: %w", w, txns, err)
				}
				for _, c := range contenders {
					for _, t := range p.Timeouts {
						out = append(out, gridCell{spec, c, p.Level, t})
					}
				}
			}
		}
	}
	if len(out) == 0 {
		return nil, errors.New("a list is empty; expected workloads, txns, seeds, checkers and timeouts")
	}
	return out, nil
}

// name names the cell without its seed, checker and plan.
func (c gridCell) name() string {
	return fmt.Sprintf("%s %s %d, %v", c.spec.Workload, c.spec.Variant, c.spec.Txns, c.timeout)
}

// String names the cell in a file of runs.
func (c gridCell) String() string {
	s := &c.spec
	return fmt.Sprintf("%s, seed %d, isolation %s, sessions %d, keys %d, timestamps %v, %s, %s", c.name(), s.Seed,
		s.Isolation, s.Sessions, s.Keys, s.DBTimes, c.level, c.contender)
}

// Run measures the cells of the plan that the file does not have, each in a process of its own, and appends a line for
// each. It returns a row for each cell so far, and whether some run is of another machine or commit. dir is for
// histories. Of o, it uses Self and Progress. Errors: those of the plan, a file that is no output of Run or that
// another process has, ctx's.
func (p *Plan) Run(ctx context.Context, file, dir string, o Options) (rows []Row, mixed bool, err error) {
	cells, err := p.cells()
	if err != nil {
		return nil, false, err
	}
	f, err := openAlone(file)
	if err != nil {
		return nil, false, fmt.Errorf("%s: %w", file, err)
	}
	defer func() { err = errors.Join(err, filelock.Close(f)) }()
	have, err := readGrid(f)
	if err != nil {
		return nil, false, fmt.Errorf("%s: %w; expected another file", file, err)
	}
	on, now := ThisMachine(), commit()
	machine := fmt.Sprintf("%s, %s/%s, %s", on.CPU, on.OS, on.Arch, plural.Of(on.Cores, "core"))
	var src, made = Source{}, datasets.Spec{}
	for i, c := range cells {
		run, ok := have[c.String()]
		m := run.measured()
		if !ok {
			o.Progress(c.String(), i, len(cells))
			if made != c.spec {
				if src, err = Generate(ctx, c.spec, dir); err != nil {
					return rows, mixed, err
				}
				made = c.spec
			}
			one, err := Compare(ctx, []Source{src}, Options{Level: c.level, Contenders: []Contender{c.contender},
				Timeout: c.timeout, Self: o.Self})
			if err != nil {
				return rows, mixed, err
			}
			run = gridRun{c.String(), machine, now, c.spec.Seed, c.timeout.String(), Observations(one)[0]}
			run.Reason = strings.Join(strings.Fields(run.Reason), " ") // a run is a line
			m = run.measured()
			m.Fault = one[0].Fault
			if err := csv.NewWriter(f).WriteAll([][]string{tidyLine(&run)}); err != nil {
				return rows, mixed, err
			}
		}
		mixed = mixed || run.Machine != machine || run.Commit != now
		rows = append(rows, newRow(Source{Workload: c.spec.Workload, Variant: c.spec.Variant, Txns: c.spec.Txns,
			File: fmt.Sprint(c.name(), ofSeed, c.spec.Seed)}, c.contender, c.level, []Measured{m}))
	}
	return rows, mixed, nil
}

// ofSeed is between a cell's name and its seed in the rows of Run.
const ofSeed = ", seed "

// readGrid reads the runs in a file by their cells. It writes the columns' names if there are none, and removes a last
// line that was not written to its end.
func readGrid(f *os.File) (map[string]gridRun, error) {
	names, _ := tidyCells(&gridRun{})
	b, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	if len(b) == 0 {
		return nil, csv.NewWriter(f).WriteAll([][]string{names})
	}
	b = b[:bytes.LastIndexByte(b, '\n')+1]
	lines, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err != nil || len(lines) == 0 || !slices.Equal(lines[0], names) {
		return nil, errors.Join(errors.New("it does not have the columns of bench grid"), err)
	}
	have := map[string]gridRun{}
	for _, line := range lines[1:] {
		var r gridRun
		_, cells := tidyCells(&r)
		for i, v := range cells {
			if v.Kind() == reflect.String {
				v.SetString(line[i])
			} else if _, err := fmt.Sscan(line[i], v.Addr().Interface()); err != nil {
				return nil, fmt.Errorf("column %s: %q is no number", names[i], line[i])
			}
		}
		have[r.Cell] = r
	}
	_, err = f.Seek(int64(len(b)), io.SeekStart)
	return have, errors.Join(err, f.Truncate(int64(len(b))))
}

func (r *gridRun) measured() Measured {
	m := Measured{Reason: r.Reason, WallMS: r.WallMS, CPUMS: r.CPUMS, Stats: evidence.Stats{
		LoadMS: r.LoadMS, CheckMS: r.CheckMS, CertifyMS: r.CertifyMS, PeakMB: r.PeakMB, Constraints: r.Before,
		Left: r.Left, Variables: r.Variables, Clauses: r.Clauses, Conflicts: r.Conflicts,
		Theory: r.UsedTheory}}
	_ = m.Verdict.UnmarshalText([]byte(r.Verdict)) // unknown if it is no verdict
	return m
}

// Medians returns the medians over the seeds of Run's rows. If seeds have different verdicts, these are the medians of
// the violations, or without one of the valid runs.
func Medians(rows []Row) (out []Row) {
	at, all := map[string]int{}, map[int]int{} // series → its place; place → number of its runs
	for _, r := range rows {
		r.History, _, _ = strings.Cut(r.History, ofSeed)
		key := r.History + ofSeed + r.Contender().String()
		i, ok := at[key]
		switch {
		case !ok:
			i = len(out)
			at[key], out = i, append(out, r)
		case r.Verdict > out[i].Verdict:
			out[i] = r
		case r.Verdict == out[i].Verdict:
			out[i].Runs = append(out[i].Runs, r.Runs...)
		}
		all[i]++
	}
	for i := range out {
		r := &out[i]
		if *r = newRow(r.source(), r.Contender(), r.Level, r.Runs); r.Repeat < all[i] {
			r.Reason = fmt.Sprintf("%d of %d runs", r.Repeat, all[i])
		}
	}
	return out
}
