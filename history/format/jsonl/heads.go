package jsonl

import (
	"bytes"
	"errors"

	"isovet/history"
)

// Head has the id and place of a line's transaction.
type Head struct {
	Line                   int64
	ID, Session, Seq       int64
	HasID, HasSess, HasSeq bool
	Init                   bool
}

// Heads calls f with the head of each transaction in some complete lines. It skips the operations of lines that are
// written as Write writes them. lines is the number of earlier lines of the file; head says that these lines begin the
// file. It returns the numbers of transactions and lines; a header counts only as a line. Errors are
// *history.InputError; Heads may miss some. Cost: finding the ends of lines, and reading some tens of bytes of each.
func Heads(data []byte, file string, lines int64, head bool, f func(*Head) error) (txns, n int64, err error) {
	if head && lines == 0 {
		data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	}
	for len(data) > 0 {
		line := data
		if nl := bytes.IndexByte(data, '\n'); nl >= 0 {
			line, data = data[:nl], data[nl+1:]
		} else {
			data = nil
		}
		n++
		var h Head
		if !h.scan(line) {
			if blank(line) {
				continue
			}
			header, err := h.read(line, file, lines+n)
			if err != nil {
				return txns, n, err
			}
			if header && head && txns == 0 {
				head = false
				continue
			}
			if header {
				return txns, n, newParser(file).errorf(uint32(lines+n), "format",
					"a header in line %d; expected it in the first line only", lines+n)
			}
		}
		txns++
		h.Line = lines + n
		if err := f(&h); err != nil {
			return txns, n, err
		}
	}
	return txns, n, nil
}

func (h *Head) read(line []byte, file string, no int64) (header bool, err error) {
	l, err := ReadLine(line, false)
	if err != nil {
		if in, ok := errors.AsType[*history.InputError](err); ok {
			in.File, in.Line = file, int(no)
		}
		return false, err
	}
	if l.H.NumTxns() == 0 {
		return true, nil
	}
	x := &l.Head
	*h = Head{ID: x.ID, Session: x.Session, Seq: x.Seq, HasID: x.HasID, HasSess: x.HasSess, HasSeq: x.HasSeq,
		Init: x.Init}
	return false, nil
}

// scan reads the fields before the operations, if the operations are the last field and the others are plain. It
// returns false for every other line.
func (h *Head) scan(line []byte) bool {
	n := len(line)
	if n > 0 && line[n-1] == '\r' {
		n--
	}
	if n < 12 || line[0] != '{' || line[n-1] != '}' || line[n-2] != ']' || line[n-3] != ']' && line[n-3] != '[' {
		return false
	}
	for i := 1; ; {
		if line[i] != '"' {
			return false
		}
		end := bytes.IndexByte(line[i+1:min(n, i+24)], '"')
		if end < 0 || i+end+3 >= n || line[i+end+2] != ':' {
			return false
		}
		name := line[i+1 : i+1+end]
		i += end + 3
		var to *int64
		var has *bool
		switch string(name) {
		case "ops":
			return line[i] == '['
		case "id":
			to, has = &h.ID, &h.HasID
		case "session":
			to, has = &h.Session, &h.HasSess
		case "seq":
			to, has = &h.Seq, &h.HasSeq
		case "init":
			if !bytes.HasPrefix(line[i:], []byte("true,")) || h.Init {
				return false
			}
			h.Init = true
			i += 5
			continue
		case "start", "end", "commit", "start_ts", "commit_ts", "status", "name", "node", "locking", "level":
			skip := bytes.IndexByte(line[i:n], ',')
			if skip < 0 || bytes.IndexByte(line[i:i+skip], '\\') >= 0 {
				return false
			}
			if line[i] == '"' && (skip < 2 || line[i+skip-1] != '"' || bytes.IndexByte(line[i+1:i+skip-1], '"') >= 0) {
				return false
			}
			i += skip + 1
			continue
		default:
			return false
		}
		if *has {
			return false
		}
		v, from, minus := int64(0), i, line[i] == '-'
		if minus {
			i++
			from++
		}
		for ; i < n && line[i] >= '0' && line[i] <= '9'; i++ {
			v = v*10 + int64(line[i]-'0')
		}
		if i == from || i-from > 18 || i >= n || line[i] != ',' {
			return false
		}
		if minus {
			v = -v
		}
		*to, *has = v, true
		i++
	}
}
