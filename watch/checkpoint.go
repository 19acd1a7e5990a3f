package watch

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"isovet/internal/freeze"
	"isovet/internal/safego"
)

// A checkpoint is a folder such as checkpoint-00000017 in the watch's folder. It has the judge's files, and a manifest
// with the position in the log and the number of violations written. It gets its final name only when it is complete
// and synced, so a folder with such a name is complete. The previous checkpoint stays.

// manifest is the content of a checkpoint's file manifest.
type manifest struct {
	Version   int               `json:"version"`
	Written   time.Time         `json:"written"`
	Options   map[string]string `json:"options"`
	Log       Position          `json:"log"`
	Under     *Position         `json:"under,omitempty"` // behind the lines taken in part; nil: none are
	Places    Places            `json:"places"`
	Emitted   emittedState      `json:"emitted"`
	Bad       int64             `json:"bad_lines"`
	Watermark *int64            `json:"watermark,omitempty"` // for information
	Found     map[string]int64  `json:"violations"`
	Incidents incidentState     `json:"incidents"`
	StateSize map[string]int64  `json:"files"` // by name
}

// manifestVersion is the version of the manifests that this isovet writes.
const manifestVersion = 3

const (
	manifestFile   = "manifest"
	checkpointName = "checkpoint-%08d"
	// keptCheckpoints is the number of checkpoints in the folder: the latest, and one more in case that is damaged.
	keptCheckpoints = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encode makes the text of a manifest: an object, and a line with its checksum.
func (m *manifest) encode() ([]byte, error) {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, err
	}
	text = append(text, '\n')
	return fmt.Appendf(text, "crc32c %08x\n", crc32.Checksum(text, castagnoli)), nil
}

