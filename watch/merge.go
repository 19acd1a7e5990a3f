package watch

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"isovet/internal/freeze"
)

// Merged is what several processes have found that each judge a part of one stream (Division.Of).
type Merged struct {
	// Violations are the lines of all, each once, by their transactions, and numbered.
	Violations []json.RawMessage
	// Incidents are what they come to, as of one process (merge_incidents.go). Their evidence is named with the folder
	// where it lies.
	Incidents []Incident
	// Watermark is the least of the watermarks of all latest checkpoints: up to there nothing is to come. Slowest is
	// whose it is. Known: each has a checkpoint.
	Watermark int64
	Slowest   string
	Known     bool
	// Missing are parts, from 1, of which there is no folder; what is theirs is not among the violations.
	Missing []int
	Of      int
	// Gone is how many violations were deleted, by folder (Config.ViolationsMax).
	Gone map[string]int64
	// Unspanned, of a leopard, says why not all is known of what spans keys; "": it is.
	Unspanned string
	// Proved says that some violation is one of the level, not of the profile alone (leopard); aion's all are.
	Proved bool

	parts []*mergedPart
	lines []*mergedLine
}

// mergedPart is a folder of one process.
type mergedPart struct {
	dir       string
	of        string // as the options say, I/N
	incidents []*partIncident
	last      int64 // number of the last violation when the incidents were written
	gone      int64
}

// mergedLine is a violation, and where it stands.
type mergedLine struct {
	lineFields
	text []byte // without its number
	n    int64  // among all
	at   []mergedPlace
	// of one that no process has: a small history, of the first of a kind and key, or where it lies
	proof *Proof
	has   *Evidence
}

type mergedPlace struct {
	part *mergedPart
	n    int64
}

// lineFields are what violations are ordered by, and belong to incidents by.
type lineFields struct {
	Axiom     string          `json:"axiom"`
	Mechanism string          `json:"mechanism"`
	Why       string          `json:"why"`
	Kind      string          `json:"kind"`
	Txn       int64           `json:"txn"`
	Txns      []int64         `json:"txns"`
	Other     *int64          `json:"other"`
	Op        *int64          `json:"op"`
	Key       json.RawMessage `json:"key"`
	Missing   []int64         `json:"missing"`
	Proved    bool            `json:"proved"`
}

// MergeError says why folders cannot be of one stream, or where the merge cannot be written.
type MergeError struct{ text string }

func (e *MergeError) Error() string { return e.text }

// Merge reads the folders of processes that judge parts of one stream, which may go on meanwhile: what is there is
// final. What all of them say, of transactions that are late or ahead, is there once. Errors: *MergeError for folders
// that are not parts of one; files that cannot be read.
//
// Cost: memory for all violations.
func Merge(dirs []string) (*Merged, error) {
	m, _, err := merge(dirs, "")
	return m, err
}

// merge goes on where the merge before into a folder ended; "": there is none.
func merge(dirs []string, to string) (*Merged, *spanned, error) {
	m := &Merged{Known: true, Gone: map[string]int64{}}
	var first map[string]string
	parts := map[int]string{}
	seen := map[string]*mergedLine{}
	for _, dir := range dirs {
		o, part, of, err := partOf(dir)
		if err != nil {
			return nil, nil, err
		}
		if first == nil {
			first, m.Of = o, of
		}
		for name, is := range o {
			if name != "shard" && name != "shards" && first[name] != is || of != m.Of {
				return nil, nil, &MergeError{fmt.Sprintf("%s and %s were begun with other options (--%s); expected "+
					"parts of one stream, judged alike", dirs[0], dir, name)}
			}
		}
		if other, twice := parts[part]; twice {
			return nil, nil, &MergeError{fmt.Sprintf("%s and %s are both part %d of %d", other, dir, part, of)}
		}
		parts[part] = dir
		p := &mergedPart{dir: dir, of: cmp.Or(o["shard"], before["shard"])}
		m.parts = append(m.parts, p)
		if err := p.readIncidents(); err != nil { // first, so that the violations of all of them are there
			return nil, nil, err
		}
		if err := m.read(p, seen); err != nil {
			return nil, nil, err
		}
		mark, err := latestMark(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			m.Known = false
		case err != nil:
			return nil, nil, err
		case m.Slowest == "" || mark < m.Watermark:
			m.Watermark, m.Slowest = mark, dir
		}
	}
	for part := 1; part <= m.Of; part++ {
		if parts[part] == "" {
			m.Missing = append(m.Missing, part)
		}
	}
	var s *spanned
	if first["checker"] == "leopard" {
		var err error
		if s, err = m.span(parts, to); err != nil {
			return nil, nil, err
		}
	}
	m.Proved = first["checker"] == "aion" && len(m.lines) > 0 ||
		slices.ContainsFunc(m.lines, func(l *mergedLine) bool { return l.Proved })
	slices.SortFunc(m.lines, compareLines)
	for i, l := range m.lines {
		l.n = int64(i) + 1
		m.Violations = append(m.Violations, withNumber(l.text, l.n))
	}
	m.unite()
	return m, s, nil
}

