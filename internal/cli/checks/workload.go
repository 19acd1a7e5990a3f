package checks

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"isovet/check/workloads"
	"isovet/evidence"
	"isovet/history"
	"isovet/history/format"
	"isovet/history/operations"
	"isovet/internal/cli/console"
	"isovet/internal/escape"
	"isovet/internal/guard"
	"isovet/internal/slice"
	"isovet/report"
)

// workloadFlag is the flag --workload of check: the rule by which operations are judged that are no transactions.
type workloadFlag struct {
	name     string // with its settings
	workload workloads.Workload
	settings map[string]string
}

func (f *workloadFlag) flag(c *cobra.Command) {
	c.Flags().StringVar(&f.name, "workload", "", "check operations by the rules of workload `NAME`")
	console.Complete(c, "workload", slice.Map(workloads.All(), func(w workloads.Workload) cobra.Completion {
		return cobra.CompletionWithDesc(w.Name, w.About)
	}))
}

// validate looks the workload up.
func (f *workloadFlag) validate(in *CheckFlags) (err error) {
	if f.name == "" {
		return nil
	}
	if f.workload, f.settings, err = workloads.Lookup(f.name); err != nil {
		return console.Usagef("--workload: %v", err)
	}
	if in.levelSet || in.all || in.judge.name != console.Auto {
		return console.Usagef("--workload says how the history is judged; leave --level and --checker out")
	}
	return nil
}

// judged is the result for a history of operations.
type judged struct {
	report.Work
	told bool // the operations named the workload
}

// notJudged says why operations have no answer by a workload's rule.
type notJudged struct {
	error
	workload string
}

func (e *notJudged) Unwrap() error { return e.error }

// namesWorkloads adds to an error about an operation the workloads that know it, or all if none does.
func namesWorkloads(err error) error {
	in, is := errors.AsType[*history.InputError](err)
	if !is || in.Field != "f" || !strings.Contains(in.Msg, "--workload") {
		return err
	}
	found := func(f string) bool { return strings.HasPrefix(in.Msg, "found "+f+";") }
	knows := slice.Filter(workloads.All(), func(w workloads.Workload) bool {
		return slices.ContainsFunc(w.Operations, found)
	})
	names := slice.Map(knows, func(w workloads.Workload) string { return w.Name })
	if names == nil {
		names = workloads.Names()
	}
	in.Msg += ": " + strings.Join(names, ", ")
	return err
}

// workloadOf judges a file as operations if --workload or the file says so. is reports whether it did.
func (f *CheckFlags) workloadOf(ctx context.Context, e *console.Env, path string) (o outcome, is bool) {
	named := f.workload.name != ""
	if !named && (path == "-" || f.spill.dir != "" || f.levelSet || f.shrunk+f.dot+f.certificate+f.proof != "" ||
		f.judge.name != console.Auto || f.loading.Format != console.Auto || len(f.loading.Paths(path)) != 1) {
		return o, false
	}
	in, more, run, err := operationsIn(path)
	if in != nil {
		defer in.Close()
	}
	if err != nil {
		return outcome{path: path, err: &notJudged{err, f.workload.workload.Name}}, named
	}
	own := false
	if !named {
		head, err := in.Head()
		if err != nil || !operations.Is(head) {
			return o, false
		}
		own = operations.Own(head)
	}
	began := time.Now()
	w, settings := f.workload.workload, f.workload.settings
	if !named {
		w.Name = "operations" // of a workload that they have not told yet
		e.Kept.SayJSON(console.SaysKnown, knownSoFar{Workload: w.Name})
	}
	told := true
	j, err := guard.Run(ctx, f.limits, func() string { return "checking" }, func(ctx context.Context) (judged, error) {
		h, note, err := operationsOf(in, more, run)
		if err != nil && !named && !run && !own { // another reader may understand it
			told = false
			return judged{}, nil
		}
		if err != nil {
			return judged{}, err
		}
		if !named {
			if w, settings, err = workloads.Lookup(operations.Tell(h)); err != nil {
				if told = false; !h.Times {
					return judged{}, nil
				}
				return judged{}, fmt.Errorf("the operations do not show their workload; expected --workload with one "+
					"of %s", strings.Join(workloads.Names(), ", "))
			}
			e.Kept.SayJSON(console.SaysKnown, knownSoFar{Workload: w.Name})
		}
		a, err := w.Check(ctx, h, workloads.Options{Settings: settings})
		ms := console.Milliseconds(time.Since(began))
		return judged{report.Work{H: h, Answer: a, MS: ms, Note: note}, !named}, err
	})
	if !named && !told && err == nil {
		e.Kept.SayJSON(console.SaysKnown, knownSoFar{})
		return o, false
	}
	if stopped, ok := errors.AsType[*guard.StoppedError](err); ok {
		j.Answer, err = &workloads.Answer{Workload: w.Name, Reason: stopped.Text}, console.Interrupted(stopped)
	}
	if j.Answer == nil {
		return outcome{path: path, err: &notJudged{err, w.Name}, began: began}, true
	}
	if f.emptyOK && j.Answer.Verdict == evidence.Unknown && strings.HasPrefix(j.Answer.Reason, "inconclusive") {
		j.Answer.Verdict, j.Answer.Reason = evidence.Holds, ""
	}
	return outcome{path: path, err: err, began: began, work: &j}, true
}

// OperationsPage returns the page about operations on objects, or nil if the file or run has none. It takes at most a
// minute.
func OperationsPage(ctx context.Context, e *console.Env, path string) ([]byte, error) {
	f := CheckFlags{limits: guard.Limits{Timeout: time.Minute}}
	f.loading.Format, f.judge.name = console.Auto, console.Auto
	o, is := f.workloadOf(ctx, e, path)
	if !is || o.work == nil {
		return nil, o.err
	}
	var b bytes.Buffer
	err := o.work.HTML(&b, path)
	return b.Bytes(), err
}

