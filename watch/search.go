package watch

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strconv"

	"isovet/history"
)

// searched is how much of the log is searched for transactions, at most: bytes of lines, from its end. near is how much
// of the end is looked at first: those that a violation is about have come lately.
const (
	searched = 256 << 20
	near     = 4 << 20
)

// search looks for lines from the end of the log on, the latest parts first, until found says that it has all; each
// line may be looked at again. It is for any goroutine.
func (l *Log) search(each func(line []byte), found func() bool) error {
	list, err := segments(l.dir)
	if err != nil {
		return err
	}
	left := int64(searched)
	for i, s := range slices.Backward(list) {
		if left <= 0 {
			return nil
		}
		if i == len(list)-1 && !s.packed && s.size > near {
			if err := searchSegment(l.dir, s.n, s.size-near, each); err != nil || found() {
				return err
			}
		}
		if err := searchSegment(l.dir, s.n, 0, each); err != nil || found() {
			return err
		}
		left -= max(s.size, segmentBytes)
	}
	return nil
}

// searchSegment goes through a segment from a byte on, or a little behind it.
func searchSegment(dir string, n int, from int64, each func(line []byte)) error {
	in, err := openSegment(dir, n, from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // deleted meanwhile
	}
	if err != nil {
		return err
	}
	defer in.Close()
	r := bufio.NewReaderSize(in, 1<<18)
	if from > 0 {
		if _, err := r.ReadBytes('\n'); err != nil {
			return nil // there is no whole line
		}
	}
	var long []byte
	for {
		line, err := r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			long = append(long, line...)
			continue
		}
		if errors.Is(err, io.EOF) { // what is not whole is being written
			return nil
		}
		if err != nil {
			return err
		}
		if len(long) > 0 {
			line = append(long, line...)
			long = long[:0]
		}
		if line = line[bytes.IndexByte(line, '\t')+1 : len(line)-1]; !isOwn(line) {
			each(line)
		}
	}
}

// parsed reads a line again; false: it is no transaction.
func parsed(line []byte) (recalled, bool) {
	b := NewBatch(1, [][]byte{line}) // not of the first line, which might be a header
	if l := &b.Lines[0]; l.Err != nil || l.Txn == history.None {
		return recalled{}, false
	}
	return recalled{b.H, 0, b.Heads[0].ID, b.Heads[0]}, true
}

// withIDs looks for transactions by their ids. Of one that has come several times any is taken.
func (l *Log) withIDs(ids []int64) (map[int64]recalled, error) {
	out := map[int64]recalled{}
	var names [][]byte
	for _, id := range ids {
		names = append(names, strconv.AppendInt(nil, id, 10))
	}
	err := l.search(func(line []byte) {
		for _, name := range names {
			if !bytes.Contains(line, name) {
				continue
			}
			if w, is := parsed(line); is && w.head.HasID && slices.Contains(ids, w.id) {
				out[w.id] = w
			}
			return
		}
	}, func() bool { return len(out) == len(ids) })
	return out, err
}

// writer looks for who wrote what an operation read, as the last of what it wrote to the key, or else earlier; false:
// nobody of those that are kept. Of several it takes any.
func (l *Log) writer(h *history.History, v uint32) (w recalled, any bool, err error) {
	name := versionOf(h, v)
	key, val := h.Texts.AppendValue(nil, h.Keys[h.VerKey[v]]), h.Texts.AppendValue(nil, h.VerValue(v))
	err = l.search(func(line []byte) {
		if any || !bytes.Contains(line, plainText(val)) || !bytes.Contains(line, plainText(key)) {
			return
		}
		x, is := parsed(line)
		if !is || x.head.Init || x.head.Status == history.Aborted {
			return
		}
		lo, hi := x.h.TxnOps(x.t)
		for op := lo; op < hi; op++ {
			kind := x.h.Ops.Kind[op]
			if (kind == history.Write || kind == history.Append) && versionOf(x.h, x.h.Ops.Ver[op]) == name {
				w, any = x, true
			}
		}
	}, func() bool { return any })
	return w, any, err
}

// plainText is what of a JSON text stands in a line, as lines are commonly written; of a string that wants escapes,
// or may well have some, there is nothing.
func plainText(text []byte) []byte {
	for _, c := range text {
		if c < ' ' || c > '~' || c == '\\' || c == '/' {
			return nil
		}
	}
	return text
}
