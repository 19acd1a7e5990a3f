package bench

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"reflect"
	"strings"

	"isovet/check"
	"isovet/evidence"
	"isovet/internal/slice"
)

// RunSetup has the question of a run and its settings.
type RunSetup struct {
	Checker   string `parquet:"checker"`
	Solver    string `parquet:"solver"`
	Closure   string `parquet:"closure"`
	Pruning   string `parquet:"pruning"`
	Encoding  string `parquet:"encoding"`
	Phase     string `parquet:"phase"`
	AtMostOne string `parquet:"at_most_one"`
	Technique string `parquet:"technique"`
}

// RunCost has the cost of a run.
type RunCost struct {
	LoadMS       float64 `parquet:"load_ms"`
	CheckMS      float64 `parquet:"check_ms"`
	CertifyMS    float64 `parquet:"certify_ms"`
	Construction float64 `parquet:"construction_ms"`
	ClosureMS    float64 `parquet:"closure_ms"`
	PruningMS    float64 `parquet:"pruning_ms"`
	EncodingMS   float64 `parquet:"encoding_ms"`
	SolvingMS    float64 `parquet:"solving_ms"`
	WallMS       float64 `parquet:"wall_ms"`
	CPUMS        float64 `parquet:"cpu_ms"`
	PeakMB       float64 `parquet:"peak_mb"`
}

// Observation is one run as a row of tidy data: a column for each variable, in CSV and Parquet alike. Times are in
// milliseconds, memory in megabytes. Choices are the requested ones, "" if the checker chose; those with used_ are the
// ones that the run used.
type Observation struct {
	History  string `parquet:"history"`
	Workload string `parquet:"workload"`
	Variant  string `parquet:"variant"`
	Level    string `parquet:"level"`
	Txns     int64  `parquet:"txns"`
	Ops      int64  `parquet:"ops"`
	Sessions int64  `parquet:"sessions"`
	Keys     int64  `parquet:"keys"`
	RunSetup
	UsedClosure  string `parquet:"used_closure"`
	UsedEncoding string `parquet:"used_encoding"`
	UsedTheory   string `parquet:"used_theory"`
	Run          int64  `parquet:"run"` // from 1
	Verdict      string `parquet:"verdict"`
	Reason       string `parquet:"reason"`
	RunCost
	Effort
}

// Observations returns the runs of a comparison.
func Observations(rows []Row) (out []Observation) {
	for i := range rows {
		out = append(out, rows[i].observations(rows[i].Contender().Pipeline())...)
	}
	return out
}

func (r *Row) observations(p check.Pipeline) (out []Observation) {
	for i, m := range slice.Refs(r.Runs) {
		s := &m.Stats
		o := Observation{History: r.source().Name(), Workload: r.Workload, Variant: r.Variant, Level: r.label(),
			Txns: int64(cmp.Or(r.Txns, s.Txns)), Ops: int64(s.Ops), Sessions: int64(s.Sessions), Keys: int64(s.Keys),
			RunSetup: RunSetup{Checker: r.Checker, Solver: r.Solver, Closure: p.Closure, Pruning: p.Pruning,
				Encoding: p.Encoding, Phase: p.Phase, AtMostOne: p.AtMostOne, Technique: p.Technique},
			UsedClosure: s.Closure, UsedEncoding: s.Encoding, UsedTheory: s.Theory, Run: int64(i + 1),
			Verdict: m.Verdict.String(), Reason: cmp.Or(m.Fault, m.Reason),
			RunCost: RunCost{LoadMS: s.LoadMS, CheckMS: s.CheckMS, CertifyMS: s.CertifyMS,
				Construction: s.Stages["construction"], ClosureMS: s.Stages["closure"], PruningMS: s.Stages["pruning"],
				EncodingMS: s.Stages["encoding"], SolvingMS: s.Stages["solving"], WallMS: m.WallMS, CPUMS: m.CPUMS,
				PeakMB: s.PeakMB},
			Effort: effortOf(s)}
		if m.Fault != "" {
			o.Verdict = evidence.Unknown.String()
		}
		out = append(out, o)
	}
	return out
}

// tidyCells returns the columns' names and the cells of a row of tidy data: its fields with the name of a column.
func tidyCells[T any](row *T) (names []string, cells []reflect.Value) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		if name := f.Tag.Get("parquet"); name != "" {
			names, cells = append(names, name), append(cells, reflect.ValueOf(row).Elem().FieldByIndex(f.Index))
		}
	}
	return names, cells
}

func tidyLine[T any](row *T) []string {
	_, cells := tidyCells(row)
	return slice.Map(cells, func(v reflect.Value) string { return fmt.Sprint(v.Interface()) })
}

// WriteTidy writes the runs as Parquet if the file's name ends in .parquet, otherwise as CSV.
func WriteTidy(w io.Writer, name string, runs []Observation) error {
	if strings.HasSuffix(strings.ToLower(name), ".parquet") {
		if writeParquet == nil {
			return errNoCharts
		}
		return writeParquet(w, runs)
	}
	names, _ := tidyCells(&Observation{})
	lines := [][]string{names}
	for i := range runs {
		lines = append(lines, tidyLine(&runs[i]))
	}
	return csv.NewWriter(w).WriteAll(lines)
}