// operationsIn opens a file, the history in a Jepsen run (run is then true), or the first file of an etcd report; more
// are its other files.
func operationsIn(path string) (in *format.Input, more []string, run bool, err error) {
	in, err = format.Open(path)
	if err != nil || !in.Dir {
		return in, nil, false, err
	}
	if more = operations.EtcdFiles(path); len(more) > 0 {
		in.Close()
		in, err = format.Open(more[0])
		return in, more[1:], false, err
	}
	if in, err = format.Within(in); err == nil && in.Dir {
		err = console.Usagef("--workload: %s is a folder; expected a file, a run of Jepsen's, or a report of etcd's",
			path)
	}
	return in, nil, true, err
}

// operationsOf reads the operations of a file and of more files and, for a Jepsen run, the test's settings. note says
// why the settings were not read.
func operationsOf(in *format.Input, more []string, run bool) (h *operations.History, note string, err error) {
	data, err := in.Bytes()
	if err != nil {
		return nil, "", err
	}
	all := operations.EtcdFiles(filepath.Dir(filepath.Dir(in.Name)))
	if len(all) > 1 && slices.Contains(all, in.Name) && len(more) == 0 {
		return nil, "", &history.InputError{File: in.Name, Off: -1, Msg: "found the operations of one client of a " +
			"report; expected the report's folder"}
	}
	h, err = operations.Read(bytes.Clone(data), in.Name)
	for _, path := range more {
		if err != nil {
			break
		}
		var other *operations.History
		if data, err = os.ReadFile(path); err == nil {
			other, err = operations.Read(data, path)
		}
		if err == nil {
			h.Join(other)
		}
		if err == nil && len(other.Ops) == 0 {
			err = &history.InputError{File: path, Off: -1, Msg: "found no operation; expected those of a client"}
		}
	}
	if err != nil || !run || h.Test != nil {
		return h, "", err
	}
	for _, name := range []string{"test.jepsen", "test.fressian"} {
		path := filepath.Join(filepath.Dir(in.Name), name)
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) || path == in.Name {
			continue
		}
		if err == nil {
			h.Test, err = operations.TestOf(data, path)
		}
		if err != nil {
			note = "the test's settings were not read: " + err.Error()
		}
		break
	}
	return h, note, nil
}

// json writes the answer as an object with the field names of other answers.
func (j *judged) json(w io.Writer, path string) error {
	type anomaly struct {
		Kind       string             `json:"kind"`
		Text       string             `json:"text"`
		Operations []report.Operation `json:"operations"`
	}
	anomalies := []anomaly{}
	for _, f := range j.Answer.Findings {
		ops := append([]report.Operation{}, slice.Map(f.Ops, j.Operation)...)
		anomalies = append(anomalies, anomaly{f.Kind, f.Text, ops})
	}
	stats := map[string]any{"check_ms": j.MS}
	if j.H != nil {
		stats["ops"] = len(j.H.Ops)
	}
	for _, s := range j.Answer.Stats {
		stats[s.Name] = s.Value
	}
	order := slice.Map(j.Answer.Order, func(i int) int { return j.H.Ops[i].Line })
	return console.JSONLine(w, struct {
		History   string         `json:"history"`
		Workload  string         `json:"workload"`
		Checker   string         `json:"checker"`
		Verdict   string         `json:"verdict"`
		Reason    string         `json:"reason,omitempty"`
		Note      string         `json:"note,omitempty"`
		Anomalies []anomaly      `json:"anomalies"`
		Counts    map[string]int `json:"counts"`
		Order     []int          `json:"order,omitempty"`
		Stats     map[string]any `json:"stats"`
	}{path, j.Answer.Workload, "workload", j.Answer.Verdict.String(), j.Answer.Reason, j.Note, anomalies,
		j.Answer.Counts, order, stats})
}

// text writes the answer for people.
func (j *judged) text(w io.Writer, path string) error {
	b := bufio.NewWriter(w)
	a := j.Answer
	path = escape.Line(path)
	switch a.Verdict {
	case evidence.Holds:
		fmt.Fprintf(b, "%s: valid as %s\n", path, a.Workload)
	case evidence.Unknown:
		fmt.Fprintf(b, "%s: unknown as %s: %s\n", path, a.Workload, escape.Text(a.Reason))
	default:
		fmt.Fprintf(b, "%s: VIOLATION of %s\n", path, a.Workload)
	}
	if j.told && a.Workload == "unordered-queue" {
		fmt.Fprintln(b, "  --workload queue asks for first in, first out; total-queue allows duplicates")
	}
	if j.Note != "" {
		fmt.Fprintf(b, "  %s\n", escape.Line(j.Note))
	}
	const most = 3
	shown := map[string]int{}
	for _, f := range a.Findings {
		if shown[f.Kind]++; shown[f.Kind] > most {
			continue
		}
		fmt.Fprintf(b, "  %s: %s\n", f.Kind, strings.ReplaceAll(escape.Text(j.Text(&f)), "\n", "\n  "))
	}
	for _, kind := range slices.Sorted(maps.Keys(a.Counts)) {
		if n := a.Counts[kind] - most; n > 0 {
			fmt.Fprintf(b, "  and %d further of kind %s\n", n, kind)
		}
	}
	if j.H != nil {
		fmt.Fprintf(b, "  %s\n", escape.Line(j.Summary()))
	}
	return b.Flush()
}
