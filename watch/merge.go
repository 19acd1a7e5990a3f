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
	// Violations are those of all, each once, by their transactions, and numbered.
	Violations []Violation
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
}

// MergeError says why folders cannot be of one stream.
type MergeError struct{ text string }

func (e *MergeError) Error() string { return e.text }

// Merge reads the folders of processes that judge parts of one stream, which may go on meanwhile: what is there is
// final. What all of them say, of transactions that are late or ahead, is there once. Errors: *MergeError for folders
// that are not parts of one; files that cannot be read.
//
// Cost: memory for all violations.
func Merge(dirs []string) (*Merged, error) {
	m := &Merged{Known: true, Gone: map[string]int64{}}
	var first map[string]string
	parts := map[int]string{}
	seen := map[string]bool{}
	for _, dir := range dirs {
		o, part, of, err := partOf(dir)
		if err != nil {
			return nil, err
		}
		if first == nil {
			first, m.Of = o, of
		}
		for name, is := range o {
			if name != "shard" && name != "shards" && first[name] != is || of != m.Of {
				return nil, &MergeError{fmt.Sprintf("%s and %s were begun with other options (--%s); expected parts "+
					"of one stream, judged alike", dirs[0], dir, name)}
			}
		}
		if other, twice := parts[part]; twice {
			return nil, &MergeError{fmt.Sprintf("%s and %s are both part %d of %d", other, dir, part, of)}
		}
		parts[part] = dir
		if err := m.read(dir, seen); err != nil {
			return nil, err
		}
		mark, err := latestMark(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			m.Known = false
		case err != nil:
			return nil, err
		case m.Slowest == "" || mark < m.Watermark:
			m.Watermark, m.Slowest = mark, dir
		}
	}
	for part := 1; part <= m.Of; part++ {
		if parts[part] == "" {
			m.Missing = append(m.Missing, part)
		}
	}
	slices.SortFunc(m.Violations, compareViolations)
	for i := range m.Violations {
		m.Violations[i].N = int64(i) + 1
	}
	return m, nil
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
	if o["checker"] != "aion" {
		return nil, 0, 0, &MergeError{fmt.Sprintf("%s: begun with --checker %s; expected aion", path, o["checker"])}
	}
	return o, part, of, nil
}

// read takes the violations of a folder. The file that is written to comes first, so that nothing is missed when it is
// rotated meanwhile.
func (m *Merged) read(dir string, seen map[string]bool) (err error) {
	least, last := int64(0), int64(0)
	take := func(n int64, line []byte) {
		var v Violation
		if e := json.Unmarshal(line, &v); e != nil || v.Axiom == "" {
			err = errors.Join(err, &MergeError{fmt.Sprintf("%s: violation %d is none of aion's: %s", dir, n, line)})
			return
		}
		if least == 0 || n < least {
			least = n
		}
		last = max(last, n)
		id := v
		id.N = 0
		if id.Axiom == jumped {
			id.Why = "" // how far depends on who came before
		}
		text, _ := json.Marshal(&id)
		if !seen[string(text)] {
			seen[string(text)] = true
			m.Violations = append(m.Violations, v)
		}
	}
	f, e := os.Open(filepath.Join(dir, "violations.jsonl"))
	if e == nil {
		_, e = eachLine(f, take)
		e = errors.Join(e, f.Close())
	}
	if e != nil && !errors.Is(e, fs.ErrNotExist) {
		return e
	}
	old, e := oldFiles(dir)
	if e != nil {
		return e
	}
	for i := range old {
		if e := old[i].read(dir, take); e != nil && !errors.Is(e, fs.ErrNotExist) {
			return e
		}
	}
	if least > 1 {
		m.Gone[dir] = least - 1
	}
	return err
}

// latestMark is the watermark of the latest checkpoint.
func latestMark(dir string) (int64, error) {
	whole, _, err := checkpoints(dir)
	if err != nil {
		return 0, err
	}
	for _, n := range whole {
		x, err := readManifest(filepath.Join(dir, fmt.Sprintf(checkpointName, n)))
		switch {
		case err == nil && x.Watermark != nil:
			return *x.Watermark, nil
		case err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, freeze.ErrDamaged):
			return 0, err
		}
	}
	return 0, fmt.Errorf("%s has no checkpoint: %w", dir, fs.ErrNotExist)
}

func compareViolations(a, b Violation) int {
	op := func(v *Violation) int64 {
		if v.Op == nil {
			return -1
		}
		return int64(*v.Op)
	}
	other := func(v *Violation) int64 {
		if v.Other == nil {
			return -1
		}
		return *v.Other
	}
	return cmp.Or(cmp.Compare(a.Txn, b.Txn), strings.Compare(a.Axiom, b.Axiom), cmp.Compare(op(&a), op(&b)),
		bytes.Compare(a.Key, b.Key), cmp.Compare(other(&a), other(&b)), slices.Compare(a.Missing, b.Missing),
		strings.Compare(a.Why, b.Why))
}
