package watch

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// emitted is the file of final violations, one JSON line each, in the order in which they became final. It has all
// violations or, if grouped, the first of each incident and then a line each time that the incident's count has
// doubled. Each line begins with the number of its violation. So the number in the last line shows the progress of the
// file.
type emitted struct {
	o         emittedOptions
	f         *os.File
	n         int64 // violations since the beginning of the log
	there     int64 // last number in the file when it was opened
	last      int64 // number of the last line added
	done      int64 // number of the last line written
	bytes     int64 // of the file
	proved    int64 // violations known to be proved
	text      []byte
	was       rejudged
	incidents *Incidents
	snapshot  snapshot
}

type emittedOptions struct {
	dir     string
	grouped bool
	max     int64 // of all files of violations; 0: any
	disk    disk
	told    func(line []byte) // may be nil
	log     *slog.Logger
	// evidence bounds the small histories of violations; lines is the log with their transactions.
	evidence int
	lines    *Log
}

// emittedState is the file's state in a checkpoint.
type emittedState struct {
	N      int64 `json:"n"`
	Last   int64 `json:"last"`
	Proved int64 `json:"proved"`
}

func (e *emitted) state() emittedState { return emittedState{e.n, e.last, e.proved} }

const violationsFile = "violations.jsonl"

// rejudged has lines of violations that will be found again after a restart.
type rejudged struct {
	from   int64
	proved map[int64]bool
	lines  map[int64][]byte
}

// maxRejudged bounds the lines in memory. Further ones are made again if needed.
const maxRejudged = 1000

func (r *rejudged) add(n int64, line []byte) {
	if n <= r.from {
		return
	}
	if isProved(line) {
		r.proved[n] = true
	}
	if len(r.lines) < maxRejudged {
		r.lines[n] = bytes.Clone(line)
	}
}

// openEmitted opens the file. from is its state in a checkpoint; violations after it are found again, and not written
// twice. short says that the file has lost lines.
func openEmitted(o emittedOptions, from emittedState, incidents *Incidents) (_ *emitted, short bool, err error) {
	e := &emitted{o: o, n: from.N, last: from.Last, proved: from.Proved, incidents: incidents,
		was: rejudged{from.N, map[int64]bool{}, map[int64][]byte{}}}
	e.snapshot = snapshot{path: filepath.Join(o.dir, incidentsFile), disk: o.disk, log: o.log, changed: true}
	old, err := e.mend()
	if err != nil {
		return nil, false, err
	}
	found := int64(0) // the last number
	for _, x := range old {
		if found = x.last; x.last > from.N {
			if err := x.read(o.dir, e.was.add); err != nil {
				return nil, false, err
			}
		}
	}
	if e.f, err = os.OpenFile(filepath.Join(o.dir, violationsFile), os.O_RDWR|os.O_CREATE, fileMode); err != nil {
		return nil, false, err
	}
	e.bytes, err = eachLine(e.f, func(n int64, line []byte) {
		found = max(found, n)
		e.was.add(n, line)
	})
	if err == nil {
		err = e.f.Truncate(e.bytes) // a torn line
	}
	if err == nil {
		_, err = e.f.Seek(e.bytes, io.SeekStart)
	}
	if err != nil {
		return nil, false, errors.Join(err, e.f.Close())
	}
	e.done, e.last = found, max(found, from.Last)
	e.there = max(e.last, from.N)
	return e, found < from.Last, nil
}

// eachLine calls each with the complete lines of a file of violations. It returns their total length.
func eachLine(r io.Reader, each func(n int64, line []byte)) (size int64, err error) {
	in := bufio.NewReaderSize(r, 1<<16)
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return size, nil
		}
		if err != nil {
			return size, err
		}
		size += int64(len(line))
		each(numberOf(line), line[:len(line)-1])
	}
}