// partOf reads with which options a folder was begun, and which part it is.
func partOf(dir string) (o map[string]string, part, of int, err error) {
	path := filepath.Join(dir, settingsFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, 0, &MergeError{fmt.Sprintf("%s: nothing has been judged in this folder; expected one of isovet "+
			"watch --shard", dir)}
	}
	if err != nil {
		return nil, 0, 0, err
	}
	if err := json.Unmarshal(text, &o); err != nil {
		return nil, 0, 0, &MergeError{fmt.Sprintf("%s: %v; expected an object of options, as isovet watch wrote it",
			path, err)}
	}
	if _, err := fmt.Sscanf(cmp.Or(o["shard"], before["shard"]), "%d/%d", &part, &of); err != nil {
		return nil, 0, 0, &MergeError{fmt.Sprintf("%s: shard %q; expected I/N", path, o["shard"])}
	}
	if c := o["checker"]; c != "aion" && c != "leopard" {
		return nil, 0, 0, &MergeError{fmt.Sprintf("%s: begun with --checker %s; expected aion or leopard", path, c)}
	}
	if of == 1 {
		return nil, 0, 0, &MergeError{fmt.Sprintf("%s: one process judges the whole stream here, and its files have "+
			"all; expected folders of isovet watch --shard I/N", dir)}
	}
	return o, part, of, nil
}

// read takes the violations of a folder. The file that is written to comes first, so that nothing is missed when it is
// rotated meanwhile.
func (m *Merged) read(p *mergedPart, seen map[string]*mergedLine) (err error) {
	least := int64(0)
	take := func(n int64, line []byte) {
		l := &mergedLine{text: numberless(line)}
		if e := json.Unmarshal(line, &l.lineFields); e != nil || n == 0 || l.Axiom == "" && l.Mechanism == "" {
			err = errors.Join(err, &MergeError{fmt.Sprintf("%s: violation %d is none: %s", p.dir, n, line)})
			return
		}
		if least == 0 || n < least {
			least = n
		}
		id := string(l.text)
		if l.Axiom == jumped { // how far depends on who came before
			id = fmt.Sprint(jumped, " ", l.Txn)
		}
		if old := seen[id]; old != nil {
			l = old
		} else {
			seen[id] = l
			m.lines = append(m.lines, l)
		}
		at := mergedPlace{p, n}
		if !slices.Contains(l.at, at) { // it may be read twice, where files are rotated meanwhile
			l.at = append(l.at, at)
		}
	}
	f, e := os.Open(filepath.Join(p.dir, violationsFile))
	if e == nil {
		_, e = eachLine(f, take)
		e = errors.Join(e, f.Close())
	}
	if e != nil && !errors.Is(e, fs.ErrNotExist) {
		return e
	}
	old, e := oldFiles(p.dir)
	if e != nil {
		return e
	}
	for i := range old {
		if e := old[i].read(p.dir, take); e != nil && !errors.Is(e, fs.ErrNotExist) {
			return e
		}
	}
	if least > 1 {
		p.gone = least - 1
		m.Gone[p.dir] = p.gone
	}
	return err
}

// numberless is a line of violations without its number, a copy.
func numberless(line []byte) []byte {
	if _, rest, is := bytes.Cut(line, []byte(",")); is && bytes.HasPrefix(line, []byte(`{"n":`)) {
		return append([]byte("{"), rest...)
	}
	return bytes.Clone(line)
}

// withNumber puts one before.
func withNumber(text []byte, n int64) json.RawMessage {
	return append(fmt.Appendf(nil, `{"n":%d,`, n), text[1:]...)
}

// latestMark is the watermark of the latest checkpoint.
func latestMark(dir string) (int64, error) {
	var mark *int64
	err := eachManifest(dir, func(x *manifest) bool {
		mark = x.Watermark
		return mark != nil
	})
	if err != nil {
		return 0, err
	}
	if mark == nil {
		return 0, fmt.Errorf("%s has no checkpoint: %w", dir, fs.ErrNotExist)
	}
	return *mark, nil
}

// eachManifest reads the checkpoints of a folder, the latest first, until use says that this one does. Damaged ones are
// left out.
func eachManifest(dir string, use func(x *manifest) bool) error {
	gone := true
	for again := 0; gone && again < 100; again++ { // they may go, for later ones, between listing and reading
		gone = false
		whole, _, err := checkpoints(dir)
		if err != nil {
			return err
		}
		for _, n := range whole {
			x, err := readManifest(filepath.Join(dir, fmt.Sprintf(checkpointName, n)))
			switch {
			case err == nil:
				if use(x) {
					return nil
				}
			case errors.Is(err, fs.ErrNotExist):
				gone = true
			case !errors.Is(err, freeze.ErrDamaged):
				return err
			}
		}
	}
	return nil
}

// txns are those that it is about; of a violation of timestamps, whose it is.
func (l *mergedLine) txns() []int64 {
	if len(l.Txns) > 0 {
		return l.Txns
	}
	return []int64{l.Txn}
}

func compareLines(a, b *mergedLine) int {
	or := func(x *int64) int64 {
		if x == nil {
			return -1
		}
		return *x
	}
	return cmp.Or(slices.Compare(a.txns(), b.txns()), strings.Compare(a.Axiom, b.Axiom),
		strings.Compare(a.Mechanism, b.Mechanism), cmp.Compare(or(a.Op), or(b.Op)), bytes.Compare(a.Key, b.Key),
		cmp.Compare(or(a.Other), or(b.Other)), slices.Compare(a.Missing, b.Missing), strings.Compare(a.Why, b.Why),
		strings.Compare(a.Kind, b.Kind), bytes.Compare(a.text, b.text))
}
