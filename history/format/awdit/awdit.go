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
		_, err := strconv.ParseUint(string(f[1]), 10, 63)
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

// plain reads a line at pos in AWDIT's spelling, "r 12 34", and returns where the next line begins. It returns 0 for
// any other line.
func plain(data []byte, pos int) (key, value int64, next int) {
	if len(data)-pos < 6 || data[pos] != 'r' && data[pos] != 'w' || data[pos+1] != ' ' {
		return 0, 0, 0
	}
	const most = 18 // a number of so many digits fits into an int64
	i := pos + 2
	for from := i; i < len(data); i++ {
		c := data[i] - '0'
		if c > 9 {
			if data[i] != ' ' || i == from || i-from > most {
				return 0, 0, 0
			}
			break
		}
		key = key*10 + int64(c)
	}
	i++
	for from := i; i < len(data); i++ {
		c := data[i] - '0'
		if c > 9 {
			if data[i] != '\n' || i == from || i-from > most {
				return 0, 0, 0
			}
			return key, value, i + 1
		}
		value = value*10 + int64(c)
	}
	return 0, 0, 0
}

// dashes reads a line of dashes at pos and returns where the next line begins. It returns 0 for any other line.
func dashes(data []byte, pos int) (next int) {
	i := pos
	for i < len(data) && data[i] == '-' {
		i++
	}
	if i == pos || i == len(data) || data[i] != '\n' {
		return 0
	}
	return i + 1
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
		if key, value, next := plain(data, pos); next > 0 {
			if lineNo++; ops == 0 {
				first = uint32(lineNo)
			}
			ops++
			if data[pos] == 'w' {
				b.Write(b.Key(history.IntValue(key)), history.IntValue(value))
			} else {
				b.Read(b.Key(history.IntValue(key)), history.IntValue(value))
			}
			pos = next
			continue
		}
		if next := dashes(data, pos); next > 0 {
			lineNo++
			end()
			pos = next
			if b.NumTxns() == 1<<10 {
				more := 1.02 * float64(len(data)-pos) / float64(pos)
				b.Reserve(int(more*(1<<10)), int(more*float64(b.NumOps())))
			}
			continue
		}
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
		switch separator(line) {
		case '=':
			end()
			session++
			continue
		case '-':
			end()
			continue
		}
		kind, rest, _ := bytes.Cut(line, []byte(" "))
		key, value, _ := bytes.Cut(bytes.TrimSpace(rest), []byte(" "))
		wrong := func(field, found, expected string) error {
			return &history.InputError{File: file, Line: lineNo, Off: -1, Field: field,
				Msg: fmt.Sprintf("found %q; expected %s", found, expected)}
		}
		if string(kind) != "r" && string(kind) != "w" {
			return nil, wrong("", string(kind),
				`"r key value", "w key value", a line of - between transactions or of = between sessions`)
		}
		k, err := strconv.ParseInt(string(key), 10, 64)
		if err != nil {
			return nil, wrong("key", string(key), "an integer")
		}
		v, err := strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64)
		if err != nil {
			return nil, wrong("value", string(value), "an integer")
		}
		if ops == 0 {
			first = uint32(lineNo)
		}
		ops++
		if kind[0] == 'w' {
			b.Write(b.Key(history.IntValue(k)), history.IntValue(v))
		} else {
			b.Read(b.Key(history.IntValue(k)), history.IntValue(v))
		}
	}
	end()
	return b.Build()
}
