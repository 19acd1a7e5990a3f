package view

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"isovet/history/format"
	"isovet/internal/escape"
	"isovet/internal/plural"
)

// The kinds of paths that the viewer can show.
const (
	ofHistory = "history"
	ofWatch   = "watch"   // the folder of a watch
	ofResults = "results" // a folder of bench's
	ofPage    = "page"    // a page alone
)

// kindOf returns the kind of a path. It returns an error for a folder of unknown kind.
func kindOf(path string, index func(w io.Writer, dir string) error) (string, error) {
	st, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, errors.Unwrap(err))
	}
	if !st.IsDir() {
		return ofHistory, nil // reading it says what is wrong
	}
	if index != nil {
		if err := index(io.Discard, path); err == nil {
			return ofResults, nil
		}
	}
	if _, err := os.Stat(filepath.Join(path, "incidents.jsonl")); err == nil {
		return ofWatch, nil
	}
	if in, err := format.Open(path); err == nil {
		if f, err := format.Detect(in); err == nil && f.Name == "isovet-watch" {
			return ofWatch, nil
		} else if err == nil {
			return ofHistory, nil
		}
	}
	if format.IsParts(path) || format.IsRun(path) {
		return ofHistory, nil
	}
	return "", fmt.Errorf("%s: expected a history, a folder of one (isovet formats), the folder of isovet watch, or "+
		"one of isovet bench reproduce", path)
}

// incidentJSON is an incident of a watch, as a line of incidents.jsonl.
type incidentJSON struct {
	ID       int64             `json:"incident"`
	Class    string            `json:"class"`
	Kind     string            `json:"kind,omitempty"`
	Unjudged bool              `json:"unjudged,omitempty"`
	Open     bool              `json:"open"`
	Low      json.RawMessage   `json:"low,omitempty"`
	High     json.RawMessage   `json:"high,omitempty"`
	Count    int64             `json:"count"`
	Keys     int64             `json:"keys,omitempty"`
	Txns     int64             `json:"txns"`
	Proved   bool              `json:"proved,omitempty"`
	Began    string            `json:"began,omitempty"`
	Last     string            `json:"last,omitempty"`
	Lines    []json.RawMessage `json:"lines,omitempty"`
	Evidence []evidenceShown   `json:"evidence,omitempty"`
}

type incidentShown struct {
	ID       int64           `json:"id"`
	What     string          `json:"what"`
	Unjudged bool            `json:"unjudged"`
	Open     bool            `json:"open"`
	Proved   bool            `json:"proved"`
	Keys     string          `json:"keys"`
	Count    int64           `json:"count"`
	Txns     int64           `json:"txns"`
	Began    string          `json:"began"`
	Last     string          `json:"last"`
	Lines    []string        `json:"lines"`
	Evidence []evidenceShown `json:"evidence"`
}

type evidenceShown struct {
	N           int64  `json:"n"`
	History     string `json:"history,omitempty"`
	Certificate string `json:"certificate,omitempty"`
	Why         string `json:"why,omitempty"`
}

// watchJSON is the folder of a watch.
type watchJSON struct {
	Name      string          `json:"name"`
	Incidents []incidentShown `json:"incidents"`
	Note      string          `json:"note,omitempty"`
	Segments  []segmentJSON   `json:"segments"`
	Bytes     int64           `json:"bytes"` // of all segments
}

type segmentJSON struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

// maxIncidents bounds the bytes that the viewer reads from a file of incidents.
const maxIncidents = 64 << 20

// watchFolder reads the folder of a watch, which may still be running.
func watchFolder(dir string) (watchJSON, error) {
	out := watchJSON{Name: escape.XML(dir), Incidents: []incidentShown{}, Segments: []segmentJSON{}}
	list, err := os.ReadDir(dir)
	if err != nil {
		return out, err
	}
	for _, e := range list {
		if info, err := e.Info(); err == nil && strings.HasPrefix(e.Name(), "segment-") && info.Mode().IsRegular() {
			out.Segments = append(out.Segments, segmentJSON{escape.XML(e.Name()), info.Size()})
			out.Bytes += info.Size()
		}
	}
	f, err := os.Open(filepath.Join(dir, "incidents.jsonl"))
	if errors.Is(err, fs.ErrNotExist) {
		out.Note = "no violation has been found so far"
		return out, nil
	}
	if err != nil {
		return out, err
	}
	defer f.Close()
	r := bufio.NewReader(io.LimitReader(f, maxIncidents))
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			var i incidentJSON
			if bad := json.Unmarshal(line, &i); bad != nil {
				return out, fmt.Errorf("incidents.jsonl: line %d: %w", n, bad)
			}
			out.Incidents = append(out.Incidents, i.shown())
		}
		if err != nil {
			break
		}
	}
	slices.SortStableFunc(out.Incidents, func(a, b incidentShown) int {
		switch {
		case a.Unjudged != b.Unjudged && b.Unjudged, a.Unjudged == b.Unjudged && a.ID < b.ID:
			return -1
		}
		return 1
	})
	return out, nil
}

func (i *incidentJSON) shown() incidentShown {
	what := i.Class
	if i.Kind != "" {
		what += ": " + i.Kind
	}
	s := incidentShown{ID: i.ID, What: escape.XML(what), Unjudged: i.Unjudged, Open: i.Open, Proved: i.Proved,
		Count: i.Count, Txns: i.Txns, Began: i.Began, Last: i.Last, Lines: []string{}, Evidence: []evidenceShown{}}
	if i.Low != nil {
		low := escape.XML(string(i.Low))
		s.Keys = "key " + low
		if !bytes.Equal(i.Low, i.High) && i.High != nil {
			s.Keys = fmt.Sprintf("%s from %s to %s", plural.Of(i.Keys, "key"), low, escape.XML(string(i.High)))
		}
	}
	for _, l := range i.Lines {
		s.Lines = append(s.Lines, escape.XML(string(l)))
	}
	for _, e := range i.Evidence {
		s.Evidence = append(s.Evidence, evidenceShown{e.N, escape.XML(e.History),
			escape.XML(e.Certificate), escape.XML(e.Why)})
	}
	return s
}

// evidenceOf returns the files with the evidence of violation n, as incidents.jsonl names them.
func evidenceOf(dir string, n int64) (hist, cert string, err error) {
	w, err := watchFolder(dir)
	if err != nil {
		return "", "", err
	}
	for _, i := range w.Incidents {
		for _, e := range i.Evidence {
			if e.N != n || e.History == "" {
				continue
			}
			if hist, err = inside(dir, e.History); err == nil && e.Certificate != "" {
				cert, err = inside(dir, e.Certificate)
			}
			return hist, cert, err
		}
	}
	return "", "", fmt.Errorf("there is no evidence of violation %d", n)
}

// inside returns the path of a file in a folder. It refuses a name that leads out of the folder.
func inside(dir, name string) (string, error) {
	local := filepath.FromSlash(name)
	if !filepath.IsLocal(local) {
		return "", fmt.Errorf("%q leads out of the folder", name)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	f, err := root.Open(local) // follows no link that leads out
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, local), f.Close()
}