func readManifest(dir string) (*manifest, error) {
	path := filepath.Join(dir, manifestFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	at := bytes.LastIndex(text, []byte("crc32c "))
	if at < 0 || string(text[at:]) != fmt.Sprintf("crc32c %08x\n", crc32.Checksum(text[:at], castagnoli)) {
		return nil, fmt.Errorf("%s: the checksum differs: %w", path, freeze.ErrDamaged)
	}
	var m manifest
	if err := json.Unmarshal(text[:at], &m); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if m.Version != manifestVersion {
		return nil, fmt.Errorf("%s: the checkpoint has version %d; this isovet expects %d: use the isovet that "+
			"wrote it, or another --state folder", path, m.Version, manifestVersion)
	}
	for name, size := range m.StateSize {
		st, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		if st.Size() != size {
			return nil, fmt.Errorf("%s: %d bytes; expected %d: %w", filepath.Join(dir, name), st.Size(), size,
				freeze.ErrDamaged)
		}
	}
	return &m, nil
}

// checkpoints lists the complete checkpoints in a folder, latest first, and the remains of unfinished ones.
func checkpoints(dir string) (whole []int, rest []string, err error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range list {
		n := 0
		if _, err := fmt.Sscanf(e.Name(), checkpointName, &n); err != nil || !e.IsDir() {
			continue
		}
		if e.Name() == fmt.Sprintf(checkpointName, n) {
			whole = append(whole, n)
		} else {
			rest = append(rest, filepath.Join(dir, e.Name()))
		}
	}
	slices.SortFunc(whole, func(a, b int) int { return cmp.Compare(b, a) })
	return whole, rest, nil
}

// restore loads the judge's state from the latest complete checkpoint. It returns nil if there is none.
func (w *watcher) restore() (*manifest, error) {
	whole, rest, err := checkpoints(w.cfg.Dir)
	if err != nil {
		return nil, err
	}
	for _, dir := range rest {
		if err := os.RemoveAll(dir); err != nil {
			return nil, err
		}
	}
	losses, err := os.ReadFile(filepath.Join(w.cfg.Dir, lossFile))
	w.state.lost, w.state.losses = err == nil, string(losses)
	var found *manifest
	for _, n := range whole {
		w.keeper.number = max(w.keeper.number, n)
		dir := filepath.Join(w.cfg.Dir, fmt.Sprintf(checkpointName, n))
		m, err := readManifest(dir)
		if err == nil && found == nil {
			if err := compareSettings(filepath.Join(dir, manifestFile), m.Options, w.judge.Settings()); err != nil {
				return nil, err
			}
			if err = w.log.reaches(*cmp.Or(m.Under, &m.Log)); err == nil {
				err = w.judge.Restore(dir)
			}
			if err == nil {
				found = m
			}
		}
		switch {
		case err == nil:
			w.keeper.whole = append(w.keeper.whole, kept{n, m.Log})
		case errors.As(err, new(*LostError)):
			if e := w.lose(err); e != nil {
				return nil, e
			}
			w.cfg.Log.Warn("watch ignored a checkpoint that continues after the end of the log", "folder", dir,
				"error", err)
		case errors.Is(err, freeze.ErrDamaged) || errors.Is(err, fs.ErrNotExist):
			w.cfg.Log.Warn("watch ignored a damaged checkpoint", "folder", dir, "error", err)
		default:
			return nil, err
		}
		if err != nil {
			if err := os.Rename(dir, dir+damagedName); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// kept is a complete checkpoint.
type kept struct {
	number int
	at     Position
}

// keeper completes checkpoints while the judge goes on: it syncs and renames them.
type keeper struct {
	number int    // the greatest so far
	whole  []kept // the latest first
	busy   chan struct{}
	group  safego.Group
	last   time.Time // begin of the latest
	failed bool      // the failure was reported
	// closing says that the watch ends, so that only necessary work remains.
	closing atomic.Bool
}

// due reports whether it is time for a checkpoint. It is not while an earlier checkpoint is unfinished.
func (w *watcher) due() bool {
	return w.cfg.Checkpoint > 0 && w.isNew() && w.settled() && time.Since(w.keeper.last) >= w.cfg.Checkpoint &&
		len(w.keeper.busy) == 0
}

// isNew reports whether the judge has advanced since the latest checkpoint.
func (w *watcher) isNew() bool { return w.state.at != w.state.saved || w.state.under != nil }

// checkpoint makes the judge write its state. Another goroutine writes the manifest, syncs and renames. A full disk is
// not an error, since a later checkpoint may succeed.
func (w *watcher) checkpoint() {
	k := &w.keeper
	k.busy <- struct{}{}
	begun := time.Now()
	k.last = begun
	k.number++
	dir := filepath.Join(w.cfg.Dir, fmt.Sprintf(checkpointName, k.number))
	m, err := w.writeState(dir + ".new")
	w.state.s.CheckpointPause = time.Since(begun)
	at, number := w.state.at, k.number
	if err == nil {
		w.state.saved = at
	}
	k.group.Go(func() {
		var size int64
		if err == nil {
			size, err = finish(w.cfg.Dir, dir, m)
		}
		if err == nil {
			k.whole = append([]kept{{number, at}}, k.whole...)
			err = w.forget()
		}
		if err != nil {
			w.noCheckpoint(dir, err)
		} else {
			k.failed = false
			w.checkpointed.Store(&checkpointed{begun, size})
		}
		<-k.busy
	})
}

type checkpointed struct {
	at   time.Time
	size int64
}

// noCheckpoint reports that a checkpoint failed and will be tried again.
func (w *watcher) noCheckpoint(dir string, err error) {
	if e := os.RemoveAll(dir + ".new"); e != nil {
		err = errors.Join(err, e)
	}
	if !w.keeper.failed {
		w.keeper.failed = true
		w.cfg.Log.Error("watch could not write a checkpoint; it tries again", "folder", dir, "error", err)
	}
}

// settled reports whether the judge has found all violations of the file again after a restart.
func (w *watcher) settled() bool { return w.state.out != nil && w.state.out.n >= w.state.out.there }

// writeState writes the state, and returns the manifest for the caller to write. Some files are complete only when
// rest has returned. The caller must have written all violations before.
func (w *watcher) writeState(dir string) (m *manifest, err error) {
	if d := w.cfg.disk; d != nil {
		if err := d(); err != nil {
			return nil, err
		}
	}
	if err := os.Mkdir(dir, dirMode); err != nil {
		return nil, err
	}
	if err := w.judge.Checkpoint(dir); err != nil {
		return nil, err
	}
	m = &manifest{Version: manifestVersion, Written: time.Now().UTC(), Options: map[string]string{}, Log: w.state.at,
		Under: w.state.under, Places: maps.Clone(w.state.places), Emitted: w.state.out.state(), Bad: w.state.s.Bad,
		Found: maps.Clone(w.state.s.Violations), Incidents: w.incidents.state(), StateSize: map[string]int64{}}
	for _, s := range w.judge.Settings() {
		m.Options[s.Name] = s.Value
	}
	var s Snapshot
	if w.judge.Stats(&s); s.Txns > 0 {
		m.Watermark = &s.Watermark
	}
	return m, nil
}

// measure notes the sizes of a checkpoint's files.
func (m *manifest) measure(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		st, err := e.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		m.StateSize[name] = st.Size()
		total += st.Size()
		return err
	})
	return total, err
}

// finish syncs a checkpoint and gives it its final name. size is the total size of its files.
func finish(parent, dir string, m *manifest) (size int64, err error) {
	path := dir + ".new"
	if size, err = m.measure(path); err != nil {
		return 0, err
	}
	text, err := m.encode()
	if err != nil {
		return 0, err
	}
	if err := os.WriteFile(filepath.Join(path, manifestFile), text, fileMode); err != nil {
		return 0, err
	}
	err = filepath.WalkDir(path, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			return syncDir(name)
		}
		f, err := os.OpenFile(name, os.O_RDWR, 0) // Windows syncs only files opened for writing
		if err != nil {
			return err
		}
		return errors.Join(f.Sync(), f.Close())
	})
	if err != nil {
		return 0, err
	}
	if err := os.Rename(path, dir); err != nil {
		return 0, err
	}
	return size, syncDir(parent)
}

// forget removes old checkpoints, and compresses or deletes the parts of the log that no checkpoint needs. It runs
// beside the judge, never twice at a time.
func (w *watcher) forget() error {
	k := &w.keeper
	for len(k.whole) > keptCheckpoints {
		old := k.whole[len(k.whole)-1]
		if err := os.RemoveAll(filepath.Join(w.cfg.Dir, fmt.Sprintf(checkpointName, old.number))); err != nil {
			return err
		}
		k.whole = k.whole[:len(k.whole)-1]
	}
	if len(k.whole) < keptCheckpoints || k.closing.Load() {
		return nil
	}
	return tidy(w.cfg.Dir, k.whole[len(k.whole)-1].at.Segment, w.cfg.Keep, k.closing.Load)
}
