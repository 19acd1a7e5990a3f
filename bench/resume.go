package bench

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"isovet/internal/filelock"
)

// The measurements of a figure are saved one by one, in a file beside its results, until the figure is complete. So a
// run of hours can be continued, however it was stopped.

// keptHead identifies the figure and the settings of a file of saved measurements. Other runs cannot use them.
type keptHead struct {
	Figure  string `json:"figure"`
	Scale   string `json:"scale"`
	Seed    uint64 `json:"seed"`
	Timeout string `json:"timeout"`
	Commit  string `json:"commit"`
}

// keptLine is a saved part: a run, or a step of a figure.
type keptLine struct {
	Key     string          `json:"key"`
	Seconds float64         `json:"seconds"`
	Value   json.RawMessage `json:"value"`
}

// keeper saves the parts of a figure.
type keeper struct {
	path  string
	file  *os.File
	have  map[string]keptLine
	asked map[string]int
	step  string
	// parts and seconds describe the parts from an earlier process.
	parts   int
	seconds float64
}

func (r *Report) keptHead() keptHead { return keptHead{r.Figure, r.Scale, r.Seed, r.Timeout, r.Commit} }

// newKeeper opens the file for a figure's parts below a folder of results. With resume it reads the parts that the
// file has, if figure, scale, seed, time-out and program are the same. It locks the file for this process until it is
// closed. It returns an error about the file, or if another process has locked it.
func newKeeper(dir string, r *Report, resume bool) (*keeper, error) {
	k := &keeper{path: r.Path(dir) + ".kept", have: map[string]keptLine{}, asked: map[string]int{}}
	if err := os.MkdirAll(filepath.Dir(k.path), 0o755); err != nil {
		return nil, err
	}
	var err error
	if k.file, err = openAlone(k.path); errors.Is(err, filelock.ErrLocked) {
		return nil, fmt.Errorf("%s: another process measures %s now; expected its end, or another --out folder", k.path,
			r.Figure)
	} else if err != nil {
		return nil, err
	}
	var whole int64 // bytes of whole lines: a last one may be torn
	if resume {
		whole, err = k.read(r.keptHead())
	}
	if err == nil {
		err = k.file.Truncate(whole)
	}
	if err == nil {
		_, err = k.file.Seek(whole, io.SeekStart)
	}
	if err == nil && whole == 0 {
		err = k.write(r.keptHead())
	}
	if err != nil {
		return nil, errors.Join(err, filelock.Close(k.file))
	}
	return k, nil
}

// openAlone opens a file, making it if necessary, and locks it for this process. Errors: filelock.ErrLocked.
func openAlone(path string) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
		if err != nil {
			return nil, err
		}
		if err := filelock.Try(f); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		mine, err := f.Stat()
		if err != nil {
			return nil, errors.Join(err, filelock.Close(f))
		}
		now, err := os.Stat(path)
		if err == nil && os.SameFile(mine, now) {
			return f, nil
		}
		if e := filelock.Close(f); e != nil || err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, errors.Join(err, e)
		} // else who had it has removed it in between
	}
}

// read reads the parts in the file if its head is the given one, and returns where they end.
func (k *keeper) read(head keptHead) (whole int64, err error) {
	b, err := io.ReadAll(k.file)
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(b) {
		var is keptHead
		var part keptLine
		if whole == 0 {
			if json.Unmarshal(line, &is) != nil || is != head {
				break
			}
		} else if !bytes.HasSuffix(line, []byte("\n")) || json.Unmarshal(line, &part) != nil {
			break
		} else {
			k.have[part.Key] = part
		}
		whole += int64(len(line))
	}
	return whole, nil
}

func (k *keeper) write(x any) error {
	b, err := json.Marshal(x)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(k.file)
	_, err = w.Write(append(b, '\n'))
	return errors.Join(err, w.Flush())
}

// forget removes the file of a figure when its results are written.
func (l *Lab) forget() error {
	if l.keep == nil {
		return nil
	}
	return os.Remove(l.keep.path)
}

// kept returns the saved result of f if there is one. Otherwise it calls f and saves its result, unless that is an
// error. key names the part within the figure; parts with the same key are numbered.
func kept[T any](k *keeper, key string, f func() (T, error)) (v T, err error) {
	if k == nil {
		return f()
	}
	key = k.step + key
	k.asked[key]++
	key = fmt.Sprintf("%s #%d", key, k.asked[key])
	if was, ok := k.have[key]; ok && json.Unmarshal(was.Value, &v) == nil {
		k.parts++
		k.seconds += was.Seconds
		return v, nil
	}
	start, inner := time.Now(), k.seconds
	if v, err = f(); err != nil {
		return v, err
	}
	b, err := json.Marshal(v)
	if err != nil {
		return v, err
	}
	// What it took of kept parts itself was not spent now, but is of this part's time.
	return v, k.write(keptLine{key, time.Since(start).Seconds() + k.seconds - inner, b})
}

// stepDone has what a step of a figure added to its report, and the step's result.
type stepDone[T any] struct {
	Value  T          `json:"value,omitzero"`
	Points []Point    `json:"points,omitempty"`
	Notes  []string   `json:"notes,omitempty"`
	Made   []madeItem `json:"made,omitempty"`
}

// step runs a part of a figure, unless it was saved earlier. f must only add to the report.
func (l *Lab) step(r *Report, name string, f func() error) error {
	_, err := stepOf(l, r, name, func() (struct{}, error) { return struct{}{}, f() })
	return err
}

// stepOf is step for a part with a further result.
func stepOf[T any](l *Lab, r *Report, name string, f func() (T, error)) (T, error) {
	if l.keep == nil {
		return f()
	}
	points, notes, made, ran := len(r.Points), len(r.Notes), len(l.made.log), false
	done, err := kept(l.keep, "step "+name, func() (done stepDone[T], err error) {
		ran = true
		outer := l.keep.step
		l.keep.step = outer + name + ": "
		done.Value, err = f()
		l.keep.step = outer
		done.Points, done.Notes, done.Made = r.Points[points:], r.Notes[notes:], l.made.log[made:]
		return done, err
	})
	if err != nil || ran {
		return done.Value, err
	}
	r.Points = append(r.Points, done.Points...)
	for _, n := range done.Notes {
		r.Note("%s", n)
	}
	for _, m := range done.Made {
		l.made.addNamed(m.Name, m.Sizes)
	}
	return done.Value, nil
}
