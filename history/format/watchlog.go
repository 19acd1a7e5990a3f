package format

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"isovet/history"
	"isovet/history/format/jsonl"
)

// watchLog is the folder that isovet watch keeps: what it has taken, to be judged again, and cut down.
var watchLog = Format{
	Name: "isovet-watch", About: "the folder of isovet watch: the transactions in its log, in the order of arrival",
	Tool: "isovet", Holds: Times | OpTimes | Timestamps | Aborted | Unknown | Lists | Predicates | Rows | Initial,
	Dir:    true,
	Detect: folder(func(dir string) bool { return isFile(logSegment(dir, 1)) }),
	Read: func(ctx context.Context, in *Input, o Options) (*history.History, error) {
		if !in.Dir {
			return nil, &history.InputError{File: in.Name, Off: -1, Msg: "is a file; expected the folder that isovet " +
				"watch keeps"}
		}
		data, err := readLog(ctx, in.Path)
		if err != nil {
			return nil, err
		}
		return jsonl.ReadParallel(ctx, data, in.Name, o.Workers)
	},
}

// logSegment is the name of a segment, as package watch has it.
func logSegment(dir string, n int) string {
	return filepath.Join(dir, fmt.Sprintf("segment-%08d.log", n))
}

func isFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}

// readLog reads the lines of all segments, without their places. The log's own lines become blank ones, so that a
// line's number is that over all segments; a torn end, of a write under way or cut off, is none.
func readLog(ctx context.Context, dir string) ([]byte, error) {
	var all []byte
	for n := 1; ; n++ {
		path := logSegment(dir, n)
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) && n > 1 {
			return all, nil
		}
		if err != nil {
			return nil, &history.InputError{File: path, Off: -1, Msg: "cannot read: " + reason(err)}
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if all == nil {
			all = data[:0] // nothing of it is needed once it has been read, and a line takes less than it did
		}
		for number := 1; ; number++ {
			end := bytes.IndexByte(data, '\n')
			if end < 0 {
				break
			}
			line := data[:end]
			from := behindPlace(line)
			if from == 0 {
				return nil, &history.InputError{File: path, Line: number, Off: -1,
					Msg: fmt.Sprintf("found %.40q; expected a place and a line", line)}
			}
			data = data[end+1:]
			if text := line[from:]; !bytes.HasPrefix(text, []byte("!")) {
				all = append(all, text...)
			}
			all = append(all, '\n')
		}
	}
}

// behindPlace returns where a line of the log begins behind its place, an integer, and a tab; 0: it has none.
func behindPlace(line []byte) int {
	for i, c := range line {
		if c == '\t' && i > 0 && i <= 18 {
			return i + 1
		}
		if c-'0' > 9 {
			break
		}
	}
	place, _, is := bytes.Cut(line, []byte("\t"))
	if _, err := strconv.ParseInt(string(place), 10, 64); err != nil || !is {
		return 0
	}
	return len(place) + 1
}
