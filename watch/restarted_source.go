package watch

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"isovet/history"
	"isovet/history/format/logline"
	"isovet/internal/keyed"
)

// OtherStreamError says that a restarted source does not repeat the lines in the log.
type OtherStreamError struct {
	Dir   string
	Place int64 // of the first differing line, from 0
}

func (e *OtherStreamError) Error() string {
	return fmt.Sprintf("-: line %d differs from the one in %s: this is not the stream that the folder began with; "+
		"expected that stream from its beginning, only its new lines through a pipe (cat FILE | isovet watch), or "+
		"another --state folder", e.Place+1, e.Dir)
}

// beginning is a source that may start again from its first line, and then repeats the log's lines at their places.
type beginning interface{ again() bool }

func (p *pipe) again() bool { return p.fresh }

// sameLine compares a skipped line with the log's line at the same place, if the log still has it. If they differ, it
// returns an error, since only lines that were judged may be skipped.
func (w *watcher) sameLine(src Source, l Line) error {
	if x, is := src.(beginning); !is || !x.again() {
		return nil
	}
	if w.writing.was == nil {
		w.writing.was = &logLines{dir: w.cfg.Dir}
	}
	text, err := w.writing.was.at(l.Place)
	if err != nil || text == nil {
		return err
	}
	b := newBatch()
	b.reset(0)
	b.add(l) // in the log's form
	if !bytes.Equal(b.Text(0), text) {
		return &OtherStreamError{w.cfg.Dir, l.Place}
	}
	return nil
}

// logLines reads the lines of a log by place. Places must increase.
type logLines struct {
	dir   string
	left  []segmentFile
	began bool
	in    io.ReadCloser
	r     *bufio.Reader
	place int64 // of text
	text  []byte
}

// at returns the line at a place, or nil if the log does not have it any more.
func (x *logLines) at(place int64) ([]byte, error) {
	for x.text == nil || x.place < place {
		if more, err := x.next(); err != nil || !more {
			return nil, err
		}
	}
	if x.place != place {
		return nil, nil
	}
	return x.text, nil
}

func (x *logLines) next() (more bool, err error) {
	if !x.began {
		x.began = true
		if x.left, err = segments(x.dir); err != nil {
			return false, err
		}
	}
	for {
		if x.in == nil {
			if len(x.left) == 0 {
				return false, nil
			}
			x.in, err = openSegment(x.dir, x.left[0].n, 0)
			x.left = x.left[1:]
			if errors.Is(err, fs.ErrNotExist) {
				continue // deleted since
			}
			if err != nil {
				return false, err
			}
			x.r = bufio.NewReaderSize(x.in, 1<<18)
		}
		line, err := x.r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			err = x.in.Close()
			if x.in = nil; err != nil {
				return false, err
			}
			continue
		}
		if err != nil {
			return false, err
		}
		var cut logline.Reader // for lines that were read before
		if place, of, text, err := cut.Cut(line[:len(line)-1]); err == nil && len(of) == 0 && !isOwn(text) {
			x.place, x.text = place, text
			return true, nil
		}
	}
}

func (x *logLines) close() error {
	if x == nil || x.in == nil {
		return nil
	}
	return x.in.Close()
}

// print returns a fingerprint of a transaction's content. The spelling of its line does not matter.
func (g *gate) print(b *Batch, t uint32) uint64 {
	h, x, sum := b.H, &b.Heads[t], g.hash.Empty()
	fold := func(n uint64) { sum = g.hash.Fold(sum, n) }
	fold(uint64(x.Status))
	if x.HasSess || x.HasSeq {
		fold(keyed.None)
	}
	for _, n := range [...]int64{x.Session, x.Seq, x.Start, x.Commit, x.End, x.StartTS, x.CommitTS} {
		fold(uint64(n))
	}
	key := func(k uint32) { fold(h.Texts.Keyed(g.hash, h.Keys[k])) }
	ver := func(v uint32) {
		if v == history.None {
			fold(keyed.None)
			return
		}
		key(h.VerKey[v])
		fold(h.Texts.Keyed(g.hash, h.VerValue(v)))
	}
	for op, v := range h.EachOp(t) {
		fold(uint64(h.Ops.Kind[op]))
		switch h.Ops.Kind[op] {
		case history.ReadList:
			key(h.Lists.Key[v])
			elems := h.Lists.Elem[h.Lists.Off[v]:h.Lists.Off[v+1]]
			fold(uint64(len(elems)))
			for _, e := range elems {
				fold(h.Texts.Keyed(g.hash, h.VerValue(e)))
			}
		case history.PredRead, history.PredWrite:
			fold(g.hash.Text(h.Texts.Text(h.Preds.Pred[v])))
			fold(uint64(h.Preds.Off[v+1] - h.Preds.Off[v]))
			for r := h.Preds.Off[v]; r < h.Preds.Off[v+1]; r++ {
				ver(h.Preds.Old[r])
				ver(h.Preds.New[r])
			}
		default:
			ver(v)
		}
	}
	return sum
}
