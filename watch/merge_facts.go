package watch

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"isovet/check/mechanism"
	"isovet/history"
	"isovet/history/format/jsonl"
	"isovet/internal/freeze"
	"isovet/level"
)

// spanned is what a merge has found that spans keys, and how far it has got. In a merge's folder it is the file
// spanning, so that a merge into it goes on where the one before ended; small histories lie in spanned/evidence then.
type spanned struct {
	joint *mechanism.Joint
	head  string // of the facts, without their step
	told  int64
	lines []spannedLine
	tries map[orphan]int
	// of the stream
	origin int64

	j    *leopard       `freeze:"-"`
	dir  string         `freeze:"-"` // of the merge; "": there is none
	from []*factsReader `freeze:"-"`
}

// spannedLine is a violation, without its number, and its small history, if there is one.
type spannedLine struct {
	text  []byte
	tried bool
	has   Evidence
	proof *Proof `freeze:"-"` // where no folder has it
}

const (
	spanningFile  = "spanning"
	spannedFolder = "spanned"
)

// span finds what spans keys, of what the parts of a leopard have written down. What keeps it from all of that it
// notes in m.Unspanned. dir is the folder that has what the merge before has found, or "". The result, if any, is to be
// saved there.
func (m *Merged) span(parts map[int]string, dir string) (s *spanned, err error) {
	if len(m.Missing) > 0 {
		m.Unspanned = fmt.Sprintf("parts %v are missing", m.Missing)
		return nil, nil
	}
	var dirs []string
	var from []*factsReader
	defer func() {
		for _, x := range from {
			_ = x.close() // it was read only
		}
	}()
	for part := 1; part <= m.Of; part++ {
		x := &factsReader{dir: parts[part]}
		if x.n, err = latestFacts(x.dir); err != nil {
			return nil, err
		}
		if x.n == 0 {
			m.Unspanned = x.dir + " has no checkpoint yet"
			return nil, nil
		}
		from, dirs = append(from, x), append(dirs, x.dir)
	}
	s = &spanned{dir: dir, from: from, tries: map[orphan]int{}, origin: mechanism.Forever}
	first := from[0]
	first.at = first.n // for what its head says; this file is not deleted
	if err := first.open(); err != nil {
		return nil, &FactsError{first.path(), err}
	}
	if err := s.begin(first, dirs); err != nil {
		return nil, err
	}
	for part, x := range s.from {
		if err := errors.Join(x.close(), x.seek(s.joint.Taken(part))); err != nil {
			return nil, err
		}
	}
	err = s.joint.Run(s.next)
	if e := s.tell(); e != nil {
		return nil, cmp.Or(err, e)
	}
	goes := s
	var gap *mechanism.GapError
	var stranger *mechanism.StrangerError
	partial, id := s.joint.Partial()
	switch {
	case errors.As(err, &gap):
		taken, e := readFactsTaken(dirs[gap.Part])
		if e != nil {
			return nil, e
		}
		m.Unspanned = fmt.Sprintf("%s has no facts any more from before step %d; a merge into %s has taken them: "+
			"merge into that folder (-o)", dirs[gap.Part], gap.Got, taken.Folder)
		goes = nil // nothing is noted of one that cannot go on
	case errors.As(err, &stranger):
		m.Unspanned = fmt.Sprintf("%s and %s did not read one stream: they have different transactions of one id, on "+
			"lines %d and %d", dirs[stranger.Parts[0]], dirs[stranger.Parts[1]], stranger.Txns[0], stranger.Txns[1])
		goes = nil
	case err != nil:
		return nil, err
	case partial > 0:
		part, line := mechanism.JointID(id)
		m.Unspanned = fmt.Sprintf("%d transactions are not judged by all processes, for they came late, or not at "+
			"all, the first of them on line %d of %s", partial, line, dirs[part])
	}
	return goes, m.addSpanned(s)
}

// begin makes the rest, or reads it back.
func (s *spanned) begin(x *factsReader, dirs []string) (err error) {
	if s.j, err = recaller(x, dirs); err != nil {
		return err
	}
	head := x.head
	head.Step = 0
	text, err := json.Marshal(&head)
	if err != nil {
		return err
	}
	o := mechanism.Options{Profile: *s.j.court.profile, Skew: s.j.o.Skew}
	s.joint = mechanism.NewJoint(len(dirs), o, s.j.stream)
	path := filepath.Join(s.dir, spanningFile)
	if _, e := os.Stat(path); s.dir != "" && e == nil {
		if err := freeze.Load(path, s, s.j.stream); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if s.head != string(text) {
			return &MergeError{fmt.Sprintf("%s has what was found of another stream, or with other options; expected "+
				"a new folder", s.dir)}
		}
	}
	s.head, s.j.court.origin = string(text), s.origin
	return nil
}

