// Package awdit reads the test format of AWDIT: "r key value" or "w key value" on each line. A line of dashes
// separates transactions, a line of equals signs separates sessions. There is no initial state: a file that needs one
// has a session that writes it. A read of a value that no transaction wrote is a thin-air read. There are no ids, no
// aborted transactions, no times.
//
// Experimental: this package may still change.
package awdit

import (
	"bytes"
	"fmt"
	"strconv"

	"isovet/history"
)

// Is reports whether the first line with content is an operation or a separator of this format.
func Is(head []byte) bool {
	for line := range bytes.Lines(head) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || separator(line) != 0 {
			continue
		}
		f := bytes.Fields(line)
		if len(f) != 3 || (string(f[0]) != "r" && string(f[0]) != "w") {
			return false
		}
		_, err := strconv.ParseUint(string(f[1]), 10, 64)
		return err == nil
	}
	return false
}

// separator returns '-' or '=' if a line consists only of this character, otherwise 0.
func separator(line []byte) byte {
	if c := line[0]; (c == '-' || c == '=') && len(bytes.Trim(line, string(c))) == 0 {
		return c
	}
	return 0
}

// number reads the integer behind the blanks at the beginning of a text, and returns the rest.
func number(text []byte) (n int64, rest []byte, err error) {
	i := 0
	for i < len(text) && (text[i] == ' ' || text[i] == '\t') {
		i++
	}
	from := i
	for ; i < len(text) && text[i]-'0' <= 9; i++ {
		n = 10*n + int64(text[i]-'0')
	}
	if i == from || i-from > 18 || i < len(text) && text[i] != ' ' {
		word, _, _ := bytes.Cut(text[from:], []byte(" "))
		i = from + len(word)
		if n, err = strconv.ParseInt(string(word), 10, 64); err != nil { // Cobra's hashes have 64 bits
			var u uint64
			u, err = strconv.ParseUint(string(word), 10, 64)
			n = int64(u)
		}
	}
	return n, text[i:], err
}

// Read reads a file. Errors are *history.InputError with the line. Cost: one pass and history.Builder.Build.
func Read(data []byte, file string) (*history.History, error) {
	b := history.NewBuilder()
	b.File = file
	session, first, ops, lineNo := int64(0), uint32(0), 0, 0
	end := func() {
		if ops > 0 {
			h := history.NewTxnHead()
			h.Line, h.HasSess, h.Session = first, true, session
			b.EndTxn(h)
		}
		ops = 0
	}
	for pos := 0; pos < len(data); {
		line := data[pos:]
		if end := bytes.IndexByte(line, '\n'); end >= 0 {
			line = line[:end+1]
		}
		pos += len(line)
		lineNo++
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		if c := separator(line); c != 0 {
			if end(); c == '=' {
				session++
			}
			if b.NumTxns() == 1<<10 && c == '-' {
				more := 1.02 * float64(len(data)-pos) / float64(pos)
				b.Reserve(int(more*(1<<10)), int(more*float64(b.NumOps())))
			}
			continue
		}
		wrong := func(field string, found []byte, expected string) error {
			return &history.InputError{File: file, Line: lineNo, Off: -1, Field: field,
				Msg: fmt.Sprintf("found %q; expected %s", found, expected)}
		}
		if line[0] != 'r' && line[0] != 'w' || len(line) > 1 && line[1] != ' ' {
			kind, _, _ := bytes.Cut(line, []byte(" "))
			return nil, wrong("", kind,
				`"r key value", "w key value", a line of - between transactions or of = between sessions`)
		}
		key, rest, err := number(line[1:])
		if err != nil {
			word, _, _ := bytes.Cut(bytes.TrimSpace(line[1:]), []byte(" "))
			return nil, wrong("key", word, "an integer")
		}
		value, more, err := number(rest)
		if err != nil || len(more) > 0 {
			return nil, wrong("value", bytes.TrimSpace(rest), "an integer")
		}
		if ops == 0 {
			first = uint32(lineNo)
		}
		ops++
		if line[0] == 'w' {
			b.Write(b.Key(history.IntValue(key)), history.IntValue(value))
		} else {
			b.Read(b.Key(history.IntValue(key)), history.IntValue(value))
		}
	}
	end()
	return b.Build()
}
