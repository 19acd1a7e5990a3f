package bench

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"isovet/datasets"
	"isovet/evidence"
	"isovet/history/format"
	"isovet/level"
)

// anomalous is a history that is not serializable, and the row of Table 1 that it belongs to.
type anomalous struct {
	class string
	src   Source
}

// vboxTable1 counts for each class of anomalies how many histories a checker refutes. Checkers of item operations
// ignore predicates, as the paper's do.
func vboxTable1(ctx context.Context, lab *Lab, r *Report) error {
	all, err := lab.synthesized()
	if err != nil {
		return err
	}
	real, err := lab.realWorld(ctx, r)
	if err != nil {
		return err
	}
	all = append(all, real...)
	var classes []string
	for _, a := range all {
		if !slices.Contains(classes, a.class) {
			classes = append(classes, a.class)
		}
	}
	paper := map[string][4]string{"RAT": {"13/13", "6/13", "7/13", "3/13"}, "WAT": {"9/9", "5/9", "5/9", "0/9"},
		"IAT": {"7/7", "5/7", "5/7", "0/7"}, "real-world": {"7/7", "7/7", "6/7", "1/7"}}
	columns := []string{"vbox", "cobra", "be", "leopard"}
	complete := map[string]bool{}
	for _, c := range vboxRivals(r) {
		complete[c] = true
		for _, class := range classes {
			found, of, missed := 0, 0, map[string][]string{}
			for _, a := range all {
				if a.class != class {
					continue
				}
				m, err := lab.Run(ctx, a.src, vboxLevel, Run{Checker: c, IgnorePredicates: true})
				if err != nil {
					return err
				}
				if m.Fault != "" {
					r.Add(Point{Metric: "fault", Group: class, Series: c, Reason: a.src.Name() + ": " + m.Fault,
						Fault: true})
				}
				of++
				if m.Verdict == evidence.Violated {
					found++
					continue
				}
				why := m.Verdict.String()
				if m.Items {
					why += ", predicates ignored"
				}
				if m.Reason != "" {
					why, _, _ = strings.Cut(m.Reason, ":")
				}
				missed[why] = append(missed[why], strings.TrimSuffix(a.src.Name(), ".jsonl"))
			}
			complete[c] = complete[c] && found == of
			p := Point{Metric: "found", Group: class, Series: c, Value: float64(found), Text: fmt.Sprintf("%d/%d",
				found, of), Verdict: evidence.Violated}
			if i := slices.Index(columns, c); i >= 0 {
				p.Paper = paper[class][i]
			}
			r.Add(p)
			var reasons []string
			for why := range missed {
				reasons = append(reasons, why)
			}
			slices.Sort(reasons)
			for _, why := range reasons {
				r.Note("%s misses of %s: %s (%s).", c, class, strings.Join(missed[why], ", "), why)
			}
		}
	}
	for _, c := range []string{"vbox", "replay"} {
		if _, ok := complete[c]; ok {
			word := "all of them"
			if !complete[c] {
				word = "not all; see below"
			}
			r.Claim("Vbox detects all anomalies ("+c+")", word, complete[c])
		}
	}
	r.Note("The paper's Cobra and BE look for neither aborted nor intermediate reads. Here every checker begins " +
		"with the same pass over single reads (docs/papers.md), so that these find more than the paper's.")
	return nil
}

// synthesized writes the 29 anomalies to files.
func (l *Lab) synthesized() ([]anomalous, error) {
	var out []anomalous
	for _, a := range datasets.SynthesizedAnomalies() {
		src, err := l.File(a.Name, a.History())
		if err != nil {
			return nil, err
		}
		out = append(out, anomalous{string(a.Class), src})
	}
	return out, nil
}

// corpusVariable names the environment variable with the folder of real histories, whose MANIFEST.tsv says what each
// violates.
const corpusVariable = "ISOVET_CORPUS"

// realWorld finds histories of real databases that are known to violate serializability. They are no part of the
// program.
func (l *Lab) realWorld(ctx context.Context, r *Report) ([]anomalous, error) {
	dir := os.Getenv(corpusVariable)
	f, err := os.Open(filepath.Join(dir, "MANIFEST.tsv"))
	if dir == "" || err != nil {
		r.Note("Real-world histories are left out: %s names no folder of them.", corpusVariable)
		return nil, nil
	}
	defer f.Close()
	var out []anomalous
	for in := bufio.NewScanner(f); in.Scan(); {
		row := strings.Split(in.Text(), "\t")
		from, _, _ := strings.Cut(row[0], "/")
		if len(row) < 4 || from != "cobra" && from != "databases" || !violates(row[3]) {
			continue
		}
		path := filepath.Join(dir, row[0])
		h, err := format.Read(ctx, path, format.Options{})
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			continue // a format that is not read here
		}
		if h.HasLists() {
			continue // the paper's are registers
		}
		out = append(out, anomalous{"real-world", Source{File: row[0], Path: path}})
	}
	r.Note("The real-world histories are those that Cobra published and those recorded from running databases, as " +
		"far as they can be read, hold registers and are known to violate the level; the paper has three of Cobra's " +
		"with seven anomalies.")
	return out, nil
}

// violates reports whether a manifest's verdicts ("level=violation; …") say that the level asked for is violated.
func violates(verdicts string) bool {
	for _, v := range strings.Split(verdicts, ";") {
		name, verdict, _ := strings.Cut(strings.TrimSpace(v), "=")
		l, err := level.Parse(name)
		if err == nil && verdict == "violation" && vboxLevel.Implies(l) {
			return true
		}
	}
	return false
}
