package bench

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"isovet/check/mechanism"
	"isovet/check/prepass"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/history"
	"isovet/history/format"
	"isovet/internal/slice"
	"isovet/level"
)

// anomalous is a history that is not serializable, and its row of Table 1.
type anomalous struct {
	class string
	src   Source
	// profile tells Leopard the database of the history and the isolation level in question.
	profile string
}

// madeIn is Leopard's name for the database in which the paper made its synthesized histories (Vbox §5.1, §5.2).
const madeIn = "mysql:serializable"

// vboxTable1 counts, for each class of anomalies, the histories that a checker refutes. Checkers of item operations
// ignore predicates, as the paper's do. Leopard is the paper's, without isovet's final search for an order: it detects
// an anomaly if a mechanism failed under the profile.
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
		classes = slice.Union(classes, a.class)
	}
	for _, c := range append(vboxRivals(r), "cobra"+asPublished, "be"+asPublished, "leopard"+asPublished) {
		if strings.HasSuffix(c, byPurdom) {
			continue // it finds what it finds by either closure
		}
		for _, class := range classes {
			n, err := lab.caught(ctx, r, all, c, class)
			if err != nil {
				return err
			}
			r.Add(Point{Metric: "found", Group: class, Series: c, Value: float64(n.found), Text: fmt.Sprintf("%d/%d",
				n.found, n.of), Verdict: evidence.Violated})
			if c == "leopard" && n.proved < n.found {
				r.Note("leopard found %d of %s, %d of them proved; the others are violations only under the "+
					"profile, and a database with other mechanisms may rightly commit them.", n.found, class, n.proved)
			}
			for _, why := range slices.Sorted(maps.Keys(n.missed)) {
				r.Note("%s misses of %s: %s (%s).", c, class, strings.Join(n.missed[why], ", "), why)
			}
		}
	}
	r.Note("leopard works as in the paper here: after the mechanisms it searches for no order. Its profile is "+
		"%s for the synthesized histories, and that of the database at serializable for the others.", madeIn)
	return nil
}

// asPublished follows the name of a checker without the parts that isovet adds to every checker.
const asPublished = ", as published"

// withoutRefutedReads writes the items of the history without the reads that the pre-pass refutes.
func (l *Lab) withoutRefutedReads(ctx context.Context, src Source) (Source, error) {
	h, err := format.Read(ctx, src.Path, format.Options{})
	if err != nil {
		return src, err
	}
	h = history.Items(h)
	for {
		refuted := map[uint32]bool{}
		for _, a := range prepass.Run(h).Anomalies {
			refuted[a.Ops[0]] = true
		}
		if len(refuted) == 0 {
			return l.File(src.Name()+asPublished, h)
		}
		h = history.Restrict(h, h.SessTxn, func(op uint32) bool { return !refuted[op] }).H
	}
}

// caught counts the anomalies of a class that a checker finds. missed counts the others by reason.
type caught struct {
	found, proved, of int
	missed            map[string][]string
}

func (l *Lab) caught(ctx context.Context, r *Report, all []anomalous, c, class string) (n caught, err error) {
	n.missed = map[string][]string{}
	for _, a := range all {
		if a.class != class {
			continue
		}
		name, published := strings.CutSuffix(c, asPublished)
		run, src := Run{Checker: name, IgnorePredicates: true}, a.src
		switch {
		case name == "leopard":
			run.Profile, run.MechanismsOnly = a.profile, true
			if published { // what the paper's Leopard verifies for MySQL: the locks of writes
				run.Profile = `{"database":"mysql","isolation":"serializable","level":"serializable","reads":"none",` +
					`"write_locks":true}`
			}
		case published:
			var err error
			if src, err = l.withoutRefutedReads(ctx, src); err != nil {
				return n, err
			}
		}
		m, err := l.typical(ctx, src, vboxLevel, run, nil)
		if err != nil {
			return n, err
		}
		if m.Fault != "" {
			r.Add(Point{Metric: "fault", Group: class, Series: c, Reason: a.src.Name() + ": " + m.Fault, Fault: true})
		}
		n.of++
		proved := m.Verdict == evidence.Violated && c != "leopard"+asPublished
		if proved {
			n.proved++
		}
		if proved || m.Mechanisms != nil && m.Mechanisms.Total() > 0 {
			n.found++
			continue
		}
		why := m.Verdict.String()
		if m.Items {
			why += ", predicates ignored"
		}
		if m.Reason != "" {
			why, _, _ = strings.Cut(m.Reason, ":")
		}
		n.missed[why] = append(n.missed[why], strings.TrimSuffix(a.src.Name(), ".jsonl"))
	}
	return n, nil
}

// synthesized writes the 29 anomalies to files.
func (l *Lab) synthesized() ([]anomalous, error) {
	var out []anomalous
	for _, a := range datasets.SynthesizedAnomalies() {
		src, err := l.File(a.Name, a.History())
		if err != nil {
			return nil, err
		}
		out = append(out, anomalous{string(a.Class), src, madeIn})
	}
	return out, nil
}

// corpusVariable is the environment variable with the folder of real histories. Their MANIFEST.tsv says what each
// violates.
const corpusVariable = "ISOVET_CORPUS"

// realWorld finds histories of real databases that are known to violate serializability. They are not part of the
// program.
func (l *Lab) realWorld(ctx context.Context, r *Report) ([]anomalous, error) {
	dir := os.Getenv(corpusVariable)
	f, err := os.Open(filepath.Join(dir, "MANIFEST.tsv"))
	if dir == "" || err != nil {
		r.Note("Real-world histories are left out, because %s names no folder with them.", corpusVariable)
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
		out = append(out, anomalous{"real-world", Source{File: row[0], Path: path}, profileOf(h.Meta.DB, row[0])})
	}
	r.Note("The real-world histories are Cobra's published ones and others recorded from running databases, if " +
		"isovet can read them, they have registers and are known to violate the level; the paper uses three of " +
		"Cobra's, with seven anomalies.")
	return out, nil
}

// profileOf returns the name of a database's profile at serializable: by a history's header or, if that names none, by
// the file's name, as for Cobra's histories. It returns "" if there is none.
func profileOf(db, file string) string {
	if db == "" {
		name := filepath.Base(file)
		for prefix, is := range map[string]string{"cock": "cockroachdb", "yuga": "yugabytedb"} {
			if strings.HasPrefix(name, prefix) {
				db = is
			}
		}
	}
	p, err := mechanism.ProfileOf(db, "serializable")
	if err != nil {
		return ""
	}
	return p.Name()
}

// violates reports whether a manifest's verdicts ("level=violation; …") have the level as violated.
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
