package watch

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"isovet/evidence"
	"isovet/history"
	"isovet/history/format/jsonl"
)

// evidenceFolder is the folder for the small histories of violations.
const evidenceFolder = "evidence"

// incidentEvidence bounds the violations of an incident for which the watch makes a small history.
const incidentEvidence = 3

// prove writes a small history and its certificate for one of an incident's first violations. If the violation is
// found again after a restart, it writes them again. If it fails, the incident has the error, and judging goes on.
func (e *emitted) prove(x *incident, f *Finding, n int64) {
	if e.o.evidence <= 0 || len(x.Evidence) >= incidentEvidence || x.Unjudged || f.Prove == nil {
		return
	}
	has := Evidence{N: n}
	if p, err := f.Prove(e.o.lines); err != nil {
		has.Why = err.Error()
	} else {
		has.Why = p.Why
		err = writeProof(e.o.dir, e.o.disk, p, &has)
		if err != nil {
			e.o.log.Error("watch could not write the history of a violation", "folder", e.o.dir, "n", n, "error", err)
			if isFull(err) {
				return // the incident's next violation tries again
			}
			has.History, has.Certificate, has.Why = "", "", "it could not be written"
		}
	}
	for _, old := range e.incidents.proved(x, has, e.o.evidence) {
		for _, name := range []string{old.History, old.Certificate} {
			if name == "" {
				continue
			}
			err := os.Remove(filepath.Join(e.o.dir, filepath.FromSlash(name)))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				e.o.log.Error("watch could not delete an old history of a violation", "file", name, "error", err)
			}
		}
	}
}

// certified returns a proof that the history violates the level. It sets the level in the history's header for isovet
// check, and notes there which level the header named before.
func certified(h *history.History, r *evidence.Result) *Proof {
	m := &h.Meta
	if was := m.Isolation; was != "" && was != r.Level.String() {
		m.Note = strings.TrimPrefix(m.Note+"; the isolation in force is "+was, "; ")
	}
	m.Isolation = r.Level.String()
	return &Proof{H: h, R: r}
}

// writeProof writes the files of a proof to a folder.
func writeProof(dir string, to disk, p *Proof, has *Evidence) error {
	if p.H == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Join(dir, evidenceFolder), dirMode); err != nil {
		return err
	}
	name := path.Join(evidenceFolder, fmt.Sprintf("%06d", has.N))
	var text bytes.Buffer
	if err := jsonl.Write(&text, p.H); err != nil {
		return err
	}
	has.History = name + ".jsonl"
	if err := to.replace(filepath.Join(dir, filepath.FromSlash(has.History)), text.Bytes()); err != nil {
		return err
	}
	if p.R == nil {
		return nil
	}
	text.Reset()
	if err := evidence.WriteCertificate(&text, p.R); err != nil {
		return err
	}
	has.Certificate = name + ".cert.json"
	return to.replace(filepath.Join(dir, filepath.FromSlash(has.Certificate)), text.Bytes())
}

// proved adds a history to an incident. If there are too many histories, it returns those to delete: from the oldest
// incident that is over, or else from the oldest one with several histories, or else from the oldest one.
func (s *Incidents) proved(x *incident, has Evidence, most int) (gone []Evidence) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x.Evidence = append(x.Evidence, has)
	total := 0
	for _, y := range s.all {
		total += len(y.Evidence)
	}
	gone, s.gone = s.gone, nil
	for ; total > most; total-- {
		some := func(y *incident) bool { return len(y.Evidence) > 0 }
		i := slices.IndexFunc(s.all, func(y *incident) bool { return some(y) && !y.Open })
		if i < 0 {
			i = slices.IndexFunc(s.all, func(y *incident) bool { return len(y.Evidence) > 1 })
		}
		if i < 0 {
			i = slices.IndexFunc(s.all, some)
		}
		y := s.all[i]
		last := len(y.Evidence) - 1
		gone = append(gone, y.Evidence[last])
		y.Evidence = slices.Clone(y.Evidence[:last])
	}
	return gone
}
