package watch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// LostError says that a log has lost lines: it ends before the place of a checkpoint, or it is damaged in the middle.
// With Config.AcceptLoss the watch goes on without the lost lines.
type LostError struct{ what string }

func (e *LostError) Error() string {
	return e.what + ". The log has lost lines that were safe: the disk did not keep them, or only a part of the " +
		"folder was restored. Restore the whole folder, or add --accept-loss: watch then goes on with the undamaged " +
		"part and asks the source for the rest again"
}

// beforeLoss is the suffix of files that are put aside when a loss is accepted; damagedName is that of segments.
const beforeLoss, damagedName = ".before-loss", ".damaged"

// lossFile exists while losses are being accepted, and tells them: after a kill, the next run goes on with those.
const lossFile = "loss"

// lose begins to accept a loss, or returns it as an error if nobody accepted it.
func (w *watcher) lose(what error) error {
	if !w.cfg.AcceptLoss && !strings.Contains(w.state.losses, what.Error()) {
		return what
	}
	w.state.lost = true
	w.state.losses += what.Error() + "\n"
	return disk{}.replace(filepath.Join(w.cfg.Dir, lossFile), []byte(w.state.losses))
}

// reaches returns an error if a log ends before a position.
func (l *Log) reaches(at Position) error {
	path := segmentName(l.dir, at.Segment)
	size := int64(0)
	st, err := os.Stat(path)
	switch {
	case err == nil:
		size = st.Size()
	case errors.Is(err, fs.ErrNotExist):
		p, err := openPacked(path+compressed, 0)
		if errors.Is(err, fs.ErrNotExist) {
			return &LostError{path + ": the file is missing, and the checkpoint continues in it"}
		}
		if err == nil {
			size, err = io.Copy(io.Discard, p)
			err = errors.Join(err, p.Close())
		}
		if err != nil {
			return &LostError{err.Error()}
		}
	default:
		return err
	}
	if size < at.Offset {
		return &LostError{fmt.Sprintf("%s: the file ends at byte %d, but the checkpoint continues at byte "+
			"%d", path, size,
			at.Offset)}
	}
	return nil
}

// accept reads the log after the checkpoint from which the judge resumes, and cuts it before the first damaged record.
// If lines are lost, it puts aside the violations reported after that checkpoint, since they will be reported again.
func (w *watcher) accept() error {
	l := Log{dir: w.cfg.Dir, at: w.from.Log, places: Places{}}
	l.at.Segment = max(l.at.Segment, 1)
	nothing := func(int64, string, []byte) error { return nil }
	for {
		l.finder.begin(l.at)
		torn, err := l.replay(nothing, func(string) error { return nil })
		next := there(l.dir, l.at.Segment+1)
		var lost *LostError
		if torn && next {
			lost = l.tornBefore()
		}
		if lost != nil || errors.As(err, &lost) {
			if err := w.lose(lost); err != nil {
				return err
			}
			w.cfg.Log.Warn("watch cut the log off before its damaged part", "error", lost.what, "kept as",
				segmentName(l.dir, l.at.Segment)+damagedName)
			if err := cutLog(l.dir, l.at); err != nil {
				return err
			}
			break
		}
		if errors.Is(err, fs.ErrNotExist) {
			break // opening the file will report the error
		}
		if err != nil {
			return err
		}
		if !next {
			break
		}
		l.at.Segment, l.at.Offset = l.at.Segment+1, 0
	}
	if !w.state.lost {
		return nil
	}
	w.cfg.Log.Warn("watch asks the source again for the lines that the log lost, and reports their violations "+
		"again; if the source no longer has these lines, watch may report reads of values written in them as "+
		"violations", "lines", l.at.Lines)
	return tellAnew(w.cfg.Dir, w.from.Emitted.Last)
}

// tellLost ends accepting a loss. If the source may not repeat what the log has lost, it writes this to the log: a pipe
// does not, and over HTTP a client that does not number its lines.
func (w *watcher) tellLost(ctx context.Context, src Source) (err error) {
	if !w.state.lost {
		return nil
	}
	_, http := src.(*HTTPServer)
	if x, is := src.(beginning); http || is && !x.again() {
		err = w.control(ctx, controlLost)
	}
	if err == nil {
		err = os.Remove(filepath.Join(w.cfg.Dir, lossFile))
	}
	return err
}

// cutLog ends a log at a position. It renames the files with the rest.
func cutLog(dir string, at Position) error {
	list, err := segments(dir)
	if err != nil {
		return err
	}
	for _, s := range slices.Backward(list) {
		if s.n > at.Segment {
			if err := os.Rename(s.path(dir), s.path(dir)+damagedName); err != nil {
				return err
			}
		}
	}
	path := segmentName(dir, at.Segment)
	in, err := openSegment(dir, at.Segment, 0)
	if err != nil {
		return err
	}
	out, err := create(path + ".new")
	if err != nil {
		return errors.Join(err, in.Close())
	}
	_, err = io.CopyN(out, in, at.Offset)
	if err == nil {
		err = out.Sync()
	}
	if err := errors.Join(err, out.Close(), in.Close()); err != nil {
		return err
	}
	if there := writable(dir, at.Segment); there {
		err = os.Rename(path, path+damagedName) // a crash here leaves the whole segment
	}
	if err = errors.Join(err, os.Rename(path+".new", path)); err != nil {
		return err
	}
	if _, err := os.Stat(path + compressed); err == nil {
		if err := os.Rename(path+compressed, path+compressed+damagedName); err != nil {
			return err
		}
	}
	return syncDir(dir)
}

// tellAnew puts aside the lines of violations after number last, and the folders of incidents. The watch writes both
// again.
func tellAnew(dir string, last int64) error {
	old, err := oldFiles(dir)
	if err != nil {
		return err
	}
	for _, x := range old {
		if x.last > last {
			path := filepath.Join(dir, x.name)
			if err := os.Rename(path, path+beforeLoss); err != nil {
				return err
			}
		}
	}
	path := filepath.Join(dir, violationsFile)
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var stay, behind []byte
	for line := range bytes.Lines(text) {
		if numberOf(line) > last {
			behind = append(behind, line...)
		} else {
			stay = append(stay, line...)
		}
	}
	if len(behind) > 0 {
		aside, err := os.OpenFile(path+beforeLoss, os.O_WRONLY|os.O_CREATE|os.O_APPEND, fileMode)
		if err != nil {
			return err
		}
		_, err = aside.Write(behind)
		if err = errors.Join(err, aside.Sync(), aside.Close(), disk{}.replace(path, stay)); err != nil {
			return err
		}
	}
	folders := filepath.Join(dir, "incidents")
	if _, err := os.Stat(folders); err == nil { // else they may be aside already
		if err := errors.Join(os.RemoveAll(folders+beforeLoss), os.Rename(folders, folders+beforeLoss)); err != nil {
			return err
		}
	}
	return syncDir(dir)
}