// numberOf returns the number at the beginning of a line, or 0 if isovet has not written the line.
func numberOf(line []byte) int64 {
	rest, is := bytes.CutPrefix(line, []byte(`{"n":`))
	end := bytes.IndexAny(rest, ",}")
	if !is || end < 0 {
		return 0
	}
	n, err := strconv.ParseInt(string(rest[:end]), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// add numbers a violation. It adds a line to the file if the incident needs it and the file does not have it yet.
func (e *emitted) add(f *Finding) (err error) {
	e.n++
	n := e.n
	e.snapshot.changed = true
	x, full := e.incidents.add(f, n)
	full = full || !e.o.grouped
	// The exit status depends on whether any violation is proved.
	try := !full && f.Tries && !x.Proved && tried(n)
	if n <= e.there {
		proved := f.Proved || e.was.proved[n]
		line := e.was.lines[n]
		if line == nil && full && len(x.Lines) < incidentLines {
			if line, err = f.Line(n); err != nil {
				return err
			}
		}
		delete(e.was.lines, n)
		e.note(x, line, full || try && proved, proved, false)
		if full || try && proved {
			e.prove(x, f, n)
		}
		return nil
	}
	var line []byte
	if full || try {
		if line, err = f.Line(n); err != nil {
			return err
		}
	}
	proved := f.Proved || isProved(line)
	full = full || try && proved
	e.note(x, line, full, proved, true)
	if full {
		e.prove(x, f, n)
	}
	switch {
	case full:
		e.write(n, line)
	case e.o.grouped && x.Count&(x.Count-1) == 0:
		text, err := json.Marshal(grown{n, x.short()})
		if err != nil {
			return err
		}
		e.write(n, text)
	}
	return nil
}

// note adds a violation to an incident. line may be nil.
func (e *emitted) note(x *incident, line []byte, full, proved, fresh bool) {
	if proved {
		e.proved++
	}
	if !full {
		line = nil
	}
	e.incidents.noted(x, line, full, proved, fresh)
}

func (e *emitted) write(n int64, line []byte) {
	e.text = append(append(e.text, line...), '\n')
	e.last = n
}

// grown is a line about an incident whose count has doubled.
type grown struct {
	N int64 `json:"n"` // of its latest violation
	Incident
}

// proved is the text that only lines of proved violations contain.
var proved = []byte(`"proved":true`)

func isProved(line []byte) bool { return bytes.Contains(line, proved) }

// sync writes and syncs the added lines, and reports them. If it fails, a later call writes the rest.
func (e *emitted) sync() error {
	for len(e.text) > 0 {
		n := len(e.text)
		if room := e.o.max/violationsParts - e.bytes; e.o.max > 0 && room < int64(n) {
			n = bytes.IndexByte(e.text, '\n') + 1 // at least
			if room > int64(n) {
				n = bytes.LastIndexByte(e.text[:room], '\n') + 1
			}
		}
		if err := e.put(e.text[:n]); err != nil {
			return err
		}
		e.text = e.text[:copy(e.text, e.text[n:])]
		if e.o.max > 0 && len(e.text) > 0 || e.o.max > 0 && e.bytes >= e.o.max/violationsParts {
			if err := e.rotate(); err != nil {
				return err
			}
		}
	}
	return nil
}

// put writes and syncs lines, and reports them. If it fails, the file is unchanged.
func (e *emitted) put(text []byte) error {
	_, err := e.o.disk.write(e.f, text)
	if err == nil {
		err = e.o.disk.sync(e.f)
	}
	if err != nil {
		e2 := e.f.Truncate(e.bytes)
		if e2 == nil {
			_, e2 = e.f.Seek(e.bytes, io.SeekStart)
		}
		if e2 != nil {
			return fmt.Errorf("%s: %w, after: %v", e.f.Name(), e2, err)
		}
		return err
	}
	e.bytes += int64(len(text))
	e.done = numberOf(text[bytes.LastIndexByte(text[:len(text)-1], '\n')+1:])
	if e.o.told != nil {
		for line := range bytes.Lines(text) {
			e.o.told(line[:len(line)-1])
		}
	}
	return nil
}

func (e *emitted) close() error {
	e.snapshot.write(e.incidents, true)
	return e.f.Close()
}

const incidentsFile = "incidents.jsonl"

// snapshot is the file of incidents, one on each line, which is replaced atomically. No state depends on it.
type snapshot struct {
	path    string
	disk    disk
	log     *slog.Logger
	changed bool
	made    time.Time
	took    time.Duration
	failed  bool // it has been said
}

// write writes the file if something has changed: at most once a second, or if it is the last time.
func (s *snapshot) write(of *Incidents, last bool) {
	begun := time.Now()
	if !s.changed || !last && begun.Sub(s.made) < max(time.Second, 20*s.took) {
		return
	}
	err := s.put(of.List())
	s.made, s.took = begun, time.Since(begun)
	if err != nil && !s.failed {
		s.log.Error("watch could not write incidents.jsonl; it tries again", "file", s.path, "error", err)
	}
	if s.failed = err != nil; !s.failed {
		s.changed = false
	}
}

func (s *snapshot) put(all []Incident) (err error) {
	var text []byte
	for i := range all {
		line, e := json.Marshal(&all[i])
		text, err = append(append(text, line...), '\n'), errors.Join(err, e)
	}
	if err != nil {
		return err
	}
	if err := s.disk.replace(s.path, text); err != nil {
		return err
	}
	return syncDir(filepath.Dir(s.path))
}
