package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"isovet/check/workloads"
	"isovet/evidence"
	"isovet/history/operations"
	"isovet/internal/plural"
	"isovet/internal/slice"
)

// Work is the answer about operations that a workload's rule judged.
type Work struct {
	H      *operations.History // nil: it was not read
	Answer *workloads.Answer
	MS     float64
	Note   string // about what was not read
}

// Operation is one of the operations in an anomaly.
type Operation struct {
	Line    int    `json:"line"`
	Process int64  `json:"process"`
	F       string `json:"f"`
	Value   string `json:"value"`
	Result  string `json:"result,omitempty"`
	Status  string `json:"status"`
}

// Operation returns the history's operation at place i.
func (w *Work) Operation(i int) Operation {
	op := &w.H.Ops[i]
	o := Operation{Line: op.Line, Process: op.Process, F: op.F, Value: operations.Text(op.In),
		Status: [...]string{"unknown", "ok", "fail"}[op.Status]}
	if op.Out != nil {
		o.Result = operations.Text(op.Out)
	}
	return o
}

// String returns the operation on one line.
func (o *Operation) String() string {
	const most = 200
	result := ""
	if o.Result != "" {
		result = " → " + Clip(o.Result, most)
	}
	return fmt.Sprintf("line %d: process %d: %s %s%s (%s)", o.Line, o.Process, o.F, Clip(o.Value, most), result,
		o.Status)
}

// Text describes a finding. If the description lacks the operations, they follow, one on each line.
func (w *Work) Text(f *workloads.Finding) string {
	text := f.Text
	if !strings.Contains(text, "\n") {
		for _, i := range f.Ops {
			op := w.Operation(i)
			text += "\n  " + op.String()
		}
	}
	return text
}

// Summary returns one line about all judged operations.
func (w *Work) Summary() string {
	if w.H == nil {
		return ""
	}
	words := []string{plural.Of(len(w.H.Ops), "operation")}
	for _, s := range w.Answer.Stats {
		words = append(words, fmt.Sprintf("%s %v", s.Name, s.Value))
	}
	return strings.Join(words, ", ")
}

func (w *Work) findings(path string) (out []finding) {
	a := w.Answer
	if a.Verdict == evidence.Unknown {
		return []finding{{kind: "unknown", title: "unknown as " + a.Workload, text: a.Reason, unknown: true,
			at: spot{file: path}, workload: a.Workload}}
	}
	for _, f := range slice.Refs(a.Findings) {
		x := finding{kind: f.Kind, title: f.Kind + " violates " + a.Workload, text: w.Text(f), at: spot{file: path},
			workload: a.Workload, of: a.Counts[f.Kind]}
		var all []spot
		for _, i := range f.Ops {
			op := w.Operation(i)
			all = append(all, spot{path, op.Line, op.String()})
		}
		if len(all) > 0 {
			x.at, x.with = all[0], all[1:]
		}
		out = append(out, x)
	}
	return out
}

// about describes the workload's rule.
func (w *Work) about() string {
	all := workloads.All()
	if i := slices.IndexFunc(all, func(x workloads.Workload) bool { return x.Name == w.Answer.Workload }); i >= 0 {
		return all[i].About
	}
	return ""
}

func (w *Work) junitCase(it *Item) junitCase {
	return junitCaseWith(it, w.Answer.Workload, w.MS, w.findings(it.Path), w.about()+"; "+w.Summary(), w.Answer.Counts)
}

// HTML writes a page like [HTML]: the workload's rule, each kind of finding with its count, and each finding's
// operations.
func (w *Work) HTML(to io.Writer, name string) error {
	a := w.Answer
	d := pageData{Name: name, Level: a.Workload, Of: "as", About: w.about(), Verdict: a.Verdict.String(),
		Reason: a.Reason, Summary: w.Summary()}
	if w.Note != "" {
		d.Meta = []pair{{"note", w.Note}}
	}
	d.Kinds, d.More = kindPairs(a.Counts), slice.Sum(maps.Values(a.Counts))-len(a.Findings)
	about := map[string]string{}
	for _, k := range workloads.Kinds() {
		about[k.Name] = k.About
	}
	for i, f := range slice.Refs(a.Findings) {
		p := pageAnomaly{ID: fmt.Sprintf("a%d", i+1), Title: f.Kind, Text: firstLines(f.Text, maxText),
			About: about[f.Kind]}
		p.Operations = slice.Map(f.Ops, w.Operation)
		p.Timeline = operationsTimeline(w, f.Ops)
		d.Anomalies = append(d.Anomalies, p)
	}
	d.Run = w.run()
	d.Stats = slice.Map(a.Stats, func(s workloads.Stat) pair { return pair{s.Name, fmt.Sprint(s.Value)} })
	return d.write(to)
}
