package format

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"isovet/history"
	"isovet/internal/plural"
	"isovet/internal/slice"
)

// parts returns the names of the files that may have the history in a Jepsen run's folder, the best first: plain, then
// compressed.
func parts() []string {
	var all []string
	for _, name := range []string{"history.edn", "history.json", "test.jepsen", "test.fressian", "history.txt",
		"jepsen.log"} {
		for _, ending := range []string{"", ".gz", ".zst", ".xz", ".bz2", ".zip"} {
			all = append(all, name+ending)
		}
	}
	return all
}

// Within returns the folder itself if it is in a format of folders. Otherwise it returns the history in a folder of
// Jepsen's, and closes the folder.
func Within(in *Input) (*Input, error) {
	for _, f := range All() {
		if f.Dir && f.Detect(nil, in.Path) > No {
			return in, nil
		}
	}
	// Jepsen's store names the last run's folder latest, and so does the folder of a test in it.
	for _, dir := range []string{in.Path, filepath.Join(in.Path, "latest"), filepath.Join(in.Path, "current")} {
		for _, name := range parts() {
			path := filepath.Join(dir, name)
			if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
				continue
			}
			in.Close()
			return Open(path)
		}
	}
	return in, nil
}

// IsRun reports whether a folder is a Jepsen run's, or a store or a test's folder: of these the latest run is read.
func IsRun(dir string) bool {
	run, err := Within(&Input{Name: dir, Path: dir, Dir: true})
	if err != nil {
		return false
	}
	defer run.Close()
	return !run.Dir
}

// runsIn returns the folders of the Jepsen runs in a store, or in the folder of a test.
func runsIn(dir string) (runs []string) {
	escaped := strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]", `\`, `\\`).Replace(dir)
	for _, depth := range []string{"*", "*/*"} {
		dirs, _ := filepath.Glob(filepath.Join(escaped, depth)) // the pattern is valid
		for _, d := range dirs {
			for _, name := range parts() {
				if st, err := os.Stat(filepath.Join(d, name)); err == nil && st.Mode().IsRegular() {
					run, _ := filepath.Rel(dir, d)
					runs = append(runs, filepath.ToSlash(run))
					break
				}
			}
		}
	}
	return runs
}

// few lists the last of some names, and counts those before.
func few(names []string) string {
	const most = 10
	if n := len(names) - most; n > 0 {
		return "…, " + strings.Join(names[n:], ", ")
	}
	return strings.Join(names, ", ")
}

// unknown returns the error for an input in no known format. It says what the input seems to be, and what was expected.
func unknown(in *Input, head []byte) error {
	names := Names(slice.Filter(All(), func(f Format) bool { return f.Dir == in.Dir }))
	if runs := runsIn(in.Path); in.Dir && len(runs) > 0 {
		return &history.InputError{File: in.Name, Off: -1, Msg: fmt.Sprintf("a folder of %s of Jepsen's (%s); "+
			"expected one of them, or a link latest to one", plural.Of(len(runs), "run"), few(runs))}
	}
	if in.Dir {
		found := "a folder in no known format"
		if entries, err := os.ReadDir(in.Path); err != nil {
			found = "a folder that cannot be read (" + history.Reason(err) + ")"
		} else if len(entries) == 0 {
			found = "an empty folder"
		}
		return &history.InputError{File: in.Name, Off: -1, Msg: found + "; expected a file, a folder with the parts " +
			"of one history, Jepsen's folder with history.edn, or a folder in " + strings.Join(names, " or ")}
	}
	if what := known(head); what != "" {
		return &history.InputError{File: in.Name, Off: -1, Msg: "found " + what + "; expected a history"}
	}
	return &history.InputError{File: in.Name, Line: 1, Msg: "unknown format: found " + firstLine(head) + "; expected " +
		strings.Join(names, ", ")}
}

// known names other kinds of files that people keep beside their histories.
func known(head []byte) string {
	for _, k := range []struct{ magic, what string }{
		{"\xff\xfe", "UTF-16 (expected UTF-8)"},
		{"\xfe\xff", "UTF-16 (expected UTF-8)"},
		{"7z\xbc\xaf", "a 7z archive"},
		{"\x7fELF", "a program"},
		{"\x89PNG", "an image"},
		{"%PDF", "a PDF"},
		{"SQLite format 3\x00", "an SQLite database"},
		{"<!DOCTYPE", "a page in HTML"},
		{"<html", "a page in HTML"},
		{"<?xml", "XML"},
		{"version https://git-lfs", "a pointer of Git LFS instead of the file"},
	} {
		if bytes.HasPrefix(head, []byte(k.magic)) {
			return k.what
		}
	}
	if len(head) > 262 && string(head[257:262]) == "ustar" {
		return "a tar archive"
	}
	text := bytes.TrimLeft(head, " \t\r\n")
	if isOperations(text) {
		return "Porcupine's operations (ClientId, Input, Call, Output, Return), which isovet check --workload judges"
	}
	if bytes.HasPrefix(text, []byte("{:valid?")) || bytes.HasPrefix(text, []byte("{")) && bytes.Contains(head,
		[]byte(":valid? ")) && !bytes.Contains(head, []byte(":invoke")) {
		return "Jepsen's results (the history is history.edn)"
	}
	return ""
}

// isOperations reports whether a file begins as Porcupine's operations in JSON do, one or an array of them.
func isOperations(text []byte) bool {
	text = bytes.TrimLeft(text, "[ \t\r\n")
	return bytes.HasPrefix(text, []byte("{")) && bytes.Contains(text, []byte(`"Call"`)) &&
		bytes.Contains(text, []byte(`"Input"`)) && !bytes.Contains(text, []byte(`"ops"`))
}

// firstLine quotes the beginning of the first line with content; for a file that is no text it returns the number of
// bytes.
func firstLine(head []byte) string {
	const most = 60
	line, _, _ := bytes.Cut(bytes.TrimLeft(head, " \t\r\n"), []byte("\n"))
	line = bytes.TrimSpace(line)
	dots := ""
	if len(line) > most {
		n := most
		for n > most-utf8.UTFMax && !utf8.RuneStart(line[n]) {
			n--
		}
		line, dots = line[:n], "…"
	}
	if bytes.IndexByte(line, 0) >= 0 || !utf8.Valid(line) {
		return fmt.Sprintf("a binary file that begins with %#x", line[:min(8, len(line))])
	}
	return strconv.Quote(string(line)) + dots
}
