package watch

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"
)

// The incidents of several processes that judge one stream are united as one process would have formed them: those on
// one key that were open at the same time are one, and where four keys have one of a kind, further keys are one
// together. What they count is counted anew from the violations, of which some may be several processes' (LATE, JUMP,
// TIMESTAMPS); when they began and when they ended the processes say.

// partIncident is an incident of one process.
type partIncident struct {
	Incident
	part  *mergedPart
	kept  int64 // of its violations
	first int64 // number of the first of these among all
	lines []*mergedLine
}

// readIncidents reads those of a folder.
func (p *mergedPart) readIncidents() error {
	f, err := os.Open(filepath.Join(p.dir, incidentsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	in := json.NewDecoder(f)
	for in.More() {
		x := &partIncident{part: p}
		if err := in.Decode(&x.Incident); err != nil {
			return &MergeError{fmt.Sprintf("%s: incident %d: %v; expected an object a line, as isovet watch wrote it",
				f.Name(), len(p.incidents)+1, err)}
		}
		p.incidents = append(p.incidents, x)
		p.last = max(p.last, x.LastN)
	}
	return nil
}

// kind is what a line is counted by in incidents, and its key.
func (l *mergedLine) kind() (k incidentKind, key string) {
	k = incidentKind{cmp.Or(l.Axiom, l.Mechanism), cmp.Or(l.Why, l.Kind)}
	if unjudged(k.class) {
		return incidentKind{class: k.class}, ""
	}
	return k, string(l.Key)
}

// holder finds the incident of a folder that a line belongs to: the one on its key alone, else one of several.
func (p *mergedPart) holder(k incidentKind, key string, n int64) *partIncident {
	var wide *partIncident
	for i := len(p.incidents) - 1; i >= 0; i-- {
		x := p.incidents[i]
		switch {
		case x.Class != k.class || x.Kind != k.kind || n < x.FirstN || n > x.LastN && !x.Open:
		case string(x.Low) == key && string(x.High) == key:
			return x
		case wide == nil && (x.Open || key == "" || !lessKey(key, string(x.Low)) && !lessKey(string(x.High), key)) &&
			string(x.Low) != string(x.High):
			wide = x
		}
	}
	return wide
}

// orphan is what lines have in common that belong to no incident of a folder.
type orphan struct {
	incidentKind
	key  string
	open bool
}

// unite forms the incidents of all.
func (m *Merged) unite() {
	var all []*partIncident
	for _, p := range m.parts {
		all = append(all, p.incidents...)
	}
	orphans := map[orphan]*partIncident{} // of what the file of incidents does not have, any more or yet
	without := func(k incidentKind, key string, open bool) *partIncident {
		o := orphan{k, key, open}
		if x := orphans[o]; x != nil {
			return x
		}
		x := &partIncident{Incident: Incident{Class: k.class, Kind: k.kind, Open: open, Unjudged: unjudged(k.class)}}
		if key != "" {
			x.Low = json.RawMessage(key)
			x.High = x.Low
		}
		orphans[o] = x
		all = append(all, x)
		return x
	}
	for _, l := range m.lines {
		k, key := l.kind()
		if len(l.at) == 0 { // what spans keys
			x := without(k, key, true)
			x.lines = append(x.lines, l)
			if x.kept++; x.first == 0 {
				x.first = l.n
			}
		}
		for i, at := range l.at {
			x := at.part.holder(k, key, at.n)
			if x == nil {
				x = without(k, key, at.n > at.part.last)
			}
			if x.kept++; x.first == 0 {
				x.first = l.n
			}
			if i == 0 {
				x.lines = append(x.lines, l)
			}
		}
	}
	when := func(x *partIncident) int { // of what is in no file: before what is remembered, or after
		switch {
		case !x.Began.IsZero():
			return 1
		case x.Open:
			return 2
		}
		return 0
	}
	slices.SortStableFunc(all, func(a, b *partIncident) int {
		return cmp.Or(cmp.Compare(when(a), when(b)), a.Began.Compare(b.Began), cmp.Compare(a.first, b.first))
	})
	var out []*unitedIncident
	open := map[incidentKind][]*unitedIncident{}
	for _, x := range all {
		k := incidentKind{x.Class, x.Kind}
		open[k] = slices.DeleteFunc(open[k], func(u *unitedIncident) bool {
			return !u.Last.IsZero() && !x.Began.IsZero() && x.Began.Sub(u.Last) >= DefaultPause
		})
		alone := x.Low != nil && string(x.Low) == string(x.High)
		i := slices.IndexFunc(open[k], func(u *unitedIncident) bool {
			return !u.wide && alone && string(u.Low) == string(x.Low)
		})
		if i < 0 {
			i = slices.IndexFunc(open[k], func(u *unitedIncident) bool { return u.wide })
		}
		if i < 0 {
			i = len(open[k])
			u := &unitedIncident{wide: !alone || i >= incidentKeys, Incident: Incident{Class: x.Class, Kind: x.Kind,
				Unjudged: x.Unjudged}}
			open[k], out = append(open[k], u), append(out, u)
		}
		open[k][i].take(x)
	}
	m.Incidents = nil
	for _, u := range out {
		if u.settle(m); u.Count > 0 {
			u.ID = int64(len(m.Incidents)) + 1
			m.Incidents = append(m.Incidents, u.Incident)
		}
	}
}

// unitedIncident is one of all processes.
type unitedIncident struct {
	Incident
	wide bool
	from []*partIncident
}

// take adds one process's.
func (u *unitedIncident) take(x *partIncident) {
	u.from = append(u.from, x)
	u.Open, u.Proved = u.Open || x.Open, u.Proved || x.Proved
	if u.Began.IsZero() || !x.Began.IsZero() && x.Began.Before(u.Began) {
		u.Began = x.Began
	}
	if u.Last.Before(x.Last) {
		u.Last = x.Last
	}
	if x.Low != nil && (u.Low == nil || lessKey(string(x.Low), string(u.Low))) {
		u.Low = x.Low
	}
	if x.High != nil && (u.High == nil || lessKey(string(u.High), string(x.High))) {
		u.High = x.High
	}
}

// settle counts what it has.
func (u *unitedIncident) settle(m *Merged) {
	var lines []*mergedLine
	var keys, txns distinct
	gone := map[bool]int64{}
	for _, x := range u.from {
		lines = append(lines, x.lines...)
		if x.part == nil || x.part.gone == 0 {
			continue
		}
		// What was deleted of lines that all processes say is the same for all.
		whole := x.Class == late || x.Class == jumped || x.Class == "TIMESTAMPS"
		if n := max(x.Count-x.kept, 0); whole {
			gone[true] = max(gone[true], n)
		} else {
			gone[false] += n
		}
	}
	slices.SortFunc(lines, func(a, b *mergedLine) int { return cmp.Compare(a.n, b.n) })
	u.Count = int64(len(lines)) + gone[true] + gone[false]
	for _, l := range lines {
		if _, key := l.kind(); key != "" {
			keys.add(xxhash.Sum64String(key))
			if u.Low == nil || lessKey(key, string(u.Low)) {
				u.Low = json.RawMessage(key)
			}
			if u.High == nil || lessKey(string(u.High), key) {
				u.High = json.RawMessage(key)
			}
		}
		for _, t := range l.txns() {
			txns.add(scramble(uint64(t) + 1))
		}
		u.Proved = u.Proved || l.Proved
		if len(u.Lines) < incidentLines {
			u.Lines = append(u.Lines, m.Violations[l.n-1])
		}
	}
	u.Keys, u.Txns = keys.count(), txns.count()
	if len(lines) > 0 {
		u.FirstN, u.LastN = lines[0].n, lines[len(lines)-1].n
	}
	u.evidence(lines)
}

// evidence takes those histories that come first.
func (u *unitedIncident) evidence(lines []*mergedLine) {
	for _, l := range lines {
		if l.proof != nil && len(u.Evidence) < incidentEvidence {
			u.Evidence = append(u.Evidence, Evidence{N: l.n, Why: l.proof.Why})
		}
		if l.has != nil && len(u.Evidence) < incidentEvidence {
			has := *l.has
			has.N = l.n
			u.Evidence = append(u.Evidence, has)
		}
		for _, at := range l.at {
			for _, x := range u.from {
				if x.part != at.part {
					continue
				}
				i := slices.IndexFunc(x.Evidence, func(e Evidence) bool { return e.N == at.n })
				if i < 0 || len(u.Evidence) == incidentEvidence {
					continue
				}
				has := x.Evidence[i]
				has.N = l.n
				for _, name := range []*string{&has.History, &has.Certificate} {
					if *name != "" {
						*name = filepath.ToSlash(filepath.Join(at.part.dir, *name))
					}
				}
				u.Evidence = append(u.Evidence, has)
			}
		}
	}
}

// mergedFile says what a folder of merged findings is made of.
const mergedFile = "merged.json"

// mergedFrom is what it has.
type mergedFrom struct {
	Parts     []mergedFolder   `json:"parts"`
	Missing   []int            `json:"missing,omitempty"`
	Unspanned string           `json:"unspanned,omitempty"` // why what spans keys is not all known
	Watermark *int64           `json:"watermark,omitempty"` // up to which all is final
	Slowest   string           `json:"slowest,omitempty"`
	Gone      map[string]int64 `json:"gone,omitempty"`
	Made      time.Time        `json:"made"`
}

type mergedFolder struct {
	Shard string `json:"shard"`
	Dir   string `json:"folder"`
}

// Write makes a folder of violations.jsonl, incidents.jsonl and evidence, as one process has them, and merged.json,
// which says what they are made of. One that Write made before is made anew: files that are not needed any more go, and
// each file is there whole, the one before or the new one. Evidence that a process has deleted meanwhile is left out,
// and its incident says so. Errors: *MergeError for a folder that has something else in it; files that cannot be read
// or written.
//
// What was found that spans keys is found anew each time; with MergeInto it is not.
func (m *Merged) Write(dir string) error {
	if err := mergesInto(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, evidenceFolder), 0o755); err != nil {
		return err
	}
	from := mergedFrom{Missing: m.Missing, Unspanned: m.Unspanned,
		Gone: m.Gone, Slowest: m.Slowest, Made: time.Now().UTC()}
	for _, p := range m.parts {
		from.Parts = append(from.Parts, mergedFolder{p.of, p.dir})
	}
	if m.Known {
		from.Watermark = &m.Watermark
	}
	about, err := json.MarshalIndent(&from, "", "  ")
	if err != nil {
		return err
	}
	var to disk
	if err := to.replace(filepath.Join(dir, mergedFile), append(about, '\n')); err != nil {
		return err
	}
	var violations, incidents []byte
	for _, line := range m.Violations {
		violations = append(append(violations, line...), '\n')
	}
	named := map[string]bool{}
	for _, x := range m.Incidents {
		x.Evidence = slices.Clone(x.Evidence)
		for i := range x.Evidence {
			if err := m.writeEvidence(dir, &x.Evidence[i], named); err != nil {
				return err
			}
		}
		line, err := json.Marshal(&x)
		if err != nil {
			return err
		}
		incidents = append(append(incidents, line...), '\n')
	}
	if err := to.replace(filepath.Join(dir, violationsFile), violations); err != nil {
		return err
	}
	if err := to.replace(filepath.Join(dir, incidentsFile), incidents); err != nil {
		return err
	}
	old, err := os.ReadDir(filepath.Join(dir, evidenceFolder))
	if err != nil {
		return err
	}
	for _, e := range old {
		if !named[e.Name()] {
			if err := os.Remove(filepath.Join(dir, evidenceFolder, e.Name())); err != nil {
				return err
			}
		}
	}
	return syncDir(dir)
}

// writeEvidence writes what the merge has found itself, and copies the rest.
func (m *Merged) writeEvidence(dir string, has *Evidence, named map[string]bool) error {
	p := m.lines[has.N-1].proof
	if p == nil {
		return copyEvidence(dir, has, named)
	}
	if err := writeProof(dir, disk{}, p, has); err != nil {
		return err
	}
	for _, name := range []string{has.History, has.Certificate} {
		named[path.Base(name)] = true
	}
	return nil
}

// copyEvidence copies the files of a piece of evidence, which get the number that its violation has now.
func copyEvidence(dir string, has *Evidence, named map[string]bool) error {
	texts := map[*string][]byte{}
	for _, name := range []*string{&has.History, &has.Certificate} {
		if *name == "" {
			continue
		}
		text, err := os.ReadFile(filepath.FromSlash(*name))
		if errors.Is(err, fs.ErrNotExist) {
			has.History, has.Certificate, has.Why = "", "", "it has been deleted (--evidence)"
			return nil
		}
		if err != nil {
			return err
		}
		texts[name] = text
	}
	for name, text := range texts {
		file := fmt.Sprintf("%06d.jsonl", has.N)
		if name == &has.Certificate {
			file = fmt.Sprintf("%06d.cert.json", has.N)
		}
		if err := (disk{}).replace(filepath.Join(dir, evidenceFolder, file), text); err != nil {
			return err
		}
		named[file] = true
		*name = evidenceFolder + "/" + file
	}
	return nil
}
