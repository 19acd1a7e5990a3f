package watch

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strconv"

	"isovet/history"
)

// searched bounds the bytes of the log that are searched for transactions, backwards from the lines being judged. near
// is the size of the part searched first, since a violation's transactions are usually recent.
const (
	searched = 256 << 20
	near     = 4 << 20
)

// search calls each with lines, part by part backwards from the lines being judged, until each returns false. It may
// visit a line twice. Only the judging goroutine may call it.
func (l *Log) search(each func(line []byte) (more bool)) error {
	at := l.judged
	at.Segment = cmp.Or(at.Segment, 1)
	if at.Offset > near {
		if more, err := searchSegment(l.dir, at.Segment, at.Offset-near, at.Offset, each); err != nil || !more {
			return err
		}
	}
	left := int64(searched)
	for n := at.Segment; n > 0 && left > 0; n-- {
		to := at.Offset
		if n < at.Segment {
			to = 1 << 62
		}
		if more, err := searchSegment(l.dir, n, 0, to, each); err != nil || !more {
			return err
		}
		left -= min(to, segmentBytes)
	}
	return nil
}

// searchSegment visits the lines of a segment that begin between two offsets. more says that the search must go on.
func searchSegment(dir string, n int, from, to int64, each func(line []byte) (more bool)) (more bool, err error) {
	in, err := openSegment(dir, n, from)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil // deleted
	}
	if err != nil {
		return false, err
	}
	defer in.Close()
	r := lineReader{Reader: bufio.NewReaderSize(in, 1<<16)}
	if from > 0 { // inside a line
		skipped, err := r.next()
		if from += int64(len(skipped)); errors.Is(err, io.EOF) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
	for from < to {
		line, err := r.next()
		from += int64(len(line))
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return false, err
		}
		if line = line[bytes.IndexByte(line, '\t')+1 : len(line)-1]; !isOwn(line) && !each(line) {
			return false, nil
		}
	}
	return true, nil
}

// recalled is a transaction read from the log.
type recalled struct {
	h    *history.History
	t    uint32
	id   int64
	head history.TxnHead
	ops  []uint32 // see op
}

// wrote reports whether the transaction wrote or appended a version of this name (versionOf).
func (w *recalled) wrote(name string) bool {
	for op, v := range w.h.EachOp(w.t) {
		if kind := w.h.Ops.Kind[op]; (kind == history.Write || kind == history.Append) && versionOf(w.h, v) == name {
			return true
		}
	}
	return false
}

// parsed parses a line of the log. It returns false if the line is no transaction.
func parsed(line []byte) (recalled, bool) {
	b := NewBatch(1, [][]byte{line}) // not the first line, which might be a header
	if l := &b.Lines[0]; l.Err != nil || l.Txn == history.None {
		return recalled{}, false
	}
	return recalled{h: b.H, id: b.Heads[0].ID, head: b.Heads[0]}, true
}

// withIDs finds transactions by their ids. If several share an id, it returns any.
func (l *Log) withIDs(ids []int64) (map[int64]recalled, error) {
	out := map[int64]recalled{}
	err := l.search(func(line []byte) bool {
		if id, is := idOf(line); is && slices.Contains(ids, id) {
			if w, is := parsed(line); is && w.head.HasID && w.id == id {
				out[id] = w
			}
		}
		return len(out) < len(ids)
	})
	return out, err
}

// idOf returns the first number after the field "id" in a line.
func idOf(line []byte) (int64, bool) {
	at := bytes.Index(line, []byte(`"id"`))
	if at < 0 {
		return 0, false
	}
	rest := bytes.TrimLeft(line[at+len(`"id"`):], " \t:")
	end := 0
	for end < len(rest) && (rest[end] == '-' || rest[end] >= '0' && rest[end] <= '9') {
		end++
	}
	id, err := strconv.ParseInt(string(rest[:end]), 10, 64)
	return id, err == nil
}

// writer finds a transaction that wrote the version of an operation's read; any, if there are several. It searches
// lines that are compact or have a space after each comma. It returns false if the searched log has none.
func (l *Log) writer(h *history.History, v uint32) (w recalled, any bool, err error) {
	name := versionOf(h, v)
	key, val := string(h.Texts.AppendValue(nil, h.Keys[h.VerKey[v]])), string(h.Texts.AppendValue(nil, h.VerValue(v)))
	compact, spaced := []byte(`",`+key+`,`+val), []byte(`", `+key+`, `+val)
	err = l.search(func(line []byte) bool {
		if !bytes.Contains(line, compact) && !bytes.Contains(line, spaced) {
			return true
		}
		x, is := parsed(line)
		if is && !x.head.Init && x.wrote(name) {
			w, any = x, true
		}
		return !any
	})
	return w, any, err
}