// next is the next piece of a part's facts. What was found before is told first.
func (s *spanned) next(part int) ([]byte, error) {
	if err := s.tell(); err != nil {
		return nil, err
	}
	x := s.from[part]
	piece, err := x.next()
	if x.deletes {
		s.j.stream.Deleted()
	}
	s.origin = min(s.origin, x.origin)
	s.j.court.origin = s.origin
	return piece, err
}

// tell says what has been found.
func (s *spanned) tell() error {
	for _, v := range s.joint.Take() {
		s.told++
		line, err := s.j.court.tell(s.told, v)
		if err != nil {
			return err
		}
		l := mergedLine{text: numberless(line)}
		if err := json.Unmarshal(line, &l.lineFields); err != nil {
			return err
		}
		k, key := l.kind()
		out := spannedLine{text: l.text}
		of := orphan{k, key, false}
		if s.tries[of]++; s.tries[of] <= incidentEvidence && s.told <= allTried {
			p, err := s.j.court.proof(v)
			if err != nil {
				p = &Proof{Why: err.Error()}
			}
			out.tried, out.has = true, Evidence{N: s.told, Why: p.Why}
			if s.dir == "" {
				out.proof = p
			} else if err := writeProof(filepath.Join(s.dir, spannedFolder), disk{}, p, &out.has); err != nil {
				return err
			}
		}
		s.lines = append(s.lines, out)
	}
	return nil
}

// addSpanned adds what was found to the violations.
func (m *Merged) addSpanned(s *spanned) error {
	for i := range s.lines {
		x := &s.lines[i]
		l := &mergedLine{text: x.text, proof: x.proof}
		if err := json.Unmarshal(x.text, &l.lineFields); err != nil {
			return err
		}
		if x.tried && x.proof == nil {
			has := x.has
			for _, name := range []*string{&has.History, &has.Certificate} {
				if *name != "" {
					*name = filepath.ToSlash(filepath.Join(s.dir, spannedFolder, *name))
				}
			}
			l.has = &has
		}
		m.lines = append(m.lines, l)
	}
	return nil
}

// save has the next merge into the folder go on from here, and notes for the processes what they need not keep.
func (s *spanned) save() error {
	path := filepath.Join(s.dir, spanningFile)
	if err := os.Remove(path + ".new"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := freeze.Save(path+".new", s, s.j.stream); err != nil {
		return err
	}
	f, err := os.OpenFile(path+".new", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := errors.Join(os.Rename(path+".new", path), syncDir(s.dir)); err != nil {
		return err
	}
	whole, err := filepath.Abs(s.dir)
	if err != nil {
		return err
	}
	for part, x := range s.from {
		note := factsTaken{whole, s.joint.Taken(part), s.joint.Forgotten(part)}
		if err := note.write(x.dir); err != nil {
			return err
		}
	}
	return nil
}

// recaller is a leopard that has judged nothing, to say what a violation is, by the lines of the processes' folders.
func recaller(x *factsReader, dirs []string) (*leopard, error) {
	var find []*finder
	for _, dir := range dirs {
		log, err := segments(dir)
		if err != nil {
			return nil, err
		}
		f := &finder{}
		if len(log) > 0 {
			f.last = log[len(log)-1].n
		}
		find = append(find, f)
	}
	j := &leopard{o: LeopardOptions{Skew: x.head.Skew}, header: []byte(x.head.Header), first: x.head.First,
		stream: mechanism.NewStream()}
	j.line = func(n int64) ([]byte, error) {
		part, line := mechanism.JointID(uint64(n))
		return find[part].line(dirs[part], int64(line))
	}
	j.court = court{profile: x.head.Profile, skew: x.head.Skew, stream: j.stream, origin: mechanism.Forever,
		recall: j.recall}
	var err error
	if j.court.level, err = level.Parse(x.head.Level); err != nil {
		return nil, err
	}
	if len(j.header) > 0 {
		if j.court.head, err = jsonl.ReadPiece(j.header); err != nil {
			return nil, err
		}
		j.stream.Starts(j.court.head)
	}
	// The initial transaction says what keys held.
	if line, err := j.line(j.first); err == nil {
		b := NewBatch(1, [][]byte{line})
		if l := &b.Lines[0]; l.Err == nil && l.Txn != history.None && b.Heads[l.Txn].Init {
			j.stream.Piece(b.H)
			j.stream.Init(l.Txn)
		}
	} else if !isGone(err) {
		return nil, err
	}
	return j, nil
}

// latestFacts is how many files of facts belong to the latest checkpoint of a folder; 0: it has none.
func latestFacts(dir string) (files int64, err error) {
	err = eachManifest(dir, func(x *manifest) bool {
		files = x.Facts
		return true
	})
	return files, err
}
