// Package logs lists the logs of formats whose histories are folders, for packages cobralog and viper. Each client has
// a file named by a letter and the client's number, such as T3.log.
//
// Experimental: this package may still change.
package logs

import (
	"bytes"
	"cmp"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"isovet/history"
	"isovet/internal/sorts"
)

// Log is one client's log.
type Log struct {
	Path   string
	Number int64
}

// List returns the logs of a folder that begin with the prefix, by their numbers. It ignores other files; a folder
// without logs is an error. Errors are *history.InputError.
func List(dir, prefix string) ([]Log, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, &history.InputError{File: dir, Off: -1, Msg: "cannot read the folder: " + err.Error()}
	}
	var all []Log
	for _, e := range entries {
		if n, ok := number(e.Name(), prefix); ok && !e.IsDir() {
			all = append(all, Log{filepath.Join(dir, e.Name()), n})
		}
	}
	if len(all) == 0 {
		return nil, &history.InputError{File: dir, Off: -1, Msg: "no file named " + prefix +
			"<number>.log; expected one a client"}
	}
	sorts.Func(all, func(a, b Log) int { return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Path, b.Path)) })
	return all, nil
}

// number returns the n of a name <prefix><n>.log.
func number(name, prefix string) (int64, bool) {
	s, isLog := strings.CutSuffix(name, ".log")
	s, ours := strings.CutPrefix(s, prefix)
	n, err := strconv.ParseUint(s, 10, 63)
	return int64(n), isLog && ours && err == nil
}

// bom is the byte order mark that some programs put before a text. No record of a binary log begins so.
var bom = []byte("\xef\xbb\xbf")

// Head returns the beginning, up to n bytes, of the first log that is not empty; nil if all are, false if there are
// none.
func Head(dir, prefix string, n int) (head []byte, ok bool) {
	all, err := List(dir, prefix)
	if err != nil {
		return nil, false
	}
	for _, l := range all {
		f, err := os.Open(l.Path)
		if err != nil {
			return nil, false
		}
		head := make([]byte, n+len(bom))
		got, _ := io.ReadFull(f, head)
		f.Close()
		if head = bytes.TrimPrefix(head[:got], bom); len(head) > 0 {
			return head[:min(n, len(head))], true
		}
	}
	return nil, true
}

// Read returns a log's bytes, without a byte order mark.
func (l Log) Read() ([]byte, error) {
	data, err := os.ReadFile(l.Path)
	if err != nil {
		return nil, &history.InputError{File: l.Path, Off: -1, Msg: "cannot read: " + err.Error()}
	}
	return bytes.TrimPrefix(data, bom), nil
}
